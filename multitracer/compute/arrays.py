"""Operations on whole columns, each in one pass and without temporary arrays.

At millions of rows, allocating and clearing a temporary array takes longer than the operation itself.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.compute.kernels import inlined, kernel
from multitracer.compute.threads import concurrently, shares

if TYPE_CHECKING:
    import pandas as pd

_SPREAD = np.cumprod(np.full(16, 0x9E3779B97F4A7C15, dtype=np.uint64))
"""A factor for each column of a table, which has at most 16; products and sums are taken modulo 2**64."""


class Columns(dict[str, Any]):
    """A table's columns as arrays, each made when `columns[name]` first asks for it: one of texts takes long.

    Their cells are read many times faster than the table's.
    """

    def __init__(self, table: pd.DataFrame) -> None:
        super().__init__()
        self._table = table

    def __missing__(self, name: str) -> Any:
        self[name] = made = self._table[name].to_numpy()
        return made


def rows_with(values: Any, bits: int) -> Any:
    """The indices of the values that have any of the `bits` set, int64."""
    rows = np.empty(len(values), dtype=np.int64)  # pages that are never written take no memory
    parts = shares(len(values))
    counts = concurrently(lambda part: find_with(values[part], bits, part.start, rows[part]), parts)
    return np.concatenate([rows[part][:count] for part, count in zip(parts, counts, strict=True)])


def runs(values: Any) -> list[tuple[int, int]]:
    """(start, stop) of every run of equal values."""
    starts = np.empty(count_changes(values) + 1, dtype=np.int64)
    find_changes(values, starts)
    edges = [*starts.tolist(), len(values)]
    return list(itertools.pairwise(edges)) if len(values) else []


def rows_of_each(numbers: Any, count: int) -> list[Any]:
    """The rows of each number 0..count-1 in `numbers`, int64 and ascending; sorted once, however many numbers."""
    if count == 1:
        return [np.arange(len(numbers), dtype=np.int64)]
    counts = np.zeros(count, dtype=np.int64)
    tally(numbers, counts)
    stop = np.cumsum(counts)
    rows = np.empty(len(numbers), dtype=np.int64)
    put_in_groups(numbers, stop - counts, rows)
    return [rows[end - size : end] for end, size in zip(stop.tolist(), counts.tolist(), strict=True)]


def distinct(columns: Any) -> tuple[Any, Any]:
    """The distinct rows of columns of integers: where each occurs first, and for each row which of them it equals.

    Rows are compared by a weighted sum of their columns; column by column only if different rows have equal sums.
    """
    sums = np.zeros(len(columns[0]), dtype=np.uint64)
    for column, factor in zip(columns, _SPREAD[: len(columns)], strict=True):
        sums += column.astype(np.uint64) * factor
    _, first, which = np.unique(sums, return_index=True, return_inverse=True)
    alike = first[which]
    if any((column[alike] != column).any() for column in columns):
        _, first, which = np.unique(np.column_stack(columns), axis=0, return_index=True, return_inverse=True)
    return first, which


def with_columns(table: pd.DataFrame, **columns: Any) -> pd.DataFrame:
    """A table with these columns added or replaced; no data is copied, and `table` is not changed."""
    import pandas as pd

    made = table.copy(deep=False)
    for name, values in columns.items():
        made[name] = pd.Series(values, index=table.index, copy=False)
    return made


@inlined
def bounded_difference(later: Any, earlier: Any) -> Any:
    """`later - earlier`, within ±2^62: of times that damage put ages apart, int64 need not hold the difference."""
    half = (later >> 1) - (earlier >> 1)
    if half > 1 << 61 or half < -(1 << 61):
        return np.int64(1 << 62) if half > 0 else np.int64(-(1 << 62))
    return max(np.int64(-(1 << 62)), min(np.int64(1 << 62), later - earlier))


@kernel
def deepest_fall(values: Any) -> int:
    """The largest decrease from one value to the next, at most 2^62; 0 if they never decrease."""
    deepest: Any = np.int64(0)
    for row in range(1, len(values)):
        deepest = max(deepest, bounded_difference(values[row - 1], values[row]))
    return int(deepest)


@kernel
def tally(codes: Any, counts: Any) -> None:
    """Count how often each code occurs in `codes`; `counts` has an element for each code."""
    for code in codes:
        counts[code] += 1


@kernel
def mark_first(codes: Any, most: int, counts: Any, marked: Any) -> None:
    """Set `marked` for the first `most` elements of each code; `counts` has a 0 for each code, and is changed."""
    left = most * len(counts)
    for row in range(len(codes)):
        if left == 0:
            break
        if counts[codes[row]] < most:
            counts[codes[row]] += 1
            left -= 1
            marked[row] = True


@kernel
def find_with(values: Any, bits: int, first: int, rows: Any) -> int:
    """Fill `rows` with the indices, from `first` on, of the values that have any of the `bits` set; their number."""
    count = 0
    for row in range(len(values)):
        if values[row] & bits:
            rows[count] = first + row
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
    """Fill `starts` with 0 and the indices of the values that differ from the one before them."""
    starts[0] = 0
    count = 1
    for row in range(1, len(values)):
        if values[row] != values[row - 1]:
            starts[count] = row
            count += 1


@kernel
def put_in_groups(codes: Any, place: Any, rows: Any) -> None:
    """Fill `rows` with the indices of each code's elements; `place` has where each code's begin, and is changed."""
    for row in range(len(codes)):
        rows[place[codes[row]]] = row
        place[codes[row]] += 1
