"""Times before 1970 are moved on for the analysis, and back for its results."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from multitracer.analysis.early_times import as_recorded, without_negative_times
from multitracer.model.errors import UsageError
from multitracer.model.trace import Trace

INT64 = np.iinfo(np.int64)
DAY_NS = 86_400 * 10**9
TIMES = st.lists(st.integers(INT64.min, INT64.max), min_size=1, max_size=5)


def trace(times: list[int]) -> Trace:
    """A trace of events at these times."""
    return Trace([], {"link_events": pd.DataFrame({"time_ns": np.array(times, dtype=np.int64)})})


@given(TIMES)
@example([INT64.min])
@example([INT64.min + 1, 0])
def test_times_are_moved_by_whole_days_or_refused(times: list[int]) -> None:
    """None is negative then, and never is one wrapped: where int64 does not hold the later ones, that is said."""
    try:
        moved = without_negative_times(trace(times))
    except UsageError:
        assert max(*times, 0) - min(times) > INT64.max - DAY_NS
        return
    found = moved.tables["link_events"]["time_ns"].to_numpy()
    assert found.tolist() == [time + moved.shift_ns for time in times]
    assert found.min() >= 0
    back = as_recorded(moved.tables, moved.shift_ns)["link_events"]["time_ns"]
    assert back.tolist() == times


@pytest.mark.parametrize("first", [-1, -86_400 * 10**9, -(10**18)])
def test_times_of_the_last_century_are_moved(first: int) -> None:
    """As long as all fit."""
    assert without_negative_times(trace([first, 0])).shift_ns >= -first
