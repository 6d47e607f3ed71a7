"""The sending side of RLC acknowledged mode: PDUs, polls, reports received (3GPP TS 25.322 11.3)."""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import kernel
from multitracer.replay.arq.rlc.am_discard import discard_before, end_mrw, forget_nack
from multitracer.replay.arq.rlc.am_entity import (
    ANY_STATUS,
    CALLED,
    CUT,
    DISCARD,
    DISCARD_BY_TIMER,
    DISCARD_TO,
    FLOOR,
    INVALID,
    LAST_SDU,
    LI_OCTETS,
    LISTED,
    LOWEST,
    LSN,
    MAX_DAT,
    MRW_N,
    MRW_SN,
    MRW_TO,
    NACK,
    NACKED,
    NAMED,
    NEVER,
    NO_DISCARD,
    PDU_BYTES,
    POLL_DELAYED,
    POLL_LAST_NEW,
    POLL_LAST_RETRANSMISSION,
    POLL_NS,
    POLL_PDU,
    POLL_PERIODIC_NS,
    POLL_PROHIBIT_NS,
    POLL_SDU,
    POLL_UNACKNOWLEDGED,
    POLL_WANTED,
    POLL_WINDOW,
    POLL_X,
    POLLS,
    RESENT,
    SENT,
    SN_MASK,
    SPECIAL_HE,
    STAMP,
    T_POLL,
    T_POLL_PERIODIC,
    T_POLL_PROHIBIT,
    TX_WINDOW,
    VT_A,
    VT_DAT,
    VT_MRW,
    VT_PDU,
    VT_S,
    VT_SDU,
    VT_WS,
    Entity,
    start,
)
from multitracer.replay.arq.rlc.am_reset import begin_reset
from multitracer.replay.arq.rlc.segmentation import END_N, END_SN, HEAD, NEXT, TAKEN, UNKNOWN, fill, has_data

HEAD_BYTES = 2
POLL_BIT = 4


@kernel
def trigger_poll(e: Entity) -> None:
    """A poll is due: in the next AMD PDU, or once Timer_Poll_Prohibit has expired."""
    if e.timer[T_POLL_PROHIBIT] != NEVER:
        e.v[POLL_DELAYED] = 1
    else:
        e.v[POLL_WANTED] = 1


@kernel
def lowest_nacked(e: Entity) -> int:
    """The lowest PDU that waits to be sent again, or -1."""
    v = e.v
    if v[NACKED] == 0:
        return -1
    sn = max(v[LOWEST], v[VT_A])
    while sn < v[VT_S]:
        if e.slot[sn & SN_MASK, NACK]:
            v[LOWEST] = sn
            return sn
        sn += 1
    v[NACKED] = 0
    return -1


@kernel
def can_send_new(e: Entity) -> bool:
    """Whether there is new data and the window is open."""
    return e.v[VT_S] < e.v[VT_A] + e.v[VT_WS] and not e.v[CUT] and has_data(e.queue)


@kernel
def poll_carrier(e: Entity) -> int:
    """The PDU that is sent again to carry a poll when there is no other, or -1: then the poll is dropped."""
    v = e.v
    if not v[POLL_WANTED]:
        return -1
    if v[VT_A] < v[VT_S] and v[VT_S] - 1 >= v[FLOOR]:
        return v[VT_S] - 1
    v[POLL_WANTED] = 0
    return -1


@kernel
def next_data(e: Entity, now: int, out: Any) -> int:
    """An AMD PDU: one to be sent again, else a new one, else one to carry a poll; 0 when there is none.

    0 too when a PDU has been sent as often as it may: then its SDUs are given up, or a reset begins.
    """
    sn = lowest_nacked(e)
    if sn < 0 and can_send_new(e):
        return _send_new(e, now, out)
    if sn < 0:
        sn = poll_carrier(e)
    if sn < 0:
        return 0
    limited = e.p[MAX_DAT] > 0 and e.p[DISCARD] != DISCARD_BY_TIMER
    if limited and e.slot[sn & SN_MASK, VT_DAT] + 1 >= e.p[MAX_DAT]:
        if e.p[DISCARD] == NO_DISCARD:
            begin_reset(e)
        else:
            discard_before(e, e.slot[sn & SN_MASK, LAST_SDU] + 1)
        return 0
    return _send_again(e, sn, now, out)


