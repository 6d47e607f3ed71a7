"""A gap in TCP's arrivals while the link repeated the frames that were next in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from multitracer.correlation.delivery import perhaps_out_of_sequence
from multitracer.findings.finding import Finding
from multitracer.findings.needs import LINK_RTT, SEGMENT_FRAMES
from multitracer.findings.observations import Observations

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("link-recovery-hole",)
NEEDS = (SEGMENT_FRAMES, LINK_RTT)


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each gap longer than the threshold during which the link repeated frames.

    Likely only where packets that the link carried before were lost, which may have been the gap.
    """
    table, link_rtt = observed.segment_frames, observed.link_rtt_ns
    assert table is not None  # by NEEDS
    assert link_rtt is not None  # by NEEDS
    limit = observed.thresholds.hole_link_rtts * link_rtt
    for (connection, sender, link), group in table.groupby(["connection", "sender", "link"], sort=False):
        came = group[(group["delivered_ns"] >= 0) & (group["first_frame_ns"] >= 0)]
        delivered = _handed_over(observed, came)
        order = np.argsort(delivered, kind="stable")
        came, delivered = came.iloc[order], delivered[order]
        first, repeats = came["first_frame_ns"].to_numpy(), came["frame_retransmissions"].to_numpy()
        spoilt = np.searchsorted(_never_delivered(group), first)
        # Before its first frame the segment that came next was not there to be repeated.
        begins = np.maximum(delivered[:-1], first[1:])
        for at in np.flatnonzero((delivered[1:] - begins > limit) & (repeats[1:] > 0)):
            row = came.iloc[at + 1]
            start, end = int(begins[at]), int(delivered[at + 1])
            if any(s < end and e > start for s, e in observed.resets(int(link))):
                continue
            sure = row["matched_by"] == "payload" and not observed.monitored(int(link)) and spoilt[at + 1] <= spoilt[at]
            yield Finding(
                "link-recovery-hole", "link", int(connection), start, end, "confirmed" if sure else "likely",
                f"nothing reached TCP for {(end - start) / 1e6:.0f} ms (link round trip {link_rtt / 1e6:.0f} ms)"
                f" while the link made {row['frame_retransmissions']} repeats of the frames of the segment"
                " that came next",
                {"gap_ms": (end - start) / 1e6, "link_rtt_ms": link_rtt / 1e6, "sender": sender,
                 "frame_retransmissions": int(row["frame_retransmissions"]), "seq": int(row["seq"])},
                bearer=observed.bearer_number(int(link)),
            )  # fmt: skip


def _never_delivered(group: pd.DataFrame) -> npt.NDArray[np.int64]:
    """When the link began to carry each packet that it never delivered: what would have come then was lost."""
    first = group["first_frame_ns"].to_numpy()
    return np.sort(first[(group["delivered_ns"].to_numpy() < 0) & (first >= 0)])


def _handed_over(observed: Observations, came: pd.DataFrame) -> npt.NDArray[np.int64]:
    """When each packet was given to TCP: by the link's log when it was complete there, but no sooner than it arrived.

    A link may hold complete packets back until those before them are complete; its log does not say whether it does,
    the receiver's capture shows it. From the link to that capture a packet takes as long as one that nothing held back.
    Without that capture the sender's tells: of what comes above a hole it hears duplicate acknowledgements.
    """
    complete, segment = came["delivered_ns"].to_numpy(), came["segment"].to_numpy()
    captured = (segment >= 0) & (observed.arrived[segment] == 1) & (observed.arrival[segment] >= 0)
    if not captured.any():
        return _held_back(observed, came)
    arrived = observed.column("time_ns")[observed.arrival[segment[captured]]]
    order = np.argsort(came["first_frame_ns"].to_numpy()[captured], kind="stable")
    latest = np.maximum.accumulate(complete[captured][order])
    unheld = complete[captured][order] >= latest
    # The median: where the log lacks when a packet was complete, its arrival stands for that.
    transit = int(np.median((arrived - complete[captured])[order][unheld]))
    handed = complete.copy()
    handed[captured] = np.maximum(arrived - transit, complete[captured])
    return handed


def _held_back(observed: Observations, came: pd.DataFrame) -> npt.NDArray[np.int64]:
    """When each packet was given to TCP if the link delivers in sequence; where it may not, when it was complete."""
    complete, segment = came["delivered_ns"].to_numpy(), came["segment"].to_numpy()
    if (segment < 0).any() or not _is_answered(observed, segment):
        return complete
    order = np.argsort(came["first_frame_ns"].to_numpy(), kind="stable")
    given = np.maximum.accumulate(complete[order])
    early = complete[order] < given
    if perhaps_out_of_sequence(segment[order], complete[order], early, observed.segments).any():
        return complete
    handed = complete.copy()
    handed[order] = given
    return handed


def _is_answered(observed: Observations, segment: npt.NDArray[np.int64]) -> bool:
    """Whether the sender's capture has what the other end answered: else no duplicate acknowledgement is heard."""
    if not len(segment):
        return False
    connection, sender = (int(observed.column(name)[segment[0]]) for name in ("connection", "sender"))
    point = direction.sender_point if (direction := observed.direction(connection, sender)) else -1
    return point >= 0 and len(observed.rows(connection, point, 1 - sender)) > 0
