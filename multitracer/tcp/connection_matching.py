"""One connection seen at several observation points: which local connections are the same.

A local connection is one use of a flow at one point. Those with the same addresses (after
translation) and an initial sequence number in common are one connection, and so are those of
different points that begin in the middle and whose sequence spaces overlap.
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
class Joined:
    """Per local connection, per end of one (two rows each), and per connection (client, server)."""

    connection: npt.NDArray[np.int32]
    swapped: Bools
    """The client is end b of the flow."""
    base: Ints
    """Per end of a local connection: the unwrapped number that becomes 0."""
    shift: npt.NDArray[np.int8]
    """Per end of a local connection: window scale, -1 unknown."""
    lead: Ints
    """Per connection: its first local connection."""
    isn_known: Bools
    mss: Ints
    closed: Ints
    window_known: Bools


def join_points(ends: Ints, uses: Ints, same_flow: tuple[Ints, Bools] | None) -> Joined:
    """Number the connections in order of appearance, and give each end's facts from all points."""
    flow, flipped = uses[:, FLOW], np.zeros(len(uses), dtype=np.bool_)
    if same_flow is not None:
        flow, flipped = same_flow[0][flow], same_flow[1][flow]
    facts = _in_common_order(ends, flipped)
    root = _roots(facts, flow, uses[:, POINT])
    lead, connection = np.unique(root, return_inverse=True)
    known = _any(facts[:, :, ISN] != NONE, connection, len(lead))
    client = _clients(facts, uses[:, CLIENT] ^ flipped, connection, lead)
    shift = _shifts(facts, connection, known)
    by_role = np.arange(2)[None, :] ^ client[:, None]
    base, local_shift = _bases(facts, connection, lead), shift[connection]
    back = np.arange(2)[None, :] ^ flipped[:, None].astype(np.int64)
    return Joined(
        connection.astype(np.int32),
        (client[connection] ^ flipped).astype(np.bool_),
        np.take_along_axis(base, back, axis=1).ravel(),
        np.take_along_axis(local_shift, back, axis=1).ravel().astype(np.int8),
        lead,
        np.take_along_axis(known, by_role, axis=1),
        np.take_along_axis(_most(facts[:, :, MSS], connection, len(lead)), by_role, axis=1),
        _most(uses[:, CLOSED], connection, len(lead)),
        shift[:, 0] >= 0,
    )


def _in_common_order(ends: Ints, flipped: Bools) -> Ints:
    """Facts per local connection and end, shape (locals, 2, fields), ends as the joined flow has them."""
    facts = ends.reshape(len(flipped), 2, END_FIELDS)
    if flipped.any():
        facts = facts.copy()
        facts[flipped] = facts[flipped][:, ::-1]
    return facts


def _roots(facts: Ints, flow: Ints, point: Ints) -> Ints:
    """Per local connection, the first local connection that is the same one."""
    parent = np.arange(len(flow), dtype=np.int64)
    if len(flow) == 0 or point.max() == point.min():
        return parent
    for end in (0, 1):
        isn = facts[:, end, ISN]
        order = np.lexsort((isn & MASK, flow))
        link_equal(order[isn[order] != NONE], flow, isn & MASK, parent)
    settle(parent)
    loose = np.bincount(parent, minlength=len(parent))[parent] == 1
    order, low, top = np.lexsort((point, flow)), facts[:, :, LOW].copy(), facts[:, :, TOP].copy()
    link_overlapping(order, flow, point, loose, low, top, parent)
    settle(parent)
    return parent


@kernel
def find_root(parent: Ints, number: int) -> int:
    """The root of a union-find tree, whose path is halved on the way."""
    while parent[number] != number:
        parent[number] = parent[parent[number]]
        number = parent[number]
    return number


@kernel
def unite(parent: Ints, one: int, other: int) -> None:
    """Join two trees; the smaller number stays the root."""
    first, second = find_root(parent, one), find_root(parent, other)
    parent[max(first, second)] = min(first, second)


