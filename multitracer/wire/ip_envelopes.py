"""What IP packets hold that are tunnels, by protocol: IP in IP, GRE, ERSPAN, AH, ESP without encryption, L2TPv3.

Sources: RFC 2003 and 4213 (IP in IP), RFC 2784, 2890 and 2637 (GRE), RFC 7637 (NVGRE), draft-foschiano-erspan, RFC 4302
(AH), RFC 4303 and 5879 (ESP), RFC 3931 and 4719 (L2TPv3), RFC 4023 (MPLS), RFC 3378 (EtherIP), RFC 8986 4.9 (frames).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from multitracer.wire import datagram_envelopes, dpkt_headers, esp
from multitracer.wire.frame_envelopes import OPENERS as OF_FRAMES
from multitracer.wire.frame_envelopes import carries_no_ip
from multitracer.wire.inside import (
    ANYWHERE,
    AT_RECEIVER,
    BETWEEN_ENDS,
    ETHERNET,
    IEEE_802_11,
    IPV4,
    IPV6,
    MPLS,
    PPP,
    Closed,
    Inside,
    Part,
    if_ip,
    number,
)
from multitracer.wire.layers import PROTOCOL_TCP, PROTOCOL_UDP

_EXTENSIONS = (0, 43, 60, 135)
"""IPv6 extension headers with their length in the second octet (RFC 8200 4.1, RFC 6275 6.1)."""
_WCCP = 0x883E
_ARUBA = range(0x8200, 0x8380, 0x10)
"""GRE types of Aruba's access points, one a virtual one, around frames of IEEE 802.11 (as Wireshark reads them)."""
_ERSPAN_2, _ERSPAN_3 = 0x88BE, 0x22EB
_ERSPAN_IP = 2
"""Frame type of ERSPAN III: an IP packet."""
_GRE, _ETHERIP_BYTES = 47, 2
_UDP_BYTES = 8


class Packet(NamedTuple):
    """An IP packet: what it carries, its addresses and its payload."""

    octets: bytes
    protocol: int
    payload_at: int
    payload_bytes: int
    """By the length field, which a snap length does not shorten."""
    source: bytes
    destination: bytes

    @property
    def payload(self) -> bytes:
        """What was captured of it."""
        return self.octets[self.payload_at : self.payload_at + self.payload_bytes]


def packet_of(octets: bytes) -> Packet | None:
    """The fields of a whole IP packet; None for fragments, and what is malformed or cut."""
    version = octets[0] >> 4 if octets else 0
    if version == 4:
        return _packet_of_4(octets)
    return _packet_of_6(octets) if version == 6 else None


def _packet_of_4(octets: bytes) -> Packet | None:
    if len(octets) < 20 or octets[6] & 0x3F or octets[7]:
        return None
    header, length = (octets[0] & 15) * 4, octets[2] << 8 | octets[3] or len(octets)
    if not 20 <= header <= length:
        return None
    return Packet(octets, octets[9], header, length - header, octets[12:16], octets[16:20])


def _packet_of_6(octets: bytes) -> Packet | None:
    if len(octets) < 40:
        return None
    protocol, at, end = octets[6], 40, 40 + number(octets, 4)
    while protocol in _EXTENSIONS and at + 8 <= len(octets):
        protocol, at = octets[at], at + 8 * (octets[at + 1] + 1)
    return Packet(octets, protocol, at, (end if end > 40 else len(octets)) - at, octets[8:24], octets[24:40])


def opened(packet: Packet) -> Inside | Part | Closed | None:
    """What a packet holds; None where it is no tunnel."""
    return OPENERS[packet.protocol](packet) if packet.protocol in OPENERS else None


def _ip(packet: Packet) -> Inside | None:
    return if_ip(packet.payload, "ipip", BETWEEN_ENDS)


def _gre(packet: Packet) -> Inside | Closed | None:
    return gre(packet.payload)


def gre(body: bytes) -> Inside | Closed | None:
    """The payload of a GRE packet (RFC 2784 2, RFC 2890 2), or of PPTP's version 1 (RFC 2637 4.1)."""
    header = dpkt_headers.gre(body)
    if header is None:
        return None
    kind = number(body, 2)
    if header.v == 1:
        return Inside(PPP, header.data, f"pptp call {header.callid}", AT_RECEIVER) if header.data else None
    label = f"gre key {header.key}" if hasattr(header, "key") else "gre"
    if kind in (_ERSPAN_2, _ERSPAN_3):
        return _erspan(kind, header.data, numbered=hasattr(header, "seq"))
    if kind == _WCCP:
        # WCCP 2 has a header of four octets here, version 1 has none.
        return if_ip(header.data, label, BETWEEN_ENDS) or if_ip(header.data[4:], label, BETWEEN_ENDS)
    if kind in _ARUBA:
        return Inside(IEEE_802_11, header.data, f"{label} type {kind:#06x}", BETWEEN_ENDS)
    if kind in (IPV4, IPV6, PPP) or kind in OF_FRAMES:
        return Inside(kind, header.data, label, BETWEEN_ENDS)
    return Closed(f"GRE of type {kind:#06x}") if header.data and not carries_no_ip(kind) else None


