"""Ranges of sequence numbers of the ends of connections: joined where they touch, and what lies within them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.tcp.scoreboard import first_above


class Ranges(NamedTuple):
    """Ranges of sequence numbers of each end that do not touch, ascending: those of end e from begins[e] on."""

    begins: Any
    low: Any
    high: Any


def merged(end: Any, low: Any, high: Any, ends: int) -> Ranges:
    """Ranges of ends, in any order, joined where they touch."""
    order = np.lexsort((low, end))
    lows, highs = np.empty(len(order), dtype=np.int64), np.empty(len(order), dtype=np.int64)
    begins = np.zeros(ends + 1, dtype=np.int64)
    count = merge_ranges(end[order], low[order], high[order], begins, lows, highs)
    return Ranges(np.cumsum(begins), lows[:count], highs[:count])


@kernel
def merge_ranges(end: Any, low: Any, high: Any, counts: Any, lows: Any, highs: Any) -> int:
    """Join the sorted ranges of each end; the number of those of end e is counts[e + 1]. Returns how many there are."""
    found = 0
    for at in range(len(low)):
        if at > 0 and end[at] == end[at - 1] and low[at] <= highs[found - 1]:
            highs[found - 1] = max(highs[found - 1], high[at])
            continue
        lows[found], highs[found] = low[at], high[at]
        counts[end[at] + 1] += 1
        found += 1
    return found


def within(end: Any, start: Any, stop: Any, ranges: Ranges) -> Any:
    """Which of start..stop-1 lie within one of the ranges of their end."""
    inside = np.zeros(len(end), dtype=np.bool_)
    find_within(end, start, stop, ranges, inside)
    return inside


@kernel
def find_within(end: Any, start: Any, stop: Any, ranges: Ranges, inside: Any) -> None:
    """Write down which of start..stop-1 lie within one of the ranges of their end."""
    for at in range(len(end)):
        begin, count = ranges.begins[end[at]], ranges.begins[end[at] + 1] - ranges.begins[end[at]]
        if count > 0:
            near = first_above(ranges.high[begin : begin + count], count, start[at], 0)
            inside[at] = (
                near < count and ranges.low[begin + near] <= start[at] and ranges.high[begin + near] >= stop[at]
            )
