"""Scripts that work on columns: decoding, search and extents, without a report around them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np
import pytest
from browsing import Scripts
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from multitracer.report.column_encoding import EXACT, decode, encode, packed

pytestmark = pytest.mark.browser

DECODE = "async (text, meta) => Array.from(MT.decoding.decode(await MT.decoding.unpack(text), meta))"
FINITE = st.floats(allow_nan=False, width=32)
SORTED = st.lists(st.one_of(st.integers(-50, 50), FINITE), max_size=40).map(sorted)


def decoded(scripts: Scripts, values: Any, divide: int = 1) -> list[Any]:
    """A column as the page decodes it, after Python encoded it."""
    encoded = encode(values, divide)
    return scripts.call(DECODE, packed(encoded.octets), encoded.meta)


@given(arrays(np.int64, st.integers(0, 100), elements=st.integers(1 - EXACT, EXACT - 1)))
@example(np.array([1 - EXACT, EXACT - 2]))
@example(np.array([EXACT - 1, 1 - EXACT, EXACT - 2]))
def test_integers_are_decoded_exactly(scripts: Scripts, values: np.ndarray) -> None:
    """All that JavaScript's numbers hold, whether they themselves are encoded or their differences."""
    assert decoded(scripts, values) == values.tolist()


@given(arrays(np.int64, st.integers(1, 100), elements=st.integers(0, 10**15)), st.sampled_from([10**6, 10**9]))
def test_times_are_the_seconds_that_python_computes(scripts: Scripts, values: np.ndarray, divide: int) -> None:
    """Rising times, divided once after decoding, and the same as the Python decoder's."""
    rising = np.sort(values)
    assert decoded(scripts, rising, divide) == (rising / divide).tolist() == decode(encode(rising, divide)).tolist()


@given(arrays(np.float64, st.integers(0, 60)))
def test_floats_are_decoded_to_the_last_bit(scripts: Scripts, values: np.ndarray) -> None:
    """Also infinities and not-a-number."""
    np.testing.assert_array_equal(np.array(decoded(scripts, values), dtype=np.float64), values)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_texts_are_decoded(scripts: Scripts, values: list[str]) -> None:
    """Strings with any characters are decoded unchanged."""
    assert decoded(scripts, np.array(values, dtype=object)) == values


@given(SORTED, st.one_of(st.integers(-60, 60), FINITE))
def test_search_finds_what_bisect_finds(scripts: Scripts, column: list[float], value: float) -> None:
    """Both bounds, among equal values and beyond the ends."""
    found = scripts.call("(c, v) => [MT.search.lowerBound(c, v), MT.search.upperBound(c, v)]", column, value)
    assert found == [bisect_left(column, value), bisect_right(column, value)]


@given(st.lists(st.tuples(FINITE, FINITE), min_size=1, max_size=400), st.data())
def test_an_extent_is_the_minimum_and_the_maximum(scripts: Scripts, bars: list[tuple[float, float]], data: Any) -> None:
    """Over any part of a series of bars, whether it covers whole blocks of records or not."""
    start = data.draw(st.integers(0, len(bars) - 1))
    end = data.draw(st.integers(start + 1, len(bars)))
    y, top = [min(bar) for bar in bars], [max(bar) for bar in bars]
    found = scripts.call(
        "(y, top, from, to) => MT.series.extent(MT.series.create('s', 'beam', {x: y, y, top}), from, to)",
        y, top, start, end,
    )  # fmt: skip
    assert [float(value) for value in found] == [min(y[start:end]), max(top[start:end])]


def test_an_empty_part_has_no_extent(scripts: Scripts) -> None:
    """Its minimum is above its maximum."""
    found = scripts.call("() => MT.series.extent(MT.series.create('s', 'line', {x: [1], y: [1]}), 1, 1)")
    assert found == [np.inf, -np.inf]
