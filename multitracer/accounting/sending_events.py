"""What one direction's data did, from the capture beside its sender: sent, delivered, resent, repaired.

One pass over the packets of a connection in both directions. What is delivered is known from acknowledgements, at the
time when they come. Where the receiver's capture shows arrivals, `note_arrivals` replaces them; where timestamps show
which acknowledgements were held, `note_answers` dates them earlier.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import inlined, kernel
from multitracer.model.limits import LIMITS
from multitracer.model.schema import ACK, MARKS, OPTION_SACK, RST, SPURIOUS, TRIGGERS
from multitracer.tcp.packed_rows import FLAGS, LENGTH, OPTIONS, RESENT
from multitracer.tcp.scoreboard import first_above

APPLICATION, RECEIVER_WINDOW, SENDER_WINDOW, TIMEOUT, FAST, STALL, RATE, UNKNOWN = range(len(LIMITS))

CODES = len(LIMITS)
MOST_CAUSE_NS = (1 << 62) // CODES
"""Causes begin at most so long after the first data (18 years): with their code they are one number of 64 bits."""

# Codes of `Events.kind`: sent before; the first copy of its last octet.
AGAIN, NEW = range(2)
# Bits of `Events.delivered_flag`: which copy was delivered is certain; the receiver did not delay the acknowledgement;
# it reported a duplicate (DSACK), so that it may have acknowledged the data before, and that was lost; the data was
# sent once, and none again since, so that it is a round trip (Karn's algorithm); the acknowledgement was held, and the
# time is what its timestamp allows (`answer_times`).
CLEAN, PROMPT, ANSWERS_COPY, ROUND_TRIP, DATED = 1, 2, 4, 8, 16
EXACT = CLEAN | PROMPT
SACKS, DSACKS = 1, 2
"""Kinds of SACK blocks, as bits."""

AT_ONCE_NS = 3_000_000
"""What is sent within this time of an acknowledgement was set off by it."""
PROBES = MARKS["window_probe"] | MARKS["keep_alive"]
BATCH = 256
"""Rows of which the columns are fetched together."""
MOST_HOLES = 256
"""Resends of holes that are looked over, at each acknowledgement, for later data that was delivered."""

# Lists of spans (start, end), in order of precedence; each is sorted and does not overlap itself.
UNSURE_STALLS, STALLS, BUSY, LEAST_BUSY, UNSURE_BUSY, TIMEOUTS, UNSURE, FASTS, LISTS = range(9)
LIST_OF = (-1, -1, -1, TIMEOUTS, FASTS, -1, -1, UNSURE)
"""The list of a recovery, by its cause."""
# Codes of the retransmissions table, and of `Capture.resend`: spurious + len(SPURIOUS) * trigger.
YES, NO = SPURIOUS.index("yes"), SPURIOUS.index("no")
TIMER_TRIGGERS = (TRIGGERS.index("timeout"), TRIGGERS.index("probe"))
ACK_TRIGGERS = (TRIGGERS.index("fast"), TRIGGERS.index("recovery"))
PROBE = TRIGGERS.index("probe")
RTO_TRIGGER, FAST_TRIGGER, REPAIR_TRIGGER = (TRIGGERS.index(name) for name in ("timeout", "fast", "recovery"))
VERDICTS = len(SPURIOUS)

# Columns of the state of a direction; times in ns, numbers relative as in `segments`.
# Octets below UNA are acknowledged, below TOP sent, below HIGH selectively acknowledged but for holes; EDGE is the end
# of the advertised window (-1 unknown); octets below RESENT_TOP may have been resent. LAST_NEW is when new data was
# last sent, LAST_AGAIN when any was last sent again (-1: never), PROGRESS when an acknowledgement last brought news,
# OUTSTANDING since when there has been unacknowledged data. RECOVERY is the cause of the recovery in progress (-1:
# none), which began at RECOVERY_START and lasts until RECOVERY_END is acknowledged. SENT, HEARD, TRIPS, NEEDED, WAITS
# and CAUSES count rows of the arrays; FRONT is the first sent row above all that was delivered. BESIDE_RECEIVER: the
# only capture is that. TIMER_FROM is since when a timer was waited for that ran out at TIMER_AT and resent needlessly,
# or perhaps so (0: none): of the octets below TIMER_TOP, which had been sent then, it found what is repaired next.
(NOW, UNA, TOP, HIGH, EDGE, RESENT_TOP, FIRST_NS, LAST_NEW, LAST_ACKED_NS, PROGRESS, OUTSTANDING, RECOVERY,
 RECOVERY_START, RECOVERY_END, RECOVERY_BY_PROBE, SENT, FRONT, HEARD, TRIPS, NEEDED, WAITS, CAUSES, NEXT_BLOCK,
 BESIDE_RECEIVER, KEEP_TRIPS, TIMER_FROM, TIMER_AT, TIMER_TOP, LAST_AGAIN, FIELDS) = range(30)  # fmt: skip


class Capture(NamedTuple):
    """Columns of all segments, one element per row."""

    time_ns: Any
    sender: Any
    seq: Any
    ack: Any
    payload_bytes: Any
    flags: Any
    options: Any
    tsval: Any
    window_bytes: Any
    wire_bytes: Any
    marks: Any
    resend: Any
    """The code of its retransmission's verdict and trigger; -1 for what was not resent."""
    arrival: Any
    """The row of the same packet at the receiving point; -1 none."""
    arrived: Any
    """Whether it got there intact: 1 yes, 0 no, -1 unknown."""
    came_ns: Any
    """When it did, by the capture there or by a link's log; -1 unknown, or never; or empty, as in `Deliveries`."""
    given_ns: Any
    """Since when the bottleneck may have had it, by a link's log; -1 unknown; or empty."""
    held_ns: Any
    """Until when the bottleneck had it at least, by a link's log; -1 unknown; or empty."""
    left_ns: Any
    """Until when the bottleneck had it, by a link's log; -1 unknown; or empty."""
    cwnd_bytes: Any
    """The congestion window of the sender beside whom it was captured, as a state log has it, -1 unknown; or empty."""


