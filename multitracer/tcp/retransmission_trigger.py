"""What made a TCP sender retransmit: a timeout, a fast retransmission, a recovery, a tail loss probe, or unknown."""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import inlined, kernel
from multitracer.tcp.scoreboard import (
    ACKED_AT,
    NEVER,
    NOTE,
    ORIGINAL,
    R_ACKED_SEND_TIME,
    R_DUPACKS,
    R_ELAPSED,
    R_OLDEST,
    R_ROW,
    R_RTO,
    R_SACKED_ABOVE,
    R_SINCE_ACK,
    R_TRIGGER,
    RETRANSMITTED_AT,
    Scoreboard,
    SegmentColumns,
    first_above,
)  # fmt: skip
from multitracer.tcp.sender_state import (
    ACKED_SEND_TIME,
    ANEW_END,
    ANEW_TOP,
    BACKOFF,
    BY_TIMER,
    DOUBTFUL_END,
    DOUBTFUL_WAIT,
    DUPACKS,
    EARLIER_DUPACKS,
    EVENTS,
    FIRST_PARTIAL,
    FIRST_UNACKED,
    HIGH_SACK,
    LAST_DSACK,
    LAST_DUPACK,
    LAST_PROGRESS,
    LAST_RESENT,
    LAST_SENT,
    LATEST_RESEND,
    LEAST_RTT,
    LOSS_TOLD,
    MIN_RTO_NS,
    NEWEST_ARRIVED,
    PROBE_END,
    PROBE_SENT,
    RECOVERED,
    RECOVERY_END,
    RECOVERY_RESENT,
    RECOVERY_STAMP,
    ROWS,
    RTO,
    SACK_CAPABLE,
    SECOND,
    SENDS_DSACKS,
    SRTT,
    TIMER_START,
    TOP,
    UNA,
    UNDONE_AT,
    UNDONE_END,
    UNDONE_OCTETS,
    WITHOUT_SACK,
)  # fmt: skip

# Codes of schema.TRIGGERS, in its order.
TIMEOUT, FAST, RECOVERY, PROBE, UNKNOWN = range(5)
UNHEARD, DOUBLED, ANEW, DOUBTFUL, OVERDUE, RECOVERED_AND_DUE = 5, 6, 7, 8, 9, 10
"""Unknown too, because the other end's acknowledgements were not captured; a timeout that shows without them; the first
resend after a needless timeout was undone, which begins a recovery by acknowledgements; a fast retransmission,
unless it is part of the recovery of a timeout that does not show; a timeout, unless an acknowledgement set it off
in a sender that resends then what is as old as its timeout; and a fast retransmission, unless it is a timeout."""
DOUBLED_WITHIN = 8
"""A wait is twice another one if half of it is within an eighth of that: timers run out on ticks, and late."""
CLOSELY_DOUBLED_WITHIN = 64
"""The same where nothing else tells that the first was a timer's."""
DUPACK_THRESHOLD = 3
"""Duplicate acknowledgements that begin a fast retransmit (RFC 5681 3.2)."""
AT_ONCE_NS = 3_000_000
"""What is sent within this time of an acknowledgement was set off by it."""
RESPONSE_NS = 200_000
"""A host sends this long after an acknowledgement what it sets off: hardly ever does a timer run out within it."""
MOST_BACKOFF = 10
"""Doublings of the timer that are counted."""
LEAST_MOST_RTO_NS = 60_000_000_000
"""The longest timeout is this or more (RFC 6298 2.5)."""
LEAST_PROBE_NS = 2_000_000
"""A probe waits two ticks at least, of 1 ms where ticks are shortest (Linux TCP_TIMEOUT_MIN)."""
FIRST_PROBES_NS = 1_328_054_400_000_000_000
"""February 2012, when tail loss probes were first described (draft-dukkipati-tcpm-tcp-loss-probe-00)."""


