"""The link sent nothing because its peer had stopped it: XOFF, RNR, or a full window."""

from __future__ import annotations

from collections.abc import Iterator

from multitracer.findings.finding import Finding
from multitracer.findings.grouping import groups_without_gap
from multitracer.findings.needs import LINK_INTERVALS
from multitracer.findings.observations import Observations

KINDS = ("flow-control-gap",)
NEEDS = (LINK_INTERVALS,)


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each interval under flow control, and for each stretch with a full transmit window."""
    for link, start, end, because in observed.intervals("flow-control"):
        yield Finding(
            "flow-control-gap", "link", -1, start, end, "confirmed", because, {"duration_s": (end - start) / 1e9},
            bearer=observed.bearer_number(link),
        )  # fmt: skip
    yield from _full_windows(observed)


def _full_windows(observed: Observations) -> Iterator[Finding]:
    """Stretches in which data waited for the link's window: likely, as logs do not say how large the window is."""
    table = observed.accounting
    if table is None or observed.link_rtt_ns is None:
        return
    table = table[(table["cause"] == "flow_controlled").to_numpy()]
    if not len(table):
        return
    bearer = observed.bearer_number(int(table["link"].iloc[0]))
    start, end = table["start_ns"].to_numpy(), table["end_ns"].to_numpy()
    for _, stopped, until, _ in observed.intervals("flow-control"):
        other = (start < stopped) | (start >= until)
        start, end = start[other], end[other]
    for run in groups_without_gap(start, observed.link_rtt_ns):
        waited = int((end[run] - start[run]).sum())
        yield Finding(
            "flow-control-gap", "link", -1, int(start[run][0]), int(end[run][-1]), "likely",
            f"data waited {waited / 1e6:.0f} ms because as many frames were unacknowledged as the link ever allowed",
            {"duration_s": waited / 1e9}, bearer=bearer,
        )  # fmt: skip
