"""Work divided among threads, one per processor."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

import numpy as np

from multitracer.compute.kernels import plain

T = TypeVar("T")

WORTH_SHARING = 500_000
"""With fewer rows a second thread gains nothing."""
_END = object()
_allowed = {"threads": 0}
"""How many threads this process may use; 0: one per processor."""


def allow(threads: int) -> None:
    """Use so many threads at most: a process beside others that keep the other processors busy gains by one alone."""
    import pyarrow as pa

    _allowed["threads"] = threads
    pa.set_cpu_count(threads)


def most() -> int:
    """How many threads this process uses at once."""
    return _allowed["threads"] or processors()


def processors() -> int:
    """How many processors this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def concurrently(function: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
    """The function's result for each part, computed in threads; compiled kernels release the GIL."""
    threads = min(len(parts), most())
    if threads <= 1 or plain():
        return [function(part) for part in parts]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, parts))


def together(*tasks: Callable[[], Any]) -> list[Any]:
    """The result of each task; no task may need what another one makes."""
    return concurrently(lambda task: task(), tasks)


def ahead(items: Iterator[T]) -> Generator[T, None, None]:
    """The items; while one is worked on, a thread makes the next.

    The first is made by who asks for it: where there is none, no thread is started. Closing waits for the item that is
    being made.
    """
    item = next(items, _END)
    if item is _END:
        return
    if most() == 1:
        yield cast("T", item)
        yield from items
        return
    with ThreadPoolExecutor(1) as pool:
        while item is not _END:
            coming = pool.submit(next, items, _END)
            yield cast("T", item)
            item = coming.result()


def shares(rows: int, limit: int | None = None) -> list[slice]:
    """`rows` rows in slices of about equal size: one per thread, at most `limit`, and none below WORTH_SHARING."""
    parts = max(1, min(most(), most() if limit is None else limit, rows // WORTH_SHARING))
    edges = [rows * part // parts for part in range(parts + 1)]
    return [slice(start, stop) for start, stop in itertools.pairwise(edges)]


def halves(rows: Any) -> list[slice]:
    """Groups of so many rows each, in two parts of about equally many rows, where a second thread is worth it."""
    reached = np.cumsum(rows)
    if not len(reached) or len(shares(int(reached[-1]), 2)) == 1:
        return [slice(0, len(rows))]
    half = int(np.searchsorted(reached, reached[-1] / 2)) + 1
    return [slice(0, half), slice(half, len(rows))]
