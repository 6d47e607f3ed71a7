"""Questions asked of whole columns, against NumPy's answers."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from multitracer.compute import arrays as columns
from multitracer.compute import threads
from multitracer.compute.arrays import (
    bounded_difference,
    deepest_fall,
    distinct,
    mark_first,
    rows_with,
    runs,
    tally,
    with_columns,
)

WHOLE = st.integers(-(1 << 63), (1 << 63) - 1)
BITS = arrays(np.uint16, st.integers(0, 40), elements=st.integers(0, 15))


@given(BITS, st.integers(0, 15))
def test_rows_with_any_of_the_bits_are_found(values: np.ndarray, bits: int) -> None:
    """The rows that a mask of the bits selects."""
    assert rows_with(values, bits).tolist() == np.flatnonzero(values & bits).tolist()


@given(BITS, st.integers(0, 15))
def test_rows_found_in_several_threads_are_those_of_one(values: np.ndarray, bits: int) -> None:
    """The rows of each part follow those of the part before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "WORTH_SHARING", 3)
        patch.setattr(threads, "processors", lambda: 4)
        assert rows_with(values, bits).tolist() == np.flatnonzero(values & bits).tolist()


@given(BITS)
def test_runs_cover_the_column_and_each_holds_one_value(values: np.ndarray) -> None:
    """Together they are all rows; neighbouring runs have different values."""
    found = runs(values)
    assert [row for start, stop in found for row in range(start, stop)] == list(range(len(values)))
    kinds = [set(values[start:stop].tolist()) for start, stop in found]
    assert all(len(kind) == 1 for kind in kinds)
    assert all(one != other for one, other in itertools.pairwise(kinds))


@given(arrays(np.int64, st.integers(0, 40)) | arrays(np.int64, st.integers(0, 40), elements=st.integers(-100, 100)))
def test_the_deepest_fall_is_the_largest_decrease(values: np.ndarray) -> None:
    """The largest decrease between neighbours, 0 if there is none, and 2^62 where it is larger."""
    exact = [before - after for before, after in itertools.pairwise(values.tolist())]
    assert deepest_fall(values) == min(max([0, *exact]), 1 << 62)


@given(WHOLE, WHOLE)
@example((1 << 62) - 2, -1)
@example(-1, (1 << 62) - 2)
def test_differences_are_exact_or_the_bound(later: int, earlier: int) -> None:
    """Never wrapped, however far two damaged times are apart."""
    found = bounded_difference(np.int64(later), np.int64(earlier))
    assert found == max(-(1 << 62), min(1 << 62, later - earlier))


@given(arrays(np.int8, st.integers(0, 40), elements=st.integers(0, 5)))
def test_a_tally_counts_each_code(codes: np.ndarray) -> None:
    """The counts are those of NumPy's bincount."""
    counts = np.zeros(6, dtype=np.int64)
    tally(codes, counts)
    assert counts.tolist() == np.bincount(codes, minlength=6).tolist()


@given(arrays(np.int32, st.integers(0, 40), elements=st.integers(0, 5)), st.integers(0, 3))
def test_the_first_rows_of_each_code_are_marked(codes: np.ndarray, most: int) -> None:
    """A row is marked if fewer than `most` rows before it have its code."""
    marked = np.zeros(len(codes), dtype=np.bool_)
    mark_first(codes, most, np.zeros(6, dtype=np.int64), marked)
    assert marked.tolist() == [codes[:row].tolist().count(code) < most for row, code in enumerate(codes.tolist())]


@pytest.mark.parametrize("told_apart", [True, False], ids=["by their sums", "by all columns"])
@given(arrays(np.int64, st.tuples(st.integers(0, 20), st.integers(1, 4)), elements=st.integers(-2, 2)))
def test_equal_rows_are_found(told_apart: bool, table: np.ndarray) -> None:
    """Each row equals the distinct row that it refers to, and there are as many as different rows."""
    with pytest.MonkeyPatch.context() as patch:
        if not told_apart:
            patch.setattr(columns, "_SPREAD", np.ones(16, dtype=np.uint64))
        first, which = distinct(table.T)
    assert (table[first[which]] == table).all()
    assert len(first) == len({tuple(row) for row in table.tolist()})


def test_adding_columns_copies_nothing_and_keeps_the_original() -> None:
    """No data is copied, neither of new columns nor of the others, whatever the table's index."""
    table = pd.DataFrame({"a": [1, 2, 3], "c": [0, 0, 0]}, index=[7, 8, 9])
    values = np.array([4, 5, 6])
    made = with_columns(table, b=values, c=values)
    assert np.shares_memory(made["b"].to_numpy(), values)
    assert np.shares_memory(made["a"].to_numpy(), table["a"].to_numpy())
    assert (made["b"].tolist(), made["c"].tolist()) == ([4, 5, 6], [4, 5, 6])
    assert (list(table), table["c"].tolist()) == (["a", "c"], [0, 0, 0])
