"""Two or more segments, sent within one round trip, that were lost together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from multitracer.findings.local_drop import dropped
from multitracer.findings.scene import Direction, Finding, Scene, within

KINDS = ("burst-loss",)
NEEDS = ("segments at both ends",)


def detect(scene: Scene) -> Iterator[Finding]:
    """One finding for each group of segments that left and never arrived."""
    drops = dropped(scene)
    for direction in scene.directions:
        if direction.receiver_point >= 0 and direction.least_rtt_ns > 0:
            yield from _in_direction(scene, direction, drops)


def _in_direction(scene: Scene, direction: Direction, drops: set[int]) -> Iterator[Finding]:
    limits, time = scene.thresholds, scene.column("time_ns")
    rows = scene.rows(direction.connection, direction.sender_point, direction.sender)
    data = rows[scene.column("payload_bytes")[rows] > 0]
    lost = data[scene.arrived[data] == 0]
    for run in within(time[lost], limits.burst_rtts * direction.least_rtt_ns):
        group = lost[run]
        if len(group) < limits.burst_segments:
            continue
        start, end = int(time[group[0]]), int(time[group[-1]])
        between = data[(time[data] >= start) & (time[data] <= end)]
        got_through = int((scene.arrived[between] == 1).sum())
        layer, where = _where(scene, group, drops)
        yield Finding(
            "burst-loss", layer, direction.connection, start, end, "confirmed",
            f"{len(group)} segments sent within {(end - start) / 1e6:.1f} ms (round trip "
            f"{direction.least_rtt_ns / 1e6:.1f} ms) never reached the receiver's capture; "
            f"{got_through} sent among them did{where}",
            {
                "count": len(group),
                "bytes": int(scene.column("payload_bytes")[group].sum()),
                "got_through": got_through,
                "least_rtt_ms": direction.least_rtt_ns / 1e6,
                "records": scene.references(np.asarray(group)),
            },
        )  # fmt: skip


def _where(scene: Scene, group: Any, drops: set[int]) -> tuple[str, str]:
    """Which layer lost them, where the link's log tells of each: (layer, what to add to the reason).

    What was never on the air may have been flushed by a reset that came later, and is then nobody's.
    """
    table = scene.segment_frames
    if table is not None:
        own = table[table["segment"].isin(group)]
        carried = (own["first_frame_ns"] >= 0).to_numpy()
        if drops.issuperset(group.tolist()):
            return "host", "; the link put none of them on the air, and carried what was sent after them"
        if len(own) == len(group) and not carried.any():
            return "path", "; the link put none of them on the air"
        if len(own) == len(group) and carried.all():
            return "link", "; the link had them all on the air"
    return "path", ""
