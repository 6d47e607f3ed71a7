"""Questions asked of whole columns, answered in one pass and without columns in between.

At millions of rows an array that is made only to be thrown away costs more than the question:
its memory must be found, and cleared, before the first element is written.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.compute.kernels import kernel

if TYPE_CHECKING:
    import pandas as pd

_SPREAD = np.cumprod(np.full(16, 0x9E3779B97F4A7C15, dtype=np.uint64))
"""A factor for each column, of at most so many; products and sums are taken modulo 2**64."""


def rows_with(values: Any, bits: int) -> Any:
    """The rows whose value has any of the `bits`, int64."""
    rows = np.empty(len(values), dtype=np.int64)  # room that is not written to costs nothing
    return rows[: find_with(values, bits, rows)].copy()


def runs(values: Any) -> list[tuple[int, int]]:
    """(start, stop) of every run of equal values."""
    starts = np.empty(count_changes(values) + 1, dtype=np.int64)
    find_changes(values, starts)
    edges = [*starts.tolist(), len(values)]
    return list(itertools.pairwise(edges)) if len(values) else []


def distinct(table: Any) -> tuple[Any, Any]:
    """The first of each kind of row of a table of int64, and for each row the place of its like among those.

    Rows are compared by a sum of theirs, and by all of their columns only where that does not tell them apart.
    """
    sums = (table.astype(np.uint64) * _SPREAD[: table.shape[1]]).sum(axis=1)
    _, first, which = np.unique(sums, return_index=True, return_inverse=True)
    if (table[first[which]] != table).any():
        _, first, which = np.unique(table, axis=0, return_index=True, return_inverse=True)
    return first, which


def with_columns(table: pd.DataFrame, **columns: Any) -> pd.DataFrame:
    """The table with these columns new or in place of its own; nothing is copied, and `table` stays as it was."""
    import pandas as pd

    made = table.copy(deep=False)
    for name, values in columns.items():
        made[name] = pd.Series(values, index=table.index, copy=False)
    return made


@kernel
def deepest_fall(values: Any) -> int:
    """The most that any value is below the one before it; 0 where they never fall."""
    deepest: Any = np.int64(0)
    for row in range(1, len(values)):
        deepest = max(deepest, values[row - 1] - values[row])
    return int(deepest)


@kernel
def tally(codes: Any, counts: Any) -> None:
    """Count how often each code stands in `codes`; `counts` has an element for each."""
    for code in codes:
        counts[code] += 1


@kernel
def find_with(values: Any, bits: int, rows: Any) -> int:
    """Fill `rows` with the places of the values that have any of the `bits`; how many there are."""
    count = 0
    for row in range(len(values)):
        if values[row] & bits:
            rows[count] = row
            count += 1
    return count


@kernel
def count_changes(values: Any) -> int:
    """How many values differ from the one before them."""
    count = 0
    for row in range(1, len(values)):
        count += 1 if values[row] != values[row - 1] else 0
    return count


@kernel
def find_changes(values: Any, starts: Any) -> None:
    """Fill `starts` with 0 and the places of the values that differ from the one before them."""
    starts[0] = 0
    count = 1
    for row in range(1, len(values)):
        if values[row] != values[row - 1]:
            starts[count] = row
            count += 1
