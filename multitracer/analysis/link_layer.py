"""The link beside TCP: from logged frames to which segments they carried and where the time went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.accounting.session import Accounting, Transfer, account, account_by_rate
from multitracer.correlation.log_clocks import tie_clock
from multitracer.correlation.segment_frames import Correlation, LinkMatch, correlate
from multitracer.link.duplicate_logs import without_duplicate_logs
from multitracer.link.events import intervals
from multitracer.link.frames import number
from multitracer.link.summary import rows
from multitracer.link.timing import Timing, timing
from multitracer.link.window import full_window
from multitracer.model.schema import empty
from multitracer.model.trace import Clock, ClockPiece, Input, Trace
from multitracer.vantage.clocks import Alignment, stated_clock, to_reference
from multitracer.vantage.paths import Paths

if TYPE_CHECKING:
    import pandas as pd


@dataclass
class LinkLayer:
    """What the link's log gave: tables as in the schema, links[] of the summary; empty without one."""

    links: pd.DataFrame | None = None
    frames: pd.DataFrame | None = None
    link_events: pd.DataFrame | None = None
    intervals: pd.DataFrame | None = None
    segment_frames: pd.DataFrame | None = None
    accounting: pd.DataFrame | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    shares: dict[str, float] | None = None
    utilization: dict[str, Any] | None = None
    main: int | None = None
    """The link and direction that carried most data."""
    timings: dict[int, Timing] = field(default_factory=dict)
    accounts: dict[int, Accounting] = field(default_factory=dict)
    matches: dict[int, LinkMatch] = field(default_factory=dict)
    """The packets that each link carried, and their segments."""
    notes: list[str] = field(default_factory=list)

    @property
    def link_rtt_ns(self) -> int | None:
        """The least round trip of the link that carried most data."""
        return None if self.main is None else self.timings[self.main].rtt_ns

    def note_accounts(self, accounts: Mapping[int, Accounting]) -> None:
        """Enter the accounting of every link; the main one's is the summary's."""
        import pandas as pd

        self.accounts = dict(accounts)
        for row in self.rows:
            one = accounts.get(row["id"])
            row["accounting"], row["utilization"] = (one.shares, one.utilization) if one else (None, None)
        if accounts:
            self.accounting = pd.concat([one.table for one in accounts.values()], ignore_index=True)
        main = accounts.get(-1 if self.main is None else self.main)
        self.shares, self.utilization = (main.shares, main.utilization) if main else (None, None)

    @property
    def main_accounting(self) -> pd.DataFrame | None:
        """The accounting of the link that carried most data, or by the stated rate."""
        if self.accounting is None:
            return None
        return self.accounting[self.accounting["link"] == (-1 if self.main is None else self.main)]

    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables by name, empty where there is no log."""
        names = ("links", "frames", "link_events", "segment_frames", "accounting")
        return {name: empty(name) if (table := getattr(self, name)) is None else table for name in names}


def join_layers(
    trace: Trace,
    segments: pd.DataFrame,
    connections: pd.DataFrame,
    paths: Paths,
    alignment: Alignment,
    stated: Mapping[int, tuple[float, float]],
    transfer: Transfer | None = None,
    link_rate_bps: float | None = None,
    window: tuple[int, int] | None = None,
    known: Mapping[int, Clock] | None = None,
) -> LinkLayer:
    """Place the link's logs on the reference clock, find the segments that its frames carried, and account."""
    frames, events, links = (trace.tables[name] for name in ("frames", "link_events", "links"))
    if not len(frames):
        return _by_rate(link_rate_bps, transfer)
    frames, events, links, duplicates = without_duplicate_logs(frames.copy(), events.copy(), links)
    number(frames, links, events)
    tables = {**trace.tables, "frames": frames, "link_events": events, "links": links}
    errors = [alignment.error_ns(point) for point in range(len(alignment.clocks))]
    for entry in trace.inputs:
        mine = frames["input"].to_numpy() == entry.number
        if mine.any():
            entry.clock = (known or {}).get(entry.number) or _clock(
                entry, tables, segments, connections, paths, alignment, errors, stated
            )
            _shift(frames, events, entry.number, entry.clock)
    for duplicate in duplicates:
        _note_duplicate(trace.inputs[duplicate.left_out], trace.inputs[duplicate.kept], duplicate.offset_ns)
    if window is not None:
        frames, events = (_within(table, *window) for table in (frames, events))
        tables = {**tables, "frames": frames}
    layer = LinkLayer(links, frames, events, intervals(frames, events, links))
    named = zip(*(links[name].tolist() for name in ("link", "reverse", "protocol")), strict=True)
    layer.timings = {link: timing(frames, link, reverse, str(protocol)) for link, reverse, protocol in named}
    layer.rows = rows(links, frames, events, _of(layer.intervals), layer.timings)
    layer.main = _main(layer.rows, frames)
    if len(segments):
        found: Correlation = correlate(tables, segments, connections, paths, _with_logs(errors, trace.inputs, frames))
        layer.segment_frames, layer.notes, layer.matches = found.segment_frames, found.notes, found.links
        _account(layer, found.links, transfer)
    else:
        _account(layer, {}, None)
    return layer


