"""Times between new data of one end and the new data before it, by the capture beside it, and what filled them.

In kernels over all rows: a capture may hold a hundred thousand connections.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.compute.threads import concurrently, halves
from multitracer.findings.directions import Direction
from multitracer.findings.limited_stretches import Limited
from multitracer.findings.observations import Ints, Observations
from multitracer.model.schema import ACK, FIN, RST
from multitracer.tcp.packed_rows import FLAGS, LENGTH

# Columns of an advance: when a number rose above all before it, and to what; and the window that came with it.
TIME, NUMBER, WINDOW = range(3)
# Columns of a gap. BEGIN: when the data before it was sent. STOP: when the sender sent new data again, or heard the
# last acknowledgement. IDLE: since when nothing was outstanding, or only a FIN followed; STOP if data was outstanding
# all the time. FREE: since when no acknowledgement advanced, and none was needed therefore to send: IDLE or earlier.
# FLIGHT: how long (ns) the acknowledgement of all of it took; 0 if it never came. QUIET: how long nothing was sent
# after that, with a window for a whole segment; else 0. Data that TCP had held back before would have gone out then.
BEGIN, STOP, IDLE, FREE, FLIGHT, QUIET, GAP_FIELDS = range(7)
# Results of a stretch of time: how much of it lies in gaps since their IDLE, and since their FREE; EMPTY, how much in
# gaps whose QUIET shows that there was nothing to send from their BEGIN on; the longest FLIGHT that counts as IDLE, as
# only a FIN followed; and LATE, how late the sender was at most after an acknowledgement that advanced, while other
# data was outstanding (all in ns).
IDLE_NS, FREE_NS, EMPTY_NS, FLIGHT_NS, LATE_NS, WEIGHT_FIELDS = range(6)

NEVER_NS = np.iinfo(np.int64).max


class Columns(NamedTuple):
    """What is read of segments that advance, where their packed words do not tell."""

    time_ns: Any
    seq: Any
    ack: Any
    window_bytes: Any


class Room(NamedTuple):
    """Arrays for the advances and gaps of one direction, as long as it may have rows."""

    sent: Any
    heard: Any
    gaps: Any


class Stretches(NamedTuple):
    """Stretches of time of several directions; those of one direction follow one another.

    The rows of a stretch's connection at the point beside its sender are order[begin:end]; words[begin:end] are their
    packed words.
    """

    begin: Any
    end: Any
    sender: Any
    start_ns: Any
    stop_ns: Any
    rtt_ns: Any
    last_ns: Any
    """When the last packet of any connection was captured at that point."""


def room_for(rows: int) -> Room:
    """Arrays for a direction of at most so many rows; what is never written of them takes no memory."""
    return Room(*(np.empty((rows + 1, fields), dtype=np.int64) for fields in (2, 3, GAP_FIELDS)))


def columns_of(observed: Observations) -> Columns:
    """The columns of the segments."""
    return Columns(*(observed.column(name) for name in Columns._fields))


def gaps_of(observed: Observations, direction: Direction) -> Ints:
    """The gaps of a direction, shape (gaps, GAP_FIELDS)."""
    place = (np.array([one]) for one in (direction.connection, direction.sender_point))
    order, (begin,), (end,) = observed.row_ranges(*place)
    rows, words, room = order[begin:end], observed.packed_words[begin:end], room_for(end - begin)
    last_ns = observed.last_ns[direction.sender_point]
    count = find_gaps(rows, words, np.int64(direction.sender), columns_of(observed), room, last_ns)
    gaps: Ints = room.gaps[:count]
    return gaps


def weights_of(observed: Observations, found: Limited) -> Ints:
    """What lies in gaps of each stretch, shape (stretches, WEIGHT_FIELDS)."""
    connection, sender = np.divmod(found.end, 2)
    point = observed.by_end.sender_point[found.end]
    order, begin, end = observed.row_ranges(connection, point)
    weights = np.zeros((len(begin), WEIGHT_FIELDS), dtype=np.int64)
    of_each = (sender, found.start_ns, found.stop_ns, found.rtt_ns, observed.last_ns[point])
    made = Stretches(begin, end, *map(np.ascontiguousarray, of_each))

    def weigh_part(part: slice) -> None:
        mine = Stretches(*(column[part] for column in made))
        room = room_for(int((mine.end - mine.begin).max(initial=0)))
        weigh(order, observed.packed_words, mine, columns_of(observed), room, weights[part])

    concurrently(weigh_part, halves(end - begin))
    return weights


@kernel
def find_gaps(rows: Any, words: Any, sender: int, columns: Columns, room: Room, last_ns: int) -> int:
    """Fill `room` with the gaps between new data of a sender, whose connection has these rows; their number.

    The capture that they are of goes on until `last_ns`.
    """
    sent, heard, gaps = room.sent, room.heard, room.gaps
    data, answers, ended, reset_ns, segment = find_advances(rows, words, sender, columns, sent, heard)
    if data == 0 or answers == 0:
        return 0
    silent = min(last_ns, reset_ns)  # so long the sender may still have sent data
    answered, advanced = 0, 0
    for gap in range(data):
        begin = sent[gap, TIME]
        stop = sent[gap + 1, TIME] if gap + 1 < data else max(heard[answers - 1, TIME], begin)
        while answered < answers and heard[answered, NUMBER] < sent[gap, NUMBER]:
            answered += 1
        idle = min(max(heard[answered, TIME], begin), stop) if answered < answers else stop
        while advanced < answers and heard[advanced, TIME] <= stop:
            advanced += 1
        free = min(max(heard[advanced - 1, TIME], begin), idle) if advanced > 0 else begin
        if ended and gap + 1 == data:  # all data that there was had been sent
            idle = free = begin
        gaps[gap, BEGIN], gaps[gap, STOP], gaps[gap, IDLE], gaps[gap, FREE] = begin, stop, idle, free
        gaps[gap, FLIGHT] = gaps[gap, QUIET] = 0
        if answered < answers:
            gaps[gap, FLIGHT] = max(np.int64(0), heard[answered, TIME] - begin)
            if heard[answered, WINDOW] >= segment:
                until = stop if gap + 1 < data else silent
                gaps[gap, QUIET] = max(np.int64(0), until - begin - gaps[gap, FLIGHT])
    return data


@kernel
def find_advances(rows: Any, words: Any, sender: int, columns: Columns, sent: Any, heard: Any) -> Any:
    """Fill in when a sender's data and the acknowledgements that it heard advanced, with the windows of these.

    Returns their numbers, whether it sent a FIN, when a RST came from either end, and the octets of its largest
    segment. Times that fall are taken for the latest before.
    """
    data, answers, ended, segment = 0, 0, False, np.int64(0)
    reset_ns: Any = NEVER_NS
    for place in range(len(rows)):
        row, word = rows[place], words[place]
        flags, length = word >> FLAGS, word >> LENGTH
        if flags & RST:
            reset_ns = min(reset_ns, np.int64(columns.time_ns[row]))
        if word & 1 != sender:
            number = np.int64(columns.ack[row])
            if flags & (ACK | RST) == ACK and (answers == 0 or number > heard[answers - 1, NUMBER]):
                time = np.int64(columns.time_ns[row])
                heard[answers, TIME] = max(time, heard[answers - 1, TIME]) if answers > 0 else time
                heard[answers, NUMBER], heard[answers, WINDOW] = number, columns.window_bytes[row]
                answers += 1
            continue
        ended = ended or (flags & FIN) != 0
        segment = max(segment, length)
        number = np.int64(columns.seq[row]) + length
        if length > 0 and (data == 0 or number > sent[data - 1, NUMBER]):
            time = np.int64(columns.time_ns[row])
            sent[data, TIME] = max(time, sent[data - 1, TIME]) if data > 0 else time
            sent[data, NUMBER] = number
            data += 1
    return data, answers, ended, reset_ns, segment


@kernel
def lateness(gaps: Any, count: int) -> int:
    """How late the sender was at most after an acknowledgement that advanced, while other data was outstanding (ns).

    The last of the `count` gaps, which no data ends, tells nothing.
    """
    late: Any = np.int64(0)
    for gap in range(count - 1):
        if gaps[gap, IDLE] == gaps[gap, STOP]:
            late = max(late, gaps[gap, STOP] - gaps[gap, FREE])
    return int(late)


@kernel
def weigh(order: Any, words: Any, stretches: Stretches, columns: Columns, room: Room, weights: Any) -> None:
    """Fill `weights`, shape (stretches, WEIGHT_FIELDS), with what lies in gaps of each stretch of time."""
    count, late = 0, 0
    for at in range(len(stretches.begin)):
        begin, end, sender = stretches.begin[at], stretches.end[at], stretches.sender[at]
        known = at > 0 and sender == stretches.sender[at - 1] and begin == stretches.begin[at - 1]
        if not known or end != stretches.end[at - 1]:
            count = find_gaps(order[begin:end], words[begin:end], sender, columns, room, stretches.last_ns[at])
            late = lateness(room.gaps, count)
        weights[at, LATE_NS] = late
        weigh_one(room.gaps, count, stretches.start_ns[at], stretches.stop_ns[at], stretches.rtt_ns[at], weights[at])


@kernel
def weigh_one(gaps: Any, count: int, start: int, stop: int, rtt: int, weight: Any) -> None:
    """How much of the time from start to stop lies in gaps; idle time counts in those longer than the host is late.

    A gap that is quiet for longer than that, and than a round trip, was empty from its begin: a sender that acts on
    acknowledgements, or paces what it sends, would have sent by then what it held back. Only the gaps of this time are
    read, as a direction may have a hundred thousand stretches, and gaps.
    """
    late = weight[LATE_NS]
    weight[IDLE_NS] = weight[FREE_NS] = weight[EMPTY_NS] = weight[FLIGHT_NS] = 0
    for gap in range(first_gap_after(gaps, count, start), count):
        if gaps[gap, BEGIN] >= stop:
            break
        until, begin, idle = min(stop, gaps[gap, STOP]), max(start, gaps[gap, BEGIN]), max(start, gaps[gap, IDLE])
        if gaps[gap, STOP] - gaps[gap, IDLE] > late:
            weight[IDLE_NS] += max(np.int64(0), until - idle)
        if gaps[gap, QUIET] > max(late, rtt):
            weight[EMPTY_NS] += max(np.int64(0), until - begin)
        if gaps[gap, IDLE] == gaps[gap, BEGIN]:
            weight[FLIGHT_NS] = max(weight[FLIGHT_NS], gaps[gap, FLIGHT])
        weight[FREE_NS] += max(np.int64(0), until - max(start, gaps[gap, FREE]))


@kernel
def first_gap_after(gaps: Any, count: int, time: int) -> int:
    """The first of the gaps, which follow one another, that ends after a time; `count` if none does."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if gaps[middle, STOP] > time:
            high = middle
        else:
            low = middle + 1
    return low
