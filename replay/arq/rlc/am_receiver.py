"""The receiving side of RLC acknowledged mode: window, gaps, reports, delivery (3GPP TS 25.322 11.3 to 11.6)."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.replay.arq.rlc.am_entity import NEVER, SN_MASK, Entity, after
from multitracer.replay.arq.rlc.segmentation import (
    ENDED_BEFORE,
    ENDED_SHORT,
    append_aside,
    close_aside,
    feed,
    lose,
    read_indicators,
    restart,
    restart_aside,
)
from multitracer.replay.arq.rlc.status import gap_end, next_gap

NEW_PDU = SN_MASK + 1
"""The row of `meta` and `lis` where a PDU is read before its place is known."""


@kernel
def trigger_status(e: Entity) -> None:
    """A report is due: at once, or when Timer_Status_Prohibit has expired."""
    if e.timer.status_prohibit != NEVER:
        e.v.status_delayed = 1
    else:
        e.v.status_wanted = 1


@kernel
def understood(e: Entity, pdu: Any, length: int) -> bool:
    """Read the header of an AMD PDU; False, and counted, when it is malformed or not of the size agreed on."""
    meta = e.meta[NEW_PDU]
    he = pdu[1] & 3
    meta.count, meta.start, meta.stop, meta.status_at = 0, 2, length - 2, 0
    good = he != 3 and length == e.rx.shape[1]
    if good and he == 1:
        good = read_indicators(pdu, 2, length, e.p.li_octets, meta, e.lis[NEW_PDU], 0)
    meta.he, meta.done = he, 0
    if not good:
        e.counts.malformed += 1
    return good


@kernel
def take_data(e: Entity, pdu: Any) -> None:
    """An AMD PDU that `understood` has read: store it, deliver what it completes, ask for what it shows missing."""
    v = e.v
    sn12 = np.int64(pdu[0] & 0x7F) << 5 | np.int64(pdu[1]) >> 3
    ahead = (sn12 - v.vr_r) & SN_MASK
    e.counts.received += 1
    if ahead >= e.p.rx_window:
        e.counts.outside += 1
    elif e.slot[sn12].have:
        e.counts.duplicate += 1
    else:
        _store(e, pdu, v.vr_r + ahead)
    if pdu[1] & 4:
        trigger_status(e)


@kernel
def _store(e: Entity, pdu: Any, sn: int) -> None:
    v, slot = e.v, sn & SN_MASK
    for i in range(len(pdu)):
        e.rx[slot, i] = pdu[i]
    meta, new = e.meta[slot], e.meta[NEW_PDU]
    meta.count, meta.start, meta.stop, meta.status_at = new.count, new.start, new.stop, new.status_at
    meta.he, meta.done = new.he, new.done
    for i in range(new.count):
        e.lis[slot, i] = e.lis[NEW_PDU, i]
    e.slot[slot].have = 1
    gap = sn > v.vr_h
    v.vr_h = max(v.vr_h, sn + 1)
    if sn == v.vr_r:
        advance(e)
    elif not e.p.in_sequence:
        _deliver_around(e, sn)
    if gap and e.p.missing_pdu_indication:
        trigger_status(e)


@kernel
def advance(e: Entity) -> None:
    """Put together all PDUs that are next in sequence; VR(R) stops at the first that is missing."""
    v = e.v
    while v.vr_r < v.vr_h and e.slot[v.vr_r & SN_MASK].have:
        _use(e, v.vr_r)
        v.vr_r += 1


@kernel
def _use(e: Entity, sn: int) -> None:
    slot = sn & SN_MASK
    meta = e.meta[slot]
    feed(e.r, e.rx[slot], meta, e.lis[slot], meta.he, e.v.skip_ends, meta.done)
    e.v.skip_ends = 0
    e.slot[slot].have = 0


@kernel
def _deliver_around(e: Entity, sn: int) -> None:
    """Out of sequence: hand over the SDUs that PDU `sn`, above a gap, makes complete."""
    meta = e.meta[sn & SN_MASK]
    ends = meta.count + (1 if meta.he == 2 else 0)
    for k in range(ends):
        _deliver_if_whole(e, sn, k)
    meta.done |= 2  # what ends behind the first end lies in this PDU alone
    later = sn + 1
    while later < e.v.vr_h and e.slot[later & SN_MASK].have:
        meta = e.meta[later & SN_MASK]
        if meta.count or meta.he == 2:
            _deliver_if_whole(e, later, 0)
            return
        later += 1


@kernel
def _end_of(e: Entity, slot: int, k: int) -> int:
    """How many SDU octets of the PDU come before its k-th end."""
    if k < 0:
        return 0
    if k >= e.meta[slot].count:
        return e.meta[slot].stop
    li = e.lis[slot, k]
    return 0 if li in (ENDED_BEFORE, ENDED_SHORT) else li


@kernel
def _deliver_if_whole(e: Entity, sn: int, k: int) -> None:
    """Hand over the SDU that ends at the k-th end in PDU `sn`, if all its PDUs are there and it was not yet."""
    slot = sn & SN_MASK
    if k == 0 and e.meta[slot].done & 1:
        return
    first = sn
    if k == 0:
        first = _begins_in(e, sn)
        if first < 0:
            return
    restart_aside(e.r)
    for each in range(first, sn):
        at = each & SN_MASK
        last = e.meta[at].count - 1 if e.meta[at].he != 2 else e.meta[at].count
        begin = _end_of(e, at, last) if each == first else 0
        append_aside(e.r, e.rx[at], e.meta[at].start + begin, e.meta[at].start + e.meta[at].stop)
    begin = _end_of(e, slot, k - 1)
    append_aside(e.r, e.rx[slot], e.meta[slot].start + begin, e.meta[slot].start + _end_of(e, slot, k))
    short = k == 0 and e.meta[slot].count > 0 and e.lis[slot, 0] == ENDED_SHORT
    if close_aside(e.r, 1 if short else 0) and k == 0:
        e.meta[slot].done |= 1


@kernel
def _begins_in(e: Entity, sn: int) -> int:
    """The PDU with the end before the first end in `sn`, if all from there on are above the gap; else -1."""
    before = sn - 1
    while before > e.v.vr_r and e.slot[before & SN_MASK].have:
        slot = before & SN_MASK
        if e.meta[slot].count or e.meta[slot].he == 2:
            return before
        before -= 1
    return -1


@kernel
def take_mrw(e: Entity, sn12: int, n: int) -> None:
    """MRW: give up what is missing below SN_MRW, and the first `n` SDUs that end in it; MRW_ACK is due."""
    v = e.v
    ahead = (sn12 - v.vr_r) & SN_MASK
    target = v.vr_r + ahead
    if ahead <= e.p.rx_window:
        for sn in range(v.vr_r, target):
            if e.slot[sn & SN_MASK].have:
                _use(e, sn)
            else:
                lose(e.r)
        v.vr_r, v.vr_h = target, max(v.vr_h, target)
        v.skip_ends = n
        restart(e.r)
        advance(e)
    v.mrw_ack_due, v.mrw_ack_sn = 1, v.vr_r
    v.mrw_ack_n = n if v.vr_r & SN_MASK == sn12 else 0


@kernel
def set_window(e: Entity, size: int) -> None:
    """Have the peer's transmission window made `size`, by a WINDOW SUFI."""
    e.v.window_due = size


