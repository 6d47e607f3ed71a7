"""What one direction's data did, from the capture beside its sender: sent, delivered, resent, repaired.

One pass over the packets of a connection in both directions. What is delivered is known from acknowledgements, at the
time when they come. Where the receiver's capture shows arrivals, `note_arrivals` replaces them; where timestamps show
which acknowledgements were held, `note_answers` dates them earlier.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.accounting.recoveries import end_recovery, on_resend, settle_timeout
from multitracer.accounting.sending_state import (
    AGAIN,
    ANSWERS_COPY,
    APPLICATION,
    AT_ONCE_NS,
    BATCH,
    BESIDE_RECEIVER,
    CAUSES,
    CLEAN,
    CODES,
    DSACKS,
    DUPLICATES,
    EDGE,
    EXACT,
    FIRST_NS,
    FRONT,
    HEARD,
    HIGH,
    KEEP_TRIPS,
    LAST_ACKED_NS,
    LAST_AGAIN,
    LAST_NEW,
    LEAST_TRIP,
    MOST_CAUSE_NS,
    MOST_HOLES,
    NEW,
    NEXT_BLOCK,
    NO,
    NOTHING,
    NOW,
    OPEN,
    OUTSTANDING,
    PROBES,
    PROGRESS,
    PROMPT,
    RECEIVER_WINDOW,
    RECOVERY,
    RECOVERY_END,
    RESENT_TOP,
    ROUND_TRIP,
    SACKS,
    SENDER_WINDOW,
    SENT,
    TOP,
    TRIPS,
    UNA,
    UNKNOWN,
    VERDICTS,
    WAITS,
    Capture,
    Events,
    is_needless,
)
from multitracer.compute.kernels import inlined, kernel
from multitracer.model.schema import ACK, OPTION_SACK, RST
from multitracer.tcp.packed_rows import FLAGS, LENGTH, OPTIONS, RESENT
from multitracer.tcp.scoreboard import first_above


@kernel
def start_state(state: Any, counts: Any, beside_receiver: bool, keep_trips: bool, least_trip_ns: int) -> None:
    """Prepare for a direction of which nothing was seen; `beside_receiver`: the only capture is there."""
    state[:] = 0
    counts[:] = 0
    state[EDGE] = state[RECOVERY] = state[FIRST_NS] = state[LAST_ACKED_NS] = state[HIGH] = state[LAST_AGAIN] = -1
    state[BESIDE_RECEIVER], state[KEEP_TRIPS] = 1 if beside_receiver else 0, 1 if keep_trips else 0
    state[LEAST_TRIP] = least_trip_ns


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
        if state[OPEN] != NOTHING:
            settle_timeout(number, found & DSACKS != 0, events, state)
        state[UNA], state[LAST_ACKED_NS], state[DUPLICATES] = min(number, state[TOP]), state[NOW], 0
    note_wait(row, capture, events, state)
    if advanced or sacked:
        state[PROGRESS] = state[NOW]
        prompt = PROMPT if sacked or state[EDGE] > edge else 0
        note_delivery(row, advanced, answers_resend, prompt, found, capture.seq, events, state)
    elif number == state[UNA] < state[TOP] and state[EDGE] == edge and capture.payload_bytes[row] == 0:
        state[DUPLICATES] += 1
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
            if state[LAST_AGAIN] > events.sent_ns[last] and was_sent_later(last, events, state):
                flag = ANSWERS_COPY
        elif seq[events.row[last]] >= state[RESENT_TOP] and not answers_resend:
            flag = CLEAN | (prompt if gained > 1 or found & SACKS else 0)
            if events.sent_ns[last] >= state[LAST_AGAIN]:
                flag |= ROUND_TRIP
                add_trip(events, state, state[NOW] - events.sent_ns[last])
    hear(row, flag, events, state)


@inlined
def was_sent_later(at: int, events: Events, state: Any) -> bool:
    """Whether the octets of sent row `at`, a resend, were sent again after it, as far as the latest MOST_HOLES tell."""
    later = state[SENT] - 1
    last = max(at, later - MOST_HOLES)
    while later > last and events.stop[later] != events.stop[at]:
        later -= 1
    return bool(later > last)


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
