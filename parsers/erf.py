"""Endace ERF files: records with a 64-bit fixed-point time and a type, no file header.

Source: wiki.wireshark.org/ERF. Types read: HDLC, Ethernet, IPv4 and IPv6, those with colours or hashes too.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np

from multitracer.model.errors import InputError
from multitracer.parsers.shared.capture import recording
from multitracer.parsers.shared.records import Capture, Records
from multitracer.parsers.shared.view import View
from multitracer.wire.erf_records import HEADED_BYTES, HEADER_BYTES, MORE_HEADERS, behind_extensions, frame_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from multitracer.model.trace import Recording
    from multitracer.parsers.shared.source import Source

_HEADER = struct.Struct("<QBBxx")
_KNOWN_TYPES = frozenset(range(1, 49))
_CHAIN = 3
_ROW = 6
"""Columns of a record's row."""
_TEXT_BYTES = 64
"""A file whose first 64 octets are printable is text: a record's lengths and flags are small numbers."""
_EARLIEST_S, _LATEST_S = 631152000, 4102444800  # the years 1990 to 2100


def sniff(head: bytes) -> bool:
    """Whether it begins with a chain of plausible record headers."""
    if _is_text(head[:_TEXT_BYTES]):
        return False
    at = seen = 0
    while at + HEADER_BYTES <= len(head) and seen < _CHAIN:
        size = _plausible(head, at)
        if not size:
            return False
        at, seen = at + size, seen + 1
    return seen == _CHAIN or (seen > 0 and at == len(head))


def _is_text(head: bytes) -> bool:
    """Whether it is text, whose digits would otherwise pass as the time of a record in 1995."""
    return len(head) == _TEXT_BYTES and head.isascii() and head.translate(None, b"\r\n\t").decode().isprintable()


def _plausible(head: bytes, at: int) -> int:
    """The size of the record at `at`, 0 where its header is not plausible."""
    time, kind, _ = _HEADER.unpack_from(head, at)
    size, wire = int.from_bytes(head[at + 10 : at + 12], "big"), int.from_bytes(head[at + 14 : at + 16], "big")
    in_time = _EARLIEST_S <= time >> 32 < _LATEST_S
    return size if kind & 0x7F in _KNOWN_TYPES and size > HEADER_BYTES and wire and in_time else 0


def read(source: Source) -> Recording:
    """Packets, flows and options of the record types that carry IP."""
    return recording("erf", capture(View(source)))


def capture(view: View) -> Capture:
    """All records of the types that carry IP; where there is none, InputError is raised at the end."""
    found = Capture(view.path, [], is_long=view.is_long)
    found.pieces = _pieces(view, found)
    return found


def _pieces(view: View, found: Capture) -> Iterator[Records]:
    """The records in each view; each link type is an interface."""
    number, seen = 0, 0
    while True:
        data, at, rows = bytes(view.data), 0, list[tuple[int, ...]]()
        while size := _size(data, at):
            number += 1
            row = _row(data, at, size, number)
            if row is None:
                found.losses.add("ERF record type that carries no IP", number, view.start + at)
            else:
                rows.append(row)
            at += size
        yield _records(view, rows, found.link_types)
        seen += len(rows)
        if view.ended or _is_damaged(data, at):
            break
        view.move(at)
    if not seen:
        raise InputError(view.path, "holds no ERF record that is read here")
    if at < len(data):
        found.losses.add("file ends within a record", number + 1, view.start + at)
        found.complete = False


def _size(data: bytes, at: int) -> int:
    """The size of the record at `at`, 0 where it is damaged or does not end in view."""
    size = int.from_bytes(data[at + 10 : at + 12], "big")
    return size if size >= HEADER_BYTES and at + size <= len(data) else 0


def _is_damaged(data: bytes, at: int) -> bool:
    """Whether more in view would not make a record of what is at `at`."""
    return at + HEADER_BYTES <= len(data) and int.from_bytes(data[at + 10 : at + 12], "big") < HEADER_BYTES


def _row(data: bytes, at: int, size: int, number: int) -> tuple[int, ...] | None:
    """(Offset, captured, original, time, link type, number) of a record, None for a type that carries no IP."""
    time, kind, _ = _HEADER.unpack_from(data, at)
    start = behind_extensions(kind, data, at + HEADER_BYTES, at + size)
    found = frame_of(kind & ~MORE_HEADERS, data[start : min(start + HEADED_BYTES, at + size)])
    if found is None or start + found[1] > at + size:
        return None
    link_type, start = found[0], start + found[1]
    wire = int.from_bytes(data[at + 14 : at + 16], "big")
    here = min(at + size - start, wire)
    nanoseconds = (time >> 32) * 1_000_000_000 + ((time & 0xFFFFFFFF) * 1_000_000_000 >> 32)
    return start, here, max(wire, here), nanoseconds, link_type, number


def _records(view: View, rows: list[tuple[int, ...]], link_types: list[int]) -> Records:
    """The rows as records; link types that were not seen before are added."""
    table = np.array(rows, dtype=np.int64).reshape(-1, _ROW)
    for kind in dict.fromkeys(table[:, 4].tolist()):
        if kind not in link_types:
            link_types.append(kind)
    offset, captured, original, time_ns, kind, number = np.ascontiguousarray(table.T)
    interface = np.array([link_types.index(one) for one in kind.tolist()], dtype=np.int16)
    return Records(
        view.data, offset, captured.astype(np.int32), original.astype(np.int32), time_ns, interface, number, link_types,
        view.start,
    )  # fmt: skip
