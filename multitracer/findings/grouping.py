"""Events close together in time, put together so that they make one finding."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


def groups_within(times_ns: Ints, span_ns: float) -> Iterator[slice]:
    """Slices of events that lie within `span_ns` of the first of them; `times_ns` must be in ascending order."""
    start = 0
    while start < len(times_ns):
        stop = int(np.searchsorted(times_ns, times_ns[start] + span_ns, side="right"))
        yield slice(start, stop)
        start = stop


def groups_without_gap(times_ns: Ints, gap_ns: float, over_ns: Ints | None = None) -> Iterator[slice]:
    """Slices of events each at most `gap_ns` after the one before, or after it was over; times in ascending order."""
    if not len(times_ns):
        return
    over = times_ns if over_ns is None else over_ns
    cuts = np.flatnonzero(times_ns[1:] - over[:-1] > gap_ns) + 1
    edges = [0, *cuts.tolist(), len(times_ns)]
    for start, stop in itertools.pairwise(edges):
        yield slice(start, stop)
