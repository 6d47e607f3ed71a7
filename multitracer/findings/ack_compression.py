"""Acknowledgements that arrived closer together than they had left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from multitracer.findings.carrier import carrier
from multitracer.findings.directions import Direction
from multitracer.findings.finding import Finding
from multitracer.findings.needs import BOTH_ENDS
from multitracer.findings.observations import Observations

KINDS = ("ack-compression",)
NEEDS = (BOTH_ENDS,)


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each run of acknowledgements that the path compressed."""
    for direction in observed.captured_at_both_ends:
        yield from _in_direction(observed, direction, observed.pure_acks(direction))


def _in_direction(observed: Observations, direction: Direction, acks: Any) -> Iterator[Finding]:
    """No common clock is needed: each spacing is measured at one end."""
    limits, time = observed.thresholds, observed.column("time_ns")
    came = acks[(observed.arrived[acks] == 1) & (observed.arrival[acks] >= 0)]
    if len(came) < limits.compression_acks:
        return
    left, arrived = np.diff(time[came]), np.diff(time[observed.arrival[came]])
    close = (left > 0) & (arrived < limits.compression_ratio * left)
    # Runs only: any path has enough jitter to bring single acknowledgements close together.
    edges = np.flatnonzero(np.diff(np.concatenate([[False], close, [False]]).astype(np.int8)))
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        if stop - start + 1 < limits.compression_acks:
            continue
        there, here = int(left[start:stop].sum()), int(arrived[start:stop].sum())
        group = came[start : stop + 1]
        first, last = time[observed.arrival[group[[0, -1]]]]
        yield Finding(
            "ack-compression", carrier(observed, group), direction.connection, int(first), int(last), "confirmed",
            f"{len(group)} acknowledgements that left over {there / 1e6:.1f} ms came within {here / 1e6:.1f} ms",
            {"count": len(group), "left_over_ms": there / 1e6, "came_within_ms": here / 1e6,
             "records": observed.references(group)},
            segments=group,
        )  # fmt: skip
