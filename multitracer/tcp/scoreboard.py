"""A sender's scoreboard: which segment first carried each byte, and what is known of retransmitted ones.

A row is the first transmission of a segment, 16 bytes, since most rows are written once and read once, by
the acknowledgement. A row that was retransmitted also has a row of `facts`; each retransmission of a row is
a pair of that row and the event that carried it. Callers allocate and reuse all arrays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import kernel

NEVER = np.int64(2**62)

# The scoreboard is two arrays in order of sequence number. `ends` has the number after each row's last byte;
# a row starts where its original segment does, or where the row below ends. Columns of `notes`: the row of
# the original in the segments table, and its row of `facts`, or SENT_ONCE or SACKED.
ORIGINAL, NOTE = range(2)
SENT_ONCE, SACKED = -1, -2
# Columns of `facts`, per row that was retransmitted; times in ns. ACKED_AT is when the first acknowledgement,
# cumulative or selective, covered it (NEVER: none). Of that acknowledgement: ACK_TSECR is its echoed timestamp (-1 if
# selective), ACK_OLDEST whether the row was the oldest unacknowledged data, NEWEST_BEFORE the latest send time of data
# known to have arrived while the row had not, ECHO_BEFORE the latest timestamp that acknowledgements echoed before that
# stopped at the row (0: none). DSACKS counts DSACKs of any part of the row, WHOLE_DSACKS those of all of it, DSACKED_AT
# is the first; MAY_BE_NEEDED is the last copy that may have been needed by them; NEEDED_AT is when the first
# retransmission known to be needed was sent (0: none), PASSED_AT the same of one whose original was lost or overtaken;
# LATEST is the last pair, NEEDLESS the first that is known to be needless (-1: none). From its start up to REPORTED_TO
# the row was reported once more than WHOLE_DSACKS tells (-NEVER: it was not). RESENDS is how often an octet of it was
# sent again at most: resends of parts that follow one another, up to RESENT_TO (NEVER: none), count once.
(ACKED_AT, ACK_TSECR, ACK_OLDEST, NEWEST_BEFORE, ECHO_BEFORE, DSACKS, WHOLE_DSACKS, DSACKED_AT, MAY_BE_NEEDED,
 NEEDED_AT, PASSED_AT, COPIES, RETRANSMITTED_AT, LATEST, NEEDLESS, REPORTED_TO, RESENDS,
 RESENT_TO, FACT_FIELDS) = range(19)  # fmt: skip
# Columns of a pair, one retransmission (EVENT) of one scoreboard row (BOARD_ROW). COPY is the number of the copy
# (0: the original), PREVIOUS the pair of the copy before it (-1: the original), WHOLE whether all of the row was
# retransmitted, ALREADY_ACKED whether it had been acknowledged before, in the order of the capture.
EVENT, BOARD_ROW, COPY, PREVIOUS, WHOLE, ALREADY_ACKED, PAIR_FIELDS = range(7)
# Columns of an event, one retransmission: the sender's state when it was sent, and the judgement. R_OLDEST: it was the
# oldest unacknowledged data; R_ACKED_SEND_TIME is the sender's ACKED_SEND_TIME then; R_NEAR
# is the segment's `near`; R_ASKED whether an acknowledgement that answers later data asked for it.
(R_ROW, R_TRIGGER, R_SINCE_ACK, R_ELAPSED, R_DUPACKS, R_SACKED_ABOVE, R_RTO, R_OLDEST, R_ACKED_SEND_TIME, R_PAIRS,
 R_PAIRS_END, R_SPURIOUS, R_RULE, R_COPIES, R_DSACKS, R_LATE_ACK, R_LEAST_RTT, R_NEAR, R_ASKED, EVENT_FIELDS,
) = range(20)  # fmt: skip


class SegmentColumns(NamedTuple):
    """What the replay of a sender and the judgement read of the segments: one element per segment."""

    time_ns: Any
    sender: Any
    seq: Any
    ack: Any
    flags: Any
    tsval: Any
    tsecr: Any
    window_bytes: Any
    near: Any
    """Of a retransmission whose order to its acknowledgement is not known: how far from it in ns another port, of
    another clock, recorded one, at least 1; else 0."""
    received: Any
    """Of a retransmission, whether its octets had been received by an earlier copy, by the receiver's capture: 1 yes,
    0 no, -1 unknown."""


class Scoreboard(NamedTuple):
    """A sender's scoreboard, with room for more rows than there are."""

    ends: Any
    notes: Any
    facts: Any
    pairs: Any
    """As long as `facts`."""


