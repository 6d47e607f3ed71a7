"""Segments waited in a queue before the link for longer than a round trip of the empty path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from multitracer.findings.directions import NOT_MEASURED, Direction
from multitracer.findings.finding import Finding
from multitracer.findings.grouping import groups_without_gap
from multitracer.findings.needs import ROUND_TRIPS
from multitracer.findings.observations import MS, Observations

KINDS = ("excessive-queueing",)
NEEDS = (ROUND_TRIPS,)

_WAITED = {
    "measured": "between the sender's capture and their first frame",
    "inferred": "longer than the least round trip",
}


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each stretch of waits longer than the least round trip."""
    for direction in observed.directions.at(_perhaps_queued(observed)):
        pipe = direction.least_rtt_ns
        sent, waited, how, error = _waits(observed, direction)
        least = observed.thresholds.queue_least_ms * MS if how == "inferred" else 0
        high = waited > max(observed.thresholds.queue_pipes * pipe, least)
        # A single short wait does not end a stretch: waits must stay short for a round trip.
        for run in groups_without_gap(sent[high], pipe + float(waited.max(initial=0))):
            times, waits = sent[high][run], waited[high][run]
            if times[-1] - times[0] < observed.thresholds.queue_rtts * pipe:
                continue
            doubtful = how == "measured" and np.median(waits) - error <= pipe
            doubt = f"; likely only, because the two clocks may be {error / 1e6:.0f} ms apart" if doubtful else ""
            yield Finding(
                "excessive-queueing", _layer(observed, direction, how, times), direction.connection,
                int(times[0]), int(times[-1]),
                "confirmed" if how == "measured" and not doubtful else "likely",
                f"{len(times)} segments waited {np.median(waits) / 1e6:.0f} ms"
                f" (median; longest {waits.max() / 1e6:.0f} ms) "
                f"{_WAITED[how]}, against a pipe of {pipe / 1e6:.0f} ms, for {(times[-1] - times[0]) / 1e9:.1f} s"
                f"{doubt}",
                {"count": len(times), "median_wait_ms": float(np.median(waits)) / 1e6,
                 "longest_wait_ms": float(waits.max()) / 1e6, "pipe_ms": pipe / 1e6},
            )  # fmt: skip


def _perhaps_queued(observed: Observations) -> npt.NDArray[np.bool_]:
    """Which directions to look at: without a log of the link not those whose longest round trip is short."""
    seen = observed.directions
    if observed.segment_frames is not None:
        return seen.beside_sender
    longest = seen.greatest_rtt_ns - seen.least_rtt_ns
    short = (longest <= observed.thresholds.queue_pipes * seen.least_rtt_ns) & (seen.greatest_rtt_ns != NOT_MEASURED)
    return seen.beside_sender & ~short


def _layer(observed: Observations, direction: Direction, how: str, times: Any) -> str:
    """The layer in which segments sent at `times` waited.

    Round trips alone do not tell it; with both captures and no link's log, the way between them took longer by the
    same limit than it ever took.
    """
    if how == "measured":
        return "host"
    if observed.frames is not None or direction.receiver_point < 0:
        return "unknown"
    rows = observed.rows_sent(direction)
    rows = rows[(observed.arrived[rows] == 1) & (observed.arrival[rows] >= 0)]
    sent, time = observed.column("time_ns")[rows], observed.column("time_ns")
    way = time[observed.arrival[rows]] - sent
    within = (sent >= times[0]) & (sent <= times[-1])
    excess = np.median(way[within]) - way.min() if within.any() else 0
    return "path" if excess > observed.thresholds.queue_pipes * direction.least_rtt_ns else "unknown"


def _waits(observed: Observations, direction: Direction) -> tuple[Any, Any, str, int]:
    """When each segment was sent, how long it waited, what shows that (link's log or round trip), and its error."""
    carried = observed.carried(direction)
    if carried is not None:
        mine = carried[(carried["queue_ns"] >= 0).to_numpy()]
        errors = [observed.log_error(int(link), direction.sender_point) for link in mine["link"].unique()]
        known = [error for error in errors if error is not None]
        if known and len(known) == len(errors):
            return mine["sent_ns"].to_numpy(), mine["queue_ns"].to_numpy(), "measured", max(known)
    sent, rtt = observed.round_trips(direction)
    return sent, rtt - direction.least_rtt_ns, "inferred", 0
