"""What a queue before the link dropped, and what a reset flushed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.correlation.queue_fates import (
    CARRIED_ELSEWHERE,
    DROPPED,
    FLUSHED,
    LIKELY_FLUSHED,
    NOT_OVERTAKEN,
    ON_AIR,
    UNKNOWN,
    queue_fates,
)
from multitracer.link.coverage import Coverage

FOREVER = np.iinfo(np.int64).max
WHOLE = Coverage(-FOREVER, FOREVER, np.empty(0, np.int64), np.empty(0, np.int64))
"""Of a log that has every frame."""
PLAIN = {"link": 0, "packet_bytes": 500, "segment": -1}


NEVER_PADDED = np.empty(0, np.int64)


def fates(
    packets: list[tuple[int, int]],
    resets: list[tuple[int, int]],
    logged: Coverage = WHOLE,
    padded: Sequence[int] = (),
) -> list[int]:
    """The fates of packets (sent, first frame; -1 never) of one link, which carried another when the log began."""
    sent, first = (np.array(column, dtype=np.int64) for column in zip((0, 0), *packets, strict=True))
    carried = np.where(first >= 0, 9, 0)
    columns = {"sent_ns": sent, "first_frame_ns": first, "carried_bytes": carried}
    told = np.array(padded, dtype=np.int64)
    table = pd.DataFrame({**columns, **PLAIN})
    return queue_fates(table, lambda _: resets, lambda _: logged, lambda _: told).fate.tolist()[1:]


def test_a_packet_that_a_later_one_overtook_was_dropped() -> None:
    """The queue is first in, first out: the link carried what was sent after it."""
    assert fates([(0, 10), (1, -1), (2, 20)], []) == [ON_AIR, DROPPED, ON_AIR]


@pytest.mark.parametrize(
    ("start", "stop", "fate"), [(2, 4, UNKNOWN), (19, 21, UNKNOWN), (20, 30, DROPPED), (-5, 1, DROPPED)]
)
def test_a_packet_was_dropped_only_where_the_log_has_all_frames(start: int, stop: int, fate: int) -> None:
    """From when it was sent until the frame that overtook it: among those missing may be its own."""
    log = Coverage(-FOREVER, FOREVER, np.array([start]), np.array([stop]))
    assert fates([(0, 10), (1, -1), (2, 20)], [], log)[1] == fate


def test_a_packet_that_was_sent_before_the_log_began_may_have_been_carried() -> None:
    """Nothing is known of what was on the air then."""
    log = WHOLE._replace(begin_ns=5)
    assert fates([(0, 10), (1, -1), (2, 20), (6, -1), (7, 30)], [], log)[1:4] == [UNKNOWN, ON_AIR, DROPPED]


def test_how_many_wait_is_not_known_after_a_hole() -> None:
    """Until the link carries what was sent after it: then all that was sent before has left the queue."""
    packets = [(0, 10), (1, 15), (20, 30), (21, -1), (60, 70)]
    for start, stop, fate in ((17, 19, UNKNOWN), (12, 13, UNKNOWN), (5, 6, UNKNOWN), (80, 90, FLUSHED)):
        log = Coverage(-FOREVER, FOREVER, np.array([start]), np.array([stop]))
        assert fates(packets, [(40, 50)], log)[3] == fate


def test_what_one_of_two_links_carried_the_other_did_not_drop() -> None:
    """Where they are side by side it never went there."""
    columns = {"link": [0, 0, 0, 1], "sent_ns": [0, 1, 2, 1], "first_frame_ns": [10, -1, 20, 12]}
    table = pd.DataFrame({**columns, "carried_bytes": [9, 0, 9, 9], "packet_bytes": 500, "segment": [0, 1, 2, 1]})
    found = queue_fates(table, lambda _: [], lambda _: WHOLE, lambda _: NEVER_PADDED)
    assert found.fate.tolist() == [ON_AIR, UNKNOWN, ON_AIR, ON_AIR]
    assert found.overtaken_by[1] == CARRIED_ELSEWHERE


def test_without_anything_later_nothing_is_known() -> None:
    """The log may end before the packet's turn."""
    columns = {"link": [0, 0], "sent_ns": [0, 1], "first_frame_ns": [10, -1], "carried_bytes": [9, 0]}
    table = pd.DataFrame({**columns, "packet_bytes": 500, "segment": -1})
    found = queue_fates(table, lambda _: [], lambda _: WHOLE, lambda _: NEVER_PADDED)
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
         "packet_bytes": sizes, "segment": -1}
    )  # fmt: skip
    found = queue_fates(table, lambda _: [(50, 60)], lambda _: WHOLE, lambda _: NEVER_PADDED).fate.tolist()
    assert found[5:7] == [LIKELY_FLUSHED, LIKELY_FLUSHED]


