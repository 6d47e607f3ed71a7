"""The receiver advertised a window of zero: the application there did not read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multitracer.compute.arrays import rows_with
from multitracer.findings.finding import Finding
from multitracer.findings.needs import SEGMENTS
from multitracer.findings.observations import Observations
from multitracer.model.schema import MARKS

KINDS = ("zero-window",)
NEEDS = (SEGMENTS,)


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each time that a window was closed, until it opened or the capture ends."""
    marks = observed.column("marks")
    marked = rows_with(marks, MARKS["zero_window"])
    if not len(marked):
        return
    mine = np.isin(observed.directions.connection, observed.column("connection")[marked])
    time = observed.column("time_ns")
    for direction in observed.directions.at(mine):
        rows = observed.rows_seen(direction)
        closed = marks[rows] & MARKS["zero_window"] != 0
        edges = np.flatnonzero(np.diff(np.concatenate([[False], closed]).astype(np.int8)))
        for start, stop in zip(edges[::2], [*edges[1::2].tolist(), len(rows)][: len(edges[::2])], strict=True):
            group = rows[start:stop]
            until = rows[stop] if stop < len(rows) else rows[-1]
            wait = (int(time[until]) - int(time[group[0]])) / 1e6
            yield Finding(
                "zero-window", "receiver", direction.connection, int(time[group[0]]), int(time[until]), "confirmed",
                f"the window was advertised as zero {len(group)} times, and opened {wait:.1f} ms after the first"
                if stop < len(rows)
                else f"the window was advertised as zero {len(group)} times, and was not seen to open again",
                {"count": len(group), "records": observed.references(group)},
            )  # fmt: skip
