"""How often an end sent each byte, exactly, at a cost that does not grow with the connection.

Below the highest number seen, every byte was sent once except for a few ranges: holes (not seen yet) and
retransmitted bytes. Only those ranges are stored, in a sorted list per end that is searched from its top,
where losses are. The lists of all ends share one pool of nodes; node 0 means none. Each end has a few nodes
of its own, its home, adjacent in memory: with many ends, the nodes of one list would otherwise be far
apart.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.kernels import inlined, kernel

Ints: TypeAlias = npt.NDArray[np.int64]

# Columns of a node: sequence numbers FIRST to END - 1, VALUE (number of copies, or send time), and its neighbours.
FIRST, END, VALUE, BELOW, ABOVE, NODE_FIELDS = 0, 1, 2, 3, 4, 5
NO_NODE = 0

# Columns of an end's state that belong here. A list has three columns: its top, bottom and length. FREE is the
# first free node of the end's home.
HIGH, LOWEST, RANGES, FREE = 0, 1, 2, 8
BOTTOM, LENGTH = 1, 2
UNSEEN = -(1 << 62)
"""HIGH and LOWEST before the first transmission."""

HOME_NODES = 4
"""Nodes in the home of an end."""
MOST_HOMES = 1 << 17
"""Number of homes; further ends have none and use shared nodes only."""
MOST_RANGES = 4096
"""Limit of an end's list; above it the lowest range is dropped, which bounds time and memory."""


def new_pool(size: int, homes: int = 0) -> Ints:
    """A pool with `homes` homes, at most MOST_HOMES, and `size` shared free nodes; shape (nodes, NODE_FIELDS), int64.

    Node 0 has the number of shared free nodes (VALUE), the first of them (ABOVE) and the first node after
    the homes (FIRST).
    """
    shared = 1 + HOME_NODES * min(homes, MOST_HOMES)
    pool = np.zeros((shared + size, NODE_FIELDS), dtype=np.int64)
    pool[1:-1, ABOVE] = np.arange(2, len(pool))
    pool[HOME_NODES:shared:HOME_NODES, ABOVE] = NO_NODE
    pool[0, FIRST] = pool[0, ABOVE] = shared
    pool[0, VALUE] = size
    return pool


def grow_pool(pool: Ints, size: int) -> Ints:
    """A copy of the pool with `size` more shared nodes."""
    used = len(pool)
    larger = np.zeros((used + size, NODE_FIELDS), dtype=np.int64)
    larger[:used] = pool
    larger[used:, ABOVE] = np.arange(used + 1, used + size + 1)
    larger[-1, ABOVE] = larger[0, ABOVE]
    larger[0, ABOVE] = used
    larger[0, VALUE] += size
    return larger


def home_node(number: Ints) -> Ints:
    """The first node of each home, by number of the home; NO_NODE above MOST_HOMES."""
    return np.where(number < MOST_HOMES, 1 + HOME_NODES * number, NO_NODE)


@inlined
def take_node(nodes: Ints, ends: Ints, end: int) -> int:
    """A free node of the end's home, or else a shared one."""
    node = ends[end, FREE]
    if node != NO_NODE:
        ends[end, FREE] = nodes[node, ABOVE]
        return node
    node = nodes[0, ABOVE]
    nodes[0, ABOVE] = nodes[node, ABOVE]
    nodes[0, VALUE] -= 1
    return node


@inlined
def free_node(nodes: Ints, ends: Ints, end: int, node: int) -> None:
    """Return a node of `end` to its home, or to the shared nodes."""
    if node < nodes[0, FIRST]:
        nodes[node, ABOVE] = ends[end, FREE]
        ends[end, FREE] = node
    else:
        nodes[node, ABOVE] = nodes[0, ABOVE]
        nodes[0, ABOVE] = node
        nodes[0, VALUE] += 1


@inlined
def insert_above(nodes: Ints, ends: Ints, end: int, column: int, below: int, first: int, stop: int, value: int) -> int:
    """Insert first..stop-1 above the node `below` of a list (NO_NODE: at its bottom); returns the new node."""
    node = take_node(nodes, ends, end)
    above = ends[end, column + BOTTOM] if below == NO_NODE else nodes[below, ABOVE]
    nodes[node, FIRST], nodes[node, END], nodes[node, VALUE] = first, stop, value
    nodes[node, BELOW], nodes[node, ABOVE] = below, above
    if below == NO_NODE:
        ends[end, column + BOTTOM] = node
    else:
        nodes[below, ABOVE] = node
    if above == NO_NODE:
        ends[end, column] = node
    else:
        nodes[above, BELOW] = node
    ends[end, column + LENGTH] += 1
    return node


