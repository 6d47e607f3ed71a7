"""What made a TCP sender retransmit: a timeout, a fast retransmission, a recovery, a tail loss probe, or unknown."""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import kernel
from multitracer.tcp.scoreboard import (
    R_ACKED_SEND_TIME,
    R_DUPACKS,
    R_ELAPSED,
    R_OLDEST,
    R_RTO,
    R_SACKED_ABOVE,
    R_SINCE_ACK,
    R_TRIGGER,
)  # fmt: skip
from multitracer.tcp.sender_state import (
    ACKED_SEND_TIME,
    DUPACKS,
    HIGH_SACK,
    LAST_ACK,
    MIN_RTO_NS,
    PROBE_SENT,
    RECOVERY_END,
    RTO,
    SRTT,
    TIMER_START,
    TOP,
    UNA,
)  # fmt: skip

# Codes of schema.TRIGGERS, in its order.
TIMEOUT, FAST, RECOVERY, PROBE, UNKNOWN = range(5)


@kernel
def classify_trigger(
    sender: Any, start: int, end: int, again: bool, since_ack: int, elapsed: int, sacked_above: int
) -> int:
    """Why a sender retransmitted start..end-1: a code of TRIGGERS.

    `again`: these bytes were retransmitted before; `since_ack` and `elapsed`: ns since the last
    acknowledgement and since the timer was last restarted; `sacked_above`: bytes above them selectively
    acknowledged. RFC 8985 7 (probe), 6298 5 (timeout), 6675 5 (fast).
    """
    una = sender[UNA]
    waited = since_ack >= max(MIN_RTO_NS, sender[SRTT] + MIN_RTO_NS) // 10 * 9
    signalled = sender[DUPACKS] > 0 or sacked_above > 0
    if una < sender[RECOVERY_END]:
        if start <= una and again and waited:
            return TIMEOUT
        return RECOVERY
    if signalled and not waited:
        return FAST
    # A tail loss probe retransmits the last segment, once. If that is also the oldest, it is a probe only when
    # it was sent before the RTO (RFC 8985 7.2: 2 SRTT, and 200 ms more for a delayed ACK).
    last = end >= sender[TOP] and sender[PROBE_SENT] == 0 and elapsed >= MIN_RTO_NS // 20
    if last and (start > una or elapsed < sender[RTO] // 10 * 9):
        return PROBE
    if start <= una and waited:
        return TIMEOUT
    if signalled:
        return FAST
    return UNKNOWN


@kernel
def note_trigger(sender: Any, event: Any, start: int, end: int, again: bool, sent_before: int, now: int) -> None:
    """Enter the trigger of retransmitting start..end-1 into `event`; update the timer and the recovery."""
    since_ack = now - sender[LAST_ACK]
    elapsed = now - max(sender[TIMER_START], sent_before)
    sacked_above = max(0, sender[HIGH_SACK] - end)
    trigger = classify_trigger(sender, start, end, again, since_ack, elapsed, sacked_above)
    event[R_TRIGGER], event[R_SINCE_ACK], event[R_ELAPSED] = trigger, since_ack, elapsed
    event[R_DUPACKS], event[R_SACKED_ABOVE], event[R_RTO] = sender[DUPACKS], sacked_above, sender[RTO]
    event[R_OLDEST] = 1 if start <= sender[UNA] else 0
    event[R_ACKED_SEND_TIME] = sender[ACKED_SEND_TIME]
    if trigger in (FAST, TIMEOUT) and sender[RECOVERY_END] <= sender[UNA]:
        sender[RECOVERY_END] = sender[TOP]
    if trigger == PROBE:
        sender[PROBE_SENT] = 1
    if trigger in (PROBE, TIMEOUT):
        sender[TIMER_START] = now
