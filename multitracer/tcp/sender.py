"""A TCP sender's state, replayed from a capture taken at its side.

One pass over the segments of a connection rebuilds the sender's scoreboard: what was sent when and how
often, what was acknowledged, what was selectively acknowledged (SACK), and which duplicates the receiver
reported (DSACK, RFC 2883). Each retransmission gets its trigger (`retransmission_trigger`), and the facts from which
`spurious` later decides whether it was spurious.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.compute.kernels import inlined, kernel
from multitracer.model.schema import ACK, FIN, OPTION_SACK, OPTION_SACK_PERMITTED, RST, SYN
from multitracer.tcp.packed_rows import FLAGS, LENGTH, OPTIONS, RESENT
from multitracer.tcp.retransmission_trigger import (
    decide_anew,
    note_arrived_resend,
    note_loss_told,
    note_probe_answer,
    note_trigger,
    repeats_unanswered,
    tell_doubtful_timeout,
    tell_first_timeout,
    undo_recovery,
)  # fmt: skip
from multitracer.tcp.scoreboard import (
    ACKED_AT,
    BOARD_ROW,
    NEVER,
    NOTE,
    ORIGINAL,
    R_PAIRS,
    R_PAIRS_END,
    R_ROW,
    SACKED,
    SENT_ONCE,
    Scoreboard,
    SegmentColumns,
    first_above,
    init_facts,
    last_sent,
    note_copy,
    note_dsack,
    note_first_ack,
    row_start,
)  # fmt: skip
from multitracer.tcp.sender_state import (
    ACKED_SEND_TIME,
    ANEW_TOP,
    ASKED,
    BACKOFF,
    DOUBTFUL_WAIT,
    DUPACKS,
    EARLIER_DUPACKS,
    EVENTS,
    FACTS,
    FIRST_UNACKED,
    HIGH_SACK,
    LAST_ACK,
    LAST_DSACK,
    LAST_DUPACK,
    LAST_PROGRESS,
    LAST_SENT,
    LEAST_BLOCKS,
    LOSS_TOLD,
    NEWEST_ARRIVED,
    NEWEST_ECHO,
    NEWEST_LISTED,
    NEXT_BLOCK,
    NEXT_ROW,
    PAIRS,
    PROBE_SENT,
    RECOVERY_END,
    RECOVERY_RESENT,
    RECOVERY_STAMP,
    REORDERED,
    ROWS,
    SACK_CAPABLE,
    SENDS_DSACKS,
    SIMPLE_FROM,
    TIMER_START,
    TOP,
    UNA,
    WITHOUT_SACK,
    note_answered,
    note_asked,
    note_echo,
    note_progress,
    note_resend,
    note_unmarked,
    update_rto,
)  # fmt: skip

# A packed word of a plain acknowledgement: ACK set, no SYN, no SACK blocks.
_PLAIN_MASK, _PLAIN_ACK = (ACK | SYN) << FLAGS | OPTION_SACK << OPTIONS, ACK << FLAGS
BATCH = 256
"""Rows whose times and numbers are prefetched together."""

# Rows of the array of SACK blocks, which has one column per block, in order of segments.
SEGMENT, LEFT, RIGHT, IS_DSACK = range(4)


@inlined
def prefetch(rows: Any, words: Any, direction: int, segments: SegmentColumns, fetched: Any) -> None:
    """Copy the time and the sequence or acknowledgement number of a batch of rows to `fetched`.

    The rows are far apart in memory: in this loop the cache misses overlap, in the main loop each would
    wait.
    """
    for index in range(len(rows)):
        row = np.uint64(rows[index])
        fetched[index, 0] = segments.time_ns[row]
        fetched[index, 1] = segments.seq[row] if words[index] & 1 == direction else segments.ack[row]


@inlined
def on_new_data(sender: Any, board: Scoreboard, row: int, end: int, now: int) -> None:
    """New data up to end-1 was sent in segment `row`."""
    k = sender[ROWS]
    board.ends[k], board.notes[k, ORIGINAL], board.notes[k, NOTE] = end, row, SENT_ONCE
    sender[ROWS] = k + 1
    if sender[UNA] >= sender[TOP]:
        sender[TIMER_START] = now
    if now < sender[LAST_SENT]:
        sender[SIMPLE_FROM] = max(sender[SIMPLE_FROM], end)
    else:
        sender[LAST_SENT] = now
    sender[TOP] = end


@kernel
def split_row(sender: Any, board: Scoreboard, seq: Any, number: int) -> None:
    """Split the row that sequence number `number` lies within, so that a row begins there.

    With segmentation offload a row is a record of several segments, which are acknowledged and sent again apart. A
    row that was sent again stays whole, and so does every row when the scoreboard is full.
    """
    ends, notes, pairs = board.ends, board.notes, board.pairs
    rows = sender[ROWS]
    k = first_above(ends, rows, number, sender[FIRST_UNACKED])
    if k == rows or rows == len(ends) or notes[k, NOTE] >= 0 or row_start(k, ends, notes, seq) >= number:
        return
    for i in range(rows, k, -1):
        ends[i], notes[i, ORIGINAL], notes[i, NOTE] = ends[i - 1], notes[i - 1, ORIGINAL], notes[i - 1, NOTE]
    ends[k] = number
    sender[ROWS] = rows + 1
    for i in range(sender[PAIRS]):
        if pairs[i, BOARD_ROW] >= k:
            pairs[i, BOARD_ROW] += 1


@kernel
def on_retransmission(
    sender: Any, board: Scoreboard, events: Any, segments: SegmentColumns, row: int, start: int, end: int, now: int
) -> bool:
    """Segment `row` retransmitted start..end-1, or a part of it.

    Returns False, with nothing changed, when `pairs` is too short.
    """
    ends, notes, facts, pairs = board.ends, board.notes, board.facts, board.pairs
    time_ns, seq = segments.time_ns, segments.seq
    split_row(sender, board, seq, start)
    split_row(sender, board, seq, end)
    stop = first = first_above(ends, sender[ROWS], start, sender[FIRST_UNACKED])
    while stop < sender[ROWS] and row_start(stop, ends, notes, seq) < end:
        stop += 1
    if first == stop:
        return True
    number = sender[PAIRS]
    if number + stop - first > len(pairs):
        return False
    event = events[sender[EVENTS]]
    event[R_ROW], event[R_PAIRS], event[R_PAIRS_END] = row, number, number + stop - first
    note_resend(sender, board, events, start, first, stop, end - start)
    if sender[ANEW_TOP] > 0:
        decide_anew(sender, board, events[sender[EVENTS] - 1], segments, now)
    doubtful = sender[DOUBTFUL_WAIT]
    note_trigger(sender, event, start, end, last_sent(first, notes, facts, time_ns), np.int64(segments.tsval[row]), now)
    if doubtful > 0:
        tell_doubtful_timeout(sender, events[sender[EVENTS] - 1], event, segments, doubtful)
    if repeats_unanswered(sender, events, segments, start):
        tell_first_timeout(events[sender[EVENTS] - 1], event)
    for k in range(first, stop):
        if notes[k, NOTE] < 0:
            acknowledged = ends[k] <= sender[UNA] or notes[k, NOTE] == SACKED
            init_facts(facts[sender[FACTS]], time_ns[notes[k, ORIGINAL]], acknowledged)
            notes[k, NOTE] = sender[FACTS]
            sender[FACTS] += 1
        whole = 1 if start <= row_start(k, ends, notes, seq) and end >= ends[k] else 0
        note_copy(facts[notes[k, NOTE]], pairs[number], number, sender[EVENTS], k, whole, now, start, end)
        number += 1
    sender[SIMPLE_FROM] = max(sender[SIMPLE_FROM], ends[stop - 1])
    sender[PAIRS] = number
    sender[EVENTS] += 1
    return True


@inlined
def advance_una(sender: Any, board: Scoreboard, time_ns: Any, number: int, now: int) -> int:
    """Move UNA up to `number`; returns the first scoreboard row newly acknowledged, up to FIRST_UNACKED.

    Rows that had been acknowledged before they were captured are not among them.
    """
    ends, notes, first = board.ends, board.notes, sender[FIRST_UNACKED]
    while first < sender[ROWS] and ends[first] <= sender[UNA]:
        first += 1
    stop = first
    while stop < sender[ROWS] and ends[stop] <= number:
        stop += 1
    if stop > first:
        note_answered(sender, time_ns[notes[stop - 1, ORIGINAL]], now)
    sender[FIRST_UNACKED], sender[UNA], sender[TIMER_START], sender[ACKED_SEND_TIME] = stop, number, now, -1
    sender[DUPACKS] = sender[EARLIER_DUPACKS] = sender[PROBE_SENT] = sender[BACKOFF] = sender[NEWEST_ECHO] = 0
    sender[LOSS_TOLD] = sender[DOUBTFUL_WAIT] = sender[ASKED] = 0
    note_progress(sender, number, now)
    return first


@inlined
def on_plain_ack(sender: Any, board: Scoreboard, time_ns: Any, number: int, now: int) -> None:
    """`on_cumulative_ack` when all outstanding bytes are from SIMPLE_FROM on: only the last row's send time counts."""
    if advance_una(sender, board, time_ns, number, now) < sender[FIRST_UNACKED]:
        sent = time_ns[board.notes[sender[FIRST_UNACKED] - 1, ORIGINAL]]
        sender[ACKED_SEND_TIME] = sent
        sender[NEWEST_ARRIVED] = max(sender[NEWEST_ARRIVED], sent)
        if now >= sent:
            update_rto(sender, now - sent)
    sender[LAST_PROGRESS] = now
    note_probe_answer(sender, number, False)


