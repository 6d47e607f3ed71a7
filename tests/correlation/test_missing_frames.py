"""Segments that a link never delivered whole, as one of their frames never came to its far end."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scenes import at, links, segment_frames

from multitracer.correlation.delivery import MISSING
from multitracer.correlation.missing_frames import lacking_frames, with_missing
from multitracer.correlation.segment_frames import LinkMatch
from multitracer.link.coverage import NOTHING, Coverages
from multitracer.link.frames import number_frames
from multitracer.link.packets import CarriedPacket
from multitracer.model.schema import build

MS = 1_000_000
NO_EVENTS = build("link_events", dict.fromkeys(("record", "time_ns", "recorded_ns", "link", "side", "event"), ()))
SENT = [(20 * number, number) for number in range(30)] + [(700, 14), (800, 30), (820, 31), (900, 14), (940, 32)]
"""Frames of 20 ms: (ms, number); 14 is sent three times."""


def frames(came: dict[float, str], so: int = -1) -> pd.DataFrame:
    """The logs of both ends, 50 ms apart: what was sent at a time in `came` arrived as that type, all else as sent."""
    rows = [(ms, 0, "mobile", True, "I RR", number) for ms, number in SENT]
    for ms, number in SENT:
        kind = came.get(ms, "I RR")
        rows += [(ms + 50, 1, "network", False, kind, -1 if kind == "BAD" else number)] * (kind != "LOST")
    ms, log, side, way, kinds, sn = zip(*rows, strict=True)
    times = [at(one) for one in ms]
    columns = {
        "input": log, "record": range(1, len(rows) + 1), "time_ns": times, "recorded_ns": times, "side": side,
        "sent": way, "type": kinds, "sn": sn, "link": [0] * len(rows), "nr": [0] * len(rows),
        "nacks": [()] * len(rows), "so": [so] * len(rows),
    }  # fmt: skip
    return number_frames(build("frames", columns), links(), NO_EVENTS)


def carried() -> LinkMatch:
    """Segment 0 is in frames 12 and 13, segment 1 in 14 and 15, segment 2 in 16 and 17."""
    packets = []
    for first in (12, 14, 16):
        rows = np.array([row for row, (_, number) in enumerate(SENT) if number in (first, first + 1)])
        packets.append(CarriedPacket(b"", rows, rows[:2], np.full(len(rows), 10), 0, True))
    return LinkMatch(0, packets, np.arange(3), sender_logged=True)


def lacking(came: dict[float, str], so: int = -1) -> list[int]:
    """The segments that lack a frame."""
    table = frames(came, so)
    return lacking_frames(carried(), table, Coverages(table, links()).received(0), 100 * MS).tolist()


@pytest.mark.parametrize(
    ("came", "missing"),
    [
        (dict.fromkeys((280, 700, 900), "BAD"), [1]),
        (dict.fromkeys((280, 700), "BAD"), []),
        ({300: "BAD"}, [1]),
        ({}, []),
    ],
)
def test_a_segment_lacks_a_frame_if_no_transmission_of_it_came(came: dict[float, str], missing: list[int]) -> None:
    """The first frame of segment 1 is sent three times, its second once."""
    assert lacking(came) == missing


def test_of_frames_that_are_sent_again_in_parts_nothing_is_told() -> None:
    """Each part has the number of the whole."""
    assert lacking({300: "BAD"}, so=0) == []


def test_what_the_far_ends_log_does_not_cover_may_have_come() -> None:
    """Nothing is told without it."""
    assert lacking_frames(carried(), frames({300: "BAD"}), NOTHING, 100 * MS).tolist() == []


@pytest.mark.parametrize(("whole", "marked"), [(400, MISSING), (None, -1)])
def test_what_a_later_segment_overtook_is_missing(whole: float | None, marked: int) -> None:
    """Of the last one more may come after the log's end."""
    table = segment_frames(
        {"segment": 1, "first": 280}, {"segment": 2, "first": 320, "logged_ns": -1 if whole is None else at(whole)}
    )
    log = frames({300: "BAD"})
    found = with_missing(table, carried(), log, Coverages(log, links()).received(0), 100 * MS)
    assert found["logged_ns"].iat[0] == marked
