"""One connection seen at several observation points: which local connections are the same.

A local connection is one connection as one observation point saw it. Local connections with the same
addresses (after translation) and one initial sequence number (ISN) in common are the same connection, and
so are those at different points whose captures began in the middle and whose sequence numbers overlap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.kernels import kernel
from multitracer.tcp.port_reuse import (
    CLIENT,
    CLOSED,
    END_FIELDS,
    FLOW,
    ISN,
    LOW,
    MASK,
    MSS,
    NONE,
    POINT,
    TOP,
    WSCALE,
)

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

LARGEST_SHIFT = 14  # RFC 7323 2.3


@dataclass(frozen=True)
class MatchedConnections:
    """The connections, and what is known of each end from all points.

    For L local connections and C connections: fields per end of a local connection have shape (2 * L,),
    `isn_known` and `mss` have shape (C, 2): client, server.
    """

    connection: npt.NDArray[np.int32]
    """Per local connection: the number of its connection."""
    swapped: Bools
    """Per local connection: the client is end b of the flow."""
    base: Ints
    """Per end of a local connection: the unwrapped sequence number that becomes 0."""
    shift: npt.NDArray[np.int8]
    """Per end of a local connection: window scale (a shift count), -1 unknown."""
    first_local: Ints
    """Per connection: its first local connection."""
    isn_known: Bools
    mss: Ints
    closed: Ints
    window_known: Bools


def match_connections(ends: Ints, uses: Ints, same_flow: tuple[Ints, Bools] | None) -> MatchedConnections:
    """Number the connections in order of appearance, and combine what the points saw of each end.

    `ends` has shape (2 * L, END_FIELDS) and `uses` (L, LOCAL_FIELDS), for L local connections; `same_flow`
    is that of `find_connections`.
    """
    flow, flipped = uses[:, FLOW], np.zeros(len(uses), dtype=np.bool_)
    if same_flow is not None:
        flow, flipped = same_flow[0][flow], same_flow[1][flow]
    facts = _facts_per_end(ends, flipped)
    root = _same_connection(facts, flow, uses[:, POINT])
    first_local, connection = np.unique(root, return_inverse=True)
    known = _any_by_connection(facts[:, :, ISN] != NONE, connection, len(first_local))
    client = _client_ends(facts, uses[:, CLIENT] ^ flipped, connection, first_local)
    shift = _window_scales(facts, connection, known)
    by_role = np.arange(2)[None, :] ^ client[:, None]
    base, local_shift = _first_numbers(facts, connection, first_local), shift[connection]
    stored_order = np.arange(2)[None, :] ^ flipped[:, None].astype(np.int64)
    return MatchedConnections(
        connection.astype(np.int32),
        (client[connection] ^ flipped).astype(np.bool_),
        np.take_along_axis(base, stored_order, axis=1).ravel(),
        np.take_along_axis(local_shift, stored_order, axis=1).ravel().astype(np.int8),
        first_local,
        np.take_along_axis(known, by_role, axis=1),
        np.take_along_axis(_max_by_connection(facts[:, :, MSS], connection, len(first_local)), by_role, axis=1),
        _max_by_connection(uses[:, CLOSED], connection, len(first_local)),
        shift[:, 0] >= 0,
    )


def _facts_per_end(ends: Ints, flipped: Bools) -> Ints:
    """`ends` as shape (L, 2, END_FIELDS), with the ends in the order of the translated flow."""
    facts = ends.reshape(len(flipped), 2, END_FIELDS)
    if flipped.any():
        facts = facts.copy()
        facts[flipped] = facts[flipped][:, ::-1]
    return facts


def _same_connection(facts: Ints, flow: Ints, point: Ints) -> Ints:
    """Per local connection, the first local connection that belongs to the same connection."""
    parent = np.arange(len(flow), dtype=np.int64)
    if len(flow) == 0 or point.max() == point.min():
        return parent
    for end in (0, 1):
        isn = facts[:, end, ISN]
        order = np.lexsort((isn & MASK, flow))
        unite_equal(order[isn[order] != NONE], flow, isn & MASK, parent)
    point_to_roots(parent)
    unmatched = np.bincount(parent, minlength=len(parent))[parent] == 1
    order, low, top = np.lexsort((point, flow)), facts[:, :, LOW].copy(), facts[:, :, TOP].copy()
    unite_overlapping(order, flow, point, unmatched, low, top, parent)
    point_to_roots(parent)
    return parent


@kernel
def find_root(parent: Ints, number: int) -> int:
    """The root of an element's union-find tree; halves the path to it."""
    while parent[number] != number:
        parent[number] = parent[parent[number]]
        number = parent[number]
    return number


