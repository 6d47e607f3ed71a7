"""What UDP datagrams hold that are tunnels, by port.

A port alone proves nothing: what does not look as its port promises is no tunnel. Sources: 3GPP 29.281 5 (GTP-U),
RFC 7348 5 (VXLAN), draft-ietf-nvo3-vxlan-gpe, RFC 8926 3 (Geneve), RFC 2661 3 and 3931 4 (L2TP), RFC 4380 5 (Teredo),
RFC 5415 4 (CAPWAP), RFC 7510 (MPLS), RFC 9300 5 (LISP), draft-ietf-intarea-gue (GUE), RFC 8086 (GRE), RFC 3948 (ESP).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from multitracer.wire.frame_envelopes import is_frame, is_frame_without_ip, is_known, mpls
from multitracer.wire.ieee80211 import in_order
from multitracer.wire.inside import (
    AT_RECEIVER,
    BETWEEN_ENDS,
    ETHERNET,
    IEEE_802_11,
    IPV4,
    IPV6,
    MPLS,
    NSH,
    PPP,
    Closed,
    Inside,
    Part,
    if_ip,
    is_sound,
    number,
    proven_ip,
)
from multitracer.wire.layers import (
    CAPWAP_PORT,
    ESP_PORT,
    GENEVE_PORT,
    GRE_PORT,
    GTPU_PORT,
    GUE_PORT,
    L2TP_PORT,
    LISP_PORT,
    MPLS_PORT,
    TEREDO_PORT,
    TZSP_PORT,
    VXLAN_GPE_PORTS,
    VXLAN_PORTS,
)

_G_PDU = 255
_UDP_BYTES = 8
_GPE_KINDS = {1: IPV4, 2: IPV6, 3: ETHERNET, 4: NSH, 5: MPLS}
_GRE, _ESP = 47, 50
_COOKIES = (0, 4, 8)
"""Octets of an L2TPv3 cookie (RFC 3931 4.1); nothing in a packet says how many there are."""
_SUBLAYERS = (0, 4)
"""Octets of an L2TPv3 sublayer header (RFC 3931 4.6, RFC 4719 3)."""
_PPP_ADDRESS, _HDLC_KEEPALIVE = b"\xff\x03", b"\x8f\x00\x80\x35"
_PPP_BEGINNINGS = (b"\xff\x03\x00\x21", b"\xff\x03\x00\x57", b"\x0f\x00\x08\x00", b"\x0f\x00\x86\xdd")
"""IPv4 and IPv6 in PPP with HDLC framing, and in Cisco's HDLC."""
_OF_PPP = frozenset(
    {0x21, 0x57, 0x2D, 0x2F, 0x31, 0x3D, 0x53, 0xFB, 0xFD, 0x281, 0x283}
    | {0x8021, 0x8057, 0x80FD, 0xC021, 0xC023, 0xC025, 0xC223}
)
"""PPP protocols: of data, and of the links' control (IANA's PPP numbers)."""
_TZSP_KINDS = {1: ETHERNET, 18: IEEE_802_11}
_WIRELESS_802_11 = (0, 1)
"""CAPWAP's binding to IEEE 802.11 (RFC 5416 1), and a reserved number that some controllers write in its place."""
_CAPWAP_FRAGMENT, _CAPWAP_RESERVED = 0x80, 0x07


class Carried(NamedTuple):
    """The payload of another IP protocol within a datagram, `at` octets after the UDP header."""

    protocol: int
    at: int


def opened(datagram: bytes) -> Inside | Part | Carried | Closed | None:
    """What a UDP datagram holds; None where it is no tunnel."""
    if len(datagram) <= _UDP_BYTES:
        return None
    room = max(number(datagram, 4), _UDP_BYTES) - _UDP_BYTES
    body = datagram[_UDP_BYTES : _UDP_BYTES + room]
    for port in (number(datagram, 2), number(datagram, 0)):
        found = OPENERS[port](body) if port in OPENERS else None
        if isinstance(found, Part):
            return found._replace(size=room, ports=datagram[:4])
        if found is not None and (not isinstance(found, Inside) or is_consistent(found, body, room)):
            return found
    if _is_teredo(body):
        return teredo(body)
    return if_ip(body, "fou", BETWEEN_ENDS) if proven_ip(body, room) else None


