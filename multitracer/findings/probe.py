"""Tail loss probes, needed or needless."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multitracer.findings.finding import Finding
from multitracer.findings.needs import SEGMENTS
from multitracer.findings.observations import Observations
from multitracer.findings.retransmission_rows import finding

KINDS = ("probe",)
NEEDS = (SEGMENTS,)

_WAS = {"yes": "needless", "no": "needed", "unknown": "needed or not cannot be told"}
"""Column `spurious` in words."""


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each probe."""
    columns = observed.retransmission_columns
    for row in np.flatnonzero(observed.retransmissions["trigger"] == "probe").tolist():
        because = f"{columns['because'][row]} ({_WAS[columns['spurious'][row]]})"
        yield finding("probe", columns, [row], "confirmed", because)
