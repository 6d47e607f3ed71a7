"""Segments that a link gave up before one of their frames had come to its far end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scenes import at, links, segment_frames

from multitracer.correlation.delivery import MISSING
from multitracer.correlation.missing_frames import given_up_unheard, with_missing
from multitracer.correlation.segment_frames import LinkMatch
from multitracer.link.coverage import Coverages
from multitracer.link.frames import number_frames
from multitracer.link.packets import CarriedPacket
from multitracer.model.schema import build

MS = 1_000_000
NO_EVENTS = build("link_events", dict.fromkeys(("record", "time_ns", "recorded_ns", "link", "side", "event"), ()))
SENT = [(20 * number, number) for number in range(30)]
SENT += [(700, 14), (800, 30), (820, 31), (900, 14), (940, 32), (1100, 33), (1300, 34)]
"""Frames of 20 ms: (ms, number); 14 is sent three times."""
RESET = np.array([at(960)])
THRICE = dict.fromkeys((280, 700, 900), "BAD")


def frames(came: dict[float, str], far: tuple[float, float] = (0, 2000), late: float = 0) -> pd.DataFrame:
    """The logs of both ends, 50 ms apart: what was sent at a time in `came` arrived as that type, all else as sent.

    The log of the far end has its times within `far`, by a clock that is `late`.
    """
    rows = [(ms, 0, "mobile", True, "I RR", number) for ms, number in SENT]
    for ms, number in SENT:
        kind = came.get(ms, "I RR")
        if far[0] <= ms + 50 <= far[1]:
            rows.append((ms + 50 - late, 1, "network", False, kind, -1 if kind == "BAD" else number))
    ms, log, side, way, kinds, sn = zip(*rows, strict=True)
    times = [at(one) for one in ms]
    columns = {
        "input": log, "record": range(1, len(rows) + 1), "time_ns": times, "recorded_ns": times, "side": side,
        "sent": way, "type": kinds, "sn": sn, "link": [0] * len(rows), "nr": [0] * len(rows),
        "nacks": [()] * len(rows),
    }  # fmt: skip
    return number_frames(build("frames", columns), links(), NO_EVENTS)


def carried(taken: npt.NDArray[np.int64] | None = None, last_whole: float | None = None) -> LinkMatch:
    """Segment 0 is in frames 12 and 13, segment 1 in 14 and 15, segment 2 in 16 and 17, segment 3 in 30 and 31."""
    packets = []
    for first in (12, 14, 16, 30):
        rows = np.array([row for row, (_, number) in enumerate(SENT) if number in (first, first + 1)])
        packets.append(CarriedPacket(b"", rows, rows[:2], np.full(len(rows), 10), 0, True))
    whole = np.array([-1, -1, -1, -1 if last_whole is None else at(last_whole)])
    return LinkMatch(0, packets, np.arange(4), whole, sender_logged=True, taken=taken)


def given_up(table: pd.DataFrame, match: LinkMatch | None = None, over: npt.NDArray[np.int64] = RESET) -> list[int]:
    """The segments that were given up while they lacked a frame; a frame is 100 ms on its way at most."""
    return given_up_unheard(match or carried(), table, Coverages(table, links()), over, 100 * MS).tolist()


@pytest.mark.parametrize(
    ("came", "missing"),
    [(THRICE, [1]), (dict.fromkeys((280, 700), "BAD"), []), ({300: "BAD"}, [1]), ({}, [])],
)
def test_a_segment_is_missing_if_no_transmission_of_a_frame_came(came: dict[float, str], missing: list[int]) -> None:
    """The first frame of segment 1 is sent three times, its second once."""
    assert given_up(frames(came)) == missing


def test_what_no_reset_flushed_may_come_later() -> None:
    """Its frame may be sent again after the log's end."""
    assert given_up(frames(THRICE), over=np.array([at(200)])) == []


def test_what_the_far_ends_log_does_not_cover_may_have_come() -> None:
    """It begins after the first transmission, or ends before the reset."""
    assert given_up(frames(THRICE, far=(400, 2000))) == given_up(frames(THRICE, far=(0, 945))) == []


def test_a_clock_that_is_behind_makes_nothing_missing() -> None:
    """What came seems to have come before it was sent."""
    assert given_up(frames({}, late=80)) == []
    assert given_up(frames({300: "BAD"}, late=80)) == [1]