def is_consistent(found: Inside, body: bytes, room: int) -> bool:
    """Whether what a tunnel holds looks as it says; the datagram has `room` octets, `body` were captured."""
    content = found.octets
    if found.kind in (IPV4, IPV6):
        version = 4 if found.kind == IPV4 else 6
        return content[:1] != b"" and content[0] >> 4 == version and is_sound(content, room - len(body) + len(content))
    if found.kind == ETHERNET:
        return is_frame(content) or is_frame_without_ip(content)
    if found.kind == PPP:
        content = content.removeprefix(_PPP_ADDRESS)
        return number(content, 0) in _OF_PPP or content[:1] in (b"\x21", b"\x57", b"\x2d", b"\x2f")
    if found.kind == MPLS:
        return isinstance(mpls(content), Inside)
    return found.kind == IEEE_802_11 or is_known(found.kind)


def gtpu(body: bytes) -> Inside | None:
    """The user packet of a G-PDU (29.281 5.1), or a frame (23.501 5.6.10.2), behind its extension headers."""
    if len(body) < 9 or body[0] >> 4 != 3 or body[1] != _G_PDU:
        return None
    at = 12 if body[0] & 7 else 8
    following = body[11] if body[0] & 4 and len(body) > 11 else 0
    while following:
        size = 4 * body[at] if at < len(body) else 0
        if not size or at + size > len(body):
            return None
        following, at = body[at + size - 1], at + size
    label = f"gtpu teid {number(body, 4, 4)}"
    if is_frame(body[at:]) and not is_sound(body[at:], len(body)):
        return Inside(ETHERNET, body[at:], label, AT_RECEIVER)
    return if_ip(body[at:], label, AT_RECEIVER)


def vxlan(body: bytes) -> Inside | None:
    """The frame in a VXLAN packet (RFC 7348 5), or what its next protocol says (VXLAN-GPE 3.1)."""
    if len(body) < 9 or not body[0] & 0x08:
        return None
    kind = _GPE_KINDS.get(body[3]) if body[0] & 0x04 else ETHERNET
    return Inside(kind, body[8:], f"vxlan vni {number(body, 4, 3)}") if kind else None


def geneve(body: bytes) -> Inside | None:
    """What a Geneve packet of version 0 holds, behind its options (RFC 8926 3.4)."""
    if len(body) < 9 or body[0] >> 6 or body[7]:
        return None
    return Inside(number(body, 2), body[8 + 4 * (body[0] & 0x3F) :], f"geneve vni {number(body, 4, 3)}")


def l2tp(body: bytes) -> Inside | Closed | None:
    """The PPP frame of a data message of L2TPv2 (RFC 2661 3.1), or the frame of L2TPv3 (RFC 3931 4.1.2)."""
    flags = number(body, 0)
    if flags & 0x8000 or len(body) < 6:
        return None
    if flags & 15 == 3:
        return l2tpv3(body[4:])
    if flags & 15 != 2:
        return None
    at = 4 if flags & 0x4000 else 2
    label = f"l2tp {number(body, at)}/{number(body, at + 2)}"
    at += 4 + (4 if flags & 0x0800 else 0)
    if flags & 0x0200:
        at += 2 + number(body, at)
    return Inside(PPP, body[at:], label, AT_RECEIVER)


def l2tpv3(body: bytes) -> Inside | Closed | None:
    """What a data message of L2TPv3 holds: a frame, PPP or IP, whichever is found behind cookie and sublayer."""
    session = number(body, 0, 4)
    if not session:  # RFC 3931 4.1.1.2: a control message
        return None
    contents = [body[4 + cookie + sublayer :] for cookie in _COOKIES for sublayer in _SUBLAYERS]
    for kind_of in (_kind_of, _kind_without_ip):
        for content in contents:
            kind = kind_of(content)
            if kind:
                return Inside(kind, content, f"l2tp {session}", AT_RECEIVER)
    return Closed("L2TPv3 of unknown content")


def _kind_of(octets: bytes) -> int:
    """The EtherType of what octets are found to be; 0 for nothing that is known."""
    if octets[:4] in _PPP_BEGINNINGS and is_sound(octets[4:], len(octets) - 4):
        return PPP
    if is_frame(octets):
        return ETHERNET
    if proven_ip(octets, len(octets)):
        return IPV4 if octets[0] >> 4 == 4 else IPV6
    return 0


def _kind_without_ip(octets: bytes) -> int:
    """The same of what is known and carries no IP: a link's own messages, and frames of other protocols."""
    if octets[:4] == _HDLC_KEEPALIVE or (octets[:2] == _PPP_ADDRESS and number(octets, 2) in _OF_PPP):
        return PPP
    return ETHERNET if is_frame_without_ip(octets) else 0


