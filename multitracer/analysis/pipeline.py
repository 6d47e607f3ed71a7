"""The analysis: from what was recorded to what is concluded, one step after the other.

    packets -> points -> connections, segments -> clocks -> paths -> measures -> retransmissions
    frames  -> numbered frames, events -> packets carried -> segment_frames -> accounting
    all of it -> findings
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer import findings
from multitracer.accounting.session import Transfer
from multitracer.analysis.anonymize import anonymize
from multitracer.analysis.link_layer import LinkLayer, join_layers
from multitracer.analysis.summary import Connections, Ends, Totals, summarize
from multitracer.compute.arrays import attach
from multitracer.compute.kernels import kernel
from multitracer.findings import Observations
from multitracer.findings.observations import Direction
from multitracer.model.errors import UsageError
from multitracer.model.options import AnalyzeOptions
from multitracer.model.trace import Trace
from multitracer.parsers.shared.experiment import read
from multitracer.tcp import state_logs
from multitracer.tcp.connection_rows import Groups
from multitracer.tcp.connections import find_connections
from multitracer.tcp.measures import measure
from multitracer.tcp.retransmissions import classify
from multitracer.vantage import clocks
from multitracer.vantage.address_translation import match_translated
from multitracer.vantage.clocks import Alignment
from multitracer.vantage.pairing import match
from multitracer.vantage.paths import Paths, find_paths
from multitracer.vantage.points import Points, find_points

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.model.trace import Clock

Ints: TypeAlias = npt.NDArray[np.int64]
Progress: TypeAlias = Callable[[str, float], None]

_LATEST = np.iinfo(np.int64).max


@dataclass
class Analysis:
    """Everything concluded about one trace; `tables` are those of `multitracer.model.schema`."""

    trace: Trace
    tables: dict[str, pd.DataFrame]
    connections: pd.DataFrame
    measures: pd.DataFrame
    paths: Paths
    points: Points
    origin_ns: int
    options: AnalyzeOptions
    links: LinkLayer
    observed: Observations
    missing: list[str] = field(default_factory=list)
    """Which input would tell what is not known, one sentence each."""

    def summary(self) -> dict[str, Any]:
        """The content of summary.json."""
        document = summarize(self)
        return {**document, "connections": list(document["connections"])}

    def report(self, path: str | Path) -> None:
        """Write the report: one HTML file that opens without a network."""
        from multitracer.report import write

        write(self, Path(path))

    @property
    def link_rows(self) -> list[dict[str, Any]]:
        """links[] of the summary."""
        return self.links.rows

    @property
    def utilization(self) -> dict[str, Any] | None:
        """Utilization of the link and direction that carried most data; None without a link's rate."""
        return self.links.utilization

    @property
    def shares(self) -> dict[str, float] | None:
        """The accounting's shares of that link; None without a link's rate."""
        return self.links.shares


    def direction(self, connection: int, sender: int) -> dict[str, Any]:
        """What one end of a connection sent (0 the client), as in the summary."""
        return self.ends.of(np.array([2 * connection + sender]))[0]

    @cached_property
    def totals(self) -> Totals:
        """What the connections sent together, and which of them sent most."""
        return Connections(self).totals()

    @cached_property
    def main_ends(self) -> Ints:
        """Which end of each connection sent more data: 0 the client, 1 the server."""
        return self.ends.counts("unique_bytes").argmax(axis=1)

    @cached_property
    def ends(self) -> Ends:
        """What every end of every connection sent."""
        return Ends(self.measures, self.tables["retransmissions"], self.connections, self.paths.seen_at)


def analyze_paths(
    paths: Sequence[str | Path], options: AnalyzeOptions | None = None, progress: Progress | None = None
) -> Analysis:
    """Read every input and analyse them as recordings of one experiment."""
    return analyze(read(*map(str, paths), progress=progress), options, progress)


def analyze(
    trace: Trace, options: AnalyzeOptions | None = None, progress: Progress | None = None
) -> Analysis:
    """Say which layer was responsible, when, and on what evidence."""
    options, progress = options or AnalyzeOptions(), progress or _silent
    whole = None
    if options.cuts:
        # Clocks are placed by all that was recorded, and seconds count from its start.
        whole = _Pipeline(_own(trace), options.uncut(), progress).run()
    analysis = _Pipeline(_own(trace), options, progress, whole).run()
    if options.anonymize:
        anonymize(analysis)
    return analysis


