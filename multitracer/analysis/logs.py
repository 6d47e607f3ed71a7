"""Logs of the sender's TCP state and of the link's frames, put on the reference clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from multitracer.analysis.captures import Captures, stated_clocks
from multitracer.analysis.streams import Streams
from multitracer.compute.arrays import with_columns
from multitracer.link.duplicate_logs import Duplicate, without_duplicates
from multitracer.link.frames import number_frames
from multitracer.model.options import AnalyzeOptions
from multitracer.model.trace import Clock, ClockPiece, Input, Trace
from multitracer.tcp import state_logs
from multitracer.tcp.doubled_timers import with_doubled_timers
from multitracer.tcp.resend_log import with_kernel_triggers
from multitracer.vantage.clocks import stated_clock, to_reference

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class LinkLog:
    """The tables of the link logs: every link once, frames numbered by `link.frames.number_frames`."""

    links: pd.DataFrame
    frames: pd.DataFrame
    events: pd.DataFrame
    by_sender: frozenset[int]
    """The links whose sender logged frames that it sent, in the part that is analysed or outside of it."""


@dataclass(frozen=True)
class Logs:
    """All logs on the reference clock; `link` is None if no frames were logged."""

    inputs: list[Input]
    """All inputs, with their clocks."""
    tcp_state: pd.DataFrame
    link: LinkLog | None = None


def place_logs(trace: Trace, captures: Captures, streams: Streams, options: AnalyzeOptions) -> Logs:
    """Find every log's clock, and convert its times to the reference clock."""
    stated = stated_clocks(captures.inputs, options)
    state, inputs = _place_state(trace.tables["tcp_state"], captures, streams, stated)
    if not len(trace.tables["frames"]):
        return Logs(inputs, state)
    recorded = (trace.tables[name] for name in ("frames", "link_events", "links"))
    frames, events, links, duplicates = without_duplicates(*recorded)
    by_sender = frozenset(frames["link"][frames["sent"]].tolist())
    log = LinkLog(links, number_frames(frames, links, events), events, by_sender)
    log, inputs = _place_frames(log, inputs, captures, streams, stated)
    return Logs(_without_duplicates(inputs, duplicates), state, log)


def _place_state(
    state: pd.DataFrame, captures: Captures, streams: Streams, stated: Mapping[int, tuple[float, float]]
) -> tuple[pd.DataFrame, list[Input]]:
    if not len(state) or not len(captures.segments):
        return state, captures.inputs
    raw_ack = captures.packets["raw_ack"].to_numpy()
    return state_logs.align_log(
        state, streams.segments, raw_ack, captures.connections, streams.paths.sender_point, captures.inputs,
        captures.reference, stated,
    )  # fmt: skip


def told_by_sender(streams: Streams, logs: Logs) -> Streams:
    """The streams with the triggers of retransmissions that the sender's own log shows."""
    resent = with_kernel_triggers(streams.retransmissions, logs.tcp_state, logs.inputs)
    told = (resent["because"] != streams.retransmissions["because"]).to_numpy()
    return replace(streams, retransmissions=with_doubled_timers(resent, logs.tcp_state, told))


def _place_frames(
    log: LinkLog, inputs: Sequence[Input], captures: Captures, streams: Streams,
    stated: Mapping[int, tuple[float, float]],
) -> tuple[LinkLog, list[Input]]:  # fmt: skip
    """Frames and events on the reference clock, and the inputs, those with frames with their clock."""
    placed = list(inputs)
    for number, entry in enumerate(inputs):
        if (log.frames["input"].to_numpy() == entry.number).any():
            clock = _frames_clock(entry, log, captures, streams, stated)
            placed[number] = replace(entry, clock=clock)
            frames, events = (_on_clock(table, entry.number, clock) for table in (log.frames, log.events))
            log = replace(log, frames=frames, events=events)
    return log, placed


def _frames_clock(
    entry: Input, log: LinkLog, captures: Captures, streams: Streams, stated: Mapping[int, tuple[float, float]]
) -> Clock:
    """A link log's clock against the reference: as stated, from its payload, or as the host's epoch time."""
    start = entry.first_ns or 0
    if not len(captures.segments):
        return entry.clock or Clock(entry.path, 0.0, 0.0, 0.0, 0.0, "is its own", (ClockPiece(start, 0),))
    reference = captures.reference
    if entry.number in stated:
        return stated_clock(reference, *stated[entry.number], start)
    if entry.clock is not None and entry.clock.pieces:
        return entry.clock  # a capture with packets and frames has one clock
    from multitracer.correlation.log_clocks import tie_clock  # with the coding of all link protocols

    tables = {"packets": captures.packets, "flows": captures.flows, "frames": log.frames, "links": log.links}
    alignment = captures.alignment
    tied = tie_clock(
        tables, streams.segments, captures.connections, streams.paths, entry.number, reference,
        (alignment.errors_ns, alignment.worsts_ns),
    )  # fmt: skip
    if tied.pieces or entry.recording.clock != "epoch":
        return tied
    how = f"is the host's calendar, taken to be the capture's: it {tied.how}"
    return Clock(reference, 0.0, 0.0, None, None, how, (ClockPiece(start, 0),))


def _on_clock(table: pd.DataFrame, log: int, clock: Clock) -> pd.DataFrame:
    """The table with `time_ns` of one log's records on the reference clock."""
    mine, recorded = table["input"].to_numpy() == log, table["recorded_ns"].to_numpy()
    return with_columns(table, time_ns=np.where(mine, to_reference(recorded, clock), table["time_ns"].to_numpy()))


def _without_duplicates(inputs: Sequence[Input], duplicates: Sequence[Duplicate]) -> list[Input]:
    """The inputs; those left out as duplicates get a note, and a clock derived from that of the input kept."""
    made = list(inputs)
    for one in duplicates:
        left_out, kept = made[one.left_out], made[one.kept]
        left_out = left_out.with_notes(f"Left out: the frames in it are those of {kept.path}, recorded once more.")
        if kept.clock is not None and kept.clock.offset_s is not None:
            how = f"its frames are those of {kept.path}, whose clock is known"
            offset = kept.clock.offset_s + one.offset_ns / 1e9
            left_out = replace(left_out, clock=replace(kept.clock, offset_s=offset, how=how, pieces=()))
        made[one.left_out] = left_out
    return made
