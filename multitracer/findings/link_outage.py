"""No frame got through the link either way for a while."""

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
    frames = observed.frames
    assert frames is not None  # by NEEDS
    links = [link for link in frames["link"].unique() if link >= 0]
    bearers = {observed.bearer_number(link) for link in links}
    for side, bearer in itertools.product(frames["side"].unique(), sorted(bearers)):
        yield from _heard_by(observed, str(side), bearer)


def _heard_by(observed: Observations, side: str, bearer: int) -> Iterator[Finding]:
    """The outages in one end's log: from the last good frame that came to the next one, or to a reset's begin."""
    frames, link_rtt = observed.frames, observed.link_rtt_ns
    assert frames is not None
    assert link_rtt is not None
    mine = frames[(frames["side"] == side) & frames["link"].isin(observed.bearer(bearer))]
    mine = mine.sort_values("time_ns", kind="stable")
    bad, sent, time, repeat = (
        (mine["type"] == "BAD").to_numpy(), mine["sent"].to_numpy(), mine["time_ns"].to_numpy(),
        (mine["transmission"] > 0).to_numpy(),
    )  # fmt: skip
    begins = np.array([start for start, _ in observed.resets(bearer)], dtype=np.int64)
    good = np.flatnonzero(~sent & ~bad)
    long = np.flatnonzero(np.diff(time[good]) > observed.thresholds.outage_link_rtts * link_rtt)
    for before, after in zip(good[long].tolist(), good[long + 1].tolist(), strict=True):
        start, end = int(time[before]), int(time[after])
        reset = begins[(begins > start) & (begins < end)]
        end = int(reset[0]) if len(reset) else end
        within = slice(before, int(np.searchsorted(time, end)))
        # The far end may have had nothing to send: only frames that arrived damaged prove an outage.
        erased, tried, repeats = int(bad[within].sum()), int(sent[within].sum()), int((sent & repeat)[within].sum())
        if end - start <= observed.thresholds.outage_link_rtts * link_rtt or not tried or not erased:
            continue
        yield Finding(
            "link-outage", "link", -1, start, end, "confirmed" if repeats or len(reset) else "likely",
            f"for {(end - start) / 1e6:.0f} ms {erased} erased frames and no good one came to the {side}, while it "
            f"sent {tried}, of which {repeats} were repeats" + ("; then the link was reset" if len(reset) else ""),
            {"erased": erased, "sent": tried, "duration_ms": (end - start) / 1e6}, bearer=bearer,
        )  # fmt: skip
