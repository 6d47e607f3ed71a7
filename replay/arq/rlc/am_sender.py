"""The sending side of RLC acknowledged mode: PDUs, polls, reports received (3GPP TS 25.322 11.3)."""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import kernel, merged
from multitracer.replay.arq.fields import NEVER, codes
from multitracer.replay.arq.rlc.am_discard import (
    discard_before,
    end_mrw,
    end_of_given_up,
    forget_nack,
    give_up_alone,
    is_given_up,
)
from multitracer.replay.arq.rlc.am_entity import (
    DISCARD_BY_TIMER,
    DROPPED,
    NO_DISCARD,
    SN_MASK,
    UNCOUNTED,
    Entity,
    after,
)
from multitracer.replay.arq.rlc.am_reset import begin_reset
from multitracer.replay.arq.rlc.queue import UNKNOWN, has_data
from multitracer.replay.arq.rlc.segmentation import fill, fill_whole

HEAD_BYTES = 2
AGAIN, *_ = codes(1, -1)
"""What `next_data` gives where another PDU may be sent instead."""
POLL_BIT = 4


@kernel
def trigger_poll(e: Entity) -> None:
    """A poll is due: in the next AMD PDU, or once Timer_Poll_Prohibit has expired."""
    if e.timer.poll_prohibit != NEVER:
        e.v.poll_delayed = 1
    else:
        e.v.poll_wanted = 1


@kernel
def lowest_nacked(e: Entity) -> int:
    """The lowest PDU that waits to be sent again, or -1."""
    v = e.v
    if v.nacked == 0:
        return -1
    sn = max(v.lowest, v.vt_a)
    while sn < v.vt_s:
        if e.store.slot[sn & SN_MASK].nack:
            v.lowest = sn
            return sn
        sn += 1
    v.nacked = 0
    return -1


@kernel
def can_send_new(e: Entity) -> bool:
    """Whether there is new data and the window is open."""
    return e.v.vt_s < e.v.vt_a + e.v.vt_ws and not e.v.cut and has_data(e.queue)


@kernel
def poll_carrier(e: Entity) -> int:
    """The PDU that is sent again to carry a poll when there is no other, or -1: then the poll is dropped."""
    v = e.v
    if not v.poll_wanted:
        return -1
    sn = v.vt_s - 1
    while sn >= v.vt_a and is_given_up(e, sn):
        sn -= 1
    if sn >= max(v.vt_a, v.floor) and e.p.last_poll != DROPPED:
        return sn
    v.poll_wanted = 0
    return -1


@merged
def next_data(e: Entity, now: int, frame: Any) -> int:
    """An AMD PDU: one to be sent again, else a new one, else one to carry a poll; 0 when there is none.

    0 too when a PDU has been sent as often as it may: then its SDUs are given up, or a reset begins; AGAIN where they
    are given up alone, which has no effect on other PDUs.
    """
    sn, counts = _next_again(e)
    spent, floor, number = sn >= 0 and _is_spent(e, sn, counts), e.v.floor, 0
    if spent and e.p.discard == NO_DISCARD:
        begin_reset(e)
        return 0
    if e.p.discard_alone:
        if spent:
            give_up_alone(e, sn)
        number = end_of_given_up(e)
    elif spent:
        number = e.store.slot[sn & SN_MASK].last_sdu + 1
    if number > 0:
        discard_before(e, number)
    if spent or e.v.floor != floor:
        return AGAIN if e.p.discard_alone else 0
    if sn >= 0:
        return _send_again(e, sn, now, frame, counts)
    return _send_new(e, now, frame) if can_send_new(e) else 0


@kernel
def _next_again(e: Entity) -> tuple[int, int]:
    """The PDU to be sent again before new ones, and by how much VT(DAT) grows: asked for, or where there is no new one
    to carry a poll; -1 for none."""
    sn = lowest_nacked(e)
    if sn >= 0 or can_send_new(e):
        return sn, 1
    return poll_carrier(e), 0 if e.p.last_poll == UNCOUNTED else 1


@kernel
def _is_spent(e: Entity, sn: int, counts: int) -> bool:
    """Whether the PDU has been sent as often as it may."""
    limited = counts > 0 and e.p.max_dat > 0 and e.p.discard != DISCARD_BY_TIMER
    return limited and e.store.slot[sn & SN_MASK].vt_dat + 1 >= e.p.max_dat


@merged
def _send_new(e: Entity, now: int, frame: Any) -> int:
    v, q = e.v, e.queue
    sn = v.vt_s
    slot, done = sn & SN_MASK, q.v.next
    he, size = 2, e.p.pdu_bytes
    if e.p.length_indicators:
        he = fill(q, sn, frame, HEAD_BYTES, size, e.p.li_octets, e.p.special_he, 0)
    else:
        size = e.p.header_bytes + fill_whole(q, sn, frame)
        frame.kept = HEAD_BYTES
    frame.octets[0] = 0x80 | slot >> 5
    frame.octets[1] = (slot & 31) << 3 | he
    _keep(e, slot, frame, size)
    wanted = e.p.poll_last_new > 0 and not has_data(q)
    wanted = _poll_for_sdus(e, q.v.next - done) or wanted
    wanted = _window_used(e) or wanted
    v.vt_s = sn + 1
    return _send(e, sn, now, frame, wanted, 1)


