"""Block-erasure traces: which blocks of a radio link were lost (1) and which were decoded (0), as text."""

from __future__ import annotations

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
_INDENT = 64
"""At most this many blanks stand before a comment's #."""
_PIECE = 1 << 20
_WRONG, _WRONG_NAMED = 1000, 10
"""One character in so many may be wrong in what is taken for a trace, without and with its header."""
OTHER_CHARACTERS = "characters that are neither 0 nor 1"
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
    data, at = bytes(source.data), 0
    for number, start, end in _comments(data):
        parts += _blocks(data, at, start, losses)
        header = _HEADER.match(data[start:end].strip())
        if header:
            _note(metadata, header[1].decode().lower(), header[2].strip(), losses, number, start)
        at = end
    parts += _blocks(data, at, len(data), losses)
    if data[-1:] not in (b"\n", b"\r"):
        losses.add(CUT, data.count(b"\n") + 1, len(data))
    erased = np.concatenate(parts) if parts else np.zeros(0, dtype=np.bool_)
    return recording(source, "erasures", erased, metadata, losses)


def _comments(data: bytes) -> Iterator[tuple[int, int, int]]:
    """The line number, first and last octet of each line that begins with #, blanks before it or not."""
    number, counted, at = 1, 0, data.find(b"#")
    while at >= 0:
        end = at + 1
        if data[max(at - _INDENT, 0) : at].rstrip(b" \t\r")[-1:] in (b"", b"\n"):
            end = data.find(b"\n", at)
            end = len(data) if end < 0 else end
            number, counted = number + data.count(b"\n", counted, at), at
            yield number, at, end
        at = data.find(b"#", end)


def _blocks(data: bytes, start: int, end: int, losses: Losses) -> Iterator[npt.NDArray[np.bool_]]:
    """The blocks of a stretch without comments, in pieces; other characters are counted."""
    for at in range(start, end, _PIECE):
        piece = data[at : min(at + _PIECE, end)]
        wrong = piece.translate(None, _DIGITS + _SPACE)
        if wrong:
            first = _OTHER.search(piece)
            place = at + (first.start() if first else 0)
            number = data.count(b"\n", 0, place) + 1 if OTHER_CHARACTERS not in losses else None
            losses.add(OTHER_CHARACTERS, number, place, len(wrong))
        digits = piece.translate(None, _SPACE + wrong)
        yield np.frombuffer(digits, dtype=np.uint8) == ord("1")


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
