"""Segments delivered out of order although none of them was sent twice."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multitracer.findings.scene import Direction, Finding, Scene, runs

KINDS = ("reordering",)
NEEDS = ("segments at both ends",)


def detect(scene: Scene) -> Iterator[Finding]:
    """One finding for each stretch in which packets overtook one another."""
    for direction in scene.directions:
        if direction.receiver_point >= 0:
            yield from _in_direction(scene, direction)


def _in_direction(scene: Scene, direction: Direction) -> Iterator[Finding]:
    rows = scene.rows(direction.connection, direction.sender_point, direction.sender)
    data = rows[(scene.column("payload_bytes")[rows] > 0) & (scene.arrived[rows] == 1) & (scene.arrival[rows] >= 0)]
    if len(data) < 2:
        return
    seq = scene.column("seq")[data]
    _, index, counts = np.unique(seq, return_inverse=True, return_counts=True)
    data = data[counts[index] == 1]  # sent once, so that no resend is taken for an overtaken original
    place = scene.arrival[data]  # rows of one capture: their order is the order of arrival
    highest = np.maximum.accumulate(place)
    overtaken = data[place < highest]
    time = scene.column("time_ns")
    gap = max(direction.least_rtt_ns, 1) * scene.thresholds.group_rtts
    for run in runs(time[overtaken], gap):
        group = overtaken[run]
        arrived = time[scene.arrival[group]]
        yield Finding(
            "reordering", "path", direction.connection, int(arrived.min()), int(arrived.max()), "confirmed",
            f"{len(group)} segments, each sent once, arrived after segments that were sent later",
            {"count": len(group), "records": scene.references(group)},
        )  # fmt: skip
