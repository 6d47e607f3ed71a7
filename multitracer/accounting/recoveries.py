"""What a direction's sender repaired, and what made it: a timer, acknowledgements, or what is not known."""

from __future__ import annotations

from typing import Any

from multitracer.accounting.sending_state import (
    ACK_TRIGGERS,
    ANSWERS_LOST,
    DUPLICATES,
    FAST,
    FAST_TRIGGER,
    HIGH,
    IS_NEEDED,
    IS_NEEDLESS,
    IS_OPEN,
    LEAST_TRIP,
    LIST_OF,
    NEEDED,
    NO,
    NOTHING,
    NOW,
    OPEN,
    OPEN_ALONE,
    OPEN_AT,
    OPEN_END,
    OPEN_FROM,
    OPEN_ROW,
    OUTSTANDING,
    PROBE,
    PROGRESS,
    RECOVERY,
    RECOVERY_BY_PROBE,
    RECOVERY_END,
    RECOVERY_START,
    REPAIR_TRIGGER,
    RESENT_TOP,
    RTO_TRIGGER,
    TIMEOUT,
    TIMEOUTS,
    TIMER_AT,
    TIMER_FROM,
    TIMER_TOP,
    TIMER_TRIGGERS,
    TOP,
    UNA,
    UNKNOWN,
    UNSURE,
    VERDICTS,
    YES,
    Events,
    add_span,
)
from multitracer.compute.kernels import inlined, kernel


@kernel
def on_resend(start: int, end: int, code: int, events: Events, state: Any) -> None:
    """Octets start..end-1 were resent: a recovery begins, unless it was needless or one is in progress."""
    trigger, verdict = code // VERDICTS, code % VERDICTS
    waited_from = max(state[PROGRESS], state[OUTSTANDING])
    if trigger != RTO_TRIGGER or verdict == NO:
        state[OPEN] = NOTHING
    else:
        note_open_timeout(start, end, waited_from, IS_NEEDLESS if verdict == YES else IS_OPEN, state)
    if verdict == YES:
        if trigger == RTO_TRIGGER:
            note_timer(waited_from, state)
        return  # the earlier copy was delivered: there is no doubt which
    if trigger == FAST_TRIGGER:
        end_needless_wait(start, verdict, events, state)
    state[RESENT_TOP] = max(state[RESENT_TOP], end)
    at, now = state[NEEDED], state[NOW]
    events.needed[at, 0], events.needed[at, 1], events.needed[at, 2] = now, start, IS_NEEDED if verdict == NO else 0
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
def note_open_timeout(start: int, end: int, waited_from: int, kind: int, state: Any) -> None:
    """A timer resends start..end-1: the next acknowledgement that advances tells more of it (`settle_timeout`).

    When the timer runs out again meanwhile, it tells of both. What else is resent closes it, in whatever state it is.
    """
    if state[OPEN] != kind or start > state[UNA]:
        nothing_told = state[DUPLICATES] == 0 and state[HIGH] <= end and state[RECOVERY] == -1
        state[OPEN] = kind if start <= state[UNA] else NOTHING
        state[OPEN_FROM], state[OPEN_ALONE], state[OPEN_ROW] = waited_from, 1 if nothing_told else 0, state[NEEDED]
    state[OPEN_END], state[OPEN_AT] = end, state[NOW]


@inlined
def settle_timeout(number: int, reports_copy: bool, events: Events, state: Any) -> None:
    """All below `number` is acknowledged, for the first time since a timeout; `reports_copy`: that was needless.

    An acknowledgement that comes when that of what was resent can, and not before, is likely its answer. If something
    had been reported above the octets, or they were being repaired, they had been missing: that the repair was lost is
    taken for likelier than that only its acknowledgement was. If the answer stops at what was resent, nothing that was
    sent later had come: likelier all of it was lost than all but the first, and the acknowledgement of that. If it is
    of all that was sent, all of that had come without a duplicate: what was lost are the acknowledgements. So are those
    of what the receiver reports to have twice. Of a single segment, with nothing reported, it stays open.
    """
    kind, row, waited = state[OPEN], state[OPEN_ROW], state[NOW] - state[OPEN_AT]
    state[OPEN] = NOTHING
    if state[LEAST_TRIP] == 0 or waited < state[LEAST_TRIP] - state[LEAST_TRIP] // 8:
        return
    stops, ends = number <= state[OPEN_END] < state[TOP], number >= state[TOP] > state[OPEN_END]
    if kind == IS_NEEDLESS and reports_copy:
        events.needed[row, 0], events.needed[row, 1], events.needed[row, 2] = state[OPEN_AT], state[UNA], ANSWERS_LOST
        state[NEEDED] = row + 1
    elif kind == IS_OPEN and (stops or not state[OPEN_ALONE]):
        events.needed[row : state[NEEDED], 2] = IS_NEEDED
        if state[RECOVERY] == UNKNOWN:
            add_span(events, UNSURE, state[RECOVERY_START], state[OPEN_FROM])
            state[RECOVERY], state[RECOVERY_START], state[RECOVERY_BY_PROBE] = TIMEOUT, state[OPEN_FROM], 0
    elif kind == IS_OPEN and ends:
        events.needed[row : state[NEEDED], 2], state[RECOVERY] = ANSWERS_LOST, -1
        state[RECOVERY_BY_PROBE] = state[TIMER_FROM] = 0


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
