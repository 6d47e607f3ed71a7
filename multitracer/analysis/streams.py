"""TCP by its own segments: what each end sent, which segments arrived, and which were retransmitted and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from multitracer.analysis.captures import Captures
from multitracer.compute.arrays import rows_with
from multitracer.compute.threads import together
from multitracer.findings.directions import Directions
from multitracer.model.analysis import Ends, Ints
from multitracer.model.limits import Limits
from multitracer.model.options import Progress
from multitracer.model.paths import Paths
from multitracer.model.schema import MARKS, SPURIOUS, TRIGGERS
from multitracer.tcp.connection_rows import Groups
from multitracer.tcp.measures import measure
from multitracer.tcp.port_clocks import nearest_acks
from multitracer.tcp.receipt import received_before
from multitracer.tcp.retransmissions import classify
from multitracer.vantage.clocks import Alignment
from multitracer.vantage.paths import find_paths

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Streams:
    """Segments with their marks, and tables made from them; `segments` and `connections` have the captures' rows."""

    segments: pd.DataFrame
    connections: pd.DataFrame
    measures: pd.DataFrame
    paths: Paths
    groups: Groups
    retransmissions: pd.DataFrame


def follow_streams(captures: Captures, progress: Progress) -> Streams:
    """Measure what each end sent, find which segments arrived, and classify every retransmission."""
    connections, alignment = captures.connections, captures.alignment
    progress("measuring", 0.4)
    groups = Groups(captures.segments, len(connections))
    # One connection is measured in one thread: the other one groups its rows.
    (measures, segments), _ = together(
        lambda: measure(captures.segments, captures.sack, captures.packets["raw_window"].to_numpy()),
        lambda: groups.order,
    )
    paths = find_paths(segments, connections, alignment)
    progress("judging retransmissions", 0.5)
    groups, error_ns = groups.marked(segments), _arrival_errors(segments, paths, alignment)
    marked = rows_with(segments["marks"].to_numpy(), MARKS["retransmission"])
    received = received_before(segments, captures.sack, groups, paths, marked, captures.lost)
    near = nearest_acks(segments, groups, marked, captures.ports)
    resent = classify(segments, captures.sack, connections, groups, paths.seen_at, received, error_ns, near)
    return Streams(segments, connections, measures, paths, groups, resent)


def _arrival_errors(segments: pd.DataFrame, paths: Paths, alignment: Alignment) -> Ints | None:
    """Per row of segments, the clock error in ns between the two points that saw it; -1 if unknown."""
    if len(alignment.clocks) < 2:
        return None
    per_point = np.array(alignment.errors_ns)
    error = per_point[segments["point"].to_numpy()]
    other = per_point[segments["point"].to_numpy()[np.maximum(paths.arrival, 0)]]
    return np.where((paths.arrival >= 0) & (error >= 0) & (other >= 0), error + other, -1)


def pair_errors(alignment: Alignment, seen: Directions) -> dict[tuple[int, int], int]:
    """The clock error in ns, at worst, between the two points beside each direction, if both clocks are known."""
    known = {point: error for point, error in enumerate(alignment.worsts_ns) if error >= 0}
    pairs = set(zip(*(points.tolist() for points in (seen.sender_point, seen.receiver_point)), strict=True))
    return {(a, b): known[a] + known[b] for a, b in pairs if a != b and a in known and b in known}


def directions(streams: Streams) -> Directions:
    """Every end that sent packets, with the points beside it and its peer, and its least and greatest round trip."""
    measures, paths = streams.measures, streams.paths
    connection, sender = measures["connection"].to_numpy(), measures["sender"].to_numpy()
    seen = measures["point"].to_numpy() == paths.seen_at[connection, sender]
    seen &= measures["packets"].to_numpy() > 0
    connection, sender = connection[seen], sender[seen]
    near, far = paths.sender_point[connection, sender], paths.receiver_point[connection, sender]
    least, greatest = (
        np.where(near < 0, 0, np.rint(np.nan_to_num(measures[name].to_numpy()[seen]) * 1e6)).astype(np.int64)
        for name in ("rtt_min_ms", "rtt_max_ms")
    )
    data = np.nan_to_num(measures["unique_bytes"].to_numpy()[seen]).astype(np.int64)
    columns = (connection, sender, near, far, least, greatest, data)
    return Directions(*(values.astype(np.int64) for values in columns))


def largest_end(streams: Streams) -> int | None:
    """The end that sent most data, 2 * connection + sender; None if none sent any."""
    measures, paths = streams.measures, streams.paths
    connection, sender, point = (measures[name].to_numpy() for name in ("connection", "sender", "point"))
    data = np.where(paths.seen_at[connection, sender] == point, np.nan_to_num(measures["unique_bytes"].to_numpy()), 0)
    end = 2 * connection.astype(np.int64) + sender
    return int(end[data == data.max()].min()) if len(data) and data.max() > 0 else None


def ends(streams: Streams, limits: Limits, clocks: npt.NDArray[np.float64]) -> Ends:
    """What every end of every connection sent, measured at the point nearest to it.

    `clocks` are the kernel's own of each end.
    """
    measures, connections, resent = streams.measures, streams.connections, streams.retransmissions
    connection, sender, point = (measures[name].to_numpy() for name in ("connection", "sender", "point"))
    best = np.flatnonzero((streams.paths.seen_at[connection, sender] == point) & measures["captured"].to_numpy())
    row = np.full(2 * len(connections), -1)
    row[(2 * connection + sender)[best]] = best
    number = resent["connection"].to_numpy().astype(np.int64)
    from_server = resent["sender"].to_numpy() != connections["client"].to_numpy()[number]
    end = 2 * number + from_server
    triggers, spurious = (
        {kind: np.bincount(end[resent[name] == kind], minlength=len(row)) for kind in kinds}
        for name, kinds in (("trigger", TRIGGERS), ("spurious", SPURIOUS))
    )
    return Ends(measures, row, triggers, spurious, limits, clocks)
