"""What link layer envelopes hold, by EtherType: tags of switches, PPPoE, MPLS and its pseudowires, frames in frames.

Each function takes the octets behind the EtherType. Sources: IEEE 802.1Q, 802.1ah, 802.1BR, 802.1AE (MACsec), RFC 2516
(PPPoE), RFC 3032 and 6790 (MPLS), RFC 4385 and 4448 (pseudowires), RFC 6325 (TRILL), RFC 8300 (NSH); as Wireshark and
Linux read them: Cisco's metadata, FabricPath and VN-Tag, Marvell's, Broadcom's and Realtek's switch tags.
"""

from __future__ import annotations

from collections.abc import Callable

from multitracer.wire.inside import (
    ETHERNET,
    FIRST_ETHERTYPE,
    IPV4,
    IPV6,
    MPLS,
    NSH,
    PPP,
    Closed,
    Inside,
    if_ip,
    is_sound,
    number,
)
from multitracer.wire.layers import ENTROPY_INDICATOR, LAST_RESERVED_LABEL, NEXT_HEADERS, VLAN_TAGS
from multitracer.wire.llc import llc as behind_llc

_ADDRESSES_BYTES = 12
_IPV6_BYTES, _NEXT_HEADER, _HOP_BY_HOP = 40, 6, 0
"""Octets of an IPv6 header, where it names the next, and the first of its extensions (RFC 8200 3, 4)."""
_ISL_DESTINATIONS = (b"\x01\x00\x0c\x00\x00", b"\x03\x00\x0c\x00\x00")
_ISL_BYTES = 26
_ANY_SIZE = 1 << 17
"""More octets than any packet has."""
_WITHOUT_IP = frozenset({
    0x00FE, 0x0806, 0x2000, 0x2001, 0x8035, 0x8809, 0x8863, 0x888E, 0x88CC, 0x88F5, 0x88F7, 0x8902, 0x9000,
})  # fmt: skip
"""EtherTypes of other frames in tunnels: OSI, ARP, Cisco's discovery, NHRP, reverse ARP, slow protocols, PPPoE's
discovery, 802.1X, LLDP, MVRP, PTP, OAM (802.1ag), and the loopback test."""
_LLC_WITHOUT_IP = (b"\x42\x42\x03", b"\xfe\xfe\x03", b"\xaa\xaa\x03")
"""LLC headers (IEEE 802.2) of frames that carry none: spanning tree, OSI routing, and SNAP of other protocols."""
_RTL4_A, _RTL8_4, _REALTEK_MESSAGES = 0xA, 0x04, (0x01, 0x02, 0x03, 0x23)
"""Protocols of Realtek's EtherType: two tags, and messages of switches (remote control, echo, loop detection)."""
_ASSOCIATED_CHANNEL = b"\x10\x00"
_COMPRESSED_HEADERS = (b"\x00\x2d", b"\x2d")
"""PPP's protocol (RFC 1332 2.1), whole and compressed."""
_NSH_KINDS = {1: IPV4, 2: IPV6, 3: ETHERNET, 4: NSH, 5: MPLS}


def frame(octets: bytes) -> Inside | None:
    """An Ethernet frame, or one of Cisco's ISL around it."""
    if octets[:5] in _ISL_DESTINATIONS and number(octets, 14, 3) == 0xAAAA03:
        return Inside(ETHERNET, octets[_ISL_BYTES:], f"vlan {number(octets, 20) >> 1}")
    if len(octets) < _ADDRESSES_BYTES + 2:
        return None
    return Inside(number(octets, _ADDRESSES_BYTES), octets[_ADDRESSES_BYTES + 2 :])


def llc(octets: bytes) -> Inside | None:
    """What follows LLC (and SNAP) headers (IEEE 802.2, RFC 1042)."""
    content = behind_llc(octets)
    return Inside(*content) if content else None


def vlan(octets: bytes) -> Inside | None:
    """An 802.1Q or 802.1ad tag; VLAN 0 has a priority only (802.1Q 9.6)."""
    if len(octets) < 4:
        return None
    tag = number(octets, 0) & 0x0FFF
    return Inside(number(octets, 2), octets[4:], f"vlan {tag}" if tag else "")


def pppoe(octets: bytes) -> Inside | None:
    """The PPP frame of a PPPoE session (RFC 2516 4), whose code is 0.

    A packet with a compressed header has no length of its own: Ethernet's padding is left out.
    """
    if len(octets) < 7 or octets[1]:
        return None
    content = octets[6:]
    if content.startswith(_COMPRESSED_HEADERS):
        content = content[: number(octets, 4)]
    return Inside(PPP, content, f"pppoe session {number(octets, 2)}")


