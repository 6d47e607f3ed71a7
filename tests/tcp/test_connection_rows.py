"""Rows of the segments table by connection and point."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.compute import threads
from multitracer.model.schema import MARKS
from multitracer.tcp.connection_rows import Groups
from multitracer.tcp.packed_rows import RESENT

ROWS = st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 1), st.booleans()), max_size=40)


def table(rows: list[tuple[int, int, bool]]) -> pd.DataFrame:
    """Segments of (connection, point, captured twice)."""
    connection, point, captured_twice = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return pd.DataFrame(
        {
            "connection": connection.astype(np.int32), "point": point.astype(np.int16),
            "marks": (captured_twice * MARKS["captured_twice"]).astype(np.uint16),
        }
    )  # fmt: skip


@pytest.mark.parametrize("processors", [1, 3])
@given(ROWS)
def test_each_group_has_its_rows_in_order(processors: int, rows: list[tuple[int, int, bool]]) -> None:
    """Each group has its rows in order, without those captured twice, for one thread and for several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "WORTH_SHARING", 1)
        patch.setattr(threads, "processors", lambda: processors)
        groups = Groups(table(rows), 4)
        for connection in range(4):
            for point in range(groups.points):
                wanted = [at for at, row in enumerate(rows) if row == (connection, point, False)]
                assert groups.rows(connection, point).tolist() == wanted


def test_ranges_are_those_of_the_rows() -> None:
    """Where the rows of several connections at points begin and end is told at once; an unknown point has none."""
    groups = Groups(table([(1, 0, False), (0, 1, False), (1, 0, False), (0, 0, True)]), 2)
    asked = [(1, 0), (0, 1), (0, 0), (1, -1), (1, 7)]
    order, begin, end = groups.ranges(*np.array(asked).T)
    found = [order[first:stop].tolist() for first, stop in zip(begin, end, strict=True)]
    assert found == [groups.rows(*one).tolist() for one in asked] == [[0, 2], [1], [], [], []]


def test_more_marks_change_the_words_alone() -> None:
    """Groups made before segments were marked have the same rows afterwards, and words that say what was marked."""
    rows = [(1, 0, False), (0, 0, False)]
    columns = dict.fromkeys(("sender", "flags", "options", "payload_bytes"), np.zeros(2, dtype=np.int32))
    segments = table(rows).assign(**columns)
    groups = Groups(segments, 2)
    order, before = groups.order, groups.words.tolist()
    marks = np.array([MARKS["retransmission"], 0], dtype=np.uint16)
    marked = groups.marked(segments.assign(marks=marks))
    assert marked.order is order
    assert (before, marked.words.tolist()) == ([0, 0], [0, 1 << RESENT])
    assert groups.words.tolist() == before


def test_counting_takes_no_more_memory_than_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """With many small groups the rows are counted in few shares, since each share has a count per group."""
    monkeypatch.setattr(threads, "WORTH_SHARING", 1)
    monkeypatch.setattr(threads, "processors", lambda: 64)
    many, few = (Groups(table([(0, 0, False)] * 40), connections) for connections in (20, 1))
    assert (len(many.shares), len(few.shares)) == (2, 40)
