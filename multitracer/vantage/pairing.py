"""The same packet at two observation points: paired one to one and in order.

A packet is known by what no router changes: its place in its connection, flags and timestamps; and,
where the path left them alone, IP ID and checksum, which tell a retransmission from its original.
Copies that nothing tells apart (IP ID 0, no timestamps) are paired only when the order in which
their neighbours arrived, or the neighbours' delay, leaves one way to do it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.kernels import kernel
from multitracer.model.schema import MARKS, OPTION_TIMESTAMPS
from multitracer.vantage.points import mix

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Words: TypeAlias = npt.NDArray[np.uint64]

_ALIKE = 0.9
"""A field survives the path when it is equal in this share of packets paired without it."""
_SAMPLE_ROWS = 200_000
"""Above this, whether fields survive is judged on a sample of the packets."""
_SLACK_NS = 1_000_000
"""How much beyond its neighbours' delays a packet's own may lie, when delays have to decide."""


@dataclass(frozen=True)
class Pairing:
    """Which row at the second point is the packet of each row at the first; -1 when none is known.

    `ambiguous` rows have equals at the other point that nothing tells apart: their -1 does not mean
    lost. Segmentation offload joins or cuts packets: `in_pieces` then holds, where `rows` is -1, the
    row at the other point that carries the last byte.
    """

    rows: Ints
    ambiguous: Bools
    in_pieces: Ints

    @property
    def seen(self) -> Bools:
        """Whether each row's bytes are known to have been seen at the other point."""
        result: Bools = (self.rows >= 0) | (self.in_pieces >= 0)
        return result


def pair(sent: pd.DataFrame, received: pd.DataFrame) -> Ints:
    """For each row of `sent` (segments at one point) the row of `received` with the same packet, else -1."""
    return match(sent, received).rows


def match(sent: pd.DataFrame, received: pd.DataFrame) -> Pairing:
    """Pair the segments of two points; says also what is ambiguous and what offload joined or cut."""
    ours, theirs = _Side(sent), _Side(received)
    ip_id, checksum = _surviving(ours, theirs)
    nothing = np.zeros(len(checksum), dtype=np.bool_)
    paired = np.full(len(ours.rows), -1, dtype=np.int64)
    ambiguous = np.zeros(len(ours.rows), dtype=np.bool_)
    # Single checksums differ where offload filled in only some: what is left is paired without.
    for survives in ((ip_id, checksum), (ip_id, nothing)):
        mine, other = _left(paired, len(theirs.rows))
        if len(mine) and len(other) and survives[0].size:
            _pair_equal(ours, theirs, survives, mine, other, paired, ambiguous)
    ambiguous &= paired < 0
    rows = np.full(len(sent), -1, dtype=np.int64)
    rows[ours.rows[paired >= 0]] = theirs.rows[paired[paired >= 0]]
    unsure = np.zeros(len(sent), dtype=np.bool_)
    unsure[ours.rows] = ambiguous
    return Pairing(rows, unsure, _in_pieces(sent, received, rows, unsure))


def _left(paired: Ints, theirs: int) -> tuple[Ints, Ints]:
    """Positions not paired yet, on either side."""
    taken = np.zeros(theirs, dtype=np.bool_)
    taken[paired[paired >= 0]] = True
    return np.flatnonzero(paired < 0), np.flatnonzero(~taken)


def _pair_equal(
    ours: _Side,
    theirs: _Side,
    survives: tuple[Bools, Bools],
    mine: Ints,
    other: Ints,
    paired: Ints,
    ambiguous: Bools,
) -> None:
    """Pair, among the positions given, what has equal keys."""
    order, start, ours_in, theirs_in = _groups(ours.key(survives)[mine], theirs.key(survives)[other])
    # Positions in both sides together, ours first, as if nothing had been left out.
    order = np.concatenate([mine, other + len(ours.rows)])[order]
    equal = (ours_in == theirs_in) & (ours_in > 0)
    nth = _counted(ours_in[equal])
    first = np.repeat(start[equal], ours_in[equal]) + nth
    partner = first + np.repeat(ours_in[equal], ours_in[equal])
    paired[order[first]] = order[partner] - len(ours.rows)
    unclear = ~equal & (ours_in > 0) & (theirs_in > 0)
    if unclear.any():
        _decide(ours, theirs, paired, order, start[unclear], ours_in[unclear], theirs_in[unclear], ambiguous)


