"""Two or more segments, sent within one round trip, that were lost together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from multitracer.findings.directions import Direction
from multitracer.findings.finding import Finding
from multitracer.findings.grouping import groups_within
from multitracer.findings.link_losses import BOTH_ENDS_OR_LOGS, through_link
from multitracer.findings.needs import ROUND_TRIPS
from multitracer.findings.observations import Observations
from multitracer.findings.place_of_loss import LAYER_OF, LIKELY_IN_RESET, places_of_loss, said

KINDS = ("burst-loss",)
NEEDS = (BOTH_ENDS_OR_LOGS, ROUND_TRIPS)


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each group of segments that left and were lost in the same layer."""
    places = places_of_loss(observed)
    for direction in observed.directions.at(observed.directions.beside_sender):
        yield from _in_direction(observed, direction, places)


def _in_direction(observed: Observations, direction: Direction, places: Any) -> Iterator[Finding]:
    rows = observed.rows_sent(direction)
    data = rows[observed.column("payload_bytes")[rows] > 0]
    came, lost = data[observed.arrived[data] == 1], data[observed.arrived[data] == 0]
    if direction.receiver_point < 0:
        came, lost = through_link(observed, direction, places)
    layers = LAYER_OF[places[lost]]
    for layer in sorted(set(layers)):
        yield from _in_layer(observed, direction, came, lost[layers == layer], places)


def _in_layer(observed: Observations, direction: Direction, came: Any, lost: Any, places: Any) -> Iterator[Finding]:
    limits, time = observed.thresholds, observed.column("time_ns")
    captured = direction.receiver_point >= 0
    never = "reached the receiver's capture" if captured else "came out of the link, by the log of its far end"
    for run in groups_within(time[lost], limits.burst_rtts * direction.least_rtt_ns):
        group = lost[run]
        if len(group) < limits.burst_segments:
            continue
        start, end = int(time[group[0]]), int(time[group[-1]])
        got_through = int(((time[came] >= start) & (time[came] <= end)).sum())
        yield Finding(
            "burst-loss", LAYER_OF[places[group[0]]], direction.connection, start, end,
            "likely" if not captured or (places[group] == LIKELY_IN_RESET).any() else "confirmed",
            f"{len(group)} segments sent within {(end - start) / 1e6:.1f} ms (round trip "
            f"{direction.least_rtt_ns / 1e6:.1f} ms) never {never}; "
            f"{got_through} sent among them did{said(places[group])}",
            {
                "count": len(group),
                "bytes": int(observed.column("payload_bytes")[group].sum()),
                "got_through": got_through,
                "least_rtt_ms": direction.least_rtt_ns / 1e6,
                "records": observed.references(np.asarray(group)),
            },
            segments=group,
        )  # fmt: skip