def _own(trace: Trace) -> Trace:
    """The trace with inputs of its own to note clocks and roles in."""
    inputs = [
        replace(entry, recording=replace(entry.recording, notes=list(entry.recording.notes))) for entry in trace.inputs
    ]
    return Trace(inputs, dict(trace.tables))


def _silent(_: str, __: float) -> None:
    pass


def _cut(
    segments: pd.DataFrame, sack: pd.DataFrame, alignment: Alignment, keep: Any
) -> tuple[pd.DataFrame, pd.DataFrame, Alignment]:
    """The kept segments as a table of its own, with what refers to its rows."""
    row = np.cumsum(keep) - 1
    kept = segments[keep].reset_index(drop=True)
    sack = sack[keep[sack["segment"].to_numpy()]].reset_index(drop=True)
    sack["segment"] = row[sack["segment"].to_numpy()]
    cut = replace(alignment, point=kept["point"].to_numpy(), pairings={})
    for one, other in alignment.pairings:
        cut.pairings[one, other] = match(kept.take(cut.rows[one]), kept.take(cut.rows[other]))
    return kept, sack, cut


def _date(connections: pd.DataFrame, segments: pd.DataFrame) -> None:
    """When each connection began and ended, on the reference clock."""
    start, end = np.full(len(connections), _LATEST), np.full(len(connections), -1, dtype=np.int64)
    note_extents(segments["connection"].to_numpy(), segments["time_ns"].to_numpy(), start, end)
    connections["start_ns"], connections["end_ns"] = start, end


@kernel
def note_extents(connection: Any, time_ns: Any, start: Any, end: Any) -> None:
    """The least and the greatest time of each connection."""
    for row in range(len(connection)):
        number = np.int64(connection[row])
        if number >= 0:
            start[number] = min(start[number], time_ns[row])
            end[number] = max(end[number], time_ns[row])


