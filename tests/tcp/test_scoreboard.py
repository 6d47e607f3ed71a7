"""The scoreboard's kernels: row search, row starts, and the facts of retransmitted rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.compute import kernels
from multitracer.tcp.scoreboard import (
    ACK_OLDEST,
    ACK_TSECR,
    ACKED_AT,
    COPIES,
    COPY,
    ECHO_BEFORE,
    FACT_FIELDS,
    LATEST,
    NEVER,
    NEWEST_BEFORE,
    PAIR_FIELDS,
    PREVIOUS,
    RETRANSMITTED_AT,
    first_above,
    init_facts,
    last_sent,
    note_copy,
    note_first_ack,
    row_start,
)  # fmt: skip


@pytest.fixture(autouse=True)
def plain_kernels(monkeypatch):
    """Small cases run the kernels as plain Python."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert kernels.plain()


@given(st.lists(st.integers(0, 50)), st.integers(-1, 51), st.data())
def test_a_row_is_found_from_any_start(values, number, draw):
    """The search finds what a binary search of the whole finds, and does not read beyond `count`."""
    ascending = np.sort(np.array(values, dtype=np.int64))
    near = draw.draw(st.integers(0, len(values)))
    longer = np.concatenate([ascending, np.full(3, -9)])
    assert first_above(longer, len(values), number, near) == np.searchsorted(ascending, number, side="right")


def test_a_row_begins_where_its_original_does_or_where_the_row_below_ends():
    """Row starts of the first segment, of one after a gap, and of a retransmission's new bytes."""
    seq, ends = np.array([1, 301, 201]), np.array([101, 401, 501])
    notes = np.array([[0, -1], [1, -1], [2, -1]], dtype=np.int32)
    assert [row_start(k, ends, notes, seq) for k in range(3)] == [1, 301, 401]


def test_only_the_first_acknowledgement_counts():
    """A later acknowledgement does not change the facts of the first."""
    fact = np.zeros(FACT_FIELDS, dtype=np.int64)
    init_facts(fact, 10, False)
    note_first_ack(fact, 50, 7, 1, 40, 6)
    note_first_ack(fact, 60, 8, 0, 55, 7)
    assert fact[[ACKED_AT, ACK_TSECR, ACK_OLDEST, NEWEST_BEFORE, ECHO_BEFORE]].tolist() == [50, 7, 1, 40, 6]


def test_facts_begin_with_what_is_known_already():
    """Facts are initialised in used memory, for a row acknowledged before and for one that was not."""
    facts = np.full((2, FACT_FIELDS), 9, dtype=np.int64)
    init_facts(facts[0], 30, True)
    init_facts(facts[1], 30, False)
    assert facts[:, [COPIES, ACKED_AT, ACK_TSECR, LATEST]].tolist() == [[1, 30, -1, -1], [1, NEVER, 0, -1]]


def test_each_copy_refers_to_the_one_before():
    """Two retransmissions of a row have copy numbers 1 and 2, a chain back, and set the row's last send time."""
    fact, pairs = np.zeros(FACT_FIELDS, dtype=np.int64), np.zeros((2, PAIR_FIELDS), dtype=np.int64)
    time_ns, notes = np.array([10]), np.array([[0, -1]], dtype=np.int32)
    assert last_sent(0, notes, fact[None], time_ns) == 10
    init_facts(fact, 10, False)
    notes[0, 1] = 0
    for number, now in ((0, 100), (1, 200)):
        note_copy(fact, pairs[number], number, number, 0, 1, now, 1, 101)
    assert pairs[:, [COPY, PREVIOUS]].tolist() == [[1, -1], [2, 0]]
    assert fact[[COPIES, LATEST, RETRANSMITTED_AT]].tolist() == [3, 1, 200]
    assert last_sent(0, notes, fact[None], time_ns) == 200
