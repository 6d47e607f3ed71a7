"""The scoreboard's small kernels: seeking a row, where rows begin, and what is known of those resent."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.compute import kernels
from multitracer.tcp.scoreboard import (
    COPIES,
    COPY,
    COVER_EDGE,
    COVER_TSECR,
    COVERED,
    FACT_FIELDS,
    LATER,
    LATEST,
    NEVER,
    PAIR_FIELDS,
    PREVIOUS,
    RESENT_AT,
    begin_facts,
    begin_of,
    cover,
    first_above,
    last_sent,
    note_copy,
)  # fmt: skip


@pytest.fixture(autouse=True)
def plain_kernels(monkeypatch):
    """Small cases run the kernels as plain Python."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert kernels.plain()


@given(st.lists(st.integers(0, 50)), st.integers(-1, 51), st.data())
def test_a_row_is_found_from_wherever_it_is_sought(values, number, draw):
    """As a search of the whole finds it; what lies behind `count` is not looked at."""
    ascending = np.sort(np.array(values, dtype=np.int64))
    near = draw.draw(st.integers(0, len(values)))
    longer = np.concatenate([ascending, np.full(3, -9)])
    assert first_above(longer, len(values), number, near) == np.searchsorted(ascending, number, side="right")


def test_a_row_begins_where_its_original_does_or_where_the_row_below_ends():
    """The first of what was sent, after a gap in the capture, and a resend's new bytes."""
    seq, ends = np.array([1, 301, 201]), np.array([101, 401, 501])
    notes = np.array([[0, -1], [1, -1], [2, -1]], dtype=np.int32)
    assert [begin_of(k, ends, notes, seq) for k in range(3)] == [1, 301, 401]


def test_only_the_first_acknowledgement_counts():
    """A later one changes nothing."""
    fact = np.zeros(FACT_FIELDS, dtype=np.int64)
    begin_facts(fact, 10, False)
    cover(fact, 50, 7, 1, 40)
    cover(fact, 60, 8, 0, 55)
    assert fact[[COVERED, COVER_TSECR, COVER_EDGE, LATER]].tolist() == [50, 7, 1, 40]


def test_facts_begin_with_what_is_known_already():
    """Room that held something else; one segment acknowledged some time before, and one never."""
    facts = np.full((2, FACT_FIELDS), 9, dtype=np.int64)
    begin_facts(facts[0], 30, True)
    begin_facts(facts[1], 30, False)
    assert facts[:, [COPIES, COVERED, COVER_TSECR, LATEST]].tolist() == [[1, 30, -1, -1], [1, NEVER, 0, -1]]


def test_each_copy_knows_the_one_before():
    """Two resends of one row: their numbers, the chain back, and when the row was sent last."""
    fact, pairs = np.zeros(FACT_FIELDS, dtype=np.int64), np.zeros((2, PAIR_FIELDS), dtype=np.int64)
    time_ns, notes = np.array([10]), np.array([[0, -1]], dtype=np.int32)
    assert last_sent(0, notes, fact[None], time_ns) == 10
    begin_facts(fact, 10, False)
    notes[0, 1] = 0
    for number, now in ((0, 100), (1, 200)):
        note_copy(fact, pairs[number], number, number, 0, 1, now)
    assert pairs[:, [COPY, PREVIOUS]].tolist() == [[1, -1], [2, 0]]
    assert fact[[COPIES, LATEST, RESENT_AT]].tolist() == [3, 1, 200]
    assert last_sent(0, notes, fact[None], time_ns) == 200
