"""RLP's receiving window (3GPP TS 24.022 5): delivery in order, requests for what is missing, and their timers.

What comes in order is delivered without being buffered, while nothing is missing; slots are
searched only while some wait for a request to be sent, or to be sent again.
"""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import kernel
from multitracer.replay.arq.fields import NEVER
from multitracer.replay.arq.rlp.l2r import NANO, condition, drained
from multitracer.replay.arq.rlp.state import (
    ASKED,
    COUNT_AT,
    NR_AT,
    RECEIVED,
    REJ,
    S_AT,
    SREJ,
    STATUS_AT,
    WANTED,
    after,
)
from multitracer.replay.arq.stretches import hand_over
from multitracer.wire.rlp import MODULUS, XOFF_BIT


@kernel
def request(e: Any, now: int) -> int:
    """The supervisory fields that ask for the lowest missing frame, and its timer T_RCVS started."""
    n = e.request_from
    while e.r_state[n] != WANTED:
        n = after(n)
    e.r_state[n] = ASKED
    e.r_due[n] = now + e.t_rcvs
    e.r_tries[n] += 1
    e.request_from = after(n)
    e.requests -= 1
    e.asked_slots += 1
    e.t_rcvs_due = min(e.t_rcvs_due, e.r_due[n])
    e.srej_sent += 1
    return (REJ if e.reject else SREJ) << S_AT | n << NR_AT


@kernel
def keep(e: Any, n: int, place: int, content: int, position: int, now: int) -> None:
    """Buffer frame n, which is `place` ahead of V(R)."""
    if place >= e.span:
        miss(e, place)
        e.span = place + 1
    elif e.r_state[n] == RECEIVED:
        e.duplicates += 1
        return
    else:
        clear_missing(e, n)
    e.r_state[n] = RECEIVED
    e.r_position[n] = position
    e.r_content[n] = content
    e.r_first[n] = now


@kernel
def miss(e: Any, places: int) -> None:
    """Note that the frames up to `places` ahead of V(R), as far as nothing is known of them, are missing."""
    n = e.vr + e.span
    n = n - MODULUS if n >= MODULUS else n
    if e.requests == 0:
        e.request_from = n
    for _ in range(places - e.span):
        e.r_state[n] = WANTED
        e.r_tries[n] = 0
        e.requests += 1
        n = after(n)
    e.span = places


@kernel
def clear_missing(e: Any, n: int) -> None:
    """Frame n, which was missing, is here: it is not asked for any more."""
    if e.r_state[n] == WANTED:
        e.requests -= 1
    else:
        e.asked_slots -= 1
        if e.asked_slots == 0:
            e.t_rcvs_due = NEVER


@kernel
def forget(e: Any) -> None:
    """Drop all frames received out of sequence, and all requests."""
    n = e.vr
    for _ in range(e.span):
        e.r_state[n] = 0
        n = after(n)
    e.span = 0
    e.requests = 0
    e.asked_slots = 0
    e.t_rcvs_due = NEVER


@kernel
def catch_up(e: Any, content: int, position: int, now: int) -> None:
    """Deliver the first missing frame, and what was waiting for it."""
    n = e.vr
    clear_missing(e, n)
    e.r_state[n] = 0
    deliver(e, content, position, now, now)
    n = after(n)
    e.span -= 1
    while e.span > 0 and e.r_state[n] == RECEIVED:
        e.r_state[n] = 0
        deliver(e, e.r_content[n], e.r_position[n], e.r_first[n], now)
        n = after(n)
        e.span -= 1
    e.vr = n


@kernel
def deliver(e: Any, content: int, position: int, first_ns: int, now: int) -> None:
    """Hand up a frame's characters, which came at `first_ns`; a position of -1 is whatever is expected."""
    count, x = content >> COUNT_AT, content >> STATUS_AT & XOFF_BIT
    if x != e.xoff:
        e.xoff = x
        if x:
            e.xoffs += 1
            e.xoff_since = now
        else:
            e.xons += 1
            e.xoff_ns += now - e.xoff_since
    if count == 0:
        return
    if 0 <= position < e.expected:  # an old frame, taken for a new one: see Parameters.window
        e.misdelivered += 1
    else:
        if position > e.expected:
            skip(e, position)
        if e.delivered == 0:
            e.first_delivery = now
        hand_over(e.above, e.expected, e.expected + count, -1, first_ns)
        e.expected += count
        e.delivered += count
        e.last_delivery = now
        e.fresh = 0
    if e.drain > 0:
        watch(e, now)
        e.level += count * NANO
        e.x = condition(e.x, e.level, e.high, e.low)
        if e.x:
            e.look_due = min(e.look_due, now + xon_after(e))


@kernel
def skip(e: Any, position: int) -> None:
    """Characters that never come: a reset dropped them, or an old frame was taken for theirs."""
    if e.fresh:
        e.skipped += position - e.expected
    else:
        e.misdelivered += 1
    e.expected = position


@kernel
def watch(e: Any, now: int) -> None:
    """Let the far-end buffer drain until now, and see what it says of flow control."""
    e.level = drained(e.level, e.drain, now - e.level_time)
    e.level_time = now
    e.x = condition(e.x, e.level, e.high, e.low)


@kernel
def xon_after(e: Any) -> int:
    """How long (ns) the far-end buffer takes to drain to the level of XON."""
    return (e.level - e.low * NANO + e.drain - 1) // e.drain


@kernel
def ask_again(e: Any, now: int) -> bool:
    """Have overdue requests sent again; False, and nothing more done, when one was sent N2 times again already."""
    earliest, n = NEVER, e.vr
    for _ in range(e.span):
        if e.r_state[n] == ASKED:
            if e.r_due[n] > now:
                earliest = min(earliest, e.r_due[n])
            elif e.r_tries[n] > e.n2:
                return False
            else:
                e.r_state[n] = WANTED
                e.request_from = e.vr
                e.requests += 1
                e.asked_slots -= 1
        n = after(n)
    e.t_rcvs_due = earliest
    return True
