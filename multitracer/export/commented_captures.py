"""Copies of the captures, as pcapng, in which the packets that findings name carry them as comments.

Source: draft-ietf-opsawg-pcapng. A pcapng file is copied block by block, with options added to packet blocks; a file
of another format gets a section and its interfaces, and a block for each record. Times are unchanged.
"""

from __future__ import annotations

import struct
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from multitracer.model.errors import InputError
from multitracer.model.trace import Input
from multitracer.parsers import FORMATS, pcapng, without_endings
from multitracer.parsers.shared.records import Capture, Records
from multitracer.parsers.shared.source import Room, Source, open_source
from multitracer.parsers.shared.view import View

_SECTION, _INTERFACE, _OLD_PACKET, _ENHANCED = 0x0A0D0D0A, 1, 2, 6
_MAGIC = 0x1A2B3C4D
_OPT_END, _OPT_COMMENT, _IF_TSRESOL = 0, 1, 9
_PACKET_HEADER_BYTES = 28
"""Octets before the packet in an enhanced packet block, and in an old one."""
_LONGEST_COMMENT = 0xFFFF - 3
_UNSPECIFIED = 2**64 - 1
_RECORDS_AT_ONCE = 4096

Comments = Mapping[int, list[bytes]]
"""By record number."""


def write(inputs: Sequence[Input], findings: Sequence[dict[str, Any]], directory: Path) -> list[Path]:
    """Write a copy of each input that is a capture to NAME.pcapng; `findings` are those of the summary."""
    directory.mkdir(parents=True, exist_ok=True)
    parsers = {entry.name: entry.parser for entry in FORMATS if "packets" in entry.tables}
    captures = [entry for entry in inputs if entry.recording.format in parsers]
    written = []
    for entry, name in zip(captures, _names(captures), strict=True):
        comments = comments_of(findings, entry.number)
        with (directory / name).open("wb") as file:
            source = _opened(entry.path)
            if entry.recording.format == "pcapng":
                file.writelines(with_comments(source, comments))
            else:
                capture = parsers[entry.recording.format].capture(View(source))  # type: ignore[attr-defined]
                file.writelines(converted(capture, comments))
        _refuse_losses(source, entry)
        written.append(directory / name)
    return written


def _opened(path: str) -> Source:
    """A capture of any size: it is copied as it is read, and not held."""
    return open_source(path, Room(sys.maxsize))


def _refuse_losses(source: Source, entry: Input) -> None:
    """Raise InputError where the copy lacks what the analysis did not find missing."""
    for skip in source.skips:
        if skip not in entry.recording.skips:
            hint = "The file was changed since it was analysed: analyse it again."
            raise InputError(entry.path, f"cannot be copied whole: {skip.reason}", offset=skip.offset, hint=hint)


def _names(captures: Sequence[Input]) -> list[str]:
    """A name for each copy; captures of one name get numbers."""
    names: list[str] = []
    for entry in captures:
        short, number = without_endings(Path(entry.path).name) or "capture", 1
        name = f"{short}.pcapng"
        while name in names:
            number += 1
            name = f"{short}-{number}.pcapng"
        names.append(name)
    return names


def comments_of(findings: Sequence[dict[str, Any]], number: int) -> Comments:
    """The comments on each record of the input of that number: kind, verdict and reason of what was found there."""
    comments: dict[int, list[bytes]] = {}
    for finding in findings:
        text = f"{finding['kind']} ({finding['verdict']}): {finding['because']}".encode("utf-8", "backslashreplace")
        for reference in finding["evidence"].get("records") or ():
            if reference["input"] == number:
                comments.setdefault(reference["record"], []).append(text[:_LONGEST_COMMENT])
    return comments


# Options and blocks


def _option(order: str, code: int, value: bytes) -> bytes:
    return struct.pack(f"{order}HH", code, len(value)) + _padded(value)


def _padded(value: bytes) -> bytes:
    return value + bytes(-len(value) % 4)


def _block(order: str, kind: int, body: bytes) -> bytes:
    size = struct.pack(f"{order}I", len(body) + 12)
    return struct.pack(f"{order}I", kind) + size + body + size


def _comment_options(order: str, texts: Sequence[bytes]) -> bytes:
    return b"".join(_option(order, _OPT_COMMENT, text) for text in texts)


# A capture of another format


