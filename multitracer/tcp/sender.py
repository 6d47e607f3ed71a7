"""What a TCP sender did and knew, followed through a capture taken at its side.

One pass over the segments of a connection replays the sender's scoreboard: what was sent when and
how often, what was acknowledged, what was selectively acknowledged, and what duplicates the
receiver reported (DSACK, RFC 2883). Each retransmission is given its trigger, and every fact
that later tells whether it was needless is kept beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.kernels import allocating_kernel, kernel
from multitracer.tables import ACK, FIN, OPTION_SACK, OPTION_SACK_PERMITTED, RST, SYN

# Codes of tables.TRIGGERS, in its order.
TIMEOUT, FAST, RECOVERY, PROBE, UNKNOWN = range(5)

SECOND = 1_000_000_000
MIN_RTO_NS = 200_000_000  # Linux TCP_RTO_MIN; RFC 6298 2.4 asks for 1 s, which is longer
NEVER = np.int64(2**62)

# Where the parts of a packed word begin; bit 0 is the sender. Flags and options are masked by their bits.
_RESENT, _OPTIONS, _FLAGS, _LENGTH = 1, 8, 16, 32
_BATCH = 256
"""So many rows' times and numbers are fetched at once."""

# Columns of the scoreboard: one row per first transmission of a segment, in order of sequence.
SEQ, END, SENT, ORIGINAL = range(4)
# Columns of the state beside it: transmissions, selectively acknowledged or not, and the row of
# the facts below (-1 while it was never resent, so that a long clean transfer stays small).
COPIES, SACKED, FACTS = range(3)
# Columns of the facts about a scoreboard row that was resent.
# NEEDED is when the first resend known to have been needed was sent (0: none).
COVERED, COVER_TSECR, COVER_EDGE, LATER, DSACKS, DSACKED, LATEST, NEEDED = range(8)
# Columns of an event: one retransmission.
ROW, TRIGGER, SINCE_ACK, ELAPSED, DUPACKS, ABOVE, RTO, EDGE, ANSWERED, PAIRS, PAIRS_END = range(11)
# Columns of a pair: one event and one scoreboard row that it resent. PREVIOUS is the pair that
# resent the same row before (-1: the original came before), WHOLE whether all of it was resent.
EVENT, BOARD, COPY, PREVIOUS, WHOLE = range(5)


