"""Offsets of the IP and transport headers in a captured record: link layers, IPv4 and IPv6.

Sources: tcpdump.org/linktypes, IEEE 802.1Q and 802.1ad, RFC 2516 (PPPoE), RFC 791, RFC 8200.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.compute.kernels import inlined, kernel
from multitracer.wire.labels import MPLS, PPPOE, VLAN, labelled
from multitracer.wire.octets import big16, fold, ones_sum

RAW_IP = 101

# Link types grouped by how the IP header is found (tcpdump.org/linktypes).
(_ETHERNET, _RAW, _SLL, _SLL2, _NULL, _PPP, _CHDLC, _FDDI, _IPNET, RARE, USER, NONE) = range(12)
LINK_TYPES = {
    1: _ETHERNET, 12: _RAW, 14: _RAW, 101: _RAW, 228: _RAW, 229: _RAW, 113: _SLL, 276: _SLL2, 0: _NULL, 108: _NULL,
    9: _PPP, 50: _PPP, 104: _CHDLC, 10: _FDDI, 226: _IPNET, 8: RARE, 281: RARE, 282: RARE, 284: RARE, 285: RARE,
}  # fmt: skip
USER_LINK_TYPES = frozenset({*range(147, 163), 252})

# Status codes of a record.
(TCP, UDP, QUIC, ICMP, OTHER, FRAGMENT, CUT, MALFORMED, EMPTY, UNKNOWN, LINK_FRAME, NO_LINK_TYPE) = range(12)
# Of a fragment, after reassembly: of a datagram that is whole; that lacks another; that overlaps another.
PART, LACKING, OVERLAPPING = range(12, 15)
LACKING_CAPWAP = 15  # of a fragment of CAPWAP whose packet lacks another
CODES = LACKING_CAPWAP + 1

PROTOCOL_TCP, PROTOCOL_UDP, _PROTOCOL_ICMP, _PROTOCOL_ICMP6 = 6, 17, 1, 58
TUNNEL_PROTOCOLS = (4, 41, 47, 50, 51, 94, 97, 108, 115, 137, 143)
"""IP in IP (three kinds), GRE, ESP, AH, EtherIP, IPComp, L2TPv3, MPLS, Ethernet: what `wire.tunnels` looks into."""
NEXT_HEADERS = (0, 4, 6, 17, 41, 43, 44, 47, 50, 51, 58, 60, 132)
"""Protocols of most IPv6 packets: headers of its extensions, transports and tunnels."""
_HOP, _ROUTING, FRAGMENT_HEADER, _AUTHENTICATION, _DESTINATION = 0, 43, 44, 51, 60
EXTENSION_HEADERS = (_HOP, _ROUTING, _DESTINATION)
"""The headers of IPv6 that come before a fragment header (RFC 8200 4.1)."""
_FRAGMENT_4, _FRAGMENT_6 = 0x3FFF, 0xFFF9
"""More fragments, and the offset, in the field of IPv4 and of IPv6; both 0: no fragment (RFC 6946)."""
_GSMTAP_PORT = 4729
_HTTPS = 443
RARE_HARDWARE = (770, 801, 802, 803)
"""ARPHRD of cooked captures whose records begin with a link header: frame relay, 802.11 bare, with Prism, radiotap."""

VLAN_TAGS = (0x8100, 0x88A8, 0x9100, 0x9200, 0x9300)
"""802.1Q, 802.1ad, and what makers of switches used before it."""
LAST_RESERVED_LABEL, ENTROPY_INDICATOR = 15, 7
"""MPLS labels that name no path (RFC 3032 2.1); the label after the indicator differs by flow (RFC 6790 3)."""
RARE_ETHERTYPES = (
    0x22F3, 0x6558, 0x880B, 0x8899, 0x88E5, 0x88E7, 0x8903, 0x8909, 0x8926, 0x893F, 0x894F, 0xDADA
)  # fmt: skip
"""What `wire.tunnels` looks into."""
(GTPU_PORT, GENEVE_PORT, L2TP_PORT, TEREDO_PORT, CAPWAP_PORT, MPLS_PORT, LISP_PORT, GUE_PORT, GRE_PORT, ESP_PORT,
 TZSP_PORT) = 2152, 6081, 1701, 3544, 5247, 6635, 4341, 6080, 4754, 4500, 37008  # fmt: skip
VXLAN_PORTS, VXLAN_GPE_PORTS = (4789, 8472), (4790, 48879)
"""RFC 7348 5, and the port of Linux before it was assigned; of VXLAN-GPE, and of Cisco's fabrics."""
TUNNEL_PORTS = (
    GTPU_PORT, *VXLAN_PORTS, *VXLAN_GPE_PORTS, GENEVE_PORT, L2TP_PORT, TEREDO_PORT, CAPWAP_PORT, MPLS_PORT, LISP_PORT,
    GUE_PORT, GRE_PORT, ESP_PORT, TZSP_PORT,
)  # fmt: skip
"""UDP ports of tunnels."""


