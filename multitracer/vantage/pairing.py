"""The same packet at two observation points: paired one to one and in order.

A packet is identified by what no router changes: connection, sequence numbers, flags and timestamps; and,
where the path left them unchanged, IP ID and checksum, which distinguish a retransmission from its
original. Copies that are equal in all of these (IP ID 0, no timestamps) are paired only when the order in
which neighbouring packets arrived, or their delay, allows one pairing.

A packet whose checksum verifies wrong is damaged: it never pairs with a packet of another checksum. A header
decompressor with a stale context rebuilds a segment with the numbers of another one (RFC 1144 4.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.kernels import kernel
from multitracer.model.schema import MARKS, OPTION_TIMESTAMPS
from multitracer.vantage.fingerprints import mix

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Words: TypeAlias = npt.NDArray[np.uint64]

_UNCHANGED_SHARE = 0.9
"""A field is unchanged by the path when it is equal in this share of packets paired without it."""
_SAMPLE_ROWS = 200_000
"""Above this number of packets, unchanged fields are determined from a sample."""
_COLUMNS = (
    "time_ns", "connection", "sender", "seq", "ack", "payload_bytes", "flags", "options", "tsval", "tsecr", "ip_id",
    "checksum", "checksum_ok", "marks",
)  # fmt: skip
_DELAY_TOLERANCE_NS = 1_000_000
"""How far a packet's delay may be outside those of its neighbours, when delays decide."""


@dataclass(frozen=True)
class Pairing:
    """Pairs of the rows at two points; all arrays have one element per row at the first point.

    `rows` is the row at the second point with the same packet, -1 for none. `ambiguous` rows have equal
    packets at the second point that could not be distinguished: their -1 does not mean lost. Segmentation
    offload joins or splits packets: `in_pieces` is then, where `rows` is -1, the row at the second point
    with the segment's last byte.
    """

    rows: Ints
    ambiguous: Bools
    in_pieces: Ints

    @property
    def seen(self) -> Bools:
        """Whether each row's bytes are known to have been captured at the second point."""
        result: Bools = (self.rows >= 0) | (self.in_pieces >= 0)
        return result


def columns_of(segments: pd.DataFrame, rows: Ints) -> pd.DataFrame:
    """What pairing reads of some rows of segments."""
    import pandas as pd

    return pd.DataFrame({name: segments[name].to_numpy()[rows] for name in _COLUMNS}, copy=False)


def pair(sent: pd.DataFrame, received: pd.DataFrame) -> Ints:
    """For each row of `sent` (segments at one point) the row of `received` with the same packet, else -1."""
    return match(sent, received).rows


def match(sent: pd.DataFrame, received: pd.DataFrame) -> Pairing:
    """Pair the segments of two points, with what is ambiguous and what segmentation offload joined or split."""
    ours, theirs = _Side(sent), _Side(received)
    ip_id, checksum = _unchanged_fields(ours, theirs)
    paired = np.full(len(ours.rows), -1, dtype=np.int64)
    ambiguous = np.zeros(len(ours.rows), dtype=np.bool_)
    # With checksum offload some checksums differ: the second pass pairs the rest without them.
    for compared in (checksum, np.zeros(len(checksum), dtype=np.bool_)):
        mine, other = _unpaired(ours, theirs, paired, compared)
        if len(mine) and len(other):
            _pair_equal(ours, theirs, (ip_id, compared), mine, other, paired, ambiguous)
    _separate_unverified(ours, theirs, checksum, paired, ambiguous)
    ambiguous &= paired < 0
    rows = np.full(len(sent), -1, dtype=np.int64)
    rows[ours.rows[paired >= 0]] = theirs.rows[paired[paired >= 0]]
    ambiguous_rows = np.zeros(len(sent), dtype=np.bool_)
    ambiguous_rows[ours.rows] = ambiguous
    damaged = ours.damaged_rows(len(sent)), theirs.damaged_rows(len(received))
    return Pairing(rows, ambiguous_rows, _find_pieces(sent, received, rows, ambiguous_rows, damaged))


def _unpaired(ours: _Side, theirs: _Side, paired: Ints, compared: Bools) -> tuple[Ints, Ints]:
    """Positions not paired yet, on each side; damaged ones only in streams whose checksums are `compared`."""
    taken = np.zeros(len(theirs.rows), dtype=np.bool_)
    taken[paired[paired >= 0]] = True
    mine, other = ((compared[side.stream] | ~side.damaged) for side in (ours, theirs))
    return np.flatnonzero((paired < 0) & mine), np.flatnonzero(~taken & other)


def _separate_unverified(ours: _Side, theirs: _Side, checksum: Bools, paired: Ints, ambiguous: Bools) -> None:
    """Undo pairs with different checksums where the path keeps checksums and one of the two cannot be verified.

    Such a packet may be damaged, and be another one; its partner is marked ambiguous.
    """
    place = np.flatnonzero(paired >= 0)
    partner = paired[place]
    doubtful = checksum[ours.stream[place]] & (ours.checksum[place] != theirs.checksum[partner])
    doubtful &= ~((ours.checksum_ok[place] == 1) & (theirs.checksum_ok[partner] == 1))
    paired[place[doubtful]] = -1
    ambiguous[place[doubtful]] = True


