"""Events close together in time, put together so that they make one finding."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt


def groups_within(times_ns: npt.NDArray[np.int64], span_ns: float) -> Iterator[slice]:
    """Slices of events that lie within `span_ns` of the first of them; `times_ns` must be in ascending order."""
    start = 0
    while start < len(times_ns):
        stop = int(np.searchsorted(times_ns, times_ns[start] + span_ns, side="right"))
        yield slice(start, stop)
        start = stop


def groups_without_gap(times_ns: npt.NDArray[np.int64], gap_ns: float) -> Iterator[slice]:
    """Slices of events each at most `gap_ns` after the one before; `times_ns` must be in ascending order."""
    if not len(times_ns):
        return
    cuts = np.flatnonzero(np.diff(times_ns) > gap_ns) + 1
    edges = [0, *cuts.tolist(), len(times_ns)]
    for start, stop in itertools.pairwise(edges):
        yield slice(start, stop)
