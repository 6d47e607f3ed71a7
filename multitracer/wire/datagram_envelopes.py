"""What UDP datagrams hold that are tunnels, by port: GTP-U and VXLAN.

A port alone proves nothing: what does not look as its port promises is no tunnel. Sources: 3GPP 29.281 5 (GTP-U),
RFC 7348 5 (VXLAN).
"""

from __future__ import annotations

from collections.abc import Callable

from multitracer.wire.frame_envelopes import number
from multitracer.wire.inside import AT_RECEIVER, ETHERNET, Inside, if_ip
from multitracer.wire.layers import GTPU_PORT, VXLAN_PORTS

_G_PDU = 255


def opened(datagram: bytes) -> Inside | None:
    """What a UDP datagram holds; None where it is no tunnel."""
    if len(datagram) < 9:
        return None
    source, destination = number(datagram, 0), number(datagram, 2)
    body = datagram[8 : max(number(datagram, 4), 8)]
    for port in (destination, source):
        if port in OPENERS:
            return OPENERS[port](body)
    return None


def gtpu(body: bytes) -> Inside | None:
    """The user packet of a G-PDU (29.281 5.1), behind its extension headers."""
    if len(body) < 9 or body[0] >> 4 != 3 or body[1] != _G_PDU:
        return None
    at = 12 if body[0] & 7 else 8
    following = body[11] if body[0] & 4 and len(body) > 11 else 0
    while following:
        size = 4 * body[at] if at < len(body) else 0
        if not size or at + size > len(body):
            return None
        following, at = body[at + size - 1], at + size
    return if_ip(body[at:], f"gtpu teid {number(body, 4, 4)}", AT_RECEIVER)


def vxlan(body: bytes) -> Inside | None:
    """The frame in a VXLAN packet (RFC 7348 5)."""
    if len(body) < 8 + 14 or body[0] & 0x7F != 0x08:
        return None
    return Inside(ETHERNET, body[8:], f"vxlan vni {number(body, 4, 3)}")


OPENERS: dict[int, Callable[[bytes], Inside | None]] = {GTPU_PORT: gtpu, **dict.fromkeys(VXLAN_PORTS, vxlan)}
"""What opens a tunnel, by its UDP port."""
