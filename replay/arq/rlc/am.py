"""UMTS RLC in acknowledged mode (3GPP TS 25.322): a state machine that is told the time and asks for nothing.

Five kernels drive an `Entity`: `offer`, `next_frame`, `receive`, `next_timer`, `expire`; `RlcAm` is the
same with octets in and out. Frames are the PDUs as they are in the air.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.compute.kernels import octets as octets_of
from multitracer.compute.records import numbers
from multitracer.replay.arq.rlc import segmentation as segments
from multitracer.replay.arq.rlc.am_discard import discard_due, discard_expired, mrw_expired, mrw_sent
from multitracer.replay.arq.rlc.am_entity import (
    NEVER,
    Entity,
    entity,
)
from multitracer.replay.arq.rlc.am_receiver import (
    NEW_PDU,
    epc_expired,
    epc_tti_over,
    report_sent,
    set_window,
    status_periodic_expired,
    status_prohibit_expired,
    take_data,
    take_mrw,
    trigger_status,
    understood,
)
from multitracer.replay.arq.rlc.am_reset import next_reset, next_reset_ack, take_reset, take_reset_ack
from multitracer.replay.arq.rlc.am_sender import (
    HEAD_BYTES,
    can_send_new,
    lowest_nacked,
    next_data,
    poll_periodic_expired,
    poll_prohibit_expired,
    poll_timer_expired,
    take_mrw_ack,
    take_report,
    take_window,
)
from multitracer.replay.arq.rlc.parameters import Parameters, check
from multitracer.replay.arq.rlc.segmentation import append_sdu, room_left, taken_away
from multitracer.replay.arq.rlc.status import (
    committed,
    compose,
    get,
    put,
    read_status,
    status_due,
)

__all__ = ["Entity", "Parameters", "RlcAm", "entity", "expire", "next_frame", "next_timer", "offer", "receive"]

_RESET, _RESET_ACK = 1, 2


@kernel
def offer(e: Entity, sdu: Any, length: int, now: int) -> bool:
    """An SDU from above; False when there is no room for it."""
    return append_sdu(e.queue, sdu, length, now + e.p.discard_ns)


@kernel
def next_frame(e: Entity, now: int, out: Any) -> int:
    """Write the PDU for this opportunity into `out`; gives its length, 0 for none.

    RESET and RESET ACK before STATUS before AMD PDUs to be sent again before new ones.
    """
    v = e.v
    if v.ended:
        return 0
    if v.reset_ack_due:
        return _filled(e, out, next_reset_ack(e, out))
    if not v.resetting:
        length = _status_or_data(e, now, out)
        if length or not v.resetting:
            return length
    length = next_reset(e, now, out)
    return _filled(e, out, length) if length else 0


@kernel
def _status_or_data(e: Entity, now: int, out: Any) -> int:
    if status_due(e) and e.p.piggyback:
        length = _piggyback(e, now, out)
        if length:
            return length
    while not status_due(e):
        floor = e.v.floor
        length = next_data(e, now, out)
        if length or e.v.resetting or (e.v.floor == floor and not status_due(e)):
            return length
    return _next_status(e, now, out)


@kernel
def _filled(e: Entity, out: Any, length: int) -> int:
    """Fill a control PDU up to the size configured."""
    for i in range(length, e.p.control_pdu_bytes):
        out[i] = 0
    return max(length, e.p.control_pdu_bytes)


@kernel
def _next_status(e: Entity, now: int, out: Any) -> int:
    size = e.p.control_pdu_bytes if e.p.control_pdu_bytes else e.p.pdu_bytes
    used = compose(e, out, 2 * size)
    if used & 1:
        used = put(out, used, 0, 1)
    _status_sent(e, now)
    return _filled(e, out, used // 2)


@kernel
def _status_sent(e: Entity, now: int) -> None:
    e.counts.status_pdus += 1
    if e.v.mrw_due:
        mrw_sent(e, now)
    if committed(e):
        report_sent(e, now)


@kernel
def _piggyback(e: Entity, now: int, out: Any) -> int:
    """The last new AMD PDU with what is due behind its data, if there is such a PDU and all fits (9.2.1.5)."""
    v, li = e.v, e.p.li_octets
    if lowest_nacked(e) >= 0 or not can_send_new(e):
        return 0
    room = room_left(e.queue, e.p.pdu_bytes - HEAD_BYTES, li)
    if room < 3:
        return 0
    used = compose(e, e.scratch, 2 * room)
    if used > 2 * room or not v.composed_report or v.composed_to >= 0:
        return 0
    if used & 1:
        used = put(e.scratch, used, 0, 1)
    length = next_data(e, now, out)
    at = length - room
    for i in range(used // 2):
        out[at + i] = e.scratch[i]
    _mark_piggyback(e, out, li)
    e.counts.piggybacked += 1
    _status_sent(e, now)
    return length


@kernel
def _mark_piggyback(e: Entity, out: Any, li: int) -> None:
    """The last indicator says status instead of padding: 0x7E for 0x7F, 0x7FFE for 0x7FFF."""
    at = HEAD_BYTES + li - 1
    while out[at] & 1:
        at += li
    out[at] &= 0xFD


@kernel
def receive(e: Entity, frame: Any, length: int, now: int) -> None:
    """A PDU from the air; SDUs it completes wait in the reassembly."""
    v = e.v
    if v.ended:
        return
    if length < 2:
        e.counts.malformed += 1
    elif frame[0] & 0x80:
        if not v.resetting and understood(e, frame[:length], length):
            at = e.meta[NEW_PDU].status_at
            take_data(e, frame[:length])
            if at:
                _take_status(e, frame, 2 * at, length, now)
    elif frame[0] >> 4 == 0:
        if not v.resetting:
            _take_status(e, frame, 0, length, now)
    else:
        _take_reset(e, frame, length, now)


@kernel
def _take_status(e: Entity, frame: Any, at: int, length: int, now: int) -> None:
    """A STATUS PDU, or one piggybacked, from nibble `at`; one not understood is discarded whole."""
    found = e.found
    if get(frame, at, 1) & 7 or not read_status(e, frame, at + 1, length, found):
        e.counts.malformed += 1
        return
    if found.window >= 0:
        take_window(e, found.window)
    if found.mrw_sn >= 0:
        take_mrw(e, found.mrw_sn, found.mrw_n)
    if found.poll_sn >= 0:
        trigger_status(e)
    take_report(e, now)
    if found.mrw_ack_sn >= 0 and not e.v.resetting:
        take_mrw_ack(e, found.mrw_ack_sn, found.mrw_ack_n)


@kernel
def _take_reset(e: Entity, frame: Any, length: int, now: int) -> None:
    """A RESET or RESET ACK; a RESET known already is only acknowledged again."""
    v, kind = e.v, frame[0] >> 4
    if length < 4 or kind > _RESET_ACK or frame[0] & 7:
        e.counts.malformed += 1
        return
    rsn = (np.int64(frame[0]) >> 3) & 1
    hfni = np.int64(frame[1]) << 12 | np.int64(frame[2]) << 4 | np.int64(frame[3]) >> 4
    if kind == _RESET_ACK:
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
    return min(discard_due(e), polls, reports, t.mrw, t.rst)


@kernel
def expire(e: Entity, now: int) -> None:
    """Do what every timer that has expired by `now` asks for."""
    timer = e.timer
    if e.v.ended:
        return
    if timer.rst <= now:
        timer.rst = NEVER
        e.v.reset_due = 1
    if discard_due(e) <= now:
        discard_expired(e, now)
    if timer.mrw <= now:
        timer.mrw = NEVER
        mrw_expired(e)
    _expire_polls(e, now)
    _expire_reports(e, now)


@kernel
def _expire_polls(e: Entity, now: int) -> None:
    # The prohibits first: what another timer asks for at the same time is not to wait for the next expiry.
    if e.timer.poll_prohibit <= now:
        poll_prohibit_expired(e)
    if e.timer.poll <= now:
        poll_timer_expired(e)
    if e.timer.poll_periodic <= now:
        poll_periodic_expired(e, now)


@kernel
def _expire_reports(e: Entity, now: int) -> None:
    if e.timer.status_prohibit <= now:
        status_prohibit_expired(e)
    if e.timer.status_periodic <= now:
        status_periodic_expired(e, now)
    if e.timer.epc <= now:
        epc_expired(e, now)
    if e.timer.epc_tick <= now:
        epc_tti_over(e, now)


class RlcAm:
    """One end of an acknowledged-mode link, in octets; times in ns."""

    def __init__(self, parameters: Parameters | None = None) -> None:
        self.parameters = parameters or Parameters()
        self.entity = entity(self.parameters)
        self._out = np.zeros(self.parameters.pdu_bytes, np.uint8)
        # Frames are copied to here: the same type as in the driver, so that the kernels are compiled once.
        self._in = np.zeros(8 * self.parameters.pdu_bytes, np.uint8)
        self._delivered: list[bytes] = []

    def offer(self, sdu: bytes, now: int = 0) -> bool:
        """An SDU from above; False when the queue is full."""
        check("the SDU's length", len(sdu), 1, self.parameters.max_sdu_bytes)
        return bool(offer(self.entity, octets_of(sdu), len(sdu), now))

    def next_frame(self, now: int) -> bytes | None:
        """What to send in this opportunity."""
        length = next_frame(self.entity, now, self._out)
        return self._out[:length].tobytes() if length else None

    def receive(self, frame: bytes, now: int) -> None:
        """A PDU from the air."""
        length = min(len(frame), len(self._in))
        self._in[:length] = octets_of(frame[:length])
        receive(self.entity, self._in, length, now)
        self._delivered += taken(self.entity.r)

    def delivered(self) -> list[bytes]:
        """SDUs for above since the last call."""
        sdus, self._delivered = self._delivered, []
        return sdus

    def next_timer(self) -> int | None:
        """When to call `expire`."""
        soonest = int(next_timer(self.entity))
        return None if soonest == NEVER else soonest

    def expire(self, now: int) -> None:
        """Timers that are due by `now` expire."""
        expire(self.entity, now)

    def request_report(self) -> None:
        """Have a status report sent, as a lower layer may ask for; Timer_Status_Prohibit may delay it."""
        trigger_status(self.entity)

    def set_window(self, size: int) -> None:
        """Have the peer send at most `size` PDUs ahead (WINDOW SUFI)."""
        check("the window", size, 1, self.parameters.rx_window)
        set_window(self.entity, size)

    @property
    def counts(self) -> dict[str, int]:
        """What happened so far, by the names of COUNTS."""
        return numbers(self.entity.counts)

    @property
    def ended(self) -> bool:
        """The link was given up: MaxRST RESETs were not answered."""
        return bool(self.entity.v.ended)

    @property
    def window(self) -> tuple[int, int, int]:
        """VT(A), VT(S) and VT(MS), unwrapped."""
        v = self.entity.v
        return int(v.vt_a), int(v.vt_s), int(v.vt_a + v.vt_ws)


def taken(r: segments.Reassembly) -> list[bytes]:
    """Take away the SDUs that a reassembly has handed over."""
    ends = [0, *r.ends[: int(r.v.out_count)].tolist()]
    sdus = [r.out[a:b].tobytes() for a, b in itertools.pairwise(ends)]
    taken_away(r)
    return sdus
