"""Flows: packets with the same two addresses and ports in the same tunnels, in either direction."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import inlined, kernel
from multitracer.wire.octets import big16, big32, hash_pair

# Columns of `Known.ends`.
FIRST, END_A, END_B, LABEL, COLUMNS = range(5)
_HALVES = 4
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


class Known(NamedTuple):
    """What is known of the flows, by the first packet of each; a table of two, so that IPv4 needs less of the cache.

    `ends` has the offset of its IP header, its source and destination as numbers, and the label of its tunnels: the
    ends are exact for IPv4, for IPv6 they hold a hash of the address. `addresses` has those of IPv6, in halves.
    """

    ends: Any
    addresses: Any


def room_for(flows: int) -> Known:
    """Room for what is known of so many flows."""
    return Known(np.empty((flows, COLUMNS), dtype=np.int64), np.empty((flows, _HALVES), dtype=np.int64))


class Flows:
    """The flows of one capture, numbered in order of appearance, in an open-addressing hash table that grows.

    `table` has shape (slots,), int64, slots a power of two; `known` has room for slots / 4 flows. They need no octets
    of a flow's packets: the capture may be read in pieces.
    """

    def __init__(self) -> None:
        self.count = 0
        self.table = np.full(_START, EMPTY, dtype=np.int64)
        self.known = room_for(_START // 4)

    @property
    def full(self) -> bool:
        """Whether the table must grow before the next batch, in which every packet may begin a new flow."""
        return self.count + BATCH > len(self.known.ends)

    def since(self, before: int) -> tuple[Any, Any]:
        """Of the flows after the first `before`: offset of the first packet's IP header, label of the tunnels or 0."""
        new = self.known.ends[before : self.count]
        return new[:, FIRST].copy(), new[:, LABEL].copy()

    def grow(self) -> None:
        """Make room for four times as many flows."""
        self.table = np.full(4 * len(self.table), EMPTY, dtype=np.int64)
        larger = room_for(len(self.table) // 4)
        for new, old in zip(larger, self.known, strict=True):
            new[: self.count] = old[: self.count]
        self.known = larger
        rehash(self.known, self.count, self.table)


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


@inlined
def half_address(data: Any, at: int) -> int:
    """Eight octets of an IPv6 address as a signed number."""
    return np.int64(big32(data, at)) << 32 | big32(data, at + 4)


@inlined
def same_addresses(known: Any, one: int, other: int, turned: int) -> bool:
    """Whether two rows have the same IPv6 addresses; with `turned` 2, source and destination exchanged."""
    same = True
    for half in range(_HALVES):
        same = same and known.addresses[one, half] == known.addresses[other, half ^ turned]
    return same


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
        one, other = known.ends[number, END_A], known.ends[number, END_B]
        forward = one == source[index] and other == destination[index]
        reverse = one == destination[index] and other == source[index]
        alike = (forward or reverse) and known.ends[number, LABEL] == label[index]
        certain = alike and found[index] != EMPTY and source[index] < _EXACT
        found[index] = 2 * number + (not forward) if certain else NO_FLOW


@kernel
def find_flow(data: Any, ip: int, tcp: int, label: int, table: Any, known: Any, flows: int) -> int:
    """2 * flow number + direction of a packet; a new flow is entered as number `flows`, with direction 0.

    The packet's row is written into `known` in any case, behind those of the flows.
    """
    source, destination = ends_of(data, ip, tcp)
    ends = known.ends
    ends[flows, FIRST], ends[flows, END_A], ends[flows, END_B], ends[flows, LABEL] = ip, source, destination, label
    if source >= _EXACT:
        for half in range(_HALVES):
            known.addresses[flows, half] = half_address(data, ip + 8 + 8 * half)
    return enter_flow(table, known, flows)


@kernel
def enter_flow(table: Any, known: Any, flows: int) -> int:
    """2 * flow number + direction of the packet in row `flows` of `known`; the row is a new flow's if there is none."""
    ends = known.ends
    source, destination, label = ends[flows, END_A], ends[flows, END_B], ends[flows, LABEL]
    exact, key = source < _EXACT, flow_hash(source, destination, label)
    slot, tag = key & (len(table) - 1), tag_of(key)
    while table[slot] != EMPTY:
        number = table[slot] & _NUMBER
        if table[slot] >> _TAG_AT == tag and ends[number, LABEL] == label:
            one, other = ends[number, END_A], ends[number, END_B]
            if one == source and other == destination and (exact or same_addresses(known, flows, number, 0)):
                return int(2 * number)
            if one == destination and other == source and (exact or same_addresses(known, flows, number, 2)):
                return int(2 * number + 1)
        slot = (slot + 1) & (len(table) - 1)
    table[slot] = tag << _TAG_AT | flows
    return int(2 * flows)


@kernel
def tag_of(key: int) -> int:
    """The bits of a flow's hash that are stored beside its number."""
    return (key >> _TAG_FROM) & _TAG


@kernel
def rehash(known: Any, flows: int, table: Any) -> None:
    """Enter all flows into an empty table."""
    for flow in range(flows):
        key = flow_hash(known.ends[flow, END_A], known.ends[flow, END_B], known.ends[flow, LABEL])
        slot = key & (len(table) - 1)
        while table[slot] != EMPTY:
            slot = (slot + 1) & (len(table) - 1)
        table[slot] = tag_of(key) << _TAG_AT | flow