def test_what_came_and_was_not_taken_is_missing_once_a_later_segment_is_whole() -> None:
    """The far end took other frames for those of segment 1; without a reset, a later segment shows that it is over."""
    table = frames({})
    came = np.flatnonzero(~table["sent"].to_numpy())
    taken = came[~np.isin(table["sn"].to_numpy()[came], (14, 15))]
    never = np.empty(0, dtype=np.int64)
    assert given_up(table, carried(taken, last_whole=870), never) == [1]
    assert given_up(table, carried(taken), never) == given_up(table, carried(came, last_whole=870), never) == []


def test_only_what_the_far_end_never_had_whole_is_marked() -> None:
    """Not what it had, or had spoilt."""
    log = frames({300: "BAD"})
    for logged, marked in ((-1, MISSING), (at(400), at(400)), (-2, -2)):
        table = segment_frames({"segment": 1, "first": 280, "logged_ns": logged})
        found = with_missing(table, carried(), log, Coverages(log, links()), RESET, 100 * MS)
        assert found["logged_ns"].iat[0] == marked


HEADERS = bytes.fromhex("450003e8000040004006d0d9cb007101c633640100000050" + 16 * "0" + "5010ffff00000000")
"""Of a packet of 1000 octets."""


@pytest.mark.parametrize(
    ("complete", "garbled", "octets", "missing"),
    [
        (False, False, HEADERS, [3]), (False, False, HEADERS[:6], [3]),
        (False, False, HEADERS + bytes(960), []), (False, False, bytes(40), []),
        (False, False, b"", []), (True, False, HEADERS, []), (False, True, HEADERS, []),
    ],
    ids=["a part", "a part of the header", "whole", "no header", "a log without octets", "complete", "garbled"],
)  # fmt: skip
def test_what_was_cut_off_was_never_whole(complete: bool, garbled: bool, octets: bytes, missing: list[int]) -> None:
    """All frames came that were sent of segment 3 before the reset."""
    match = carried()
    match.packets[3] = replace(match.packets[3], complete=complete, garbled=garbled, octets=octets)
    assert given_up(frames({}), match) == missing
    assert given_up(frames({}).iloc[: len(SENT)], match) == missing  # whatever the far end logged


@pytest.mark.parametrize(
    ("passed_ms", "again_ms", "marked"), [(500, 600, MISSING), (700, 600, -1), (None, 600, -1), (500, None, MISSING)]
)
def test_what_a_later_segment_overtook_before_it_was_sent_again_never_was_on_the_air(
    passed_ms: float | None, again_ms: float | None, marked: int
) -> None:
    """Sent at 40 ms; the next one's first frame is sent before or after the second copy is: else it may be that."""
    rows = [{"segment": 7, "sent": 40, "seq": 1, "carried_bytes": 0, "frames": 0}]
    rows += [{"segment": 8, "sent": 45, "seq": 1001, "first": passed_ms}]
    rows += [] if again_ms is None else [{"segment": 9, "sent": again_ms, "seq": 1, "first": again_ms + 10}]
    assert marks(*rows) == [marked] + [-1] * (len(rows) - 1)


def marks(*rows: dict[str, Any], error_ms: float | None = 10) -> list[int]:
    """What is known of these packets, where the clocks of the log and of the capture are so far apart at most."""
    log = frames({})
    error_ns = None if error_ms is None else round(error_ms * MS)
    covered = Coverages(log, links())
    found = with_missing(segment_frames(*rows), carried(), log, covered, RESET, 100 * MS, error_ns)
    return found["logged_ns"].tolist()


def test_what_another_link_carried_or_was_sent_near_a_hole_of_the_log_may_have_been_on_the_air() -> None:
    """Links side by side carry each a part; the log begins 40 ms before the segment was sent."""
    rows = [{"segment": 7, "sent": 40, "seq": 1, "carried_bytes": 0, "frames": 0},
            {"segment": 8, "sent": 45, "seq": 1001, "first": 500}]  # fmt: skip
    assert marks(*rows)[0] == MISSING
    assert marks(*rows, {"segment": 7, "link": 2, "first": 60})[0] == -1
    assert marks(*rows, error_ms=50)[0] == marks(*rows, error_ms=None)[0] == -1
