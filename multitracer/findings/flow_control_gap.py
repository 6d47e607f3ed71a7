"""The link sent nothing because its peer had stopped it: XOFF, RNR, or a full window."""

from __future__ import annotations

from collections.abc import Iterator

from multitracer.findings.finding import Finding
from multitracer.findings.needs import LINK_INTERVALS
from multitracer.findings.observations import Observations

KINDS = ("flow-control-gap",)
NEEDS = (LINK_INTERVALS,)


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each interval under flow control."""
    for _, start, end, because in observed.intervals("flow-control"):
        yield Finding(
            "flow-control-gap", "link", -1, start, end, "confirmed", because, {"duration_s": (end - start) / 1e9}
        )
