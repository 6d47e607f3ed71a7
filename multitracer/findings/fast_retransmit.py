"""Fast retransmissions and the recoveries that they began: loss inferred from acknowledgements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from multitracer.findings.finding import Finding
from multitracer.findings.needs import SEGMENTS
from multitracer.findings.observations import Observations
from multitracer.findings.retransmission_rows import Columns, finding

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("fast-retransmit", "spurious-fast-retransmit")
NEEDS = (SEGMENTS,)


def detect(observed: Observations) -> Iterator[Finding]:
    """Each recovery that a fast retransmission began: its needed resends, and its needless ones."""
    columns, recoveries = observed.retransmission_columns, _recoveries(observed.retransmissions)
    for row in np.flatnonzero(observed.retransmissions["trigger"] == "fast").tolist():
        yield from _recovery(columns, row, recoveries.get(row, []))


def _recovery(columns: Columns, row: int, recoveries: list[int]) -> Iterator[Finding]:
    """One finding about the needless resends of a recovery, one about the needed ones, one about the unknown."""
    rows = [row, *recoveries]
    for kind, spurious, verdict in (
        ("fast-retransmit", "no", "confirmed"),
        ("spurious-fast-retransmit", "yes", "confirmed"),
        ("fast-retransmit", "unknown", "undecided"),
    ):
        mine = [r for r in rows if columns["spurious"][r] == spurious]
        if mine:
            yield finding(kind, columns, mine, verdict, columns["because"][mine[0]])


def _recoveries(table: pd.DataFrame) -> dict[int, list[int]]:
    """By the row of each fast retransmission, the rows of its recovery: all until the next one or a timeout."""
    trigger = table["trigger"]
    begun, over, within = ((trigger == name).to_numpy() for name in ("fast", "timeout", "recovery"))
    if not begun.any():
        return {}
    end = table.groupby(["connection", "sender"], sort=False).ngroup().to_numpy()
    order = np.argsort(end, kind="stable")
    place = np.arange(len(order))
    # For each row, sorted by end, the latest row up to it that began a recovery or ended one.
    marked = np.maximum.accumulate(np.where((begun | over)[order], place, -1))
    mine = within[order] & (marked >= 0)
    mine[mine] = begun[order[marked[mine]]] & (end[order[marked[mine]]] == end[order[mine]])
    found: dict[int, list[int]] = {}
    for first, row in sorted(zip(order[marked[mine]].tolist(), order[mine].tolist(), strict=True)):
        found.setdefault(first, []).append(row)
    return found
