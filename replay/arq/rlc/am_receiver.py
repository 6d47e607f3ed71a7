"""The receiving side of RLC acknowledged mode: window, gaps, reports, delivery (3GPP TS 25.322 11.3 to 11.6)."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.compute.kernels import kernel, merged
from multitracer.replay.arq.fields import NEVER
from multitracer.replay.arq.rlc.am_entity import NEW_PDU, SN_MASK, Entity, after
from multitracer.replay.arq.rlc.reassembly import (
    append_aside,
    close_aside,
    feed,
    restart,
    restart_aside,
    skip_to_end,
)
from multitracer.replay.arq.rlc.segmentation import ENDED_BEFORE, ENDED_SHORT, read_indicators
from multitracer.replay.arq.rlc.status import gap_end, next_gap

_FIRST = np.int64(0)
"""The first end in a PDU."""


@kernel
def trigger_status(e: Entity) -> None:
    """A report is due: at once, or when nothing prohibits it any more (9.7.2)."""
    if e.timer.status_prohibit != NEVER or _estimates(e):
        e.v.status_delayed = 1
    else:
        e.v.status_wanted = 1


@kernel
def _estimates(e: Entity) -> bool:
    """Whether the EPC mechanism is active: PDUs that the last report asked for may still be on their way."""
    return e.timer.epc != NEVER or e.timer.epc_tick != NEVER


@kernel
def understood(e: Entity, frame: Any, length: int, now: int) -> bool:
    """Read the header of an AMD PDU; False, and counted, when it is malformed or not of the size agreed on."""
    pdu = e.store.slot[NEW_PDU]
    he = np.int64(frame.octets[1]) & 3
    pdu.count, pdu.begin, pdu.stop, pdu.status_at = 0, 2, length - 2, 0
    good = he != 3 and length == e.p.pdu_bytes
    if not e.p.length_indicators:
        pdu.stop = length - e.p.header_bytes
        good = he == 2 and pdu.stop > 0
    elif good and he == 1:
        good = read_indicators(frame.octets, 2, length, e.p.li_octets, pdu, e.store.lis, 0)
    pdu.he, pdu.done, pdu.first_ns = he, 0, now
    pdu.start, pdu.sdu, pdu.skip, pdu.cut = frame.start, frame.sdu, frame.skip, frame.cut
    if not good:
        e.counts.malformed += 1
    return good


@merged
def take_data(e: Entity, frame: Any, now: int) -> None:
    """An AMD PDU that `understood` has read: store it, deliver what it completes, ask for what it shows missing."""
    v = e.v
    second = np.int64(frame.octets[1])
    sn12 = (np.int64(frame.octets[0]) & 0x7F) << 5 | second >> 3
    ahead = (sn12 - v.vr_r) & SN_MASK
    e.counts.received += 1
    if ahead >= e.p.rx_window:
        e.counts.outside += 1
    elif e.store.slot[sn12].have:
        e.counts.duplicate += 1
    else:
        _store(e, frame, v.vr_r + ahead, now)
    if second & 4 or _lost_again(e, frame):
        trigger_status(e)


@kernel
def _lost_again(e: Entity, frame: Any) -> bool:
    """Whether something that the last report asked for is missing although all of it was sent before this PDU.

    Each report is found wanting once.
    """
    v = e.v
    if e.p.lost_resend_by_pdu == 0 or frame.answered != e.counts.reports or v.vr_r >= v.report_to:
        return False
    v.report_to = 0
    return True


@merged
def _store(e: Entity, frame: Any, sn: int, now: int) -> None:
    v, slot = e.v, sn & SN_MASK
    if e.r.v.keeps_octets:
        for i in range(e.p.pdu_bytes):
            e.store.rx[slot * e.p.pdu_bytes + i] = frame.octets[i]
    _place(e, e.store.slot[NEW_PDU], slot)
    gap = sn > v.vr_h
    v.heard = 1
    v.vr_h = max(v.vr_h, sn + 1)
    if sn == v.vr_r:
        advance(e, now)
    elif not e.p.in_sequence:
        _deliver_around(e, sn, now)
    wanted = (gap or (e.p.report_each and v.vr_r < v.vr_h)) and e.p.missing_pdu_indication
    if wanted and (e.p.missing_threshold <= 1 or _missing(e) >= e.p.missing_threshold):
        trigger_status(e)


@kernel
def _place(e: Entity, new: Any, slot: int) -> None:
    """Keep what was read of a PDU under its number."""
    pdu, lis = e.store.slot[slot], e.store.lis
    pdu.count, pdu.stop, pdu.he, pdu.done = new.count, new.stop, new.he, new.done
    pdu.begin = slot * e.p.pdu_bytes + new.begin
    pdu.li = slot * (e.p.pdu_bytes // e.p.li_octets)
    pdu.start, pdu.sdu, pdu.skip, pdu.cut, pdu.first_ns = new.start, new.sdu, new.skip, new.cut, new.first_ns
    pdu.have = 1
    for i in range(new.count):
        lis[pdu.li + i] = lis[new.li + i]


@kernel
def advance(e: Entity, now: int) -> None:
    """Put together all PDUs that are next in sequence; VR(R) stops at the first that is missing."""
    v = e.v
    while v.vr_r < v.vr_h and e.store.slot[v.vr_r & SN_MASK].have:
        _use(e, v.vr_r, now)
        v.vr_r += 1


@kernel
def _use(e: Entity, sn: int, now: int) -> None:
    slot = sn & SN_MASK
    feed(e.r, e.above, e.store.rx, e.store.slot[slot], e.store.lis, e.v.skip_ends, now)
    e.v.skip_ends = 0
    e.store.slot[slot].have = 0


@kernel
def _deliver_around(e: Entity, sn: int, now: int) -> None:
    """Out of sequence: hand over the SDUs that PDU `sn`, above a gap, makes complete."""
    pdu = e.store.slot[sn & SN_MASK]
    ends = pdu.count + (1 if pdu.he == 2 else 0)
    for k in range(ends):
        _deliver_if_whole(e, sn, k, now)
    pdu.done |= 2  # what ends after the first end lies in this PDU alone
    later = sn + 1
    while later < e.v.vr_h and e.store.slot[later & SN_MASK].have:
        other = e.store.slot[later & SN_MASK]
        if other.count or other.he == 2:
            _deliver_if_whole(e, later, _FIRST, now)
            return
        later += 1


@kernel
def _end_of(e: Entity, slot: int, k: int) -> int:
    """How many SDU octets of the PDU come before its k-th end."""
    if k < 0:
        return 0
    if k >= e.store.slot[slot].count:
        return e.store.slot[slot].stop
    li: Any = np.int64(e.store.lis[e.store.slot[slot].li + k])
    return 0 if li in (ENDED_BEFORE, ENDED_SHORT) else li


@kernel
def _tells_of_before(e: Entity, slot: int) -> bool:
    """Whether the first end in the PDU is that of data in the PDU before."""
    if e.store.slot[slot].count == 0:
        return False
    li: Any = np.int64(e.store.lis[e.store.slot[slot].li])
    return bool(li in (ENDED_BEFORE, ENDED_SHORT))


@kernel
def _deliver_if_whole(e: Entity, sn: int, k: int, now: int) -> None:
    """Hand over the SDU that ends at the k-th end in PDU `sn`, if all its PDUs are there and it was not yet."""
    slot = sn & SN_MASK
    pdu = e.store.slot[slot]
    if k == 0 and pdu.done & 1:
        return
    first = sn
    if k == 0 and e.p.length_indicators:
        first = _begins_in(e, sn)
        if first < 0:
            return
    restart_aside(e.r)
    for each in range(first, sn):
        at = each & SN_MASK
        last = e.store.slot[at].count - (1 if e.store.slot[at].he != 2 else 0)
        _append_part(e, at, last if each == first else -1, e.store.slot[at].stop)
    _append_part(e, slot, k - 1, _end_of(e, slot, k))
    short = 1 if k == 0 and pdu.count > 0 and e.store.lis[pdu.li] == ENDED_SHORT else 0
    if close_aside(e.r, e.above, short, now) and k == 0:
        pdu.done |= 1


@kernel
def _append_part(e: Entity, slot: int, k: int, stop: int) -> None:
    """Octets of a PDU from after its k-th end (-1: from the first) to `stop` belong to the SDU put together aside."""
    pdu, begin = e.store.slot[slot], _end_of(e, slot, k)
    sdu = pdu.sdu
    if sdu >= 0 and k >= 0:
        sdu += k + (0 if _tells_of_before(e, slot) else 1)
    append_aside(e.r, e.above, e.store.rx, pdu.begin + begin, pdu.begin + stop, pdu.start + begin, sdu, pdu.first_ns)


@kernel
def _begins_in(e: Entity, sn: int) -> int:
    """The PDU with the end before the first end in `sn`, if all from there on are above the gap; else -1."""
    before = sn - 1
    while before > e.v.vr_r and e.store.slot[before & SN_MASK].have:
        slot = before & SN_MASK
        if e.store.slot[slot].count or e.store.slot[slot].he == 2:
            return before
        before -= 1
    return -1


@kernel
def take_mrw(e: Entity, sn12: int, n: int, now: int) -> None:
    """MRW: give up what is missing below SN_MRW, and the first `n` SDUs that end in it; MRW_ACK is due."""
    v = e.v
    ahead = (sn12 - v.vr_r) & SN_MASK
    target = v.vr_r + ahead
    if ahead <= e.p.rx_window:
        for sn in range(v.vr_r, target):
            if e.store.slot[sn & SN_MASK].have:
                _use(e, sn, now)
            elif e.p.length_indicators:
                skip_to_end(e.r)
        v.vr_r, v.vr_h = target, max(v.vr_h, target)
        v.skip_ends = n
        restart(e.r)
        advance(e, now)
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
    e.v.heard = 0
    e.v.report_to = e.v.vr_h
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
def expire_reports(e: Entity, now: int) -> None:
    """Timer_Status_Prohibit, Timer_Status_Periodic and Timer_EPC: what is due of them by `now`.

    The prohibit first: what another timer asks for at the same time must not wait for its next expiry.
    """
    v, timer = e.v, e.timer
    if timer.status_prohibit <= now:
        timer.status_prohibit = NEVER
        if v.status_delayed:
            v.status_delayed = 0
            trigger_status(e)
    if timer.status_periodic <= now:
        timer.status_periodic = after(now, e.p.status_periodic_ns)
        if e.p.periodic_always or v.heard or v.vr_r < v.vr_h:
            trigger_status(e)
    if timer.epc <= now:
        timer.epc = NEVER
        timer.epc_tick = after(now, e.p.tti_ns)
    if timer.epc_tick <= now:
        _epc_tti_over(e, now)


@kernel
def _epc_tti_over(e: Entity, now: int) -> None:
    """A TTI of expected PDUs is over; when all should have come, report if some have not or a report was delayed."""
    v = e.v
    v.vr_ep -= e.p.pdus_per_tti
    e.timer.epc_tick = NEVER
    if v.vr_ep > 0:
        e.timer.epc_tick = after(now, e.p.tti_ns)
    elif v.vr_r < v.epc_to or v.status_delayed:
        v.status_delayed = 0
        trigger_status(e)
