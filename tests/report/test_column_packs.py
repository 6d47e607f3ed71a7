"""Packs of columns in a page: all that was put in comes out, and what several columns share is there once."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from multitracer.report.column_encoding import unpacked
from multitracer.report.column_packs import LONG, NANO, Values, pack_all, unpack

TIMES = arrays(np.int64, st.integers(0, 60), elements=st.integers(-(10**15), 10**15)).map(np.sort)


def times(series: str, values: Any, group: str = "0") -> Values:
    """A column of times of a series."""
    return Values(group, series, "line", "x", values, NANO)


@given(st.lists(TIMES, max_size=5))
def test_times_come_out_as_they_were_put_in(every: list[np.ndarray]) -> None:
    """To the last bit, of however many series, with or without times in common."""
    packs = pack_all([times(str(place), one) for place, one in enumerate(every)])
    found = {name: values for pack in packs for (name, _), values in unpack(pack).items()}
    assert {name: values.tolist() for name, values in found.items()} == {
        str(place): (one / NANO).tolist() for place, one in enumerate(every)
    }


def test_short_columns_of_a_group_are_one_pack() -> None:
    """A long one is a pack by itself, and so is each other group's."""
    short, long = np.arange(50), np.arange(LONG)
    given = (("0", "a", short), ("1", "a", short), ("0", "b", long))
    packs = pack_all([Values(group, series, "line", "y", values) for group, series, values in given])
    assert [(pack.group, list(unpack(pack))) for pack in packs] == [
        ("0", [("b", "y")]), ("0", [("a", "y")]), ("1", [("a", "y")]),
    ]  # fmt: skip


def test_times_that_series_share_are_written_once() -> None:
    """Places among the times of a pack take a fraction of what the times take."""
    chance = np.random.default_rng(1)
    all_times = np.cumsum(chance.integers(1, 10**9, 2000))
    parts = [all_times[chance.random(2000) < 0.8] for _ in range(4)]
    (one,) = pack_all([times("all", all_times)])
    (all_five,) = pack_all([times("all", all_times), *(times(str(place), part) for place, part in enumerate(parts))])
    assert len(all_five.text) < 1.5 * len(one.text)


def test_the_same_values_of_a_group_are_written_once() -> None:
    """Another column names the first that has them; of another group, or with other values, each has its own."""
    squares, cubes = np.arange(3, 9000, 7) ** 2, np.arange(3, 9000, 7) ** 3
    packs = pack_all([
        times("acks", squares), times("window", squares.copy()), times("acks", squares, "1"), times("rtt", cubes),
        times("rto", squares[:2]), times("srtt", squares[:2]),
    ])  # fmt: skip
    own = {(pack.group, series) for pack in packs for (series, _), values in unpack(pack).items() if values is not None}
    assert own == {("0", "acks"), ("1", "acks"), ("0", "rtt"), ("0", "rto"), ("0", "srtt")}
    assert '"acks x"' in unpacked(packs[0].text).decode("latin-1")


def test_a_column_that_is_divided_otherwise_is_not_the_same() -> None:
    """The same integers as times and as numbers are two columns."""
    values = np.arange(1000) ** 2
    (pack,) = pack_all([times("a", values), Values("0", "a", "line", "y", values)])
    assert unpack(pack)["a", "y"].tolist() == values.tolist()
