"""The wired hop between server and access point: a FIFO of packets each way, serialised by octets, then delayed.

Direction 0 is down (to the access point), direction 1 up. Nothing is lost but what finds the queue full. The queue of
direction down is the wired host's own: its interface queue, where it has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from multitracer.compute.kernels import inlined
from multitracer.replay.arq.fields import NEVER, dtype, numbers, record
from multitracer.replay.engine.way import serialised_ns
from multitracer.replay.tcp.packets import PACKET

HOP = numbers(
    "rate_bps delay_ns limit most_octets free_ns",
    "first started end waiting",
    "dropped dropped_octets most",
    "timed_octets timed_ns",
)
"""`limit` and `most_octets`: packets and octets that may wait beside the one on the wire (0: any number). The ring's
packets: those from `first` to `started` are on the wire or behind it, those from there to `end` wait, `waiting` octets
of them. Counted: what was dropped, and the most packets that ever waited. Octets of the last packet, and how
long it took (see engine.way.serialised_ns)."""
ROOM = 1 << 14
"""Packets on the hop and in its queue, a power of two; with more than that under way the hop drops, too."""


WIRED = dtype([
    ("hops", HOP, (2,)),
    *((name, np.int64, (2, ROOM)) for name in ("starts", "arrives")),
    ("packets", PACKET, (2, ROOM)),
])  # fmt: skip
"""Both directions: when each packet of the rings is put on the wire and when it arrives (ns), and the packets."""

Wired: TypeAlias = Any
"""A record of WIRED."""


def wired(settings: Sequence[tuple[int, int, int, int]]) -> Wired:
    """An empty hop; for each direction rate (bit/s, 0: takes no time), delay (ns), queue in packets and in octets."""
    made = record(WIRED)
    for hop, setting in zip(made.hops, settings, strict=True):
        hop.rate_bps, hop.delay_ns, hop.limit, hop.most_octets = setting
    return made


@inlined
def next_arrival(wired: Wired, way: int) -> int:
    """When the next packet leaves the hop (ns)."""
    hop = wired.hops[way]
    return wired.arrives[way, hop.first & (ROOM - 1)] if hop.first < hop.end else NEVER


@inlined
def room(wired: Wired, way: int, octets: int, now: int) -> int:
    """How many packets of so many octets the hop takes now."""
    hop = wired.hops[way]
    while hop.started < hop.end and wired.starts[way, hop.started & (ROOM - 1)] <= now:
        hop.waiting -= wired.packets[way, hop.started & (ROOM - 1)].octets
        hop.started += 1
    idle = int(hop.started == hop.end and hop.free_ns <= now)  # the wire takes one at once
    found = ROOM - (hop.end - hop.first)
    if hop.limit > 0:
        found = min(found, idle + hop.limit - (hop.end - hop.started))
    if hop.most_octets > 0:
        found = min(found, idle + (hop.most_octets - hop.waiting) // octets)
    return max(found, 0)


@inlined
def enter(wired: Wired, way: int, octets: int, now: int) -> int:
    """Put a packet of so many octets on the hop: its row in the ring, to be filled in, or -1 where it is dropped."""
    hop = wired.hops[way]
    if room(wired, way, octets, now) == 0:
        hop.dropped += 1
        hop.dropped_octets += octets
        return -1
    at = hop.end & (ROOM - 1)
    start = max(now, hop.free_ns)
    hop.free_ns = start + serialised_ns(hop, octets) if hop.rate_bps else start
    wired.starts[way, at] = start
    wired.arrives[way, at] = hop.free_ns + hop.delay_ns
    wired.packets[way, at].octets = octets
    hop.end += 1
    if start > now:
        hop.waiting += octets
        hop.most = max(hop.most, hop.end - hop.started)
    else:
        hop.started = hop.end
    return int(at)


@inlined
def leave(wired: Wired, way: int) -> int:
    """Take the packet off that has arrived: its row in the ring, which begins anew when nothing is left.

    Few rows are used that way, and they stay in the processor's cache.
    """
    hop = wired.hops[way]
    at = hop.first & (ROOM - 1)
    hop.first += 1
    if hop.started < hop.first:
        hop.started = hop.first
        hop.waiting -= wired.packets[way, at].octets
    if hop.first == hop.end:
        hop.first = hop.started = hop.end = 0
    return int(at)