def transport_of(data: Any, ip: int) -> int:
    """Offset of the transport header of the IP packet at `ip`."""
    return int(transport(data, ip, len(data))[1])


@inlined
def ip_after_ethertype(data: Any, at: int, end: int, kind: int, label: int) -> Any:
    """Offset of the IP header for an EtherType `kind` whose payload is at `at`, and the label there.

    The offset is -1 - status where there is no IP header.
    """
    if kind == 0x0800 or kind == 0x86DD:
        return np.int64(at), np.int64(label)
    return ip_in_frame(data, at, end, kind, label)


@kernel
def ip_in_frame(data: Any, at: int, end: int, kind: int, label: int) -> Any:
    """The same behind VLAN tags, PPPoE, MPLS, LLC and SNAP."""
    while kind in VLAN_TAGS:
        if at + 4 > end:
            return np.int64(-1 - CUT), np.int64(label)
        tag = big16(data, at) & 0x0FFF
        if tag:  # 802.1Q 9.6: VLAN 0 has a priority only
            label = labelled(label, VLAN, tag)
        kind = big16(data, at + 2)
        at += 4
    if kind == 0x0800 or kind == 0x86DD:
        return np.int64(at), np.int64(label)
    if kind == 0x8864:
        return ip_in_pppoe(data, at, end, label)
    if kind == 0x8847 or kind == 0x8848:
        return ip_in_mpls(data, at, end, label)
    if kind <= 1500:
        if at + 8 <= end and data[at] == 0xAA and data[at + 1] == 0xAA:  # LLC and SNAP
            kind = big16(data, at + 6)
            if kind == 0x0800 or kind == 0x86DD:
                return np.int64(at + 8), np.int64(label)
        return np.int64(-1 - UNKNOWN), np.int64(label)
    return np.int64(-1 - (UNKNOWN if kind in RARE_ETHERTYPES else OTHER)), np.int64(label)


@kernel
def ip_in_pppoe(data: Any, at: int, end: int, label: int) -> Any:
    """The same in a PPPoE session (RFC 2516 4): six octets, then a PPP protocol of two octets or one."""
    if at + 8 > end:
        return np.int64(-1 - CUT), np.int64(label)
    label = labelled(label, PPPOE, big16(data, at + 2))
    protocol, size = big16(data, at + 6), 2
    if data[at + 6] & 1:  # RFC 1661 6.5
        protocol, size = int(np.int64(data[at + 6])), 1
    if protocol == 0x21 or protocol == 0x57:
        return np.int64(at + 6 + size), np.int64(label)
    return np.int64(-1 - UNKNOWN), np.int64(label)


@kernel
def ip_in_mpls(data: Any, at: int, end: int, label: int) -> Any:
    """The same behind MPLS labels (RFC 3032 2.1), up to the bottom of the stack."""
    after_indicator = False
    while at + 4 <= end:
        number = big16(data, at) << 4 | np.int64(data[at + 2]) >> 4
        if number > LAST_RESERVED_LABEL and not after_indicator:
            label = labelled(label, MPLS, number)
        after_indicator = number == ENTROPY_INDICATOR
        at += 4
        if data[at - 2] & 1:
            break
    if at + 4 > end:
        return np.int64(-1 - CUT), np.int64(label)
    version = np.int64(data[at]) >> 4
    if (version == 4 and is_proven_ipv4(data, at, end)) or (version == 6 and at + 40 + big16(data, at + 4) == end):
        return np.int64(at), np.int64(label)
    return np.int64(-1 - UNKNOWN), np.int64(label)