def mpls(octets: bytes) -> Inside | Closed | None:
    """Labels up to the bottom of the stack (RFC 3032 2.1), without reserved and entropy labels (RFC 6790 3)."""
    labels, at, after_indicator, bottom = [], 0, False, False
    while not bottom and at + 4 <= len(octets):
        entry = number(octets, at, 4)
        if entry >> 12 > LAST_RESERVED_LABEL and not after_indicator:
            labels.append(str(entry >> 12))
        after_indicator = entry >> 12 == ENTROPY_INDICATOR
        bottom = bool(entry & 0x100)
        at += 4
    content = _under_labels(octets[at:])
    if content is None:
        # RFC 4385 5, RFC 5586 2.1: a channel beside the users' packets, for tests of the path.
        if octets[at : at + 2] == _ASSOCIATED_CHANNEL:
            return None
        return Closed("MPLS pseudowire") if bottom else None
    return content._replace(label="mpls " + "/".join(labels) if labels else "")


def _under_labels(octets: bytes) -> Inside | None:
    """An IP packet, or a frame of an Ethernet pseudowire with a control word or without (RFC 4385 3, RFC 4448 4.6).

    A frame's first octets may be those of an IP header, but hardly with a right checksum, or in IPv6 a length that
    is just that of the rest. An IPv6 packet that was cut is told from a frame by the header that it names next, unless
    the frame holds a sound IP packet.
    """
    version = number(octets, 0, 1) >> 4
    if (version == 4 and is_sound(octets, 0)) or (version == 6 and 40 + number(octets, 4) == len(octets)):
        return if_ip(octets)
    frames = [octets[4:], octets] if octets[:1] and octets[0] >> 4 == 0 else [octets]
    if _is_cut_ipv6(octets) and not any(map(_is_frame_with_ip, frames)):
        return if_ip(octets)
    for is_one in (is_frame, is_frame_without_ip):
        for one in filter(is_one, frames):
            return Inside(ETHERNET, one)
    return if_ip(octets)


def _is_cut_ipv6(octets: bytes) -> bool:
    """Whether octets begin as an IPv6 packet whose end was not captured, or with octets behind its end.

    A hop-by-hop header comes first, if at all (RFC 8200 4.1): what it names is no other.
    """
    if len(octets) < _IPV6_BYTES + 1 or octets[0] >> 4 != 6:
        return False
    following = octets[_IPV6_BYTES if octets[_NEXT_HEADER] == _HOP_BY_HOP else _NEXT_HEADER]
    return following in NEXT_HEADERS and following != _HOP_BY_HOP


def opened(kind: int, octets: bytes) -> Inside | Closed | None:
    """What octets behind an EtherType, or a length in its place, hold; None where they are no envelope."""
    if kind < FIRST_ETHERTYPE:
        return llc(octets)
    return OPENERS[kind](octets) if kind in OPENERS else None


def is_frame(octets: bytes) -> bool:
    """Whether octets look as an Ethernet frame with something that is read here: for guesses."""
    kind, octets = _behind_tags(octets)
    if kind < FIRST_ETHERTYPE:
        kind, octets = behind_llc(octets) or (kind, octets)
    if kind in (IPV4, IPV6):
        return is_sound(octets, _ANY_SIZE) and octets[0] >> 4 == (4 if kind == IPV4 else 6)
    return is_known(kind)


def _is_frame_with_ip(octets: bytes) -> bool:
    """Whether octets look as an Ethernet frame with an IP packet."""
    return _behind_tags(octets)[0] in (IPV4, IPV6) and is_frame(octets)


def is_frame_without_ip(octets: bytes) -> bool:
    """Whether octets look as an Ethernet frame of a protocol that carries no IP packet: for guesses."""
    kind, rest = _behind_tags(octets)
    if 0 < kind < FIRST_ETHERTYPE:
        return rest.startswith(_LLC_WITHOUT_IP)
    return carries_no_ip(kind)


def carries_no_ip(kind: int) -> bool:
    """Whether an EtherType is of a protocol that is known, and carries no IP packet."""
    return kind in _WITHOUT_IP