def test_a_reset_that_a_packet_sent_before_outlasted_is_charged_with_none_behind_it() -> None:
    """It waited in front, where a reset takes the octets that the link was given first; unless a resend was matched."""
    assert fates([(0, 10), (1, 70), (2, -1), (3, 80)], [(40, 50)])[2] == UNKNOWN
    assert fates([(0, 10), (1, 30), (2, -1), (3, 80)], [(40, 50)])[2] == LIKELY_FLUSHED


@pytest.mark.parametrize(
    "packets",
    [[(0, 10), (1, 12), (2, 14), (20, 70), (21, -1)], [(0, 10), (1, 70), (2, -1)],
     [(0, 10), (1, 70), (2, 30), (3, -1), (4, 80)]],
    ids=["of few", "of none elsewhere", "two before"],
)  # fmt: skip
def test_what_stands_behind_a_packet_that_outlasted_the_reset_is_undecided(packets: list[tuple[int, int]]) -> None:
    """Also where the link carried nothing later, and where the packet in front is not the one before."""
    behind = max(at for at, (_, first) in enumerate(packets) if first < 0)
    assert fates(packets, [(40, 50)])[behind] == UNKNOWN


def test_what_nothing_overtook_may_have_outlived_a_reset() -> None:
    """The log ends before its turn: a reset may spare what the link was not given."""
    assert fates([(0, 10), (20, -1)], [(40, 50)]) == [ON_AIR, UNKNOWN]
    assert fates([(0, 10), (20, -1), (60, 70)], [(40, 50)]) == [ON_AIR, FLUSHED, ON_AIR]


@pytest.mark.parametrize(("start", "fate"), [(55, UNKNOWN), (80, FLUSHED)])
def test_a_packet_may_have_outlived_a_reset_while_the_log_had_a_hole(start: int, fate: int) -> None:
    """It may have been on the air then, up to the frame of the packet that overtook it."""
    log = Coverage(-FOREVER, FOREVER, np.array([start]), np.array([start + 3]))
    assert fates([(0, 10), (20, -1), (60, 70)], [(40, 50)], log)[1] == fate


def test_a_packet_that_another_link_carried_does_not_tell_the_queue_s_limit() -> None:
    """It was never in this one's queue, which dropped none."""
    packets = [(0, 0), *LIMIT, (100, 110), (111, -1), (112, -1), (113, -1), (114, -1), (300, 310)]
    sent, first = (np.array(column) for column in zip(*packets, (3, 12), strict=True))
    columns = {"link": [0] * len(packets) + [1], "sent_ns": sent, "first_frame_ns": first, "packet_bytes": 500}
    table = pd.DataFrame(columns | {"carried_bytes": np.where(first >= 0, 9, 0)})
    table["segment"] = [*range(len(packets)), packets.index((3, -1))]
    found = queue_fates(table, lambda _: [(250, 260)], lambda _: WHOLE, lambda _: NEVER_PADDED)
    assert found.fate[7:11].tolist() == [FLUSHED, FLUSHED, FLUSHED, LIKELY_FLUSHED]


