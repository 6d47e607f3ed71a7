"""Damage to captures that keeps their structure: records, headers at the borders of protocols, envelopes, fragments."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import TypeAlias

from envelopes import ENVELOPES, ONLY_6, OUTERMOST, stacked
from mutated_text import octets, reordered

from multitracer.parsers import erf
from multitracer.wire.layers import LINK_TYPES
from multitracer.wire.rare_links import RARE_LINK_TYPES

EXTREMES = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
_ETHERNET, _RAW = 1, 101
_ERF_ETHERNET, _PCAP_HEADER = 2, 24
_LINK_TYPES = sorted({*LINK_TYPES, *RARE_LINK_TYPES})
_LEAST_BLOCK = 12
"""Octets of a pcapng block without a body."""
_BEFORE = 12
"""Octets before a header that are damaged like its own: what announces it, or the end of an envelope."""
_DEEP = 200
"""Octets of a packet within which headers are looked for."""


@dataclass(frozen=True)
class Record:
    """One packet: the record's own header fields, and its octets."""

    head: tuple[int, ...]
    packet: bytes
    raw: bytes = b""
    """Other octets: of a block that holds no packet all, else those before or behind the packet."""


Parts: TypeAlias = tuple[bytes, list[Record], Callable[[Record], bytes], int]


def split(data: bytes) -> Parts | None:
    """The file header, the records, how one is written, and the link type; None for what is not walked here."""
    if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\xa1\xb2\x3c\x4d"):
        return _pcap(data, "<" if data[0] in b"\xd4\x4d" else ">")
    if data[:4] == b"\n\r\r\n":
        return _pcapng(data, "<" if data[8:9] == b"\x4d" else ">")
    if data[:8] == b"snoop\0\0\0":
        return _snoop(data)
    return _erf(data) if erf.sniff(data) else None


def _pcap(data: bytes, order: str) -> Parts:
    records, at = [], 24
    while at + 16 <= len(data):
        head = struct.unpack_from(f"{order}IIII", data, at)
        if at + 16 + head[2] > len(data):
            break
        records.append(Record((*head[:2], 0, head[3] - head[2]), data[at + 16 : at + 16 + head[2]]))
        at += 16 + head[2]

    def written(record: Record) -> bytes:
        second, rest, shorter, cut = record.head
        size = len(record.packet)
        return (
            struct.pack(f"{order}IIII", second, rest, (size + shorter) & 0xFFFFFFFF, (size + cut) & 0xFFFFFFFF)
            + record.packet
        )

    return data[:24], records, written, struct.unpack_from(f"{order}I", data, 20)[0] & 0xFFFF


def _pcapng(data: bytes, order: str) -> Parts:
    records, at, kind = [], 0, 0
    while at + 12 <= len(data):
        block, size = struct.unpack_from(f"{order}II", data, at)
        if size < 12 or size % 4 or at + size > len(data):
            break
        if block == 6 and size >= 32:
            fields = struct.unpack_from(f"{order}IIIII", data, at + 8)
            packet = data[at + 28 : at + 28 + fields[3]]
            options = data[at + 28 + (fields[3] + 3 & ~3) : at + size - 4]
            records.append(Record((*fields[:3], 0, fields[4] - len(packet)), packet, options))
        else:
            kind = struct.unpack_from(f"{order}H", data, at + 8)[0] if block == 1 else kind
            records.append(Record((), b"", data[at : at + size]))
        at += size

    def written(record: Record) -> bytes:
        if not record.head:
            return record.raw
        interface, high, low, shorter, cut = record.head
        length = len(record.packet)
        size = 32 + (length + 3 & ~3) + len(record.raw)
        return (
            struct.pack(
                f"{order}IIIIIII", 6, size, interface, high, low,
                (length + shorter) & 0xFFFFFFFF, (length + cut) & 0xFFFFFFFF,
            )
            + record.packet.ljust(length + 3 & ~3, b"\0")
            + record.raw
            + struct.pack(f"{order}I", size)
        )  # fmt: skip

    return b"", records, written, kind


def _snoop(data: bytes) -> Parts:
    records, at = [], 16
    while at + 24 <= len(data):
        length, here, size, drops, second, rest = struct.unpack_from(">IIIIII", data, at)
        if size < 24 + here or at + size > len(data):
            break
        packet = data[at + 24 : at + 24 + here]
        records.append(Record((second, rest, drops, 0, 0, length - here), packet, data[at + 24 + here : at + size]))
        at += size

    def written(record: Record) -> bytes:
        second, rest, drops, shorter, longer, cut = record.head
        here = len(record.packet)
        size = 24 + here + len(record.raw)
        fields = (here + cut, here + shorter, size + longer, drops, second, rest)
        return struct.pack(">IIIIII", *(one & 0xFFFFFFFF for one in fields)) + record.packet + record.raw

    return data[:16], records, written, _ETHERNET