@inlined
def is_proven_ipv4(data: Any, at: int, end: int) -> bool:
    """Whether an IPv4 header with a right checksum is at `at`: a pseudowire's frame may begin alike (RFC 4928 3)."""
    header = 4 * np.int64(data[at] & 15)
    return bool(20 <= header <= end - at and fold(ones_sum(data, at, at + header, 0)) == 0xFFFF)


@kernel
def ip_after_ppp(data: Any, at: int, end: int) -> int:
    """Offset of the IP header in a PPP frame, with or without address, control and flag octets, or -1 - status."""
    if at < end and data[at] == 0x7E:
        at += 1
    if at + 1 < end and data[at] == 0xFF and data[at + 1] == 0x03:
        at += 2
    if at >= end:
        return -1 - CUT
    if data[at] & 1:  # RFC 1661 2: a compressed protocol field is one odd octet
        protocol = np.int64(data[at])
        at += 1
    else:
        if at + 2 > end:
            return -1 - CUT
        protocol = big16(data, at)
        at += 2
    if protocol == 0x21 or protocol == 0x57:
        return at
    return -1 - UNKNOWN


@inlined
def is_isl(data: Any, at: int, end: int) -> bool:
    """Whether a frame is one of Cisco's ISL around another: its length may be more than an 802.3 frame's."""
    if data[at] not in (0x01, 0x03) or big16(data, at + 1) != 0x000C or big16(data, at + 3):
        return False
    return bool(at + 17 <= end and big16(data, at + 14) == 0xAAAA and data[at + 16] == 0x03)


@inlined
def ip_header(data: Any, at: int, end: int, kind: int, label: int) -> Any:
    """Offset of the IP header of a record, -1 - status where there is none; and the label of its tunnels."""
    if kind == _RAW:
        return np.int64(at), np.int64(label)
    if kind == _ETHERNET and at + 14 <= end:
        if is_isl(data, at, end):
            return np.int64(-1 - UNKNOWN), np.int64(label)
        return ip_after_ethertype(data, at + 14, end, big16(data, at + 12), label)
    if kind == _SLL and at + 16 <= end:
        if big16(data, at + 2) in RARE_HARDWARE:
            return np.int64(-1 - UNKNOWN), np.int64(label)
        return ip_after_ethertype(data, at + 16, end, big16(data, at + 14), label)
    if kind == _SLL2 and at + 20 <= end:
        if big16(data, at + 8) in RARE_HARDWARE:
            return np.int64(-1 - UNKNOWN), np.int64(label)
        return ip_after_ethertype(data, at + 20, end, big16(data, at), label)
    if kind == _CHDLC and at + 4 <= end:
        return ip_after_ethertype(data, at + 4, end, big16(data, at + 2), label)
    if kind == _FDDI and at + 21 <= end:
        return ip_after_ethertype(data, at + 13, end, 0, label)
    if kind == _PPP:
        return np.int64(ip_after_ppp(data, at, end)), np.int64(label)
    if kind == _IPNET and at + 24 <= end:
        return np.int64(at + 24), np.int64(label)
    if kind == _NULL and at + 4 <= end:
        # The address family is in the byte order of the capturing host; the IP header has the version.
        return np.int64(at + 4), np.int64(label)
    return np.int64(-1 - (UNKNOWN if kind == RARE else NO_LINK_TYPE if kind == NONE else CUT)), np.int64(label)


@inlined
def transport(data: Any, ip: int, end: int) -> Any:
    """Protocol, transport header offset and datagram end of the IP packet at `ip`.

    The protocol is -1 - status where there is no transport header. The end is 0 where the length field is 0
    (segmentation offload, jumbograms).
    """
    if ip >= end:
        return np.int64(-1 - CUT), np.int64(0), np.int64(0)
    version = np.int64(data[ip]) >> 4
    if version == 4:
        return transport_of_4(data, ip, end)
    if version == 6:
        return transport_of_6(data, ip, end)
    return np.int64(-1 - OTHER), np.int64(0), np.int64(0)


