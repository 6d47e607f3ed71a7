"""Segments delivered out of order although none of them was sent twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from multitracer.findings.carrier import carrier
from multitracer.findings.directions import Direction
from multitracer.findings.finding import Finding
from multitracer.findings.grouping import groups_without_gap
from multitracer.findings.needs import BOTH_ENDS
from multitracer.findings.observations import Observations

KINDS = ("reordering",)
NEEDS = (BOTH_ENDS,)


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each stretch in which packets overtook one another."""
    for direction in observed.captured_at_both_ends:
        yield from _in_direction(observed, direction)


def _in_direction(observed: Observations, direction: Direction) -> Iterator[Finding]:
    rows = observed.rows_sent(direction)
    arrived = (observed.arrived[rows] == 1) & (observed.arrival[rows] >= 0)
    data = rows[(observed.column("payload_bytes")[rows] > 0) & arrived]
    if len(data) < 2:
        return
    seq = observed.column("seq")[data]
    _, index, counts = np.unique(seq, return_inverse=True, return_counts=True)
    data = data[counts[index] == 1]  # sent once: a resend must not count as an overtaken original
    place = observed.arrival[data]  # rows of one capture are in the order of arrival
    highest = np.maximum.accumulate(place)
    overtaken = data[place < highest]
    time = observed.column("time_ns")
    gap = max(direction.least_rtt_ns, 1) * observed.thresholds.group_rtts
    for run in groups_without_gap(time[overtaken], gap):
        group = overtaken[run]
        came = time[observed.arrival[group]]
        yield Finding(
            "reordering", _layer(observed, group), direction.connection, int(came.min()), int(came.max()), "confirmed",
            f"{len(group)} segments, each sent once, arrived after segments that were sent later",
            {"count": len(group), "records": observed.references(group)}, segments=group,
        )  # fmt: skip


def _layer(observed: Observations, group: Any) -> str:
    """The layer that let later segments overtake these: the link only where it delivered them out of order itself."""
    layer, table = carrier(observed, group), observed.segment_frames
    if layer != "link" or table is None:
        return layer
    own = table[((table["first_frame_ns"] >= 0) & (table["segment"] >= 0)).to_numpy()]
    own = own.sort_values("first_frame_ns", kind="stable")
    delivered, segment = own["delivered_ns"].to_numpy(), own["segment"].to_numpy()
    later = np.minimum.accumulate(np.where(delivered >= 0, delivered, np.iinfo(np.int64).max)[::-1])[::-1]
    passed = np.append(later[1:], np.iinfo(np.int64).max) < delivered
    return "link" if np.isin(group, segment[passed]).all() else "unknown"
