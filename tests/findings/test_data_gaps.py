"""Gaps between new data, against their definition with whole arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.findings import data_gaps
from multitracer.findings.data_gaps import (
    EMPTY_NS,
    FLIGHT_NS,
    FREE_NS,
    GAP_FIELDS,
    IDLE_NS,
    LATE_NS,
    STOP,
    WEIGHT_FIELDS,
    Columns,
    Stretches,
    find_gaps,
    room_for,
    weigh,
    weigh_one,
)
from multitracer.model.schema import ACK, FIN, RST
from multitracer.tcp.packed_rows import pack_word

SEGMENT = st.tuples(
    st.integers(-3, 9), st.integers(0, 1), st.integers(0, 40), st.integers(0, 40), st.integers(0, 9),
    st.sampled_from([ACK, ACK, ACK | FIN, ACK | RST, 0]), st.integers(-1, 9),
)  # fmt: skip
"""Time since the segment before (clocks are set back), sender, sequence and acknowledgement number, payload, flags,
window.
"""
LAST_NS = 70
"""The last packet of the capture, of another connection."""


class Segments(NamedTuple):
    """Columns of segments."""

    time_ns: np.ndarray
    seq: np.ndarray
    ack: np.ndarray
    payload_bytes: np.ndarray
    flags: np.ndarray
    sender: np.ndarray
    window_bytes: np.ndarray

    @property
    def words(self) -> np.ndarray:
        """Their packed words."""
        rows = zip(self.sender.tolist(), self.flags.tolist(), self.payload_bytes.tolist(), strict=True)
        words = [pack_word.function(sender, 0, flags, 0, length) for sender, flags, length in rows]
        return np.array(words, dtype=np.int64)

    @property
    def columns(self) -> Columns:
        """Those that are read beside the words."""
        return Columns(*(getattr(self, name) for name in Columns._fields))


def segments(rows: list[tuple[int, ...]]) -> Segments:
    """The segments of these rows."""
    table = np.array(rows, dtype=np.int64).reshape(-1, 7)
    return Segments(
        np.cumsum(table[:, 0]), table[:, 2].copy(), table[:, 3].copy(), table[:, 4].astype(np.int32),
        table[:, 5].astype(np.uint16), table[:, 1].astype(np.int8), table[:, 6].astype(np.int32),
    )  # fmt: skip


def expected(seen: Segments, sender: int) -> np.ndarray:
    """The gaps by their definition."""
    own, other = seen.sender == sender, seen.sender != sender
    sent_ns, top, _ = rises(seen, own & (seen.payload_bytes > 0), seen.seq + seen.payload_bytes)
    heard_ns, una, window = rises(seen, other & (seen.flags & (ACK | RST) == ACK), seen.ack)
    if not len(sent_ns) or not len(heard_ns):
        return np.empty((0, GAP_FIELDS), dtype=np.int64)
    stop = np.append(sent_ns[1:], max(heard_ns[-1], sent_ns[-1]))
    known = np.append(heard_ns, np.iinfo(np.int64).max)
    idle = np.clip(known[np.searchsorted(una, top)], sent_ns, stop)
    last = np.searchsorted(heard_ns, stop, side="right") - 1
    free = np.clip(np.where(last >= 0, heard_ns[last], sent_ns), sent_ns, idle)
    if (seen.flags[own] & FIN).any():
        idle[-1] = free[-1] = sent_ns[-1]
    place = np.searchsorted(una, top)
    came, at = place < len(una), np.minimum(place, len(una) - 1)
    flight = np.where(came, np.maximum(heard_ns[at] - sent_ns, 0), 0)
    over = np.append(sent_ns[1:], seen.time_ns[seen.flags & RST != 0].min(initial=LAST_NS))
    open_ = came & (window[at] >= seen.payload_bytes[own].max(initial=0))
    quiet = np.where(open_, np.maximum(over - sent_ns - flight, 0), 0)
    return np.stack([sent_ns, stop, idle, free, flight, quiet], axis=1)


def rises(seen: Segments, which: np.ndarray, number: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """When a number rose above all before it, to what, and with which window."""
    highest = np.maximum.accumulate(number[which])
    new = np.flatnonzero(np.diff(highest, prepend=np.iinfo(np.int64).min // 2) > 0)
    return np.maximum.accumulate(seen.time_ns[which][new]), highest[new], seen.window_bytes[which][new]


@given(st.lists(SEGMENT, max_size=14), st.integers(0, 1))
def test_gaps_are_as_defined(rows: list[tuple[int, ...]], sender: int) -> None:
    """Whatever the order of data and acknowledgements, with a FIN or without."""
    seen, room, order = segments(rows), room_for(len(rows)), np.arange(len(rows), dtype=np.int32)
    count = find_gaps.function(order, seen.words, np.int64(sender), seen.columns, room, LAST_NS)
    assert room.gaps[:count].tolist() == expected(seen, sender).tolist()


ASKED = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 60), st.integers(0, 60)))
"""Sender, start and length of stretches of time."""
RTT_NS = 5


@given(st.lists(SEGMENT, max_size=14), ASKED)
def test_stretches_are_weighed_by_what_lies_in_gaps(rows: list[tuple[int, ...]], asked: list[tuple[int, ...]]) -> None:
    """Time counts in which the sender was free, idle for longer than it is late, or had nothing, as is seen later."""
    seen, asked = segments(rows), sorted(asked)
    sender, start, length = np.array(asked, dtype=np.int64).reshape(-1, 3).T.copy()
    begin, end = np.zeros(len(asked), dtype=np.int64), np.full(len(asked), len(rows))
    weights = np.zeros((len(asked), WEIGHT_FIELDS), dtype=np.int64)
    trip, last = (np.full(len(asked), time, dtype=np.int64) for time in (RTT_NS, LAST_NS))
    stretches = Stretches(begin, end, sender, start, start + length, trip, last)
    order = np.arange(len(rows), dtype=np.int32)
    weigh.function(order, seen.words, stretches, seen.columns, room_for(len(rows)), weights)
    for (own, first, size), weight in zip(asked, weights, strict=True):
        sent, stop, idle, free, flight, quiet = expected(seen, own).T
        busy = (stop - free)[:-1][idle[:-1] == stop[:-1]]
        late = busy.max(initial=0)
        long = stop - idle > late
        assert weight[LATE_NS] == late
        assert weight[IDLE_NS] == within(idle[long], stop[long], first, first + size)
        assert weight[FREE_NS] == within(free, stop, first, first + size)
        empty = quiet > max(late, RTT_NS)
        assert weight[EMPTY_NS] == within(sent[empty], stop[empty], first, first + size)
        near = (stop > first) & (sent < first + size) & (idle == sent)
        assert weight[FLIGHT_NS] == flight[near].max(initial=0)


def within(since: np.ndarray, until: np.ndarray, start: int, stop: int) -> int:
    """How much of the time from start to stop lies in intervals."""
    return int(np.maximum(np.minimum(until, stop) - np.maximum(since, start), 0).sum())


class Read:
    """Gaps of 10 ns, each idle at its end, that note which of them are read."""

    def __init__(self, count: int) -> None:
        begin = 10 * np.arange(count)
        nothing = np.zeros(count, dtype=np.int64)
        self.gaps = np.stack([begin, begin + 10, begin + 9, begin + 9, nothing, nothing], axis=1)
        self.read: set[int] = set()

    def __getitem__(self, place: tuple[int, int]) -> np.int64:
        self.read.add(place[0])
        return self.gaps[place]


def test_a_stretch_reads_only_gaps_of_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that many stretches of a long capture are weighed in time that grows with their gaps alone."""
    monkeypatch.setattr(data_gaps, "first_gap_after", data_gaps.first_gap_after.function)
    gaps, weight = Read(1 << 16), np.zeros(WEIGHT_FIELDS, dtype=np.int64)
    weigh_one.function(gaps, len(gaps.gaps), 300_000, 300_100, 0, weight)
    assert weight[[IDLE_NS, FREE_NS]].tolist() == [10, 10]
    inside = {gap for gap in gaps.read if 300_000 < gaps.gaps[gap, STOP] <= 300_100}
    assert len(inside) == 10
    assert len(gaps.read - inside) <= 17