class Events(NamedTuple):
    """What is collected of one direction; the arrays are longer than what `state` counts."""

    row: Any
    """Of each data segment in order of sending, its row in the capture."""
    sent_ns: Any
    stop: Any
    """The number behind its last octet."""
    wire_bytes: Any
    resend: Any
    kind: Any
    firsts: Any
    """Of those that are the first copy of their last octet, the place among `row`."""
    lost: Any
    """Whether a resend shows that it was lost: 2 yes, 1 perhaps."""
    delivered_ns: Any
    """When data was seen to be delivered, in order of sending, all of it up to a sent row; with flags."""
    delivered_upto: Any
    delivered_row: Any
    """Of the acknowledgement that told of it."""
    delivered_flag: Any
    trip_ns: Any
    """Round trips, shape (rows, 2): when each was measured, and how long it was; kept where arrivals are known."""
    needed: Any
    """Resends that were not needless, shape (rows, 3): time, first octet, whether that is certain."""
    waits: Any
    """Since new data was last sent, shape (rows, 4): from when on which octet was unacknowledged, the edge of the
    advertised window, and the congestion window (-1 unknown)."""
    causes: Any
    """What limited the sender while the path was idle and nothing was repaired: ns after FIRST_NS * CODES + cause."""
    spans: Any
    """Shape (LISTS, rows, 2)."""
    counts: Any
    """The number of spans in each list."""
    fetched: Any
    """Of the next rows, shape (BATCH, 3): time, number, and octets on the wire, or the window of the other end."""


@kernel
def start_state(state: Any, counts: Any, beside_receiver: bool, keep_trips: bool) -> None:
    """Prepare for a direction of which nothing was seen; `beside_receiver`: the only capture is there."""
    state[:] = 0
    counts[:] = 0
    state[EDGE] = state[RECOVERY] = state[FIRST_NS] = state[LAST_ACKED_NS] = state[HIGH] = state[LAST_AGAIN] = -1
    state[BESIDE_RECEIVER], state[KEEP_TRIPS] = 1 if beside_receiver else 0, 1 if keep_trips else 0


@inlined
def is_needless(code: int) -> bool:
    """Whether a code of `Capture.resend` is that of a needless retransmission."""
    return code >= 0 and code % VERDICTS == YES


@inlined
def add_span(events: Events, which: int, start: int, end: int) -> None:
    """Append a span to a list; what it shares with the latest span of the list is left out."""
    count = events.counts[which]
    if count > 0:
        start = max(start, events.spans[which, count - 1, 1])
    if end > start:
        events.spans[which, count, 0], events.spans[which, count, 1] = start, end
        events.counts[which] += 1


