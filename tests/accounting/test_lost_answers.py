"""A timer had to send again what had arrived where captures beside both ends show that all answers to it were lost."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from multitracer.accounting.lost_answers import answers_lost
from multitracer.model.paths import NOWHERE, Paths

MS = 1_000_000
NEAR, FAR = 0, 1
LOST = -1


def found(
    copies: list[tuple[int, int]], answers: list[tuple[int, int, int]], *, trigger: str = "timeout", far: int = FAR
) -> bool:
    """Of the last of these copies of octets 1 to 100, sent and come at these ms, whether it was due.

    An answer has the ms at which it was sent and came, and its number.
    """
    rows = [(NEAR, 0, sent, 1, 100, 0, came) for sent, came in copies]
    rows += [(FAR, 1, sent, 0, 0, number, came) for sent, came, number in answers]
    arrivals = [(1 - point, side, came, *rest) for point, side, _, *rest, came in rows if came != LOST]
    arrival = iter(range(len(rows), len(rows) + len(arrivals)))
    all_rows = [row[:6] for row in rows] + arrivals
    columns = np.array(all_rows, dtype=np.int64).T
    segments = pd.DataFrame(
        dict(zip(("point", "sender", "time_ns", "seq", "payload_bytes", "ack"), columns, strict=True))
    )
    segments["time_ns"] *= MS
    ends = np.array([next(arrival) if row[-1] != LOST else -1 for row in rows] + [-1] * len(arrivals), dtype=np.int32)
    came = np.array([int(row[-1] != LOST) for row in rows] + [-1] * len(arrivals), dtype=np.int8)
    paths = Paths(np.array([[NEAR, far]]), np.array([[far, NEAR]]), ends, came)
    groups = SimpleNamespace(rows=lambda _, point: np.flatnonzero(segments["point"].to_numpy() == point))
    last = len(copies) - 1
    resent = pd.DataFrame(
        {"segment": [last], "time_ns": [copies[last][0] * MS], "seq": [1], "payload_bytes": [100], "trigger": [trigger]}
    )
    return bool(answers_lost(resent, segments, 0, 0, paths, groups)[0])  # type: ignore[arg-type]


ALL_LOST = ([(0, 50), (1000, 1050)], [(50, LOST, 101), (200, LOST, 101), (1050, 1100, 101)])


def test_a_timer_was_due_where_all_answers_were_lost() -> None:
    """What the receiver sent once the repeated copy had come answers that one."""
    assert found(*ALL_LOST)


@pytest.mark.parametrize(
    ("copies", "answers"),
    [
        ([(0, 50), (1000, 1050)], [(50, LOST, 101), (200, 1001, 101)]),
        ([(0, LOST), (1000, 1050)], [(50, LOST, 101)]),
        ([(0, 1020), (1000, 1050)], [(1020, LOST, 101)]),
        ([(0, 50), (1000, 1050)], [(50, LOST, 1)]),
        ([(0, 50), (1000, 1050)], []),
    ],
    ids=["one came late", "the copy was lost", "the copy came later", "not an answer", "none was sent"],
)
def test_else_it_is_not_said_to_be_due(copies: list[tuple[int, int]], answers: list[tuple[int, int, int]]) -> None:
    """An answer that came, though late, and a copy that was lost or on its way, are told by other means."""
    assert not found(copies, answers)


def test_only_timers_are_judged_and_only_by_captures_at_both_ends() -> None:
    """A segment that acknowledgements had sent again did not wait for a timer."""
    assert not found(*ALL_LOST, trigger="recovery")
    assert not found(*ALL_LOST, far=NOWHERE)
