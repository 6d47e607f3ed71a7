"""How long a link's answers take, as its own directions say."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from multitracer.replay.engine.direction import Direction
from multitracer.replay.record.link_frames import SideTruth
from multitracer.replay.simulate.frames_sent import FramesSent

MS = 1_000_000


def slots(delay_ms: int, slot_ms: int) -> Direction:
    return Direction(delay_ms * MS, slot_ns=slot_ms * MS)


def serial(delay_ms: int) -> Direction:
    """One whose frames of 100 octets take 10 ms on the air."""
    return Direction(delay_ms * MS, rate_bps=80_000)


@pytest.mark.parametrize(
    ("forth", "back", "trip_ms"),
    [(slots(101, 10), slots(101, 10), 110 + 101), (slots(100, 10), slots(100, 10), 200),
     (slots(101, 10), slots(5, 20), 110 + 5), (slots(101, 10), serial(20), 101 + 30), (serial(20), serial(20), 60)],
)  # fmt: skip
def test_an_answer_waits_for_the_next_slot(forth: Direction, back: Direction, trip_ms: int) -> None:
    """A frame comes when it comes, and what answers it can go in a slot alone."""
    one = np.array([100])
    sent = FramesSent(*(one for _ in FramesSent._fields))
    run: Any = SimpleNamespace(setting=SimpleNamespace(radio=(forth, back)))
    assert SideTruth(run, 0, (sent, sent)).round_trip_ns == trip_ms * MS
