"""The link sent frames again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multitracer.findings.finding import Finding
from multitracer.findings.grouping import groups_without_gap
from multitracer.findings.needs import FRAMES, LINK_RTT
from multitracer.findings.observations import Observations
from multitracer.link.air_time import frames_on_air
from multitracer.link.timing import Timing

KINDS = ("link-retransmissions",)
NEEDS = (FRAMES, LINK_RTT)


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each stretch in which the link repeated frames, with no longer pause than a link round trip."""
    frames, link_rtt = observed.frames, observed.link_rtt_ns
    assert frames is not None  # by NEEDS
    assert link_rtt is not None  # by NEEDS
    for link in sorted(link for link in frames["link"].unique().tolist() if link >= 0):
        heard = "heard of it" if observed.monitored(int(link)) else "sent"
        air = frames_on_air(frames, link, observed.timings.get(link, Timing()))
        again, over = air.start_ns[air.repeat], air.end_ns[air.repeat]
        if link not in observed.frame_ns:
            # To the next frame's start.
            next_start = np.append(air.start_ns, air.start_ns[-1:] + link_rtt)
            next_start = next_start[np.searchsorted(air.start_ns, again, side="right")]
            over = np.minimum(next_start, again + link_rtt)
        for run in groups_without_gap(again, link_rtt * observed.thresholds.group_rtts, over):
            first, end = int(again[run][0]), int(over[run][-1])
            sent = np.searchsorted(air.start_ns, again[run][-1], side="right") - np.searchsorted(air.start_ns, first)
            yield Finding(
                "link-retransmissions", "link", -1, first, end, "confirmed",
                f"{run.stop - run.start} of {sent} frames {heard} were repeats",
                {"count": run.stop - run.start, "sent": int(sent), "link": int(link)},
                bearer=observed.bearer_number(link),
            )  # fmt: skip
