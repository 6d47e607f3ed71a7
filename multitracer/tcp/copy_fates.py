"""Whether each copy of data arrived, as far as captures, and what TCP says of retransmissions, prove it.

A copy that the receiver's capture holds arrived, one that it lacks did not. Without that capture, data that was sent
once and acknowledged has arrived. Of octets that were sent several times, each copy tells something of the others.
Octets that were acknowledged came: where a link's log says of all their copies that they did not, it is not believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from multitracer.compute.arrays import rows_with
from multitracer.compute.kernels import inlined, kernel
from multitracer.compute.threads import concurrently, shares
from multitracer.model.paths import NOWHERE, Paths
from multitracer.model.schema import ACK, MARKS, RST
from multitracer.tcp.copies import (
    DELIVERED,
    LOST,
    NO_DATA,
    NO_VERDICT,
    UNKNOWN,
    Copies,
    judged,
)
from multitracer.tcp.octet_ranges import Ranges, merged, within
from multitracer.tcp.scoreboard import first_above

if TYPE_CHECKING:
    import pandas as pd

_LEFT_OUT = MARKS["captured_twice"] | MARKS["stale"]
_LEAST, _MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
_AGAIN = MARKS["retransmission"] | MARKS["window_probe"]


class Columns(NamedTuple):
    """What is read of the segments, an element per row."""

    connection: Any
    sender: Any
    point: Any
    payload_bytes: Any
    seq: Any
    marks: Any
    checksum_ok: Any
    arrived: Any


class Ends(NamedTuple):
    """Of each end of each connection, 2 * connection + sender."""

    seen: Any
    """The point that saw best what it sent."""
    far: Any
    """The point beside its receiver; NOWHERE without."""
    acked: Any
    """The number after the highest octet of it that was acknowledged; 0 for none."""
    complete: Any
    """Whether the capture at `seen` has all that was sent: where it lacks some, a copy may be missing."""
    whole: Any
    """Whether the capture at `far` has all that came."""
    logged: Any
    """Whether a link's log has packets of it."""


class Gone(NamedTuple):
    """Rows of segments that a link's log proves not to have arrived, and whether it has any packet of each end."""

    rows: Any
    logged: Any


def copy_fates(
    segments: pd.DataFrame, sacks: pd.DataFrame, paths: Paths, resent: pd.DataFrame, lost: Sequence[int], gone: Gone
) -> Any:
    """For each row of `segments` DELIVERED, LOST, NEEDLESS, UNKNOWN or NO_DATA: int8.

    `resent` is the table of retransmissions; `lost` counts per point what its capture lost itself, none if empty.
    """
    names = [name for name in Columns._fields if name != "arrived"]
    columns = Columns(**{name: segments[name].to_numpy() for name in names}, arrived=paths.arrived)
    ends = _ends(segments, paths, lost, gone.logged)
    sacked = _sacked(segments, sacks, ends)
    again = _resent_ranges(columns, ends)
    fates = np.empty(len(segments), dtype=np.int8)
    overlapping = np.empty(len(segments), dtype=np.int64)  # pages that are never written take no memory

    def note(part: slice) -> Any:
        rows = Columns(*(column[part] for column in columns))
        return note_fates(part.start, rows, ends, again, fates[part], overlapping[part])

    parts = shares(len(segments))
    counts = concurrently(note, parts)
    touched = np.concatenate([overlapping[part][:count] for part, count in zip(parts, counts, strict=True)])
    if len(sacked.low):
        _note_sacked(columns, ends, sacked, touched, fates)
    # What a link gave up of data sent once that nothing acknowledged.
    fates[gone.rows[fates[gone.rows] == UNKNOWN]] = LOST
    if len(touched):
        copies = _copies(columns, ends, sacked, resent, touched, gone.rows)
        fates[copies.row] = judged(copies)
    return fates