@kernel
def follow(rows: Any, words: Any, direction: int, capture: Capture, blocks: Any, events: Events, state: Any) -> None:
    """Follow one direction through the rows of its connection at the point beside the sender.

    `words` are their packed words. What resets acknowledge, and the windows that they state, are not looked at.
    """
    for index in range(len(rows)):
        at = index % BATCH
        if at == 0:
            fetch(rows[index : index + BATCH], words[index : index + BATCH], direction, capture, events.fetched)
        row, word, fetched = rows[index], words[index], events.fetched[at]
        state[NOW] = max(state[NOW], fetched[0])
        length = word >> LENGTH
        if word & 1 != direction:
            if word >> FLAGS & (ACK | RST) == ACK:
                on_acknowledgement(row, word >> OPTIONS, fetched[1], fetched[2], capture, blocks, events, state)
        elif length > 1 or (length == 1 and not capture.marks[row] & PROBES):
            note_sent(row, word, fetched, capture, events, state)
            on_data(row, fetched[1], length, capture, events, state)
    end_recovery(events, state)
    # Waiting for the last acknowledgements.
    add_cause(state[LAST_NEW], UNKNOWN if state[BESIDE_RECEIVER] else APPLICATION, events, state)


@inlined
def fetch(rows: Any, words: Any, direction: int, capture: Capture, fetched: Any) -> None:
    """Copy what is read of every row: in this loop the cache misses overlap, in that of `follow` each would wait."""
    for at in range(len(rows)):
        row = np.uint64(rows[at])
        fetched[at, 0] = capture.time_ns[row]
        if words[at] & 1 == direction:
            fetched[at, 1], fetched[at, 2] = capture.seq[row], capture.wire_bytes[row]
        else:
            fetched[at, 1], fetched[at, 2] = capture.ack[row], capture.window_bytes[row]


@inlined
def note_sent(row: int, word: int, fetched: Any, capture: Capture, events: Events, state: Any) -> None:
    """Keep what is read again of segment `row`, where it is beside what is sent next."""
    at = state[SENT]
    events.row[at], events.sent_ns[at], events.wire_bytes[at] = row, state[NOW], fetched[2]
    events.stop[at] = fetched[1] + (word >> LENGTH)
    events.resend[at] = capture.resend[row] if word >> RESENT & 1 else -1


@inlined
def on_data(row: int, start: int, length: int, capture: Capture, events: Events, state: Any) -> None:
    """The sender transmitted `length` octets of data from `start` on in segment `row`."""
    end, now, at = start + length, state[NOW], state[SENT]
    if at == 0:
        state[FIRST_NS] = now
        state[UNA] = state[TOP] = start
    if state[UNA] >= state[TOP]:
        state[OUTSTANDING] = now
    events.kind[at] = NEW if end > state[TOP] else AGAIN
    state[SENT] = at + 1
    if events.resend[at] >= 0:
        state[LAST_AGAIN] = now
        on_resend(start, end, np.int64(events.resend[at]), events, state)
    if end > state[TOP]:
        tell_waits(length, events, state)
        state[TOP], state[LAST_NEW], state[WAITS] = end, now, 0
        note_wait(row, capture, events, state)


@inlined
def note_wait(row: int, capture: Capture, events: Events, state: Any) -> None:
    """Note what is acknowledged and which windows hold now, until the sender sends new data."""
    at = state[WAITS]
    events.waits[at, 3] = capture.cwnd_bytes[row] if len(capture.cwnd_bytes) else -1
    events.waits[at, 0], events.waits[at, 1], events.waits[at, 2] = state[NOW], state[UNA], state[EDGE]
    state[WAITS] = at + 1


@inlined
def tell_waits(length: int, events: Events, state: Any) -> None:
    """New data of `length` octets is sent now: say what limited the sender since it last sent new data.

    Seen from the receiver only a window that is closed to it, with nothing on the way, is certain.
    """
    released = state[PROGRESS] > 0 and state[NOW] - state[PROGRESS] <= AT_ONCE_NS
    top = state[TOP]
    for at in range(state[WAITS]):
        una, edge = events.waits[at, 1], events.waits[at, 2]
        if edge >= 0 and top + length > edge:
            cause = RECEIVER_WINDOW
        elif una >= top:
            cause = APPLICATION
        elif edge < 0:
            cause = UNKNOWN
        else:
            full = 0 <= events.waits[at, 3] < top - una + length
            cause = SENDER_WINDOW if released or full else APPLICATION
        if state[BESIDE_RECEIVER] and (cause != RECEIVER_WINDOW or una < top):
            cause = UNKNOWN
        add_cause(events.waits[at, 0], cause, events, state)