@kernel
def settle(parent: Ints) -> None:
    """Point every element at its root."""
    for number in range(len(parent)):
        parent[number] = find_root(parent, number)


@kernel
def link_equal(order: Ints, flow: Ints, key: Ints, parent: Ints) -> None:
    """Unite neighbours in `order` that agree in flow and key."""
    for i in range(1, len(order)):
        one, other = order[i - 1], order[i]
        if flow[one] == flow[other] and key[one] == key[other]:
            unite(parent, one, other)


@kernel
def overlaps(low: Ints, top: Ints, one: int, other: int) -> bool:
    """Whether two local connections saw overlapping numbers of every end that both know of."""
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
def link_overlapping(
    order: Ints, flow: Ints, point: Ints, loose: Bools, low: Ints, top: Ints, parent: Ints
) -> None:
    """Unite what no initial sequence number tied to another point, where the numbers overlap.

    `order` sorts by flow, then point. Hardly more than one use a flow and point begins in the
    middle, so that comparing all pairs within a flow is cheap; at most 1000 others are looked at.
    """
    start = 0
    while start < len(order):
        stop = start
        while stop < len(order) and flow[order[stop]] == flow[order[start]]:
            stop += 1
        if point[order[start]] != point[order[stop - 1]]:
            for i in range(start, stop):
                if loose[order[i]]:
                    tie_loose(order, i, start, min(stop, start + 1000), point, low, top, parent)
        start = stop


@kernel
def tie_loose(
    order: Ints, at: int, start: int, stop: int, point: Ints, low: Ints, top: Ints, parent: Ints
) -> None:  # fmt: skip
    """Unite one local connection with the first of order[start:stop] that overlaps it elsewhere."""
    one = order[at]
    for i in range(start, stop):
        if point[one] != point[order[i]] and overlaps(low, top, one, order[i]):
            unite(parent, one, order[i])
            return


def _any(values: Bools, connection: Ints, count: int) -> Bools:
    result = np.zeros((count, 2), dtype=np.bool_)
    np.logical_or.at(result, connection, values)
    return result


def _most(values: Ints, connection: Ints, count: int) -> Ints:
    result = np.full((count, *values.shape[1:]), -1, dtype=np.int64)
    np.maximum.at(result, connection, values)
    return result


def _clients(facts: Ints, client: Ints, connection: Ints, lead: Ints) -> Ints:
    """Which end is the client, as told by the point that saw most of the handshake."""
    seen = (facts[:, :, ISN] != NONE).sum(axis=1)
    best = _most(seen, connection, len(lead))
    sure = np.flatnonzero(seen == best[connection])[::-1]
    chosen = client[lead].copy()
    chosen[connection[sure]] = client[sure]
    return chosen


def _shifts(facts: Ints, connection: Ints, known: Bools) -> Ints:
    """Window scale per connection and end: RFC 7323 2.2 wants the option in both SYNs; -1 unknown."""
    scale = _most(facts[:, :, WSCALE], connection, len(known))
    without = (known & (scale < 0)).any(axis=1)
    scale = np.minimum(scale, LARGEST_SHIFT)
    scale[without] = 0
    scale[~without & ~known.all(axis=1)] = -1
    return scale


def _bases(facts: Ints, connection: Ints, lead: Ints) -> Ints:
    """The number that becomes 0: the initial one where any point saw it, else the lowest that any saw."""
    isn, low, top = facts[:, :, ISN], facts[:, :, LOW], facts[:, :, TOP]
    low = np.where(low == NONE, np.where(top == NONE, 0, top), low)
    elsewhere = _most(np.where(isn == NONE, -1, isn & MASK), connection, len(lead))[connection]
    apart = ((low - low[lead][connection] + (1 << 31)) & MASK) - (1 << 31)
    least = np.zeros((len(lead), 2), dtype=np.int64)
    np.minimum.at(least, connection, apart)
    middle = low - (apart - least[connection])
    return np.where(isn != NONE, isn, np.where(elsewhere >= 0, low - ((low - elsewhere) & MASK), middle))
