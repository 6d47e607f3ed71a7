"""Captures that lack octets which were acknowledged."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from two_ends import START
from two_ends import segments as segments_table

from multitracer.compute import kernels
from multitracer.vantage.completeness import lost_records

SENDER, RECEIVER = 0, 1


@pytest.fixture(autouse=True)
def plain_kernels(monkeypatch):
    """Small cases run the kernels as plain Python."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert kernels.plain()


def capture(rows: list[tuple[int, int, int, int]]) -> pd.DataFrame:
    """Segments as (point, sender, first octet, octets); those without octets acknowledge all before `first`."""
    return segments_table(
        {
            "time_ns": [START + n for n in range(len(rows))], "point": [one[0] for one in rows],
            "sender": [one[1] for one in rows], "seq": [one[2] if one[3] else 1 for one in rows],
            "payload_bytes": [one[3] for one in rows], "ack": [1 if one[3] else one[2] for one in rows],
        }
    )  # fmt: skip


def data(first: int, octets: int = 100, point: int = SENDER) -> tuple[int, int, int, int]:
    """A segment of the sender."""
    return point, 0, first, octets


def acknowledge(number: int, point: int = SENDER) -> tuple[int, int, int, int]:
    """An acknowledgement of all before `number`."""
    return point, 1, number, 0


def test_a_capture_of_all_segments_is_complete():
    """In any order."""
    rows = [data(1), data(201), data(101), acknowledge(301)]
    assert lost_records(capture(rows), 1, 1) == [0]


def test_octets_that_were_acknowledged_and_are_not_there_were_lost_by_the_capture():
    """Two stretches; the segment that is missing between them is not one."""
    rows = [data(1), data(201), data(301), data(501), acknowledge(601)]
    assert lost_records(capture(rows), 1, 1) == [2]


def test_octets_that_were_not_acknowledged_may_never_have_come():
    """At the receiver a lost segment is missing until it comes again, which it may not."""
    rows = [data(1, point=RECEIVER), data(201, point=RECEIVER), acknowledge(101, RECEIVER)]
    assert lost_records(capture(rows), 1, 2) == [0, 0]


def test_each_capture_is_judged_by_itself():
    """The sender's capture lacks what the receiver's holds, and the acknowledgement is in neither's place."""
    whole = [data(first, point=RECEIVER) for first in (1, 101, 201)]
    rows = [data(1), data(201), *whole, acknowledge(301, RECEIVER)]
    assert lost_records(capture(rows), 1, 2) == [1, 0]


def test_what_lies_before_a_capture_and_after_it_is_no_loss():
    """It began with octet 501 and ended before the acknowledgement of more."""
    assert lost_records(capture([data(501), data(601), acknowledge(5001)]), 1, 1) == [0]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=20))
def test_gaps_are_found_whatever_order_the_rest_comes_in(order: list[int]) -> None:
    """After the first segment: octets below the highest that no segment holds, all of them acknowledged."""
    rows = [data(1), *(data(1 + 100 * n) for n in order)]
    held = {0, *order}
    has_gap = any(n not in held for n in range(max(order)))
    assert (lost_records(capture([*rows, acknowledge(1001)]), 1, 1)[0] > 0) == has_gap


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 9), st.integers(1, 3)), max_size=40),
    st.lists(st.integers(1, 13), min_size=3, max_size=3),
)
def test_each_connection_at_each_point_is_counted_for_itself(
    sent: list[tuple[int, int, int, int]], acknowledged: list[int]
) -> None:
    """A gap counts if it was acknowledged to its end, and some octet of it is in no segment of its stream."""
    rows = [data(first, octets, point) for _, point, first, octets in sent]
    table = capture([*rows, *(acknowledge(number) for number in acknowledged)])
    table["connection"] = [*(connection for connection, *_ in sent), 0, 1, 2]
    held: dict[tuple[int, int], set[int]] = {}
    gaps: list[tuple[int, int, range]] = []
    for connection, point, first, octets in sent:
        known = held.setdefault((connection, point), set())
        if known and first > max(known) + 1:
            gaps.append((connection, point, range(max(known) + 1, first)))
        known.update(range(first, first + octets))
    lost = [0, 0]
    for connection, point, gap in gaps:
        lost[point] += gap.stop <= acknowledged[connection] and not set(gap) <= held[connection, point]
    assert lost_records(table, 3, 2) == lost
