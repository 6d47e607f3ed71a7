"""Acknowledgements that were lost, and acknowledgements that came compressed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from multitracer.findings.scene import Direction, Finding, Scene, runs

KINDS = ("ack-loss", "ack-compression")
NEEDS = ("segments at both ends",)


def detect(scene: Scene) -> Iterator[Finding]:
    """Losses and compression among the pure acknowledgements of each direction."""
    for direction in scene.directions:
        if direction.receiver_point >= 0:
            rows = scene.rows(direction.connection, direction.sender_point, direction.sender)
            pure = (scene.column("payload_bytes")[rows] == 0) & (scene.column("flags")[rows] & 0b10111 == 0b10000)
            yield from _losses(scene, direction, rows[pure])
            yield from _compression(scene, direction, rows[pure])


def _losses(scene: Scene, direction: Direction, acks: Any) -> Iterator[Finding]:
    lost = acks[scene.arrived[acks] == 0]
    time = scene.column("time_ns")
    for run in runs(time[lost], max(direction.least_rtt_ns, 1) * scene.thresholds.group_rtts):
        group = lost[run]
        yield Finding(
            "ack-loss", "path", direction.connection, int(time[group[0]]), int(time[group[-1]]), "confirmed",
            f"{len(group)} acknowledgements left the receiver and never reached the sender's capture",
            {"count": len(group), "records": scene.references(group)},
        )  # fmt: skip


def _compression(scene: Scene, direction: Direction, acks: Any) -> Iterator[Finding]:
    """Spacings need no common clock: each is measured at one end."""
    limits, time = scene.thresholds, scene.column("time_ns")
    came = acks[(scene.arrived[acks] == 1) & (scene.arrival[acks] >= 0)]
    if len(came) < limits.compression_acks:
        return
    left, arrived = np.diff(time[came]), np.diff(time[scene.arrival[came]])
    close = (left > 0) & (arrived < limits.compression_ratio * left)
    # A run of close arrivals; single ones are the jitter of any path.
    edges = np.flatnonzero(np.diff(np.concatenate([[False], close, [False]]).astype(np.int8)))
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        if stop - start + 1 < limits.compression_acks:
            continue
        there, here = int(left[start:stop].sum()), int(arrived[start:stop].sum())
        group = came[start : stop + 1]
        first, last = time[scene.arrival[group[[0, -1]]]]
        yield Finding(
            "ack-compression", "path", direction.connection, int(first), int(last), "confirmed",
            f"{len(group)} acknowledgements that left over {there / 1e6:.1f} ms came within {here / 1e6:.1f} ms",
            {"count": len(group), "left_over_ms": there / 1e6, "came_within_ms": here / 1e6,
             "records": scene.references(group)},
        )  # fmt: skip
