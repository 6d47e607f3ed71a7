"""UMTS RLC in acknowledged mode (3GPP TS 25.322): a state machine that is told the time and asks for nothing.

These kernels drive an entity of `am_entity`; PDUs are as in `frames`, with their octets or with their headers alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.compute.kernels import kernel, merged
from multitracer.replay.arq.fields import NEVER
from multitracer.replay.arq.notes import FULL, HELD
from multitracer.replay.arq.notes import note as write
from multitracer.replay.arq.orders import next_order, order_due
from multitracer.replay.arq.rlc.am_discard import discard_due, discard_expired, mrw_expired, mrw_sent
from multitracer.replay.arq.rlc.am_entity import NEW_PDU, SN_MASK, Entity
from multitracer.replay.arq.rlc.am_receiver import (
    expire_reports,
    report_sent,
    take_data,
    take_mrw,
    trigger_status,
    understood,
)
from multitracer.replay.arq.rlc.am_reset import (
    RESET_ACK,
    begin_reset,
    next_reset,
    next_reset_ack,
    take_reset,
    take_reset_ack,
)
from multitracer.replay.arq.rlc.am_sender import (
    HEAD_BYTES,
    can_send_new,
    expire_polls,
    lowest_nacked,
    next_data,
    take_mrw_ack,
    take_report,
    take_window,
)
from multitracer.replay.arq.rlc.frames import clear_octets, copy_frame
from multitracer.replay.arq.rlc.queue import append_sdu, has_room, room_left
from multitracer.replay.arq.rlc.status import N1, ZERO, committed, compose, get, put, read_status, status_due

__all__ = [
    "carries_data", "copy_frame", "expire", "gone", "next_frame", "next_timer", "note", "offer", "on_air", "receive",
    "restarted", "span", "total_delivered", "wants",
]  # fmt: skip


@kernel
def offer(e: Entity, sdu: int, start: int, octets: int, now: int) -> int:
    """An SDU from above; 0 when there is no room for it."""
    return 1 if append_sdu(e.queue, octets, now + e.p.discard_ns) else 0


@kernel
def wants(e: Entity, octets: int) -> int:
    """Whether less waits than a PDU and an SDU, and an SDU of `octets` octets has room."""
    q = e.queue
    return 1 if q.v.back - q.v.front < e.p.pdu_bytes + octets and has_room(q, octets) and not e.v.ended else 0


@kernel
def total_delivered(e: Entity) -> int:
    """Octets handed over so far."""
    return e.r.v.delivered_octets


@kernel
def note(e: Entity, log: Any, now: int, side: int, why: int) -> None:
    """Log whether the window has room; what else happens to an entity is seen in its PDUs."""
    full = int(e.v.vt_s >= e.v.vt_a + e.v.vt_ws)
    if full != e.v.noted_full:
        write(log, now, side, HELD, 0, e.queue.v.front, FULL * full)
        e.v.noted_full = full


@kernel
def next_frame(e: Entity, frame: Any, now: int) -> int:
    """Write the PDU for this opportunity into `frame`; gives its length, 0 for none.

    RESET and RESET ACK before STATUS before AMD PDUs to be sent again before new ones.
    """
    v = e.v
    if v.ended:
        return 0
    if v.reset_ack_due:
        return _filled(e, frame, next_reset_ack(e, frame))
    used = _report_for_padding(e) if status_due(e) and e.p.piggyback and not v.resetting else 0
    while not v.resetting and (used or not status_due(e)):
        floor = v.floor
        length = next_data(e, now, frame)
        if used and length > 0:
            _put_in_padding(e, now, frame, length, used)
        elif used:
            used = 0  # a discard came before: its MRW is not in what was composed
        if length > 0 or (length == 0 and v.floor == floor and not v.resetting and not status_due(e)):
            return length
    if not v.resetting:
        return _next_status(e, now, frame)
    length = next_reset(e, now, frame)
    return _filled(e, frame, length) if length else 0


@kernel
def _filled(e: Entity, frame: Any, length: int) -> int:
    """Fill a control PDU up to the size configured."""
    clear_octets(frame.octets, length, e.p.control_pdu_bytes)
    frame.kept = max(length, e.p.control_pdu_bytes)
    return frame.kept


@merged
def _next_status(e: Entity, now: int, frame: Any) -> int:
    size = e.p.control_pdu_bytes if e.p.control_pdu_bytes else e.p.pdu_bytes
    used = compose(e, frame.octets, 2 * size)
    if used & 1:
        used = put(frame.octets, used, ZERO, N1)
    _status_sent(e, frame, now)
    return _filled(e, frame, used // 2)


@kernel
def _status_sent(e: Entity, frame: Any, now: int) -> None:
    e.counts.status_pdus += 1
    if e.v.mrw_due:
        mrw_sent(e, now)
    if committed(e):
        report_sent(e, now)
    frame.report = e.counts.reports


@kernel
def _report_for_padding(e: Entity) -> int:
    """Compose what is due if all of it fits after the data of the last new AMD PDU (9.2.1.5); its nibbles, or 0."""
    v = e.v
    if lowest_nacked(e) >= 0 or not can_send_new(e):
        return 0
    room = room_left(e.queue, e.p.pdu_bytes - HEAD_BYTES, e.p.li_octets)
    if room < 3:
        return 0
    e.found.padding = room
    used = compose(e, e.found.scratch, 2 * room)
    return used if used <= 2 * room and v.composed_report and v.composed_to < 0 else 0


@kernel
def _put_in_padding(e: Entity, now: int, frame: Any, length: int, used: int) -> None:
    """Put what was composed after the data of the PDU just made."""
    scratch, begin = e.found.scratch, length - e.found.padding
    if used & 1:
        used = put(scratch, used, ZERO, N1)
    clear_octets(frame.octets, frame.kept, begin)  # the data, where they are not carried
    for i in range(used // 2):
        frame.octets[begin + i] = scratch[i]
    frame.kept = max(frame.kept, begin + used // 2)
    _mark_piggyback(frame.octets, e.p.li_octets)
    e.counts.piggybacked += 1
    _status_sent(e, frame, now)


@kernel
def _mark_piggyback(octets: Any, li: int) -> None:
    """The last indicator says status instead of padding: 0x7E for 0x7F, 0x7FFE for 0x7FFF."""
    at = HEAD_BYTES + li - 1
    while octets[at] & 1:
        at += li
    octets[at] &= 0xFD


@kernel
def carries_data(frame: Any) -> int:
    """Whether it is an AMD PDU (D/C = 1)."""
    return int(np.int64(frame.octets[0]) >> 7)


@kernel
def on_air(e: Entity, frame: Any, end: int) -> None:
    """No timer runs from here."""


@kernel
def receive(e: Entity, frame: Any, octets: int, now: int) -> None:
    """A PDU from the air; SDUs that it completes are handed over."""
    v = e.v
    if v.ended:
        return
    first = np.int64(frame.octets[0])
    if octets < 2:
        e.counts.malformed += 1
    elif first & 0x80:
        if not v.resetting and understood(e, frame, octets, now):
            at = e.store.slot[NEW_PDU].status_at
            take_data(e, frame, now)
            if at:
                _take_status(e, frame, 2 * at, octets, now)
    elif first >> 4 == 0:
        if not v.resetting:
            _take_status(e, frame, ZERO, octets, now)
    else:
        _take_reset(e, frame.octets, octets, now)


@kernel
def _take_status(e: Entity, frame: Any, at: int, length: int, now: int) -> None:
    """A STATUS PDU, or one piggybacked, from nibble `at`; one not understood is discarded whole."""
    found, pdu = e.found, frame.octets
    if get(pdu, at, N1) & 7 or not read_status(e, pdu, at + 1, length, found):
        e.counts.malformed += 1
        return
    if found.window >= 0:
        take_window(e, found.window)
    if found.mrw_sn >= 0:
        take_mrw(e, found.mrw_sn, found.mrw_n, now)
    if found.poll_sn >= 0:
        trigger_status(e)
    take_report(e, now)
    if e.v.lsn >= 0:  # it has a report, or a part of one
        e.v.report_heard = frame.report
    if found.mrw_ack_sn >= 0 and not e.v.resetting:
        take_mrw_ack(e, found.mrw_ack_sn, found.mrw_ack_n)


@kernel
def _take_reset(e: Entity, pdu: Any, length: int, now: int) -> None:
    """A RESET or RESET ACK; a RESET known already is only acknowledged again."""
    v, kind = e.v, np.int64(pdu[0]) >> 4
    if length < 4 or kind > RESET_ACK or pdu[0] & 7:
        e.counts.malformed += 1
        return
    rsn = (np.int64(pdu[0]) >> 3) & 1
    hfni = np.int64(pdu[1]) << 12 | np.int64(pdu[2]) << 4 | np.int64(pdu[3]) >> 4
    if kind == RESET_ACK:
        take_reset_ack(e, rsn, hfni, now)
        return
    if rsn != v.last_rsn:
        v.last_rsn = rsn
        take_reset(e, hfni, now)
    v.reset_ack_due = 1 + rsn


@kernel
def next_timer(e: Entity) -> int:
    """When the entity wants to be woken next, ns; NEVER (2**62) for not at all."""
    if e.v.ended:
        return NEVER
    t = e.timer
    polls = min(t.poll, t.poll_prohibit, t.poll_periodic)
    reports = min(t.epc, t.epc_tick, t.status_prohibit, t.status_periodic)
    return min(discard_due(e), polls, reports, t.mrw, t.rst, t.order)


@kernel
def expire(e: Entity, now: int) -> None:
    """Do what every timer that has expired by `now` asks for."""
    timer = e.timer
    if e.v.ended:
        return
    if timer.rst <= now:
        timer.rst = NEVER
        e.v.reset_due = 1
    if timer.order <= now:
        next_order(e)
        timer.order = order_due(e)
        begin_reset(e)
    if discard_due(e) <= now:
        discard_expired(e, now)
    if timer.mrw <= now:
        timer.mrw = NEVER
        mrw_expired(e)
    expire_polls(e, now)
    expire_reports(e, now)


@kernel
def span(e: Entity, frame: Any) -> tuple[int, int]:
    """From an AMD PDU's first octet to the next PDU's; none of one that is acknowledged."""
    v, q = e.v, e.queue.v
    number = (np.int64(frame.octets[0]) & 0x7F) << 5 | np.int64(frame.octets[1]) >> 3
    following = v.vt_a + ((number - v.vt_a) & SN_MASK) + 1
    if following > v.vt_s:
        return 0, 0
    end = e.store.slot[following & SN_MASK].tx_start if following < v.vt_s else q.front - q.moved
    return frame.start, end


@kernel
def gone(frame: Any, octets: int) -> tuple[int, int]:
    """What is lost is repeated."""
    return 0, 0


@kernel
def restarted(e: Entity) -> int:
    """When RESET ACK answered this end's RESET, or the peer's RESET came."""
    return e.v.reset_ns
