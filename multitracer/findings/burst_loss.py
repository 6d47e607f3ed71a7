"""Two or more segments, sent within one round trip, that were lost together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from multitracer.findings.finding import Finding
from multitracer.findings.grouping import groups_within
from multitracer.findings.local_drop import dropped
from multitracer.findings.needs import BOTH_ENDS, ROUND_TRIPS
from multitracer.findings.observations import Direction, Observations

KINDS = ("burst-loss",)
NEEDS = (BOTH_ENDS, ROUND_TRIPS)


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each group of segments that left and never arrived."""
    drops = dropped(observed)
    for direction in observed.captured_at_both_ends:
        if direction.least_rtt_ns > 0:
            yield from _in_direction(observed, direction, drops)


def _in_direction(observed: Observations, direction: Direction, drops: set[int]) -> Iterator[Finding]:
    limits, time = observed.thresholds, observed.column("time_ns")
    rows = observed.rows_sent(direction)
    data = rows[observed.column("payload_bytes")[rows] > 0]
    lost = data[observed.arrived[data] == 0]
    for run in groups_within(time[lost], limits.burst_rtts * direction.least_rtt_ns):
        group = lost[run]
        if len(group) < limits.burst_segments:
            continue
        start, end = int(time[group[0]]), int(time[group[-1]])
        between = data[(time[data] >= start) & (time[data] <= end)]
        got_through = int((observed.arrived[between] == 1).sum())
        layer, where = _where(observed, group, drops)
        yield Finding(
            "burst-loss", layer, direction.connection, start, end, "confirmed",
            f"{len(group)} segments sent within {(end - start) / 1e6:.1f} ms (round trip "
            f"{direction.least_rtt_ns / 1e6:.1f} ms) never reached the receiver's capture; "
            f"{got_through} sent among them did{where}",
            {
                "count": len(group),
                "bytes": int(observed.column("payload_bytes")[group].sum()),
                "got_through": got_through,
                "least_rtt_ms": direction.least_rtt_ns / 1e6,
                "records": observed.references(np.asarray(group)),
            },
        )  # fmt: skip


def _where(observed: Observations, group: Any, drops: set[int]) -> tuple[str, str]:
    """The layer that lost them, as far as the link's log shows it, and what to add to the reason.

    A segment that was never on the air may have been flushed by a later reset: then the layer is unknown.
    """
    table = observed.segment_frames
    if table is not None:
        own = table[table["segment"].isin(group)]
        on_air = (own["first_frame_ns"] >= 0).to_numpy()
        if drops.issuperset(group.tolist()):
            return "host", "; the link put none of them on the air, and carried what was sent after them"
        if len(own) == len(group) and not on_air.any():
            return "path", "; the link put none of them on the air"
        if len(own) == len(group) and on_air.all():
            return "link", "; the link had them all on the air"
    return "path", ""
