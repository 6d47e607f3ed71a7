"""The sending side of RLC acknowledged mode: windows, polls, discard, MRW and reset (3GPP TS 25.322 11.3 to 11.6)."""

from __future__ import annotations

from typing import Any

from multitracer.kernels import kernel
from multitracer.replay.arq.rlc_entity import (
    DISCARD, DISCARD_BY_TIMER, DISCARD_TO, DISCARDED, DISCARDS_ALL, ENDED, FLOOR, HFN, INVALID, LI_OCTETS, LISTED,
    LOWEST, LSN, MAX_DAT, MAX_MRW, MAX_RST, MRW_BEYOND, MRW_DUE, MRW_N, MRW_NS, MRW_SN, MRW_TO, MRWS, NACKED, NEVER,
    NO_DISCARD, PDU_BYTES, PEER_HFN, POLL_DELAYED, POLL_LAST_NEW, POLL_LAST_RETRANSMISSION, POLL_NS, POLL_PDU,
    POLL_PERIODIC_NS, POLL_PROHIBIT_NS, POLL_SDU, POLL_UNACKNOWLEDGED, POLL_WANTED, POLL_WINDOW, POLL_X, POLLS, RESENT,
    RESET_ACK_DUE, RESET_DUE, RESETS, RESETS_DONE, RESETS_TAKEN, RESETTING, RSN, RST_NS, SENT, SN_MASK, SPECIAL_HE,
    STAMP, T_MRW, T_POLL, T_POLL_PERIODIC, T_POLL_PROHIBIT, T_RST, TX_WINDOW, VT_A, VT_MRW, VT_PDU, VT_RST, VT_S,
    VT_SDU, VT_WS, Entity, clear, start,
)  # fmt: skip
from multitracer.replay.arq.rlc_segments import ENDING, HEAD, NEXT, TAIL, TAKEN, UNKNOWN, drop_waiting, fill, has_data

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
        if e.nack[sn & SN_MASK]:
            v[LOWEST] = sn
            return sn
        sn += 1
    v[NACKED] = 0
    return -1


@kernel
def can_send_new(e: Entity) -> bool:
    """Whether there is new data and the window is open."""
    return e.v[VT_S] < e.v[VT_A] + e.v[VT_WS] and has_data(e.queue)


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
    if limited and e.dat[sn & SN_MASK] + 1 >= e.p[MAX_DAT]:
        if e.p[DISCARD] == NO_DISCARD:
            begin_reset(e)
        else:
            discard_before(e, e.last_sdu[sn & SN_MASK] + 1)
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
    e.last_sdu[slot] = q.v[NEXT] if q.v[TAKEN] else q.v[NEXT] - 1
    e.dat[slot], e.nack[slot] = 0, 0
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
def forget_nack(e: Entity, sn: int) -> bool:
    """The PDU need not be sent again; whether it had to be."""
    slot = sn & SN_MASK
    if not e.nack[slot]:
        return False
    e.nack[slot] = 0
    e.v[NACKED] -= 1
    return True


@kernel
def _send(e: Entity, sn: int, now: int, out: Any, wanted: bool) -> int:
    """Hand the PDU to the air, with a poll if there is cause."""
    slot, size = sn & SN_MASK, e.p[PDU_BYTES]
    for i in range(size):
        out[i] = e.tx[slot, i]
    e.dat[slot] += 1
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
        sn = v[VT_A] + ((e.named[i] - v[VT_A]) & SN_MASK)
        if sn >= v[VT_S]:
            return _invalid(e)
        first = min(first, sn)
    lsn = v[VT_A] + ((v[LSN] - v[VT_A]) & SN_MASK) if v[LSN] >= 0 else v[VT_A]
    if lsn > v[VT_S]:
        return _invalid(e)
    v[STAMP] += 1
    refused = _mark(e)
    for sn in range(v[VT_A], lsn):
        if e.stamp[sn & SN_MASK] != v[STAMP]:
            forget_nack(e, sn)
    _move(e, min(lsn, first))
    if v[VT_A] >= v[POLL_X] or refused:
        stop_timer_poll(e, now)
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
        sn = v[VT_A] + ((e.named[i] - v[VT_A]) & SN_MASK)
        slot = sn & SN_MASK
        e.stamp[slot] = v[STAMP]
        refused = refused or sn == v[POLL_X] - 1
        if sn < v[FLOOR] or e.nack[slot]:
            continue
        e.nack[slot] = 1
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
    for lower in range(v[VT_A], sn):
        forget_nack(e, lower)
    v[VT_A] = max(v[VT_A], sn)
    while q.v[HEAD] < q.v[NEXT]:
        at = q.v[HEAD] % len(q.length)
        if q.end_sn[at] == UNKNOWN or v[VT_A] < q.end_sn[at] + (1 if q.end_n[at] else 0):
            break
        q.v[HEAD] += 1
    if v[MRW_TO] and v[VT_A] >= v[MRW_SN] + (1 if v[MRW_N] else 0):
        end_mrw(e)


