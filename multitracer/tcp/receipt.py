"""Whether the octets of a retransmission had been received before, by a capture at the receiver.

A copy has arrived when the receiver's TCP took it. One that came to the receiver's capture was taken, unless it was
damaged, or the receiver's next acknowledgements disprove it: with SACK, those that it sent between this copy and the
next of the same octets, if none covers them. What PAWS, the window or lack of room made the receiver discard is in its
capture, and has not arrived.

Everything is judged by octets: with segmentation offload the sender's capture holds records of several segments, of
which some arrive and others do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.model.paths import NOWHERE, Paths
from multitracer.model.schema import ACK, OPTION_SACK, OPTION_SACK_PERMITTED, SYN
from multitracer.tcp.connection_rows import Groups

if TYPE_CHECKING:
    import pandas as pd

BEFORE, NOT_BEFORE, UNDECIDED = 1, 0, -1
"""The octets had been received by an earlier copy, or had not, or the captures cannot tell."""
MOST_RANGES = 64
"""Copies of the same octets at the receiver that are looked at."""


class Columns(NamedTuple):
    """Columns of the segments, an element per row; `origin` is the row at the sender of a row at the receiver."""

    seq: Any
    length: Any
    ack: Any
    flags: Any
    options: Any
    checksum: Any
    checksum_ok: Any
    tsval: Any
    sender: Any
    arrived: Any
    paired: Any
    """Whether a row at the sender was found, whole, at the receiver."""
    origin: Any


class Sacks(NamedTuple):
    """The SACK blocks of all segments, in their order."""

    segment: Any
    left: Any
    right: Any
    dsack: Any


class Stream(NamedTuple):
    """One direction of a connection, seen at both ends."""

    sent: Any
    """Rows with data in the sender's capture, by sequence number."""
    came: Any
    """Rows with data in the receiver's capture, by sequence number."""
    place: Any
    """Where each of `came` stands in `rows`."""
    rows: Any
    """All rows of the connection in the receiver's capture, in its order."""
    longest_sent: int
    longest_came: int
    has_sack: bool


def received_before(
    segments: pd.DataFrame, sacks: pd.DataFrame, groups: Groups, paths: Paths, resent: Any, lost: list[int]
) -> Any:
    """For each row of `segments` BEFORE, NOT_BEFORE or UNDECIDED; the last for all rows but those in `resent`.

    `resent` are the rows that were marked as retransmissions. `lost` counts what each point's capture lost itself
    (`vantage.completeness`): where that is not 0, what it lacks is undecided.
    """
    verdicts = np.full(len(segments), UNDECIDED, dtype=np.int8)
    connection, sender = (segments[name].to_numpy()[resent].astype(np.int64) for name in ("connection", "sender"))
    near, far = paths.sender_point[connection, sender], paths.receiver_point[connection, sender]
    judged = (near != NOWHERE) & (far != NOWHERE) & (segments["point"].to_numpy()[resent] == near)
    judged &= segments["payload_bytes"].to_numpy()[resent] > 0
    if not judged.any():
        return verdicts
    columns, blocks = _columns(segments, paths), _blocks(sacks)
    key = 2 * connection + sender
    for one in np.unique(key[judged]):
        mine = np.flatnonzero(judged & (key == one))
        stream = _stream(columns, groups, int(one >> 1), int(one & 1), int(near[mine[0]]), int(far[mine[0]]))
        judge_stream(resent[mine], stream, columns, blocks, np.empty((2, MOST_RANGES, 2), dtype=np.int64), verdicts)
        if lost[far[mine[0]]]:
            rows = resent[mine]
            verdicts[rows[verdicts[rows] == NOT_BEFORE]] = UNDECIDED
    return verdicts


def _columns(segments: pd.DataFrame, paths: Paths) -> Columns:
    paired = paths.arrival >= 0
    origin = np.full(len(segments), -1, dtype=np.int64)
    origin[paths.arrival[paired]] = np.flatnonzero(paired)
    own = {name: segments[name].to_numpy() for name in ("seq", "ack", "flags", "options", "tsval", "sender")}
    return Columns(
        **own, length=segments["payload_bytes"].to_numpy(), checksum=segments["checksum"].to_numpy(),
        checksum_ok=segments["checksum_ok"].to_numpy(), arrived=paths.arrived, paired=paired, origin=origin,
    )  # fmt: skip