def test_what_the_capture_lacks_may_have_waited_too() -> None:
    """Packets without a time of sending that were on the air meanwhile: how full the queue was is not known."""
    packets = [(5, 40), (6, -1), (50, 60), (100, -1), (101, -1), (102, -1), (300, 310)]
    assert fates([(-1, 20), (-1, 30), *packets], [(250, 260)])[5:8] == [FLUSHED, LIKELY_FLUSHED, LIKELY_FLUSHED]
    assert fates(packets, [(250, 260)])[3:6] == [FLUSHED, DROPPED, DROPPED]


LIMIT = [(0, 10), (1, 20), (2, 30), (3, -1), (25, 40)]
"""A queue that is full with three."""


def test_what_outlasted_a_reset_waits_for_the_next_one() -> None:
    """Two behind a packet that the first reset spared, and one more, fill the queue until the second."""
    packets = [*LIMIT, (100, 101), (102, 270), (103, -1), (104, -1), (300, -1), (301, -1), (500, 510)]
    found = fates(packets, [(250, 260), (400, 410)])
    assert found[7:11] == [FLUSHED, FLUSHED, FLUSHED, DROPPED]


def test_what_hardly_waited_proves_no_full_queue() -> None:
    """A padded frame says that nothing was waiting: what was sent after it was hardly dropped for want of room."""
    packets = [*LIMIT, (100, 110), (120, -1), (121, -1), (122, -1), (140, -1), (300, 310)]
    assert fates(packets, [(250, 260)], padded=[135])[6:10] == [UNKNOWN] * 4


@pytest.mark.parametrize(("padded", "fate"), [(31, UNKNOWN), (29, FLUSHED), (60, FLUSHED)])
def test_a_frame_padded_at_a_packet_s_turn_leaves_open_whether_it_was_waiting(padded: int, fate: int) -> None:
    """The packet before took 10 to the air: from 30 on this one would have filled the frame, until the reset at 40."""
    assert fates([(0, 10), (20, -1), (55, 80)], [(40, 50)], padded=[5, padded])[1] == fate


@given(
    limit=st.integers(1, 6),
    gaps=st.lists(st.integers(1, 30), min_size=20, max_size=80),
    reset_at=st.lists(st.integers(1, 9), min_size=1, max_size=3, unique=True),
    given=st.integers(1, 6),
    ends=st.integers(100, 2000) | st.just(FOREVER),
)
def test_the_fates_of_a_drop_tail_queue_are_never_told_wrongly(
    limit: int, gaps: list[int], reset_at: list[int], given: int, ends: int
) -> None:
    """A queue of any limit, served every 20, whose first few each reset flushes: what is told for sure happened.

    The link pads a frame whenever nothing waits. The log may end before the link does.
    """
    resets = [(100 * at, 100 * at + 50) for at in reset_at]
    arrivals = np.cumsum(gaps).tolist()
    first, truth = [-1] * len(arrivals), [DROPPED] * len(arrivals)
    waiting: list[int] = []
    padded, free, coming = [], 0, 0
    for now in range(arrivals[-1] + 20 * limit + 200):
        if any(now == start for start, _ in resets):
            for flushed in waiting[:given]:
                truth[flushed] = FLUSHED
            waiting, free = waiting[given:], now + 50
        if now >= free and now >= 10:
            free = now + 20
            if waiting:
                served = waiting.pop(0)
                first[served], truth[served] = now, ON_AIR
            else:
                padded.append(now)
        if coming < len(arrivals) and arrivals[coming] == now:
            if len(waiting) < limit:
                waiting.append(coming)
            coming += 1
    packets = [(sent, at if at <= ends else -1) for sent, at in zip(arrivals, first, strict=True)]
    seen = [(start, end) for start, end in resets if end <= ends]
    log = WHOLE._replace(end_ns=ends)
    found = fates(packets, seen, log, padded=[at for at in padded if at <= ends])
    wrong = [
        (at, packets[at], told, happened)
        for at, (told, happened) in enumerate(zip(found, truth, strict=True))
        if told not in (happened, LIKELY_FLUSHED, UNKNOWN)
    ]
    assert not wrong
