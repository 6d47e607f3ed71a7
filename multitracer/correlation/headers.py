"""Fields of the IP and TCP headers of a carried packet, as far as its octets were carried."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple

UNKNOWN = -1
TCP = 6
FLAGS_MASK = 0xFF
"""The eight flags of RFC 9293 3.1."""

_IPV4_BYTES, _IPV6_BYTES, _PORTS_BYTES = 20, 40, 4
_EXTENSIONS = (0, 43, 60)  # hop-by-hop, routing, destination options: RFC 8200 4.1
_SEQ, _ACK, _OFFSET, _FLAGS, _CHECKSUM = 4, 8, 12, 13, 16  # RFC 9293 3.1


class Header(NamedTuple):
    """Fields of one TCP packet; those beyond its known octets are -1."""

    source: str
    source_port: int
    destination: str
    destination_port: int
    wire_bytes: int
    ip_id: int
    raw_seq: int = UNKNOWN
    raw_ack: int = UNKNOWN
    payload_bytes: int = UNKNOWN
    flags: int = UNKNOWN
    checksum: int = UNKNOWN

    @property
    def numbered(self) -> bool:
        """Whether sequence number, acknowledgement number, length and flags are known."""
        return self.flags >= 0


def header(octets: bytes) -> Header | None:
    """The header of the TCP packet that begins with `octets`; None if they do not begin with one.

    The octets must reach at least to the ports; the fields beyond the last octet are -1.
    """
    version = octets[0] >> 4 if octets else 0
    if version == 4 and len(octets) >= _IPV4_BYTES:
        return _ipv4(octets)
    if version == 6 and len(octets) >= _IPV6_BYTES:
        return _ipv6(octets)
    return None


def _ipv4(octets: bytes) -> Header | None:
    at = 4 * (octets[0] & 15)
    fragment_offset = _number(octets, 6) & 0x1FFF
    if octets[9] != TCP or at < _IPV4_BYTES or fragment_offset or not _sum_is_right(octets[:at]):
        return None
    source, destination = str(IPv4Address(octets[12:16])), str(IPv4Address(octets[16:20]))
    return _tcp(octets, at, source, destination, _number(octets, 2), _number(octets, 4))


def _sum_is_right(header: bytes) -> bool:
    """Whether the header checksum is right (RFC 791 3.1), as it hardly ever is in the middle of a packet."""
    total = sum(_number(header, at) for at in range(0, len(header) - 1, 2))
    return (total & 0xFFFF) + (total >> 16) == 0xFFFF


def _ipv6(octets: bytes) -> Header | None:
    kind, at = octets[6], _IPV6_BYTES
    while kind in _EXTENSIONS and at + 2 <= len(octets):
        kind, at = octets[at], at + 8 * (octets[at + 1] + 1)
    if kind != TCP:
        return None
    source, destination = str(IPv6Address(octets[8:24])), str(IPv6Address(octets[24:40]))
    return _tcp(octets, at, source, destination, _IPV6_BYTES + _number(octets, 4), UNKNOWN)


def _tcp(octets: bytes, at: int, source: str, destination: str, wire: int, ip_id: int) -> Header | None:
    tcp = octets[at:]
    if len(tcp) < _PORTS_BYTES:
        return None
    known = source, _number(tcp, 0), destination, _number(tcp, 2), wire, ip_id
    whole = len(tcp) > _FLAGS
    return Header(
        *known,
        raw_seq=_number(tcp, _SEQ, 4),
        raw_ack=_number(tcp, _ACK, 4),
        payload_bytes=wire - at - 4 * (tcp[_OFFSET] >> 4) if whole else UNKNOWN,
        flags=tcp[_FLAGS] & FLAGS_MASK if whole else UNKNOWN,
        checksum=_number(tcp, _CHECKSUM),
    )


def _number(octets: bytes, at: int, size: int = 2) -> int:
    return int.from_bytes(octets[at : at + size], "big") if at + size <= len(octets) else UNKNOWN
