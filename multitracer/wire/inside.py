"""What an envelope holds, and the tunnels around a packet."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from ipaddress import ip_address
from typing import NamedTuple

from multitracer.wire.layers import NEXT_HEADERS

# What octets are, as an EtherType (IEEE 802 numbers; RFC 1701 and 7348 use 0x6558 for a whole frame).
IPV4, IPV6, ETHERNET, PPP, MPLS, NSH = 0x0800, 0x86DD, 0x6558, 0x880B, 0x8847, 0x894F
IEEE_802_11 = -105
"""A frame of IEEE 802.11, which has no EtherType: minus its link type."""
FIRST_ETHERTYPE = 0x0600
"""IEEE 802.3 3.2.6: smaller numbers in its place are lengths."""

# Whether the addresses around a tunnel tell it from others: not where its number is unique in the network, as a pair
# where it is unique between two ends or there is none, in one direction where the receiver has chosen it.
ANYWHERE, BETWEEN_ENDS, AT_RECEIVER = range(3)

_TUNNELS_REMEMBERED = 4096


class Inside(NamedTuple):
    """The content of an envelope: `kind` is its EtherType; `label` is the tunnel as text, empty for no tunnel."""

    kind: int
    octets: bytes
    label: str = ""
    unique: int = ANYWHERE


class Part(NamedTuple):
    """A fragment that a tunnel has made: `octets` begin with its header, `size` is how many there were.

    `ports` are those of the datagram around it, since fragments are numbered between its ends.
    """

    octets: bytes
    label: str
    unique: int = BETWEEN_ENDS
    size: int = 0
    ports: bytes = b""


class Closed(NamedTuple):
    """An envelope that cannot be opened, by name."""

    name: str


class Step(NamedTuple):
    """A tunnel on the way to a packet, with the addresses of the IP packet around it, empty without one."""

    label: str
    unique: int
    source: bytes
    destination: bytes


class Tunnel(NamedTuple):
    """The tunnels around a packet, and the addresses at the ends of the innermost one that has them."""

    text: str
    source: str
    destination: str
    identity: Hashable
    """Equal for packets of the same tunnels."""
    told: bool
    """Whether `identity` tells the addresses too."""


@lru_cache(maxsize=_TUNNELS_REMEMBERED)
def tunnel_of(steps: tuple[Step, ...]) -> Tunnel | None:
    """The tunnels of `steps`, outermost first; None for none."""
    if not steps:
        return None
    source, destination = next(((s.source, s.destination) for s in reversed(steps) if s.source), (b"", b""))
    identity = tuple((step.label, _counted(step)) for step in steps)
    told = not source or (source, destination) in [ends for _, ends in identity]
    text = " / ".join(step.label for step in steps)
    return Tunnel(text, address_text(source), address_text(destination), identity, told)


def _counted(step: Step) -> tuple[bytes, ...]:
    """The addresses that tell the tunnel from others with its label."""
    if step.unique == ANYWHERE:
        return ()
    ends = (step.source, step.destination)
    return ends if step.unique == AT_RECEIVER else tuple(sorted(ends))


@lru_cache(maxsize=_TUNNELS_REMEMBERED)
def address_text(octets: bytes) -> str:
    """An address of 4 or 16 octets as text, empty for none."""
    return str(ip_address(octets)) if octets else ""


def number(octets: bytes, at: int, size: int = 2) -> int:
    """The number of `size` octets at `at`; octets that are not there do not count."""
    return int.from_bytes(octets[at : at + size], "big")


def if_ip(octets: bytes, label: str = "", unique: int = ANYWHERE) -> Inside | None:
    """The packet that begins with an IP version, None where there is none."""
    if not octets or octets[0] >> 4 not in (4, 6):
        return None
    return Inside(IPV4 if octets[0] >> 4 == 4 else IPV6, octets, label, unique)


def ones_sum(octets: bytes) -> int:
    """The sum of 16-bit words, carries added back (RFC 1071); 0xFFFF where a right checksum is among them."""
    octets += bytes(len(octets) % 2)
    total = sum(memoryview(octets).cast("H")) if octets else 0
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def is_sound(octets: bytes, room: int) -> bool:
    """Whether octets begin with a sound IP header.

    A packet that is longer than the `room` that the envelope has for it (some tools cut both, and correct the outer
    length only) needs a right checksum, and in IPv6 a known next header.
    """
    if len(octets) < 20:
        return False
    if octets[0] >> 4 == 4:
        header, length = 4 * (octets[0] & 15), number(octets, 2)
        return 20 <= header <= length and (length <= room or ones_sum(octets[:header]) == 0xFFFF)
    return octets[0] >> 4 == 6 and (40 + number(octets, 4) <= room or octets[6] in NEXT_HEADERS)


def ip_bytes(octets: bytes) -> int:
    """The length of the IP packet that octets begin with, 0 where none is: its end need not have been captured.

    The checksum of an IPv4 header has to be right; an IPv6 packet has to have a known next header.
    """
    version = octets[0] >> 4 if octets else 0
    if version == 4 and is_sound(octets, 0):
        return number(octets, 2)
    return 40 + number(octets, 4) if version == 6 and len(octets) >= 40 and octets[6] in NEXT_HEADERS else 0


def proven_ip(octets: bytes, room: int) -> bool:
    """Whether octets are an IP packet of exactly `room` octets: for guesses that nothing else supports.

    The checksum of an IPv4 header has to be right; an IPv6 packet has to carry TCP, UDP or ICMPv6.
    """
    if not is_sound(octets, room):
        return False
    if octets[0] >> 4 == 4:
        return number(octets, 2) == room and ones_sum(octets[: 4 * (octets[0] & 15)]) == 0xFFFF
    return 40 + number(octets, 4) == room and len(octets) >= 40 and octets[6] in (6, 17, 58)