@inlined
def add_cause(start: int, cause: int, events: Events, state: Any) -> None:
    """Append a cause that limits from `start` on, if it is another one than before."""
    at = state[CAUSES]
    if at == 0 or events.causes[at - 1] % CODES != cause:
        events.causes[at] = min(start - state[FIRST_NS], MOST_CAUSE_NS) * CODES + cause
        state[CAUSES] = at + 1


@kernel
def on_resend(start: int, end: int, code: int, events: Events, state: Any) -> None:
    """Octets start..end-1 were resent: a recovery begins, unless it was needless or one is in progress."""
    trigger, verdict = code // VERDICTS, code % VERDICTS
    waited_from = max(state[PROGRESS], state[OUTSTANDING])
    if verdict == YES:
        if trigger == RTO_TRIGGER:
            note_timer(waited_from, state)
        return  # the earlier copy was delivered: there is no doubt which
    if trigger == FAST_TRIGGER:
        end_needless_wait(start, verdict, events, state)
    state[RESENT_TOP] = max(state[RESENT_TOP], end)
    at, now = state[NEEDED], state[NOW]
    events.needed[at, 0], events.needed[at, 1], events.needed[at, 2] = now, start, 1 if verdict == NO else 0
    state[NEEDED] = at + 1
    timer = trigger in TIMER_TRIGGERS
    if trigger == REPAIR_TRIGGER and state[TIMER_FROM] > 0 and state[RECOVERY] in (-1, UNKNOWN, FAST):
        timer, waited_from = True, state[TIMER_FROM]
    cause = TIMEOUT if timer else FAST if trigger in ACK_TRIGGERS else UNKNOWN
    cause = cause if verdict == NO else UNKNOWN
    in_doubt = state[RECOVERY] == FAST and cause == UNKNOWN and trigger == RTO_TRIGGER
    if not in_doubt and not replaces(cause, state):
        if timer and trigger != PROBE:
            state[RECOVERY_BY_PROBE] = 0
        return
    end_recovery(events, state)
    state[RECOVERY], state[RECOVERY_START] = cause, waited_from if timer else now
    state[RECOVERY_BY_PROBE] = 1 if trigger == PROBE else 0
    state[RECOVERY_END] = max(state[TOP], end)
    if trigger == RTO_TRIGGER and cause == UNKNOWN and not in_doubt:
        note_timer(waited_from, state)


@inlined
def note_timer(waited_from: int, state: Any) -> None:
    """A timer ran out now that was waited for: what it resent need not have been lost, but other data may be."""
    state[TIMER_FROM], state[TIMER_AT], state[TIMER_TOP] = waited_from, state[NOW], state[TOP]


@inlined
def end_needless_wait(start: int, verdict: int, events: Events, state: Any) -> None:
    """Octet `start` is repaired after acknowledgements: they came after a timer that had resent what had arrived.

    If the octet was lost, and had been sent when the timer ran out, the wait was for the timer all the same: no
    acknowledgement would have come without it.
    """
    waited = state[TIMER_FROM] > 0 and start < state[TIMER_TOP] and state[RECOVERY] == -1
    if waited and verdict == NO:
        add_span(events, TIMEOUTS, state[TIMER_FROM], state[TIMER_AT])
    state[TIMER_FROM] = 0


@inlined
def replaces(cause: int, state: Any) -> bool:
    """Whether a recovery of this cause begins, although another may be in progress."""
    current = state[RECOVERY]
    if current in (-1, UNKNOWN):
        return current != cause
    return (current == FAST and cause == TIMEOUT) or (cause == FAST and state[RECOVERY_BY_PROBE] == 1)


@inlined
def end_recovery(events: Events, state: Any) -> None:
    """The recovery in progress, if any, ends now."""
    if state[RECOVERY] >= 0:
        add_span(events, LIST_OF[state[RECOVERY]], state[RECOVERY_START], state[NOW])
    state[RECOVERY] = -1
    state[RECOVERY_BY_PROBE] = state[TIMER_FROM] = 0


