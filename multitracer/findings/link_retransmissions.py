"""The link sent frames again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multitracer.findings.finding import Finding
from multitracer.findings.grouping import groups_without_gap
from multitracer.findings.needs import FRAMES, LINK_RTT
from multitracer.findings.observations import Observations

KINDS = ("link-retransmissions",)
NEEDS = (FRAMES, LINK_RTT)


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each stretch in which the link repeated frames, with no longer pause than a link round trip."""
    frames, link_rtt = observed.frames, observed.link_rtt_ns
    assert frames is not None  # by NEEDS
    assert link_rtt is not None  # by NEEDS
    for link in sorted(link for link in frames["link"].unique().tolist() if link >= 0):
        mine = frames[((frames["link"] == link) & frames["sent"]).to_numpy()]
        heard = "heard of it" if observed.monitored(int(link)) else "sent"
        time, repeat = mine["time_ns"].to_numpy(), (mine["transmission"] > 0).to_numpy()
        order = np.argsort(time, kind="stable")
        time, repeat = time[order], repeat[order]
        again = time[repeat]
        # To the end of a repeat's air time, no later than the next frame's start.
        next_start = np.append(time, time[-1:] + link_rtt)[np.searchsorted(time, again, side="right")]
        over = np.minimum(next_start, again + observed.frame_ns.get(link, link_rtt))
        for run in groups_without_gap(again, link_rtt * observed.thresholds.group_rtts, over):
            first, end = int(again[run][0]), int(over[run][-1])
            sent = int(np.searchsorted(time, again[run][-1], side="right") - np.searchsorted(time, first))
            yield Finding(
                "link-retransmissions", "link", -1, first, end, "confirmed",
                f"{run.stop - run.start} of {sent} frames {heard} were repeats",
                {"count": run.stop - run.start, "sent": sent, "link": int(link)},
                bearer=observed.bearer_number(link),
            )  # fmt: skip
