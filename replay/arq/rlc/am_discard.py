"""SDUs given up by the sender of RLC acknowledged mode, and the MRW that tells of it (3GPP TS 25.322 11.3.3, 11.6)."""

from __future__ import annotations

from multitracer.compute.kernels import kernel
from multitracer.replay.arq.fields import NEVER
from multitracer.replay.arq.rlc.am_entity import DISCARD_BY_TIMER, SN_MASK, Entity, after
from multitracer.replay.arq.rlc.am_reset import begin_reset
from multitracer.replay.arq.rlc.queue import EXACT, GIVEN_UP, SHORT, drop_waiting, report_lost


@kernel
def forget_nack(e: Entity, sn: int) -> bool:
    """The PDU need not be sent again; whether it had to be."""
    slot = sn & SN_MASK
    if not e.store.slot[slot].nack:
        return False
    e.store.slot[slot].nack = 0
    e.v.nacked -= 1
    return True


@kernel
def is_given_up(e: Entity, sn: int) -> bool:
    """Whether the PDU is sent no more, and its SDUs wait to be discarded: MaxDAT was reached, and they go alone."""
    return e.p.discard_alone > 0 and e.store.slot[sn & SN_MASK].vt_dat >= e.p.max_dat


@kernel
def give_up_alone(e: Entity, sn: int) -> None:
    """The PDU was sent as often as it may: it is sent no more."""
    forget_nack(e, sn)
    e.store.slot[sn & SN_MASK].vt_dat = e.p.max_dat


@kernel
def end_of_given_up(e: Entity) -> int:
    """The number of the SDU after those of PDUs given up before which nothing is unacknowledged; 0: there are none."""
    v, sn = e.v, e.v.vt_a
    while sn < v.vt_s and is_given_up(e, sn):
        sn += 1
    return e.store.slot[(sn - 1) & SN_MASK].last_sdu + 1 if sn > v.vt_a else 0


@kernel
def discard_before(e: Entity, number: int) -> None:
    """Give up all SDUs before `number`: those of which something was sent by an MRW, the others in silence."""
    v, q = e.v, e.queue
    number = min(number, q.v.tail)
    if number <= max(v.discard_to, q.v.head):
        return
    e.counts.discarded += number - max(v.discard_to, q.v.head)
    report_lost(q, e.above, max(v.discard_to, q.v.head), number)
    signalled = q.v.next + (1 if q.v.taken else 0)
    if number >= signalled and (q.v.taken or (q.v.ending == EXACT or q.v.ending == SHORT)):
        _cut_short(e)
    drop_waiting(q, number)
    v.discard_to = number
    last = min(number, signalled) - 1
    if last < q.v.head:
        q.v.head = number
        return
    for k in range(signalled, number):  # never sent: their end is where that of the last one sent is
        _end_as(e, k, last)
    v.floor = max(v.floor, q.v.sdu[last & q.v.mask].end_sn)
    for sn in range(v.vt_a, v.floor):
        forget_nack(e, sn)
    if not v.mrw_to:
        begin_mrw(e)


@kernel
def _end_as(e: Entity, number: int, other: int) -> None:
    sdu, as_sdu = e.queue.v.sdu[number & e.queue.v.mask], e.queue.v.sdu[other & e.queue.v.mask]
    sdu.end_sn, sdu.end_n = as_sdu.end_sn, as_sdu.end_n


@kernel
def _cut_short(e: Entity) -> None:
    """The SDU begun, or one whose end is still to be told, ends with the first indicator of the next new PDU.

    That PDU must wait until the receiver has dropped the beginning, which it would hand over there. N_LENGTH = 0
    would do too, but an MRW_ACK of the MRW before, come late, can have the same SN_ACK and 0.
    """
    q = e.queue
    at = (q.v.next if q.v.taken else q.v.next - 1) & q.v.mask
    q.v.sdu[at].end_sn, q.v.sdu[at].end_n = e.v.vt_s, 1
    q.v.ending = GIVEN_UP
    e.v.cut = 1


@kernel
def begin_mrw(e: Entity) -> None:
    """Tell the receiver to move its window over everything given up so far.

    The last of it extends beyond the window if it was cut short where the window ends (LENGTH = 0, 9.2.2.11.8).
    """
    v, q = e.v, e.queue
    v.mrw_to = v.discard_to
    at = (v.mrw_to - 1) & q.v.mask
    v.mrw_sn, v.mrw_n = q.v.sdu[at].end_sn, q.v.sdu[at].end_n
    v.mrw_beyond = 1 if v.cut and v.vt_s >= v.vt_a + v.vt_ws else 0
    v.vt_mrw, v.mrw_due = 0, 1


@kernel
def mrw_sent(e: Entity, now: int) -> None:
    """An MRW goes out."""
    e.v.vt_mrw += 1
    e.counts.mrws += 1
    e.timer.mrw = after(now, e.p.mrw_ns)


@kernel
def mrw_expired(e: Entity) -> None:
    """Timer_MRW: send the same again, MaxMRW times at most, then reset."""
    if e.p.max_mrw and e.v.vt_mrw >= e.p.max_mrw:
        begin_reset(e)
    else:
        e.v.mrw_due = 1


@kernel
def end_mrw(e: Entity) -> None:
    """The MRW procedure is over."""
    v = e.v
    e.queue.v.head = max(e.queue.v.head, v.mrw_to)
    v.mrw_to = v.mrw_due = 0
    e.timer.mrw = NEVER
    if v.discard_to > e.queue.v.head:
        begin_mrw(e)
    else:
        v.cut = 0


@kernel
def discard_due(e: Entity) -> int:
    """When Timer_Discard of the oldest SDU that is not given up expires."""
    q = e.queue.v
    oldest = max(q.head, e.v.discard_to)
    if e.p.discard != DISCARD_BY_TIMER or oldest >= q.tail or e.v.resetting:
        return NEVER
    return e.queue.v.sdu[oldest & e.queue.v.mask].due


@kernel
def discard_expired(e: Entity, now: int) -> None:
    """Timer_Discard: give up every SDU whose time has come."""
    number = max(e.queue.v.head, e.v.discard_to)
    while number < e.queue.v.tail and e.queue.v.sdu[number & e.queue.v.mask].due <= now:
        number += 1
    discard_before(e, number)