def _behind_tags(octets: bytes) -> tuple[int, bytes]:
    """The EtherType, or length, behind the addresses of a frame and its VLAN tags, and what follows it."""
    kind, at = number(octets, _ADDRESSES_BYTES), _ADDRESSES_BYTES + 2
    while kind in VLAN_TAGS:
        kind, at = number(octets, at + 2), at + 4
    return kind, octets[at:]


def is_known(kind: int) -> bool:
    """Whether an EtherType is IP or an envelope."""
    return kind in (IPV4, IPV6) or kind in OPENERS


def metadata(octets: bytes) -> Inside | None:
    """Cisco's metadata (TrustSec): version, length in units of four octets, options, EtherType."""
    if len(octets) < 8:
        return None
    size = 2 + 4 * octets[1]
    return Inside(number(octets, size), octets[size + 2 :])


def fabricpath(octets: bytes) -> Inside:
    """Cisco's FabricPath: a tag of two octets behind outer addresses, and the frame."""
    return Inside(ETHERNET, octets[2:])


def provider_backbone(octets: bytes) -> Inside:
    """An I-tag of 802.1ah and the customer's frame (802.1Q 9.7)."""
    return Inside(ETHERNET, octets[4:], f"i-sid {number(octets, 1, 3)}")


def port_extender(octets: bytes) -> Inside:
    """An E-tag of six octets (802.1BR 7.5) and an EtherType."""
    return Inside(number(octets, 6), octets[8:])


def vn_tag(octets: bytes) -> Inside:
    """Cisco's VN-Tag of four octets and an EtherType."""
    return Inside(number(octets, 4), octets[6:])


def edsa(octets: bytes) -> Inside:
    """Marvell's tag behind an EtherType of its own: two reserved octets, and the tag."""
    return dsa(octets[2:])


def dsa(octets: bytes) -> Inside:
    """Marvell's tag of four octets, or eight with bit 12, and an EtherType; it takes the place of a VLAN tag."""
    size = 8 if number(octets, 2) & 0x1000 and not is_known(number(octets, 4)) else 4
    tag = number(octets, 2) & 0x0FFF if octets[:1] and octets[0] & 0x20 else 0
    return Inside(number(octets, size), octets[size + 2 :], f"vlan {tag}" if tag else "")


def realtek(octets: bytes) -> Inside | Closed | None:
    """What follows the tag of one of Realtek's switches: with its EtherType four octets or eight, by its protocol."""
    protocol = number(octets, 0, 1)
    if protocol >> 4 == _RTL4_A or protocol == _RTL8_4:
        size = 2 if protocol >> 4 == _RTL4_A else 6
        return Inside(number(octets, size), octets[size + 2 :]) if len(octets) >= size + 2 else None
    return None if protocol in _REALTEK_MESSAGES else Closed("Realtek's tag of an unknown protocol")


def macsec(octets: bytes) -> Inside | Closed | None:
    """What MACsec has authenticated only: neither encrypted nor changed (802.1AE 9.5)."""
    if len(octets) < 8:
        return None
    if octets[0] & 0x0C:
        return Closed("encrypted MACsec")
    at = 14 if octets[0] & 0x20 else 6
    return Inside(number(octets, at), octets[at + 2 :])


def service_header(octets: bytes) -> Inside | None:
    """A network service header (RFC 8300 2.2), its length in units of four octets."""
    if len(octets) < 8 or octets[0] >> 6:
        return None
    kind, size = _NSH_KINDS.get(octets[3]), 4 * (octets[1] & 0x3F)
    return Inside(kind, octets[size:]) if kind and size >= 8 else None


def trill(octets: bytes) -> Inside | None:
    """A TRILL header with its options (RFC 6325 3.1), and the frame."""
    if len(octets) < 6 or octets[0] >> 6:
        return None
    return Inside(ETHERNET, octets[6 + 4 * (number(octets, 0) >> 6 & 0x1F) :])


OPENERS: dict[int, Callable[[bytes], Inside | Closed | None]] = {
    **dict.fromkeys(VLAN_TAGS, vlan),
    ETHERNET: frame,
    MPLS: mpls,
    NSH: service_header,
    0x22F3: trill,
    0x8848: mpls,
    0x8864: pppoe,
    0x8899: realtek,
    0x88E5: macsec,
    0x88E7: provider_backbone,
    0x8903: fabricpath,
    0x8909: metadata,
    0x8926: vn_tag,
    0x893F: port_extender,
    0xDADA: edsa,
}
"""What opens an envelope, by its EtherType."""
