"""The receiving side of RLC acknowledged mode: window, gaps, reports, delivery (3GPP TS 25.322 11.3 to 11.6)."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.replay.arq.rlc.am_entity import (
    DONE,
    DUPLICATE,
    EPC_NS,
    EPC_TO,
    HAVE,
    HE,
    IN_SEQUENCE,
    LI_OCTETS,
    MALFORMED,
    META,
    MISSING_PDU,
    MRW_ACK_DUE,
    MRW_ACK_N,
    MRW_ACK_SN,
    NEVER,
    OUTSIDE,
    PDUS_PER_TTI,
    RECEIVED,
    REPORTS,
    RX_WINDOW,
    SKIP_ENDS,
    SN_MASK,
    STATUS_DELAYED,
    STATUS_PERIODIC_NS,
    STATUS_PROHIBIT_NS,
    STATUS_WANTED,
    T_EPC,
    T_EPC_TICK,
    T_STATUS_PERIODIC,
    T_STATUS_PROHIBIT,
    TTI_NS,
    VR_EP,
    VR_H,
    VR_R,
    WINDOW_DUE,
    Entity,
    start,
)
from multitracer.replay.arq.rlc.segmentation import (
    COUNT,
    ENDED_BEFORE,
    ENDED_SHORT,
    START,
    STATUS_AT,
    STOP,
    append_aside,
    close_aside,
    feed,
    lose,
    read_indicators,
    restart,
    restart_aside,
)
from multitracer.replay.arq.rlc.status import gap_end, next_gap

_NEW = SN_MASK + 1
"""The row of `meta` and `lis` where a PDU is read before its place is known."""


@kernel
def trigger_status(e: Entity) -> None:
    """A report is due: at once, or when Timer_Status_Prohibit has expired."""
    if e.timer[T_STATUS_PROHIBIT] != NEVER:
        e.v[STATUS_DELAYED] = 1
    else:
        e.v[STATUS_WANTED] = 1


@kernel
def understood(e: Entity, pdu: Any, length: int) -> bool:
    """Read the header of an AMD PDU; False, and counted, when it is malformed or not of the size agreed on."""
    meta = e.meta[_NEW]
    he = pdu[1] & 3
    meta[COUNT], meta[START], meta[STOP], meta[STATUS_AT] = 0, 2, length - 2, 0
    good = he != 3 and length == e.rx.shape[1]
    if good and he == 1:
        good = read_indicators(pdu, 2, length, e.p[LI_OCTETS], meta, e.lis[_NEW], 0)
    meta[HE], meta[DONE] = he, 0
    if not good:
        e.counts[MALFORMED] += 1
    return good


@kernel
def take_data(e: Entity, pdu: Any) -> None:
    """An AMD PDU that `understood` has read: store it, deliver what it completes, ask for what it shows missing."""
    v = e.v
    sn12 = np.int64(pdu[0] & 0x7F) << 5 | np.int64(pdu[1]) >> 3
    ahead = (sn12 - v[VR_R]) & SN_MASK
    e.counts[RECEIVED] += 1
    if ahead >= e.p[RX_WINDOW]:
        e.counts[OUTSIDE] += 1
    elif e.slot[sn12, HAVE]:
        e.counts[DUPLICATE] += 1
    else:
        _store(e, pdu, v[VR_R] + ahead)
    if pdu[1] & 4:
        trigger_status(e)


@kernel
def _store(e: Entity, pdu: Any, sn: int) -> None:
    v, slot = e.v, sn & SN_MASK
    for i in range(len(pdu)):
        e.rx[slot, i] = pdu[i]
    for i in range(META):
        e.meta[slot, i] = e.meta[_NEW, i]
    for i in range(e.meta[_NEW, COUNT]):
        e.lis[slot, i] = e.lis[_NEW, i]
    e.slot[slot, HAVE] = 1
    gap = sn > v[VR_H]
    v[VR_H] = max(v[VR_H], sn + 1)
    if sn == v[VR_R]:
        advance(e)
    elif not e.p[IN_SEQUENCE]:
        _deliver_around(e, sn)
    if gap and e.p[MISSING_PDU]:
        trigger_status(e)


@kernel
def advance(e: Entity) -> None:
    """Put together all PDUs that are next in sequence; VR(R) stops at the first that is missing."""
    v = e.v
    while v[VR_R] < v[VR_H] and e.slot[v[VR_R] & SN_MASK, HAVE]:
        _use(e, v[VR_R])
        v[VR_R] += 1


@kernel
def _use(e: Entity, sn: int) -> None:
    slot = sn & SN_MASK
    meta = e.meta[slot]
    feed(e.r, e.rx[slot], meta, e.lis[slot], meta[HE], e.v[SKIP_ENDS], meta[DONE])
    e.v[SKIP_ENDS] = 0
    e.slot[slot, HAVE] = 0


@kernel
def _deliver_around(e: Entity, sn: int) -> None:
    """Out of sequence: hand over the SDUs that PDU `sn`, above a gap, makes complete."""
    meta = e.meta[sn & SN_MASK]
    ends = meta[COUNT] + (1 if meta[HE] == 2 else 0)
    for k in range(ends):
        _deliver_if_whole(e, sn, k)
    meta[DONE] |= 2  # what ends behind the first end lies in this PDU alone
    later = sn + 1
    while later < e.v[VR_H] and e.slot[later & SN_MASK, HAVE]:
        meta = e.meta[later & SN_MASK]
        if meta[COUNT] or meta[HE] == 2:
            _deliver_if_whole(e, later, 0)
            return
        later += 1


@kernel
def _end_of(e: Entity, slot: int, k: int) -> int:
    """How many SDU octets of the PDU come before its k-th end."""
    if k < 0:
        return 0
    if k >= e.meta[slot, COUNT]:
        return e.meta[slot, STOP]
    li = e.lis[slot, k]
    return 0 if li in (ENDED_BEFORE, ENDED_SHORT) else li


@kernel
def _deliver_if_whole(e: Entity, sn: int, k: int) -> None:
    """Hand over the SDU that ends at the k-th end in PDU `sn`, if all its PDUs are there and it was not yet."""
    slot = sn & SN_MASK
    if k == 0 and e.meta[slot, DONE] & 1:
        return
    first = sn
    if k == 0:
        first = _begins_in(e, sn)
        if first < 0:
            return
    restart_aside(e.r)
    for each in range(first, sn):
        at = each & SN_MASK
        last = e.meta[at, COUNT] - 1 if e.meta[at, HE] != 2 else e.meta[at, COUNT]
        begin = _end_of(e, at, last) if each == first else 0
        append_aside(e.r, e.rx[at], e.meta[at, START] + begin, e.meta[at, START] + e.meta[at, STOP])
    begin = _end_of(e, slot, k - 1)
    append_aside(e.r, e.rx[slot], e.meta[slot, START] + begin, e.meta[slot, START] + _end_of(e, slot, k))
    short = k == 0 and e.meta[slot, COUNT] > 0 and e.lis[slot, 0] == ENDED_SHORT
    if close_aside(e.r, 1 if short else 0) and k == 0:
        e.meta[slot, DONE] |= 1


@kernel
def _begins_in(e: Entity, sn: int) -> int:
    """The PDU with the end before the first end in `sn`, if all from there on are above the gap; else -1."""
    before = sn - 1
    while before > e.v[VR_R] and e.slot[before & SN_MASK, HAVE]:
        slot = before & SN_MASK
        if e.meta[slot, COUNT] or e.meta[slot, HE] == 2:
            return before
        before -= 1
    return -1


@kernel
def take_mrw(e: Entity, sn12: int, n: int) -> None:
    """MRW: give up what is missing below SN_MRW, and the first `n` SDUs that end in it; MRW_ACK is due."""
    v = e.v
    ahead = (sn12 - v[VR_R]) & SN_MASK
    target = v[VR_R] + ahead
    if ahead <= e.p[RX_WINDOW]:
        for sn in range(v[VR_R], target):
            if e.slot[sn & SN_MASK, HAVE]:
                _use(e, sn)
            else:
                lose(e.r)
        v[VR_R], v[VR_H] = target, max(v[VR_H], target)
        v[SKIP_ENDS] = n
        restart(e.r)
        advance(e)
    v[MRW_ACK_DUE], v[MRW_ACK_SN] = 1, v[VR_R]
    v[MRW_ACK_N] = n if v[VR_R] & SN_MASK == sn12 else 0


@kernel
def set_window(e: Entity, size: int) -> None:
    """Have the peer's transmission window made `size`, by a WINDOW SUFI."""
    e.v[WINDOW_DUE] = size


