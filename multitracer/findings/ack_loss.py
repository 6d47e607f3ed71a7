"""Acknowledgements that left the receiver and never reached the sender."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.findings.directions import Direction
from multitracer.findings.finding import Finding
from multitracer.findings.grouping import groups_without_gap
from multitracer.findings.link_losses import BOTH_ENDS_OR_LOGS, lost_acks
from multitracer.findings.observations import Observations
from multitracer.findings.place_of_loss import IN_QUEUE, LAYER_OF, places_of_loss, said

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("ack-loss",)
NEEDS = (BOTH_ENDS_OR_LOGS,)


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each group of acknowledgements lost in the same layer that left close together."""
    places = places_of_loss(observed)
    for direction in observed.captured_at_both_ends:
        acks = observed.pure_acks(direction)
        lost = acks[observed.arrived[acks] == 0]
        for place in np.unique(places[lost]).tolist():
            yield from _in_layer(observed, direction, lost[places[lost] == place], place)
    if observed.segment_frames is not None:
        seen = observed.directions
        for direction in seen.at((seen.sender_point < 0) & (seen.receiver_point >= 0)):
            yield from _in_link(observed, direction)


def _in_layer(observed: Observations, direction: Direction, lost: Any, place: int) -> Iterator[Finding]:
    time, layer = observed.column("time_ns"), str(LAYER_OF[place])
    if place == IN_QUEUE:
        layer = "receiver"  # the host between this capture and the link is the acknowledgements' sender, not the data's
    for run in groups_without_gap(time[lost], max(direction.least_rtt_ns, 1) * observed.thresholds.group_rtts):
        group = lost[run]
        holes = observed.incomplete(direction)
        doubt = "; undecided, because that capture lost records" if holes else ""
        yield Finding(
            "ack-loss", "unknown" if holes else layer, direction.connection, int(time[group[0]]), int(time[group[-1]]),
            "undecided" if holes else "confirmed",
            f"{len(group)} acknowledgements left the receiver and never reached the sender's capture"
            f"{said(place)}{doubt}",
            {"count": len(group), "records": observed.references(group)}, segments=group,
        )  # fmt: skip


def _in_link(observed: Observations, direction: Direction) -> Iterator[Finding]:
    """What the link's logs show of acknowledgements that were captured at neither end."""
    lost = lost_acks(observed, direction)
    if lost is None:
        return
    begun, over = lost["first_frame_ns"].to_numpy(), lost["last_frame_ns"].to_numpy()
    least_ns = max(observed.rtt_ns(direction.connection), 1) * observed.thresholds.group_rtts
    holes, link = observed.incomplete(direction), int(lost["link"].iat[0]) if len(lost) else -1
    for run in groups_without_gap(begun, least_ns, over):
        count = len(begun[run])
        yield Finding(
            "ack-loss", "unknown" if holes else "link", direction.connection, int(begun[run][0]), int(over[run].max()),
            "undecided" if holes else "likely",
            f"{count} acknowledgements were on the link, never came out of it by the log of its far end, and are not "
            f"in the data sender's capture{_ignored(lost, run)}",
            _evidence(direction, lost, run, link), bearer=observed.bearer_number(link),
        )  # fmt: skip


def _ignored(lost: pd.DataFrame, run: Any) -> str:
    """How many of a run of lost acknowledgements came to the link's far end, in words."""
    came = int((lost["logged_ns"].to_numpy()[run] >= 0).sum())
    return f"; {came} of them came to that end, which ignored them, as it was about to reset the link" if came else ""


def _evidence(direction: Direction, lost: pd.DataFrame, run: Any, link: int) -> dict[str, Any]:
    """Of a run of acknowledgements that a link lost; without their numbers where those are not known."""
    numbers = lost["ack"].to_numpy()[run]
    told = {"count": len(numbers), "link": link, "sender": ("client", "server")[direction.sender]}
    highest = int(numbers.max())
    return told | ({"highest_ack": highest} if highest >= 0 else {})
