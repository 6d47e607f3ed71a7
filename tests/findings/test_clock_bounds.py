"""Verdicts that compare times of two clocks hold however far the clocks may be apart, else they say so."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scenes import Seen, at, intervals, retransmissions, scene, segment_frames
from two_ends import MS

from multitracer.findings import Observations, find

DATA = [Seen(sent=t, came=t + 50, seq=1 + 1000 * n, size=1000) for n, t in enumerate(range(0, 200, 10))]


def ends(worst_ms: float) -> dict[tuple[int, int], int]:
    """The clock error between the two points of a scene."""
    return {(0, 1): round(worst_ms * MS), (1, 0): round(worst_ms * MS)}


def logs(worst_ms: float) -> dict[tuple[int, bool, int], int]:
    """The clock error between the sender's point and the logs of a scene's links."""
    return {(link, by_sender, 0): round(worst_ms * MS) for link in range(4) for by_sender in (True, False)}


def needless(arrives: float, answer: float | None) -> Observations:
    """A timeout at 1000 ms of data that came at `arrives` by the receiver's clock and was answered at once."""
    seen = [
        Seen(sent=0, came=arrives, seq=1, size=1000),
        Seen(sent=1000, came=max(1300, arrives + 1), seq=1, size=1000),
        Seen(sent=arrives, came=answer, sender=1, ack=1001),
    ]
    row = int((scene(seen).segments["time_ns"] == at(1000)).to_numpy().argmax())
    return scene(seen, retransmissions=retransmissions({"ms": 1000, "segment": row, "spurious": "yes"}))


@pytest.mark.parametrize(
    ("arrives", "answer", "worst_ms", "expected"),
    [
        (1200, None, 50, ("spurious-timeout", "confirmed")),
        (1200, None, 250, ("spurious-timeout", "undecided")),
        (900, None, 50, ("timeout", "confirmed")),
        (900, None, 250, ("spurious-timeout", "undecided")),
        (1200, 1250, 250, ("spurious-timeout", "confirmed")),
        (900, 1250, 250, ("spurious-timeout", "confirmed")),
    ],
)
def test_when_data_came_is_compared_with_the_timer_only_beyond_the_clocks_error(
    arrives: float, answer: float | None, worst_ms: float, expected: tuple[str, str]
) -> None:
    """An acknowledgement that came back late proves it by one clock alone; else the bound decides."""
    found = find(replace(needless(arrives, answer), clock_error_ns=ends(worst_ms))).table
    mine = found[found["kind"].isin(["timeout", "spurious-timeout"])]
    assert list(zip(mine["kind"], mine["verdict"], strict=True)) == [expected]


def repeating(worst_ms: float) -> Observations:
    """Bytes resent at 1000 ms of which frames were repeated until 1200 ms and delivered at 1300 ms."""
    row = {"sent": 0, "first": 10, "last": 1200, "delivered": 1300, "frame_retransmissions": 3}
    resent = retransmissions({"ms": 1000, "trigger": "timeout"})
    return scene(DATA, retransmissions=resent, segment_frames=segment_frames(row), log_error_ns=logs(worst_ms))


def waiting(worst_ms: float) -> Observations:
    """Segments that wait 300 ms before their first frame, against a round trip of 100 ms."""
    rows = [
        {"sent": t, "first": t + 300, "last": t + 300, "delivered": t + 350, "queue": 300} for t in range(0, 3000, 50)
    ]
    return scene(DATA, segment_frames=segment_frames(*rows), log_error_ns=logs(worst_ms))


def missing(worst_ms: float) -> Observations:
    """A segment sent at 100 ms that was never on the air, 50 ms after the link was reset, and one carried later."""
    rows = [
        {"sent": 0, "first": 5, "last": 9, "delivered": 60}, {"sent": 100, "frames": 0, "carried_bytes": 0},
        {"sent": 200, "first": 230, "last": 240, "delivered": 290, "seq": 2001},
    ]  # fmt: skip
    spans = intervals(("reset", 20, 50))
    return scene(DATA, segment_frames=segment_frames(*rows), link_intervals=spans, log_error_ns=logs(worst_ms))


@pytest.mark.parametrize(
    ("seen", "kind", "near_ms", "far_ms"),
    [
        (repeating, "competing-recovery", 150, 250),
        (waiting, "excessive-queueing", 150, 250),
        (missing, "local-drop", 20, 80),
    ],
)
def test_the_links_log_is_compared_with_the_capture_only_beyond_their_clocks_error(
    seen, kind: str, near_ms: float, far_ms: float
) -> None:
    """Confirmed with clocks that are near enough, not where they may be so far apart that the order turns."""
    near, far = (find(seen(worst)).table for worst in (near_ms, far_ms))
    assert set(near.loc[near["kind"] == kind, "verdict"]) == {"confirmed"}
    assert "confirmed" not in set(far.loc[far["kind"] == kind, "verdict"])
