"""The captured packets with connection, observation point, and time on the reference clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.compute.arrays import rows_of_each, with_columns
from multitracer.compute.kernels import kernel
from multitracer.compute.threads import together
from multitracer.model.options import AnalyzeOptions, Progress
from multitracer.model.schema import MARKS
from multitracer.model.trace import Input, Trace
from multitracer.tcp.connections import Connections, find_connections
from multitracer.vantage import clocks
from multitracer.vantage.address_translation import match_translated
from multitracer.vantage.arrangement import as_one_input, in_time_order
from multitracer.vantage.clocks import Alignment
from multitracer.vantage.completeness import lost_records
from multitracer.vantage.copies import find_copies
from multitracer.vantage.firewalls import join_rewritten, with_own_numbers
from multitracer.vantage.label_places import join_labels
from multitracer.vantage.pairing import columns_of, match
from multitracer.vantage.points import Points, find_points

if TYPE_CHECKING:
    import pandas as pd

_LATEST = np.iinfo(np.int64).max

_LOST = (
    "This capture lost records: it lacks octets, in {count} place{s}, that were acknowledged. What else it lacks is "
    "not taken for lost by the network."
)


@dataclass(frozen=True)
class Captures:
    """Tables of the captures: `packets` and `segments` have the same rows, segments are on the reference clock."""

    inputs: list[Input]
    """All inputs, those with packets with their clock and role."""
    packets: pd.DataFrame
    flows: pd.DataFrame
    segments: pd.DataFrame
    sack: pd.DataFrame
    connections: pd.DataFrame
    alignment: Alignment
    lost: list[int]
    """Per point, how many stretches of acknowledged octets its capture lacks."""
    ports: tuple[int, ...] = ()
    """The points that are ports of one tap, each with a clock of its own."""

    @property
    def reference(self) -> str:
        """The path of the input whose clock is the reference."""
        return self.alignment.clocks[self.alignment.reference].reference


def place_captures(trace: Trace, options: AnalyzeOptions, progress: Progress) -> Captures:
    """Find the observation points, the connections, and the clock of every capture."""
    progress("finding connections", 0.0)
    placed = join_rewritten(join_labels(trace.tables))
    points = find_points(placed.tables, trace.inputs, placed.place, placed.names)
    tables, points, order = in_time_order(placed.tables, points.with_notes(placed.notes))
    packets = tables["packets"]
    flows = match_translated(packets, len(tables["flows"]), points.point)
    one_input = {**tables, "packets": as_one_input(packets, points)}
    # Flows are split into connections in one thread.
    found, copies = together(
        lambda: find_connections(one_input, points.point, (flows.flow, flows.swapped)),
        lambda: find_copies(placed.tables["packets"], len(tables["flows"]), placed.place),
    )
    points = points.with_copies(copies, order)
    segments = with_columns(found.segments, input=packets["input"].to_numpy())
    found = replace(found, segments=_with_mark(segments, "captured_twice", np.flatnonzero(points.captured_twice)))
    progress("placing clocks", 0.2)
    arranged = Trace(trace.inputs, {**tables, "packets": with_own_numbers(packets)})
    return _on_one_clock(arranged, points, found, options)


def _with_mark(segments: pd.DataFrame, mark: str, rows: Any) -> pd.DataFrame:
    """The segments with a mark on some rows."""
    if not len(rows):
        return segments
    marks = segments["marks"].to_numpy().copy()
    marks[rows] |= np.uint16(MARKS[mark])
    return with_columns(segments, marks=marks)


def _on_one_clock(trace: Trace, points: Points, found: Connections, options: AnalyzeOptions) -> Captures:
    numbers = {entry.path: entry.number for entry in trace.inputs}
    roles = {numbers[path]: role for path, role in options.roles.items() if path in numbers}
    stated = stated_clocks(trace.inputs, options)
    (alignment, segments, connections), lost = together(
        lambda: _place_on_clock(found, points, trace.inputs, roles, stated),
        lambda: lost_records(found.segments, len(found.connections), len(points.points)),
    )
    noted = [entry.with_notes(*points.notes.get(entry.number, ())) for entry in trace.inputs]
    for point, count in enumerate(lost):
        for number in points.points[point].inputs if count else ():
            noted[number] = noted[number].with_loss(_LOST.format(count=count, s="" if count == 1 else "s"))
    return Captures(
        clocks.with_clocks(noted, points, alignment), trace.tables["packets"], trace.tables["flows"], segments,
        found.sack, connections, alignment, lost,
        tuple(point.number for point in points.points if point.ports),
    )  # fmt: skip


def _place_on_clock(
    found: Connections, points: Points, inputs: list[Input], roles: Mapping[int, str],
    stated: Mapping[int, tuple[float, float]],
) -> tuple[Alignment, pd.DataFrame, pd.DataFrame]:  # fmt: skip
    """The clocks, the segments with their times on the reference, and when the connections begin and end by these."""
    alignment = clocks.align(found.segments, points, inputs, roles=roles, stated=stated)
    segments = with_columns(found.segments, time_ns=clocks.times_on_reference(alignment, found.segments))
    return alignment, segments, with_extents(found.connections, segments)


def stated_clocks(inputs: list[Input], options: AnalyzeOptions) -> dict[int, tuple[float, float]]:
    """The clocks stated with --clock, (offset in s, drift in ppm) by input number."""
    return {entry.number: options.clocks[entry.path] for entry in inputs if entry.path in options.clocks}


def select_rows(captures: Captures, keep: Any) -> Captures:
    """The captures with only the segments in the mask `keep`, and with all row numbers changed accordingly."""
    alignment, row = captures.alignment, np.cumsum(keep) - 1
    segments = captures.segments[keep].reset_index(drop=True)
    sack = captures.sack[keep[captures.sack["segment"].to_numpy()]].reset_index(drop=True)
    rows = rows_of_each(segments["point"].to_numpy(), len(alignment.clocks))
    cut = Alignment(alignment.reference, alignment.clocks, alignment.roles, rows)
    for one, other in alignment.pairings:
        cut.pairings[one, other] = match(columns_of(segments, rows[one]), columns_of(segments, rows[other]))
    return Captures(
        captures.inputs, captures.packets[keep].reset_index(drop=True), captures.flows, segments,
        with_columns(sack, segment=row[sack["segment"].to_numpy()]), with_extents(captures.connections, segments), cut,
        captures.lost, captures.ports,
    )  # fmt: skip


def with_extents(connections: pd.DataFrame, segments: pd.DataFrame) -> pd.DataFrame:
    """The connections with start_ns and end_ns, the times of their first and last segment."""
    start, end = np.full(len(connections), _LATEST), np.full(len(connections), -1, dtype=np.int64)
    extend_extents(segments["connection"].to_numpy(), segments["time_ns"].to_numpy(), start, end)
    return with_columns(connections, start_ns=start, end_ns=end)


@kernel
def extend_extents(connection: Any, time_ns: Any, start: Any, end: Any) -> None:
    """Lower `start` and raise `end`, arrays of shape (connections,), to each connection's first and last time."""
    for row in range(len(connection)):
        number = np.int64(connection[row])
        if number >= 0:
            start[number] = min(start[number], time_ns[row])
            end[number] = max(end[number], time_ns[row])
