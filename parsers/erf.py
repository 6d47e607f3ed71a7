"""Endace ERF files: records with a 64-bit fixed-point time and a type, no file header.

Source: wiki.wireshark.org/ERF. Types read: HDLC, Ethernet, IPv4 and IPv6.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np

from multitracer.compute.kernels import octets
from multitracer.model.errors import InputError
from multitracer.model.trace import Skip
from multitracer.parsers.shared.capture import Records, recording

if TYPE_CHECKING:
    from collections.abc import Iterator

    from multitracer.model.trace import Recording
    from multitracer.parsers.shared.source import Source

_HEADER = struct.Struct("<QBBxx")
_HEADER_BYTES = 16
_LINK_TYPES = {1: 104, 2: 1, 22: 101, 23: 101}
_PAD_BYTES = {2: 2}
_KNOWN_TYPES = frozenset(range(1, 49))
_CHAIN = 3
_TEXT_BYTES = 64
"""A file whose first 64 octets are printable is text: a record's lengths and flags are small numbers."""
_EARLIEST_S, _LATEST_S = 631152000, 4102444800  # the years 1990 to 2100


def sniff(head: bytes) -> bool:
    """Whether it begins with a chain of plausible record headers."""
    if _is_text(head[:_TEXT_BYTES]):
        return False
    at = seen = 0
    while at + _HEADER_BYTES <= len(head) and seen < _CHAIN:
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
    return size if kind & 0x7F in _KNOWN_TYPES and size > _HEADER_BYTES and wire and in_time else 0


def read(source: Source) -> Recording:
    """Packets, flows and options of the record types that carry IP."""
    return recording("erf", source, records(source))


def records(source: Source) -> Records:
    """All records of the types that carry IP; raises InputError where there is none."""
    data = octets(source.data)
    skips: list[Skip] = []
    rows = list(_rows(bytes(source.data), skips))
    if not rows:
        raise InputError(source.path, "holds no ERF record that is read here")
    columns = list(zip(*rows, strict=True))
    kinds = sorted({row[4] for row in rows})
    return Records(
        data, np.array(columns[0], dtype=np.int64), np.array(columns[1], dtype=np.int32),
        np.array(columns[2], dtype=np.int32), np.array(columns[3], dtype=np.int64),
        np.array([kinds.index(kind) for kind in columns[4]], dtype=np.int16),
        np.array(columns[5], dtype=np.int64), kinds, skips, not any(s.reason.startswith("file") for s in skips),
    )  # fmt: skip


def _rows(data: bytes, skips: list[Skip]) -> Iterator[tuple[int, int, int, int, int, int]]:
    """(Offset, captured, original, time, link type, number) of each record of a known type."""
    at, number, unknown = 0, 0, 0
    while at < len(data):
        number += 1
        size = int.from_bytes(data[at + 10 : at + 12], "big")
        if at + _HEADER_BYTES > len(data) or size < _HEADER_BYTES or at + size > len(data):
            skips.append(Skip("file ends within a record", number, at))
            return
        time, kind, _ = _HEADER.unpack_from(data, at)
        start = at + _HEADER_BYTES
        more = bool(kind & 0x80)
        while more and start + 8 <= at + size:  # extension headers, each saying whether another follows
            more = bool(data[start] & 0x80)
            start += 8
        start += _PAD_BYTES.get(kind & 0x7F, 0)
        wire = int.from_bytes(data[at + 14 : at + 16], "big")
        if kind & 0x7F in _LINK_TYPES and start <= at + size:
            here = min(at + size - start, wire)
            nanoseconds = (time >> 32) * 1_000_000_000 + ((time & 0xFFFFFFFF) * 1_000_000_000 >> 32)
            yield start, here, max(wire, here), nanoseconds, _LINK_TYPES[kind & 0x7F], number
        else:
            unknown += 1
            if unknown == 1:
                skips.append(Skip("ERF record type that carries no IP", number, at))
            else:
                first = next(place for place, skip in enumerate(skips) if skip.reason.startswith("ERF"))
                skips[first] = Skip(skips[first].reason, skips[first].record, skips[first].offset, unknown)
        at += size