@kernel
def on_cumulative_ack(
    sender: Any, board: Scoreboard, time_ns: Any, seq: Any, number: int, tsecr: int, now: int
) -> bool:
    """UNA advances to `number`: note the first acknowledgement of each row up to it; whether a round trip was sampled.

    A row that had been selectively acknowledged gives no sample any more, and none does beside one sent again.
    """
    ends, notes, facts = board.ends, board.notes, board.facts
    una, newest_before, echo_before = sender[UNA], sender[NEWEST_ARRIVED], sender[NEWEST_ECHO]
    first, sampled, resent = advance_una(sender, board, time_ns, number, now), NEVER, False
    for k in range(first, sender[FIRST_UNACKED]):
        note, sent = notes[k, NOTE], time_ns[notes[k, ORIGINAL]]
        if note >= 0:
            oldest = 1 if row_start(k, ends, notes, seq) <= una else 0
            note_arrived_resend(sender, facts[note])
            newest = newest_before if oldest else sender[NEWEST_LISTED]
            note_first_ack(facts[note], now, tsecr, oldest, newest, oldest * echo_before)
            resent = True
        elif note == SENT_ONCE:
            note_delivery(sender, ends[k], sent, newest_before)
            sampled = sent
        # Of a segment sent more than once any copy may have arrived: it was sent then, or later.
        sender[NEWEST_ARRIVED] = max(sender[NEWEST_ARRIVED], sent)
    if first < sender[FIRST_UNACKED]:
        sender[ACKED_SEND_TIME] = last_sent(sender[FIRST_UNACKED] - 1, notes, facts, time_ns)
    if resent or sampled == NEVER or now < sampled:
        return False
    update_rto(sender, now - sampled)
    return True


