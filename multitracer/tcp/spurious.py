"""Whether a retransmission was needless: its bytes got through by an earlier copy.

With captures of both ends that is seen; with the sender's alone it is inferred, and only from
evidence that leaves no other reading. Copies of a segment are numbered from 0, the original.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.tcp.scoreboard import (
    ACKED,
    BOARD,
    COPIES,
    COPY,
    COVER_EDGE,
    COVER_TSECR,
    COVERED,
    DSACKED,
    DSACKS,
    EVENT,
    LATER,
    LATEST,
    NEEDED,
    NEVER,
    NOTE,
    ORIGINAL,
    PREVIOUS,
    R_ANSWERED,
    R_COPIES,
    R_COPY,
    R_DSACKS,
    R_EDGE,
    R_LATE_ACK,
    R_PAIRS,
    R_PAIRS_END,
    R_ROW,
    R_RULE,
    R_SINCE_ACK,
    R_SPURIOUS,
    WHOLE,
    begin_of,
)  # fmt: skip

YES, NO, UNKNOWN = range(3)  # codes of tables.SPURIOUS

# The rules, in the order in which they are asked; `because` is made from them.
(ARRIVED, LOST, ACKED_BEFORE, DSACK, EIFEL_EARLIER, EIFEL_THIS, TOO_SOON, OVERTAKEN, STILL_ASKED, NEVER_ACKED,
 ACK_LOSS, REORDERED, NO_EVIDENCE, PARTIAL, NEXT_MISSING, CODES) = range(16)  # fmt: skip


@kernel
def copies_of(pair: Any, pairs: Any, events: Any, notes: Any, fact: Any, out: Any) -> int:
    """Fill `out` with the segment rows of the copies of the pair's scoreboard row, original first; how many.

    Where the pair's own copy has no room there it is not judged by them, and they are not sought.
    """
    if pair[COPY] >= len(out):
        return len(out)
    chain, i = fact[LATEST], fact[COPIES] - 1
    while chain >= 0 and i > 0:
        if i < len(out):
            out[i] = events[pairs[chain, EVENT], R_ROW]
        chain = pairs[chain, PREVIOUS]
        i -= 1
    out[0] = notes[pair[BOARD], ORIGINAL]
    return int(min(fact[COPIES], len(out)))


@kernel
def seen_arriving(rows: Any, copy: int, arrived: Any) -> int:
    """From the receiver's capture: the code of SPURIOUS for copy number `copy`."""
    unsure = False
    for i in range(copy):
        if arrived[rows[i]] == 1:
            return YES
        if arrived[rows[i]] < 0:
            unsure = True
    return UNKNOWN if unsure else NO


@kernel
def first_to_arrive(rows: Any, copies: int, fact: Any, tsval: Any, dsack_capable: int) -> int:
    """Eifel (RFC 3522): which copy the acknowledgement that covered the bytes answered; -1 unknown.

    It holds only when the bytes were the oldest missing ones, for TS.recent follows the left edge
    (RFC 7323 4.3); an echo of a resend may answer a duplicate when the first acknowledgement was
    lost, which only a receiver that reports duplicates rules out.
    """
    if fact[COVER_EDGE] == 0 or fact[COVER_TSECR] <= 0:
        return -1
    echoed = np.int64(fact[COVER_TSECR])
    if ((echoed - np.int64(tsval[rows[1]])) & 0xFFFFFFFF) >= 0x80000000:
        return 0
    for i in range(copies - 1, 0, -1):
        if np.int64(tsval[rows[i]]) == echoed:
            if np.int64(tsval[rows[i - 1]]) == echoed or dsack_capable == 0 or fact[DSACKED] <= fact[COVERED]:
                return -1
            return i
    return -1


