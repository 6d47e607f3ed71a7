"""Inputs that do not belong together, or are not what was said of them: found, and said with what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.analysis.captures import Captures
from multitracer.analysis.logs import Logs
from multitracer.model.errors import NoUsableInputError
from multitracer.model.trace import Input, Trace
from multitracer.vantage.clocks import Alignment

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]

USABLE = ("packets", "tcp_state", "frames", "link_events")
"""The tables of which an analysis needs a row: TCP packets, sender state, or a link's log."""
_NAMES = {
    "udp": "UDP packets", "quic": "QUIC packets", "icmp": "ICMP packets", "other": "other packets",
    "received intervals": "intervals of what an iperf3 receiver got, without windows, round trips and resends",
}  # fmt: skip
_SENDER_S_LOG = "Give the log of the end that sent, which has those (iperf3 -J there), or a capture."
_COMPARE = "If they are two experiments, compare them: multitracer analyze --compare"
_REASONS_SAID = 3
_SHOWN = {
    "sender": "data in it is acknowledged a round trip later, so that it was recorded at the data sender",
    "receiver": "data in it is acknowledged at once, so that it was recorded at the data receiver",
}


def check_usable(trace: Trace) -> None:
    """Raise NoUsableInputError, with what was seen, if no input has TCP, sender state or a link log."""
    if any(len(trace.tables[name]) for name in USABLE):
        return
    paths = [entry.path for entry in trace.inputs]
    seen = "; ".join(dict.fromkeys(seen_in(entry) for entry in trace.inputs))
    raise NoUsableInputError(
        ", ".join(paths[:3]) + (" ..." if len(paths) > 3 else ""),
        f"holds no TCP packet, sender state or link log, only {seen}{_lost(trace)}",
        hint=_SENDER_S_LOG
        if any("received intervals" in entry.recording.counts for entry in trace.inputs)
        else "Only TCP, and the link that carried it, are analysed: give a capture or a log of a TCP transfer.",
    )


def _lost(trace: Trace) -> str:
    """What was skipped, in which there may have been more."""
    reasons = list(dict.fromkeys(skip.reason for entry in trace.inputs for skip in entry.recording.skips))
    return f"; skipped: {', '.join(reasons[:_REASONS_SAID])}" if reasons else ""


def unusable(trace: Trace) -> dict[str, int]:
    """The inputs that were read and hold nothing that is analysed, and their numbers of records."""
    return {
        entry.path: max(sum(entry.recording.counts.values()), entry.recording.records, 1)
        for entry in trace.inputs
        if not entry.skipped and not _rows(entry)
    }


def seen_in(entry: Input) -> str:
    """What an input holds, as a count of each kind: 812 UDP packets."""
    seen = [f"{count:,} {_NAMES[name]}" for name, count in entry.recording.counts.items() if count and name in _NAMES]
    return ", ".join(seen) or f"{entry.recording.records:,} records of the format {entry.recording.format}"


def _rows(entry: Input) -> int:
    return sum(len(table) for name, table in entry.recording.tables.items() if name in USABLE)


def noted(logs: Logs, captures: Captures) -> Logs:
    """The logs whose inputs have notes on stated roles that are wrong, and on what shares nothing with the rest."""
    notes: dict[int, list[str]] = {}
    for number, note in [
        *_wrong_roles(captures.alignment, logs.inputs), *_strange_captures(captures, logs.inputs),
        *_strange_links(logs), *_strange_states(logs),
    ]:  # fmt: skip
        notes.setdefault(number, []).append(note)
    return replace(logs, inputs=[entry.with_notes(*notes.get(entry.number, ())) for entry in logs.inputs])


def _wrong_roles(alignment: Alignment, inputs: Sequence[Input]) -> Iterable[tuple[int, str]]:
    for entry in inputs:
        shown = alignment.contradicted.get(entry.number)
        if shown:
            note = (
                f"--role says {entry.role}, but {_SHOWN[shown]}. Leave --role out, or look which file is which: with "
                "the sides exchanged, what was sent counts as received."
            )
            yield entry.number, note


