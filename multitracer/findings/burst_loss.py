"""Two or more segments, sent within one round trip, that were lost together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multitracer.findings.scene import Direction, Finding, Scene, runs

KINDS = ("burst-loss",)
NEEDS = ("segments at both ends",)


def detect(scene: Scene) -> Iterator[Finding]:
    """One finding for each group of segments that left and never arrived."""
    for direction in scene.directions:
        if direction.receiver_point >= 0 and direction.least_rtt_ns > 0:
            yield from _in_direction(scene, direction)


def _in_direction(scene: Scene, direction: Direction) -> Iterator[Finding]:
    limits, time = scene.thresholds, scene.column("time_ns")
    rows = scene.rows(direction.connection, direction.sender_point, direction.sender)
    data = rows[scene.column("payload_bytes")[rows] > 0]
    lost = data[scene.arrived[data] == 0]
    for run in runs(time[lost], limits.burst_rtts * direction.least_rtt_ns):
        group = lost[run]
        if len(group) < limits.burst_segments:
            continue
        start, end = int(time[group[0]]), int(time[group[-1]])
        between = data[(time[data] >= start) & (time[data] <= end)]
        got_through = int((scene.arrived[between] == 1).sum())
        yield Finding(
            "burst-loss", "path", direction.connection, start, end, "confirmed",
            f"{len(group)} segments sent within {(end - start) / 1e6:.1f} ms, each within one round trip "
            f"({direction.least_rtt_ns / 1e6:.1f} ms) of the one before, never reached the receiver's capture; "
            f"{got_through} sent among them did",
            {
                "count": len(group),
                "bytes": int(scene.column("payload_bytes")[group].sum()),
                "got_through": got_through,
                "least_rtt_ms": direction.least_rtt_ns / 1e6,
                "records": scene.references(np.asarray(group)),
            },
        )  # fmt: skip
