"""Whether a retransmission was spurious: an earlier copy of its bytes had reached the receiver.

With captures of both ends this is observed; with the sender's alone it is inferred, and only from evidence
that has no other explanation. Copies of a segment are numbered from 0, the original.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.compute.kernels import inlined, kernel
from multitracer.tcp.scoreboard import (
    ACK_OLDEST,
    ACK_TSECR,
    ACKED_AT,
    ALREADY_ACKED,
    BOARD_ROW,
    COPIES,
    COPY,
    DSACKED_AT,
    DSACKS,
    ECHO_BEFORE,
    EVENT,
    LATEST,
    MAY_BE_NEEDED,
    NEEDED_AT,
    NEEDLESS,
    NEVER,
    NEWEST_BEFORE,
    NOTE,
    ORIGINAL,
    PASSED_AT,
    PREVIOUS,
    R_ACKED_SEND_TIME,
    R_ASKED,
    R_COPIES,
    R_DSACKS,
    R_LATE_ACK,
    R_NEAR,
    R_OLDEST,
    R_PAIRS,
    R_PAIRS_END,
    R_ROW,
    R_RULE,
    R_SINCE_ACK,
    R_SPURIOUS,
    RESENDS,
    WHOLE,
    WHOLE_DSACKS,
    Scoreboard,
    SegmentColumns,
    row_start,
)  # fmt: skip
from multitracer.tcp.sender_state import LEAST_RTT, REORDERED, ROWS, SENDS_DSACKS, UNMARKED_FROM, UNMARKED_TO

YES, NO, UNKNOWN = range(3)  # codes of schema.SPURIOUS

# The rules; `because` is made from them.
(ARRIVED, LOST, ACKED_BEFORE, DSACK, EIFEL_EARLIER, EIFEL_THIS, TOO_SOON, LATER_DELIVERED, STILL_MISSING, NEVER_ACKED,
 ACK_LOSS, PATH_REORDERS, NO_EVIDENCE, PARTIAL, NEXT_MISSING, CONTRADICTION, UNORDERED, DSACK_SINCE,
 PASSED, NEXT_CAME_LATER, CODES) = range(21)  # fmt: skip


@kernel
def copies_of(pair: Any, pairs: Any, events: Any, notes: Any, fact: Any, out: Any) -> int:
    """Fill `out` with the segment rows of all copies of a pair's scoreboard row, original first; returns their number.

    When the pair's own copy does not fit into `out`, it is not judged by the others, and `out` is not
    filled.
    """
    if pair[COPY] >= len(out):
        return len(out)
    chain, i = fact[LATEST], fact[COPIES] - 1
    while chain >= 0 and i > 0:
        if i < len(out):
            out[i] = events[pairs[chain, EVENT], R_ROW]
        chain = pairs[chain, PREVIOUS]
        i -= 1
    out[0] = notes[pair[BOARD_ROW], ORIGINAL]
    return int(min(fact[COPIES], len(out)))


@kernel
def eifel_first_copy(rows: Any, copies: int, fact: Any, tsval: Any, sends_dsacks: int) -> int:
    """Eifel (RFC 3522): the number of the copy whose arrival the first acknowledgement answered; -1 unknown.

    Valid only when the bytes were the oldest missing ones, since TS.Recent follows the left window edge
    (RFC 7323 4.3). The echo of a retransmission may answer a duplicate when the first acknowledgement was
    lost; only a receiver that is known to send DSACKs rules that out (RFC 2883 leaves it free to).
    """
    if fact[ACK_OLDEST] == 0 or fact[ACK_TSECR] <= 0:
        return -1
    echoed = np.int64(fact[ACK_TSECR])
    if ((echoed - np.int64(tsval[rows[1]])) & 0xFFFFFFFF) >= 0x80000000:
        return 0
    for i in range(copies - 1, 0, -1):
        if np.int64(tsval[rows[i]]) == echoed:
            if np.int64(tsval[rows[i - 1]]) == echoed or sends_dsacks == 0 or fact[DSACKED_AT] <= fact[ACKED_AT]:
                return -1
            return i
    return -1


@kernel
def acked_too_soon(waited: int, least_rtt: int) -> bool:
    """Whether an acknowledgement `waited` ns after a copy is too early to answer that copy or a later one.

    False when `least_rtt` is NEVER (no round trip was measured), and when the capture's clock was set back.
    """
    return bool(least_rtt != NEVER and 0 <= waited < least_rtt // 2)


@inlined
def is_later(echoed: int, stamp: int) -> bool:
    """Whether a timestamp that was echoed is later than another one; False where either is missing (0)."""
    return bool(echoed > 0 and stamp > 0 and 0 < (echoed - stamp) & 0xFFFFFFFF < 0x80000000)


@kernel
def told_by_receiver(rows: Any, copies: int, copy: int, fact: Any, tsval: Any, sends_dsacks: int) -> Any:
    """What acknowledgements say of a copy, whenever they came: (code of SPURIOUS, rule).

    As many duplicates as resends (RFC 2883), of all or of the last when they came; or the timestamp of the copy that
    arrived first (RFC 3522). Duplicates that this timestamp contradicts were made by the network.
    """
    resends = fact[COPIES] - 1
    if fact[WHOLE_DSACKS] >= fact[RESENDS]:
        return YES, DSACK
    first = eifel_first_copy(rows, copies, fact, tsval, sends_dsacks)
    if first < copy and copy > fact[MAY_BE_NEEDED]:
        return YES, DSACK_SINCE
    if 0 <= first < copy:
        return YES, EIFEL_EARLIER
    if first >= copy and fact[DSACKS] <= resends - first:
        return NO, EIFEL_THIS
    return UNKNOWN, NO_EVIDENCE


@kernel
def infer_from_sender(
    rows: Any,
    copies: int,
    pair: Any,
    event: Any,
    fact: Any,
    time_ns: Any,
    tsval: Any,
    least_rtt: int,
    sends_dsacks: int,
    reordered: int,
) -> Any:
    """From the sender's capture alone: (code of SPURIOUS, rule) for the pair's copy.

    `rows` are the segment rows of the `copies`.
    """
    copy = pair[COPY]
    acked_at, sent = fact[ACKED_AT], time_ns[rows[copy]]
    if pair[ALREADY_ACKED]:
        return YES, ACKED_BEFORE
    told, told_rule = told_by_receiver(rows, copies, copy, fact, tsval, sends_dsacks)
    if told_rule in (DSACK, DSACK_SINCE):
        return told, told_rule
    if acked_at == NEVER:
        return UNKNOWN, NEVER_ACKED
    if acked_too_soon(acked_at - sent, least_rtt):
        return YES, TOO_SOON
    if told != UNKNOWN:
        return told, told_rule
    before = time_ns[rows[copy - 1]]  # the latest of the earlier copies
    later = before < fact[NEWEST_BEFORE] or is_later(fact[ECHO_BEFORE], np.int64(tsval[rows[copy - 1]]))
    if later and fact[DSACKS] == 0:
        return (UNKNOWN, PATH_REORDERS) if reordered else (NO, LATER_DELIVERED)
    acked_send_time = event[R_ACKED_SEND_TIME]
    if event[R_OLDEST] == 1 and acked_send_time > before and fact[DSACKS] == 0:
        last_ack_at = sent - event[R_SINCE_ACK]
        if last_ack_at - acked_send_time >= least_rtt // 10 * 9 and acked_at - sent >= least_rtt // 10 * 9:
            return (UNKNOWN, PATH_REORDERS) if reordered else (NO, STILL_MISSING)
    if event[R_ASKED] == 1 and fact[DSACKS] == 0:
        # Whether it was overtaken by more than this, and came, neither SACK nor a timestamp tells.
        return UNKNOWN, PATH_REORDERS if reordered else PASSED
    return UNKNOWN, ACK_LOSS if fact[ACK_OLDEST] == 1 else NO_EVIDENCE


@kernel
def next_was_missing(k: int, ends: Any, notes: Any, facts: Any, seq: Any, needed: int, before: int) -> bool:
    """Whether the acknowledgement of the retransmission just below row `k` stopped at row `k`.

    That retransmission must be a needed one, by its fact `needed`, sent after `before`: on a path that does not
    reorder, the earlier copies of row `k` were lost then.
    """
    if k == 0 or ends[k - 1] != row_start(k, ends, notes, seq) or notes[k - 1, NOTE] < 0:
        return False
    below, here = facts[notes[k - 1, NOTE]], facts[notes[k, NOTE]]
    return bool(
        below[needed] > before
        and below[ACK_OLDEST] == 1
        and below[DSACKS] == 0
        and here[DSACKS] == 0
        and here[ACKED_AT] > below[ACKED_AT]
    )


@kernel
def next_came_later(k: int, board: Scoreboard, events: Any, segments: SegmentColumns, sent: int, sender: Any) -> bool:
    """Whether what is just above row `k` came later than row `k`, and by a copy that was sent before segment `sent`.

    On a path that keeps the order row `k` had then come by a copy sent before `sent`, too: what F-RTO concludes of a
    timeout (RFC 5682), whatever the sender did after it. An acknowledgement stopped between the two, or a selective one
    covered the first alone. Of the copies of the row above those from a needless one on are left out: it had come
    before them. All copies must have been captured, in the order in which they were sent. Data sent later than the row
    above that came before row `k` shows that the path did not keep the order.
    """
    notes, facts, pairs = board.notes, board.facts, board.pairs
    if k + 1 == sender[ROWS] or notes[k + 1, NOTE] < 0:
        return False
    above_start, above_end = row_start(k + 1, board.ends, notes, segments.seq), board.ends[k + 1]
    unmarked = above_start < sender[UNMARKED_TO] and sender[UNMARKED_FROM] < above_end
    if above_start != board.ends[k] or unmarked:
        return False
    here, above = facts[notes[k, NOTE]], facts[notes[k + 1, NOTE]]
    # A cumulative acknowledgement of what is above, and another than that of row `k`, came after it, by any clock.
    if above[ACKED_AT] == NEVER or above[ACK_TSECR] < 0 or above[ACKED_AT] == here[ACKED_AT]:
        return False
    needless = above[NEEDLESS]
    last = pairs[needless, PREVIOUS] if needless >= 0 else above[LATEST]
    row = events[pairs[last, EVENT], R_ROW] if last >= 0 else notes[k + 1, ORIGINAL]
    return bool(row < sent and here[NEWEST_BEFORE] <= segments.time_ns[row])


@kernel
def answers_either(k: int, ends: Any, notes: Any, facts: Any, seq: Any, before: int) -> bool:
    """Whether the acknowledgement that stopped at row `k` may answer a copy of what is just below it sent by `before`.

    That was sent again, and no copy later than `before` was certainly in need: an earlier one may have been slow, as on
    a link that repairs its losses.
    """
    if k == 0 or ends[k - 1] != row_start(k, ends, notes, seq) or notes[k - 1, NOTE] < 0:
        return False
    return bool(facts[notes[k - 1, NOTE], NEEDED_AT] <= before)


@kernel
def late_ack(rows: Any, copy: int, fact: Any, time_ns: Any, tsval: Any, least_rtt: int, sends_dsacks: int) -> int:
    """Whether an acknowledgement of an earlier copy arrived after this copy was sent: 1, 0, or -1 unknown.

    It separates a timer that expired too early (the acknowledgement was on its way) from a lost
    acknowledgement. A duplicate is acknowledged at once, with the timestamp of an earlier segment (RFC 7323
    4.3): an old echo proves a late acknowledgement only when the receiver sends DSACKs, as it has shown, and did not
    report this copy.
    """
    acked_at, sent = fact[ACKED_AT], time_ns[rows[copy]]
    if acked_at == NEVER or acked_at < sent:
        return -1
    if acked_too_soon(acked_at - sent, least_rtt):
        return 1
    if fact[ACK_OLDEST] == 0 or fact[ACK_TSECR] <= 0:
        return -1
    behind = (np.int64(fact[ACK_TSECR]) - np.int64(tsval[rows[copy]])) & 0xFFFFFFFF
    if behind < 0x80000000:
        return 0
    if sends_dsacks == 0:
        return -1
    return 0 if fact[DSACKED_AT] <= acked_at else 1


@kernel
def judge_pair(
    number: int, event: Any, rows: Any, copies: int, board: Scoreboard, events: Any, segments: SegmentColumns,
    sender: Any,
) -> Any:  # fmt: skip
    """(Code of SPURIOUS, rule) for one scoreboard row that an event retransmitted; `rows` are those of its copies."""
    pair = board.pairs[number]
    copy, k, sends_dsacks, reordered = pair[COPY], pair[BOARD_ROW], sender[SENDS_DSACKS], sender[REORDERED]
    notes, facts, time_ns = board.notes, board.facts, segments.time_ns
    fact = facts[notes[k, NOTE]]
    if copy >= copies:
        return UNKNOWN, NO_EVIDENCE
    if event[R_NEAR]:
        verdict, pair_rule = told_by_receiver(rows, copies, copy, fact, segments.tsval, sends_dsacks)
        if verdict == UNKNOWN:
            return UNKNOWN, UNORDERED
    else:
        verdict, pair_rule = infer_from_sender(
            rows, copies, pair, event, fact, time_ns, segments.tsval, sender[LEAST_RTT], sends_dsacks, reordered
        )
    before = time_ns[rows[copy - 1]]
    if pair_rule == STILL_MISSING and (
        number > event[R_PAIRS]  # only the oldest bytes were asked for
        or answers_either(k, board.ends, notes, facts, segments.seq, before)
    ):
        verdict, pair_rule = UNKNOWN, NO_EVIDENCE
    if verdict == UNKNOWN and not reordered:
        if next_was_missing(k, board.ends, notes, facts, segments.seq, NEEDED_AT, before):
            verdict, pair_rule = NO, NEXT_MISSING
        elif next_was_missing(k, board.ends, notes, facts, segments.seq, PASSED_AT, before):
            pair_rule = PASSED
        elif pair_rule != PASSED and next_came_later(k, board, events, segments, rows[copy], sender):
            verdict, pair_rule = YES, NEXT_CAME_LATER
    if verdict == YES and (fact[NEEDLESS] < 0 or copy < board.pairs[fact[NEEDLESS], COPY]):
        fact[NEEDLESS] = number
    if verdict == NO and copy == 1:
        fact[NEEDED_AT] = time_ns[rows[1]]
    elif pair_rule == PASSED and copy == 1:
        fact[PASSED_AT] = time_ns[rows[1]]
    if verdict == NO and pair[WHOLE] == 0:
        return UNKNOWN, PARTIAL
    return verdict, pair_rule


@kernel
def judge(board: Scoreboard, events: Any, segments: SegmentColumns, sender: Any, rows: Any) -> None:
    """Judge every event of a direction; `rows` is scratch space for the rows of a segment's copies.

    `sender` is the state at the direction's end: whether the receiver ever reported a duplicate, for only then its
    silence says that there was none, whether the path ever reordered, and the least round trip.

    A retransmission is spurious when all of its bytes had arrived before, needed when any had not. Where its order to
    acknowledgements is not known, only what these say counts, not when they came.
    """
    for event in events:
        event[R_NEAR] = segments.near[event[R_ROW]]
        judge_event(event, board, events, segments, sender, rows)
    for at in range(len(events) - 1, -1, -1):  # what is above was sent again later
        if events[at, R_SPURIOUS] == UNKNOWN:
            judge_event(events[at], board, events, segments, sender, rows)


@kernel
def judge_event(
    event: Any, board: Scoreboard, events: Any, segments: SegmentColumns, sender: Any, rows: Any
) -> None:  # fmt: skip
    """Judge one retransmission by the rows that it carried."""
    notes, facts, pairs = board.notes, board.facts, board.pairs
    spurious, rule, undecided = True, NO_EVIDENCE, False
    event[R_LATE_ACK] = -1
    for number in range(event[R_PAIRS], event[R_PAIRS_END]):
        pair = pairs[number]
        copy, fact = pair[COPY], facts[notes[pair[BOARD_ROW], NOTE]]
        copies = copies_of(pair, pairs, events, notes, fact, rows)
        verdict, pair_rule = judge_pair(number, event, rows, copies, board, events, segments, sender)
        if number == event[R_PAIRS] and copy < copies and not event[R_NEAR]:
            # An acknowledgement that stopped before what was sent before this copy answers an earlier one.
            event[R_LATE_ACK] = 1 if pair_rule == NEXT_CAME_LATER else late_ack(
                rows, copy, fact, segments.time_ns, segments.tsval, sender[LEAST_RTT], sender[SENDS_DSACKS]
            )  # fmt: skip
        if number == event[R_PAIRS] or verdict != YES or not undecided:
            rule, event[R_COPIES], event[R_DSACKS] = pair_rule, fact[RESENDS] + 1, fact[WHOLE_DSACKS]
        if verdict == NO:
            spurious, undecided = False, False
            break
        undecided = undecided or verdict == UNKNOWN
    event[R_SPURIOUS] = UNKNOWN if undecided else (YES if spurious else NO)
    event[R_RULE] = rule
    if not event[R_NEAR]:
        heed_receiver(event, segments.received[event[R_ROW]])


@kernel
def heed_receiver(event: Any, received: int) -> None:
    """Let the receiver's capture decide, unless the sender's alone proves the contrary: then neither does."""
    if received < 0:
        return
    verdict = YES if received == 1 else NO
    if event[R_SPURIOUS] not in (verdict, UNKNOWN):
        event[R_SPURIOUS], event[R_RULE] = UNKNOWN, CONTRADICTION
    else:
        event[R_SPURIOUS], event[R_RULE] = verdict, ARRIVED if verdict == YES else LOST
