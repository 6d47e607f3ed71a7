"""The reset procedure of RLC acknowledged mode (3GPP TS 25.322 11.4)."""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import kernel
from multitracer.replay.arq.fields import NEVER, codes
from multitracer.replay.arq.rlc.am_entity import REESTABLISH, Entity, after, clear, stop_timers
from multitracer.replay.arq.rlc.queue import drop_waiting, report_lost

RESET, RESET_ACK = codes(2, 1)
"""Types of control PDUs, 9.2.1."""
RESET_OCTETS, *_ = codes(1, 4)
"""Type, RSN, R1 and HFNI, 9.2.1.6."""


@kernel
def begin_reset(e: Entity) -> None:
    """Unrecoverable but by a reset: data stop, a RESET is due."""
    v = e.v
    if v.resetting or v.ended:
        return
    v.resetting, v.vt_rst, v.reset_due = 1, 0, 1
    stop_timers(e)


@kernel
def next_reset(e: Entity, now: int, frame: Any) -> int:
    """The RESET that is due; at MaxRST the link is given up instead, or re-established, from VT(RST) = 0 on."""
    v = e.v
    if not v.reset_due:
        return 0
    v.reset_due = 0
    v.vt_rst += 1
    if v.vt_rst >= e.p.max_rst:
        if e.p.after_max_rst != REESTABLISH:
            v.ended = 1
            stop_timers(e)
            return 0
        e.counts.reestablished += 1
        v.vt_rst = 1
    e.counts.resets += 1
    e.timer.rst = after(now, e.p.rst_ns)
    return _put_reset(e, frame.octets, RESET, v.rsn)


@kernel
def next_reset_ack(e: Entity, frame: Any) -> int:
    """The RESET ACK that is due."""
    rsn = e.v.reset_ack_due - 1
    e.v.reset_ack_due = 0
    return _put_reset(e, frame.octets, RESET_ACK, rsn)


@kernel
def _put_reset(e: Entity, out: Any, kind: int, rsn: int) -> int:
    """RESET or RESET ACK: type, RSN, and HFNI: the hyper frame number of the next PDU sent (9.2.1.6)."""
    hfni = (e.v.hfn + (e.v.vt_s >> 12)) & 0xFFFFF
    out[0] = kind << 4 | rsn << 3
    out[1], out[2], out[3] = hfni >> 12, (hfni >> 4) & 0xFF, (hfni & 15) << 4
    return RESET_OCTETS


@kernel
def take_reset(e: Entity, hfni: int, now: int) -> None:
    """A RESET with a new RSN: begin anew and acknowledge."""
    e.counts.resets_taken += 1
    _anew(e, hfni, now)


@kernel
def take_reset_ack(e: Entity, rsn: int, hfni: int, now: int) -> None:
    """The RESET ACK: if it is of this reset, begin anew."""
    v = e.v
    if not v.resetting or rsn != v.rsn or v.ended:
        return
    v.resetting, v.reset_due, v.rsn = 0, 0, rsn ^ 1
    e.timer.rst = NEVER
    e.counts.resets_done += 1
    _anew(e, hfni, now)


@kernel
def _anew(e: Entity, hfni: int, now: int) -> None:
    """Forget windows and what was under way; discard the SDUs begun, or all (11.4.3)."""
    v, q = e.v, e.queue
    waiting = q.v.next + (1 if q.v.taken else 0)
    first = q.v.tail if e.p.reset_discards_all else min(q.v.tail, waiting)
    e.counts.discarded += max(0, first - max(q.v.head, v.discard_to))
    report_lost(q, e.above, max(q.v.head, v.discard_to), first)
    drop_waiting(q, first)
    q.v.head, q.v.ending = first, 0
    v.discard_to = first
    v.reset_ns = now
    v.hfn, v.peer_hfn = max(v.hfn + (v.vt_s >> 12), hfni) + 1, hfni
    resetting, timer = v.resetting, e.timer.rst
    clear(e, now)
    v.resetting, e.timer.rst = resetting, timer
