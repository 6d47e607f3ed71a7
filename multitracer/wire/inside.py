"""What an envelope holds, and the tunnels around a packet."""

from __future__ import annotations

from collections.abc import Hashable
from ipaddress import ip_address
from typing import NamedTuple

# What octets are, as an EtherType (IEEE 802 numbers; RFC 2784 and 7348 use 0x6558 for a whole frame).
IPV4, IPV6, ETHERNET, PPP = 0x0800, 0x86DD, 0x6558, 0x880B
FIRST_ETHERTYPE = 0x0600
"""IEEE 802.3 3.2.6: smaller numbers in its place are lengths."""

# Whether the addresses around a tunnel tell it from others: not where its number is unique in the network, as a pair
# where it is unique between two ends or there is none, in one direction where the receiver has chosen it.
ANYWHERE, BETWEEN_ENDS, AT_RECEIVER = range(3)


class Inside(NamedTuple):
    """The content of an envelope: `kind` is its EtherType; `label` is the tunnel as text, empty for no tunnel."""

    kind: int
    octets: bytes
    label: str = ""
    unique: int = ANYWHERE


class Tunnel(NamedTuple):
    """The tunnels around a packet, and the addresses at the ends of the innermost one that has them."""

    text: str
    source: str
    destination: str
    identity: Hashable
    """Equal for packets of the same tunnels."""


class Step(NamedTuple):
    """A tunnel on the way to a packet, with the addresses of the IP packet around it, empty without one."""

    label: str
    unique: int
    source: bytes
    destination: bytes


def tunnel_of(steps: list[Step]) -> Tunnel | None:
    """The tunnels of `steps`, outermost first; None for none."""
    if not steps:
        return None
    source, destination = next(((s.source, s.destination) for s in reversed(steps) if s.source), (b"", b""))
    identity = tuple((step.label, _counted(step)) for step in steps)
    return Tunnel(" / ".join(step.label for step in steps), address_text(source), address_text(destination), identity)


def _counted(step: Step) -> tuple[bytes, ...]:
    """The addresses that tell the tunnel from others with its label."""
    if step.unique == ANYWHERE:
        return ()
    ends = (step.source, step.destination)
    return ends if step.unique == AT_RECEIVER else tuple(sorted(ends))


def address_text(octets: bytes) -> str:
    """An address of 4 or 16 octets as text, empty for none."""
    return str(ip_address(octets)) if octets else ""


def if_ip(octets: bytes, label: str = "", unique: int = ANYWHERE) -> Inside | None:
    """The packet that begins with an IP version, None where there is none."""
    if not octets or octets[0] >> 4 not in (4, 6):
        return None
    return Inside(IPV4 if octets[0] >> 4 == 4 else IPV6, octets, label, unique)