@kernel
def _send_new(e: Entity, now: int, out: Any) -> int:
    v, q = e.v, e.queue
    sn = v[VT_S]
    slot, done = sn & SN_MASK, q.v[NEXT]
    pdu = e.tx[slot]
    he = fill(q, sn, pdu, HEAD_BYTES, e.p[PDU_BYTES], e.p[LI_OCTETS], e.p[SPECIAL_HE], 0)
    pdu[0] = 0x80 | slot >> 5
    pdu[1] = (slot & 31) << 3 | he
    e.slot[slot, LAST_SDU] = q.v[NEXT] if q.v[TAKEN] else q.v[NEXT] - 1
    e.slot[slot, VT_DAT], e.slot[slot, NACK] = 0, 0
    wanted = e.p[POLL_LAST_NEW] > 0 and not has_data(q)
    wanted = _poll_for_sdus(e, q.v[NEXT] - done) or wanted
    wanted = _window_used(e) or wanted
    v[VT_S] = sn + 1
    return _send(e, sn, now, out, wanted)


@kernel
def _window_used(e: Entity) -> bool:
    """Poll_Window: J = (VT(S) + 1 - VT(A)) / VT(WS), for every PDU sent, before VT(S) moves."""
    v = e.v
    return e.p[POLL_WINDOW] > 0 and (v[VT_S] + 1 - v[VT_A]) * 100 >= e.p[POLL_WINDOW] * v[VT_WS]


@kernel
def _poll_for_sdus(e: Entity, ended: int) -> bool:
    """Poll_SDU: count the SDUs that end in the PDU, which poll in the same order as they begin."""
    if e.p[POLL_SDU] == 0:
        return False
    e.v[VT_SDU] += ended
    if e.v[VT_SDU] < e.p[POLL_SDU]:
        return False
    e.v[VT_SDU] %= e.p[POLL_SDU]
    return True


@kernel
def _send_again(e: Entity, sn: int, now: int, out: Any) -> int:
    asked = forget_nack(e, sn)
    e.counts[RESENT] += 1
    last = asked and e.v[NACKED] == 0 and e.p[POLL_LAST_RETRANSMISSION] > 0
    return _send(e, sn, now, out, _window_used(e) or last)


@kernel
def _send(e: Entity, sn: int, now: int, out: Any, wanted: bool) -> int:
    """Hand the PDU to the air, with a poll if there is cause."""
    slot, size = sn & SN_MASK, e.p[PDU_BYTES]
    for i in range(size):
        out[i] = e.tx[slot, i]
    e.slot[slot, VT_DAT] += 1
    e.counts[SENT] += 1
    if _poll_here(e, wanted):
        out[1] |= POLL_BIT
        _polled(e, now)
    if e.p[POLL_UNACKNOWLEDGED] and e.timer[T_POLL] == NEVER:
        e.v[POLL_X] = e.v[VT_S]
        start(e, T_POLL, now, e.p[POLL_NS])
    return size


@kernel
def _poll_here(e: Entity, wanted: bool) -> bool:
    """Whether the PDU being sent polls; a poll prohibited is remembered once."""
    v = e.v
    v[VT_PDU] += 1
    if e.p[POLL_PDU] and v[VT_PDU] >= e.p[POLL_PDU]:
        v[VT_PDU] = 0
        wanted = True
    if wanted or v[POLL_WANTED]:
        v[POLL_WANTED] = 0
        trigger_poll(e)
    return v[POLL_WANTED] > 0


@kernel
def _polled(e: Entity, now: int) -> None:
    e.v[POLL_WANTED] = 0
    e.v[POLL_X] = e.v[VT_S]
    e.counts[POLLS] += 1
    start(e, T_POLL, now, e.p[POLL_NS])
    start(e, T_POLL_PROHIBIT, now, e.p[POLL_PROHIBIT_NS])


@kernel
def take_report(e: Entity, now: int) -> None:
    """What a STATUS PDU says of our PDUs (`rlc_status.read`): move VT(A), send again; an invalid one resets."""
    v = e.v
    first = v[VT_S]
    for i in range(v[LISTED]):
        sn = v[VT_A] + ((e.slot[i, NAMED] - v[VT_A]) & SN_MASK)
        if sn >= v[VT_S]:
            return _invalid(e)
        first = min(first, sn)
    lsn = v[VT_A] + ((v[LSN] - v[VT_A]) & SN_MASK) if v[LSN] >= 0 else v[VT_A]
    if lsn > v[VT_S]:
        return _invalid(e)
    v[STAMP] += 1
    refused = _mark(e)
    for sn in range(v[VT_A], lsn):
        if e.slot[sn & SN_MASK, CALLED] != v[STAMP]:
            forget_nack(e, sn)
    _move(e, min(lsn, first))
    if v[VT_A] >= v[POLL_X] or refused:
        stop_timer_poll(e, now)
    elif e.p[ANY_STATUS] and not e.p[POLL_UNACKNOWLEDGED]:  # else reports that come sooner would keep it off for ever
        e.timer[T_POLL] = NEVER
    return None