@kernel
def note_delivery(sender: Any, end: int, sent: int, newest_before: int) -> None:
    """A segment that was never retransmitted was acknowledged.

    `newest_before` is the latest send time of data that had arrived before: filling a hole with an older
    segment means that the path reordered.
    """
    if end < sender[HIGH_SACK] and sent < newest_before:
        sender[REORDERED] = 1  # a hole was filled without a retransmission
    sender[NEWEST_ARRIVED] = max(sender[NEWEST_ARRIVED], sent)


@kernel
def on_sack_block(
    sender: Any, board: Scoreboard, segments: SegmentColumns, left: int, right: int, newest_before: int, now: int
) -> int:
    """Bytes left..right-1 were selectively acknowledged; only whole segments count (RFC 6675 4).

    Returns the earliest send time (ns) of the segments of which that was not known and that were sent once; NEVER
    when there are none, and 0 when only such are new as were sent again.
    """
    ends, notes, facts, time_ns = board.ends, board.notes, board.facts, segments.time_ns
    split_row(sender, board, segments.seq, left)
    split_row(sender, board, segments.seq, right)
    k = first_above(ends, sender[ROWS], left, sender[FIRST_UNACKED])
    if k < sender[ROWS] and row_start(k, ends, notes, segments.seq) < left:
        k += 1
    earliest: Any = NEVER
    while k < sender[ROWS] and ends[k] <= right:
        note = notes[k, NOTE]
        if note == SENT_ONCE:
            note_delivery(sender, ends[k], time_ns[notes[k, ORIGINAL]], newest_before)
            notes[k, NOTE] = SACKED
            earliest = min(earliest, time_ns[notes[k, ORIGINAL]])
        elif note >= 0:
            if facts[note, ACKED_AT] == NEVER and earliest == NEVER:
                earliest = 0
            note_arrived_resend(sender, facts[note])
            note_first_ack(facts[note], now, -1, 0, sender[NEWEST_LISTED], 0)
            sender[NEWEST_ARRIVED] = max(sender[NEWEST_ARRIVED], time_ns[notes[k, ORIGINAL]])
        k += 1
    sender[HIGH_SACK] = max(sender[HIGH_SACK], right)
    sender[SIMPLE_FROM] = max(sender[SIMPLE_FROM], right)
    return int(earliest)


