"""A sender's scoreboard: which bytes left in which packet, and what became of those that left again.

A row is the first transmission of a segment, 16 bytes: most are written once and read once, by the
acknowledgement. What is known of a row that was resent stands in its facts; each resend of a row is
a pair, of that row and the retransmission that carried it. All arrays are given, and reused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.compute.kernels import kernel

NEVER = np.int64(2**62)

# The scoreboard is two arrays, in order of sequence. `ends` has the number behind each row's last
# byte; a row begins where its original does, or where the row below ends. Columns of `notes` are the
# original's row of segments, and what else is known: its row of `facts`, CLEAN or SACKED.
ORIGINAL, NOTE = range(2)
CLEAN, SACKED = -1, -2
# Columns of the facts about a row that was resent. COVERED is its first acknowledgement, cumulative or
# selective, and COVER_TSECR, COVER_EDGE and LATER go with that one; NEEDED is when the first resend known
# to have been needed was sent (0: none); LATEST is the last pair.
COVERED, COVER_TSECR, COVER_EDGE, LATER, DSACKS, DSACKED, NEEDED, COPIES, RESENT_AT, LATEST, FACT_FIELDS = range(11)
# Columns of a pair: one retransmission and one scoreboard row that it resent. PREVIOUS is the pair that
# resent the same row before (-1: the original came before), WHOLE whether all of it was resent, ACKED whether it
# had been acknowledged before, in the order of the capture.
EVENT, BOARD, COPY, PREVIOUS, WHOLE, ACKED, PAIR_FIELDS = range(7)
# Columns of an event, one retransmission: what the sender knew when it left, and how it is judged.
(R_ROW, R_TRIGGER, R_SINCE_ACK, R_ELAPSED, R_DUPACKS, R_ABOVE, R_RTO, R_EDGE, R_ANSWERED, R_PAIRS, R_PAIRS_END,
 R_SPURIOUS, R_RULE, R_COPIES, R_DSACKS, R_COPY, R_LATE_ACK, R_LEAST_RTT, EVENT_FIELDS) = range(19)  # fmt: skip


@kernel
def first_above(values: Any, count: int, number: int, near: int) -> int:
    """The first of `count` ascending values that is greater than `number`, sought from place `near` on.

    What is sought lies near what was found last: the doubled steps stay in the same few cache lines.
    """
    low, high, step = near, near, 1
    while low > 0 and values[low - 1] > number:
        low = max(0, low - step)
        step *= 2
    step = 1
    while high < count and values[high] <= number:
        high = min(count, high + step)
        step *= 2
    while low < high:
        middle = (low + high) // 2
        if values[middle] <= number:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def begin_of(k: int, ends: Any, notes: Any, seq: Any) -> int:
    """The first byte of row `k`."""
    first = seq[notes[k, ORIGINAL]]
    return int(first if k == 0 else max(first, ends[k - 1]))


@kernel
def last_sent(k: int, notes: Any, facts: Any, time_ns: Any) -> int:
    """When row `k` was sent last."""
    note = notes[k, NOTE]
    return int(time_ns[notes[k, ORIGINAL]] if note < 0 else facts[note, RESENT_AT])


@kernel
def cover(fact: Any, now: int, tsecr: int, edge: int, later: int) -> None:
    """Note the first acknowledgement, cumulative or selective, of a segment that was resent."""
    if fact[COVERED] == NEVER:
        fact[COVERED], fact[COVER_TSECR], fact[COVER_EDGE], fact[LATER] = now, tsecr, edge, later


@kernel
def begin_facts(fact: Any, sent: int, acknowledged: bool) -> None:
    """Facts about a row, sent once at `sent`, that is about to be resent."""
    fact[:] = 0
    fact[DSACKED], fact[COVERED], fact[COPIES], fact[LATEST] = NEVER, NEVER, 1, -1
    if acknowledged:  # when is not known, but before the resend
        cover(fact, sent, -1, 0, 0)


@kernel
def note_copy(fact: Any, pair: Any, number: int, event: int, k: int, whole: int, now: int) -> None:
    """Make `pair`, which gets that number: row `k` left once more with `event`."""
    pair[EVENT], pair[BOARD], pair[COPY] = event, k, fact[COPIES]
    pair[PREVIOUS], pair[WHOLE], pair[ACKED] = fact[LATEST], whole, 1 if fact[COVERED] != NEVER else 0
    fact[LATEST], fact[RESENT_AT] = number, now
    fact[COPIES] += 1
