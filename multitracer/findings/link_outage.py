"""The link was dead: no frame got through either way, and nobody reset it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from multitracer.findings.scene import Finding, Scene

KINDS = ("link-outage",)
NEEDS = ("frames",)


def detect(scene: Scene) -> Iterator[Finding]:
    """One finding for each stretch in which frames were sent, erased frames came, and no good one did."""
    frames, link_rtt = scene.frames, scene.link_rtt_ns
    if frames is None or link_rtt is None:
        return
    bearers = {min(link for link in scene.bearer(link) if link >= 0) for link in frames["link"].unique() if link >= 0}
    for side, bearer in itertools.product(frames["side"].unique(), sorted(bearers)):
        mine = frames[(frames["side"] == side) & frames["link"].isin(scene.bearer(bearer))]
        mine = mine.sort_values("time_ns", kind="stable")
        resets = scene.resets(bearer)
        bad = (mine["type"] == "BAD").to_numpy()
        sent, time = mine["sent"].to_numpy(), mine["time_ns"].to_numpy()
        good = np.flatnonzero(~sent & ~bad)
        for before, after in itertools.pairwise(good):
            start, end = int(time[before]), int(time[after])
            if end - start <= scene.thresholds.outage_link_rtts * link_rtt:
                continue
            erased = int(bad[before:after].sum())
            repeats = mine["transmission"].to_numpy()[before:after]
            tried = sent[before:after]
            if any(s < end and e > start for s, e in resets) or not tried.any():
                continue
            # A silent far end is not a dead link: only frames that arrived in pieces prove one.
            if not erased:
                continue
            yield Finding(
                "link-outage", "link", -1, start, end, "confirmed" if (repeats[tried] > 0).any() else "likely",
                f"for {(end - start) / 1e6:.0f} ms {erased} erased frames and no good one came to the {side}, while it "
                f"sent {int(tried.sum())}, of which {int((repeats[tried] > 0).sum())} were repeats",
                {"erased": erased, "sent": int(tried.sum()), "duration_ms": (end - start) / 1e6},
            )  # fmt: skip
