"""The reset procedure of RLC acknowledged mode (3GPP TS 25.322 11.4)."""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import kernel
from multitracer.replay.arq.rlc.am_entity import (
    DISCARD_TO,
    DISCARDED,
    DISCARDS_ALL,
    ENDED,
    HFN,
    MAX_RST,
    NEVER,
    PEER_HFN,
    RESET_ACK_DUE,
    RESET_DUE,
    RESETS,
    RESETS_DONE,
    RESETS_TAKEN,
    RESETTING,
    RSN,
    RST_NS,
    T_RST,
    VT_RST,
    VT_S,
    Entity,
    clear,
    start,
)
from multitracer.replay.arq.rlc.segmentation import ENDING, HEAD, NEXT, TAIL, TAKEN, drop_waiting


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