class _Side:
    """The segments of one point that can be paired, in order of time, as plain arrays."""

    def __init__(self, segments: pd.DataFrame) -> None:
        whole = (segments["marks"].to_numpy() & MARKS["captured_twice"]) == 0
        whole &= segments["connection"].to_numpy() >= 0
        rows = np.flatnonzero(whole)
        time = segments["time_ns"].to_numpy()[rows]
        if len(time) and (np.diff(time) < 0).any():
            by_time = np.argsort(time, kind="stable")
            rows, time = rows[by_time], time[by_time]
        self.rows: Ints = rows
        self.time: Ints = time

        def column(name: str) -> Ints:
            return segments[name].to_numpy()[rows].astype(np.int64)

        self.stream = column("connection") * 2 + column("sender")
        self.words = [
            (self.stream << 40) | ((column("flags") & 0xFF) << 32) | column("payload_bytes"),
            column("seq"),
            column("ack"),
            (column("tsval") << 32) | column("tsecr"),
        ]
        self.ip_id, self.checksum = np.maximum(column("ip_id"), 0) & 0xFFFF, column("checksum")

    def core(self) -> Words:
        """Fingerprints of what no router changes."""
        mixed = np.zeros(len(self.rows), dtype=np.uint64)
        for word in self.words:
            mixed = mix(mixed, word)
        return mixed

    def key(self, survives: tuple[Bools, Bools]) -> Words:
        """Fingerprints with the IP ID and the checksum where the stream's survive the path."""
        ip_id, checksum = (kept[self.stream] for kept in survives)
        telling = (np.where(ip_id, self.ip_id, 0) << 16) | np.where(checksum, self.checksum, 0)
        return mix(self.core(), telling)


def _surviving(ours: _Side, theirs: _Side) -> tuple[Bools, Bools]:
    """Per stream (connection and sender), whether its IP IDs and its checksums arrive as they were sent.

    Address translation and checksum offload change checksums; some middleboxes rewrite IP IDs.
    """
    mine, other = ours.core(), theirs.core()
    streams = 1 + max((int(side.stream.max()) for side in (ours, theirs) if len(side.stream)), default=0)
    pick = np.arange(len(mine)), np.arange(len(other))
    if len(mine) > _SAMPLE_ROWS:
        pick = np.flatnonzero(mine % np.uint64(8) == 0), np.flatnonzero(other % np.uint64(8) == 0)
    order, start, ours_in, theirs_in = _groups(mine[pick[0]], other[pick[1]])
    single = start[(ours_in == 1) & (theirs_in == 1)]
    a = pick[0][order[single]]
    b = pick[1][order[single + 1] - len(pick[0])]

    def kept(one: Ints, two: Ints) -> Bools:
        total = np.bincount(ours.stream[a], minlength=streams)
        alike = np.bincount(ours.stream[a], weights=one[a] == two[b], minlength=streams)
        result: Bools = (total > 0) & (alike >= _ALIKE * total)
        return result

    judged = np.bincount(ours.stream[a], minlength=streams) > 0
    ip_id = np.where(judged, kept(ours.ip_id, theirs.ip_id), _shared_ids(ours, theirs, streams))
    return ip_id, kept(ours.checksum, theirs.checksum)


def _shared_ids(ours: _Side, theirs: _Side, streams: int) -> Bools:
    """Streams of which both points saw the same IP ID somewhere."""
    one, two = ((side.stream << 16 | side.ip_id)[side.ip_id > 0] for side in (ours, theirs))
    shared = np.intersect1d(one, two)
    result = np.zeros(streams, dtype=np.bool_)
    result[shared >> 16] = True
    return result