@kernel
def discard_before(e: Entity, number: int) -> None:
    """Give up all SDUs before `number`: those of which something was sent by an MRW, the others in silence."""
    v, q = e.v, e.queue
    number = min(number, q.v[TAIL])
    if number <= max(v[DISCARD_TO], q.v[HEAD]):
        return
    e.counts[DISCARDED] += number - max(v[DISCARD_TO], q.v[HEAD])
    signalled = q.v[NEXT] + (1 if q.v[TAKEN] else 0)
    if number >= signalled and (q.v[TAKEN] or q.v[ENDING]):
        _cut_short(e)
    drop_waiting(q, number)
    v[DISCARD_TO] = number
    last = min(number, signalled) - 1
    if last < q.v[HEAD]:
        q.v[HEAD] = number
        return
    for k in range(signalled, number):  # never sent: their end is where that of the last one sent is
        _end_as(e, k, last)
    v[FLOOR] = max(v[FLOOR], q.end_sn[last % len(q.length)])
    for sn in range(v[VT_A], v[FLOOR]):
        forget_nack(e, sn)
    if not v[MRW_TO]:
        begin_mrw(e)


@kernel
def _end_as(e: Entity, number: int, other: int) -> None:
    size = len(e.queue.length)
    e.queue.end_sn[number % size] = e.queue.end_sn[other % size]
    e.queue.end_n[number % size] = e.queue.end_n[other % size]


@kernel
def _cut_short(e: Entity) -> None:
    """The SDU begun, or one whose end is still to be told, ends before the next new PDU."""
    q = e.queue
    at = (q.v[NEXT] if q.v[TAKEN] else q.v[NEXT] - 1) % len(q.length)
    q.end_sn[at], q.end_n[at] = e.v[VT_S], 0
    q.v[ENDING] = 0
    e.v[MRW_BEYOND] = 1 if e.v[VT_S] >= e.v[VT_A] + e.v[VT_WS] else 0


@kernel
def begin_mrw(e: Entity) -> None:
    """Tell the receiver to move its window over everything given up so far."""
    v, q = e.v, e.queue
    v[MRW_TO] = v[DISCARD_TO]
    at = (v[MRW_TO] - 1) % len(q.length)
    v[MRW_SN], v[MRW_N] = q.end_sn[at], q.end_n[at]
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
def take_mrw_ack(e: Entity, sn12: int, n: int) -> None:
    """MRW_ACK: ends the procedure if it answers the MRW under way."""
    v = e.v
    if not v[MRW_TO]:
        return
    sn = v[VT_A] + ((sn12 - v[VT_A]) & SN_MASK)
    exact = sn == v[MRW_SN] and n == v[MRW_N]
    beyond = v[MRW_SN] < sn <= v[VT_S] and n == 0
    if exact or beyond:
        end_mrw(e)
        _move(e, sn)


@kernel
def end_mrw(e: Entity) -> None:
    """The MRW procedure is over."""
    v = e.v
    e.queue.v[HEAD] = max(e.queue.v[HEAD], v[MRW_TO])
    v[MRW_TO] = v[MRW_DUE] = v[MRW_BEYOND] = 0
    e.timer[T_MRW] = NEVER
    if v[DISCARD_TO] > e.queue.v[HEAD]:
        begin_mrw(e)


