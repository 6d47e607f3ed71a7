"""The interface queue of the terminal's host: packets wait in it until the link protocol takes them.

It is the host's, in front of the radio link. A host without one hands packets to the link protocol as they come; the
wired host's is the queue of the wired hop (see wired).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from multitracer.compute.kernels import inlined
from multitracer.replay.arq.fields import numbers, record, table
from multitracer.replay.tcp.packets import PACKET

QUEUE = numbers("used limit most_octets", "first end waiting", "dropped dropped_octets most")
"""`used`: whether there is a queue; packets and octets that may wait (0: any number); those from `first` to `end` do,
`waiting` octets of them. Counted: what was dropped, and the most packets that ever waited."""
ROOM = 1 << 14
"""Packets that may wait where no limit is set; with more the queue drops, too."""


class InterfaceQueue(NamedTuple):
    """What waits, in a ring of a power of two."""

    state: Any
    packets: Any


def interface_queue(limit: int, most_octets: int) -> InterfaceQueue:
    """An empty queue of so many packets and octets (0: any number); none at all where both are 0."""
    state = record(QUEUE)
    state.used, state.limit, state.most_octets = int(limit > 0 or most_octets > 0), limit, most_octets
    held = min(limit or ROOM, ROOM) if state.used else 1
    return InterfaceQueue(state, table(1 << (held - 1).bit_length(), PACKET))


@inlined
def places(queue: InterfaceQueue, octets: int) -> int:
    """How many packets of so many octets it takes now."""
    state = queue.state
    found = len(queue.packets) - (state.end - state.first)
    if state.limit > 0:
        found = min(found, state.limit - (state.end - state.first))
    if state.most_octets > 0:
        found = min(found, (state.most_octets - state.waiting) // octets)
    return max(found, 0)


@inlined
def join(queue: InterfaceQueue, octets: int) -> int:
    """Let a packet of so many octets wait: its place in the ring, to be filled in, or -1 where it is dropped."""
    state = queue.state
    if places(queue, octets) == 0:
        state.dropped += 1
        state.dropped_octets += octets
        return -1
    at = state.end & (len(queue.packets) - 1)
    state.end += 1
    state.waiting += octets
    state.most = max(state.most, state.end - state.first)
    return int(at)


@inlined
def has_waiting(queue: InterfaceQueue) -> bool:
    """Whether a packet waits."""
    return queue.state.first < queue.state.end


@inlined
def longest_waiting(queue: InterfaceQueue) -> int:
    """The place of the packet that waits longest."""
    return queue.state.first & (len(queue.packets) - 1)


@inlined
def go(queue: InterfaceQueue) -> None:
    """Take the packet off that waits longest."""
    queue.state.waiting -= queue.packets[longest_waiting(queue)].octets
    queue.state.first += 1