@kernel
def classify_trigger(sender: Any, start: int, end: int, quiet: int, elapsed: int, since_sent: int, now: int) -> int:
    """Why a sender retransmitted start..end-1 at `now`: a code of TRIGGERS.

    `quiet`: ns since an acknowledgement last told something new; `elapsed`: ns since the timer was last restarted;
    `since_sent`: since octet `start` was last sent. RFC 8985 7 (probe), 6298 5 (timeout), 6675 5 (fast).
    """
    una = sender[UNA]
    oldest = start <= una
    signalled = sender[DUPACKS] > 0 or sender[HIGH_SACK] > end
    # The timer is doubled at each timeout (RFC 6298 5.5).
    least = min(least_rto(sender) << min(sender[BACKOFF], MOST_BACKOFF), LEAST_MOST_RTO_NS)
    ran_out = oldest and quiet >= least and elapsed >= least
    third = oldest and is_third(sender) and now - sender[LAST_DUPACK] <= AT_ONCE_NS
    # What RFC 6298 5.3 restarts the timer for are octets acknowledged in order, not SACK blocks.
    alone = oldest and is_alone(sender, now)
    if una < sender[RECOVERY_END]:
        timed = elapsed >= least or is_unprovoked(sender, quiet, since_sent, least, now)
        between = may_be_between_acknowledgements(sender, quiet, since_sent, elapsed, now)
        ran_out = ran_out or (alone and ((timed and not between) or is_impatient(sender, since_sent, least, now)))
        # Reno leaves a recovery with its first partial acknowledgement, and can begin another within it. With SACK one
        # begins after a timeout, by three duplicates since then.
        anew = sender[DUPACKS] == sender[EARLIER_DUPACKS] + DUPACK_THRESHOLD and is_unheard_of(sender, since_sent, now)
        anew = sender[SACK_CAPABLE] == 0 or (sender[BACKOFF] > 0 and anew)
        return FAST if third and anew else TIMEOUT if ran_out else RECOVERY
    if signalled and (third or quiet < (sender[SRTT] + MIN_RTO_NS) // 10 * 9):
        by_timer = alone and elapsed >= least and not may_be_reordering_timer(sender, quiet, since_sent)
        return TIMEOUT if by_timer and not may_wait_for_newest(sender, quiet, elapsed, now) else FAST
    if end >= sender[TOP] and may_probe(sender, now) and elapsed >= LEAST_PROBE_NS:
        # Without a round trip neither PTO nor RTO is known; before the least RTO it cannot be the timer.
        return PROBE if sender[SRTT] > 0 or elapsed < least else UNKNOWN
    if ran_out:
        # Linux until RFC 8985, with FACK, takes the oldest data for lost when an acknowledgement comes and it was sent
        # longer ago than the timeout, which the timer itself has not reached (tcp_head_timedout).
        return OVERDUE if 0 <= now - sender[LAST_DSACK] <= RESPONSE_NS else TIMEOUT
    if signalled:
        return FAST
    # A sender that does not notice that its recovery is needless goes on with it, acknowledgement by acknowledgement,
    # or at its own pace: neither the oldest data nor the last, it is sent by no timer.
    by_no_timer = quiet <= AT_ONCE_NS or (not oldest and end < sender[TOP])
    if start >= sender[UNDONE_END] or not by_no_timer:
        return UNKNOWN
    just_undone = sender[UNDONE_AT] > 0 and now - sender[UNDONE_AT] <= AT_ONCE_NS
    # A capture before segmentation has two segments of slow start as one, longer than what the timer resent.
    single = end >= sender[TOP] or end - start <= sender[UNDONE_OCTETS]
    return ANEW if oldest and just_undone and single else RECOVERY


@inlined
def is_alone(sender: Any, now: int) -> bool:
    """Whether no acknowledgement set off what is sent now."""
    return bool(now - max(sender[LAST_PROGRESS], sender[LAST_DUPACK]) > AT_ONCE_NS)


@inlined
def is_third(sender: Any) -> bool:
    """Whether the latest duplicate is the third: of all, or since the timer ran out, when 4.4BSD counts anew."""
    return bool(sender[DUPACKS] in (DUPACK_THRESHOLD, sender[EARLIER_DUPACKS] + DUPACK_THRESHOLD))


@inlined
def is_unprovoked(sender: Any, quiet: int, since_sent: int, least: int, now: int) -> bool:
    """Whether the timer has run out, and no acknowledgement can have told a recovery that its last copy was lost too.

    A resend need not restart the timer, which runs already (RFC 6298 5.1).
    """
    if now - sender[TIMER_START] < least:
        return False
    unheard_of = is_unheard_of(sender, since_sent, now)
    return bool(unheard_of or not may_be_reordering_timer(sender, quiet, since_sent))


@inlined
def is_impatient(sender: Any, since_sent: int, least: int, now: int) -> bool:
    """Whether the timer of a NewReno sender has run out that only the first partial acknowledgement restarted.

    That is its impatient variant (RFC 6582 4). Each partial acknowledgement lets it send one segment again, and without
    SACK nothing else tells of one that it is lost: a second copy since the latest is the timer's.
    """
    again = sender[SACK_CAPABLE] == 0 and now - since_sent >= sender[LAST_PROGRESS]
    return bool(again and sender[FIRST_PARTIAL] > 0 and now - sender[FIRST_PARTIAL] >= least)


@inlined
def is_unheard_of(sender: Any, since_sent: int, now: int) -> bool:
    """Whether no acknowledgement can have told whether the last copy was lost: a recovery has no reason for another.

    A recovery sends nothing twice (RFC 6675 4, HighRxt) unless octets sent after that copy are acknowledged (RFC 8985
    6.2), first copies or other resends. Who starts it anew after a timeout forgets what the timer has sent again.
    """
    unanswered = sender[NEWEST_ARRIVED] < now - since_sent and sender[RECOVERY_RESENT] <= 1
    unanswerable = since_sent < sender[LEAST_RTT] < NEVER
    return bool(unanswered or unanswerable)


@inlined
def may_be_reordering_timer(sender: Any, quiet: int, since_sent: int) -> bool:
    """Whether a resend may be one that waited after a SACK, as what it resends might only have been overtaken.

    It waits for a quarter of a round trip, or for a whole one where DSACKs came, from a round trip after the octets
    were sent (RFC 8985 6.2); without SACK there is no such timer (RFC 8985 4).
    """
    window = reordering_window(sender)
    return bool(sender[WITHOUT_SACK] == 0 and quiet <= window and since_sent <= sender[RTO] + window)


@inlined
def may_be_between_acknowledgements(sender: Any, quiet: int, since_sent: int, elapsed: int, now: int) -> bool:
    """Whether a recovery, and not the timer, may have sent this some time after an acknowledgement.

    At its own pace, after what that acknowledgement set off: two segments of a round trip are less than that apart. Or
    when a reordering timer ran out. When the modelled timeout is nearly over, it may be the timer just as well.
    """
    last = max(sender[LAST_SENT], sender[LAST_RESENT])
    paced = last >= sender[LAST_PROGRESS] and now - last <= sender[SRTT]
    running = elapsed < (sender[RTO] - sender[RTO] // DOUBLED_WITHIN) << min(sender[BACKOFF], MOST_BACKOFF)
    explained = paced or may_be_reordering_timer(sender, quiet, since_sent)
    if is_unheard_of(sender, since_sent, now) or is_passed_by(sender):
        return False
    # With SACK a recovery knows what has come: before anything sent after the last copy has, it sends no other.
    untold = sender[SACK_CAPABLE] and max(sender[NEWEST_ARRIVED], sender[LATEST_RESEND]) < now - since_sent
    return bool(running and explained and not untold)


@inlined
def note_arrived_resend(sender: Any, fact: Any) -> None:
    """Data that was sent again is acknowledged: if for the first time, the last copy may have arrived."""
    if fact[ACKED_AT] == NEVER:
        sender[LATEST_RESEND] = max(sender[LATEST_RESEND], fact[RETRANSMITTED_AT])


@inlined
def is_passed_by(sender: Any) -> bool:
    """Whether the recovery sent other data after it was told that the last copy of the oldest data was lost.

    What is lost goes first, the lowest before all else (RFC 6675 4, NextSeg): this recovery repairs no lost resend, as
    without RFC 8985 none does, and leaves it to the timer (RFC 6675 5.1).
    """
    last = max(sender[LAST_SENT], sender[LAST_RESENT])
    return bool(0 < sender[LOSS_TOLD] < last - AT_ONCE_NS)


@inlined
def note_loss_told(sender: Any, board: Scoreboard, now: int) -> None:
    """An acknowledgement came: has it told that the last copy of the oldest data, a resend, was lost too?

    It has when data sent a round trip later than that copy has come, the longest reordering window (RFC 8985 6.2.4).
    """
    if sender[LOSS_TOLD] > 0 or sender[RECOVERY_END] <= sender[UNA] or sender[FIRST_UNACKED] >= sender[ROWS]:
        return
    note = board.notes[sender[FIRST_UNACKED], NOTE]
    if note >= 0 and sender[NEWEST_ARRIVED] - board.facts[note, RETRANSMITTED_AT] > sender[SRTT]:
        sender[LOSS_TOLD] = now


@inlined
def may_wait_for_newest(sender: Any, quiet: int, elapsed: int, now: int) -> bool:
    """Whether a resend may be one for which a reordering timer waited until the newest data would be lost, too.

    Linux lets it run for the longest wait of all that was sent before what arrived (tcp_rack_detect_loss): the round
    trip of what was acknowledged last, and the window. It runs out late, by an eighth at most. Before a smoothed round
    trip has passed it cannot be the retransmission timer (RFC 6298 2.3).
    """
    trip = sender[LAST_PROGRESS] - sender[ACKED_SEND_TIME]
    latest = sender[LAST_SENT] + trip + reordering_window(sender) + quiet // 8
    capable = sender[WITHOUT_SACK] == 0 and sender[ACKED_SEND_TIME] >= 0
    return bool(capable and elapsed < sender[SRTT] and now <= latest)


@inlined
def reordering_window(sender: Any) -> int:
    """For how long a segment may be overtaken before it is taken for lost (RFC 8985 6.2)."""
    return int(sender[SRTT] if sender[SENDS_DSACKS] else sender[LEAST_RTT] // 4)


@inlined
def least_rto(sender: Any) -> int:
    """The shortest timeout that is a timer's: as Linux has it, or with the least RTO of RFC 6298 2.4.

    Linux adds at least its least RTO to a round trip. RFC 6298 adds the clock's granularity, to a mean of fewer round
    trips than are measured here: one in each of them.
    """
    return min((sender[SRTT] + MIN_RTO_NS) // 10 * 9, max(sender[LEAST_RTT], SECOND // 10 * 9))


@inlined
def is_recovered_and_due(sender: Any, start: int, elapsed: int) -> bool:
    """Whether the timer may have run out, and duplicates ask for what follows a recovery without SACK.

    NewReno begins no fast retransmit then: they may answer what it sent again needlessly (RFC 6582 3.2 step 2, 4.1).
    Reno begins one, and so does a sender that undid the recovery because it was needless.
    """
    recovered = sender[UNA] in (sender[RECOVERED], sender[UNDONE_END]) and sender[SACK_CAPABLE] == 0
    return bool(recovered and start == sender[UNA] and elapsed >= least_rto(sender))


@inlined
def may_probe(sender: Any, now: int) -> bool:
    """Whether the next retransmission by a timer is a tail loss probe, if it is of the last segment.

    Senders without SACK, or of a time when none had it yet, send none; no second one until UNA advances, and none
    while an earlier one is open (RFC 8985 7.3, 7.4).
    """
    capable = sender[SACK_CAPABLE] != 0 and now >= FIRST_PROBES_NS
    return capable and sender[PROBE_SENT] == 0 and sender[PROBE_END] < 0 and sender[BACKOFF] == 0


@kernel
def note_trigger(sender: Any, event: Any, start: int, end: int, sent_before: int, stamp: int, now: int) -> None:
    """Enter the trigger of retransmitting start..end-1 into `event`; update the timer, the probe and the recovery."""
    una, began = sender[UNA], max(sender[TIMER_START], sent_before)
    quiet, elapsed = now - max(sender[LAST_PROGRESS], sender[TIMER_START]), now - began
    trigger = classify_trigger(sender, start, end, quiet, elapsed, now - sent_before, now)
    if trigger == TIMEOUT and elapsed < least_rto(sender):
        elapsed = now - sender[TIMER_START]  # the resend before did not restart the timer
        if elapsed < least_rto(sender) and sender[FIRST_PARTIAL] > 0:
            elapsed = max(elapsed, now - sender[FIRST_PARTIAL])  # nor did the latest acknowledgement
    note_doubt(sender, trigger, start, now)
    doubtful = trigger == FAST and start < sender[DOUBTFUL_END] and sender[RECOVERY_END] <= una
    event[R_TRIGGER] = DOUBTFUL if doubtful else trigger
    if trigger == FAST and is_recovered_and_due(sender, start, elapsed):
        event[R_TRIGGER] = RECOVERED_AND_DUE
    event[R_SINCE_ACK], event[R_ELAPSED] = now - sender[LAST_PROGRESS], elapsed
    event[R_DUPACKS], event[R_SACKED_ABOVE] = sender[DUPACKS], max(0, sender[HIGH_SACK] - end)
    event[R_RTO] = sender[RTO] << min(sender[BACKOFF], MOST_BACKOFF)
    event[R_OLDEST] = 1 if start <= sender[UNA] else 0
    event[R_ACKED_SEND_TIME] = sender[ACKED_SEND_TIME]
    if trigger == PROBE:
        sender[PROBE_SENT], sender[PROBE_END] = 1, sender[TOP]
    elif trigger == UNKNOWN and end >= sender[TOP] and sender[SRTT] == 0:
        sender[PROBE_SENT] = 1  # it may have been one: there is no second
    elif trigger in (TIMEOUT, ANEW, OVERDUE) or (trigger == FAST and sender[RECOVERY_END] <= una):
        by_timer = trigger == TIMEOUT and max(sender[RECOVERY_END], sender[UNDONE_END]) <= una
        sender[BY_TIMER] = end - start if by_timer else 0
        begin_recovery(sender, stamp)
        sender[FIRST_PARTIAL] = NEVER if trigger == TIMEOUT else 0
    if trigger == ANEW:
        sender[ANEW_TOP], sender[ANEW_END] = sender[TOP], end
    if trigger == TIMEOUT:
        sender[BACKOFF] += 1
        sender[EARLIER_DUPACKS] = sender[DUPACKS]
    if trigger in (PROBE, TIMEOUT) or (trigger == UNKNOWN and sender[PROBE_SENT]):
        sender[TIMER_START] = now
    if sender[RECOVERY_END] > sender[UNA]:
        sender[RECOVERY_RESENT] += 1
    if start <= una:
        sender[LOSS_TOLD] = 0
    sender[LAST_RESENT] = now


@inlined
def note_doubt(sender: Any, trigger: int, start: int, now: int) -> None:
    """Note whether a resend within a recovery, of the oldest data and set off by no acknowledgement, may be a timer's.

    A resend that restarts the timer in one sender does not in another (RFC 6298 5.1).
    """
    waited = now - sender[TIMER_START]
    within = trigger == RECOVERY and start <= sender[UNA] and is_alone(sender, now)
    if within and waited >= least_rto(sender) << min(sender[BACKOFF], MOST_BACKOFF):
        sender[DOUBTFUL_END], sender[DOUBTFUL_WAIT] = sender[TOP], waited
    else:
        sender[DOUBTFUL_WAIT] = 0


@inlined
def tell_doubtful_timeout(sender: Any, first: Any, second: Any, segments: SegmentColumns, waited: int) -> None:
    """Was the resend a timer's that may have been, when it had run for `waited` ns, if the `second` is a timeout?

    It was if nothing else was sent meanwhile and the wait doubled (RFC 6298 5.5), from when the timer was restarted by
    an acknowledgement, or by the copy before, which restarts it in some senders.
    """
    at = segments.time_ns[first[R_ROW]]
    same = segments.seq[first[R_ROW]] == segments.seq[second[R_ROW]] and sender[LAST_SENT] <= at
    since_copy = first[R_ELAPSED]
    if abs(second[R_ELAPSED] // 2 - since_copy) < abs(second[R_ELAPSED] // 2 - waited):
        waited = since_copy
    away = abs(second[R_ELAPSED] // 2 - waited)
    if second[R_TRIGGER] == TIMEOUT and same and away <= waited // CLOSELY_DOUBLED_WITHIN:
        first[R_TRIGGER], first[R_ELAPSED] = TIMEOUT, waited
        second[R_RTO] *= 2
        sender[BACKOFF] += 1


@inlined
def repeats_unanswered(sender: Any, events: Any, segments: SegmentColumns, start: int) -> bool:
    """Whether the retransmission before was of data from `start` too, and no acknowledgement told anything since."""
    last = sender[EVENTS] - 1
    if last < 0:
        return False
    before = events[last, R_ROW]
    return bool(segments.seq[before] == start and sender[LAST_PROGRESS] <= segments.time_ns[before])


@inlined
def tell_first_timeout(first: Any, second: Any) -> None:
    """Two resends of the same data, of which the second was a timeout: was the first, of which that is not known?

    It was if the wait doubled (RFC 6298 5.5). After a probe the timer runs from the probe, and is not doubled (RFC
    8985 7.3).
    """
    if first[R_TRIGGER] == UNKNOWN and second[R_TRIGGER] == TIMEOUT:
        wait = first[R_ELAPSED]
        if wait - wait // DOUBLED_WITHIN <= second[R_ELAPSED] // 2 <= wait + wait // DOUBLED_WITHIN:
            first[R_TRIGGER] = TIMEOUT


@kernel
def decide_anew(sender: Any, board: Scoreboard, event: Any, segments: SegmentColumns, now: int) -> None:
    """Decide of `event`, the resend before one at `now`, whether it began a recovery after a timeout was undone.

    A sender that does not undo it is in slow start: the first acknowledgement after the timer lets two segments leave
    (RFC 5681 3.1). One that does finds the oldest data late, or what was sent after it delivered, and begins with a
    single one (Linux tcp_try_undo_loss, tcp_time_to_recover). With nothing else to be sent again both send one.
    """
    top, sender[ANEW_TOP] = sender[ANEW_TOP], 0
    at = segments.time_ns[event[R_ROW]]
    k = first_above(board.ends, sender[ROWS], top, sender[ROWS])
    beside = now - at <= AT_ONCE_NS
    beside = beside or (k < sender[ROWS] and segments.time_ns[board.notes[k, ORIGINAL]] - at <= AT_ONCE_NS)
    if not beside and sender[ANEW_END] < top:
        return
    event[R_TRIGGER] = RECOVERY if beside else UNKNOWN
    sender[RECOVERY_END] = sender[RECOVERY_STAMP] = -1


@inlined
def begin_recovery(sender: Any, stamp: int) -> None:
    """A recovery of all that is outstanding begins with a retransmission that carries the timestamp `stamp`."""
    sender[RECOVERY_END], sender[PROBE_END] = sender[TOP], -1
    sender[RECOVERY_STAMP], sender[RECOVERY_RESENT] = stamp, 0


@inlined
def undo_recovery(sender: Any, now: int) -> None:
    """The recovery turned out to be needless, and is given up: what is retransmitted next begins another."""
    sender[UNDONE_END], sender[UNDONE_OCTETS] = sender[RECOVERY_END], sender[BY_TIMER]
    sender[UNDONE_AT] = now if sender[BY_TIMER] > 0 else 0
    sender[RECOVERY_END] = sender[RECOVERY_STAMP] = -1
    sender[DUPACKS] = sender[EARLIER_DUPACKS] = 0


@inlined
def note_probe_answer(sender: Any, number: int, closes: bool) -> None:
    """An acknowledgement of all below `number` closes the probe if it answers more than what was sent then.

    One that answers just that does so only if it `closes`: with a DSACK, or as one that says nothing else (Linux
    tcp_process_tlp_ack).
    """
    if 0 <= sender[PROBE_END] < number or (closes and sender[PROBE_END] == number):
        sender[PROBE_END] = -1
