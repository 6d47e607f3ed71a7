"""Work divided among threads, one per processor."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from multitracer.compute.kernels import plain

WORTH_SHARING = 500_000
"""With fewer rows a second thread gains nothing."""


def concurrently(function: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
    """The function's result for each part, computed in threads; compiled kernels release the GIL."""
    if len(parts) <= 1 or plain():
        return [function(part) for part in parts]
    with ThreadPoolExecutor(min(len(parts), os.cpu_count() or 1)) as pool:
        return list(pool.map(function, parts))


def shares(rows: int, most: int | None = None) -> list[slice]:
    """`rows` rows in slices of about equal size: one per processor, at most `most`, and one if there are few rows."""
    processors = os.cpu_count() or 1
    parts = max(1, min(processors, processors if most is None else most, rows // WORTH_SHARING))
    edges = [rows * part // parts for part in range(parts + 1)]
    return [slice(start, stop) for start, stop in itertools.pairwise(edges)]


def halves(rows: Any) -> list[slice]:
    """Groups of so many rows each, in two parts of about equally many rows, where a second thread is worth it."""
    reached = np.cumsum(rows)
    if not len(reached) or len(shares(int(reached[-1]), 2)) == 1:
        return [slice(0, len(rows))]
    half = int(np.searchsorted(reached, reached[-1] / 2)) + 1
    return [slice(0, half), slice(half, len(rows))]
