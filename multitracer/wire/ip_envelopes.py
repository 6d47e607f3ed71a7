"""What IP packets hold that are tunnels, by protocol: IP in IP, GRE, and UDP by its port.

Sources: RFC 2003, RFC 4213 (IP in IP), RFC 2784, 2890 and 2637 (GRE).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from multitracer.wire import datagram_envelopes
from multitracer.wire.frame_envelopes import number
from multitracer.wire.inside import BETWEEN_ENDS, ETHERNET, IPV4, IPV6, PPP, Inside, if_ip
from multitracer.wire.layers import PROTOCOL_UDP


class Packet(NamedTuple):
    """An IP packet: what it carries, its addresses, and where its payload is; `end` is by its length field."""

    octets: bytes
    protocol: int
    body: bytes
    source: bytes
    destination: bytes


def packet_of(octets: bytes) -> Packet | None:
    """The fields of a whole IP packet; None for fragments, and what is malformed or cut."""
    if octets[0] >> 4 == 4:
        return _packet_of_4(octets)
    return _packet_of_6(octets) if octets[0] >> 4 == 6 else None


def _packet_of_4(octets: bytes) -> Packet | None:
    header, length = (octets[0] & 15) * 4, number(octets, 2)
    if len(octets) < 20 or header < 20 or number(octets, 6) & 0x3FFF:
        return None
    return Packet(octets, octets[9], octets[header : length or None], octets[12:16], octets[16:20])


def _packet_of_6(octets: bytes) -> Packet | None:
    if len(octets) < 40:
        return None
    protocol, at = octets[6], 40
    while protocol in (0, 43, 60, 135) and at + 8 <= len(octets):  # RFC 8200 4.1, RFC 6275 6.1
        protocol, at = octets[at], at + 8 * (octets[at + 1] + 1)
    length = number(octets, 4)
    return Packet(octets, protocol, octets[at : 40 + length if length else None], octets[8:24], octets[24:40])


def _ip(packet: Packet) -> Inside | None:
    return if_ip(packet.body, "ipip", BETWEEN_ENDS)


def _gre(packet: Packet) -> Inside | None:
    """The payload of a GRE packet (RFC 2784 2, RFC 2890 2), or of PPTP's version 1 (RFC 2637 4.1)."""
    body = packet.body
    if len(body) < 4:
        return None
    flags, kind = number(body, 0), number(body, 2)
    at = 4 + 4 * bool(flags & 0x8000) + 4 * bool(flags & 0x2000) + 4 * bool(flags & 0x1000)
    if flags & 7 == 1:  # RFC 2637: key always, sequence and acknowledgement numbers as flagged
        at = 8 + 4 * bool(flags & 0x1000) + 4 * bool(flags & 0x0080)
    if kind in (IPV4, IPV6, ETHERNET, PPP):
        return Inside(kind, body[at:], "gre", BETWEEN_ENDS)
    return None


def _datagram(packet: Packet) -> Inside | None:
    return datagram_envelopes.opened(packet.body)


OPENERS: dict[int, Callable[[Packet], Inside | None]] = {4: _ip, 41: _ip, 47: _gre, PROTOCOL_UDP: _datagram}
"""What opens an envelope, by its IP protocol."""
