"""What link layer envelopes hold, by EtherType: VLAN tags, PPPoE, MPLS.

Each function takes the octets behind the EtherType. Sources: IEEE 802.1Q, RFC 2516 (PPPoE), RFC 3032 and 6790 (MPLS).
"""

from __future__ import annotations

from collections.abc import Callable

from multitracer.wire.inside import ETHERNET, FIRST_ETHERTYPE, PPP, Inside, if_ip
from multitracer.wire.layers import ENTROPY_INDICATOR, LAST_RESERVED_LABEL, VLAN_TAGS


def number(octets: bytes, at: int, size: int = 2) -> int:
    """The number of `size` octets at `at`; what is cut off counts as absent octets."""
    return int.from_bytes(octets[at : at + size], "big")


def frame(octets: bytes) -> Inside | None:
    """An Ethernet frame."""
    if len(octets) < 14:
        return None
    kind = number(octets, 12)
    return Inside(kind, octets[14:]) if kind >= FIRST_ETHERTYPE else _snap(octets[14:])


def _snap(octets: bytes) -> Inside | None:
    """What follows LLC and SNAP headers (IEEE 802)."""
    return Inside(number(octets, 6), octets[8:]) if octets[:2] == b"\xaa\xaa" else None


def vlan(octets: bytes) -> Inside | None:
    """An 802.1Q or 802.1ad tag; VLAN 0 has a priority only (802.1Q 9.6)."""
    if len(octets) < 4:
        return None
    tag = number(octets, 0) & 0x0FFF
    return Inside(number(octets, 2), octets[4:], f"vlan {tag}" if tag else "")


def pppoe(octets: bytes) -> Inside | None:
    """A PPPoE session (RFC 2516 4)."""
    return Inside(PPP, octets[6:], f"pppoe session {number(octets, 2)}") if len(octets) > 6 else None


def mpls(octets: bytes) -> Inside | None:
    """Labels up to the bottom of the stack (RFC 3032 2.1), without reserved and entropy labels (RFC 6790 3)."""
    labels, at, after_indicator, bottom = [], 0, False, False
    while not bottom and at + 4 <= len(octets):
        entry = number(octets, at, 4)
        if entry >> 12 > LAST_RESERVED_LABEL and not after_indicator:
            labels.append(str(entry >> 12))
        after_indicator = entry >> 12 == ENTROPY_INDICATOR
        bottom = bool(entry & 0x100)
        at += 4
    return if_ip(octets[at:], "mpls " + "/".join(labels) if labels else "")


OPENERS: dict[int, Callable[[bytes], Inside | None]] = {
    ETHERNET: frame,
    0x8864: pppoe,
    0x8847: mpls,
    0x8848: mpls,
    **dict.fromkeys(VLAN_TAGS, vlan),
}
"""What opens an envelope, by its EtherType."""