def teredo(body: bytes) -> Inside | None:
    """The IPv6 packet behind authentication and origin indications (RFC 4380 5.1.1)."""
    if body[:2] == b"\x00\x01":
        body = body[4 + sum(body[2:4]) + 9 :]
    if body[:2] == b"\x00\x00":
        body = body[8:]
    return Inside(IPV6, body, "teredo") if body[:1] and body[0] >> 4 == 6 else None


def _is_teredo(body: bytes) -> bool:
    """Whether an IPv6 packet has a Teredo address, 2001::/32 (RFC 4380 2.6): between clients any port is used."""
    prefix = b"\x20\x01\x00\x00"
    return is_sound(body, len(body)) and body[0] >> 4 == 6 and prefix in (body[8:12], body[24:28])


def capwap(body: bytes) -> Inside | Part | Closed | None:
    """The frame in a CAPWAP data packet (RFC 5415 4.3), of 802.3 or of 802.11, or a fragment of one."""
    if len(body) < 8 or body[0] >> 4:
        return None
    if body[0] & 15 == 1:
        return Closed("CAPWAP over DTLS")
    header, is_native, is_alive = 4 * (body[1] >> 3), body[2] & 1, body[3] & 0x08
    if body[0] or header < 8 or is_alive:
        return None
    if body[3] & _CAPWAP_FRAGMENT:
        is_one = not (body[3] | body[7]) & _CAPWAP_RESERVED and len(body) >= header
        return Part(body, "capwap") if is_one else None
    if not is_native:
        return Inside(ETHERNET, body[header:], "capwap", BETWEEN_ENDS)
    if body[2] >> 1 & 0x1F not in _WIRELESS_802_11:
        return Closed("CAPWAP of unknown radio")
    return Inside(IEEE_802_11, in_order(body[header:]), "capwap", BETWEEN_ENDS)


def lisp(body: bytes) -> Inside | None:
    """The packet in a LISP data packet (RFC 9300 5.3)."""
    if len(body) < 9:
        return None
    label = f"lisp iid {number(body, 4, 3)}" if body[0] & 0x08 else "lisp"
    return if_ip(body[8:], label, BETWEEN_ENDS)


def gue(body: bytes) -> Inside | Carried | None:
    """What GUE holds: an IP packet in variant 1, the payload of any protocol in variant 0 (GUE 3 and 4)."""
    if not body or body[0] >> 6 == 1:
        return if_ip(body, "gue", BETWEEN_ENDS)
    if body[0] & 0xE0 or len(body) < 5:  # another variant, or a control message
        return None
    at, protocol = 4 + 4 * (body[0] & 0x1F), body[1]
    return if_ip(body[at:], "gue", BETWEEN_ENDS) if protocol in (4, 41) else Carried(protocol, at)


def esp(body: bytes) -> Carried | None:
    """ESP in UDP (RFC 3948 2); four octets of zero begin a message of IKE."""
    return Carried(_ESP, 0) if len(body) > 8 and any(body[:4]) else None


def tzsp(body: bytes) -> Inside | Closed | None:
    """The mirrored frame behind the tags of TZSP, as Wireshark reads them."""
    if len(body) < 5 or body[0] != 1 or body[1] > 1:
        return None
    at = 4
    while at < len(body) and body[at] != 1:  # 1 ends the tags; 0 is padding without a length
        at += 1 if body[at] == 0 else 2 + number(body, at + 1, 1)
    kind = _TZSP_KINDS.get(number(body, 2))
    return Inside(kind, body[at + 1 :]) if kind else Closed("TZSP of unknown content")


OPENERS: dict[int, Callable[[bytes], Inside | Part | Carried | Closed | None]] = {
    **dict.fromkeys((*VXLAN_PORTS, *VXLAN_GPE_PORTS), vxlan),
    CAPWAP_PORT: capwap,
    ESP_PORT: esp,
    GENEVE_PORT: geneve,
    GRE_PORT: lambda _: Carried(_GRE, 0),
    GTPU_PORT: gtpu,
    GUE_PORT: gue,
    L2TP_PORT: l2tp,
    LISP_PORT: lisp,
    MPLS_PORT: lambda body: Inside(MPLS, body),
    TEREDO_PORT: teredo,
    TZSP_PORT: tzsp,
}
"""What opens a tunnel, by its UDP port."""