@kernel
def _keep(e: Entity, slot: int, frame: Any, size: int) -> None:
    """Keep a new PDU, which may have to be sent again."""
    pdu, q = e.store.slot[slot], e.queue.v
    pdu.last_sdu = q.next if q.taken else q.next - 1
    pdu.vt_dat, pdu.nack, pdu.head, pdu.long = 0, 0, frame.kept, size
    pdu.tx_start, pdu.tx_sdu, pdu.tx_skip, pdu.tx_cut = frame.start, frame.sdu, frame.skip, frame.cut
    for i in range(frame.kept):
        e.store.tx[slot * e.p.pdu_bytes + i] = frame.octets[i]


@kernel
def _window_used(e: Entity) -> bool:
    """Poll_Window: J = (VT(S) + 1 - VT(A)) / VT(WS), for every PDU sent, before VT(S) moves."""
    v = e.v
    return e.p.poll_window_percent > 0 and (v.vt_s + 1 - v.vt_a) * 100 >= e.p.poll_window_percent * v.vt_ws


@kernel
def _poll_for_sdus(e: Entity, ended: int) -> bool:
    """Poll_SDU: count the SDUs that end in the PDU, which poll in the same order as they begin."""
    if e.p.poll_sdu == 0:
        return False
    e.v.vt_sdu += ended
    if e.v.vt_sdu < e.p.poll_sdu:
        return False
    e.v.vt_sdu %= e.p.poll_sdu
    return True


@kernel
def _send_again(e: Entity, sn: int, now: int, frame: Any, counts: int) -> int:
    slot = sn & SN_MASK
    pdu = e.store.slot[slot]
    asked = forget_nack(e, sn)
    e.counts.resent += 1
    frame.start, frame.sdu, frame.skip, frame.cut = pdu.tx_start, pdu.tx_sdu, pdu.tx_skip, pdu.tx_cut
    frame.jump, frame.kept = 0, pdu.head
    for i in range(pdu.head):
        frame.octets[i] = e.store.tx[slot * e.p.pdu_bytes + i]
    last = asked and e.v.nacked == 0 and e.p.poll_last_retransmission > 0
    return _send(e, sn, now, frame, _window_used(e) or last, counts)


@kernel
def _send(e: Entity, sn: int, now: int, frame: Any, wanted: bool, counts: int) -> int:
    """Hand the PDU to the air, with a poll if there is cause; its octets there."""
    pdu = e.store.slot[sn & SN_MASK]
    pdu.vt_dat += counts
    pdu.sent_ns = now
    if e.v.nacked == 0:
        e.v.answered = e.v.report_heard
    frame.answered = e.v.answered
    e.counts.sent += 1
    if _poll_here(e, wanted):
        frame.octets[1] |= POLL_BIT
        _polled(e, now)
    if e.p.poll_when_unacknowledged and e.timer.poll == NEVER:
        e.v.poll_x = e.v.vt_s
        e.timer.poll = after(now, e.p.poll_ns)
    return pdu.long


@kernel
def _poll_here(e: Entity, wanted: bool) -> bool:
    """Whether the PDU being sent polls; a poll prohibited is remembered once."""
    v = e.v
    v.vt_pdu += 1
    if e.p.poll_pdu and v.vt_pdu >= e.p.poll_pdu:
        v.vt_pdu = 0
        wanted = True
    if wanted or v.poll_wanted:
        v.poll_wanted = 0
        trigger_poll(e)
    return v.poll_wanted > 0


@kernel
def _polled(e: Entity, now: int) -> None:
    e.v.poll_wanted = 0
    e.v.poll_x = e.v.vt_s
    e.counts.polls += 1
    e.timer.poll = after(now, e.p.poll_ns)
    e.timer.poll_prohibit = after(now, e.p.poll_prohibit_ns)


