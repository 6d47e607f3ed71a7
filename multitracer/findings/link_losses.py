"""What the logs of both ends of a link say of packets that no capture saw arrive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.correlation.delivery import MISSING
from multitracer.correlation.link_verdicts import carried_copies, is_understood
from multitracer.findings.directions import Direction
from multitracer.findings.needs import BOTH_ENDS, Need
from multitracer.findings.observations import Observations
from multitracer.findings.place_of_loss import IN_LINK, IN_RESET, LIKELY_IN_RESET

if TYPE_CHECKING:
    import pandas as pd

BOTH_ENDS_OR_LOGS = Need(
    f"{BOTH_ENDS.input} (or beside the data sender, and logs of both ends of the link)",
    lambda observed: BOTH_ENDS.met(observed) or _logged_at_both_ends(observed),
)


def _logged_at_both_ends(observed: Observations) -> bool:
    """Whether logs show of a link both what it sent and what came out of it, for a capture beside the data sender."""
    table, main = observed.segment_frames, observed.main_direction
    if table is None or main is None or main.sender_point < 0:
        return False
    links = table["link"][(table["first_frame_ns"] >= 0) & (table["delivered_ns"] >= 0)].unique().tolist()
    return any(not observed.monitored(link) for link in links)


def deliveries(observed: Observations, direction: Direction, links: Sequence[int]) -> pd.DataFrame | None:
    """The rows of segment_frames of a sender's data on these links, by a log of the far end that was understood.

    A log that lacks what TCP acknowledged proves nothing.
    """
    table = observed.carried(direction)
    if table is None:
        return None
    sure = (table["matched_by"] == "payload") & (table["segment"] >= 0) & (table["payload_bytes"] > 0)
    table = table[(table["link"].isin(links) & sure).to_numpy()]
    answers = observed.rows(direction.connection, direction.sender_point, 1 - direction.sender)
    understood = is_understood(carried_copies(table), int(observed.column("ack")[answers].max(initial=0)))
    return table if understood else None


def last_known_ns(table: pd.DataFrame) -> Any:
    """When the link last had each on the air; of what it never had, when it was sent."""
    last = table["last_frame_ns"].to_numpy()
    return np.where(last >= 0, last, table["sent_ns"].to_numpy())


def never_came(observed: Observations, table: pd.DataFrame, until_ns: Any) -> Any:
    """Which packets the link never delivered until then, by a log of its far end that lacks nothing since their first
    frame.
    """
    first, link, never = (table[name].to_numpy() for name in ("first_frame_ns", "link", "delivered_ns"))
    never = never < 0
    for number in np.unique(link).tolist():
        mine = never & (link == number) & (first >= 0)
        never[mine] = observed.coverage(number, by_sender=False).covers(first[mine], until_ns[mine])
    return never


def through_link(observed: Observations, direction: Direction, places: Any) -> tuple[Any, Any]:
    """Rows of a sender's data that came out of the link, and of what it had and never delivered.

    The latter only where it delivered data sent later.
    """
    nothing = np.zeros(0, dtype=np.int64)
    table = deliveries(observed, direction, _links_of(observed, direction))
    if table is None or table["link"].nunique() != 1:
        return nothing, nothing
    whole, sent, row = (table[name].to_numpy() for name in ("delivered_ns", "sent_ns", "segment"))
    last = whole.max(initial=-1)
    missed = never_came(observed, table, np.full(len(table), last)) | (table["logged_ns"] == MISSING).to_numpy()
    lost = np.sort(row[missed & (sent < sent[whole >= 0].max(initial=-1))])
    return np.sort(row[whole >= 0]), lost[np.isin(places[lost], (IN_LINK, IN_RESET, LIKELY_IN_RESET))]


def lost_acks(observed: Observations, direction: Direction) -> pd.DataFrame | None:
    """The rows of segment_frames of what an end sent without data, that never came out of the link; None unknown.

    The capture beside the data sender lacks them, though it went on; the only link that carried any delivered what it
    began to send later.
    """
    table, links = observed.carried(direction), _links_of(observed, direction)
    if table is None or len(links) != 1:
        return None
    first, whole = table["first_frame_ns"], table["delivered_ns"]
    later = first[whole >= 0].max()  # without any, nothing is before it
    mine = (table["segment"] < 0) & (table["payload_bytes"] == 0) & (table["matched_by"] == "payload")
    mine &= (first >= 0) & (first < later) & never_came(observed, table, np.full(len(table), whole.max()))
    over = int(observed.connections["end_ns"].iloc[direction.connection])
    return table[(mine & (table["last_frame_ns"] < over)).to_numpy()].sort_values("first_frame_ns", kind="stable")


def _links_of(observed: Observations, direction: Direction) -> list[int]:
    """The links that carried what a sender sent; of what a monitor did not hear nothing is known."""
    table = observed.carried(direction)
    links = [] if table is None else table["link"].unique().tolist()
    return [link for link in links if not observed.monitored(link)]
