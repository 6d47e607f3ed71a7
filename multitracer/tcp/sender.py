"""What a TCP sender did and knew, followed through a capture taken at its side.

One pass over the segments of a connection replays the sender's scoreboard: what was sent when and
how often, what was acknowledged, what was selectively acknowledged, and what duplicates the
receiver reported (DSACK, RFC 2883). Each retransmission is given its trigger, and every fact
that later tells whether it was needless is kept beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.compute.kernels import inlined, kernel
from multitracer.model.schema import ACK, FIN, OPTION_SACK, OPTION_SACK_PERMITTED, RST, SYN
from multitracer.tcp.scoreboard import (
    CLEAN,
    DSACKED,
    DSACKS,
    NEVER,
    NOTE,
    ORIGINAL,
    R_ABOVE,
    R_ANSWERED,
    R_DUPACKS,
    R_EDGE,
    R_ELAPSED,
    R_PAIRS,
    R_PAIRS_END,
    R_ROW,
    R_RTO,
    R_SINCE_ACK,
    R_TRIGGER,
    SACKED,
    begin_facts,
    begin_of,
    cover,
    first_above,
    last_sent,
    note_copy,
)  # fmt: skip

# Codes of tables.TRIGGERS, in its order.
TIMEOUT, FAST, RECOVERY, PROBE, UNKNOWN = range(5)

SECOND = 1_000_000_000
MIN_RTO_NS = 200_000_000  # Linux TCP_RTO_MIN; RFC 6298 2.4 asks for 1 s, which is longer

# Where the parts of a packed word begin; bit 0 is the sender. Flags and options are masked by their bits.
_RESENT, _OPTIONS, _FLAGS, _LENGTH = 1, 8, 16, 32
# What tells a plain acknowledgement in such a word: neither a SYN's, nor with SACK blocks.
_KIND, _PLAIN = (ACK | SYN) << _FLAGS | OPTION_SACK << _OPTIONS, ACK << _FLAGS
BATCH = 256
"""So many rows' times and numbers are fetched at once."""

# Rows of an array of SACK blocks, a column each, in order of segments.
SEGMENT, LEFT, RIGHT, IS_DSACK = range(4)
# Columns of a sender; times and round trips in ns.
# Bytes below UNA are acknowledged, below TOP sent, below HIGH_SACK selectively acknowledged but for holes; a
# recovery lasts until RECOVERY_END is acknowledged (-1: none). Those from CLEAR_FROM on were sent once, in
# order of time, and not selectively acknowledged.
# NEWEST is the latest time of sending of what is known to have arrived by its only transmission, ANSWERED that
# of the last segment the latest acknowledgement covered (-1: none); RESTARTED is when the timer was.
# PROBED: a tail loss probe left since UNA moved; REORDERED: the path did; REPORTS: the receiver reports duplicates.
# EDGE is the first scoreboard row that is not all acknowledged, ROWS how many there are; KNOWN, EVENTS and
# PAIRED count facts, events and pairs; BLOCK is behind the latest SACK block, PLACE is the next row to follow.
(UNA, TOP, HIGH_SACK, RECOVERY_END, CLEAR_FROM, DUPACKS, SRTT, RTTVAR, RTO, LEAST_RTT,
 LAST_SENT, LAST_ACK, NEWEST, ANSWERED, RESTARTED, PROBED, REORDERED, REPORTS,
 EDGE, ROWS, KNOWN, EVENTS, PAIRED, BLOCK, PLACE, SENDER_FIELDS) = range(26)  # fmt: skip


@kernel
def begin_sender(sender: Any, first_sample: int) -> None:
    """A sender of which nothing was seen but the handshake's round trip (ns; -1 unknown)."""
    sender[:] = 0
    sender[RECOVERY_END] = sender[ANSWERED] = -1
    sender[RTO], sender[LEAST_RTT], sender[CLEAR_FROM], sender[LAST_ACK] = SECOND, NEVER, NEVER, NEVER
    if first_sample > 0:
        update_rto(sender, first_sample)


@inlined
def update_rto(sender: Any, sample: int) -> None:
    """RFC 6298 2.2-2.3 with a granularity of 0."""
    if sender[SRTT] == 0:
        sender[SRTT] = sample
        sender[RTTVAR] = sample // 2
    else:
        sender[RTTVAR] += (abs(sender[SRTT] - sample) - sender[RTTVAR]) // 4
        sender[SRTT] += (sample - sender[SRTT]) // 8
    sender[RTO] = sender[SRTT] + max(MIN_RTO_NS, 4 * sender[RTTVAR])
    sender[LEAST_RTT] = min(sender[LEAST_RTT], sample)


