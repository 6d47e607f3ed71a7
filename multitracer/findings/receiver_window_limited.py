"""The receiver's window held the sender back for longer than a round trip."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

from multitracer.findings.finding import Finding
from multitracer.findings.limited_stretches import findings_of, limited
from multitracer.findings.needs import LIMITS
from multitracer.findings.observations import Observations

KINDS = ("receiver-window-limited",)
NEEDS = (LIMITS,)

_WHAT = "the next segment did not fit the window that the receiver advertised, and the path had room"


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each time that the receiver's window limited one end."""
    found = limited(observed, "receiver_window", group_rtts=observed.thresholds.group_rtts)
    return findings_of("receiver-window-limited", found, repeat("receiver"), repeat(_WHAT))