@kernel
def locate(board: Any, count: int, seq: int) -> int:
    """The scoreboard row that holds byte `seq`, or the first one behind it."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if board[middle, END] <= seq:
            low = middle + 1
        else:
            high = middle
    return low


@allocating_kernel
def grown(array: Any, needed: int) -> Any:
    """`array` with room for row `needed`, at least doubled when it must grow."""
    if needed < len(array):
        return array
    larger = np.zeros((max(2 * len(array), needed + 1), array.shape[1]), dtype=np.int64)
    larger[: len(array)] = array
    return larger


@kernel
def cover(facts: Any, row: int, now: int, tsecr: int, edge: int, later: int) -> None:
    """Note the first acknowledgement, cumulative or selective, of a segment that was resent."""
    if facts[row, COVERED] == NEVER:
        facts[row, COVERED] = now
        facts[row, COVER_TSECR] = tsecr
        facts[row, COVER_EDGE] = edge
        facts[row, LATER] = later


@kernel
def last_sent(board: Any, state: Any, facts: Any, pairs: Any, events: Any, time_ns: Any, k: int) -> int:
    """When scoreboard row `k` was sent last."""
    if state[k, FACTS] < 0:
        return int(board[k, SENT])
    return int(time_ns[events[pairs[facts[state[k, FACTS], LATEST], EVENT], ROW]])


@kernel
def update_rto(estimate: Any, sample: int) -> None:
    """RFC 6298 2.2-2.3 with a granularity of 0: estimate = [srtt, rttvar, rto, least sample]."""
    if estimate[0] == 0:
        estimate[0] = sample
        estimate[1] = sample // 2
    else:
        estimate[1] += (abs(estimate[0] - sample) - estimate[1]) // 4
        estimate[0] += (sample - estimate[0]) // 8
    estimate[2] = estimate[0] + max(MIN_RTO_NS, 4 * estimate[1])
    estimate[3] = min(estimate[3], sample)


@kernel
def classify_trigger(
    seq: int, end: int, una: int, top: int, recovery_end: int, again: int, probed: int, timer: Any, estimate: Any,
    evidence: Any,
) -> int:
    """Why a sender resent `seq`: a code of TRIGGERS.

    `timer` = [since the last acknowledgement, since the timer was last restarted]; `evidence` =
    [duplicate acknowledgements, bytes above seq selectively acknowledged]; `again` whether these
    bytes were resent before in this recovery. RFC 8985 7 (probe), 6298 5 (timeout), 6675 5 (fast).
    """
    waited = timer[0] >= max(MIN_RTO_NS, estimate[0] + MIN_RTO_NS) // 10 * 9
    clocked = evidence[0] > 0 or evidence[1] > 0
    if una < recovery_end:
        if seq <= una and again > 0 and waited:
            return TIMEOUT
        return RECOVERY
    if clocked and not waited:
        return FAST
    # A tail loss probe resends the last segment, once; alone outstanding it is a probe only if
    # it came before the timer could (RFC 8985 7.2: 2 SRTT, and 200 ms more for a delayed ACK).
    last = end >= top and probed == 0 and timer[1] >= MIN_RTO_NS // 20
    if last and (seq > una or timer[1] < estimate[2] // 10 * 9):
        return PROBE
    if seq <= una and (waited or estimate[0] == 0):
        return TIMEOUT
    if clocked:
        return FAST
    return UNKNOWN


@kernel
def packed(sender: int, resent: int, flags: int, options: int, length: int) -> int:
    """What decides how `follow` goes on with a segment, in one word."""
    return (length << _LENGTH) | (flags << _FLAGS) | (options << _OPTIONS) | (resent << _RESENT) | sender


@kernel
def fetch(rows: Any, words: Any, direction: int, time_ns: Any, seq: Any, ack: Any, fetched: Any) -> None:
    """Put the time and the number, of data or acknowledged, of a batch of rows together.

    They lie far apart in memory, and are waited for all at once here, else one after the other.
    """
    for place in range(len(rows)):
        row = rows[place]
        fetched[place, 0] = time_ns[row]
        fetched[place, 1] = seq[row] if words[place] & 1 == direction else ack[row]


@allocating_kernel
def follow(
    rows: Any, words: Any, direction: int, time_ns: Any, seq: Any, ack: Any, tsecr: Any, sack_segment: Any,
    sack_left: Any, sack_right: Any, sack_is_dsack: Any, first_sample: int,
) -> Any:
    """Replay one direction of one connection, whose rows in capture order are `rows`.

    `words` are those of the rows, packed. Returns (board, state, facts, events, pairs,
    [rows of events, least RTT ns, 1 if the path reordered, 1 if the receiver reports duplicates]).
    """
    # Room for as many segments as there are packets: what is not written to costs nothing.
    board = np.empty((len(rows), 4), dtype=np.int64)
    state = np.empty((len(rows), 3), dtype=np.int32)
    facts = np.zeros((16, 8), dtype=np.int64)
    events = np.zeros((16, 11), dtype=np.int64)
    pairs = np.zeros((16, 5), dtype=np.int64)
    count, known, resent, paired = 0, 0, 0, 0
    una, top, recovery_end = np.int64(0), np.int64(-1), np.int64(-1)
    last_ack, restarted, answered = np.int64(0), np.int64(0), np.int64(-1)
    newest, high_sack = np.int64(0), np.int64(0)
    edge = 0  # the first scoreboard row that is not all acknowledged
    dupacks, probed, reordered, reports = 0, 0, 0, 0
    estimate = np.array([0, 0, SECOND, NEVER], dtype=np.int64)
    if first_sample > 0:
        update_rto(estimate, first_sample)
    timer = np.zeros(2, dtype=np.int64)
    evidence = np.zeros(2, dtype=np.int64)
    fetched = np.empty((_BATCH, 2), dtype=np.int64)
    for place in range(len(rows)):
        if place % _BATCH == 0:
            fetch(rows[place : place + _BATCH], words[place : place + _BATCH], direction, time_ns, seq, ack, fetched)
        row, word = rows[place], words[place]
        now, number = fetched[place % _BATCH, 0], fetched[place % _BATCH, 1]
        length = word >> _LENGTH
        if word & 1 == direction:
            if length == 0:
                continue
            start, end = number, number + length
            if top < 0:
                una, top = start, start
            if word & (1 << _RESENT):
                first = locate(board, count, start)
                last = first
                while last + 1 < count and board[last + 1, SEQ] < min(end, top):
                    last += 1
                if first < count and board[first, SEQ] < end:
                    again = 1 if state[first, FACTS] >= 0 else 0
                    timer[0] = now - last_ack
                    timer[1] = now - max(restarted, last_sent(board, state, facts, pairs, events, time_ns, first))
                    evidence[0] = dupacks
                    evidence[1] = max(0, high_sack - end)
                    trigger = classify_trigger(
                        start, end, una, top, recovery_end, again, probed, timer, estimate, evidence
                    )
                    if trigger in (FAST, TIMEOUT) and recovery_end <= una:
                        recovery_end = top
                    if trigger == PROBE:
                        probed = 1
                    events = grown(events, resent)
                    event = events[resent]
                    event[ROW], event[TRIGGER] = row, trigger
                    event[SINCE_ACK], event[ELAPSED] = timer[0], timer[1]
                    event[DUPACKS], event[ABOVE], event[RTO] = dupacks, evidence[1], estimate[2]
                    event[EDGE] = 1 if start <= una else 0
                    event[ANSWERED], event[PAIRS] = answered, paired
                    for k in range(first, last + 1):
                        previous = np.int64(-1)
                        if state[k, FACTS] < 0:
                            facts = grown(facts, known)
                            state[k, FACTS] = known
                            facts[known, COVERED] = facts[known, DSACKED] = NEVER
                            if board[k, END] <= una or state[k, SACKED] > 0:
                                cover(facts, known, board[k, SENT], -1, 0, 0)
                            known += 1
                        else:
                            previous = facts[state[k, FACTS], LATEST]
                        pairs = grown(pairs, paired)
                        pairs[paired, EVENT], pairs[paired, BOARD] = resent, k
                        pairs[paired, COPY], pairs[paired, PREVIOUS] = state[k, COPIES], previous
                        pairs[paired, WHOLE] = 1 if start <= board[k, SEQ] and end >= board[k, END] else 0
                        facts[state[k, FACTS], LATEST] = paired
                        state[k, COPIES] += 1
                        paired += 1
                    events[resent, PAIRS_END] = paired
                    resent += 1
                    if trigger in (PROBE, TIMEOUT):
                        restarted = now
            if end > top:  # what a resend carries beyond `top` is new data
                board[count, SEQ], board[count, END] = max(start, top), end
                board[count, SENT], board[count, ORIGINAL] = now, row
                state[count, COPIES], state[count, SACKED], state[count, FACTS] = 1, 0, -1
                count += 1
                if una >= top:
                    restarted = now
                top = end
            continue
        flags, options = word >> _FLAGS, word >> _OPTIONS
        if options & OPTION_SACK or (flags & SYN and options & OPTION_SACK_PERMITTED):
            reports = 1  # blocks, and with them duplicates (RFC 2883)
        if not flags & ACK or top < 0:
            continue
        advanced = number > una
        later = newest
        if advanced:
            while edge < count and board[edge, END] <= una:
                edge += 1
            k = edge
            sample, alone = np.int64(-1), True
            answered = np.int64(-1)
            while k < count and board[k, END] <= number:
                # Calls with arrays cost more than all else here: only for what was resent.
                answered = board[k, SENT]
                if state[k, FACTS] >= 0:
                    cover(facts, state[k, FACTS], now, tsecr[row], 1 if board[k, SEQ] <= una else 0, later)
                    answered = last_sent(board, state, facts, pairs, events, time_ns, k)
                if state[k, COPIES] == 1:
                    sample = now - board[k, SENT]
                    if state[k, SACKED] == 0 and board[k, END] < high_sack and board[k, SENT] < later:
                        reordered = 1  # a hole was filled although nothing was resent
                    newest = max(newest, board[k, SENT])
                if state[k, COPIES] > 1 or state[k, SACKED] > 0:
                    alone = False
                k += 1
            if sample >= 0 and alone:
                update_rto(estimate, sample)
            una, dupacks, probed, restarted = number, 0, 0, now
            if una >= recovery_end:
                recovery_end = np.int64(-1)
        elif number == una and length == 0 and una < top and not flags & (SYN | FIN | RST):
            dupacks += 1
        blocks = np.searchsorted(sack_segment, row) if options & OPTION_SACK else len(sack_segment)
        for b in range(blocks, len(sack_segment)):
            if sack_segment[b] != row:
                break
            k = locate(board, count, sack_left[b])
            if sack_is_dsack[b]:
                while k < count and board[k, SEQ] < sack_right[b]:
                    if state[k, FACTS] >= 0:
                        facts[state[k, FACTS], DSACKS] += 1
                        facts[state[k, FACTS], DSACKED] = min(facts[state[k, FACTS], DSACKED], now)
                    k += 1
                continue
            while k < count and board[k, END] <= sack_right[b]:
                if state[k, SACKED] == 0:
                    state[k, SACKED] = 1
                    if state[k, FACTS] >= 0:
                        cover(facts, state[k, FACTS], now, -1, 0, later)
                    if state[k, COPIES] == 1:
                        if board[k, END] < high_sack and board[k, SENT] < later:
                            reordered = 1
                        newest = max(newest, board[k, SENT])
                k += 1
            high_sack = max(high_sack, sack_right[b])
        last_ack = now
    numbers = np.array([resent, estimate[3], reordered, reports], dtype=np.int64)
    return board, state, facts, events, pairs, numbers