@inlined
def on_acknowledgement(
    row: int, options: int, number: int, window: int, capture: Capture, blocks: Any, events: Events, state: Any
) -> None:
    """The sender received segment `row`, which acknowledges what is below `number` and advertises a window."""
    edge = state[EDGE]
    found = read_blocks(row, blocks, state) if options & OPTION_SACK else 0
    sacked = found & SACKS != 0
    if number < state[UNA]:
        return  # overtaken by a later one
    state[EDGE] = -1 if window < 0 else number + window
    if state[SENT] == 0:
        return
    advanced = state[UNA] < state[TOP] and number > state[UNA]
    answers_resend = advanced and state[UNA] < state[RESENT_TOP]
    if advanced:
        state[UNA], state[LAST_ACKED_NS] = min(number, state[TOP]), state[NOW]
    note_wait(row, capture, events, state)
    if advanced or sacked:
        state[PROGRESS] = state[NOW]
        prompt = PROMPT if sacked or state[EDGE] > edge else 0
        note_delivery(row, advanced, answers_resend, prompt, found, capture.seq, events, state)
    elif number == state[UNA] < state[TOP] and state[EDGE] == edge and capture.payload_bytes[row] == 0:
        hear(row, ANSWERS_COPY if found & DSACKS else 0, events, state)  # what it answers had come before
    if state[RECOVERY] >= 0 and state[UNA] >= state[RECOVERY_END]:
        end_recovery(events, state)


@inlined
def read_blocks(row: int, blocks: Any, state: Any) -> int:
    """Read the SACK blocks of segment `row`; returns which kinds it has."""
    at, found = first_above(blocks[0], blocks.shape[1], row - 1, state[NEXT_BLOCK]), 0
    while at < blocks.shape[1] and blocks[0, at] == row:
        if blocks[3, at]:
            found |= DSACKS
        else:
            state[HIGH], found = max(state[HIGH], blocks[2, at]), found | SACKS
        at += 1
    state[NEXT_BLOCK] = at
    return found


@inlined
def note_delivery(
    row: int, advanced: bool, answers_resend: bool, prompt: int, found: int, seq: Any, events: Events, state: Any
) -> None:
    """Acknowledgement `row` brought news: note up to which sent row data was delivered, and the round trip.

    Where it `answers_resend`, what it tells of later data may have been delivered long before. `prompt` is PROMPT if it
    was not delayed, provided that it was for several segments or has the SACKS of `found`.
    """
    gained, last = move_front(events, state)
    if not advanced and gained == 0:
        return
    flag = ANSWERS_COPY if found & DSACKS else 0
    if gained > 0 and flag == 0:
        resent = events.resend[last]
        if events.kind[last] == AGAIN:
            flag = EXACT if resent >= 0 and resent % VERDICTS == NO else 0
        elif seq[events.row[last]] >= state[RESENT_TOP] and not answers_resend:
            flag = CLEAN | (prompt if gained > 1 or found & SACKS else 0)
            if events.sent_ns[last] >= state[LAST_AGAIN]:
                flag |= ROUND_TRIP
                add_trip(events, state, state[NOW] - events.sent_ns[last])
    hear(row, flag, events, state)


@inlined
def hear(row: int, flag: int, events: Events, state: Any) -> None:
    """Acknowledgement `row` came, which shows that something was delivered: nothing beyond FRONT."""
    at = state[HEARD]
    events.delivered_ns[at], events.delivered_upto[at], events.delivered_flag[at] = state[NOW], state[FRONT] - 1, flag
    events.delivered_row[at] = row
    state[HEARD] = at + 1


@inlined
def add_trip(events: Events, state: Any, trip: int) -> None:
    """Note a round trip, measured now, where that is wanted."""
    at = state[TRIPS]
    if not state[KEEP_TRIPS]:
        return
    events.trip_ns[at, 0], events.trip_ns[at, 1] = state[NOW], trip
    state[TRIPS] = at + 1


@inlined
def move_front(events: Events, state: Any) -> tuple[int, int]:
    """Move FRONT past the rows that are known to be delivered; returns how many, and the last of them (-1 none)."""
    front, gained, last, holes = max(state[UNA], min(state[HIGH], state[TOP])), 0, -1, 0
    at = state[FRONT]
    while at < state[SENT] and holes < MOST_HOLES:
        end = events.stop[at]
        if end > front:
            break
        if events.kind[at] == NEW or (end <= state[UNA] and not is_needless(events.resend[at])):
            gained, last = gained + 1, at
        else:
            holes += 1
        at += 1
    if gained > 0:
        state[FRONT] = last + 1
    return gained, last