def _blocks(sacks: pd.DataFrame) -> Sacks:
    segment, left, right = (sacks[name].to_numpy().astype(np.int64) for name in ("segment", "left", "right"))
    return Sacks(segment, left, right, sacks["dsack"].to_numpy().astype(np.int8))


def _stream(columns: Columns, groups: Groups, connection: int, sender: int, near: int, far: int) -> Stream:
    at_sender, rows = groups.rows(connection, near), groups.rows(connection, far)
    sent = at_sender[_has_data(columns, at_sender, sender)]
    place = np.flatnonzero(_has_data(columns, rows, sender))
    by_seq = np.argsort(columns.seq[rows[place]], kind="stable")
    place, sent = place[by_seq], sent[np.argsort(columns.seq[sent], kind="stable")]
    came = rows[place]
    longest_sent, longest_came = (int(columns.length[some].max(initial=0)) for some in (sent, came))
    answers = at_sender[columns.sender[at_sender] != sender]
    return Stream(sent, came, place, rows, longest_sent, longest_came, _sends_sack(columns, answers))


def _has_data(columns: Columns, rows: Any, sender: int) -> Any:
    return (columns.sender[rows] == sender) & (columns.length[rows] > 0)


def _sends_sack(columns: Columns, answers: Any) -> bool:
    """Whether these segments of a receiver show that it may send SACK blocks."""
    options, flags = columns.options[answers], columns.flags[answers]
    return bool(((options & OPTION_SACK > 0) | ((flags & SYN > 0) & (options & OPTION_SACK_PERMITTED > 0))).any())


@kernel
def judge_stream(events: Any, stream: Stream, columns: Columns, sacks: Sacks, ranges: Any, verdicts: Any) -> None:
    """Fill in the verdict of each retransmission of a stream; `ranges` is scratch space."""
    for row in events:
        start = np.int64(columns.seq[row])
        end = start + np.int64(columns.length[row])
        known, possible = receive_ranges(row, start, end, stream, columns, sacks, ranges)
        reached = covered_to(ranges[0], known, start, end)
        if reached >= end:
            verdicts[row] = BEFORE
        elif possible < ranges.shape[1] and covered_to(ranges[1], possible, reached, end) == reached:
            known = losses_known(row, start, end, stream.sent, stream.longest_sent, columns)
            verdicts[row] = NOT_BEFORE if known else UNDECIDED


@kernel
def first_from(rows: Any, seq: Any, number: int) -> int:
    """Index of the first of `rows`, ascending by sequence number, whose number is at least `number`."""
    low, high = 0, len(rows)
    while low < high:
        middle = (low + high) // 2
        if seq[rows[middle]] < number:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def receive_ranges(
    row: int, start: int, end: int, stream: Stream, columns: Columns, sacks: Sacks, ranges: Any
) -> tuple[int, int]:
    """Find which of the octets start..end-1 the receiver took from copies that were sent before `row`.

    Fills ranges[0] with [from, to) of copies that certainly were, ranges[1] with those and such as may have been;
    returns how many there are of each.
    """
    known, possible = 0, 0
    at = first_from(stream.came, columns.seq, start - stream.longest_came)
    while at < len(stream.came) and columns.seq[stream.came[at]] < end and possible < ranges.shape[1]:
        copy = stream.came[at]
        begin: Any = np.int64(columns.seq[copy])
        low, high = max(start, begin), min(end, begin + np.int64(columns.length[copy]))
        sent = sent_before(row, copy, low, high, stream, columns) if low < high else 0
        sent = sent if columns.checksum_ok[copy] != 0 else 0
        if sent != 0 and was_taken(stream.place[at], low, high, stream, columns, sacks):
            ranges[1, possible, 0], ranges[1, possible, 1] = low, high
            possible += 1
            if sent > 0:
                ranges[0, known, 0], ranges[0, known, 1] = low, high
                known += 1
        at += 1
    return known, possible


