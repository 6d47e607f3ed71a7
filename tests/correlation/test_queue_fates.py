"""What a queue before the link dropped, and what a reset flushed."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from multitracer.correlation.queue_fates import (
    DROPPED,
    FLUSHED,
    LIKELY_FLUSHED,
    NOT_OVERTAKEN,
    ON_AIR,
    UNKNOWN,
    queue_fates,
)


def fates(packets: list[tuple[int, int]], resets: list[tuple[int, int]]) -> list[int]:
    """The fates of packets (sent, first frame; -1 never) of one link."""
    sent, first = (np.array(column, dtype=np.int64) for column in zip(*packets, strict=True))
    carried = np.where(first >= 0, 9, 0)
    columns = {"link": 0, "sent_ns": sent, "first_frame_ns": first, "carried_bytes": carried, "packet_bytes": 500}
    return queue_fates(pd.DataFrame(columns), lambda _: resets).fate.tolist()


def test_a_packet_that_a_later_one_overtook_was_dropped() -> None:
    """The queue is first in, first out: the link carried what was sent after it."""
    assert fates([(0, 10), (1, -1), (2, 20)], []) == [ON_AIR, DROPPED, ON_AIR]


def test_without_anything_later_nothing_is_known() -> None:
    """The log may end before the packet's turn."""
    columns = {"link": [0, 0], "sent_ns": [0, 1], "first_frame_ns": [10, -1], "carried_bytes": [9, 0]}
    found = queue_fates(pd.DataFrame({**columns, "packet_bytes": 500}), lambda _: [])
    assert found.fate.tolist() == [ON_AIR, UNKNOWN]
    assert found.overtaken_by[1] == NOT_OVERTAKEN


def test_a_reset_flushed_what_waited_where_the_queue_never_dropped() -> None:
    """A reset lies between; one waited when the queue took a packet elsewhere, two never did, nor was one dropped."""
    found = fates([(0, 10), (1, 15), (20, 30), (21, -1), (22, -1), (60, 70)], [(40, 50)])
    assert found == [ON_AIR, ON_AIR, ON_AIR, FLUSHED, LIKELY_FLUSHED, ON_AIR]


def test_the_queue_s_limit_tells_what_was_dropped_before_a_reset() -> None:
    """A queue that dropped what met two others drops it again; what met one was taken, and flushed."""
    before = [(0, 10), (1, 20), (2, 30), (3, -1), (25, 40)]  # 0 on the air at 10, two waiting at 3: dropped
    stalled = [(100, 110), (111, 200), (112, -1), (113, -1), (114, -1)]
    resets = [(250, 260)]
    after = [(300, 310)]
    found = fates(before + stalled + after, resets)
    assert found[3] == DROPPED
    assert found[7:10] == [FLUSHED, FLUSHED, DROPPED]


def test_a_queue_that_may_be_limited_in_octets_proves_nothing_by_its_packets() -> None:
    """It held five small packets; that it took two large ones is not certain."""
    small, large = [(at, 20 + at) for at in range(5)], [(30, -1), (31, -1)]
    sent, first = (np.array(column) for column in zip(*small, *large, (90, 95), strict=True))
    sizes = np.array([40] * 5 + [1500, 1500, 40])
    table = pd.DataFrame(
        {"link": 0, "sent_ns": sent, "first_frame_ns": first, "carried_bytes": np.where(first >= 0, 9, 0),
         "packet_bytes": sizes}
    )  # fmt: skip
    assert queue_fates(table, lambda _: [(50, 60)]).fate.tolist()[5:7] == [LIKELY_FLUSHED, LIKELY_FLUSHED]


@given(
    limit=st.integers(1, 6),
    gaps=st.lists(st.integers(1, 30), min_size=20, max_size=80),
    reset_at=st.integers(100, 900),
)
def test_the_fates_of_a_drop_tail_queue_are_never_told_wrongly(limit: int, gaps: list[int], reset_at: int) -> None:
    """A queue of any limit, served every 20, flushed by a reset: what is told is what happened, or UNKNOWN."""
    resets = [(reset_at, reset_at + 50)]
    waiting: list[int] = []  # when each leaves
    packets, truth, now = [], [], 0
    free = 0
    for gap in gaps:
        now += gap
        waiting = [leave for leave in waiting if leave > now]
        if len(waiting) >= limit:
            packets.append((now, -1))
            truth.append(DROPPED)
            continue
        leave = max(now, free) + 20
        if reset_at <= leave and now <= resets[0][1]:
            leave, fate = resets[0][1], FLUSHED
            packets.append((now, -1))
        else:
            fate, free = ON_AIR, leave
            packets.append((now, leave))
        waiting.append(leave)
        truth.append(fate)
    found = fates(packets, resets)
    for told, happened in zip(found, truth, strict=True):
        assert told in (happened, LIKELY_FLUSHED, UNKNOWN)