def converted(capture: Capture, comments: Comments) -> Iterator[bytes]:
    """The records as a pcapng file with times in ns; none of the other formats has times before 1970."""
    yield _block("<", _SECTION, struct.pack("<IHHQ", _MAGIC, 1, 0, _UNSPECIFIED))
    described = 0
    for records in capture.pieces:
        for link_type in capture.link_types[described:]:
            options = _option("<", _IF_TSRESOL, b"\x09") + _option("<", _OPT_END, b"")
            yield _block("<", _INTERFACE, struct.pack("<HHI", link_type, 0, 0) + options)
        described = len(capture.link_types)
        for first in range(0, len(records.offset), _RECORDS_AT_ONCE):
            yield b"".join(_packets(records, slice(first, first + _RECORDS_AT_ONCE), comments))


def _packets(records: Records, part: slice, comments: Comments) -> Iterator[bytes]:
    columns = (
        records.offset, records.captured, records.original, records.time_ns, records.interface, records.number,
    )  # fmt: skip
    for offset, captured, original, time_ns, interface, number in zip(
        *(column[part].tolist() for column in columns), strict=True
    ):
        head = struct.pack("<IIIII", interface, time_ns >> 32, time_ns & 0xFFFFFFFF, captured, original)
        options = b""
        if texts := comments.get(number):
            options = _comment_options("<", texts) + _option("<", _OPT_END, b"")
        octets = bytes(records.data[offset : offset + captured])
        yield _block("<", _ENHANCED, head + _padded(octets) + options)


# A pcapng file


class _Change(NamedTuple):
    """Octets that are replaced, a block or a part of one."""

    at: int
    size: int
    """How many there are before."""
    octets: bytes


def with_comments(source: Source, comments: Comments) -> Iterator[bytes]:
    """The pieces of the file with the comments; all other octets, damaged ones too, as they are.

    A simple packet block has no room for options: its packet stays without a comment. The file is read twice, as the
    header of a section may say how long the section is.
    """
    sections: list[pcapng.Section] = []
    found = pcapng.capture(View(_opened(source.path)), sections)
    commented = [change for records in found.pieces for change in _commented(records, comments)]
    changes = sorted([*commented, *_longer_sections(sections, commented)])
    return _replaced(source.pieces(), changes)


def _replaced(pieces: Iterator[bytes], changes: Sequence[_Change]) -> Iterator[bytes]:
    """The octets of the pieces, with the changes, which are in order."""
    waiting, start, at = deque(changes), 0, 0
    for piece in pieces:
        while waiting and waiting[0].at < start + len(piece):
            change = waiting.popleft()
            yield piece[at - start : change.at - start]
            yield change.octets
            at = change.at + change.size
        yield piece[max(at - start, 0) :]
        start += len(piece)
        at = max(at, start)


def _commented(records: Records, comments: Comments) -> Iterator[_Change]:
    """The packet blocks of a piece with their comments before the options that they had."""
    data = records.data
    for row in np.flatnonzero(np.isin(records.number, list(comments))).tolist():
        at = int(records.offset[row]) - _PACKET_HEADER_BYTES
        kind = bytes(data[at : at + 4]) if at >= 0 else b""
        with_options = (_ENHANCED, _OLD_PACKET)
        orders = [order for order in "<>" if kind in [struct.pack(f"{order}I", one) for one in with_options]]
        if not orders:
            continue
        order = orders[0]
        size = struct.unpack(f"{order}I", bytes(data[at + 4 : at + 8]))[0]
        options_at = _PACKET_HEADER_BYTES + -(-int(records.captured[row]) // 4) * 4
        body = bytes(data[at + 8 : at + size - 4])
        before, options = body[: options_at - 8], body[options_at - 8 :]
        texts = comments[int(records.number[row])]
        options = _comment_options(order, texts) + (options or _option(order, _OPT_END, b""))
        yield _Change(records.start + at, size, _block(order, struct.unpack(f"{order}I", kind)[0], before + options))


def _longer_sections(sections: Sequence[pcapng.Section], commented: Sequence[_Change]) -> Iterator[_Change]:
    """The new lengths of those sections that say how long they are, with what the comments add."""
    added_at = np.array([change.at for change in commented], dtype=np.int64)
    added = np.array([len(change.octets) - change.size for change in commented], dtype=np.int64)
    ends = [following.at for following in sections[1:]] + [sys.maxsize]
    for (at, little, length), end in zip(sections, ends, strict=True):
        longer = int(added[(added_at > at) & (added_at < end)].sum())
        if length != _UNSPECIFIED and longer:
            yield _Change(at + pcapng.LENGTH_AT, 8, struct.pack("<Q" if little else ">Q", length + longer))