def _erf(data: bytes) -> Parts:
    records, at = [], 0
    while at + 16 <= len(data):
        fraction, second, kind, flags, size, lost, wire = struct.unpack_from("<IIBB", data, at) + struct.unpack_from(
            ">HHH", data, at + 10
        )
        if size < 16 or at + size > len(data):
            break
        before = 2 if kind & 0x7F == _ERF_ETHERNET else 0
        packet = data[at + 16 + before : at + size]
        head = (second, fraction, kind, flags, lost, 0, wire - len(packet))
        records.append(Record(head, packet, data[at + 16 : at + 16 + before]))
        at += size

    def written(record: Record) -> bytes:
        second, fraction, kind, flags, lost, longer, cut = record.head
        size = 16 + len(record.raw) + len(record.packet)
        times = struct.pack("<II", fraction & 0xFFFFFFFF, second & 0xFFFFFFFF) + bytes([kind & 0xFF, flags & 0xFF])
        fields = (size + longer, lost, len(record.packet) + cut)
        return times + struct.pack(">HHH", *(one & 0xFFFF for one in fields)) + record.raw + record.packet

    return b"", records, written, _ETHERNET


def borders(packet: bytes, link_type: int) -> list[int]:
    """Where the headers in a packet begin, as far as they are walked here: link layer, IP, TCP or UDP, options."""
    found, at, kind = [0], 14, int.from_bytes(packet[12:14], "big")
    if link_type == _RAW:
        at, kind = 0, 0x0800 if packet[:1] and packet[0] >> 4 == 4 else 0x86DD
    elif link_type != _ETHERNET:
        return [0, *_inner(packet, 0)]
    while kind in (0x8100, 0x88A8, 0x9100) and at + 4 <= len(packet):
        found, at, kind = [*found, at], at + 4, int.from_bytes(packet[at + 2 : at + 4], "big")
    while at < len(packet) and kind in (0x0800, 0x86DD):
        found.append(at)
        four = kind == 0x0800
        transport = packet[at + 9 : at + 10] if four else packet[at + 6 : at + 7]
        at += max(20, 4 * (packet[at] & 15)) if four else 40  # a damaged length may be 0
        kind = {b"\x04": 0x0800, b"\x29": 0x86DD}.get(transport, 0)
    return [border for border in (*found, at, at + 8, at + 20) if border < len(packet)] + _inner(packet, at + 8)


def _inner(packet: bytes, start: int) -> list[int]:
    """Where IP headers may begin behind link layers and envelopes that are not walked here."""
    return [at for at in range(start, min(len(packet), _DEEP)) if packet[at] in (0x45, 0x60)]


def _header(record: Record, link_type: int, rng: Random) -> Record:
    """A field of one to four octets around a border becomes an extreme, or its neighbour."""
    packet = bytearray(record.packet)
    if not packet:
        return record
    at = rng.choice(borders(record.packet, link_type)) + rng.randrange(-_BEFORE, 24)
    at = min(max(at, 0), len(packet) - 1)
    size = rng.choice([1, 1, 2, 2, 4])
    near = int.from_bytes(packet[at : at + size], "big") + rng.choice([-1, 1])
    value = near if rng.random() < 0.3 else rng.choice(EXTREMES)
    packet[at : at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "big")
    return replace(record, packet=bytes(packet))


def _cut(record: Record, link_type: int, rng: Random) -> Record:
    """Captured up to a border, or a few octets behind: what is missing is said."""
    size = min(rng.choice(borders(record.packet, link_type)) + rng.randrange(6), len(record.packet))
    lost = len(record.packet) - size if rng.random() < 0.8 else 0
    return replace(record, packet=record.packet[:size], head=(*record.head[:-1], record.head[-1] + lost))


def _record(record: Record, _: int, rng: Random) -> Record:
    """A field of the record's own header: times and lengths."""
    head = list(record.head)
    head[rng.randrange(len(head))] = rng.choice([*EXTREMES, rng.getrandbits(32)])
    return replace(record, head=tuple(head))


def _octets(record: Record, _: int, rng: Random) -> Record:
    return replace(record, packet=octets(record.packet, rng))


def _ip_at(packet: bytes, link_type: int) -> int:
    return next((at for at in borders(packet, link_type)[1:] if packet[at] >> 4 in (4, 6)), -1)


def _wrapped(record: Record, link_type: int, rng: Random) -> Record:
    """In one to four envelopes of any kind."""
    start = _ip_at(record.packet, link_type)
    if start < 0:
        return record
    several = list((ENVELOPES | ONLY_6 if record.packet[start] >> 4 == 6 else ENVELOPES).values())
    chosen = rng.choices(several, k=rng.choice([1, 1, 2, 4]))
    if rng.random() < 0.02:
        chosen += OUTERMOST.values()
    frame, _ = stacked(record.packet[start:], chosen)
    if link_type == _ETHERNET:
        return replace(record, packet=frame)
    return replace(record, packet=frame[14:]) if frame[12:14] in (b"\x08\0", b"\x86\xdd") else record


