"""Fast retransmissions and the recoveries that they began: loss inferred from acknowledgements."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multitracer.compute.arrays import Columns
from multitracer.findings.finding import Finding
from multitracer.findings.needs import SEGMENTS
from multitracer.findings.observations import Observations
from multitracer.findings.retransmission_rows import finding, recoveries

KINDS = ("fast-retransmit", "spurious-fast-retransmit")
NEEDS = (SEGMENTS,)


def detect(observed: Observations) -> Iterator[Finding]:
    """Each recovery that a fast retransmission began: its needed resends, and its needless ones."""
    columns = observed.retransmission_columns
    repairs = recoveries(observed.retransmissions, begun_by="fast", ended_by="timeout")
    for row in np.flatnonzero(observed.retransmissions["trigger"] == "fast").tolist():
        yield from _recovery(columns, row, repairs.get(row, []))


def _recovery(columns: Columns, row: int, repairs: list[int]) -> Iterator[Finding]:
    """One finding about the needless resends of a recovery, one about the needed ones, one about the unknown.

    All are undecided where the resend that began it may be part of a timeout's recovery.
    """
    rows = [row, *repairs]
    sure = "undecided" if columns["in_doubt"][row] else "confirmed"
    for kind, spurious, verdict in (
        ("fast-retransmit", "no", sure),
        ("spurious-fast-retransmit", "yes", sure),
        ("fast-retransmit", "unknown", "undecided"),
    ):
        mine = [r for r in rows if columns["spurious"][r] == spurious]
        if mine:
            yield finding(kind, columns, mine, verdict, columns["because"][mine[0]])
