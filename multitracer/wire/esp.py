"""What ESP carries without encryption (RFC 4303, RFC 2410), found as RFC 5879 describes.

Nothing in a packet says that it is not encrypted. The sizes of initialization vector and integrity check value are
tried; the trailer's padding, the next header and a checksum within have to agree before any is believed. Of a packet
that was cut the trailer is missing: only an IP packet within, whose length leaves room for just a trailer, is believed.
"""

from __future__ import annotations

from typing import NamedTuple

from multitracer.wire import dpkt_headers
from multitracer.wire.inside import ip_bytes, number, ones_sum, proven_ip
from multitracer.wire.layers import PROTOCOL_TCP, PROTOCOL_UDP

_VECTOR_BYTES = (0, 8)
"""Of no encryption, and of AES-GMAC (RFC 4543 3)."""
_CHECK_BYTES = (12, 16, 24, 32, 8, 20, 0)
"""RFC 2403, 2404 and 4543, RFC 4868 2.6; without truncation; none."""
_IPIP, _IPV6_INSIDE = 4, 41
_ICMP, _ICMP6, _OSPF = 1, 58, 89
_TRAILER_BYTES, _HEADER_BYTES, _ALIGNMENT = 2, 8, 4


class Unencrypted(NamedTuple):
    """A payload: its protocol, where it begins after the ESP header's beginning, and its size in octets."""

    protocol: int
    at: int
    size: int


def unencrypted(octets: bytes, size: int, addresses: bytes) -> Unencrypted | None:
    """The payload of an ESP packet of `size` octets between `addresses`; None where it is not found."""
    header = dpkt_headers.esp(octets)
    if header is None:
        return None
    if len(octets) < size:
        return _of_cut(octets, size)
    for check in _CHECK_BYTES:
        for vector in _VECTOR_BYTES:
            content = _before_trailer(header.data[vector : len(header.data) - check])
            if content is not None and _is_sound(*content, addresses):
                return Unencrypted(content[0], _HEADER_BYTES + vector, len(content[1]))
    return None


def _of_cut(octets: bytes, size: int) -> Unencrypted | None:
    """The IP packet in an ESP packet of `size` octets whose end was not captured."""
    for vector in _VECTOR_BYTES:
        at = _HEADER_BYTES + vector
        length = ip_bytes(octets[at:])
        padded = length + _TRAILER_BYTES + -(length + _TRAILER_BYTES) % _ALIGNMENT  # RFC 4303 2.4
        if length and size - at - padded in _CHECK_BYTES:
            return Unencrypted(_IPIP if octets[at] >> 4 == 4 else _IPV6_INSIDE, at, length)
    return None


def _before_trailer(octets: bytes) -> tuple[int, bytes] | None:
    """Next header and payload, if the padding is as RFC 4303 2.4 says: 1, 2, 3 and so on."""
    if len(octets) < _TRAILER_BYTES:
        return None
    padding, protocol = octets[-2], octets[-1]
    end = len(octets) - _TRAILER_BYTES - padding
    if end <= 0 or octets[end:-2] != bytes(range(1, padding + 1)):
        return None
    return protocol, octets[:end]


def _is_sound(protocol: int, payload: bytes, addresses: bytes) -> bool:
    """Whether a payload is of this protocol, with right lengths and a right checksum."""
    if protocol in (_IPIP, _IPV6_INSIDE):
        return payload[0] >> 4 == (4 if protocol == _IPIP else 6) and proven_ip(payload, len(payload))
    if protocol == PROTOCOL_TCP:
        # RFC 9293 3.1: a header of 20 to 60 octets, three reserved bits of zero.
        header = 4 * (payload[12] >> 4) if len(payload) >= 20 else 0
        if not 20 <= header <= len(payload) or payload[12] & 0x0E:
            return False
    elif protocol == PROTOCOL_UDP:
        if len(payload) < 8 or number(payload, 4) != len(payload):
            return False
        if len(addresses) == 8 and not number(payload, 6):  # RFC 768: without a checksum
            return True
    elif protocol == _ICMP and len(addresses) == 8:  # RFC 792: a checksum without addresses
        return len(payload) >= 8 and ones_sum(payload) == 0xFFFF
    elif protocol not in (_ICMP6, _OSPF) or len(addresses) == 8:
        return False
    pseudo = addresses + len(payload).to_bytes(4, "big") + bytes([0, 0, 0, protocol])
    return ones_sum(pseudo + payload) == 0xFFFF