def _strange_captures(captures: Captures, inputs: Sequence[Input]) -> Iterable[tuple[int, str]]:
    """Captures that have no connection with those of the reference, directly or by way of others."""
    points, connection = captures.segments["point"].to_numpy(), captures.segments["connection"].to_numpy()
    of_input = captures.segments["input"].to_numpy()
    if len(inputs) < 2:
        return
    ours = _connected(points, connection, captures.alignment.reference)
    mine, theirs = (np.isin(points, ours, invert=other) for other in (False, True))
    near = [entry for entry in inputs if (of_input[mine] == entry.number).any()]
    for entry in inputs:
        rows = theirs & (of_input == entry.number)
        if rows.any():
            yield entry.number, _stranger(entry, near, _same_ports(captures, mine, rows))


def _connected(points: Ints, connection: Ints, reference: int) -> list[int]:
    """The points that share a connection with `reference`, or with one that does."""
    shape = max(int(points.max(initial=0)), reference) + 1, int(connection.max(initial=0)) + 2
    seen = np.zeros(shape, dtype=np.bool_)
    seen[points, connection] = True  # those of no connection, -1, in the last column
    seen = seen[:, :-1]
    found = np.zeros(len(seen), dtype=np.bool_)
    found[reference] = True
    while True:
        more = seen[:, seen[found].any(axis=0)].any(axis=1)
        if not (more & ~found).any():
            return np.flatnonzero(found).tolist()
        found |= more


def _same_ports(captures: Captures, mine: npt.NDArray[np.bool_], theirs: npt.NDArray[np.bool_]) -> bool:
    """Whether connections of both have the same addresses and ports."""
    ends = list(zip(captures.connections["client"], captures.connections["server"], strict=True))
    connection = captures.segments["connection"].to_numpy()
    one, other = ({frozenset(ends[n]) for n in np.unique(connection[rows]) if n >= 0} for rows in (mine, theirs))
    return bool(one & other)


def _stranger(entry: Input, near: Sequence[Input], same_ports: bool) -> str:
    paths = ", ".join(other.path for other in near[:3]) + (" ..." if len(near) > 3 else "")
    ports = " (the same addresses and ports, but other sequence numbers)" if same_ports else ""
    return (
        f"Shares no connection with {paths}{ports}: nothing was seen by both{_apart(entry, near)}. {_COMPARE} "
        f"{near[0].path if near else ''} {entry.path}"
    )


def _apart(entry: Input, others: Sequence[Input]) -> str:
    """How far apart the times are; empty where they overlap, or are of clocks that do not show the date."""
    first = [one.first_ns for one in others if one.recording.clock == "epoch" and one.first_ns is not None]
    last = [one.last_ns for one in others if one.recording.clock == "epoch" and one.last_ns is not None]
    if not first or not last or entry.first_ns is None or entry.last_ns is None or entry.recording.clock != "epoch":
        return ""
    if entry.first_ns > max(last):
        return f", and it begins {(entry.first_ns - max(last)) / 1e9:,.0f} s after they end"
    if entry.last_ns < min(first):
        return f", and it ends {(min(first) - entry.last_ns) / 1e9:,.0f} s before they begin"
    return ""


def _strange_links(logs: Logs) -> Iterable[tuple[int, str]]:
    """Link logs of which no packet was captured, or of another time than the captures."""
    near = _with_packets(logs.inputs)
    for entry in logs.inputs if near and logs.link is not None else ():
        frames = entry.recording.tables.get("frames")
        clock = entry.clock
        placed = clock is not None and (clock.error_s is not None or (clock.offset_s is not None and not clock.pieces))
        if frames is None or not len(frames) or placed or any("Left out" in note for note in entry.recording.notes):
            continue
        apart = _apart(entry, near)
        if apart or frames["data"].notna().any():
            what = "No packet in its frames was captured" if frames["data"].notna().any() else "It has no octets"
            yield entry.number, f"{what}{apart}. {_COMPARE} {near[0].path} {entry.path}"


def _strange_states(logs: Logs) -> Iterable[tuple[int, str]]:
    """Logs of TCP state that name sockets, none of which a capture saw."""
    near = _with_packets(logs.inputs)
    state: pd.DataFrame = logs.tcp_state
    for entry in logs.inputs if near else ():
        mine = state[state["input"].to_numpy() == entry.number]
        if len(mine) and mine["local"].notna().any() and (mine["connection"].to_numpy() < 0).all():
            note = (
                f"None of its sockets is in a capture{_apart(entry, near)}: it tells nothing of what was captured. "
                f"{_COMPARE} {near[0].path} {entry.path}"
            )
            yield entry.number, note


def _with_packets(inputs: Sequence[Input]) -> list[Input]:
    return [entry for entry in inputs if "packets" in entry.recording.tables and len(entry.recording.tables["packets"])]