@kernel
def discard_due(e: Entity) -> int:
    """When Timer_Discard of the oldest SDU that is not given up expires."""
    q = e.queue.v
    oldest = max(q[HEAD], e.v[DISCARD_TO])
    if e.p[DISCARD] != DISCARD_BY_TIMER or oldest >= q[TAIL] or e.v[RESETTING]:
        return NEVER
    return e.queue.due[oldest % len(e.queue.due)]


@kernel
def discard_expired(e: Entity, now: int) -> None:
    """Timer_Discard: give up every SDU whose time has come."""
    number = max(e.queue.v[HEAD], e.v[DISCARD_TO])
    while number < e.queue.v[TAIL] and e.queue.due[number % len(e.queue.due)] <= now:
        number += 1
    discard_before(e, number)


@kernel
def begin_reset(e: Entity) -> None:
    """Unrecoverable but by a reset: data stop, a RESET is due."""
    v = e.v
    if v[RESETTING] or v[ENDED]:
        return
    v[RESETTING], v[VT_RST], v[RESET_DUE] = 1, 0, 1
    e.timer[:] = NEVER


@kernel
def next_reset(e: Entity, now: int, out: Any) -> int:
    """The RESET that is due; at MaxRST the link is given up instead."""
    v = e.v
    if not v[RESET_DUE]:
        return 0
    v[RESET_DUE] = 0
    v[VT_RST] += 1
    if v[VT_RST] >= e.p[MAX_RST]:
        v[ENDED] = 1
        e.timer[:] = NEVER
        return 0
    e.counts[RESETS] += 1
    start(e, T_RST, now, e.p[RST_NS])
    return _put_reset(e, out, 1, v[RSN])


@kernel
def next_reset_ack(e: Entity, out: Any) -> int:
    """The RESET ACK that is due."""
    rsn = e.v[RESET_ACK_DUE] - 1
    e.v[RESET_ACK_DUE] = 0
    return _put_reset(e, out, 2, rsn)


@kernel
def _put_reset(e: Entity, out: Any, kind: int, rsn: int) -> int:
    """RESET or RESET ACK: type, RSN, and HFNI: the hyper frame number of the next PDU sent (9.2.1.6)."""
    hfni = (e.v[HFN] + (e.v[VT_S] >> 12)) & 0xFFFFF
    out[0] = kind << 4 | rsn << 3
    out[1], out[2], out[3] = hfni >> 12, (hfni >> 4) & 0xFF, (hfni & 15) << 4
    return 4


@kernel
def take_reset(e: Entity, hfni: int, now: int) -> None:
    """A RESET with a new RSN: begin anew and acknowledge."""
    e.counts[RESETS_TAKEN] += 1
    _anew(e, hfni, now)


@kernel
def take_reset_ack(e: Entity, rsn: int, hfni: int, now: int) -> None:
    """The RESET ACK: if it is of this reset, begin anew."""
    v = e.v
    if not v[RESETTING] or rsn != v[RSN] or v[ENDED]:
        return
    v[RESETTING], v[RESET_DUE], v[RSN] = 0, 0, rsn ^ 1
    e.timer[T_RST] = NEVER
    e.counts[RESETS_DONE] += 1
    _anew(e, hfni, now)


@kernel
def _anew(e: Entity, hfni: int, now: int) -> None:
    """Forget windows and what was under way; discard the SDUs begun, or all (11.4.3)."""
    v, q = e.v, e.queue
    waiting = q.v[NEXT] + (1 if q.v[TAKEN] else 0)
    first = q.v[TAIL] if e.p[DISCARDS_ALL] else min(q.v[TAIL], waiting)
    e.counts[DISCARDED] += max(0, first - max(q.v[HEAD], v[DISCARD_TO]))
    drop_waiting(q, first)
    q.v[HEAD], q.v[ENDING] = first, 0
    v[DISCARD_TO] = first
    v[HFN], v[PEER_HFN] = max(v[HFN] + (v[VT_S] >> 12), hfni) + 1, hfni
    resetting, timer = v[RESETTING], e.timer[T_RST]
    clear(e, now)
    v[RESETTING], e.timer[T_RST] = resetting, timer


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