@kernel
def report_sent(e: Entity, now: int) -> None:
    """The first STATUS PDU of a report goes out."""
    e.counts[REPORTS] += 1
    start(e, T_STATUS_PROHIBIT, now, e.p[STATUS_PROHIBIT_NS])
    if e.p[EPC_NS] and e.v[VR_R] < e.v[VR_H]:
        e.v[EPC_TO], e.v[VR_EP] = e.v[VR_H], _missing(e)
        e.timer[T_EPC_TICK] = NEVER
        start(e, T_EPC, now, e.p[EPC_NS])


@kernel
def _missing(e: Entity) -> int:
    """How many PDUs are missing below VR(H)."""
    count, sn = 0, next_gap(e, e.v[VR_R])
    while sn < e.v[VR_H]:
        end = gap_end(e, sn)
        count += end - sn
        sn = next_gap(e, end)
    return count


@kernel
def epc_expired(e: Entity, now: int) -> None:
    """Timer_EPC: from now on a TTI's PDUs are expected each TTI."""
    e.timer[T_EPC] = NEVER
    start(e, T_EPC_TICK, now, e.p[TTI_NS])


@kernel
def epc_tick(e: Entity, now: int) -> None:
    """A TTI of expected PDUs is over; when all should have come and some have not, report."""
    v = e.v
    v[VR_EP] -= e.p[PDUS_PER_TTI]
    e.timer[T_EPC_TICK] = NEVER
    if v[VR_EP] > 0:
        start(e, T_EPC_TICK, now, e.p[TTI_NS])
    elif v[VR_R] < v[EPC_TO]:
        trigger_status(e)


@kernel
def status_prohibit_expired(e: Entity) -> None:
    """Timer_Status_Prohibit: send the one delayed report."""
    e.timer[T_STATUS_PROHIBIT] = NEVER
    if e.v[STATUS_DELAYED]:
        e.v[STATUS_DELAYED] = 0
        e.v[STATUS_WANTED] = 1


@kernel
def status_periodic_expired(e: Entity, now: int) -> None:
    """Timer_Status_Periodic: report."""
    start(e, T_STATUS_PERIODIC, now, e.p[STATUS_PERIODIC_NS])
    trigger_status(e)