@kernel
def report_sent(e: Entity, now: int) -> None:
    """The first STATUS PDU of a report goes out."""
    e.counts.reports += 1
    e.timer.status_prohibit = after(now, e.p.status_prohibit_ns)
    if e.p.epc_ns and e.v.vr_r < e.v.vr_h:
        e.v.epc_to, e.v.vr_ep = e.v.vr_h, _missing(e)
        e.timer.epc_tick = NEVER
        e.timer.epc = after(now, e.p.epc_ns)


@kernel
def _missing(e: Entity) -> int:
    """How many PDUs are missing below VR(H)."""
    count, sn = 0, next_gap(e, e.v.vr_r)
    while sn < e.v.vr_h:
        end = gap_end(e, sn)
        count += end - sn
        sn = next_gap(e, end)
    return count


@kernel
def epc_expired(e: Entity, now: int) -> None:
    """Timer_EPC: from now on a TTI's PDUs are expected each TTI."""
    e.timer.epc = NEVER
    e.timer.epc_tick = after(now, e.p.tti_ns)


@kernel
def epc_tti_over(e: Entity, now: int) -> None:
    """A TTI of expected PDUs is over; when all should have come and some have not, report."""
    v = e.v
    v.vr_ep -= e.p.pdus_per_tti
    e.timer.epc_tick = NEVER
    if v.vr_ep > 0:
        e.timer.epc_tick = after(now, e.p.tti_ns)
    elif v.vr_r < v.epc_to:
        trigger_status(e)


@kernel
def status_prohibit_expired(e: Entity) -> None:
    """Timer_Status_Prohibit: send the one delayed report."""
    e.timer.status_prohibit = NEVER
    if e.v.status_delayed:
        e.v.status_delayed = 0
        e.v.status_wanted = 1


@kernel
def status_periodic_expired(e: Entity, now: int) -> None:
    """Timer_Status_Periodic: report."""
    e.timer.status_periodic = after(now, e.p.status_periodic_ns)
    trigger_status(e)
