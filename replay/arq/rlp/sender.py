"""RLP's sending window (3GPP TS 24.022 5): which information frame goes next, and what acknowledges it.

Slots are searched only while some are marked, so that the common case is a few loads and stores.
"""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import kernel
from multitracer.replay.arq.rlp.l2r import first_octet
from multitracer.replay.arq.rlp.state import (
    BACK,
    COUNT_AT,
    EVERY_NR,
    FILLED,
    N2,
    NEVER,
    NEXT,
    OFFERED,
    PEER_BUSY,
    POLL_STATE,
    RESEND,
    RESEND_FROM,
    RETRANSMISSIONS,
    ROOM,
    S_CONTENT,
    S_MARK,
    S_POSITION,
    S_TRIES,
    STATUS_AT,
    T1,
    VA,
    VD,
    VS,
    WAITING,
    X_SENT,
    XOFF,
    K,
    T,
    X,
    after,
    ahead,
)


@kernel
def selected(e: Any) -> int:
    """The number of the information frame to send: a retransmission first, else a new one.

    -1 when there is none, -2 when one was retransmitted N2 times and is needed again.
    """
    if e[RESEND] > 0 or e[BACK] > 0 or e[POLL_STATE] == WAITING:
        return repeated(e)
    if e[FILLED] >= e[K] or e[PEER_BUSY]:
        return -1
    count = min(e[OFFERED] - e[NEXT], e[ROOM]) if e[XOFF] == 0 else 0
    if count <= 0 and e[X] == e[X_SENT]:
        return -1
    n = e[VD]
    e[S_POSITION + n] = e[NEXT]
    e[S_CONTENT + n] = first_octet(count, e[ROOM], e[X]) << STATUS_AT | count << COUNT_AT
    e[S_TRIES + n] = 0
    e[X_SENT] = e[X]
    e[NEXT] += count
    e[FILLED] += 1
    e[VD] = after(n)
    e[VS] = e[VD]
    return n


@kernel
def repeated(e: Any) -> int:
    """The number of the frame to send again, as `selected`; none while the answer to a poll is awaited."""
    if e[POLL_STATE] == WAITING:
        return -1
    if e[RESEND] > 0:
        n = e[RESEND_FROM]
        while e[S_MARK + n] == 0:
            n = after(n)
    else:
        n = e[VS]
    if e[S_TRIES + n] >= e[N2]:
        return -2
    if e[RESEND] > 0:
        e[S_MARK + n] = 0
        e[RESEND] -= 1
        e[RESEND_FROM] = after(n)
    else:
        e[VS] = after(n)
        e[BACK] -= 1
    e[S_TRIES + n] += 1
    e[RETRANSMISSIONS] += 1
    return n


@kernel
def acknowledge(e: Any, nr: int, now: int) -> bool:
    """Free all frames before N(R); False, and nothing done, unless V(A) <= N(R) <= V(S)."""
    freed, outstanding = ahead(nr, e[VA]), e[FILLED] - e[BACK]
    if freed > outstanding:
        return False
    if freed == 0:
        if e[EVERY_NR] and outstanding > 0:
            e[T] = now + e[T1]
        return True
    if e[RESEND] > 0:
        unmark(e, freed)
    e[VA] = nr
    e[FILLED] -= freed
    e[T] = now + e[T1] if freed < outstanding or e[PEER_BUSY] else NEVER
    return True


@kernel
def unmark(e: Any, slots: int) -> None:
    """Withdraw what was to be sent again of the oldest `slots` frames."""
    n = e[VA]
    for _ in range(slots):
        e[RESEND] -= e[S_MARK + n]
        e[S_MARK + n] = 0
        n = after(n)


@kernel
def mark(e: Any, n: int) -> None:
    """Note that frame n is asked for; one that is not outstanding is not."""
    place = ahead(n, e[VA])
    if place >= e[FILLED] - e[BACK] or e[S_MARK + n]:
        return
    if e[RESEND] == 0 or place < ahead(e[RESEND_FROM], e[VA]):
        e[RESEND_FROM] = n
    e[S_MARK + n] = 1
    e[RESEND] += 1


@kernel
def go_back(e: Any) -> None:
    """V(S) := V(A): everything unacknowledged is sent again, in order."""
    if e[RESEND] > 0:
        unmark(e, e[FILLED])
    e[VS] = e[VA]
    e[BACK] = e[FILLED]
    e[T] = NEVER
