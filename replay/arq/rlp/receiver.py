"""RLP's receiving window (3GPP TS 24.022 5): delivery in order, requests for what is missing, and their timers.

What comes in order is delivered without being buffered, while nothing is missing; slots are
searched only while some wait for a request to be sent, or to be sent again.
"""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import kernel
from multitracer.replay.arq.rlp.l2r import NANO, condition, drained
from multitracer.replay.arq.rlp.state import (
    ASKED,
    ASKED_SLOTS,
    COUNT_AT,
    DELIVERED,
    DRAIN,
    DUPLICATES,
    EXPECTED,
    FIRST_DELIVERY,
    FRESH,
    HIGH,
    LAST_DELIVERY,
    LEVEL,
    LEVEL_TIME,
    LOW,
    MISDELIVERED,
    N2,
    NEVER,
    NR_AT,
    R_CONTENT,
    R_DUE,
    R_POSITION,
    R_STATE,
    R_TRIES,
    RECEIVED,
    REJ,
    REJECT,
    REQUEST_FROM,
    REQUESTS,
    S_AT,
    SKIPPED,
    SPAN,
    SREJ,
    SREJ_SENT,
    STATUS_AT,
    T_RCVS,
    T_RCVS_PERIOD,
    VR,
    WANTED,
    XOFF,
    XOFFS,
    XONS,
    X,
    after,
)
from multitracer.wire.rlp import MODULUS, XOFF_BIT


@kernel
def request(e: Any, now: int) -> int:
    """The supervisory fields that ask for the lowest missing frame, and its timer T_RCVS started."""
    n = e[REQUEST_FROM]
    while e[R_STATE + n] != WANTED:
        n = after(n)
    e[R_STATE + n] = ASKED
    e[R_DUE + n] = now + e[T_RCVS_PERIOD]
    e[R_TRIES + n] += 1
    e[REQUEST_FROM] = after(n)
    e[REQUESTS] -= 1
    e[ASKED_SLOTS] += 1
    e[T_RCVS] = min(e[T_RCVS], e[R_DUE + n])
    e[SREJ_SENT] += 1
    return (REJ if e[REJECT] else SREJ) << S_AT | n << NR_AT


@kernel
def keep(e: Any, n: int, place: int, content: int, position: int) -> None:
    """Buffer frame n, which is `place` ahead of V(R)."""
    if place >= e[SPAN]:
        miss(e, place)
        e[SPAN] = place + 1
    elif e[R_STATE + n] == RECEIVED:
        e[DUPLICATES] += 1
        return
    else:
        found(e, n)
    e[R_STATE + n] = RECEIVED
    e[R_POSITION + n] = position
    e[R_CONTENT + n] = content


@kernel
def miss(e: Any, places: int) -> None:
    """Note that the frames up to `places` ahead of V(R), as far as nothing is known of them, are missing."""
    n = e[VR] + e[SPAN]
    n = n - MODULUS if n >= MODULUS else n
    if e[REQUESTS] == 0:
        e[REQUEST_FROM] = n
    for _ in range(places - e[SPAN]):
        e[R_STATE + n] = WANTED
        e[R_TRIES + n] = 0
        e[REQUESTS] += 1
        n = after(n)
    e[SPAN] = places


@kernel
def found(e: Any, n: int) -> None:
    """Frame n, which was missing, is here: it is not asked for any more."""
    if e[R_STATE + n] == WANTED:
        e[REQUESTS] -= 1
    else:
        e[ASKED_SLOTS] -= 1
        if e[ASKED_SLOTS] == 0:
            e[T_RCVS] = NEVER


@kernel
def forget(e: Any) -> None:
    """Drop all frames received out of sequence, and all requests."""
    n = e[VR]
    for _ in range(e[SPAN]):
        e[R_STATE + n] = 0
        n = after(n)
    e[SPAN] = 0
    e[REQUESTS] = 0
    e[ASKED_SLOTS] = 0
    e[T_RCVS] = NEVER


@kernel
def catch_up(e: Any, content: int, position: int, now: int) -> None:
    """Deliver the first missing frame, and what was waiting behind it."""
    n = e[VR]
    found(e, n)
    e[R_STATE + n] = 0
    deliver(e, content, position, now)
    n = after(n)
    e[SPAN] -= 1
    while e[SPAN] > 0 and e[R_STATE + n] == RECEIVED:
        e[R_STATE + n] = 0
        deliver(e, e[R_CONTENT + n], e[R_POSITION + n], now)
        n = after(n)
        e[SPAN] -= 1
    e[VR] = n


@kernel
def deliver(e: Any, content: int, position: int, now: int) -> None:
    """Hand a frame's characters up; a position of -1 is whatever is expected."""
    count, x = content >> COUNT_AT, content >> STATUS_AT & XOFF_BIT
    if x != e[XOFF]:
        e[XOFF] = x
        e[XOFFS if x else XONS] += 1
    if count == 0:
        return
    if 0 <= position < e[EXPECTED]:  # an old frame, taken for a new one: see Parameters.window
        e[MISDELIVERED] += 1
    else:
        if position > e[EXPECTED]:
            skip(e, position)
        if e[DELIVERED] == 0:
            e[FIRST_DELIVERY] = now
        e[EXPECTED] += count
        e[DELIVERED] += count
        e[LAST_DELIVERY] = now
        e[FRESH] = 0
    if e[DRAIN] > 0:
        watch(e, now)
        e[LEVEL] += count * NANO
        e[X] = condition(e[X], e[LEVEL], e[HIGH], e[LOW])


@kernel
def skip(e: Any, position: int) -> None:
    """Characters that never come: a reset dropped them, or an old frame was taken for theirs."""
    if e[FRESH]:
        e[SKIPPED] += position - e[EXPECTED]
    else:
        e[MISDELIVERED] += 1
    e[EXPECTED] = position


@kernel
def watch(e: Any, now: int) -> None:
    """Let the far-end buffer drain until now, and see what it says of flow control."""
    e[LEVEL] = drained(e[LEVEL], e[DRAIN], now - e[LEVEL_TIME])
    e[LEVEL_TIME] = now
    e[X] = condition(e[X], e[LEVEL], e[HIGH], e[LOW])


@kernel
def ask_again(e: Any, now: int) -> bool:
    """Have overdue requests sent again; False, and nothing more done, when one was sent N2 times again already."""
    earliest, n = NEVER, e[VR]
    for _ in range(e[SPAN]):
        if e[R_STATE + n] == ASKED:
            if e[R_DUE + n] > now:
                earliest = min(earliest, e[R_DUE + n])
            elif e[R_TRIES + n] > e[N2]:
                return False
            else:
                e[R_STATE + n] = WANTED
                e[REQUEST_FROM] = e[VR]
                e[REQUESTS] += 1
                e[ASKED_SLOTS] -= 1
        n = after(n)
    e[T_RCVS] = earliest
    return True
