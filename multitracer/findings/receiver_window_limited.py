"""The receiver's window held the sender back for longer than a round trip."""

from __future__ import annotations

from itertools import repeat

from multitracer.findings.finding_columns import FindingColumns
from multitracer.findings.limited_stretches import distinct_stretches, findings_of, limited, of_each
from multitracer.findings.needs import LIMITS
from multitracer.findings.observations import Observations

KINDS = ("receiver-window-limited",)
NEEDS = (LIMITS,)

_WHAT = "the next segment did not fit the window that the receiver advertised, and the path had room"


def detect(observed: Observations) -> FindingColumns:
    """One finding for each time that the receiver's window limited one end."""
    found = limited(observed, "receiver_window", group_rtts=observed.thresholds.group_rtts)
    rows, which = distinct_stretches(found)
    made = findings_of("receiver-window-limited", found.at(rows), repeat("receiver"), repeat(_WHAT))
    return of_each(made, which, found)
