"""Counts, rates and round trips per end of each connection, at every observation point.

Where a name is tcptrace's, the count follows tcptrace 6.6.7; docs/tcptrace.md lists the intended
differences. Segments captured twice count once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.arrays import with_columns
from multitracer.compute.kernels import inlined, kernel
from multitracer.compute.threads import concurrently, shares
from multitracer.model.schema import ACK, FIN, MARKS, RST, SYN
from multitracer.tcp.port_reuse import in_order_of_time
from multitracer.tcp.rtt import STATISTICS, add_candidate, invalidate_candidates, summarize, take_sample
from multitracer.tcp.sent_ranges import (
    FIRST,
    FREE,
    HIGH,
    LENGTH,
    LOWEST,
    RANGES,
    UNSEEN,
    VALUE,
    grow_pool,
    home_node,
    new_pool,
    note_sent,
)

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]

# Columns of the state of one end at one point; columns 0 to 8 belong to `sent_ranges` and `rtt`.
TOP, ACKED, WINDOW, DATA_LOW, DATA_TOP = 9, 10, 11, 12, 13
# The latest time of any packet so far. Captured data below DATA_ACKED is acknowledged, from the first that was captured
# on: when that was captured, and when DATA_ACKED last grew. The smallest window that the end advertised, in octets.
LATEST_NS, DATA_ACKED, DATA_FROM_NS, DATA_ACKED_NS, LEAST_WINDOW = 14, 15, 16, 17, 18
FIRST_NS, LAST_NS, FIRST_DATA_NS, LAST_ACKED_NS = 19, 20, 21, 22
COUNTS = (
    "packets", "data_segments", "data_bytes", "unique_bytes", "retransmitted_segments", "retransmitted_bytes",
    "out_of_order_segments", "pure_acks", "duplicate_acks", "zero_window_acks", "window_probes",
    "max_outstanding_bytes", "max_segment_bytes",
)  # fmt: skip
(
    PACKETS, DATA_SEGMENTS, DATA_BYTES, UNIQUE_BYTES, RETRANSMITTED_SEGMENTS, RETRANSMITTED_BYTES,
    OUT_OF_ORDER, PURE_ACKS, DUPLICATE_ACKS, ZERO_WINDOWS, PROBES,
    MOST_OUTSTANDING, LARGEST,
) = range(23, 36)  # fmt: skip
STATE_FIELDS = 36
NO_WINDOW = 1 << 62
"""Above any window: none was seen."""

RETRANSMISSION, OUT_OF_ORDER_MARK = MARKS["retransmission"], MARKS["out_of_order"]
DUPLICATE_ACK = MARKS["duplicate_ack"]
CAPTURED_TWICE, ZERO_WINDOW, WINDOW_PROBE = MARKS["captured_twice"], MARKS["zero_window"], MARKS["window_probe"]
LINK_REPEAT = MARKS["link_repeat"]
KEEP_ALIVE, ACKS_UNSEEN, BAD_CHECKSUM = MARKS["keep_alive"], MARKS["acks_unseen"], MARKS["bad_checksum"]
SPARE_NODES = 8
BLOCK_SLOTS = 512
"""Slots whose states are put in rows by field at a time: some 300 kB."""


class SegmentColumns(NamedTuple):
    """What is read of the segments, and their `marks`, which are written: one element per segment."""

    point: Any
    connection: Any
    sender: Any
    time_ns: Any
    seq: Any
    ack: Any
    payload_bytes: Any
    flags: Any
    checksum_ok: Any
    raw_window: Any
    window_bytes: Any
    marks: Any


class Slots(NamedTuple):
    """The numbers of connections at points, and the part of them that one thread measures."""

    of: Any
    """The slot of point * connections + connection; -1 for none."""
    connections: int
    first: int
    """The slots from `first` on, up to `stop`, are measured."""
    stop: int


class RoundTrips(NamedTuple):
    """The round-trip samples found so far, with room for more."""

    time_ns: Any
    end: Any
    """The end whose data was acknowledged."""
    count: Any
    """One element: the number of samples."""


def measure(
    segments: pd.DataFrame, sack: pd.DataFrame, raw_window: npt.NDArray[np.uint16]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Count what every end sent at every point; returns the counts, and the segments with their `marks`.

    `sack` is that of `find_connections`, `raw_window` the column of packets. The counts have one row per
    point, connection and sender, with the columns of a direction in summary.json; round trips are
    `rtt_samples`, `rtt_min_ms` and so on. Unknown values are NaN, as what takes packets of both ends is in a capture
    of one direction. `captured` is False for an end that did send, but of which the point captured nothing.

    `data_from_ns` is when an end's first data was captured, `data_acked_ns` when more of its captured data was last
    acknowledged, -1 for never; where a clock was set back, these stand still until it is where it was.
    `peer_window_min_bytes` is the smallest window that its peer advertised, as far as its scale is known, or NO_WINDOW.
    Resets tell none of these.
    """
    point, connection = segments["point"].to_numpy(), segments["connection"].to_numpy()
    connections = int(connection.max(initial=-1)) + 1
    slot_of = np.full((int(point.max(initial=-1)) + 1) * connections, -1, dtype=np.int32)
    slots = number_slots(point, connection, connections, slot_of)
    parts = len(shares(len(segments), 2))
    each = _set_apart(slot_of, slots, parts)
    ends = np.empty((2 * each * parts, STATE_FIELDS), dtype=np.int64)
    marks = segments["marks"].to_numpy().copy()
    columns = _segment_columns(segments, raw_window, marks)
    found = concurrently(
        lambda first: _measure_part(segments, columns, ends, Slots(slot_of, connections, first, first + each)),
        range(0, parts * each, max(1, each)),
    )
    keys = np.flatnonzero(slot_of >= 0)
    table = _table(keys // max(connections, 1), keys % max(connections, 1), ends, slot_of[keys])
    rows = np.repeat(2 * slot_of[keys].astype(np.int64), 2)
    rows[1::2] += 1
    counts, statistics = summarize(found, len(ends))
    table["sack_segments"] = _sack_segments(segments, sack, marks, connections, slot_of, len(ends))[rows]
    table["rtt_samples"] = np.where(ends[rows ^ 1, PACKETS] > 0, counts[rows], np.nan)
    for i, name in enumerate(STATISTICS):
        table[f"rtt_{name}_ms"] = statistics[rows, i]
    return table, with_columns(segments, marks=marks)


def _segment_columns(segments: pd.DataFrame, raw_window: npt.NDArray[np.uint16], marks: Any) -> SegmentColumns:
    own = {name: segments[name].to_numpy() for name in SegmentColumns._fields if name not in ("raw_window", "marks")}
    return SegmentColumns(**own, raw_window=raw_window, marks=marks)


def _set_apart(slot_of: Any, slots: int, parts: int) -> int:
    """Deal the slots out to the parts, and number them anew in `slot_of`, those of a part one after the other.

    Returns how many each part has. The states of two slots that follow one another share a cache line, and threads that
    write into one line wait for each other.
    """
    known = slot_of >= 0
    turn, part = np.divmod(slot_of[known], parts)
    each = -(-slots // parts)
    slot_of[known] = part * each + turn
    return each


def _begin(ends: Ints) -> None:
    """Put both ends of a part's slots into their state before the first packet, each with a home in the part's pool."""
    one = np.zeros(STATE_FIELDS, dtype=np.int64)
    one[[HIGH, LOWEST, TOP, ACKED, DATA_LOW, DATA_TOP]] = UNSEEN
    one[[WINDOW, FIRST_NS, LAST_NS, FIRST_DATA_NS, LAST_ACKED_NS, DATA_FROM_NS, DATA_ACKED_NS]] = -1
    one[[LATEST_NS, DATA_ACKED, LEAST_WINDOW]] = UNSEEN, UNSEEN, NO_WINDOW
    ends[:] = one
    ends[:, FREE] = home_node(np.arange(len(ends)))


def _measure_part(
    segments: pd.DataFrame, columns: SegmentColumns, ends: Ints, slots: Slots
) -> tuple[Ints, npt.NDArray[np.int32]]:
    """Measure one part of the slots in `ends`; returns the round-trip samples (ns) and the end of each."""
    _begin(ends[2 * slots.first : 2 * slots.stop])
    nodes = new_pool(1 << 12, 2 * (slots.stop - slots.first))
    # At most one sample per segment; pages that are never written take no memory.
    most, count = len(segments), np.zeros(1, dtype=np.int64)
    found = RoundTrips(np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int32), count)
    for row, stop in in_order_of_time(segments):
        while (row := measure_rows(row, stop, columns, slots, ends, nodes, found)) < stop:
            nodes = grow_pool(nodes, len(nodes) - int(nodes[0, FIRST]))
    return found.time_ns[: count[0]], found.end[: count[0]]


def _table(point: Ints, connection: Ints, ends: Ints, slot: Any) -> pd.DataFrame:
    """Keys, counts and rates, two rows per slot (client, server)."""
    import pandas as pd

    of = _by_field(ends.reshape(-1, 2, STATE_FIELDS), slot)
    table = {
        "point": np.repeat(point, 2), "connection": np.repeat(connection, 2),
        "sender": np.tile(np.array([0, 1]), len(slot)),
    }  # fmt: skip
    for i, name in enumerate(COUNTS):
        table[name] = of[PACKETS + i].flatten()  # a copy: the other fields need not be kept
    acknowledged, seen = (of[ACKED] != UNSEEN).ravel(), of[PACKETS] > 0
    # An end of which no packet was captured, but whose packets are acknowledged, did send: nobody knows what.
    table["captured"] = seen.ravel() | ~acknowledged
    table["max_outstanding_bytes"] = np.where(acknowledged, table["max_outstanding_bytes"], np.nan)
    for name in ("duplicate_acks", "window_probes"):
        table[name] = np.where(seen[:, ::-1].ravel(), table[name], np.nan)
    for name, field in (("data_from_ns", DATA_FROM_NS), ("data_acked_ns", DATA_ACKED_NS)):
        table[name] = of[field].flatten()
    table["peer_window_min_bytes"] = of[LEAST_WINDOW][:, ::-1].ravel()
    table["throughput_bps"] = _throughput(of).ravel()
    table["goodput_bps"] = _goodput(of).ravel()
    return pd.DataFrame(table, copy=False)


def _by_field(pairs: Ints, slot: Any) -> Ints:
    """The states of both ends of the slots, each field in a row of its own: (field, slot, end).

    In blocks that stay in the cache: the numbers of a field lie so far apart that each would be a miss.
    """
    of = np.empty((STATE_FIELDS, len(slot), 2), dtype=np.int64)
    for first in range(0, len(slot), BLOCK_SLOTS):
        part = slice(first, first + BLOCK_SLOTS)
        of[:, part] = pairs[slot[part]].transpose(2, 0, 1)
    return of


def _throughput(of: Ints) -> npt.NDArray[np.float64]:
    """Unique bytes over the connection's lifetime, first to last packet of either direction (bit/s)."""
    first = np.where(of[PACKETS] > 0, of[FIRST_NS], np.iinfo(np.int64).max).min(axis=1)
    lifetime = (of[LAST_NS].max(axis=1) - first)[:, None]
    return _rate(of[UNIQUE_BYTES], lifetime)


def _goodput(of: Ints) -> npt.NDArray[np.float64]:
    """Acknowledged unique bytes, over the time from the first data to the last acknowledgement of new data (bit/s)."""
    outstanding = np.maximum(of[DATA_TOP] - of[ACKED], 0)
    duration = np.where(of[LAST_ACKED_NS] < 0, 0, of[LAST_ACKED_NS] - of[FIRST_DATA_NS])
    return _rate(np.maximum(of[UNIQUE_BYTES] - outstanding, 0), duration)


def _rate(count: Ints, duration_ns: Ints) -> npt.NDArray[np.float64]:
    known = duration_ns > 0
    return np.where(known, count * 8e9 / np.where(known, duration_ns, 1), np.nan)


def _sack_segments(
    segments: pd.DataFrame, sack: pd.DataFrame, marks: Any, connections: int, slot_of: Any, ends: int
) -> Ints:
    """Per end, how many of its segments carried at least one SACK block."""
    rows = sack["segment"].to_numpy()
    rows = rows[np.flatnonzero(np.diff(rows, prepend=-1))]  # the blocks of a segment are adjacent
    rows = rows[(marks[rows] & CAPTURED_TWICE) == 0]
    point, connection = (segments[name].to_numpy()[rows].astype(np.int64) for name in ("point", "connection"))
    end = 2 * slot_of[point * connections + connection].astype(np.int64) + segments["sender"].to_numpy()[rows]
    return np.bincount(end, minlength=ends)


@kernel
def number_slots(point: Any, connection: Any, connections: int, slot_of: Any) -> int:
    """Number the pairs of point and connection in order of appearance; returns how many there are."""
    count = 0
    for row in range(len(point)):
        key = np.int64(point[row]) * connections + connection[row]
        if slot_of[key] < 0:
            slot_of[key] = count
            count += 1
    return count


@kernel
def measure_rows(
    start: int, stop: int, columns: SegmentColumns, slots: Slots, ends: Ints, nodes: Ints, found: RoundTrips
) -> int:
    """Count rows start..stop-1 of the slots of one part; returns the row reached, `stop` unless nodes ran out."""
    time_ns, seq, ack, marks = columns.time_ns, columns.seq, columns.ack, columns.marks
    for row in range(start, stop):
        at = np.uint64(row)
        slot = np.int64(slots.of[np.int64(columns.point[at]) * slots.connections + columns.connection[at]])
        if slot < slots.first or slot >= slots.stop:
            continue
        end = np.uint64(2 * slot + columns.sender[at])
        if marks[at] & CAPTURED_TWICE:
            ends[end, PACKETS] += 1 if marks[at] & LINK_REPEAT else 0  # it was on the air, and is counted as no more
            continue
        if nodes[0, VALUE] < ends[end, RANGES + LENGTH] + SPARE_NODES:
            return row
        flag, length = np.int64(columns.flags[at]), np.int64(columns.payload_bytes[at])
        window = np.int64(columns.raw_window[at])
        mark = BAD_CHECKSUM if columns.checksum_ok[at] == 0 else 0
        count_packet(ends, end, time_ns[at], length)
        if length <= 1 and is_keep_alive(ends, end, seq[at], length, flag):
            mark |= KEEP_ALIVE
        if length > 0 or flag & (SYN | FIN):
            if ends[end ^ np.uint64(1), WINDOW] == 0:
                ends[end, PROBES] += 1
                mark |= WINDOW_PROBE
            else:
                mark |= count_sent(nodes, ends, end, seq[at], length, flag, time_ns[at])
            note_highest(ends, end, seq[at], length, flag)
        if flag & ACK:
            mark |= count_ack(ends, end, ack[at], length, flag, window, time_ns[at])
            note_sample(found, end ^ np.uint64(1), take_sample(nodes, ends, end ^ np.uint64(1), ack[at], time_ns[at]))
        if not flag & RST and flag & (ACK | SYN):
            ends[end, WINDOW] = window
            if columns.window_bytes[at] >= 0:
                ends[end, LEAST_WINDOW] = min(ends[end, LEAST_WINDOW], np.int64(columns.window_bytes[at]))
        if mark:  # most rows have none; parallel writes to one cache line slow each other down
            marks[at] |= mark
    return stop


@inlined
def note_sample(found: RoundTrips, end: int, time_ns: int) -> None:
    """Write down a round trip of an end's segments; negative: there is none."""
    if time_ns >= 0:
        found.time_ns[found.count[0]] = time_ns
        found.end[found.count[0]] = end
        found.count[0] += 1


@inlined
def count_packet(ends: Ints, end: int, time_ns: int, length: int) -> None:
    """Count a packet and its payload."""
    ends[end, PACKETS] += 1
    if ends[end, FIRST_NS] < 0:
        ends[end, FIRST_NS] = time_ns
    ends[end, LAST_NS] = time_ns
    ends[end, LATEST_NS] = max(ends[end, LATEST_NS], ends[end ^ np.uint64(1), LATEST_NS], time_ns)
    if length > 0:
        ends[end, DATA_SEGMENTS] += 1
        ends[end, DATA_BYTES] += length
        ends[end, LARGEST] = max(ends[end, LARGEST], length)
        if ends[end, FIRST_DATA_NS] < 0:
            ends[end, FIRST_DATA_NS], ends[end, DATA_FROM_NS] = time_ns, ends[end, LATEST_NS]


@inlined
def is_keep_alive(ends: Ints, end: int, seq: int, length: int, flag: int) -> bool:
    """Whether a segment of at most one byte repeats the last sequence number sent (RFC 9293 3.8.4)."""
    high = ends[end, HIGH]
    if flag & (SYN | FIN | RST) or high == UNSEEN or seq != high - 1:
        return False
    # The last number must be a data byte: an ACK that was captured late repeats that of a SYN or FIN.
    return ends[end, DATA_TOP] == high and (length == 1 or ends[end, ACKED] >= high)


@inlined
def count_sent(
    nodes: Ints, ends: Ints, end: int, seq: int, length: int, flag: int, time_ns: int
) -> int:  # fmt: skip
    """Count the new, retransmitted and out-of-order bytes of a segment; returns its marks.

    As in tcptrace, SYN and FIN count as retransmitted bytes, but not as data.
    """
    syn, fin = (flag & SYN) != 0, (flag & FIN) != 0
    stop = seq + length + (syn and length == 0) + fin
    if syn and length > 0:  # the SYN's own number is below that of its data
        seq -= 1
    high = ends[end, HIGH]
    new, first_copies, last_copies, run = note_sent(nodes, ends, end, seq, stop)
    if seq < high:
        invalidate_candidates(nodes, ends, end, seq)
    if last_copies == 0:
        add_candidate(nodes, ends, end, run, stop, time_ns)
    ends[end, UNIQUE_BYTES] += new - (syn and first_copies == 0) - (fin and last_copies == 0)
    mark = 0
    if new < stop - seq:
        ends[end, RETRANSMITTED_SEGMENTS] += 1
        ends[end, RETRANSMITTED_BYTES] += stop - seq - new
        mark |= RETRANSMISSION
    if last_copies == 0 and stop <= high:
        ends[end, OUT_OF_ORDER] += 1
        mark |= OUT_OF_ORDER_MARK
    return mark


@inlined
def note_highest(ends: Ints, end: int, seq: int, length: int, flag: int) -> None:
    """Note the highest sequence numbers sent, of data and in all, and the data outstanding."""
    ends[end, TOP] = max(ends[end, TOP], seq + length + ((flag & SYN) != 0 and length == 0) + ((flag & FIN) != 0))
    if length > 0:
        if ends[end, DATA_LOW] == UNSEEN:
            ends[end, DATA_LOW] = ends[end, DATA_ACKED] = seq
        ends[end, DATA_LOW] = min(ends[end, DATA_LOW], seq)
        ends[end, DATA_TOP] = max(ends[end, DATA_TOP], seq + length)
        outstanding = ends[end, DATA_TOP] - max(ends[end, ACKED], ends[end, DATA_LOW])
        ends[end, MOST_OUTSTANDING] = max(ends[end, MOST_OUTSTANDING], outstanding)


@inlined
def count_ack(ends: Ints, end: int, ack: int, length: int, flag: int, window: int, time_ns: int) -> int:
    """Count an acknowledgement that `end` sends; returns its marks. The numbers of RSTs and stale ones are ignored."""
    if flag & RST:
        return 0
    peer = end ^ np.uint64(1)
    mark = 0
    if window == 0:
        ends[end, ZERO_WINDOWS] += 1
        mark |= ZERO_WINDOW
    if length == 0 and not flag & (SYN | FIN):
        ends[end, PURE_ACKS] += 1
        if ack < 0:
            return mark
        # RFC 5681 2: data outstanding, the same number, and the window unchanged.
        if ack == ends[peer, ACKED] and window == ends[end, WINDOW] and ends[peer, TOP] > ack:
            ends[end, DUPLICATE_ACKS] += 1
            mark |= DUPLICATE_ACK
    if ends[peer, TOP] != UNSEEN and ack > ends[peer, TOP]:
        mark |= ACKS_UNSEEN
    if ends[peer, DATA_ACKED] < min(ack, ends[peer, DATA_TOP]):
        ends[peer, DATA_ACKED], ends[peer, DATA_ACKED_NS] = min(ack, ends[peer, DATA_TOP]), ends[end, LATEST_NS]
    if ack > ends[peer, ACKED]:
        if ends[peer, ACKED] < ends[peer, DATA_TOP] and ack > ends[peer, DATA_LOW]:  # that of a FIN is none of data
            ends[peer, LAST_ACKED_NS] = time_ns
        ends[peer, ACKED] = ack
    return mark