@kernel
def too_soon(waited: int, least_rtt: int) -> bool:
    """Whether an acknowledgement that came `waited` ns after a copy can have answered neither it nor a later one.

    `least_rtt` is NEVER where no round trip was measured, which tells nothing; nor does a clock that was set back.
    """
    return bool(least_rtt != NEVER and 0 <= waited < least_rtt // 2)


@kernel
def inferred(
    rows: Any, copies: int, pair: Any, event: Any, fact: Any, time_ns: Any, tsval: Any, least_rtt: int,
    dsack_capable: int, reordered: int,
) -> Any:
    """From the sender's capture alone: (code of SPURIOUS, rule) for the pair's copy; `rows` are those of `copies`."""
    copy, resends = pair[COPY], fact[COPIES] - 1
    covered, sent = fact[COVERED], time_ns[rows[copy]]
    if pair[ACKED]:
        return YES, ACKED_BEFORE
    if fact[DSACKS] >= resends:
        return YES, DSACK
    if covered == NEVER:
        return UNKNOWN, NEVER_ACKED
    if too_soon(covered - sent, least_rtt):
        return YES, TOO_SOON
    first = first_to_arrive(rows, copies, fact, tsval, dsack_capable)
    if 0 <= first < copy:
        return YES, EIFEL_EARLIER
    if first >= copy and fact[DSACKS] <= resends - first:
        return NO, EIFEL_THIS
    before = time_ns[rows[copy - 1]]  # the latest of the earlier copies
    if before < fact[LATER] and fact[DSACKS] == 0:
        return (UNKNOWN, REORDERED) if reordered else (NO, OVERTAKEN)
    answered = event[R_ANSWERED]
    if event[R_EDGE] == 1 and answered > before and fact[DSACKS] == 0:
        asked_again = sent - event[R_SINCE_ACK]
        if asked_again - answered >= least_rtt // 10 * 9 and covered - sent >= least_rtt // 10 * 9:
            return (UNKNOWN, REORDERED) if reordered else (NO, STILL_ASKED)
    return UNKNOWN, ACK_LOSS if fact[COVER_EDGE] == 1 else NO_EVIDENCE


@kernel
def next_was_missing(k: int, ends: Any, notes: Any, facts: Any, seq: Any, before: int) -> bool:
    """Whether the bytes just below row `k` were repaired by a resend that came after `before`, and the
    acknowledgement of it stopped at these: on a path that keeps order, earlier copies were lost.
    """
    if k == 0 or ends[k - 1] != begin_of(k, ends, notes, seq) or notes[k - 1, NOTE] < 0:
        return False
    below, here = facts[notes[k - 1, NOTE]], facts[notes[k, NOTE]]
    return bool(
        below[NEEDED] > before
        and below[COVER_EDGE] == 1
        and below[DSACKS] == 0
        and here[DSACKS] == 0
        and here[COVERED] > below[COVERED]
    )


@kernel
def late_answer(
    rows: Any, copies: int, copy: int, fact: Any, time_ns: Any, tsval: Any, least_rtt: int, dsack_capable: int
) -> int:
    """Whether an acknowledgement of an earlier copy reached the sender after this copy left: 1, 0, or -1 unknown.

    It tells a timer that ran out too early (the answer was on its way) from an answer that was lost.
    A duplicate is answered at once, with the echo of an earlier segment (RFC 7323 4.3): an old echo
    proves a late answer only where duplicates are reported and this one is not.
    """
    covered, sent = fact[COVERED], time_ns[rows[copy]]
    if covered == NEVER or covered < sent:
        return -1
    if too_soon(covered - sent, least_rtt):
        return 1
    if fact[COVER_EDGE] == 0 or fact[COVER_TSECR] <= 0:
        return -1
    behind = (np.int64(fact[COVER_TSECR]) - np.int64(tsval[rows[copy]])) & 0xFFFFFFFF
    if behind < 0x80000000:
        return 0
    if dsack_capable == 0:
        return -1
    return 0 if fact[DSACKED] <= covered else 1


@kernel
def judge_pair(
    pair: Any, event: Any, rows: Any, copies: int, ends: Any, notes: Any, facts: Any, time_ns: Any, seq: Any,
    tsval: Any, arrived: Any, least_rtt: int, dsack_capable: int, reordered: int,
) -> Any:  # fmt: skip
    """(Code of SPURIOUS, rule) for one scoreboard row that an event resent; `rows` are those of its copies."""
    copy, k = pair[COPY], pair[BOARD]
    fact = facts[notes[k, NOTE]]
    if copy >= copies:
        return UNKNOWN, NO_EVIDENCE
    verdict = seen_arriving(rows, copy, arrived)
    why = ARRIVED if verdict == YES else LOST
    if verdict == UNKNOWN:
        verdict, why = inferred(
            rows, copies, pair, event, fact, time_ns, tsval, least_rtt, dsack_capable, reordered
        )
    if verdict == UNKNOWN and not reordered and next_was_missing(
        k, ends, notes, facts, seq, time_ns[rows[copy - 1]]
    ):
        verdict, why = NO, NEXT_MISSING
    if verdict == NO and copy == 1:
        fact[NEEDED] = time_ns[rows[1]]
    if verdict == NO and pair[WHOLE] == 0:
        return UNKNOWN, PARTIAL
    return verdict, why


@kernel
def judge(
    ends: Any, notes: Any, facts: Any, events: Any, pairs: Any, time_ns: Any, seq: Any, tsval: Any, arrived: Any,
    least_rtt: int, dsack_capable: int, reordered: int, rows: Any,
) -> None:  # fmt: skip
    """Judge every event of a direction; `rows` has room for those of the copies that are looked at.

    A retransmission is needless when all of its bytes had got through, needed when any had not.
    """
    for event in events:
        needless, rule, unsure = True, NO_EVIDENCE, False
        event[R_LATE_ACK] = -1
        for number in range(event[R_PAIRS], event[R_PAIRS_END]):
            pair = pairs[number]
            copy, fact = pair[COPY], facts[notes[pair[BOARD], NOTE]]
            copies = copies_of(pair, pairs, events, notes, fact, rows)
            verdict, why = judge_pair(
                pair, event, rows, copies, ends, notes, facts, time_ns, seq, tsval, arrived, least_rtt, dsack_capable,
                reordered,
            )  # fmt: skip
            if number == event[R_PAIRS]:
                event[R_COPY] = copy
                if copy < copies:
                    event[R_LATE_ACK] = late_answer(
                        rows, copies, copy, fact, time_ns, tsval, least_rtt, dsack_capable
                    )
            if number == event[R_PAIRS] or verdict != YES or not unsure:
                rule, event[R_COPIES], event[R_DSACKS] = why, fact[COPIES], fact[DSACKS]
            if verdict == NO:
                needless, unsure = False, False
                break
            unsure = unsure or verdict == UNKNOWN
        event[R_SPURIOUS] = UNKNOWN if unsure else (YES if needless else NO)
        event[R_RULE] = rule