def _by_rate(rate_bps: float | None, transfer: Transfer | None) -> LinkLayer:
    """Without a link log, what the stated rate tells."""
    layer = LinkLayer()
    found = account_by_rate(rate_bps, transfer) if rate_bps and transfer is not None else None
    if found is not None:
        layer.note_accounts({found.link: found})
    return layer


def _account(layer: LinkLayer, matches: Mapping[int, LinkMatch], transfer: Transfer | None) -> None:
    """Account for every link and direction whose sender logged."""
    links, frames, stops = _of(layer.links), _of(layer.frames), _of(layer.intervals)
    made: dict[int, Accounting] = {}
    for link, reverse in zip(links["link"].tolist(), links["reverse"].tolist(), strict=True):
        full = full_window(frames, links, link, reverse)
        found = account(
            link, reverse, frames, stops, full, layer.timings[link], matches.get(link), layer.segment_frames, transfer
        )
        if found is not None:
            made[link] = found
    layer.note_accounts(made)


def _with_logs(errors: list[int], inputs: list[Input], frames: pd.DataFrame) -> list[int]:
    """What each point's clock may be off the frames': its own error and the logs'; -1 where unknown."""
    logs = [inputs[number].clock for number in np.unique(frames["input"].to_numpy())]
    known = [clock.error_s for clock in logs if clock is not None and clock.error_s is not None]
    if len(known) < len(logs):
        return [-1] * len(errors)
    more = int(np.ceil(max(known, default=0.0) * 1e9))
    return [error + more if error >= 0 else -1 for error in errors]


def _of(table: pd.DataFrame | None) -> pd.DataFrame:
    assert table is not None
    return table


def _clock(
    entry: Input, tables: Mapping[str, pd.DataFrame], segments: pd.DataFrame, connections: pd.DataFrame,
    paths: Paths, alignment: Alignment, errors: list[int], stated: Mapping[int, tuple[float, float]],
) -> Clock:  # fmt: skip
    """How a link log's clock stands to the reference: as stated, by its payload, or by the calendar."""
    start = entry.first_ns or 0
    if not len(segments):
        return entry.clock or Clock(entry.path, 0.0, 0.0, 0.0, 0.0, "is its own", (ClockPiece(start, 0),))
    reference = alignment.clocks[alignment.reference].reference
    if entry.number in stated:
        return stated_clock(reference, *stated[entry.number], start)
    if entry.clock is not None and entry.clock.pieces:
        return entry.clock  # a capture that holds both packets and frames has one clock
    tied = tie_clock(tables, segments, connections, paths, entry.number, reference, errors)
    if tied.pieces or entry.recording.clock != "epoch":
        return tied
    how = "is the host's calendar, taken to be the capture's: nothing in it could be matched to a packet"
    return Clock(reference, 0.0, 0.0, None, None, how, (ClockPiece(start, 0),))


def _note_duplicate(left_out: Input, kept: Input, offset_ns: int) -> None:
    """Say that a log's frames are another's, and place its clock by the other's."""
    left_out.recording.notes.append(f"Left out: the frames in it are those of {kept.path}, recorded once more.")
    other = kept.clock
    if other is None or other.offset_s is None:
        return
    offset = other.offset_s + offset_ns / 1e9
    how = f"its frames are those of {kept.path}, whose clock is known"
    left_out.clock = replace(other, offset_s=offset, how=how, pieces=())


def _within(table: pd.DataFrame, begin: int, end: int) -> pd.DataFrame:
    return table[(table["time_ns"] >= begin) & (table["time_ns"] < end)].reset_index(drop=True)


def _shift(frames: pd.DataFrame, events: pd.DataFrame, log: int, clock: Clock) -> None:
    for table in (frames, events):
        mine = table["input"].to_numpy() == log
        times = table["recorded_ns"].to_numpy()
        table["time_ns"] = np.where(mine, to_reference(times, clock), table["time_ns"].to_numpy())


def _main(found: list[dict[str, Any]], frames: pd.DataFrame) -> int | None:
    """The link of most user data, as sent where its sender logged, else as received."""
    if not found:
        return None
    payload = frames["payload_bytes"].clip(lower=0).groupby([frames["link"], frames["sent"]]).sum()
    best = max(found, key=lambda row: max(payload.get((row["id"], sent), 0) for sent in (True, False)))
    return int(best["id"])
