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
from multitracer.replay.arq.rlc import segmentation as segments
from multitracer.replay.arq.rlc.am_discard import discard_due, discard_expired, mrw_expired, mrw_sent
from multitracer.replay.arq.rlc.am_entity import (
    COMPOSED_REPORT,
    COMPOSED_TO,
    CONTROL_BYTES,
    COUNT_NAMES,
    DISCARD_NS,
    ENDED,
    FLOOR,
    LAST_RSN,
    LI_OCTETS,
    MALFORMED,
    MRW_DUE,
    NEVER,
    PDU_BYTES,
    PIGGYBACK,
    PIGGYBACKED,
    RESET_ACK_DUE,
    RESET_DUE,
    RESETTING,
    STATUS_PDUS,
    T_EPC,
    T_EPC_TICK,
    T_MRW,
    T_POLL,
    T_POLL_PERIODIC,
    T_POLL_PROHIBIT,
    T_RST,
    T_STATUS_PERIODIC,
    T_STATUS_PROHIBIT,
    TIMERS,
    VT_A,
    VT_S,
    VT_WS,
    Entity,
    entity,
)
from multitracer.replay.arq.rlc.am_receiver import (
    epc_expired,
    epc_tick,
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
from multitracer.replay.arq.rlc.segmentation import OUT_COUNT, STATUS_AT, append_sdu, room_left, taken_away
from multitracer.replay.arq.rlc.status import (
    F_MRW_ACK_N,
    F_MRW_ACK_SN,
    F_MRW_N,
    F_MRW_SN,
    F_POLL_SN,
    F_WINDOW,
    committed,
    compose,
    get,
    put,
    read_status,
    status_due,
)

__all__ = ["Entity", "Parameters", "RlcAm", "entity", "expire", "next_frame", "next_timer", "offer", "receive"]

_NEW = -1
"""The last row of `meta` and `lis`: the PDU just read."""
_RESET, _RESET_ACK = 1, 2


@kernel
def offer(e: Entity, sdu: Any, length: int, now: int) -> bool:
    """An SDU from above; False when there is no room for it."""
    return append_sdu(e.queue, sdu, length, now + e.p[DISCARD_NS])


@kernel
def next_frame(e: Entity, now: int, out: Any) -> int:
    """Write the PDU for this opportunity into `out`; gives its length, 0 for none.

    RESET and RESET ACK before STATUS before AMD PDUs to be sent again before new ones.
    """
    v = e.v
    if v[ENDED]:
        return 0
    if v[RESET_ACK_DUE]:
        return _filled(e, out, next_reset_ack(e, out))
    if not v[RESETTING]:
        length = _status_or_data(e, now, out)
        if length or not v[RESETTING]:
            return length
    length = next_reset(e, now, out)
    return _filled(e, out, length) if length else 0


@kernel
def _status_or_data(e: Entity, now: int, out: Any) -> int:
    if status_due(e) and e.p[PIGGYBACK]:
        length = _piggyback(e, now, out)
        if length:
            return length
    while not status_due(e):
        floor = e.v[FLOOR]
        length = next_data(e, now, out)
        if length or e.v[RESETTING] or (e.v[FLOOR] == floor and not status_due(e)):
            return length
    return _next_status(e, now, out)


@kernel
def _filled(e: Entity, out: Any, length: int) -> int:
    """Fill a control PDU up to the size configured."""
    for i in range(length, e.p[CONTROL_BYTES]):
        out[i] = 0
    return max(length, e.p[CONTROL_BYTES])


@kernel
def _next_status(e: Entity, now: int, out: Any) -> int:
    size = e.p[CONTROL_BYTES] if e.p[CONTROL_BYTES] else e.p[PDU_BYTES]
    used = compose(e, out, 2 * size)
    if used & 1:
        used = put(out, used, 0, 1)
    _status_sent(e, now)
    return _filled(e, out, used // 2)


@kernel
def _status_sent(e: Entity, now: int) -> None:
    e.counts[STATUS_PDUS] += 1
    if e.v[MRW_DUE]:
        mrw_sent(e, now)
    if committed(e):
        report_sent(e, now)


@kernel
def _piggyback(e: Entity, now: int, out: Any) -> int:
    """The last new AMD PDU with what is due behind its data, if there is such a PDU and all fits (9.2.1.5)."""
    v, li = e.v, e.p[LI_OCTETS]
    if lowest_nacked(e) >= 0 or not can_send_new(e):
        return 0
    room = room_left(e.queue, e.p[PDU_BYTES] - HEAD_BYTES, li)
    if room < 3:
        return 0
    used = compose(e, e.scratch, 2 * room)
    if used > 2 * room or not v[COMPOSED_REPORT] or v[COMPOSED_TO] >= 0:
        return 0
    if used & 1:
        used = put(e.scratch, used, 0, 1)
    length = next_data(e, now, out)
    at = length - room
    for i in range(used // 2):
        out[at + i] = e.scratch[i]
    _mark_piggyback(e, out, li)
    e.counts[PIGGYBACKED] += 1
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
    if v[ENDED]:
        return
    if length < 2:
        e.counts[MALFORMED] += 1
    elif frame[0] & 0x80:
        if not v[RESETTING] and understood(e, frame[:length], length):
            at = e.meta[_NEW, STATUS_AT]
            take_data(e, frame[:length])
            if at:
                _take_status(e, frame, 2 * at, length, now)
    elif frame[0] >> 4 == 0:
        if not v[RESETTING]:
            _take_status(e, frame, 0, length, now)
    else:
        _take_reset(e, frame, length, now)


@kernel
def _take_status(e: Entity, frame: Any, at: int, length: int, now: int) -> None:
    """A STATUS PDU, or one piggybacked, from nibble `at`; one not understood is discarded whole."""
    found = e.found
    if get(frame, at, 1) & 7 or not read_status(e, frame, at + 1, length, found):
        e.counts[MALFORMED] += 1
        return
    if found[F_WINDOW] >= 0:
        take_window(e, found[F_WINDOW])
    if found[F_MRW_SN] >= 0:
        take_mrw(e, found[F_MRW_SN], found[F_MRW_N])
    if found[F_POLL_SN] >= 0:
        trigger_status(e)
    take_report(e, now)
    if found[F_MRW_ACK_SN] >= 0 and not e.v[RESETTING]:
        take_mrw_ack(e, found[F_MRW_ACK_SN], found[F_MRW_ACK_N])


@kernel
def _take_reset(e: Entity, frame: Any, length: int, now: int) -> None:
    """A RESET or RESET ACK; a RESET known already is only acknowledged again."""
    v, kind = e.v, frame[0] >> 4
    if length < 4 or kind > _RESET_ACK or frame[0] & 7:
        e.counts[MALFORMED] += 1
        return
    rsn = (np.int64(frame[0]) >> 3) & 1
    hfni = np.int64(frame[1]) << 12 | np.int64(frame[2]) << 4 | np.int64(frame[3]) >> 4
    if kind == _RESET_ACK:
        take_reset_ack(e, rsn, hfni, now)
        return
    if rsn != v[LAST_RSN]:
        v[LAST_RSN] = rsn
        take_reset(e, hfni, now)
    v[RESET_ACK_DUE] = 1 + rsn


@kernel
def next_timer(e: Entity) -> int:
    """When the entity wants to be woken next, ns; NEVER (2**62) for not at all."""
    if e.v[ENDED]:
        return NEVER
    soonest = discard_due(e)
    for i in range(TIMERS):
        soonest = min(soonest, e.timer[i])
    return soonest


@kernel
def expire(e: Entity, now: int) -> None:
    """Do what every timer that has expired by `now` asks for."""
    timer = e.timer
    if e.v[ENDED]:
        return
    if timer[T_RST] <= now:
        timer[T_RST] = NEVER
        e.v[RESET_DUE] = 1
    if discard_due(e) <= now:
        discard_expired(e, now)
    if timer[T_MRW] <= now:
        timer[T_MRW] = NEVER
        mrw_expired(e)
    _expire_polls(e, now)
    _expire_reports(e, now)


@kernel
def _expire_polls(e: Entity, now: int) -> None:
    # The prohibits first: what another timer asks for at the same time is not to wait for the next expiry.
    if e.timer[T_POLL_PROHIBIT] <= now:
        poll_prohibit_expired(e)
    if e.timer[T_POLL] <= now:
        poll_timer_expired(e)
    if e.timer[T_POLL_PERIODIC] <= now:
        poll_periodic_expired(e, now)


@kernel
def _expire_reports(e: Entity, now: int) -> None:
    if e.timer[T_STATUS_PROHIBIT] <= now:
        status_prohibit_expired(e)
    if e.timer[T_STATUS_PERIODIC] <= now:
        status_periodic_expired(e, now)
    if e.timer[T_EPC] <= now:
        epc_expired(e, now)
    if e.timer[T_EPC_TICK] <= now:
        epc_tick(e, now)


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
        """What happened so far, by `rlc_entity.COUNT_NAMES`."""
        return dict(zip(COUNT_NAMES, self.entity.counts.tolist(), strict=True))

    @property
    def ended(self) -> bool:
        """The link was given up: MaxRST RESETs were not answered."""
        return bool(self.entity.v[ENDED])

    @property
    def window(self) -> tuple[int, int, int]:
        """VT(A), VT(S) and VT(MS), unwrapped."""
        v = self.entity.v
        return int(v[VT_A]), int(v[VT_S]), int(v[VT_A] + v[VT_WS])


def taken(r: segments.Reassembly) -> list[bytes]:
    """Take away the SDUs that a reassembly has handed over."""
    ends = [0, *r.ends[: int(r.v[OUT_COUNT])].tolist()]
    sdus = [r.out[a:b].tobytes() for a, b in itertools.pairwise(ends)]
    taken_away(r)
    return sdus
