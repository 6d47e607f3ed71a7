"""The captured packets on one clock: which connection each is of, where it was seen, and when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.compute.arrays import with_columns
from multitracer.compute.kernels import kernel
from multitracer.model.options import AnalyzeOptions, Progress
from multitracer.model.trace import Input, Trace
from multitracer.tcp.connections import Connections, find_connections
from multitracer.vantage import clocks
from multitracer.vantage.address_translation import match_translated
from multitracer.vantage.clocks import Alignment
from multitracer.vantage.pairing import match
from multitracer.vantage.points import Points, find_points

if TYPE_CHECKING:
    import pandas as pd

_LATEST = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Captures:
    """`packets` and `segments` have the same rows, and times of segments are on the reference clock."""

    inputs: list[Input]
    """With the clocks and roles of those that hold packets."""
    packets: pd.DataFrame
    flows: pd.DataFrame
    segments: pd.DataFrame
    sack: pd.DataFrame
    connections: pd.DataFrame
    alignment: Alignment

    @property
    def reference(self) -> str:
        """The path of the input whose clock is the reference."""
        return self.alignment.clocks[self.alignment.reference].reference


def place_captures(trace: Trace, options: AnalyzeOptions, progress: Progress) -> Captures:
    """Find the observation points, the connections that they saw, and every capture's clock."""
    tables = trace.tables
    progress("finding connections", 0.0)
    points = find_points(tables, trace.inputs)
    flows = match_translated(tables["packets"], len(tables["flows"]), points.point)
    found = find_connections(tables, points.point, points.captured_twice, (flows.flow, flows.swapped))
    progress("placing clocks", 0.2)
    return _on_one_clock(trace, points, found, options)


def _on_one_clock(trace: Trace, points: Points, found: Connections, options: AnalyzeOptions) -> Captures:
    numbers = {entry.path: entry.number for entry in trace.inputs}
    roles = {numbers[path]: role for path, role in options.roles.items() if path in numbers}
    stated = stated_clocks(trace.inputs, options)
    alignment = clocks.align(found.segments, points, trace.inputs, roles=roles, stated=stated)
    segments = with_columns(found.segments, time_ns=clocks.apply(alignment, found.segments))
    noted = [entry.noting(*points.notes.get(entry.number, ())) for entry in trace.inputs]
    return Captures(
        clocks.with_clocks(noted, points, alignment), trace.tables["packets"], trace.tables["flows"], segments,
        found.sack, dated(found.connections, segments), alignment,
    )  # fmt: skip


def stated_clocks(inputs: list[Input], options: AnalyzeOptions) -> dict[int, tuple[float, float]]:
    """The clocks that the user states, by number of the input."""
    return {entry.number: options.clocks[entry.path] for entry in inputs if entry.path in options.clocks}


def kept_rows(captures: Captures, keep: Any) -> Captures:
    """Only the segments in the mask `keep`, with what refers to their rows."""
    alignment, row = captures.alignment, np.cumsum(keep) - 1
    segments = captures.segments[keep].reset_index(drop=True)
    sack = captures.sack[keep[captures.sack["segment"].to_numpy()]].reset_index(drop=True)
    cut = Alignment(alignment.reference, alignment.clocks, alignment.roles, segments["point"].to_numpy())
    for one, other in alignment.pairings:
        cut.pairings[one, other] = match(segments.take(cut.rows[one]), segments.take(cut.rows[other]))
    return Captures(
        captures.inputs, captures.packets[keep].reset_index(drop=True), captures.flows, segments,
        with_columns(sack, segment=row[sack["segment"].to_numpy()]), dated(captures.connections, segments), cut,
    )  # fmt: skip


def dated(connections: pd.DataFrame, segments: pd.DataFrame) -> pd.DataFrame:
    """The connections with the times of their first and last segment, on the reference clock."""
    start, end = np.full(len(connections), _LATEST), np.full(len(connections), -1, dtype=np.int64)
    note_extents(segments["connection"].to_numpy(), segments["time_ns"].to_numpy(), start, end)
    return with_columns(connections, start_ns=start, end_ns=end)


@kernel
def note_extents(connection: Any, time_ns: Any, start: Any, end: Any) -> None:
    """The least and the greatest time of each connection."""
    for row in range(len(connection)):
        number = np.int64(connection[row])
        if number >= 0:
            start[number] = min(start[number], time_ns[row])
            end[number] = max(end[number], time_ns[row])
