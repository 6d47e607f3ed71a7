"""Block-erasure traces: which blocks of a radio link were lost (1) and which were decoded (0), as text."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
import numpy.typing as npt

from multitracer.model.errors import InputError
from multitracer.model.trace import Recording
from multitracer.parsers.shared.lines import CUT, Losses

if TYPE_CHECKING:
    from multitracer.parsers.shared.source import Source

_HEADER = re.compile(rb"#\s*([\w-]{1,40})\s*:(.*)\Z")
_BLOCK_HEADER = re.compile(rb"#\s*block_(bytes|ms)\s*:")
_DIGITS = b"01"
_SPACE = b" \t\r\n\v\f"
_PER_LINE = 100
_OTHER = re.compile(rb"[^01\s]")
_COMMENT = re.compile(rb"^[ \t\r]{0,64}(#[^\n]*)", re.MULTILINE)
_LONGEST_COMMENT = 1 << 24
_WRONG, _WRONG_NAMED = 1000, 10
"""One character in so many may be wrong in what is taken for a trace, without and with its header."""
OTHER_CHARACTERS = "characters that are neither 0 nor 1"
FIRST_OTHER = "first other character"
"""The key of `metadata` with the first of them."""
DEFAULTS = {"block_bytes": 30, "block_ms": 20}
"""A GSM block on a full-rate channel (05.03)."""
UNKNOWN = "unknown"
"""What `# block_ms:` says where the log that a trace was extracted from does not tell."""


def sniff(head: bytes) -> bool:
    """Whether it holds hardly anything but the characters 0 and 1, white space and comments.

    One digit a line needs the header too: without it, it could be a list of numbers.
    """
    most, blocks, wrong, named = 0, 0, 0, False
    for line in head.splitlines():
        text = line.strip()
        if text.startswith(b"#"):
            named = named or bool(_BLOCK_HEADER.match(text))
            continue
        digits = text.translate(None, _SPACE)
        wrong += len(digits.translate(None, _DIGITS))
        blocks += len(digits)
        most = max(most, len(digits))
    return (most > 1 or (named and most > 0)) and wrong * (_WRONG_NAMED if named else _WRONG) <= blocks


def read(source: Source) -> Recording:
    """The trace as `metadata["erased"]`, one bool a block, and the header's keys; no table.

    Lines may be of any length: octets are taken in pieces, a bool a block.
    """
    losses, metadata, parts = Losses(), dict[str, Any](DEFAULTS), list[npt.NDArray[np.bool_]]()
    number, last = 1, b""
    for offset, octets, is_comment in _stretches(source):
        if not is_comment:
            parts.append(_blocks(octets, number, offset, losses, metadata))
        elif header := _HEADER.match(octets.strip()):
            _note(metadata, header[1].decode().lower(), header[2].strip(), losses, number, offset)
        number, last = number + octets.count(b"\n"), octets[-1:] or last
    if number > 1 and last not in (b"\n", b"\r"):  # who writes no line end at all writes none at the end
        losses.add(CUT, number, len(source))
    erased = np.concatenate(parts) if parts else np.zeros(0, dtype=np.bool_)
    return recording(source, "erasures", erased, metadata, losses)


def _stretches(source: Source) -> Iterator[tuple[int, bytes, bool]]:
    """(Offset, octets, whether they are a comment) of each comment, without its line end, and of what is between."""
    source.holds(1)
    offset, rest, fresh = source.begins, b"", True
    for piece in itertools.chain(source.pieces(), [b""]):
        data, rest = rest + piece, b""
        at, begun = 0, data.rfind(b"\n") + 1
        line = data[begun:]
        if piece and (b"#" in line or not line.strip()) and len(line) < _LONGEST_COMMENT:
            data, rest = data[:begun], line
        for comment in _COMMENT.finditer(data, 0 if fresh else 1) if b"#" in data else ():
            yield offset + at, data[at : comment.start(1)], False
            yield offset + comment.start(1), comment[1], True
            at = comment.end()
        yield offset + at, data[at:], False
        offset += len(data)
        fresh = data.endswith(b"\n") or (fresh and not data)


def _blocks(
    octets: bytes, number: int, offset: int, losses: Losses, metadata: dict[str, Any]
) -> npt.NDArray[np.bool_]:
    """The blocks of a stretch without comments; other characters are counted, and the first one kept."""
    wrong = octets.translate(None, _DIGITS + _SPACE)
    if wrong:
        first = _OTHER.search(octets)
        place = first.start() if first else 0
        if OTHER_CHARACTERS not in losses:
            metadata[FIRST_OTHER] = octets[place : place + 4].decode("utf-8", "backslashreplace")[0]
        losses.add(OTHER_CHARACTERS, number + octets.count(b"\n", 0, place), offset + place, len(wrong))
    return np.frombuffer(octets.translate(None, _SPACE + wrong), dtype=np.uint8) == ord("1")


def read_header(octets: bytes, losses: Losses, offset: int) -> dict[str, Any]:
    """The keys and values of the header lines; `offset` is where these begin in the file."""
    metadata = dict[str, Any](DEFAULTS)
    for number, line in enumerate(octets.splitlines(), start=1):
        header = _HEADER.match(line.strip())
        if header:
            _note(metadata, header[1].decode().lower(), header[2].strip(), losses, number, offset)
    return metadata


def recording(source: Source, name: str, erased: Any, metadata: dict[str, Any], losses: Losses) -> Recording:
    """The Recording of an erasure trace; raises InputError when it holds no block."""
    if not len(erased):
        raise InputError(source.path, "holds no block", hint="An erasure trace is made of the characters 0 and 1.")
    metadata["erased"] = erased
    counts = {"blocks": len(erased), "erased_blocks": int(erased.sum())}
    return Recording(
        name, records=len(erased), skips=losses.skips, bytes_read=len(source), complete=losses.uncut,
        clock="relative", counts=counts, metadata=metadata,
    )  # fmt: skip


def _note(metadata: dict[str, Any], key: str, value: bytes, losses: Losses, number: int, offset: int) -> None:
    text = value.decode("utf-8", "backslashreplace")
    if key not in DEFAULTS:
        metadata[key] = text
    elif re.fullmatch(r"\d{1,7}(\.\d{1,6})?", text) and float(text) > 0:
        metadata[key] = float(text) if "." in text else int(text)
    elif key == "block_ms" and text == UNKNOWN:
        metadata[key] = None
    else:
        losses.add(f"{key} that is no positive number", number, offset)


def header_text(header: dict[str, Any] | None) -> str:
    """The header's lines, with DEFAULTS for keys that are not given; line ends within a value become blanks."""
    values = {**DEFAULTS, **(header or {})}
    return "".join(f"# {key}: {' '.join(str(value).split())}\n" for key, value in values.items())


def write(stream: TextIO, erased: Any, header: dict[str, Any] | None = None) -> None:
    """Write a trace, one bool a block, with its header; the inverse of `read`."""
    stream.write(header_text(header))
    digits = np.where(np.asarray(erased, dtype=np.bool_), ord("1"), ord("0")).astype(np.uint8).tobytes().decode()
    for start in range(0, len(digits), _PER_LINE):
        stream.write(digits[start : start + _PER_LINE] + "\n")