@inlined
def transport_of_4(data: Any, ip: int, end: int) -> Any:
    """The same of an IPv4 packet."""
    if ip + 20 > end:
        return np.int64(-1 - CUT), np.int64(0), np.int64(0)
    header = np.int64(data[ip] & 15) * 4
    length = big16(data, ip + 2)
    if header < 20 or (length != 0 and length < header):
        return np.int64(-1 - MALFORMED), np.int64(0), np.int64(0)
    if big16(data, ip + 6) & _FRAGMENT_4:
        return np.int64(-1 - FRAGMENT), np.int64(0), np.int64(0)
    return np.int64(data[ip + 9]), np.int64(ip + header), np.int64(0 if length == 0 else ip + length)


@inlined
def transport_of_6(data: Any, ip: int, end: int) -> Any:
    """The same of an IPv6 packet, behind its extension headers."""
    if ip + 40 > end:
        return np.int64(-1 - CUT), np.int64(0), np.int64(0)
    length = big16(data, ip + 4)
    stop = np.int64(0 if length == 0 else ip + 40 + length)
    following, at = np.int64(data[ip + 6]), np.int64(ip + 40)
    while following in (_HOP, _ROUTING, _DESTINATION, FRAGMENT_HEADER, _AUTHENTICATION):
        if at + 8 > end:
            return np.int64(-1 - CUT), np.int64(0), np.int64(0)
        if following == FRAGMENT_HEADER:
            if big16(data, at + 2) & _FRAGMENT_6:
                return np.int64(-1 - FRAGMENT), np.int64(0), np.int64(0)
            size = np.int64(8)
        elif following == _AUTHENTICATION:
            size = (np.int64(data[at + 1]) + 2) * 4
        else:
            size = (np.int64(data[at + 1]) + 1) * 8
        following = np.int64(data[at])
        at += size
    return following, at, stop


@kernel
def udp_status(data: Any, at: int, end: int) -> int:
    """Status code of a UDP datagram: LINK_FRAME when it carries a link layer frame, QUIC, UNKNOWN (GTP-U) or UDP."""
    if at + 8 > end:
        return UDP
    source, destination = big16(data, at), big16(data, at + 2)
    if source == _GSMTAP_PORT or destination == _GSMTAP_PORT:
        return LINK_FRAME
    if source in TUNNEL_PORTS or destination in TUNNEL_PORTS or is_ip_alone(data, at, end):
        return UNKNOWN
    if at + 14 <= end:
        a, b, c, d = data[at + 8], data[at + 9], data[at + 10], data[at + 11]
        # "umts-rlc", "rlc-lte", "rlc-nr", "mac-lte", "mac-nr" (Wireshark's heuristic framings)
        if (a == 117 and b == 109 and c == 116 and d == 115) or (
            c == 99 and d == 45 and ((a == 114 and b == 108) or (a == 109 and b == 97))
        ):
            return LINK_FRAME
    if (source == _HTTPS or destination == _HTTPS) and at + 9 <= end and data[at + 8] & 0x40:
        return QUIC  # RFC 9000 17: the fixed bit
    return UDP


@kernel
def is_ip_alone(data: Any, at: int, end: int) -> bool:
    """Whether the UDP datagram at `at` may hold an IP packet and nothing else: their lengths agree."""
    if at + 28 > end:
        return False
    room = big16(data, at + 4) - 8
    if data[at + 8] >> 4 == 4:
        return bool(data[at + 8] & 15 >= 5 and big16(data, at + 10) == room)
    return bool(data[at + 8] >> 4 == 6 and big16(data, at + 12) + 40 == room)


@kernel
def other_status(protocol: int) -> int:
    """Status code of a packet whose protocol is neither TCP nor UDP."""
    if protocol in (_PROTOCOL_ICMP, _PROTOCOL_ICMP6):
        return ICMP
    if protocol in TUNNEL_PROTOCOLS:
        return UNKNOWN
    return OTHER
