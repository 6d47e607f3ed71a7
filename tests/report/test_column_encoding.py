"""Columns in a page: what is decoded is what was encoded, to the last bit."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from multitracer.report.column_encoding import EXACT, decode, encode, packed, unpacked


@given(arrays(np.int64, st.integers(0, 200), elements=st.integers(1 - EXACT, EXACT - 1)))
def test_integers_are_decoded_unchanged(values: np.ndarray) -> None:
    """Any integer that a browser's number can hold, ascending or not."""
    assert decode(encode(values)).tolist() == values.tolist()


@given(arrays(np.int64, st.integers(1, 200), elements=st.integers(0, 10**15)))
def test_times_are_seconds_as_python_has_them(values: np.ndarray) -> None:
    """Integer nanoseconds are divided once, after decoding."""
    assert decode(encode(np.sort(values), divide=10**9)).tolist() == (np.sort(values) / 10**9).tolist()


@given(arrays(np.float64, st.integers(0, 100)))
@example(np.array([5e-324]))
def test_floats_are_decoded_unchanged(values: np.ndarray) -> None:
    """Also infinities and not-a-number; a negative zero may lose its sign."""
    np.testing.assert_array_equal(decode(encode(values)), values)


@given(st.lists(st.text()))
def test_strings_are_decoded_unchanged(values: list[str]) -> None:
    """Strings with any characters."""
    assert decode(encode(np.array(values, dtype=object))) == values


@given(arrays(np.int64, st.integers(1, 50)), st.sampled_from([1, 10**6, 10**9]))
def test_integers_that_a_browser_would_round_are_what_python_divides(values: np.ndarray, divide: int) -> None:
    """Times that a damaged record puts ages away are in the page as Python has them in seconds."""
    assert decode(encode(values, divide)).tolist() == (values / divide).tolist()


def test_equal_columns_have_equal_octets() -> None:
    """A report of the same analysis is the same file."""
    assert encode(np.arange(1000)) == encode(np.arange(1000))


def test_a_rising_column_takes_little_room() -> None:
    """A million times in microseconds, a millisecond apart or so: less than three octets each."""
    steps = np.random.default_rng(1).integers(500_000, 1_500_000, 1_000_000) // 1000 * 1000
    assert len(packed(encode(np.cumsum(steps), divide=10**9).octets)) < 3 * 1_000_000


@given(st.binary(max_size=300))
def test_octets_are_unpacked_unchanged(octets: bytes) -> None:
    """Any octets, through compression and text."""
    assert unpacked(packed(octets)) == octets
