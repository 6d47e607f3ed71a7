"""Which bytes an end had sent before, exactly, at a cost that does not grow with the connection.

Below the highest number seen, every byte was sent once, but for a few ranges: holes (not seen yet)
and what was sent again. Only those ranges are kept, as a list per end, sorted, that is searched from
its top, where losses are. The lists of all ends live in one pool of nodes, and node 0 is none. A few
nodes are an end's own, its home: of many ends, each would else find its nodes far apart in memory.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.kernels import inlined, kernel

Ints: TypeAlias = npt.NDArray[np.int64]

# A node: numbers FIRST to END - 1, what is known of them, and its neighbours in its list.
FIRST, END, VALUE, BELOW, ABOVE, NODE_FIELDS = 0, 1, 2, 3, 4, 5
NO_NODE = 0

# Columns of an end's state that belong here. A list is three columns: its top, bottom and length. FREE is the
# first free node of the end's home.
HIGH, LOWEST, RANGES, FREE = 0, 1, 2, 8
BOTTOM, LENGTH = 1, 2
UNSEEN = -(1 << 62)
"""HIGH and LOWEST while nothing was seen."""

HOME_NODES = 4
"""So many nodes are an end's own."""
MOST_HOMES = 1 << 17
"""Of more ends the last have none: they take their nodes from those for all."""
MOST_RANGES = 4096
"""An end's list forgets its lowest range beyond so many: time and memory stay bounded."""


def node_pool(size: int, homes: int = 0) -> Ints:
    """A pool with homes for so many ends, MOST_HOMES at most, and `size` free nodes for all.

    Node 0 holds how many are free for all (VALUE), which is the first of them (ABOVE), and where homes end (FIRST).
    """
    shared = 1 + HOME_NODES * min(homes, MOST_HOMES)
    pool = np.zeros((shared, NODE_FIELDS), dtype=np.int64)
    pool[1:, ABOVE] = np.arange(2, shared + 1)
    pool[HOME_NODES::HOME_NODES, ABOVE] = NO_NODE
    pool[0, FIRST] = shared
    return grown(pool, size)


def grown(pool: Ints, size: int) -> Ints:
    """The pool with `size` more nodes that are free for all."""
    used = len(pool)
    larger = np.zeros((used + size, NODE_FIELDS), dtype=np.int64)
    larger[:used] = pool
    larger[used:, ABOVE] = np.arange(used + 1, used + size + 1)
    larger[-1, ABOVE] = larger[0, ABOVE]
    larger[0, ABOVE] = used
    larger[0, VALUE] += size
    return larger


def home(number: Ints) -> Ints:
    """The first node of each home, by the number of the home; NO_NODE for those that are not there."""
    return np.where(number < MOST_HOMES, 1 + HOME_NODES * number, NO_NODE)


@inlined
def take(nodes: Ints, ends: Ints, end: int) -> int:
    """A free node: of the end's home, or else of those for all."""
    node = ends[end, FREE]
    if node != NO_NODE:
        ends[end, FREE] = nodes[node, ABOVE]
        return node
    node = nodes[0, ABOVE]
    nodes[0, ABOVE] = nodes[node, ABOVE]
    nodes[0, VALUE] -= 1
    return node


@inlined
def give_back(nodes: Ints, ends: Ints, end: int, node: int) -> None:
    """Put a node that `end` took where it was taken from."""
    if node < nodes[0, FIRST]:
        nodes[node, ABOVE] = ends[end, FREE]
        ends[end, FREE] = node
    else:
        nodes[node, ABOVE] = nodes[0, ABOVE]
        nodes[0, ABOVE] = node
        nodes[0, VALUE] += 1


@inlined
def add_above(nodes: Ints, ends: Ints, end: int, chain: int, below: int, first: int, stop: int, value: int) -> int:
    """Insert first..stop-1 above the node `below` of a list (NO_NODE: at its bottom); the new node."""
    node = take(nodes, ends, end)
    above = ends[end, chain + BOTTOM] if below == NO_NODE else nodes[below, ABOVE]
    nodes[node, FIRST], nodes[node, END], nodes[node, VALUE] = first, stop, value
    nodes[node, BELOW], nodes[node, ABOVE] = below, above
    if below == NO_NODE:
        ends[end, chain + BOTTOM] = node
    else:
        nodes[below, ABOVE] = node
    if above == NO_NODE:
        ends[end, chain] = node
    else:
        nodes[above, BELOW] = node
    ends[end, chain + LENGTH] += 1
    return node


@inlined
def drop(nodes: Ints, ends: Ints, end: int, chain: int, node: int) -> None:
    """Take a node out of its list."""
    below, above = nodes[node, BELOW], nodes[node, ABOVE]
    if below == NO_NODE:
        ends[end, chain + BOTTOM] = above
    else:
        nodes[below, ABOVE] = above
    if above == NO_NODE:
        ends[end, chain] = below
    else:
        nodes[above, BELOW] = below
    ends[end, chain + LENGTH] -= 1
    give_back(nodes, ends, end, node)


@kernel
def cut(nodes: Ints, ends: Ints, end: int, node: int, first: int, stop: int) -> int:
    """Take first..stop-1 out of a range; returns the node below what was taken."""
    below = nodes[node, BELOW]
    if nodes[node, FIRST] < first:
        if stop < nodes[node, END]:
            add_above(nodes, ends, end, RANGES, node, stop, nodes[node, END], nodes[node, VALUE])
        nodes[node, END] = first
        return node
    if stop < nodes[node, END]:
        nodes[node, FIRST] = stop
    else:
        drop(nodes, ends, end, RANGES, node)
    return below


@kernel
def put(nodes: Ints, ends: Ints, end: int, below: int, first: int, stop: int, copies: int) -> int:
    """Note that first..stop-1 were sent `copies` times; returns its node, maybe the one below, grown."""
    if below != NO_NODE and nodes[below, END] == first and nodes[below, VALUE] == copies:
        nodes[below, END] = stop
        return below
    return add_above(nodes, ends, end, RANGES, below, first, stop, copies)


@inlined
def send(nodes: Ints, ends: Ints, end: int, first: int, stop: int) -> tuple[int, int, int, int]:
    """Note a transmission of the numbers first..stop-1.

    Returns how many of them are new, how often the first and the last had been sent before, and
    where the topmost new run begins.
    """
    high = ends[end, HIGH]
    if high == UNSEEN:
        ends[end, HIGH], ends[end, LOWEST] = stop, first
        return stop - first, 0, 0, first
    if first >= high:
        if first > high:
            add_above(nodes, ends, end, RANGES, ends[end, RANGES], high, first, 0)
        ends[end, HIGH] = stop
        result = (stop - first, 0, 0, first)
    else:
        result = send_again(nodes, ends, end, first, stop)
    while ends[end, RANGES + LENGTH] > MOST_RANGES:
        drop(nodes, ends, end, RANGES, ends[end, RANGES + BOTTOM])
    return result


@kernel
def send_again(nodes: Ints, ends: Ints, end: int, first: int, stop: int) -> tuple[int, int, int, int]:
    """`send` for what begins below the highest number seen."""
    if first < ends[end, LOWEST]:
        add_above(nodes, ends, end, RANGES, NO_NODE, first, ends[end, LOWEST], 0)
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
            below = cut(nodes, ends, end, node, at, upto)
        elif node != NO_NODE:
            upto = min(until, nodes[node, FIRST])
        if copies > 0:
            below = put(nodes, ends, end, below, at, upto, copies + 1)
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