@dataclass
class _Pipeline:
    """The steps, and what they hand on."""

    trace: Trace
    options: AnalyzeOptions
    progress: Progress
    whole: Analysis | None = None
    """The analysis of all that was recorded, where this is one of a part."""

    def run(self) -> Analysis:
        tables, inputs = self.trace.tables, self.trace.inputs
        self.progress("finding connections", 0.0)
        points = find_points(tables, inputs)
        for number, said in points.notes.items():
            inputs[number].recording.notes.extend(said)
        flows = match_translated(tables["packets"], len(tables["flows"]), points.point)
        found = find_connections(tables, points.point, points.captured_twice, (flows.flow, flows.swapped))
        segments, sack = found.segments, found.sack
        self.progress("placing clocks", 0.2)
        alignment = self._align(segments, points)
        raw_ack, raw_window = (tables["packets"][name].to_numpy() for name in ("raw_ack", "raw_window"))
        if self.options.cuts:
            keep = self._kept(segments, len(found.connections))
            segments, sack, alignment = _cut(segments, sack, alignment, keep)
            raw_ack, raw_window = raw_ack[keep], raw_window[keep]
            self.trace.tables["packets"] = tables["packets"][keep].reset_index(drop=True)
        _date(found.connections, segments)
        self.progress("measuring", 0.4)
        measures = measure(segments, sack, raw_window)
        paths = find_paths(segments, found.connections, alignment)
        state = self._state(segments, raw_ack, found.connections, paths, alignment)
        self.progress("judging retransmissions", 0.5)
        error_ns = self._errors(segments, paths, alignment)
        groups = Groups(segments, len(found.connections))
        resent = classify(segments, sack, found.connections, groups, paths.seen_at, paths.arrived, error_ns)
        self.progress("joining the layers", 0.6)
        transfer = Transfer(segments, found.connections, resent, state, paths, groups)
        links = join_layers(
            self.trace, segments, found.connections, paths, alignment, self._stated(), transfer,
            self.options.link_rate_bps, self._window() if self.options.cuts else None, self._known(),
        )  # fmt: skip
        if self.whole is not None:
            # Why a link is idle shows only in what follows: the part is cut from the whole's accounting.
            begin, end = self._window()
            parts = {link: one.within(begin, end) for link, one in self.whole.links.accounts.items()}
            links.note_accounts(parts)
        self.progress("looking for findings", 0.9)
        observed = Observations(
            segments, found.connections, resent, self._directions(measures, paths), paths.arrival, paths.arrived,
            self._pair_errors(alignment), links=links.links, frames=links.frames, link_intervals=links.intervals,
            segment_frames=links.segment_frames, accounting=links.main_accounting, link_rtt_ns=links.link_rtt_ns,
            groups=groups, usual_rtt_ns=self._usual_rtt_ns(), thresholds=self.options.thresholds,
        )  # fmt: skip
        concluded = {
            "segments": segments, "sack": sack, "tcp_state": state, "retransmissions": resent,
            "connections": found.connections, "findings": findings.find(observed).table, **links.tables(),
        }  # fmt: skip
        return Analysis(
            self.trace, concluded, found.connections, measures, paths, points,
            self._origin(concluded), self.options, links, observed, self._missing(concluded, links),
        )  # fmt: skip

    def _usual_rtt_ns(self) -> int:
        """The largest of the connections' least round trips in all that was recorded, 0 unknown."""
        if self.whole is None:
            return 0
        return max((direction.least_rtt_ns for direction in self.whole.observed.directions), default=0)

    def _window(self) -> tuple[int, int]:
        """The window to analyse, on the reference clock."""
        begin, end = self.options.from_s, self.options.to_s
        start = self._window_start()
        return (
            start + round(begin * 1e9) if begin is not None else -_LATEST,
            start + round(end * 1e9) if end is not None else _LATEST,
        )

    def _window_start(self) -> int:
        """What the window's seconds count from."""
        return self.whole.origin_ns if self.whole is not None else 0

    def _kept(self, segments: pd.DataFrame, connections: int) -> Any:
        """Which segments are in the window, and of the connections that are wanted."""
        begin, end = self._window()
        time_ns = segments["time_ns"].to_numpy()
        keep = (time_ns >= begin) & (time_ns < end)
        wanted = self.options.connections
        absent = [number for number in wanted if number >= connections]
        if absent:
            there = f"0 to {connections - 1}" if connections > 1 else "0" if connections else "none"
            raise UsageError(f"--connection {absent[0]}: there is none of that number\nThere are: {there}.")
        keep = keep & np.isin(segments["connection"].to_numpy(), wanted) if wanted else keep
        if not keep.any() and not len(self.trace.tables["frames"]):
            there = "There is no TCP packet in these inputs."
            if len(time_ns):
                there = f"There are packets up to {(int(time_ns.max()) - self._window_start()) / 1e9:.1f} s."
            raise UsageError(f"nothing was captured in that window\n{there}")
        return keep

    def _align(self, segments: pd.DataFrame, points: Points) -> Alignment:
        """Find every capture's clock, and put the segments on the reference clock."""
        numbers = {entry.path: entry.number for entry in self.trace.inputs}
        roles = {numbers[path]: role for path, role in self.options.roles.items() if path in numbers}
        alignment = clocks.align(segments, points, self.trace.inputs, roles=roles, stated=self._stated())
        attach(segments, "time_ns", clocks.apply(alignment, segments))
        return alignment

    def _known(self) -> dict[int, Clock]:
        """The clocks that the whole trace placed, of what is no capture."""
        entries = self.whole.trace.inputs if self.whole is not None else []
        return {entry.number: entry.clock for entry in entries if entry.clock is not None}

    def _stated(self) -> dict[int, tuple[float, float]]:
        return {
            entry.number: self.options.clocks[entry.path]
            for entry in self.trace.inputs
            if entry.path in self.options.clocks
        }

    def _state(
        self, segments: pd.DataFrame, raw_ack: Any, connections: pd.DataFrame, paths: Paths, alignment: Alignment
    ) -> pd.DataFrame:
        if self.whole is not None:
            # Placed by all that was recorded; a part may hold nothing to place it by.
            for entry, seen in zip(self.trace.inputs, self.whole.trace.inputs, strict=True):
                entry.clock = entry.clock or seen.clock
                entry.recording.notes = list(dict.fromkeys([*entry.recording.notes, *seen.recording.notes]))
            placed, (begin, end) = self.whole.tables["tcp_state"], self._window()
            return placed[(placed["time_ns"] >= begin) & (placed["time_ns"] < end)].reset_index(drop=True)
        state = self.trace.tables["tcp_state"]
        if not len(state) or not len(segments):
            return state
        inputs, reference = self.trace.inputs, alignment.clocks[alignment.reference].reference
        return state_logs.place(
            state, segments, raw_ack, connections, paths.sender_point, inputs, reference, self._stated(), self._known()
        )

    def _errors(self, segments: pd.DataFrame, paths: Paths, alignment: Alignment) -> Ints | None:
        """Per row of segments, the clock error that the judgement of its arrival bore: -1 where none."""
        if len(alignment.clocks) < 2:
            return None
        per_point = np.array([alignment.error_ns(point) for point in range(len(alignment.clocks))])
        error = per_point[segments["point"].to_numpy()]
        other = per_point[segments["point"].to_numpy()[np.maximum(paths.arrival, 0)]]
        return np.where((paths.arrival >= 0) & (error >= 0) & (other >= 0), error + other, -1)

    def _pair_errors(self, alignment: Alignment) -> dict[tuple[int, int], int]:
        """The clock error between every two points whose clocks are known."""
        known = [point for point in range(len(alignment.clocks)) if alignment.error_ns(point) >= 0]
        return {(a, b): alignment.error_ns(a) + alignment.error_ns(b) for a in known for b in known if a != b}

    def _directions(self, measures: pd.DataFrame, paths: Paths) -> list[Direction]:
        """Every end that sent anything, with the points it was seen at and its least round trip."""
        connection, sender = measures["connection"].to_numpy(), measures["sender"].to_numpy()
        seen = measures["point"].to_numpy() == paths.seen_at[connection, sender]
        seen &= measures["packets"].to_numpy() > 0
        connection, sender = connection[seen], sender[seen]
        near, far = paths.sender_point[connection, sender], paths.receiver_point[connection, sender]
        least, greatest = (
            np.where(near < 0, 0, np.rint(np.nan_to_num(measures[name].to_numpy()[seen]) * 1e6)).astype(np.int64)
            for name in ("rtt_min_ms", "rtt_max_ms")
        )
        return list(map(Direction, *(values.tolist() for values in (connection, sender, near, far, least, greatest))))

    def _origin(self, tables: dict[str, pd.DataFrame]) -> int:
        """The first time of all that was recorded and placed, also of what was cut off."""
        if self.whole is not None:
            return self.whole.origin_ns
        names = ("segments", "tcp_state", "frames", "link_events")
        first = [int(tables[name]["time_ns"].min()) for name in names if len(tables[name])]
        return min(first, default=0)

    def _missing(self, tables: dict[str, pd.DataFrame], links: LinkLayer) -> list[str]:
        """Which further input would tell what these cannot."""
        if not len(tables["segments"]):
            if self.whole is not None:
                return ["No packet was captured in this window."]
            return ["A packet capture beside the data sender would tell which of TCP's segments the frames carried."]
        missing = []
        if links.shares is None and links.frames is not None:
            missing.append("Accounting and utilization need the link log of the end that sends the data over the link.")
        elif links.shares is None and self.options.link_rate_bps:
            missing.append("The link's rate alone tells nothing without a capture beside the end that sent most data.")
        elif links.shares is None:
            missing.append(
                "Accounting and utilization need a log of the link's frames, or its rate (--link-rate BPS)."
            )
        point = tables["segments"]["point"].to_numpy()
        if point.min() == point.max():
            missing.append("A capture of the other end would tell which segments arrived, and when.")
        if not len(tables["tcp_state"]):
            missing.append(
                "The sender's TCP state (tcp_probe, ss, tcpstats) would tell its window from its application's pauses."
            )
        return missing
