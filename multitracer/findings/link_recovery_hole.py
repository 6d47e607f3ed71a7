"""A gap in TCP's arrivals while the link repeated the frames that were next in order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multitracer.findings.finding import Finding
from multitracer.findings.needs import LINK_RTT, SEGMENT_FRAMES
from multitracer.findings.observations import Observations

KINDS = ("link-recovery-hole",)
NEEDS = (SEGMENT_FRAMES, LINK_RTT)


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each gap longer than the threshold during which the link repeated frames."""
    table, link_rtt = observed.segment_frames, observed.link_rtt_ns
    assert table is not None  # by NEEDS
    assert link_rtt is not None  # by NEEDS
    limit = observed.thresholds.hole_link_rtts * link_rtt
    for (connection, sender, link), group in table.groupby(["connection", "sender", "link"], sort=False):
        came = group[(group["delivered_ns"] >= 0) & (group["first_frame_ns"] >= 0)]
        came = came.sort_values("delivered_ns", kind="stable")
        delivered = came["delivered_ns"].to_numpy()
        for at in np.flatnonzero(np.diff(delivered) > limit):
            row = came.iloc[at + 1]
            start, end = int(delivered[at]), int(delivered[at + 1])
            # Sent first within the limit before it was delivered, the segment was only offered late.
            if row["frame_retransmissions"] <= 0 or row["first_frame_ns"] > end - limit:
                continue
            if any(s < end and e > start for s, e in observed.resets(int(link))):
                continue
            yield Finding(
                "link-recovery-hole", "link", int(connection), start, end,
                "confirmed" if row["matched_by"] == "payload" and not observed.monitored(int(link)) else "likely",
                f"nothing reached TCP for {(end - start) / 1e6:.0f} ms (link round trip {link_rtt / 1e6:.0f} ms)"
                f" while the link made {row['frame_retransmissions']} repeats of the frames of the segment"
                " that came next",
                {"gap_ms": (end - start) / 1e6, "link_rtt_ms": link_rtt / 1e6, "sender": sender,
                 "frame_retransmissions": int(row["frame_retransmissions"]), "seq": int(row["seq"])},
                bearer=observed.bearer_number(int(link)),
            )  # fmt: skip