def _erspan(kind: int, octets: bytes, *, numbered: bool) -> Inside | None:
    """The mirrored frame: type I has no header of its own, II has one of 8 octets, III one of 12 or 20."""
    if kind == _ERSPAN_2 and not (numbered and octets[:1] and octets[0] >> 4 == 1):
        return Inside(ETHERNET, octets, "erspan")
    session, at = f"erspan {number(octets, 2) & 0x3FF}", 8
    if kind == _ERSPAN_3:
        flags = number(octets, 10)
        at = 20 if flags & 1 else 12
        if flags >> 10 & 0x1F == _ERSPAN_IP:
            return if_ip(octets[at:], session)
    return Inside(ETHERNET, octets[at:], session)


def _authenticated(packet: Packet) -> Inside | None:
    """What an authentication header is before (RFC 4302 2): a packet in tunnel mode, or the rest of this one."""
    header = dpkt_headers.ah(packet.payload)
    if header is None:
        return None
    protocol = packet.payload[0]
    if protocol in (4, 41):
        return if_ip(header.data, "ah", BETWEEN_ENDS)
    size = len(packet.payload) - len(header.data)
    return without(packet, protocol, size, packet.payload_bytes - size)


def _encapsulated(packet: Packet) -> Inside | Closed | None:
    """What ESP without encryption carries; the trailer and what is before it have to fit one another."""
    found = esp.unencrypted(packet.payload, packet.payload_bytes, packet.source + packet.destination)
    if found is None:
        return Closed("encrypted ESP" if len(packet.payload) == packet.payload_bytes else "ESP that was cut")
    if found.protocol in (4, 41):
        return if_ip(packet.payload[found.at :], "esp", BETWEEN_ENDS)
    return without(packet, found.protocol, found.at, found.size)


def without(packet: Packet, protocol: int, start: int, size: int) -> Inside:
    """The packet as if it carried only `size` octets of its payload from `start` on, of a protocol."""
    content = packet.payload[start : start + size]
    if len(packet.source) == 4:
        head = bytearray(packet.octets[: 4 * (packet.octets[0] & 15)])
        head[2:4], head[9] = (len(head) + size).to_bytes(2, "big"), protocol
        return Inside(IPV4, bytes(head) + content)
    head = bytearray(packet.octets[:40])
    head[4:6], head[6] = size.to_bytes(2, "big"), protocol
    return Inside(IPV6, bytes(head) + content)


def _l2tp(packet: Packet) -> Inside | Closed | None:
    return datagram_envelopes.l2tpv3(packet.payload)


def _datagram(packet: Packet) -> Inside | Part | Closed | None:
    found = datagram_envelopes.opened(packet.payload)
    if not isinstance(found, datagram_envelopes.Carried):
        return found
    at = _UDP_BYTES + found.at
    carried = packet._replace(
        protocol=found.protocol, payload_at=packet.payload_at + at, payload_bytes=packet.payload_bytes - at
    )
    if found.protocol in (PROTOCOL_TCP, PROTOCOL_UDP):
        return without(carried, found.protocol, 0, carried.payload_bytes)
    content = opened(carried)
    # On the port of GRE what has an unknown type is hardly GRE; an IP protocol's number leaves no doubt.
    return None if found.protocol == _GRE and isinstance(content, Closed) else content


OPENERS: dict[int, Callable[[Packet], Inside | Part | Closed | None]] = {
    4: _ip,
    PROTOCOL_UDP: _datagram,
    41: _ip,
    47: _gre,
    50: _encapsulated,
    51: _authenticated,
    94: _ip,
    97: lambda packet: Inside(ETHERNET, packet.payload[_ETHERIP_BYTES:], "etherip", BETWEEN_ENDS),
    108: lambda _: Closed("IPComp"),
    115: _l2tp,
    137: lambda packet: Inside(MPLS, packet.payload, "", ANYWHERE),
    143: lambda packet: Inside(ETHERNET, packet.payload, "", ANYWHERE),
}
"""What opens an envelope, by its IP protocol."""