@kernel
def on_dsack_block(sender: Any, board: Scoreboard, seq: Any, left: int, right: int, now: int) -> None:
    """The receiver reported bytes left..right-1 as received twice (RFC 2883)."""
    ends, notes, facts = board.ends, board.notes, board.facts
    k = first_above(ends, sender[ROWS], left, sender[FIRST_UNACKED])
    while k < sender[ROWS] and row_start(k, ends, notes, seq) < right:
        if notes[k, NOTE] >= 0:
            note_dsack(facts[notes[k, NOTE]], row_start(k, ends, notes, seq), ends[k], left, right, now)
            sender[RECOVERY_RESENT] -= 1
        k += 1
    if sender[RECOVERY_RESENT] <= 0 and sender[RECOVERY_END] > sender[UNA]:
        undo_recovery(sender, now)  # every retransmission of it was a duplicate


@kernel
def on_sack(
    sender: Any, board: Scoreboard, segments: SegmentColumns, blocks: Any, row: int, newest_before: int, now: int
) -> int:
    """Process the SACK blocks of segment `row`; returns what `on_sack_block` does, -1 for a DSACK without news."""
    began = at = first_above(blocks[SEGMENT], blocks.shape[1], row - 1, sender[NEXT_BLOCK])
    earliest: Any = NEVER
    dsack, top = False, -NEVER
    while at < blocks.shape[1] and blocks[SEGMENT, at] == row:
        left, right = blocks[LEFT, at], blocks[RIGHT, at]
        if blocks[IS_DSACK, at]:
            on_dsack_block(sender, board, segments.seq, left, right, now)
            sender[SENDS_DSACKS], dsack = 1, True
        else:
            earliest = min(earliest, on_sack_block(sender, board, segments, left, right, newest_before, now))
            top = max(top, right)
        at += 1
    sender[NEXT_BLOCK] = at
    if at - began < LEAST_BLOCKS and top == sender[HIGH_SACK] and segments.ack[row] >= sender[UNA]:
        sender[NEWEST_LISTED] = sender[NEWEST_ARRIVED]
    return -1 if dsack and earliest == NEVER else int(earliest)