@kernel
def sent_before(row: int, copy: int, low: int, high: int, stream: Stream, columns: Columns) -> int:
    """Whether what came as `copy` had been sent before `row`: 1, 0, or -1 when it may have been.

    A copy without a partner in the sender's capture is a part of a record of several segments, or one of several
    that cannot be told apart: it can have been any record without a partner that has its octets and timestamp. One
    of the same octets with another checksum it only may have been: a header may have been rebuilt wrongly.
    """
    if columns.origin[copy] >= 0:
        return 1 if columns.origin[copy] < row else 0
    before, after, same = 0, 0, True
    at = first_from(stream.sent, columns.seq, low - stream.longest_sent)
    while at < len(stream.sent) and columns.seq[stream.sent[at]] <= low:
        one = stream.sent[at]
        reaches = np.int64(columns.seq[one]) + np.int64(columns.length[one]) >= high
        same_stamp = columns.tsval[one] == columns.tsval[copy] or columns.tsval[one] == 0 or columns.tsval[copy] == 0
        if reaches and same_stamp and not columns.paired[one]:
            same &= columns.length[one] != columns.length[copy] or columns.checksum[one] == columns.checksum[copy]
            if one < row:
                before = 1
            else:
                after = 1
        at += 1
    return -1 if before == after or not same else before


@kernel
def was_taken(place: int, low: int, high: int, stream: Stream, columns: Columns, sacks: Sacks) -> bool:
    """Whether the receiver took octets low..high-1 from the segment at `place` of its capture."""
    answered = False
    for at in range(place + 1, len(stream.rows)):
        row = stream.rows[at]
        if columns.sender[row] == columns.sender[stream.rows[place]]:
            begin = np.int64(columns.seq[row])
            if columns.length[row] > 0 and begin < high and begin + np.int64(columns.length[row]) > low:
                return not answered or reported_twice(at, low, high, stream, columns, sacks)
        elif columns.flags[row] & ACK:
            if columns.ack[row] >= high or not stream.has_sack or is_sacked(row, low, high, sacks, 0):
                return True
            answered = True
    return not answered


@kernel
def reported_twice(place: int, low: int, high: int, stream: Stream, columns: Columns, sacks: Sacks) -> bool:
    """Whether the next acknowledgement after `place` reports octets low..high-1 as received twice (DSACK)."""
    for at in range(place + 1, len(stream.rows)):
        row = stream.rows[at]
        if columns.sender[row] != columns.sender[stream.rows[place]] and columns.flags[row] & ACK:
            return is_sacked(row, low, high, sacks, 1)
    return False


@kernel
def is_sacked(row: int, low: int, high: int, sacks: Sacks, dsack: int) -> bool:
    """Whether a SACK block of segment `row` (or, with `dsack`, a DSACK) covers octets low..high-1."""
    at = np.searchsorted(sacks.segment, row)
    while at < len(sacks.segment) and sacks.segment[at] == row:
        if sacks.dsack[at] == dsack and sacks.left[at] <= low and sacks.right[at] >= high:
            return True
        at += 1
    return False


@kernel
def covered_to(ranges: Any, count: int, start: int, end: int) -> int:
    """How far, from `start` on and not beyond `end`, the octets are covered by `count` ranges."""
    reached, moved = start, True
    while moved and reached < end:
        moved = False
        for k in range(count):
            if ranges[k, 0] <= reached < ranges[k, 1]:
                reached, moved = ranges[k, 1], True
    return min(reached, end)


@kernel
def losses_known(row: int, start: int, end: int, sent: Any, longest: int, columns: Columns) -> bool:
    """Whether the receiver's capture can tell of every copy of start..end-1 sent before `row` that it did not come."""
    at = first_from(sent, columns.seq, start - longest)
    while at < len(sent) and columns.seq[sent[at]] < end:
        one = sent[at]
        reaches = np.int64(columns.seq[one]) + np.int64(columns.length[one]) > start
        if reaches and one < row and columns.arrived[one] < 0:
            return False
        at += 1
    return True