def _ends(segments: pd.DataFrame, paths: Paths, lost: Sequence[int], logged: Any) -> Ends:
    seen, far = paths.seen_at.ravel(), paths.receiver_point.ravel()
    flawed = np.append(np.array(lost, dtype=np.int64), 0) > 0  # the last for NOWHERE
    flawed = flawed if len(lost) else np.zeros(max(seen.max(initial=0), far.max(initial=0)) + 2, dtype=np.bool_)
    return Ends(seen, far, _highest_acks(segments, len(seen)), ~flawed[seen], ~flawed[far], logged)


def _highest_acks(segments: pd.DataFrame, ends: int) -> Any:
    """Per end, the highest acknowledgement of what it sent, at any point."""
    columns = [segments[name].to_numpy() for name in ("connection", "sender", "flags", "ack", "checksum_ok")]

    def highest(part: slice) -> Any:
        found = np.zeros(ends, dtype=np.int64)
        note_acks(*(column[part] for column in columns), found)
        return found

    # Each share has a number for every end: one share where they are many.
    return np.maximum.reduce(concurrently(highest, shares(len(segments), max(1, len(segments) // max(1, 8 * ends)))))


@kernel
def note_acks(connection: Any, sender: Any, flags: Any, ack: Any, checksum_ok: Any, highest: Any) -> None:
    """Raise `highest` of each end to what the other end acknowledged."""
    for row in range(len(ack)):
        if connection[row] >= 0 and flags[row] & (ACK | RST) == ACK and checksum_ok[row] != 0:
            end = 2 * np.int64(connection[row]) + 1 - np.int64(sender[row])
            if ack[row] > highest[end]:
                highest[end] = ack[row]


def _sacked(segments: pd.DataFrame, sacks: pd.DataFrame, ends: Ends) -> Ranges:
    """What was selectively acknowledged above the highest acknowledgement."""
    row = sacks["segment"].to_numpy()
    end = 2 * segments["connection"].to_numpy()[row].astype(np.int64) + 1 - segments["sender"].to_numpy()[row]
    known = (end >= 0) & ~sacks["dsack"].to_numpy().astype(np.bool_)
    known[known] = sacks["right"].to_numpy()[known] > ends.acked[end[known]]
    return merged(end[known], sacks["left"].to_numpy()[known], sacks["right"].to_numpy()[known], len(ends.seen))


def _resent_ranges(columns: Columns, ends: Ends) -> Ranges:
    """The octets that were sent more than once, or as a probe of a closed window."""
    rows = rows_with(columns.marks, _AGAIN)
    data = (columns.payload_bytes[rows] > 0) & (columns.connection[rows] >= 0) & (columns.marks[rows] & _LEFT_OUT == 0)
    rows = rows[data]
    end = _end_of(columns, rows)
    mine = columns.point[rows] == ends.seen[end]
    rows, end = rows[mine], end[mine]
    return merged(end, columns.seq[rows], columns.seq[rows] + columns.payload_bytes[rows], len(ends.seen))


def _end_of(columns: Columns, rows: Any) -> Any:
    return 2 * columns.connection[rows].astype(np.int64) + columns.sender[rows]


@kernel
def note_fates(first: int, columns: Columns, ends: Ends, again: Ranges, fates: Any, overlapping: Any) -> int:
    """The fate of all but the copies of octets that were sent more than once.

    These are written to `overlapping` as their rows, counted from `first`; returns how many they are.
    """
    count, near = 0, 0
    # Of which end, from where and up to where nothing was sent again: most rows follow one another there.
    clear_end: Any = np.int64(-1)
    clear_from: Any = np.int64(0)
    clear_to: Any = np.int64(0)
    for at in range(len(fates)):
        size = np.int64(columns.payload_bytes[at])
        if size <= 0 or columns.connection[at] < 0 or columns.marks[at] & _LEFT_OUT:
            fates[at] = NO_DATA
            continue
        end = 2 * np.int64(columns.connection[at]) + np.int64(columns.sender[at])
        is_seen, came = columns.point[at] == ends.seen[end], columns.point[at] == ends.far[end]
        fates[at] = UNKNOWN
        if not is_seen and not came:
            continue
        start = np.int64(columns.seq[at])
        if end != clear_end or start < clear_from or start + size > clear_to:
            near, clear_from, clear_to = clear_around(again, end, start, near)
            clear_end = end
        touched = start + size > clear_to
        if is_seen and touched:
            overlapping[count] = first + at
            count += 1
        elif is_seen:
            fates[at] = fate_of_sent_once(columns, ends, at, end)
        elif columns.checksum_ok[at] == 0:
            fates[at] = LOST
        elif not touched and not ends.logged[end]:
            fates[at] = DELIVERED
    return count


@inlined
def clear_around(again: Ranges, end: int, start: int, near: int) -> tuple[int, int, int]:
    """The first range sent again that ends after `start`; where the one before it ends, and where it begins.

    Between these two the end sent nothing again. The search starts at the range `near`.
    """
    begin, ranges = again.begins[end], again.begins[end + 1] - again.begins[end]
    following = first_above(again.high[begin : begin + ranges], ranges, start, min(near, ranges))
    since = again.high[begin + following - 1] if following > 0 else _LEAST
    until = again.low[begin + following] if following < ranges else _MOST
    return following, since, until


@inlined
def fate_of_sent_once(columns: Columns, ends: Ends, at: int, end: int) -> int:
    """The fate of data that an end sent once: by the receiver's capture, else by the acknowledgements."""
    arrived = columns.arrived[at] if ends.far[end] != NOWHERE else -1
    if arrived == 1:
        return DELIVERED
    if arrived == 0 and ends.whole[end]:
        return LOST
    stop = np.int64(columns.seq[at]) + np.int64(columns.payload_bytes[at])
    return DELIVERED if ends.complete[end] and stop <= ends.acked[end] else UNKNOWN


def _note_sacked(columns: Columns, ends: Ends, sacked: Ranges, touched: Any, fates: Any) -> None:
    """Data sent once that was selectively acknowledged, and no more, was delivered."""
    rows = np.flatnonzero(fates == UNKNOWN)
    end = _end_of(columns, rows)
    mine = (columns.point[rows] == ends.seen[end]) & ends.complete[end]
    rows, end = rows[mine], end[mine]
    start = columns.seq[rows]
    inside = within(end, start, start + columns.payload_bytes[rows], sacked)
    fates[np.setdiff1d(rows[inside], touched)] = DELIVERED


def _copies(columns: Columns, ends: Ends, sacked: Ranges, resent: pd.DataFrame, rows: Any, gone: Any) -> Copies:
    end, start = _end_of(columns, rows), columns.seq[rows].astype(np.int64)
    stop = start + columns.payload_bytes[rows]
    order = np.lexsort((rows, stop, start, end))
    rows, end, start, stop = rows[order], end[order], start[order], stop[order]
    arrived = np.where(ends.far[end] != NOWHERE, columns.arrived[rows], -1)
    arrived[(arrived == 0) & ~ends.whole[end]] = -1
    acknowledged = (stop <= ends.acked[end]) | within(end, start, stop, sacked)
    given_up = (arrived < 0) & np.isin(rows, gone)
    alive = merged(end[~given_up], start[~given_up], stop[~given_up], len(ends.seen))
    told = np.where(acknowledged, stop, np.minimum(stop, ends.acked[end]))
    doubtful = given_up & (told > start) & ~within(end, start, told, alive)
    is_gone = (arrived == 0) | (given_up & ~doubtful)
    return Copies(
        end, start, stop, rows, _verdicts(resent, rows), arrived.astype(np.int8), is_gone, doubtful,
        acknowledged & ends.complete[end],
    )  # fmt: skip


def _verdicts(resent: pd.DataFrame, rows: Any) -> Any:
    """Whether each row was a needless resend."""
    segment = resent["segment"].to_numpy()
    order = np.argsort(segment, kind="stable")
    place = np.searchsorted(segment[order], rows)
    known = place < len(segment)
    known[known] = segment[order][place[known]] == rows[known]
    verdicts = np.full(len(rows), NO_VERDICT, dtype=np.int8)
    verdicts[known] = resent["spurious"].array.codes[order[place[known]]]
    return verdicts
