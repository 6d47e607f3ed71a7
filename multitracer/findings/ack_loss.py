"""Acknowledgements that left the receiver and never reached the sender."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from multitracer.findings.finding import Finding
from multitracer.findings.grouping import groups_without_gap
from multitracer.findings.needs import BOTH_ENDS
from multitracer.findings.observations import Direction, Observations

KINDS = ("ack-loss",)
NEEDS = (BOTH_ENDS,)


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each group of lost acknowledgements that left close together."""
    for direction in observed.captured_at_both_ends:
        yield from _in_direction(observed, direction, observed.pure_acks(direction))


def _in_direction(observed: Observations, direction: Direction, acks: Any) -> Iterator[Finding]:
    lost = acks[observed.arrived[acks] == 0]
    time = observed.column("time_ns")
    for run in groups_without_gap(time[lost], max(direction.least_rtt_ns, 1) * observed.thresholds.group_rtts):
        group = lost[run]
        yield Finding(
            "ack-loss", "path", direction.connection, int(time[group[0]]), int(time[group[-1]]), "confirmed",
            f"{len(group)} acknowledgements left the receiver and never reached the sender's capture",
            {"count": len(group), "records": observed.references(group)},
        )  # fmt: skip
