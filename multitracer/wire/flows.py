"""Flows: packets with the same two addresses and ports in the same tunnels, in either direction."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.compute.kernels import inlined, kernel
from multitracer.wire.layers import transport
from multitracer.wire.octets import big16, big32, hash_pair

# Columns of `known`, one row per flow: the offset of the IP header of its first packet, and that packet's
# source and destination as numbers, and the label of its tunnels. The ends are exact for IPv4; for IPv6 they hold a
# hash of the address.
FIRST, END_A, END_B, LABEL = range(4)
_COLUMNS = 4
_START = 1 << 12
NO_FLOW = -1
_EXACT = 1 << 48
"""An end below this is an IPv4 address and port, exactly; above it is an IPv6 end, which holds a hash."""

BATCH = 64
"""Number of packets whose flows are looked up together."""

# An entry of the hash table: the flow's number in the lower 32 bits, and above it a tag, further bits of its hash.
# On a collision the tag rejects nearly all other flows without reading their row of `known`.
EMPTY = -1
_NUMBER, _TAG = 0xFFFFFFFF, 0x7FFFFFFF
_TAG_AT = 32
_TAG_FROM = 31


class Flows:
    """The flows of one capture, numbered in order of appearance, in an open-addressing hash table that grows.

    `table` has shape (slots,), int64, slots a power of two; `known` has shape (slots / 4, 4), int64.
    """

    def __init__(self) -> None:
        self.count = 0
        self.table = np.full(_START, EMPTY, dtype=np.int64)
        self.known = np.empty((_START // 4, _COLUMNS), dtype=np.int64)

    @property
    def full(self) -> bool:
        """Whether the table must grow before the next batch, in which every packet may begin a new flow."""
        return self.count + BATCH > len(self.known)

    @property
    def first(self) -> Any:
        """Offset of the IP header of each flow's first packet, shape (count,)."""
        return self.known[: self.count, FIRST]

    @property
    def label(self) -> Any:
        """The label of each flow's tunnels, 0 for none, shape (count,)."""
        return self.known[: self.count, LABEL]

    def grow(self) -> None:
        """Make room for four times as many flows."""
        self.table = np.full(4 * len(self.table), EMPTY, dtype=np.int64)
        larger = np.empty((len(self.table) // 4, _COLUMNS), dtype=np.int64)
        larger[: self.count] = self.known[: self.count]
        self.known = larger
        rehash(self.known, self.count, self.table)

    def merge(self, data: Any, other: Flows) -> Any:
        """Add the flows of another part of the capture.

        Returns per flow of `other`: 2 * its number here + 1 if source and destination are swapped.
        """
        found = np.empty(other.count, dtype=np.int64)
        done = 0
        while done < other.count:
            if self.full:
                self.grow()
            done, self.count = merge_flows(data, other.known, done, found, self.table, self.known, self.count)
        return found


@kernel
def flow_hash(source: int, destination: int, label: int) -> int:
    """A hash that is the same for both directions of a flow."""
    both = source + destination
    return hash_pair(both ^ both >> 31 ^ label, (source ^ destination) >> 16 ^ (source ^ destination))


@inlined
def address(data: Any, at: int, size: int) -> int:
    """An IPv4 address; for IPv6 a 40-bit hash of the address, with bit 40 set."""
    if size == 4:
        return big32(data, at)
    upper = hash_pair(big32(data, at) ^ big32(data, at + 4) * 3, big32(data, at + 4))
    return (hash_pair(upper ^ big32(data, at + 8), big32(data, at + 12)) & 0xFFFFFFFFFF) | 1 << 40


@kernel
def same_ends(data: Any, ip: int, other: int, reverse: int) -> bool:
    """Whether two IPv6 packets have the same addresses; with `reverse` 1, source and destination exchanged."""
    for i in range(16):
        if data[ip + 8 + i] != data[other + 8 + 16 * reverse + i]:
            return False
        if data[ip + 24 + i] != data[other + 24 - 16 * reverse + i]:
            return False
    return True


@inlined
def ends_of(data: Any, ip: int, tcp: int) -> tuple[int, int]:
    """Source and destination of a packet, each as address and port in one number."""
    size, at = (4, ip + 12) if data[ip] >> 4 == 4 else (16, ip + 8)
    source = address(data, at, size) << 16 | big16(data, tcp)
    destination = address(data, at + size, size) << 16 | big16(data, tcp + 2)
    return source, destination


@inlined
def look_up_batch(source: Any, destination: Any, label: Any, table: Any, known: Any, found: Any) -> None:
    """For each packet of a batch what `find_flow` would return, or NO_FLOW where the first slot does not decide.

    With many flows each lookup waits for memory. Here no iteration depends on the result of another, so the
    processor overlaps the cache misses of the whole batch.
    """
    for index in range(len(found)):
        found[index] = table[flow_hash(source[index], destination[index], label[index]) & (len(table) - 1)]
    for index in range(len(found)):
        number = found[index] & _NUMBER if found[index] != EMPTY else 0
        one, other = known[number, END_A], known[number, END_B]
        forward = one == source[index] and other == destination[index]
        reverse = one == destination[index] and other == source[index]
        alike = (forward or reverse) and known[number, LABEL] == label[index]
        certain = alike and found[index] != EMPTY and source[index] < _EXACT
        found[index] = 2 * number + (not forward) if certain else NO_FLOW


@kernel
def find_flow(data: Any, ip: int, tcp: int, label: int, table: Any, known: Any, flows: int) -> int:
    """2 * flow number + direction of a packet; a new flow is entered as number `flows`, with direction 0."""
    source, destination = ends_of(data, ip, tcp)
    exact, key = source < _EXACT, flow_hash(source, destination, label)
    slot, tag = key & (len(table) - 1), tag_of(key)
    while table[slot] != EMPTY:
        number = table[slot] & _NUMBER
        if table[slot] >> _TAG_AT == tag and known[number, LABEL] == label:
            one, other = known[number, END_A], known[number, END_B]
            if one == source and other == destination and (exact or same_ends(data, ip, known[number, FIRST], 0)):
                return int(2 * number)
            if one == destination and other == source and (exact or same_ends(data, ip, known[number, FIRST], 1)):
                return int(2 * number + 1)
        slot = (slot + 1) & (len(table) - 1)
    table[slot] = tag << _TAG_AT | flows
    known[flows, FIRST], known[flows, END_A], known[flows, END_B], known[flows, LABEL] = ip, source, destination, label
    return 2 * flows


@kernel
def tag_of(key: int) -> int:
    """The bits of a flow's hash that are stored beside its number."""
    return (key >> _TAG_FROM) & _TAG


@kernel
def rehash(known: Any, flows: int, table: Any) -> None:
    """Enter all flows into an empty table."""
    for flow in range(flows):
        key = flow_hash(known[flow, END_A], known[flow, END_B], known[flow, LABEL])
        slot = key & (len(table) - 1)
        while table[slot] != EMPTY:
            slot = (slot + 1) & (len(table) - 1)
        table[slot] = tag_of(key) << _TAG_AT | flow


@kernel
def merge_flows(data: Any, others: Any, start: int, found: Any, table: Any, known: Any, flows: int) -> Any:
    """Find or enter the flows others[start:]; returns (row reached, number of flows).

    Stops early when `known` is full; call again from that row after growing.
    """
    for row in range(start, len(found)):
        if flows == len(known):
            return row, flows
        ip = others[row, FIRST]
        tcp, label = transport(data, ip, len(data))[1], others[row, LABEL]
        found[row] = find_flow(data, ip, tcp, label, table, known, flows)
        flows = max(flows, found[row] // 2 + 1)
    return len(found), flows
