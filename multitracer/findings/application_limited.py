"""The application left TCP without data to send for longer than a round trip."""

from __future__ import annotations

from collections.abc import Iterator

from multitracer.findings.finding import Finding
from multitracer.findings.limited_stretches import finding, limited
from multitracer.findings.needs import LIMITS
from multitracer.findings.observations import Observations

KINDS = ("application-limited",)
NEEDS = (LIMITS,)


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each time that the application limited one end."""
    for one in limited(observed, "application", group_rtts=observed.thresholds.group_rtts):
        yield finding("application-limited", "sender", one, "TCP had nothing more to send")
