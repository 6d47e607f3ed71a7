"""Flows: which packets have the same addresses and ports, either way round."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.compute.kernels import inlined, kernel
from multitracer.wire.layers import transport
from multitracer.wire.octets import big16, big32, mixed

# Columns of what is known of a flow: where the IP header of its first packet is, and the two ends
# as numbers: exact for IPv4, and for IPv6 a spread of the address that tells most flows apart.
FIRST, HERE, THERE = range(3)
_START = 1 << 12
NO_FLOW = -1
_EXACT = 1 << 48
"""An end's number below this is an IPv4 address and a port, and nothing else."""

BATCH = 64
"""So many packets' flows are looked up at once."""

# An entry of the hash table: a flow's number, and above it a tag, more of its spread: the flows that stand in the
# way of another are told from it without a look at what is known of them.
EMPTY = -1
_NUMBER, _TAG = 0xFFFFFFFF, 0x7FFFFFFF
_TAG_AT = 32
_TAG_FROM = 31


class Flows:
    """The flows of one capture, numbered as they appear, in a hash table that grows."""

    def __init__(self) -> None:
        self.count = 0
        self.table = np.full(_START, EMPTY, dtype=np.int64)
        self.known = np.empty((_START // 4, 3), dtype=np.int64)

    @property
    def full(self) -> bool:
        """Whether it must grow before another batch of packets, each of which may be of a new flow."""
        return self.count + BATCH > len(self.known)

    @property
    def first(self) -> Any:
        """Where the IP header of each flow's first packet is."""
        return self.known[: self.count, FIRST]

    def grow(self) -> None:
        """Make room for four times as many."""
        self.table = np.full(4 * len(self.table), EMPTY, dtype=np.int64)
        larger = np.empty((len(self.table) // 4, 3), dtype=np.int64)
        larger[: self.count] = self.known[: self.count]
        self.known = larger
        enter_again(self.known, self.count, self.table)

    def adopt(self, data: Any, other: Flows) -> Any:
        """Enter the flows of another part of the capture: 2 * number here + 1 if its ends are swapped."""
        found = np.empty(other.count, dtype=np.int64)
        done = 0
        while done < other.count:
            if self.full:
                self.grow()
            done, self.count = adopt_flows(data, other.known, done, found, self.table, self.known, self.count)
        return found


@kernel
def spread(here: int, there: int) -> int:
    """The same number for both directions of a flow."""
    both = here + there
    return mixed(both ^ both >> 31, (here ^ there) >> 16 ^ (here ^ there))


@inlined
def address(data: Any, at: int, size: int) -> int:
    """An IPv4 address, or 40 bits that depend on all of an IPv6 address."""
    if size == 4:
        return big32(data, at)
    upper = mixed(big32(data, at) ^ big32(data, at + 4) * 3, big32(data, at + 4))
    return (mixed(upper ^ big32(data, at + 8), big32(data, at + 12)) & 0xFFFFFFFFFF) | 1 << 40


@kernel
def same_ends(data: Any, ip: int, other: int, turned: int) -> bool:
    """Whether two IPv6 packets have the same addresses, in turned order or not."""
    for i in range(16):
        if data[ip + 8 + i] != data[other + 8 + 16 * turned + i]:
            return False
        if data[ip + 24 + i] != data[other + 24 - 16 * turned + i]:
            return False
    return True


@inlined
def ends_of(data: Any, ip: int, tcp: int) -> tuple[int, int]:
    """The packet's sender and receiver, address and port, as numbers."""
    size, source = (4, ip + 12) if data[ip] >> 4 == 4 else (16, ip + 8)
    here = address(data, source, size) << 16 | big16(data, tcp)
    there = address(data, source + size, size) << 16 | big16(data, tcp + 2)
    return here, there


@inlined
def first_looks(here: Any, there: Any, table: Any, known: Any, found: Any) -> None:
    """For each packet of a batch what `find_flow` would give, or NO_FLOW where one look does not tell.

    Of many flows each look waits for memory. Here no step hangs on what an earlier one found, so that the
    processor waits for all of a batch at once.
    """
    for place in range(len(found)):
        found[place] = table[spread(here[place], there[place]) & (len(table) - 1)]
    for place in range(len(found)):
        number = found[place] & _NUMBER if found[place] != EMPTY else 0
        one, other = known[number, HERE], known[number, THERE]
        straight = one == here[place] and other == there[place]
        turned = one == there[place] and other == here[place]
        told = (straight or turned) and found[place] != EMPTY and here[place] < _EXACT
        found[place] = 2 * number + (not straight) if told else NO_FLOW


@kernel
def find_flow(data: Any, ip: int, tcp: int, table: Any, known: Any, flows: int) -> int:
    """2 * the packet's flow + its direction; a flow not known yet is entered as number `flows`."""
    here, there = ends_of(data, ip, tcp)
    exact, key = here < _EXACT, spread(here, there)
    slot, tag = key & (len(table) - 1), tag_of(key)
    while table[slot] != EMPTY:
        number = table[slot] & _NUMBER
        if table[slot] >> _TAG_AT == tag:
            one, other = known[number, HERE], known[number, THERE]
            if one == here and other == there and (exact or same_ends(data, ip, known[number, FIRST], 0)):
                return int(2 * number)
            if one == there and other == here and (exact or same_ends(data, ip, known[number, FIRST], 1)):
                return int(2 * number + 1)
        slot = (slot + 1) & (len(table) - 1)
    table[slot] = tag << _TAG_AT | flows
    known[flows, FIRST], known[flows, HERE], known[flows, THERE] = ip, here, there
    return 2 * flows


@kernel
def tag_of(key: int) -> int:
    """The part of a flow's spread that is kept beside its number."""
    return (key >> _TAG_FROM) & _TAG


@kernel
def enter_again(known: Any, flows: int, table: Any) -> None:
    """Enter all flows into an empty table."""
    for flow in range(flows):
        key = spread(known[flow, HERE], known[flow, THERE])
        slot = key & (len(table) - 1)
        while table[slot] != EMPTY:
            slot = (slot + 1) & (len(table) - 1)
        table[slot] = tag_of(key) << _TAG_AT | flow


@kernel
def adopt_flows(data: Any, others: Any, start: int, found: Any, table: Any, known: Any, flows: int) -> Any:
    """Find or enter the flows others[start:]; (how far it came, how many are known now)."""
    for row in range(start, len(found)):
        if flows == len(known):
            return row, flows
        ip = others[row, FIRST]
        found[row] = find_flow(data, ip, transport(data, ip, len(data))[1], table, known, flows)
        flows = max(flows, found[row] // 2 + 1)
    return len(found), flows