@kernel
def unite(parent: Ints, one: int, other: int) -> None:
    """Join two union-find trees; the smaller root stays the root."""
    first, second = find_root(parent, one), find_root(parent, other)
    parent[max(first, second)] = min(first, second)


@kernel
def point_to_roots(parent: Ints) -> None:
    """Make every element point at its root."""
    for number in range(len(parent)):
        parent[number] = find_root(parent, number)


@kernel
def unite_equal(order: Ints, flow: Ints, key: Ints, parent: Ints) -> None:
    """Unite neighbours in `order` that have the same flow and key."""
    for i in range(1, len(order)):
        one, other = order[i - 1], order[i]
        if flow[one] == flow[other] and key[one] == key[other]:
            unite(parent, one, other)


@kernel
def overlaps(low: Ints, top: Ints, one: int, other: int) -> bool:
    """Whether two local connections saw overlapping sequence numbers of every end that both saw."""
    shared = 0
    for end in range(2):
        if low[one, end] == NONE or low[other, end] == NONE:
            continue
        apart = (low[other, end] - low[one, end]) & MASK
        behind = (low[one, end] - low[other, end]) & MASK
        if apart > top[one, end] - low[one, end] and behind > top[other, end] - low[other, end]:
            return False
        shared += 1
    return shared > 0


@kernel
def unite_overlapping(
    order: Ints, flow: Ints, point: Ints, unmatched: Bools, low: Ints, top: Ints, parent: Ints
) -> None:
    """Unite local connections that no ISN matched (`unmatched`) where their sequence numbers overlap.

    `order` sorts by flow, then point. Few captures of a flow begin in the middle at one point, so comparing
    all pairs within a flow is cheap; at most 1000 others are compared.
    """
    start = 0
    while start < len(order):
        stop = start
        while stop < len(order) and flow[order[stop]] == flow[order[start]]:
            stop += 1
        if point[order[start]] != point[order[stop - 1]]:
            for i in range(start, stop):
                if unmatched[order[i]]:
                    unite_if_overlapping(order, i, start, min(stop, start + 1000), point, low, top, parent)
        start = stop


@kernel
def unite_if_overlapping(
    order: Ints, at: int, start: int, stop: int, point: Ints, low: Ints, top: Ints, parent: Ints
) -> None:  # fmt: skip
    """Unite one local connection with the first of order[start:stop] at another point that overlaps it."""
    one = order[at]
    for i in range(start, stop):
        if point[one] != point[order[i]] and overlaps(low, top, one, order[i]):
            unite(parent, one, order[i])
            return


def _any_by_connection(values: Bools, connection: Ints, count: int) -> Bools:
    result = np.zeros((count, 2), dtype=np.bool_)
    np.logical_or.at(result, connection, values)
    return result


def _max_by_connection(values: Ints, connection: Ints, count: int) -> Ints:
    result = np.full((count, *values.shape[1:]), -1, dtype=np.int64)
    np.maximum.at(result, connection, values)
    return result


def _client_ends(facts: Ints, client: Ints, connection: Ints, first_local: Ints) -> Ints:
    """Which end is the client, by the point that saw most of the handshake."""
    seen = (facts[:, :, ISN] != NONE).sum(axis=1)
    best = _max_by_connection(seen, connection, len(first_local))
    decided = np.flatnonzero(seen == best[connection])[::-1]
    chosen = client[first_local].copy()
    chosen[connection[decided]] = client[decided]
    return chosen


def _window_scales(facts: Ints, connection: Ints, known: Bools) -> Ints:
    """Window scale per connection and end, -1 unknown; 0 when a SYN lacks the option (RFC 7323 2.2: both need it)."""
    scale = _max_by_connection(facts[:, :, WSCALE], connection, len(known))
    without = (known & (scale < 0)).any(axis=1)
    scale = np.minimum(scale, LARGEST_SHIFT)
    scale[without] = 0
    scale[~without & ~known.all(axis=1)] = -1
    return scale


def _first_numbers(facts: Ints, connection: Ints, first_local: Ints) -> Ints:
    """The number that becomes 0: the ISN where any point saw it, else the lowest number that any point saw."""
    isn, low, top = facts[:, :, ISN], facts[:, :, LOW], facts[:, :, TOP]
    low = np.where(low == NONE, np.where(top == NONE, 0, top), low)
    isn_elsewhere = _max_by_connection(np.where(isn == NONE, -1, isn & MASK), connection, len(first_local))[connection]
    apart = ((low - low[first_local][connection] + (1 << 31)) & MASK) - (1 << 31)
    lowest = np.zeros((len(first_local), 2), dtype=np.int64)
    np.minimum.at(lowest, connection, apart)
    middle = low - (apart - lowest[connection])
    return np.where(isn != NONE, isn, np.where(isn_elsewhere >= 0, low - ((low - isn_elsewhere) & MASK), middle))
