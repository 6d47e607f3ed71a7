"""No frame got through the link either way for a while, without a reset."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from multitracer.findings.finding import Finding
from multitracer.findings.needs import FRAMES, LINK_RTT
from multitracer.findings.observations import Observations

KINDS = ("link-outage",)
NEEDS = (FRAMES, LINK_RTT)


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each stretch in which frames were sent, erased frames came, and no good one did."""
    frames, link_rtt = observed.frames, observed.link_rtt_ns
    assert frames is not None  # by NEEDS
    assert link_rtt is not None  # by NEEDS
    links = [link for link in frames["link"].unique() if link >= 0]
    bearers = {min(one for one in observed.bearer(link) if one >= 0) for link in links}
    for side, bearer in itertools.product(frames["side"].unique(), sorted(bearers)):
        mine = frames[(frames["side"] == side) & frames["link"].isin(observed.bearer(bearer))]
        mine = mine.sort_values("time_ns", kind="stable")
        resets = observed.resets(bearer)
        bad = (mine["type"] == "BAD").to_numpy()
        sent, time = mine["sent"].to_numpy(), mine["time_ns"].to_numpy()
        good = np.flatnonzero(~sent & ~bad)
        for before, after in itertools.pairwise(good):
            start, end = int(time[before]), int(time[after])
            if end - start <= observed.thresholds.outage_link_rtts * link_rtt:
                continue
            erased = int(bad[before:after].sum())
            repeats = mine["transmission"].to_numpy()[before:after]
            tried = sent[before:after]
            if any(s < end and e > start for s, e in resets) or not tried.any():
                continue
            # The far end may have had nothing to send: only frames that arrived damaged prove an outage.
            if not erased:
                continue
            yield Finding(
                "link-outage", "link", -1, start, end, "confirmed" if (repeats[tried] > 0).any() else "likely",
                f"for {(end - start) / 1e6:.0f} ms {erased} erased frames and no good one came to the {side}, while it "
                f"sent {int(tried.sum())}, of which {int((repeats[tried] > 0).sum())} were repeats",
                {"erased": erased, "sent": int(tried.sum()), "duration_ms": (end - start) / 1e6},
            )  # fmt: skip