@kernel
def take_report(e: Entity, now: int) -> None:
    """What a STATUS PDU says of our PDUs (`status.read_status`): move VT(A), send again; an invalid one resets."""
    v = e.v
    first = v.vt_s
    for i in range(v.listed):
        sn = v.vt_a + ((e.store.slot[i].named - v.vt_a) & SN_MASK)
        if sn >= v.vt_s:
            return _invalid(e)
        first = min(first, sn)
    lsn = v.vt_a + ((v.lsn - v.vt_a) & SN_MASK) if v.lsn >= 0 else v.vt_a
    if lsn > v.vt_s:
        return _invalid(e)
    v.stamp += 1
    refused = _mark(e, now)
    for sn in range(v.vt_a, lsn):
        if e.store.slot[sn & SN_MASK].called != v.stamp:
            forget_nack(e, sn)
    _move(e, min(lsn, first))
    if v.vt_a >= v.poll_x or refused:
        stop_timer_poll(e, now)
    elif e.p.any_status_stops_poll and not e.p.poll_when_unacknowledged:
        # With poll_when_unacknowledged, reports that come sooner would keep the timer off for ever.
        e.timer.poll = NEVER
    return None


@kernel
def _invalid(e: Entity) -> None:
    e.counts.invalid += 1
    begin_reset(e)


@kernel
def _mark(e: Entity, now: int) -> bool:
    """Note the PDUs called missing to be sent again; whether x-1 of Timer_Poll is one of them."""
    v, refused = e.v, False
    for i in range(v.listed):
        sn = v.vt_a + ((e.store.slot[i].named - v.vt_a) & SN_MASK)
        slot = sn & SN_MASK
        e.store.slot[slot].called = v.stamp
        refused = refused or sn == v.poll_x - 1
        soon = e.p.resend_guard_ns > 0 and now - e.store.slot[slot].sent_ns < e.p.resend_guard_ns
        if sn < v.floor or e.store.slot[slot].nack or soon or is_given_up(e, sn):
            continue
        e.store.slot[slot].nack = 1
        v.lowest = sn if v.nacked == 0 else min(v.lowest, sn)
        v.nacked += 1
    return refused


@kernel
def stop_timer_poll(e: Entity, now: int) -> None:
    """Timer_Poll has been answered."""
    e.timer.poll = NEVER
    if e.p.poll_when_unacknowledged and e.v.vt_a < e.v.vt_s:
        e.v.poll_x = e.v.vt_s
        e.timer.poll = after(now, e.p.poll_ns)


@kernel
def _move(e: Entity, sn: int) -> None:
    """VT(A) becomes `sn`: free the SDUs acknowledged, and end an MRW that has become needless."""
    _raise(e, sn)
    _free(e)
    if e.v.mrw_to and e.v.vt_a > e.v.mrw_sn:
        end_mrw(e)


@kernel
def _free(e: Entity) -> None:
    """Free the SDUs acknowledged."""
    v, q = e.v, e.queue
    # What is cut short is freed by its MRW only: acknowledged or not, the receiver must be told.
    while q.v.head < q.v.next and not (v.cut and q.v.head < v.discard_to):
        at = q.v.head & q.v.mask
        if q.v.sdu[at].end_sn == UNKNOWN or v.vt_a < q.v.sdu[at].end_sn + (1 if q.v.sdu[at].end_n else 0):
            break
        q.v.head += 1


@kernel
def _raise(e: Entity, sn: int) -> None:
    for lower in range(e.v.vt_a, sn):
        forget_nack(e, lower)
    e.v.vt_a = max(e.v.vt_a, sn)


@kernel
def take_mrw_ack(e: Entity, sn12: int, n: int) -> None:
    """MRW_ACK: ends the procedure if it answers the MRW under way; one not sent yet it cannot answer."""
    v = e.v
    if not v.mrw_to or v.vt_mrw == 0:
        return
    sn = v.vt_a + ((sn12 - v.vt_a) & SN_MASK)
    exact = sn == v.mrw_sn and n == v.mrw_n
    beyond = v.mrw_sn < sn <= v.vt_s and n == 0
    if exact or beyond:
        _raise(e, sn)
        e.queue.v.head = max(e.queue.v.head, v.mrw_to)
        _free(e)  # before the next MRW: it is not to tell of what the receiver has passed
        end_mrw(e)


@kernel
def take_window(e: Entity, size: int) -> None:
    """A WINDOW SUFI: VT(WS), within what was configured."""
    if 1 <= size <= e.p.tx_window:
        e.v.vt_ws = size


@kernel
def expire_polls(e: Entity, now: int) -> None:
    """Timer_Poll_Prohibit, Timer_Poll and Timer_Poll_Periodic: what is due of them by `now`.

    The prohibit first: what another timer asks for at the same time must not wait for its next expiry.
    """
    v, timer = e.v, e.timer
    if timer.poll_prohibit <= now:
        timer.poll_prohibit = NEVER
        v.poll_wanted = max(v.poll_wanted, v.poll_delayed)
        v.poll_delayed = 0
    if timer.poll <= now:
        timer.poll = NEVER  # it starts anew when the poll is sent
        if v.vt_a < v.vt_s:
            trigger_poll(e)
    if timer.poll_periodic <= now:
        timer.poll_periodic = after(now, e.p.poll_periodic_ns)
        if v.vt_a < v.vt_s or has_data(e.queue):
            trigger_poll(e)
