"""Segments waited longer before the link than the whole pipe takes: an overbuffered link."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from multitracer.findings.scene import MS, Direction, Finding, Scene, runs

KINDS = ("excessive-queueing",)
NEEDS = ("segments",)

_WAITED = {
    "measured": "between the sender's capture and their first frame",
    "inferred": "longer than the least round trip",
}


def detect(scene: Scene) -> Iterator[Finding]:
    """One finding for each stretch of waits above the pipe's own round trip."""
    for direction in scene.directions:
        pipe, greatest = direction.least_rtt_ns, direction.greatest_rtt_ns
        if pipe <= 0 or direction.sender_point < 0:
            continue
        short = greatest is not None and greatest - pipe <= scene.thresholds.queue_pipes * pipe
        if short and scene.segment_frames is None:
            continue
        sent, waited, how = _waits(scene, direction)
        least = scene.thresholds.queue_least_ms * MS if how == "inferred" else 0
        high = waited > max(scene.thresholds.queue_pipes * pipe, least)
        # One short wait in between does not end a stretch: it must stay short for a round trip.
        for run in runs(sent[high], pipe + float(waited.max(initial=0))):
            times, waits = sent[high][run], waited[high][run]
            if times[-1] - times[0] < scene.thresholds.queue_rtts * pipe:
                continue
            yield Finding(
                "excessive-queueing", "host", direction.connection, int(times[0]), int(times[-1]),
                "confirmed" if how == "measured" else "likely",
                f"{len(times)} segments waited {np.median(waits) / 1e6:.0f} ms"
                f" (median; longest {waits.max() / 1e6:.0f} ms) "
                f"{_WAITED[how]}, against a pipe of {pipe / 1e6:.0f} ms, for {(times[-1] - times[0]) / 1e9:.1f} s",
                {"count": len(times), "median_wait_ms": float(np.median(waits)) / 1e6,
                 "longest_wait_ms": float(waits.max()) / 1e6, "pipe_ms": pipe / 1e6},
            )  # fmt: skip


def _waits(scene: Scene, direction: Direction) -> tuple[Any, Any, str]:
    """When each segment was sent and how long it waited; by the link's log if there is one, else by round trips."""
    table = scene.segment_frames
    if table is not None:
        end = scene.connections.loc[direction.connection, "client" if direction.sender == 0 else "server"]
        ours = (table["connection"] == direction.connection) & (table["sender"] == end)
        mine = table[ours & (table["queue_ns"] >= 0)]
        if len(mine):
            return mine["sent_ns"].to_numpy(), mine["queue_ns"].to_numpy(), "measured"
    sent, rtt = scene.round_trips(direction)
    return sent, rtt - direction.least_rtt_ns, "inferred"