@kernel
def _invalid(e: Entity) -> None:
    e.counts[INVALID] += 1
    begin_reset(e)


@kernel
def _mark(e: Entity) -> bool:
    """Note the PDUs called missing to be sent again; whether x-1 of Timer_Poll is one of them."""
    v, refused = e.v, False
    for i in range(v[LISTED]):
        sn = v[VT_A] + ((e.slot[i, NAMED] - v[VT_A]) & SN_MASK)
        slot = sn & SN_MASK
        e.slot[slot, CALLED] = v[STAMP]
        refused = refused or sn == v[POLL_X] - 1
        if sn < v[FLOOR] or e.slot[slot, NACK]:
            continue
        e.slot[slot, NACK] = 1
        v[LOWEST] = sn if v[NACKED] == 0 else min(v[LOWEST], sn)
        v[NACKED] += 1
    return refused


@kernel
def stop_timer_poll(e: Entity, now: int) -> None:
    """Timer_Poll has been answered."""
    e.timer[T_POLL] = NEVER
    if e.p[POLL_UNACKNOWLEDGED] and e.v[VT_A] < e.v[VT_S]:
        e.v[POLL_X] = e.v[VT_S]
        start(e, T_POLL, now, e.p[POLL_NS])


@kernel
def _move(e: Entity, sn: int) -> None:
    """VT(A) becomes `sn`: free the SDUs acknowledged, and end an MRW that has become needless."""
    v, q = e.v, e.queue
    _raise(e, sn)
    # What is cut short is freed by its MRW only: acknowledged or not, the receiver must be told.
    while q.v[HEAD] < q.v[NEXT] and not (v[CUT] and q.v[HEAD] < v[DISCARD_TO]):
        at = q.v[HEAD] % len(q.sdu)
        if q.sdu[at, END_SN] == UNKNOWN or v[VT_A] < q.sdu[at, END_SN] + (1 if q.sdu[at, END_N] else 0):
            break
        q.v[HEAD] += 1
    if v[MRW_TO] and v[VT_A] > v[MRW_SN]:
        end_mrw(e)


@kernel
def _raise(e: Entity, sn: int) -> None:
    for lower in range(e.v[VT_A], sn):
        forget_nack(e, lower)
    e.v[VT_A] = max(e.v[VT_A], sn)


@kernel
def take_mrw_ack(e: Entity, sn12: int, n: int) -> None:
    """MRW_ACK: ends the procedure if it answers the MRW under way; one not sent yet it cannot answer."""
    v = e.v
    if not v[MRW_TO] or v[VT_MRW] == 0:
        return
    sn = v[VT_A] + ((sn12 - v[VT_A]) & SN_MASK)
    exact = sn == v[MRW_SN] and n == v[MRW_N]
    beyond = v[MRW_SN] < sn <= v[VT_S] and n == 0
    if exact or beyond:
        _raise(e, sn)
        end_mrw(e)
        _move(e, sn)


@kernel
def take_window(e: Entity, size: int) -> None:
    """A WINDOW SUFI: VT(WS), within what was configured."""
    if 1 <= size <= e.p[TX_WINDOW]:
        e.v[VT_WS] = size


@kernel
def poll_timer_expired(e: Entity) -> None:
    """Timer_Poll: poll again; it starts anew when the poll is sent."""
    e.timer[T_POLL] = NEVER
    if e.v[VT_A] < e.v[VT_S]:
        trigger_poll(e)


@kernel
def poll_periodic_expired(e: Entity, now: int) -> None:
    """Timer_Poll_Periodic: poll if there is anything to poll for."""
    start(e, T_POLL_PERIODIC, now, e.p[POLL_PERIODIC_NS])
    if e.v[VT_A] < e.v[VT_S] or has_data(e.queue):
        trigger_poll(e)


@kernel
def poll_prohibit_expired(e: Entity) -> None:
    """Timer_Poll_Prohibit: send the one delayed poll."""
    e.timer[T_POLL_PROHIBIT] = NEVER
    if e.v[POLL_DELAYED]:
        e.v[POLL_DELAYED] = 0
        e.v[POLL_WANTED] = 1
