"""What an entity reports to the layer above: stretches of octets handed over, and stretches that it lost.

A stretch is octets [start, end) of one direction's stream: its SDUs one after the other, as they were offered.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from multitracer.compute.kernels import kernel, merged
from multitracer.replay.arq.fields import dtype, numbers, record, table

STRETCH = numbers("start end sdu first_ns")
"""`sdu` is -1 where a protocol knows positions only; `first_ns` is when these octets came first."""
LATE = numbers("octets first_ns")
COUNT = numbers("handed lost late wanted since")
"""Rows in use; without `wanted` nobody reads those of handed and lost, and none is written. Octets handed over that
came before the time `since` stand in `late` until somebody counts them there: what one call can hand over at most, as
they all waited at that time."""


class Above(NamedTuple):
    """The tables of reports, of any length; `above_dtype` has the same names within a record."""

    count: Any
    handed: Any
    lost: Any
    late: Any


class Delivered(NamedTuple):
    """What an entity in octets hands over in one piece."""

    octets: bytes
    sdu: int
    """Its number among those of its direction; -1 from a stream, which has no boundaries."""
    first_ns: int
    """When its octet that came first was there."""
    last_ns: int
    """When its octet that came last was there."""
    time_ns: int
    """When it was handed over, in order."""


class Flushed(NamedTuple):
    """What an entity in octets lost for good, in octets [start, end) of all that it was offered."""

    sdu: int
    start: int
    end: int
    time_ns: int


def above(handed: int, lost: int) -> Above:
    """Room for as many stretches as one call of a kernel can hand over, and lose."""
    return Above(record(COUNT), table(handed, STRETCH), table(lost, STRETCH), table(handed, LATE))


def above_dtype(handed: int, lost: int) -> Any:
    """The same as a dtype, for a field `above` of an entity that is a record."""
    fields = [("count", COUNT), ("handed", STRETCH, (handed,)), ("lost", STRETCH, (lost,)), ("late", LATE, (handed,))]
    return dtype(fields)


@kernel
def hand_over(above: Any, start: int, end: int, sdu: int, first_ns: int) -> None:
    """Report that octets [start, end) go up, which came at `first_ns`."""
    if first_ns < above.count.since:
        late = above.late[above.count.late]
        late.octets, late.first_ns = end - start, first_ns
        above.count.late += 1
    if above.count.wanted:
        row = above.handed[above.count.handed]
        row.start, row.end, row.sdu, row.first_ns = start, end, sdu, first_ns
        above.count.handed += 1


@merged
def lose(above: Any, start: int, end: int, sdu: int) -> None:
    """Report that octets [start, end) of what was offered here are given up."""
    if above.count.wanted:
        row = above.lost[above.count.lost]
        row.start, row.end, row.sdu, row.first_ns = start, end, sdu, 0
        above.count.lost += 1


@merged
def clear(above: Any) -> None:
    """Empty both tables: they have been read."""
    above.count.handed = 0
    above.count.lost = 0