@kernel
def classify_trigger(sender: Any, start: int, end: int, again: bool, since_ack: int, elapsed: int, above: int) -> int:
    """Why a sender resent start..end-1: a code of TRIGGERS.

    `again`: whether these bytes were resent before; `since_ack` and `elapsed`: ns since the last
    acknowledgement and since the timer was last restarted; `above`: bytes above them selectively
    acknowledged. RFC 8985 7 (probe), 6298 5 (timeout), 6675 5 (fast).
    """
    una = sender[UNA]
    waited = since_ack >= max(MIN_RTO_NS, sender[SRTT] + MIN_RTO_NS) // 10 * 9
    clocked = sender[DUPACKS] > 0 or above > 0
    if una < sender[RECOVERY_END]:
        if start <= una and again and waited:
            return TIMEOUT
        return RECOVERY
    if clocked and not waited:
        return FAST
    # A tail loss probe resends the last segment, once; alone outstanding it is a probe only if
    # it came before the timer could (RFC 8985 7.2: 2 SRTT, and 200 ms more for a delayed ACK).
    last = end >= sender[TOP] and sender[PROBED] == 0 and elapsed >= MIN_RTO_NS // 20
    if last and (start > una or elapsed < sender[RTO] // 10 * 9):
        return PROBE
    if start <= una and waited:
        return TIMEOUT
    if clocked:
        return FAST
    return UNKNOWN


@kernel
def packed(sender: int, resent: int, flags: int, options: int, length: int) -> int:
    """What decides how `follow` goes on with a segment, in one word."""
    return (length << _LENGTH) | (flags << _FLAGS) | (options << _OPTIONS) | (resent << _RESENT) | sender


@inlined
def fetch(rows: Any, words: Any, direction: int, time_ns: Any, seq: Any, ack: Any, fetched: Any) -> None:
    """Put the time and the number, of data or acknowledged, of a batch of rows together.

    They lie far apart in memory, and are waited for all at once here, else one after the other.
    """
    for place in range(len(rows)):
        row = np.uint64(rows[place])
        fetched[place, 0] = time_ns[row]
        fetched[place, 1] = seq[row] if words[place] & 1 == direction else ack[row]


@inlined
def on_new_data(sender: Any, ends: Any, notes: Any, row: int, end: int, now: int) -> None:
    """Bytes from the top to end-1 were sent, for the first time, in segment `row`."""
    k = sender[ROWS]
    ends[k], notes[k, ORIGINAL], notes[k, NOTE] = end, row, CLEAN
    sender[ROWS] = k + 1
    if sender[UNA] >= sender[TOP]:
        sender[RESTARTED] = now
    if now < sender[LAST_SENT]:
        sender[CLEAR_FROM] = max(sender[CLEAR_FROM], end)
    else:
        sender[LAST_SENT] = now
    sender[TOP] = end


@kernel
def on_resend(
    sender: Any, ends: Any, notes: Any, facts: Any, events: Any, pairs: Any, time_ns: Any, seq: Any, row: int,
    start: int, end: int, now: int,
) -> bool:  # fmt: skip
    """Segment `row` carried start..end-1, or some of it, again; False, and nothing done, for want of room."""
    first = first_above(ends, sender[ROWS], start, sender[EDGE])
    stop = first
    while stop < sender[ROWS] and begin_of(stop, ends, notes, seq) < end:
        stop += 1
    if first == stop:
        return True
    number = sender[PAIRED]
    if number + stop - first > len(pairs):
        return False
    event = events[sender[EVENTS]]
    event[R_ROW], event[R_PAIRS], event[R_PAIRS_END] = row, number, number + stop - first
    note_trigger(sender, event, start, end, notes[first, NOTE] >= 0, last_sent(first, notes, facts, time_ns), now)
    for k in range(first, stop):
        if notes[k, NOTE] < 0:
            acknowledged = ends[k] <= sender[UNA] or notes[k, NOTE] == SACKED
            begin_facts(facts[sender[KNOWN]], time_ns[notes[k, ORIGINAL]], acknowledged)
            notes[k, NOTE] = sender[KNOWN]
            sender[KNOWN] += 1
        whole = 1 if start <= begin_of(k, ends, notes, seq) and end >= ends[k] else 0
        note_copy(facts[notes[k, NOTE]], pairs[number], number, sender[EVENTS], k, whole, now)
        number += 1
    sender[CLEAR_FROM] = max(sender[CLEAR_FROM], ends[stop - 1])
    sender[PAIRED] = number
    sender[EVENTS] += 1
    return True


@kernel
def note_trigger(sender: Any, event: Any, start: int, end: int, again: bool, sent_before: int, now: int) -> None:
    """Why start..end-1 is resent, what told the sender to, and what it makes of it."""
    since_ack = now - sender[LAST_ACK]
    elapsed = now - max(sender[RESTARTED], sent_before)
    above = max(0, sender[HIGH_SACK] - end)
    trigger = classify_trigger(sender, start, end, again, since_ack, elapsed, above)
    event[R_TRIGGER], event[R_SINCE_ACK], event[R_ELAPSED] = trigger, since_ack, elapsed
    event[R_DUPACKS], event[R_ABOVE], event[R_RTO] = sender[DUPACKS], above, sender[RTO]
    event[R_EDGE] = 1 if start <= sender[UNA] else 0
    event[R_ANSWERED] = sender[ANSWERED]
    if trigger in (FAST, TIMEOUT) and sender[RECOVERY_END] <= sender[UNA]:
        sender[RECOVERY_END] = sender[TOP]
    if trigger == PROBE:
        sender[PROBED] = 1
    if trigger in (PROBE, TIMEOUT):
        sender[RESTARTED] = now


@inlined
def advance(sender: Any, ends: Any, number: int, now: int) -> int:
    """Acknowledge all bytes below `number`, more than before; the first of the scoreboard rows acknowledged.

    They reach up to EDGE. What had been acknowledged before it was captured is none of them.
    """
    first = sender[EDGE]
    while first < sender[ROWS] and ends[first] <= sender[UNA]:
        first += 1
    stop = first
    while stop < sender[ROWS] and ends[stop] <= number:
        stop += 1
    sender[EDGE], sender[UNA], sender[RESTARTED], sender[ANSWERED] = stop, number, now, -1
    sender[DUPACKS] = sender[PROBED] = 0
    if number >= sender[RECOVERY_END]:
        sender[RECOVERY_END] = -1
    return first


@inlined
def on_clear_advance(sender: Any, ends: Any, notes: Any, time_ns: Any, number: int, now: int) -> None:
    """`on_advance` where all bytes outstanding are clear: only the last row's time matters."""
    if advance(sender, ends, number, now) < sender[EDGE]:
        sent = time_ns[notes[sender[EDGE] - 1, ORIGINAL]]
        sender[ANSWERED] = sent
        sender[NEWEST] = max(sender[NEWEST], sent)
        if now >= sent:
            update_rto(sender, now - sent)
    sender[LAST_ACK] = now


@kernel
def on_advance(
    sender: Any, ends: Any, notes: Any, facts: Any, time_ns: Any, seq: Any, number: int, tsecr: int, now: int
) -> None:
    """All bytes below `number` are acknowledged, more than before; each row that ends there gets a look."""
    una, later, clean = sender[UNA], sender[NEWEST], True
    first = advance(sender, ends, number, now)
    for k in range(first, sender[EDGE]):
        note, sent = notes[k, NOTE], time_ns[notes[k, ORIGINAL]]
        if note >= 0:
            cover(facts[note], now, tsecr, 1 if begin_of(k, ends, notes, seq) <= una else 0, later)
        elif note == CLEAN:
            note_delivery(sender, ends[k], sent, later)
        else:
            sender[NEWEST] = max(sender[NEWEST], sent)
        clean = clean and note == CLEAN
    if first < sender[EDGE]:
        sender[ANSWERED] = last_sent(sender[EDGE] - 1, notes, facts, time_ns)
        if clean and now >= sender[ANSWERED]:
            update_rto(sender, now - sender[ANSWERED])


@kernel
def note_delivery(sender: Any, end: int, sent: int, later: int) -> None:
    """A segment was acknowledged of which nothing was resent; one sent at `later` had been before."""
    if end < sender[HIGH_SACK] and sent < later:
        sender[REORDERED] = 1  # a hole was filled although nothing was resent
    sender[NEWEST] = max(sender[NEWEST], sent)


@kernel
def on_sack_block(
    sender: Any, ends: Any, notes: Any, facts: Any, time_ns: Any, left: int, right: int, later: int, now: int
) -> None:
    """Bytes left..right-1 were selectively acknowledged; only whole segments count (RFC 6675 4)."""
    k = first_above(ends, sender[ROWS], left, sender[EDGE])
    while k < sender[ROWS] and ends[k] <= right:
        note = notes[k, NOTE]
        if note == CLEAN:
            note_delivery(sender, ends[k], time_ns[notes[k, ORIGINAL]], later)
            notes[k, NOTE] = SACKED
        elif note >= 0:
            cover(facts[note], now, -1, 0, later)
        k += 1
    sender[HIGH_SACK] = max(sender[HIGH_SACK], right)
    sender[CLEAR_FROM] = max(sender[CLEAR_FROM], right)


@kernel
def on_dsack_block(
    sender: Any, ends: Any, notes: Any, facts: Any, seq: Any, left: int, right: int, now: int
) -> None:
    """Bytes left..right-1 had arrived twice (RFC 2883)."""
    k = first_above(ends, sender[ROWS], left, sender[EDGE])
    while k < sender[ROWS] and begin_of(k, ends, notes, seq) < right:
        if notes[k, NOTE] >= 0:
            fact = facts[notes[k, NOTE]]
            fact[DSACKS] += 1
            fact[DSACKED] = min(fact[DSACKED], now)
        k += 1


@kernel
def on_sack(
    sender: Any, ends: Any, notes: Any, facts: Any, time_ns: Any, seq: Any, blocks: Any, row: int, later: int, now: int
) -> None:
    """The SACK blocks of segment `row`."""
    at = first_above(blocks[SEGMENT], blocks.shape[1], row - 1, sender[BLOCK])
    while at < blocks.shape[1] and blocks[SEGMENT, at] == row:
        left, right = blocks[LEFT, at], blocks[RIGHT, at]
        if blocks[IS_DSACK, at]:
            on_dsack_block(sender, ends, notes, facts, seq, left, right, now)
        else:
            on_sack_block(sender, ends, notes, facts, time_ns, left, right, later, now)
        at += 1
    sender[BLOCK] = at


@kernel
def on_answer(
    sender: Any, ends: Any, notes: Any, facts: Any, time_ns: Any, seq: Any, tsecr: Any, blocks: Any, row: int,
    word: int, number: int, now: int,
) -> None:  # fmt: skip
    """The other end sent segment `row`, packed in `word`, which acknowledges all bytes below `number`."""
    flags, options = word >> _FLAGS, word >> _OPTIONS
    if options & OPTION_SACK or (flags & SYN and options & OPTION_SACK_PERMITTED):
        sender[REPORTS] = 1  # blocks, and with them duplicates (RFC 2883)
    if not flags & ACK:
        return
    sender[LAST_ACK] = now
    if sender[ROWS] == 0:
        return
    later = sender[NEWEST]
    if number > sender[UNA]:
        on_advance(sender, ends, notes, facts, time_ns, seq, number, tsecr[row], now)
    elif number == sender[UNA] < sender[TOP] and word >> _LENGTH == 0 and not flags & (SYN | FIN | RST):
        sender[DUPACKS] += 1
    if options & OPTION_SACK:
        on_sack(sender, ends, notes, facts, time_ns, seq, blocks, row, later, now)


@kernel
def follow(
    rows: Any, words: Any, direction: int, time_ns: Any, seq: Any, ack: Any, tsecr: Any, blocks: Any, sender: Any,
    ends: Any, notes: Any, facts: Any, events: Any, pairs: Any, fetched: Any,
) -> bool:  # fmt: skip
    """Replay one direction of one connection, whose rows in capture order are `rows`, from the sender's PLACE on.

    `words` are those of the rows, packed; `blocks` the SACK blocks of all segments. There is room for as
    many scoreboard rows as rows, and as many events as resends; False where `facts` and `pairs`, which
    are as long, are too short.
    """
    for place in range(sender[PLACE], len(rows)):
        if place % BATCH == 0:
            fetch(rows[place : place + BATCH], words[place : place + BATCH], direction, time_ns, seq, ack, fetched)
        row, word = rows[place], words[place]
        now, number, length = fetched[place % BATCH, 0], fetched[place % BATCH, 1], word >> _LENGTH
        if word & 1 != direction:
            if number > sender[UNA] >= sender[CLEAR_FROM] and word & _KIND == _PLAIN:
                on_clear_advance(sender, ends, notes, time_ns, number, now)
            else:
                on_answer(sender, ends, notes, facts, time_ns, seq, tsecr, blocks, row, word, number, now)
        elif length > 0:
            if sender[ROWS] == 0:
                sender[UNA] = sender[TOP] = sender[CLEAR_FROM] = number
                if sender[LAST_ACK] == NEVER:  # none was captured: none came since this
                    sender[LAST_ACK] = now
            if word & (1 << _RESENT) and not on_resend(
                sender, ends, notes, facts, events, pairs, time_ns, seq, row, number, number + length, now
            ):
                sender[PLACE] = place
                return False
            if number + length > sender[TOP]:  # what a resend carries beyond the top is new data
                on_new_data(sender, ends, notes, row, number + length, now)
    sender[PLACE] = len(rows)
    return True