@kernel
def first_above(values: Any, count: int, number: int, near: int) -> int:
    """Index of the first of `count` ascending values that is greater than `number`; the search starts at `near`.

    Successive searches end close to each other: the doubling steps from `near` stay in a few cache lines.
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
def row_start(k: int, ends: Any, notes: Any, seq: Any) -> int:
    """Sequence number of the first byte of row `k`."""
    first = seq[notes[k, ORIGINAL]]
    return int(first if k == 0 else max(first, ends[k - 1]))


@kernel
def last_sent(k: int, notes: Any, facts: Any, time_ns: Any) -> int:
    """Time (ns) of the last transmission of row `k`."""
    note = notes[k, NOTE]
    return int(time_ns[notes[k, ORIGINAL]] if note < 0 else facts[note, RETRANSMITTED_AT])


@kernel
def note_first_ack(fact: Any, now: int, tsecr: int, oldest: int, newest_before: int, echo_before: int) -> None:
    """Note the first acknowledgement, cumulative or selective, of a retransmitted row; later ones are ignored."""
    if fact[ACKED_AT] == NEVER:
        fact[ACKED_AT], fact[ACK_TSECR], fact[ACK_OLDEST] = now, tsecr, oldest
        fact[NEWEST_BEFORE], fact[ECHO_BEFORE] = newest_before, echo_before


@kernel
def note_dsack(fact: Any, start: int, end: int, left: int, right: int, now: int) -> None:
    """Note that the receiver reported octets left..right-1 as received twice, of a retransmitted row start..end-1.

    A record of several packets is reported packet by packet: reports that follow one another to its end are of the
    whole. Of the copies sent by now one more has arrived than duplicates of the whole are reported. So the first to
    arrive is not among the last ones, as many as there are reports: these were needless, whichever of them came.
    """
    fact[DSACKS] += 1
    fact[DSACKED_AT] = min(fact[DSACKED_AT], now)
    if left <= max(start, fact[REPORTED_TO]):
        fact[REPORTED_TO] = max(fact[REPORTED_TO], right)
    if fact[REPORTED_TO] >= end:
        fact[REPORTED_TO] = -NEVER
        fact[WHOLE_DSACKS] += 1
        fact[MAY_BE_NEEDED] = min(fact[MAY_BE_NEEDED], fact[COPIES] - 1 - fact[WHOLE_DSACKS])


@kernel
def init_facts(fact: Any, sent: int, acknowledged: bool) -> None:
    """Initialise the facts of a row, sent once at `sent`, that is about to be retransmitted."""
    fact[:] = 0
    fact[DSACKED_AT], fact[ACKED_AT], fact[COPIES], fact[LATEST], fact[NEEDLESS] = NEVER, NEVER, 1, -1, -1
    fact[MAY_BE_NEEDED], fact[REPORTED_TO], fact[RESENT_TO] = NEVER, -NEVER, NEVER
    if acknowledged:  # at an unknown time before the retransmission
        note_first_ack(fact, sent, -1, 0, 0, 0)


@kernel
def note_copy(
    fact: Any, pair: Any, number: int, event: int, k: int, whole: int, now: int, start: int, end: int
) -> None:
    """Fill `pair`, which is number `number`: row `k` was sent again by `event`, of octets start..end-1, at `now`."""
    pair[EVENT], pair[BOARD_ROW], pair[COPY] = event, k, fact[COPIES]
    pair[PREVIOUS], pair[WHOLE], pair[ALREADY_ACKED] = fact[LATEST], whole, 1 if fact[ACKED_AT] != NEVER else 0
    fact[LATEST], fact[RETRANSMITTED_AT] = number, now
    fact[COPIES] += 1
    if whole or start < fact[RESENT_TO]:
        fact[RESENDS] += 1
    fact[RESENT_TO] = NEVER if whole else end
