"""Damage to captures that keeps their structure: records, headers at the borders of protocols, envelopes, fragments."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from mutated_text import octets

_EXTREMES = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
_ETHERNET, _RAW = 1, 101


@dataclass(frozen=True)
class Record:
    """One packet: the record's own header fields, and its octets."""

    head: tuple[int, ...]
    packet: bytes
    raw: bytes = b""
    """A block that holds no packet, as it is."""


def split(data: bytes) -> tuple[bytes, list[Record], Callable[[Record], bytes], int] | None:
    """The file header, the records, how one is written, and the link type; None for what is not walked here."""
    if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\xa1\xb2\x3c\x4d"):
        return _pcap(data, "<" if data[0] in b"\xd4\x4d" else ">")
    if data[:4] == b"\n\r\r\n":
        return _pcapng(data, "<" if data[8:9] == b"\x4d" else ">")
    return None


def _pcap(data: bytes, order: str) -> tuple[bytes, list[Record], Callable[[Record], bytes], int]:
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
        return struct.pack(
            f"{order}IIII", second, rest, (size + shorter) & 0xFFFFFFFF, (size + cut) & 0xFFFFFFFF
        ) + record.packet

    return data[:24], records, written, struct.unpack_from(f"{order}I", data, 20)[0] & 0xFFFF


def _pcapng(data: bytes, order: str) -> tuple[bytes, list[Record], Callable[[Record], bytes], int]:
    records, at, kind = [], 0, 0
    while at + 12 <= len(data):
        block, size = struct.unpack_from(f"{order}II", data, at)
        if size < 12 or size % 4 or at + size > len(data):
            break
        if block == 6 and size >= 32:
            fields = struct.unpack_from(f"{order}IIIII", data, at + 8)
            packet = data[at + 28 : at + 28 + fields[3]]
            records.append(Record((*fields[:3], 0, fields[4] - len(packet)), packet))
        else:
            kind = struct.unpack_from(f"{order}H", data, at + 8)[0] if block == 1 else kind
            records.append(Record((), b"", data[at : at + size]))
        at += size

    def written(record: Record) -> bytes:
        if not record.head:
            return record.raw
        interface, high, low, shorter, cut = record.head
        length = len(record.packet)
        size = 32 + (length + 3 & ~3)
        return (
            struct.pack(
                f"{order}IIIIIII", 6, size, interface, high, low,
                (length + shorter) & 0xFFFFFFFF, (length + cut) & 0xFFFFFFFF,
            )
            + record.packet.ljust(length + 3 & ~3, b"\0")
            + struct.pack(f"{order}I", size)
        )  # fmt: skip

    return b"", records, written, kind


def borders(packet: bytes, link_type: int) -> list[int]:
    """Where the headers in a packet begin, as far as they are walked here: link layer, IP, TCP or UDP, options."""
    found, at, kind = [0], 14, int.from_bytes(packet[12:14], "big")
    if link_type == _RAW:
        at, kind = 0, 0x0800 if packet[:1] and packet[0] >> 4 == 4 else 0x86DD
    elif link_type != _ETHERNET:
        return [0, *(at for at in range(min(len(packet), 60)) if packet[at] in (0x45, 0x60))]
    while kind in (0x8100, 0x88A8, 0x9100) and at + 4 <= len(packet):
        found, at, kind = [*found, at], at + 4, int.from_bytes(packet[at + 2 : at + 4], "big")
    while at < len(packet) and kind in (0x0800, 0x86DD):
        found.append(at)
        four = kind == 0x0800
        transport = packet[at + 9 : at + 10] if four else packet[at + 6 : at + 7]
        at += 4 * (packet[at] & 15) if four else 40
        kind = {b"\x04": 0x0800, b"\x29": 0x86DD}.get(transport, 0)
    return [border for border in (*found, at, at + 8, at + 20) if border < len(packet)]


def _header(record: Record, link_type: int, rng: Random) -> Record:
    """A field of one to four octets at or behind a border becomes an extreme, or its neighbour."""
    packet = bytearray(record.packet)
    if not packet:
        return record
    at = min(rng.choice(borders(record.packet, link_type)) + rng.randrange(24), len(packet) - 1)
    size = rng.choice([1, 1, 2, 2, 4])
    value = int.from_bytes(packet[at : at + size], "big") + rng.choice([-1, 1]) if rng.random() < 0.3 else rng.choice(_EXTREMES)
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
    head[rng.randrange(len(head))] = rng.choice([*_EXTREMES, rng.getrandbits(32)])
    return replace(record, head=tuple(head))


def _octets(record: Record, _: int, rng: Random) -> Record:
    return replace(record, packet=octets(record.packet, rng))


def _ip_at(packet: bytes, link_type: int) -> int:
    return next((at for at in borders(packet, link_type)[1:] if packet[at] >> 4 in (4, 6)), -1)


def _udp(port: int, body: bytes) -> bytes:
    return struct.pack(">HHHH", 40000, port, 8 + len(body) & 0xFFFF, 0) + body


def _ipv4(protocol: int, body: bytes, rng: Random) -> bytes:
    return struct.pack(
        ">BBHHHBBHII", 0x45, 0, 20 + len(body) & 0xFFFF, rng.getrandbits(16), 0, 64, protocol, 0, 0x0A000001, 0x0A000002
    ) + body