def _fragments(record: Record, link_type: int, rng: Random) -> list[Record]:
    """The packet in fragments: in order or not, some twice, overlapping, missing, or with impossible offsets."""
    packet, start = record.packet, _ip_at(record.packet, link_type)
    four = start >= 0 and packet[start] >> 4 == 4
    size = 4 * (packet[start] & 15) if four else 40
    if start < 0 or size < 20 or len(packet) < start + size + 16:
        return [record]
    head, body, number = packet[start : start + size], packet[start + size :], rng.randbytes(4)
    step, made = rng.choice([8, 16, 24, 64]), []
    for at in range(0, min(len(body), 40 * step), step):
        part = body[at : at + step + rng.choice([0, 0, 0, 8])]
        more = at + step < len(body) if rng.random() < 0.97 else rng.random() < 0.5
        offset = at // 8 if rng.random() < 0.95 else rng.choice([0, 1, 0x1FFF])
        cut = _fragment_4(head, part, offset, more) if four else _fragment_6(head, part, offset, more, number)
        made.append(replace(record, packet=packet[:start] + cut))
    made = [one for one in made for _ in range(rng.choice([1, 1, 1, 1, 0, 2]))]
    if rng.random() < 0.4:
        rng.shuffle(made)
    return made or [record]


def _fragment_4(head: bytes, part: bytes, offset: int, more: bool) -> bytes:
    """RFC 791 3.1; the header's checksum is left as it was."""
    size, place = len(head) + len(part) & 0xFFFF, 0x2000 * more | offset
    return head[:2] + size.to_bytes(2, "big") + head[4:6] + place.to_bytes(2, "big") + head[8:] + part


def _fragment_6(head: bytes, part: bytes, offset: int, more: bool, number: bytes) -> bytes:
    """RFC 8200 4.5."""
    place = (offset << 3 | more).to_bytes(2, "big")
    body = head[6:7] + b"\0" + place + number + part
    return head[:4] + (len(body) & 0xFFFF).to_bytes(2, "big") + b"\x2c" + head[7:] + body


_DAMAGES = (_header, _header, _header, _cut, _record, _octets, _wrapped, _wrapped)


def damaged(data: bytes, rng: Random) -> bytes:
    """The capture with some records damaged, wrapped, in fragments, exchanged, repeated or removed."""
    parts = split(data)
    if parts is None or not parts[1] or rng.random() < 0.15:
        for _ in range(rng.choice([1, 1, 2, 4])):
            data = octets(data, rng)
        return data
    head, records, written, link_type = parts
    for _ in range(rng.choice([1, 1, 2, 3, 6])):
        records = reordered(records, rng) if rng.random() < 0.2 else _changed(records, link_type, rng)
    head = _file_header(head, rng) if rng.random() < 0.06 else head
    return head + b"".join(map(written, records))


def _file_header(head: bytes, rng: Random) -> bytes:
    """Damaged, or with another link type than that of the packets."""
    if len(head) < _PCAP_HEADER or rng.random() < 0.5:
        return octets(head, rng)
    kind = rng.choice([*_LINK_TYPES, rng.getrandbits(9)])
    return head[:20] + kind.to_bytes(4, "little" if head[0] in b"\xd4\x4d" else "big")


def _changed(records: list[Record], link_type: int, rng: Random) -> list[Record]:
    """One record, or each with the same kind of damage."""
    change, at = rng.choice(_DAMAGES), rng.randrange(len(records))
    if not records[at].head:
        return [_block(one, rng) if place == at else one for place, one in enumerate(records)]
    everywhere = rng.random() < 0.15
    if rng.random() < 0.15:
        return [
            made
            for place, one in enumerate(records)
            for made in (_fragments(one, link_type, rng) if one.packet and (everywhere or place == at) else [one])
        ]
    return [
        change(one, link_type, rng) if one.packet and (everywhere or place == at) else one
        for place, one in enumerate(records)
    ]


def _block(record: Record, rng: Random) -> Record:
    """A field in a block that holds no packet, behind its type and length: an option's, a clock's, a link type."""
    block = bytearray(record.raw)
    if len(block) > _LEAST_BLOCK:
        at, size = rng.randrange(8, len(block) - 4), rng.choice([1, 1, 2, 4, 8])
        value = rng.choice([*EXTREMES, rng.getrandbits(64), 9, 14, 27, 63, 64, 127])
        made = (value & (1 << 8 * size) - 1).to_bytes(size, rng.choice(["little", "big"]))[: len(block) - 4 - at]
        block[at : at + len(made)] = made
    return replace(record, raw=bytes(block))
