"""Queues that kernels keep in arrays: rings of rows, and chains that a row can leave from the middle.

A ring is first in, first out, of a capacity fixed when it is made. A chain is a doubly linked list of
places (rows of some table of the owner's); a place is in one chain of the same links at most, and joins and
leaves at a constant cost.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import kernel

NEVER = 2**62
"""A time (ns) that does not come."""

TAKEN, PUT = range(2)
"""Columns of a ring's `ends`: so many rows were taken out of it, so many were put in."""

PREVIOUS, NEXT = range(2)


class Ring(NamedTuple):
    """Rows of int64, and how many of them were taken and put; the number of rows is a power of two."""

    rows: Any
    ends: Any


def ring(capacity: int, columns: int) -> Ring:
    """An empty ring with room for at least `capacity` rows."""
    rows = 1 << max(capacity - 1, 0).bit_length()
    return Ring(np.zeros((rows, columns), dtype=np.int64), np.zeros(2, dtype=np.int64))


@kernel
def length(queue: Any) -> int:
    """How many rows wait in a ring."""
    return queue.ends[PUT] - queue.ends[TAKEN]


@kernel
def head(queue: Any) -> int:
    """The index of the row that is taken next; meaningless in an empty ring."""
    return queue.ends[TAKEN] & (len(queue.rows) - 1)


@kernel
def tail(queue: Any) -> int:
    """The index of the row that is put next; the ring must have room."""
    return queue.ends[PUT] & (len(queue.rows) - 1)


@kernel
def offer(waiting: Any, sdu: int, octets: int) -> int:
    """Put an SDU (its number and its size in octets) into a ring of them; 0 when there is no room."""
    if length(waiting) == len(waiting.rows):
        return 0
    row = tail(waiting)
    waiting.rows[row, 0] = sdu
    waiting.rows[row, 1] = octets
    waiting.ends[PUT] += 1
    return 1


def chains(places: int, count: int) -> Any:
    """Links of `count` empty chains over `places` places: chain k is headed by row places + k."""
    return np.repeat(np.arange(places + count, dtype=np.int64)[:, None], 2, axis=1)


@kernel
def append(links: Any, chain: int, place: int) -> None:
    """Put `place`, which is in no chain, at the end of one."""
    last = links[chain, PREVIOUS]
    links[last, NEXT] = place
    links[place, PREVIOUS] = last
    links[place, NEXT] = chain
    links[chain, PREVIOUS] = place


@kernel
def remove(links: Any, place: int) -> None:
    """Take `place` out of the chain it is in, if any."""
    before, after = links[place, PREVIOUS], links[place, NEXT]
    links[before, NEXT] = after
    links[after, PREVIOUS] = before
    links[place, PREVIOUS] = place
    links[place, NEXT] = place
