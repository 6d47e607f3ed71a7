"""SDUs given up by the sender of RLC acknowledged mode, and the MRW that tells of it (3GPP TS 25.322 11.3.3, 11.6)."""

from __future__ import annotations

from multitracer.compute.kernels import kernel
from multitracer.replay.arq.rlc.am_entity import (
    CUT,
    DISCARD,
    DISCARD_BY_TIMER,
    DISCARD_TO,
    DISCARDED,
    FLOOR,
    MAX_MRW,
    MRW_BEYOND,
    MRW_DUE,
    MRW_N,
    MRW_NS,
    MRW_SN,
    MRW_TO,
    MRWS,
    NACK,
    NACKED,
    NEVER,
    RESETTING,
    SN_MASK,
    T_MRW,
    VT_A,
    VT_MRW,
    VT_S,
    VT_WS,
    Entity,
    start,
)
from multitracer.replay.arq.rlc.am_reset import begin_reset
from multitracer.replay.arq.rlc.segmentation import (
    DUE,
    END_N,
    END_SN,
    ENDING,
    EXACT,
    GIVEN_UP,
    HEAD,
    NEXT,
    SHORT,
    TAIL,
    TAKEN,
    drop_waiting,
)


@kernel
def forget_nack(e: Entity, sn: int) -> bool:
    """The PDU need not be sent again; whether it had to be."""
    slot = sn & SN_MASK
    if not e.slot[slot, NACK]:
        return False
    e.slot[slot, NACK] = 0
    e.v[NACKED] -= 1
    return True


@kernel
def discard_before(e: Entity, number: int) -> None:
    """Give up all SDUs before `number`: those of which something was sent by an MRW, the others in silence."""
    v, q = e.v, e.queue
    number = min(number, q.v[TAIL])
    if number <= max(v[DISCARD_TO], q.v[HEAD]):
        return
    e.counts[DISCARDED] += number - max(v[DISCARD_TO], q.v[HEAD])
    signalled = q.v[NEXT] + (1 if q.v[TAKEN] else 0)
    if number >= signalled and (q.v[TAKEN] or q.v[ENDING] in (EXACT, SHORT)):
        _cut_short(e)
    drop_waiting(q, number)
    v[DISCARD_TO] = number
    last = min(number, signalled) - 1
    if last < q.v[HEAD]:
        q.v[HEAD] = number
        return
    for k in range(signalled, number):  # never sent: their end is where that of the last one sent is
        _end_as(e, k, last)
    v[FLOOR] = max(v[FLOOR], q.sdu[last % len(q.sdu), END_SN])
    for sn in range(v[VT_A], v[FLOOR]):
        forget_nack(e, sn)
    if not v[MRW_TO]:
        begin_mrw(e)


@kernel
def _end_as(e: Entity, number: int, other: int) -> None:
    size = len(e.queue.sdu)
    e.queue.sdu[number % size, END_SN] = e.queue.sdu[other % size, END_SN]
    e.queue.sdu[number % size, END_N] = e.queue.sdu[other % size, END_N]


@kernel
def _cut_short(e: Entity) -> None:
    """The SDU begun, or one whose end is still to be told, ends with the first indicator of the next new PDU.

    That PDU must wait until the receiver has dropped the beginning, which it would hand over there. N_LENGTH = 0
    would do too, but an MRW_ACK of the MRW before, come late, can have the same SN_ACK and 0.
    """
    q = e.queue
    at = (q.v[NEXT] if q.v[TAKEN] else q.v[NEXT] - 1) % len(q.sdu)
    q.sdu[at, END_SN], q.sdu[at, END_N] = e.v[VT_S], 1
    q.v[ENDING] = GIVEN_UP
    e.v[CUT] = 1


@kernel
def begin_mrw(e: Entity) -> None:
    """Tell the receiver to move its window over everything given up so far.

    The last of it extends beyond the window if it was cut short where the window ends (LENGTH = 0, 9.2.2.11.8).
    """
    v, q = e.v, e.queue
    v[MRW_TO] = v[DISCARD_TO]
    at = (v[MRW_TO] - 1) % len(q.sdu)
    v[MRW_SN], v[MRW_N] = q.sdu[at, END_SN], q.sdu[at, END_N]
    v[MRW_BEYOND] = 1 if v[CUT] and v[VT_S] >= v[VT_A] + v[VT_WS] else 0
    v[VT_MRW], v[MRW_DUE] = 0, 1


@kernel
def mrw_sent(e: Entity, now: int) -> None:
    """An MRW goes out."""
    e.v[VT_MRW] += 1
    e.counts[MRWS] += 1
    start(e, T_MRW, now, e.p[MRW_NS])


@kernel
def mrw_expired(e: Entity) -> None:
    """Timer_MRW: send the same again, MaxMRW times at most, then reset."""
    if e.v[VT_MRW] >= e.p[MAX_MRW]:
        begin_reset(e)
    else:
        e.v[MRW_DUE] = 1


@kernel
def end_mrw(e: Entity) -> None:
    """The MRW procedure is over."""
    v = e.v
    e.queue.v[HEAD] = max(e.queue.v[HEAD], v[MRW_TO])
    v[MRW_TO] = v[MRW_DUE] = 0
    e.timer[T_MRW] = NEVER
    if v[DISCARD_TO] > e.queue.v[HEAD]:
        begin_mrw(e)
    else:
        v[CUT] = 0


@kernel
def discard_due(e: Entity) -> int:
    """When Timer_Discard of the oldest SDU that is not given up expires."""
    q = e.queue.v
    oldest = max(q[HEAD], e.v[DISCARD_TO])
    if e.p[DISCARD] != DISCARD_BY_TIMER or oldest >= q[TAIL] or e.v[RESETTING]:
        return NEVER
    return e.queue.sdu[oldest % len(e.queue.sdu), DUE]


@kernel
def discard_expired(e: Entity, now: int) -> None:
    """Timer_Discard: give up every SDU whose time has come."""
    number = max(e.queue.v[HEAD], e.v[DISCARD_TO])
    while number < e.queue.v[TAIL] and e.queue.sdu[number % len(e.queue.sdu), DUE] <= now:
        number += 1
    discard_before(e, number)