def _pair_equal(
    ours: _Side,
    theirs: _Side,
    unchanged: tuple[Bools, Bools],
    mine: Ints,
    other: Ints,
    paired: Ints,
    ambiguous: Bools,
) -> None:
    """Pair, among the given positions, those with equal keys."""
    order, start, ours_in, theirs_in = _groups(ours.key(unchanged)[mine], theirs.key(unchanged)[other])
    # Positions in the concatenation of both sides, ours first.
    order = np.concatenate([mine, other + len(ours.rows)])[order]
    equal = (ours_in == theirs_in) & (ours_in > 0)
    nth = _index_within_runs(ours_in[equal])
    first = np.repeat(start[equal], ours_in[equal]) + nth
    partner = first + np.repeat(ours_in[equal], ours_in[equal])
    paired[order[first]] = order[partner] - len(ours.rows)
    unclear = ~equal & (ours_in > 0) & (theirs_in > 0)
    if unclear.any():
        _pair_by_order(ours, theirs, paired, order, start[unclear], ours_in[unclear], theirs_in[unclear], ambiguous)


class _Side:
    """The segments of one point that can be paired, in order of time, as arrays."""

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
        self.checksum_ok = column("checksum_ok")
        self.damaged: Bools = (self.checksum_ok == 0) & _some_right(self.stream, self.checksum_ok)

    def damaged_rows(self, rows: int) -> Bools:
        """Which of all `rows` at this point are damaged."""
        result = np.zeros(rows, dtype=np.bool_)
        result[self.rows] = self.damaged
        return result

    def invariant_key(self) -> Words:
        """Fingerprints of the fields that no router changes."""
        mixed = np.zeros(len(self.rows), dtype=np.uint64)
        for word in self.words:
            mixed = mix(mixed, word)
        return mixed

    def key(self, unchanged: tuple[Bools, Bools]) -> Words:
        """Fingerprints with IP ID and checksum where these are unchanged in the stream."""
        ip_id, checksum = (kept[self.stream] for kept in unchanged)
        id_and_checksum = (np.where(ip_id, self.ip_id, 0) << 16) | np.where(checksum, self.checksum, 0)
        return mix(self.invariant_key(), id_and_checksum)


def _some_right(stream: Ints, checksum_ok: Ints) -> Bools:
    """Whether a checksum in each row's stream is right; if none is, the host fills them in below the capture."""
    right = np.zeros(int(stream.max(initial=-1)) + 1, dtype=np.bool_)
    right[stream[checksum_ok == 1]] = True
    result: Bools = right[stream]
    return result


def _unchanged_fields(ours: _Side, theirs: _Side) -> tuple[Bools, Bools]:
    """Per stream (connection and sender), whether IP IDs and checksums arrive unchanged.

    Address translation and checksum offload change checksums; some middleboxes rewrite IP IDs.
    """
    mine, other = ours.invariant_key(), theirs.invariant_key()
    streams = 1 + max((int(side.stream.max()) for side in (ours, theirs) if len(side.stream)), default=0)
    pick = np.arange(len(mine)), np.arange(len(other))
    if len(mine) > _SAMPLE_ROWS:
        pick = np.flatnonzero(mine % np.uint64(8) == 0), np.flatnonzero(other % np.uint64(8) == 0)
    order, start, ours_in, theirs_in = _groups(mine[pick[0]], other[pick[1]])
    single = start[(ours_in == 1) & (theirs_in == 1)]
    a = pick[0][order[single]]
    b = pick[1][order[single + 1] - len(pick[0])]
    whole = ~ours.damaged[a] & ~theirs.damaged[b]
    a, b = a[whole], b[whole]

    def kept(one: Ints, two: Ints) -> Bools:
        total = np.bincount(ours.stream[a], minlength=streams)
        alike = np.bincount(ours.stream[a], weights=one[a] == two[b], minlength=streams)
        result: Bools = (total > 0) & (alike >= _UNCHANGED_SHARE * total)
        return result

    judged = np.bincount(ours.stream[a], minlength=streams) > 0
    ip_id = np.where(judged, kept(ours.ip_id, theirs.ip_id), _shared_ids(ours, theirs, streams))
    return ip_id, kept(ours.checksum, theirs.checksum)


def _shared_ids(ours: _Side, theirs: _Side, streams: int) -> Bools:
    """Streams in which both points saw a common IP ID."""
    one, two = ((side.stream << 16 | side.ip_id)[side.ip_id > 0] for side in (ours, theirs))
    shared = np.intersect1d(one, two)
    result = np.zeros(streams, dtype=np.bool_)
    result[shared >> 16] = True
    return result