def _wrapped(record: Record, link_type: int, rng: Random) -> Record:
    """In an envelope, or several: VLAN tags, MPLS, GRE, IP in IP, VXLAN, Geneve, GTP-U, PPPoE, L2TP, Teredo."""
    packet, start = record.packet, _ip_at(record.packet, link_type)
    if start < 0:
        return record
    head, inner = packet[:start], packet[start:]
    label = rng.getrandbits(24).to_bytes(3, "big")
    frame = b"\2" * 12 + b"\x08\0" + inner
    gtp = struct.pack(">BBHI", rng.choice([0x30, 0x32, 0x34, 0x36]), 255, len(inner), 7) + inner
    bodies: dict[str, Callable[[], bytes]] = {
        "vlan": lambda: head[:12] + b"\x81\0\0\7" * rng.choice([1, 2, 9]) + b"\x08\0" + inner,
        "mpls": lambda: head[:12] + b"\x88\x47" + (label[:2] + b"\x10\x40") * rng.randrange(3) + label[:2] + b"\x11\x40" + inner,
        "pppoe": lambda: head[:12] + b"\x88\x64\x11\0\0\1" + struct.pack(">H", len(inner) + 2 & 0xFFFF) + b"\0\x21" + inner,
        "ipip": lambda: head + _ipv4(4, inner, rng),
        "gre": lambda: head + _ipv4(47, rng.choice([b"\0\0", b"\x20\0", b"\xb0\0", b"\x30\1"]) + b"\x08\0" + b"\0\0\0\1" * rng.randrange(4) + inner, rng),
        "vxlan": lambda: head + _ipv4(17, _udp(4789, b"\x08\0\0\0" + label + b"\0" + frame), rng),
        "geneve": lambda: head + _ipv4(17, _udp(6081, bytes([rng.randrange(64), 0]) + b"\x65\x58" + label + b"\0" + frame), rng),
        "gtpu": lambda: head + _ipv4(17, _udp(2152, gtp), rng),
        "l2tp": lambda: head + _ipv4(17, _udp(1701, b"\0\2\0\1\0\1\xff\3\0\x21" + inner), rng),
        "teredo": lambda: head + _ipv4(17, _udp(3544, inner), rng),
        "erspan": lambda: head + _ipv4(47, b"\x10\0\x88\xbe\0\0\0\1" + b"\x10\0\0\0" + b"\0" * 4 + frame, rng),
    }  # fmt: skip
    return replace(record, packet=bodies[rng.choice(list(bodies))]())


def _fragments(record: Record, link_type: int, rng: Random) -> list[Record]:
    """The packet in fragments: in order or not, some twice, overlapping, missing, or with impossible offsets."""
    packet, start = record.packet, _ip_at(record.packet, link_type)
    size = 4 * (packet[start] & 15) if start >= 0 else 0
    if start < 0 or packet[start] >> 4 != 4 or len(packet) < start + size + 16:
        return [record]
    head, body = bytearray(packet[start : start + size]), packet[start + size :]
    step, made = rng.choice([8, 16, 24, 64]), []
    for at in range(0, len(body), step):
        part = body[at : at + step + rng.choice([0, 0, 0, 8])]
        more = 0x2000 if at + step < len(body) else 0
        offset = at // 8 if rng.random() < 0.95 else rng.choice([0, 1, 0x1FFF])
        head[2:4] = (size + len(part) & 0xFFFF).to_bytes(2, "big")
        head[6:8] = (more | offset).to_bytes(2, "big")
        made.append(replace(record, packet=packet[:start] + bytes(head) + part))
    made = [one for one in made for _ in range(rng.choice([1, 1, 1, 1, 0, 2]))]
    if rng.random() < 0.4:
        rng.shuffle(made)
    return made[:40] or [record]


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
        records = _order(records, rng) if rng.random() < 0.2 else _changed(records, link_type, rng)
    head = octets(head, rng) if rng.random() < 0.03 else head
    return head + b"".join(map(written, records))


def _changed(records: list[Record], link_type: int, rng: Random) -> list[Record]:
    """One record, or each with the same kind of damage."""
    change, at = rng.choice(_DAMAGES), rng.randrange(len(records))
    if not records[at].packet:
        change = _record
    everywhere = rng.random() < 0.15
    if rng.random() < 0.12:
        return [
            made
            for place, one in enumerate(records)
            for made in (_fragments(one, link_type, rng) if one.packet and (everywhere or place == at) else [one])
        ]
    return [
        change(one, link_type, rng) if one.packet and (everywhere or place == at) else one
        for place, one in enumerate(records)
    ]


def _order(records: list[Record], rng: Random) -> list[Record]:
    one, other = rng.randrange(len(records)), rng.randrange(len(records))
    records = list(records)
    match rng.randrange(4):
        case 0:
            records[one], records[other] = records[other], records[one]
        case 1:
            records[one:one] = [records[other]] * rng.choice([1, 3])
        case 2 if len(records) > 1:
            del records[one]
        case 3:
            rng.shuffle(records)
    return records
