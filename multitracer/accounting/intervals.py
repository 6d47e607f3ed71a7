"""Intervals with causes, in layers: a later layer replaces the causes of earlier ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
_NO_CAUSE = -1


class Timeline:
    """The time from `start` to `end` in ns, in which every instant has one cause (a code), at first `initial`."""

    def __init__(self, start: int, end: int, initial: int) -> None:
        self.start, self.end = start, max(start, end)
        self._layers: list[tuple[Ints, Ints, Ints]] = []
        self.overlay(np.array([start]), np.array([self.end]), np.array([initial]))

    def overlay(self, start: Any, end: Any, cause: Any) -> None:
        """Replace the cause in intervals (arrays: start, end in ns, code); those of one call must not overlap."""
        begin = np.clip(np.asarray(start, dtype=np.int64), self.start, self.end)
        stop = np.clip(np.asarray(end, dtype=np.int64), self.start, self.end)
        code = np.broadcast_to(np.asarray(cause, dtype=np.int64), begin.shape)
        keep = stop > begin
        order = np.argsort(begin[keep], kind="stable")
        self._layers.append((begin[keep][order], stop[keep][order], code[keep][order]))

    def intervals(self) -> tuple[Ints, Ints, Ints]:
        """(Start, end, cause) of the intervals, without gaps; adjoining ones with the same cause are joined."""
        edges = np.unique(np.concatenate([part for start, end, _ in self._layers for part in (start, end)]))
        if len(edges) < 2:
            return (np.empty(0, dtype=np.int64),) * 3
        at = edges[:-1]
        cause = np.full(len(at), _NO_CAUSE, dtype=np.int64)
        for start, end, code in self._layers:
            if not len(start):
                continue
            place = np.searchsorted(start, at, side="right") - 1
            inside = (place >= 0) & (at < end[np.maximum(place, 0)])
            cause[inside] = code[place[inside]]
        first = np.flatnonzero(np.diff(cause, prepend=_NO_CAUSE - 1))
        return at[first], np.append(at[first[1:]], edges[-1]), cause[first]


def union(start: Any, end: Any) -> tuple[Ints, Ints]:
    """The union of the intervals, as (start, end) of sorted intervals that do not overlap."""
    start, end = np.asarray(start, dtype=np.int64), np.asarray(end, dtype=np.int64)
    keep = end > start
    start, end = start[keep], end[keep]
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order]) if len(end) else end
    if not len(start):
        return start, end
    first = np.flatnonzero(np.concatenate([[True], start[1:] > end[:-1]]))
    last = np.append(first[1:], len(start)) - 1
    return start[first], end[last]


def covers(start: Ints, end: Ints, times: Any) -> npt.NDArray[np.bool_]:
    """Whether each time is in one of the intervals, which must be sorted and must not overlap."""
    if not len(start):
        return np.zeros(len(times), dtype=np.bool_)
    place = np.searchsorted(start, times, side="right") - 1
    inside: npt.NDArray[np.bool_] = (place >= 0) & (times < end[np.maximum(place, 0)])
    return inside