def _groups(mine: Words, other: Words) -> tuple[Ints, Ints, Ints, Ints]:
    """Equal keys together: (order over both, where each group starts, how many of ours, of theirs).

    Within a group ours come first, each side in order of time.
    """
    together = np.concatenate([mine, other])
    order = np.argsort(together, kind="stable")
    ordered = together[order]
    edges = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    start = np.r_[0, edges].astype(np.int64) if len(ordered) else np.zeros(0, np.int64)
    if not len(ordered):
        return order, start, start, start
    size = np.diff(np.r_[start, len(ordered)])
    ours_in = np.add.reduceat((order < len(mine)).astype(np.int64), start)
    return order, start, ours_in, size - ours_in


def _counted(sizes: Ints) -> Ints:
    """0, 1, ... within each of consecutive runs of the given sizes."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - sizes, sizes)


def _decide(
    ours: _Side,
    theirs: _Side,
    paired: Ints,
    order: Ints,
    start: Ints,
    ours_in: Ints,
    theirs_in: Ints,
    ambiguous: Bools,
) -> None:
    """Pair what order and neighbours' delay leave only one way to pair; marks the rest ambiguous."""
    before, after = _neighbours(ours.stream, paired)
    none = np.iinfo(np.int64).min
    times = theirs.time[paired]
    early = np.where(before >= 0, times[before], none)
    late = np.where(after >= 0, times[after], np.iinfo(np.int64).max)
    delay = times - ours.time
    known = (before >= 0) | (after >= 0)
    ahead = np.where(before >= 0, delay[before], delay[after])
    behind = np.where(after >= 0, delay[after], delay[before])
    least, most = np.minimum(ahead, behind), np.maximum(ahead, behind)
    least[~known], most[~known] = 0, -1
    few = int(np.minimum(ours_in, theirs_in).max())
    forward, backward = np.empty(few, dtype=np.int64), np.empty(few, dtype=np.int64)
    _settle(
        ours.time, theirs.time, early, late, least, most, order, start, ours_in, theirs_in, paired, ambiguous,
        forward, backward,
    )  # fmt: skip


def _neighbours(stream: Ints, paired: Ints) -> tuple[Ints, Ints]:
    """For each row the nearest paired row before and after it in its stream, -1 where there is none."""
    count = len(stream)
    by_stream = np.argsort(stream, kind="stable")
    in_order = np.where(paired[by_stream] >= 0, np.arange(count), -1)
    first = np.r_[True, np.diff(stream[by_stream]) != 0]
    begin = np.maximum.accumulate(np.where(first, np.arange(count), 0))
    before = np.maximum.accumulate(in_order)
    before = np.where(before >= begin, before, -1)
    backwards = np.where(in_order >= 0, in_order, count)
    after = np.minimum.accumulate(backwards[::-1])[::-1]
    stop = np.r_[first[1:], True]
    end = np.minimum.accumulate(np.where(stop, np.arange(count), count)[::-1])[::-1]
    after = np.where(after <= end, after, -1)
    results = []
    for place in (before, after):
        back = np.full(count, -1, dtype=np.int64)
        back[by_stream] = np.where(place >= 0, by_stream[place], -1)
        results.append(back)
    return results[0], results[1]


@kernel
def _settle(  # type: ignore[no-untyped-def]
    ours, theirs, early, late, least, most, order, start, ours_in, theirs_in, paired, ambiguous, forward, backward,
):  # fmt: skip
    """Groups of unequal numbers of equal packets: pair those that only one ordered pairing allows.

    The first and the last possible ordered pairing (`forward` and `backward`, with room for any
    group's) are found greedily; what both agree on is the only way. By arrival order alone first,
    then also by the delay of the neighbours.
    """
    total = len(ours)
    for group in range(len(start)):
        n, m, base = ours_in[group], theirs_in[group], start[group]
        few = min(n, m)
        open_ = few
        for strict in range(2):
            if open_ == 0:
                break
            _ordered(ours, theirs, early, late, least, most, order, base, n, m, total, strict, 1, forward)
            _ordered(ours, theirs, early, late, least, most, order, base, n, m, total, strict, -1, backward)
            for k in range(few):
                if forward[k] >= 0 and forward[k] == backward[k]:
                    a = order[base + (k if n <= m else forward[k])]
                    if paired[a] < 0:
                        paired[a] = order[base + n + (forward[k] if n <= m else k)] - total
                        open_ -= 1
        for k in range(n):
            if open_ > 0 and paired[order[base + k]] < 0:
                ambiguous[order[base + k]] = True


