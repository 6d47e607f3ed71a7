"""The headers of TCP's packets as the link was given them."""

from __future__ import annotations

import struct
from typing import NamedTuple

from multitracer.wire.layers import PROTOCOL_TCP

FIN, SYN, ACK = 0x01, 0x02, 0x10
_END_OF_OPTIONS, _NOP, _SCALE, _SACK = 0, 1, 3, 5
_IP_BYTES, _TCP_BYTES = 20, 20


class Header(NamedTuple):
    """What an IPv4 packet of TCP says."""

    source: str
    """address:port"""
    target: str
    ip_id: int
    flags: int
    seq: int
    ack: int
    window: int
    """As it stands in the header."""
    payload_bytes: int
    scale: int | None
    """By how much its sender scales its windows, where it says so."""
    sacks: bool

    @property
    def key(self) -> tuple[int, ...]:
        """What tells packets of one capture apart."""
        return self.ip_id, self.flags, self.seq, self.ack, self.window, self.payload_bytes


def header_of(octets: bytes) -> Header | None:
    """The headers of a packet; None if it is none of TCP over IPv4."""
    if len(octets) < _IP_BYTES + _TCP_BYTES or octets[0] >> 4 != 4 or octets[9] != PROTOCOL_TCP:
        return None
    at = 4 * (octets[0] & 15)
    total, ip_id = struct.unpack_from(">HH", octets, 2)
    from_port, to_port, seq, ack, offset, flags, window = struct.unpack_from(">HHIIBBH", octets, at)
    begin = at + 4 * (offset >> 4)
    options = dict(_options(octets[at + _TCP_BYTES : begin]))
    return Header(
        _name(octets[12:16], from_port), _name(octets[16:20], to_port), ip_id, flags, seq, ack, window, total - begin,
        options[_SCALE][0] if _SCALE in options else None, _SACK in options,
    )  # fmt: skip


def _name(address: bytes, port: int) -> str:
    return f"{'.'.join(map(str, address))}:{port}"


def _options(octets: bytes) -> list[tuple[int, bytes]]:
    """Kinds and values of TCP's options (RFC 9293 3.2)."""
    found, at = [], 0
    while at < len(octets) and octets[at] != _END_OF_OPTIONS:
        if octets[at] == _NOP:
            at += 1
            continue
        size = octets[at + 1] if at + 1 < len(octets) else 0
        if size < 2:
            break
        found.append((octets[at], octets[at + 2 : at + size]))
        at += size
    return found