def _groups(mine: Words, other: Words) -> tuple[Ints, Ints, Ints, Ints]:
    """Positions grouped by equal key: (order over both sides, start of each group, ours in it, theirs in it).

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


def _index_within_runs(sizes: Ints) -> Ints:
    """0, 1, ... within each of consecutive runs of the given sizes."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - sizes, sizes)


def _pair_by_order(
    ours: _Side,
    theirs: _Side,
    paired: Ints,
    order: Ints,
    start: Ints,
    ours_in: Ints,
    theirs_in: Ints,
    ambiguous: Bools,
) -> None:
    """Pair what order and neighbours' delay allow in one way only; mark the rest ambiguous."""
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
    _pair_groups(
        ours.time, theirs.time, early, late, least, most, order, start, ours_in, theirs_in, paired, ambiguous,
        forward, backward,
    )  # fmt: skip


def _neighbours(stream: Ints, paired: Ints) -> tuple[Ints, Ints]:
    """For each row the nearest paired row before and after it in its stream, -1 for none."""
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
def _pair_groups(  # type: ignore[no-untyped-def]
    ours, theirs, early, late, least, most, order, start, ours_in, theirs_in, paired, ambiguous, forward, backward,
):  # fmt: skip
    """In groups with different numbers of equal packets, pair those with only one ordered pairing.

    The first and the last possible ordered pairing (`forward` and `backward`, long enough for any group)
    are found greedily; a pair in both is the only possibility. First by arrival order alone, then also by
    the neighbours' delay.
    """
    total = len(ours)
    for group in range(len(start)):
        n, m, base = ours_in[group], theirs_in[group], start[group]
        few = min(n, m)
        open_ = few
        for strict in range(2):
            if open_ == 0:
                break
            _greedy_pairing(ours, theirs, early, late, least, most, order, base, n, m, total, strict, 1, forward)
            _greedy_pairing(ours, theirs, early, late, least, most, order, base, n, m, total, strict, -1, backward)
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
def _greedy_pairing(ours, theirs, early, late, least, most, order, base, n, m, total, strict, step, chosen):  # type: ignore[no-untyped-def]
    """Fill `chosen` with the first (step 1) or last (step -1) ordered pairing of the smaller side; -1 for none."""
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
                slack = _DELAY_TOLERANCE_NS + (most[a] - least[a]) // 4
                delay = theirs[b] - ours[a]
                fits = most[a] >= least[a] and least[a] - slack <= delay <= most[a] + slack
            other += step
            if fits:
                chosen[k] = other - step
                break


def _find_pieces(
    sent: pd.DataFrame, received: pd.DataFrame, rows: Ints, ambiguous_rows: Bools, damaged: tuple[Bools, Bools]
) -> Ints:
    """For unpaired data, the unpaired row at the other point with its last byte, else -1.

    A damaged packet is no piece of another; of a record that was joined, the checksum says nothing.
    """
    result = np.full(len(sent), -1, dtype=np.int64)
    taken = np.zeros(len(received), dtype=np.bool_)
    taken[rows[rows >= 0]] = True
    mine = np.flatnonzero((rows < 0) & ~ambiguous_rows & (sent["payload_bytes"].to_numpy() > 1))
    other = np.flatnonzero(~taken & (received["payload_bytes"].to_numpy() > 1))
    if not len(mine) or not len(other):
        return result
    ends = _stream_position(received, other, 0)
    by_end = np.argsort(ends, kind="stable")
    ends, other = ends[by_end], other[by_end]
    last = _stream_position(sent, mine, -1)
    starts = _stream_position(received, other, None)
    stamped = [frame["options"].to_numpy() & OPTION_TIMESTAMPS > 0 for frame in (sent, received)]
    stamps = [frame["tsval"].to_numpy() for frame in (sent, received)]
    sizes = [frame["payload_bytes"].to_numpy() for frame in (sent, received)]
    at = np.searchsorted(ends, last, side="right")
    open_ = np.ones(len(mine), dtype=np.bool_)
    for further in range(4):  # copies of the same bytes are adjacent
        place = np.minimum(at + further, len(other) - 1)
        row = other[place]
        fits = open_ & (at + further < len(other)) & (starts[place] <= last) & (ends[place] > last)
        size, its_size = sizes[0][mine], sizes[1][row]
        fits &= ((size < its_size) & ~damaged[0][mine]) | ((size > its_size) & ~damaged[1][row])
        fits &= ~(stamped[0][mine] & stamped[1][row]) | (stamps[0][mine] == stamps[1][row])
        result[mine[fits]] = row[fits]
        open_ &= ~fits
    return result


def _stream_position(segments: pd.DataFrame, rows: Ints, after_end: int | None) -> Ints:
    """Stream and byte as one sortable number: the first byte (None), or the end plus `after_end`."""
    place: Ints = segments["seq"].to_numpy()[rows].astype(np.int64)
    if after_end is not None:
        place = place + segments["payload_bytes"].to_numpy()[rows] + after_end
    connection = segments["connection"].to_numpy()[rows].astype(np.int64)
    result: Ints = (connection * 2 + segments["sender"].to_numpy()[rows] << 42) + place
    return result