@kernel
def _ordered(ours, theirs, early, late, least, most, order, base, n, m, total, strict, step, chosen):  # type: ignore[no-untyped-def]
    """The first (step 1) or last (step -1) ordered pairing of the fewer with the more, into `chosen`; -1 for none."""
    few, many = min(n, m), max(n, m)
    other = 0 if step > 0 else many - 1
    for index in range(few):
        k = index if step > 0 else few - 1 - index
        chosen[k] = -1
        while 0 <= other < many:
            a = order[base + (k if n <= m else other)]
            b = order[base + n + (other if n <= m else k)] - total
            fits = early[a] <= theirs[b] <= late[a]
            if fits and strict == 1:
                slack = _SLACK_NS + (most[a] - least[a]) // 4
                delay = theirs[b] - ours[a]
                fits = most[a] >= least[a] and least[a] - slack <= delay <= most[a] + slack
            other += step
            if fits:
                chosen[k] = other - step
                break


def _in_pieces(sent: pd.DataFrame, received: pd.DataFrame, rows: Ints, unsure: Bools) -> Ints:
    """For unpaired data, the unpaired row at the other point that carries its last byte, else -1."""
    result = np.full(len(sent), -1, dtype=np.int64)
    taken = np.zeros(len(received), dtype=np.bool_)
    taken[rows[rows >= 0]] = True
    mine = np.flatnonzero((rows < 0) & ~unsure & (sent["payload_bytes"].to_numpy() > 1))
    other = np.flatnonzero(~taken & (received["payload_bytes"].to_numpy() > 1))
    if not len(mine) or not len(other):
        return result
    ends = _stream_place(received, other, 0)
    by_end = np.argsort(ends, kind="stable")
    ends, other = ends[by_end], other[by_end]
    last = _stream_place(sent, mine, -1)
    starts = _stream_place(received, other, None)
    stamped = [frame["options"].to_numpy() & OPTION_TIMESTAMPS > 0 for frame in (sent, received)]
    stamps = [frame["tsval"].to_numpy() for frame in (sent, received)]
    sizes = [frame["payload_bytes"].to_numpy() for frame in (sent, received)]
    at = np.searchsorted(ends, last, side="right")
    open_ = np.ones(len(mine), dtype=np.bool_)
    for further in range(4):  # copies of the same bytes stand next to each other
        place = np.minimum(at + further, len(other) - 1)
        row = other[place]
        fits = open_ & (at + further < len(other)) & (starts[place] <= last) & (ends[place] > last)
        fits &= sizes[0][mine] != sizes[1][row]
        fits &= ~(stamped[0][mine] & stamped[1][row]) | (stamps[0][mine] == stamps[1][row])
        result[mine[fits]] = row[fits]
        open_ &= ~fits
    return result


def _stream_place(segments: pd.DataFrame, rows: Ints, after_end: int | None) -> Ints:
    """Stream and byte as one sortable number: the first byte (None), or the end plus `after_end`."""
    place: Ints = segments["seq"].to_numpy()[rows].astype(np.int64)
    if after_end is not None:
        place = place + segments["payload_bytes"].to_numpy()[rows] + after_end
    connection = segments["connection"].to_numpy()[rows].astype(np.int64)
    result: Ints = (connection * 2 + segments["sender"].to_numpy()[rows] << 42) + place
    return result