@inlined
def drop_node(nodes: Ints, ends: Ints, end: int, column: int, node: int) -> None:
    """Remove a node from its list."""
    below, above = nodes[node, BELOW], nodes[node, ABOVE]
    if below == NO_NODE:
        ends[end, column + BOTTOM] = above
    else:
        nodes[below, ABOVE] = above
    if above == NO_NODE:
        ends[end, column] = below
    else:
        nodes[above, BELOW] = below
    ends[end, column + LENGTH] -= 1
    free_node(nodes, ends, end, node)


@kernel
def cut_range(nodes: Ints, ends: Ints, end: int, node: int, first: int, stop: int) -> int:
    """Cut first..stop-1 out of a range; returns the node below the cut."""
    below = nodes[node, BELOW]
    if nodes[node, FIRST] < first:
        if stop < nodes[node, END]:
            insert_above(nodes, ends, end, RANGES, node, stop, nodes[node, END], nodes[node, VALUE])
        nodes[node, END] = first
        return node
    if stop < nodes[node, END]:
        nodes[node, FIRST] = stop
    else:
        drop_node(nodes, ends, end, RANGES, node)
    return below


@kernel
def add_range(nodes: Ints, ends: Ints, end: int, below: int, first: int, stop: int, copies: int) -> int:
    """Note that first..stop-1 were sent `copies` times; returns their node, which may be `below`, extended."""
    if below != NO_NODE and nodes[below, END] == first and nodes[below, VALUE] == copies:
        nodes[below, END] = stop
        return below
    return insert_above(nodes, ends, end, RANGES, below, first, stop, copies)


@inlined
def note_sent(nodes: Ints, ends: Ints, end: int, first: int, stop: int) -> tuple[int, int, int, int]:
    """Note a transmission of the sequence numbers first..stop-1.

    Returns how many of them are new, how often the first and the last had been sent before, and the start
    of the topmost run of new ones.
    """
    high = ends[end, HIGH]
    if high == UNSEEN:
        ends[end, HIGH], ends[end, LOWEST] = stop, first
        return stop - first, 0, 0, first
    if first >= high:
        if first > high:
            insert_above(nodes, ends, end, RANGES, ends[end, RANGES], high, first, 0)
        ends[end, HIGH] = stop
        result = (stop - first, 0, 0, first)
    else:
        result = note_sent_below(nodes, ends, end, first, stop)
    while ends[end, RANGES + LENGTH] > MOST_RANGES:
        drop_node(nodes, ends, end, RANGES, ends[end, RANGES + BOTTOM])
    return result


@kernel
def note_sent_below(nodes: Ints, ends: Ints, end: int, first: int, stop: int) -> tuple[int, int, int, int]:
    """`note_sent` for a transmission that starts below the highest number seen."""
    if first < ends[end, LOWEST]:
        insert_above(nodes, ends, end, RANGES, NO_NODE, first, ends[end, LOWEST], 0)
        ends[end, LOWEST] = first
    high = ends[end, HIGH]
    below = ends[end, RANGES]
    while below != NO_NODE and nodes[below, END] > first:
        below = nodes[below, BELOW]
    new, copies, earliest, run = 0, 0, -1, first
    at, until = first, min(stop, high)
    while at < until:
        node = ends[end, RANGES + BOTTOM] if below == NO_NODE else nodes[below, ABOVE]
        inside = node != NO_NODE and nodes[node, FIRST] <= at
        copies, upto = 1, until
        if inside:
            copies, upto = nodes[node, VALUE], min(until, nodes[node, END])
            below = cut_range(nodes, ends, end, node, at, upto)
        elif node != NO_NODE:
            upto = min(until, nodes[node, FIRST])
        if copies > 0:
            below = add_range(nodes, ends, end, below, at, upto, copies + 1)
        else:
            new += upto - at
            run = at
        if earliest < 0:
            earliest = copies
        at = upto
    if stop > high:
        ends[end, HIGH] = stop
        return new + stop - high, earliest, 0, high
    return new, earliest, copies, run