@kernel
def on_ack_segment(
    sender: Any, board: Scoreboard, segments: SegmentColumns, blocks: Any, row: int, word: int, number: int, now: int
) -> None:
    """Process segment `row` of the receiver, packed in `word`, which acknowledges all bytes below `number`."""
    time_ns, seq = segments.time_ns, segments.seq
    flags, options = word >> FLAGS, word >> OPTIONS
    if options & OPTION_SACK or (flags & SYN and options & OPTION_SACK_PERMITTED):
        sender[SACK_CAPABLE] = 1
    elif flags & SYN:
        sender[WITHOUT_SACK] = 1
    if not flags & ACK:
        return
    if sender[ROWS] == 0:
        sender[LAST_PROGRESS] = now
        return
    newest_before, advances = sender[NEWEST_ARRIVED], number > sender[UNA]
    repeats = number == sender[UNA] < sender[TOP] and word >> LENGTH == 0 and not flags & (SYN | FIN | RST)
    sampled = advances and on_cumulative_ack(sender, board, time_ns, seq, number, segments.tsecr[row], now)
    earliest = int(NEVER)
    if options & OPTION_SACK:
        earliest = on_sack(sender, board, segments, blocks, row, newest_before, now)
    if 0 < earliest < NEVER and not sampled and now >= earliest:
        update_rto(sender, now - earliest)
    if repeats and earliest >= 0:
        sender[DUPACKS] += 1
        sender[LAST_DUPACK] = now
        note_asked(sender, board, segments, row, now)
    if sender[LAST_ACK] < 0 or seq[row] >= seq[sender[LAST_ACK]]:  # a keep-alive is below
        sender[LAST_ACK] = row
    if advances or 0 <= earliest < NEVER:
        sender[LAST_PROGRESS] = now
    elif earliest < 0:
        sender[LAST_DSACK] = now
    note_probe_answer(sender, number, earliest < 0 or not (advances or earliest < NEVER or word >> LENGTH > 0))
    if number == sender[UNA]:
        note_echo(sender, np.int64(segments.tsecr[row]))
    if advances and sender[RECOVERY_END] > number and was_needless(sender, board, segments.tsecr[row]):
        undo_recovery(sender, now)
    note_loss_told(sender, board, now)


@kernel
def was_needless(sender: Any, board: Scoreboard, tsecr: int) -> bool:
    """Whether an acknowledgement that advanced shows that what began the recovery had not been lost (Eifel, RFC 3522).

    It echoes a timestamp from before the recovery's first retransmission; after a fast retransmission only if none
    is on its way any more.
    """
    stamp = sender[RECOVERY_STAMP]
    if stamp <= 0 or tsecr <= 0 or ((np.int64(tsecr) - stamp) & 0xFFFFFFFF) < 0x80000000:
        return False
    if sender[BACKOFF] > 0:
        return True
    for k in range(sender[FIRST_UNACKED], sender[ROWS]):
        note = board.notes[k, NOTE]
        if note >= 0 and board.facts[note, ACKED_AT] == NEVER:
            return False
    return True


@kernel
def replay_sender(
    rows: Any, words: Any, direction: int, segments: SegmentColumns, blocks: Any, sender: Any, board: Scoreboard,
    events: Any, fetched: Any,
) -> bool:  # fmt: skip
    """Replay one direction of one connection from the sender's NEXT_ROW on.

    `rows` are the connection's rows in capture order, `words` their packed words, `blocks` the SACK blocks
    of all segments. `ends` and `notes` of the scoreboard have at least as many rows as `rows`, and room for rows that
    are split; `events` as many as there are retransmissions; returns False when `facts` or `pairs` are too short.
    """
    for index in range(sender[NEXT_ROW], len(rows)):
        if index % BATCH == 0:
            prefetch(rows[index : index + BATCH], words[index : index + BATCH], direction, segments, fetched)
        row, word = rows[index], words[index]
        now, number, length = fetched[index % BATCH, 0], fetched[index % BATCH, 1], word >> LENGTH
        if word & 1 != direction:
            if number > sender[UNA] >= sender[SIMPLE_FROM] and word & _PLAIN_MASK == _PLAIN_ACK:
                on_plain_ack(sender, board, segments.time_ns, number, now)
                sender[LAST_ACK] = row
            else:
                on_ack_segment(sender, board, segments, blocks, row, word, number, now)
        elif length > 0:
            if sender[ROWS] == 0:
                sender[UNA] = sender[TOP] = sender[SIMPLE_FROM] = number
                if sender[LAST_PROGRESS] == NEVER:  # no acknowledgement was captured before: the wait begins here
                    sender[LAST_PROGRESS] = now
            if word & (1 << RESENT) and not on_retransmission(
                sender, board, events, segments, row, number, number + length, now
            ):
                sender[NEXT_ROW] = index
                return False
            if number < sender[TOP] and not word & (1 << RESENT):
                note_unmarked(sender, number, number + length)
            if number + length > sender[TOP]:  # bytes above TOP in a retransmission are new data
                on_new_data(sender, board, row, number + length, now)
    if sender[ANEW_TOP] > 0:
        decide_anew(sender, board, events[sender[EVENTS] - 1], segments, NEVER)
    sender[NEXT_ROW] = len(rows)
    return True
