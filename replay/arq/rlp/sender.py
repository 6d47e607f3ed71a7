"""RLP's sending window (3GPP TS 24.022 5): which information frame goes next, and what acknowledges it.

Slots are searched only while some are marked, so that the common case is a few loads and stores.
"""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import kernel
from multitracer.replay.arq.fields import NEVER
from multitracer.replay.arq.rlp.l2r import first_octet
from multitracer.replay.arq.rlp.state import (
    COUNT_AT,
    STATUS_AT,
    WAITING,
    after,
    ahead,
)


@kernel
def next_information(e: Any) -> int:
    """The number of the information frame to send: a retransmission first, else a new one.

    -1 when there is none, -2 when one was retransmitted N2 times and is needed again.
    """
    if e.resend > 0 or e.back > 0 or e.poll_state == WAITING:
        return next_retransmission(e)
    if e.filled >= e.window or e.peer_busy:
        return -1
    count = min(e.offered - e.next_octet, e.room) if e.xoff == 0 else 0
    if count <= 0 and e.x == e.x_sent:
        return -1
    n = e.vd
    e.s_position[n] = e.next_octet
    e.s_content[n] = first_octet(count, e.room, e.x) << STATUS_AT | count << COUNT_AT
    e.s_tries[n] = 0
    e.x_sent = e.x
    e.next_octet += count
    e.filled += 1
    e.vd = after(n)
    e.vs = e.vd
    return n


@kernel
def next_retransmission(e: Any) -> int:
    """The number of the frame to send again, as `next_information`; none while the answer to a poll is awaited."""
    if e.poll_state == WAITING:
        return -1
    if e.resend > 0:
        n = e.resend_from
        while e.s_mark[n] == 0:
            n = after(n)
    else:
        n = e.vs
    if e.s_tries[n] >= e.n2:
        return -2
    if e.resend > 0:
        e.s_mark[n] = 0
        e.resend -= 1
        e.resend_from = after(n)
    else:
        e.vs = after(n)
        e.back -= 1
    e.s_tries[n] += 1
    e.retransmissions += 1
    return n


@kernel
def acknowledge(e: Any, nr: int, now: int) -> bool:
    """Free all frames before N(R); False, and nothing done, unless V(A) <= N(R) <= V(S)."""
    freed, outstanding = ahead(nr, e.va), e.filled - e.back
    if freed > outstanding:
        return False
    if freed == 0:
        if e.every_nr and outstanding > 0:
            e.t_due = now + e.t1
        return True
    if e.resend > 0:
        unmark(e, freed)
    e.va = nr
    e.filled -= freed
    e.t_due = now + e.t1 if freed < outstanding or e.peer_busy else NEVER
    return True


@kernel
def unmark(e: Any, slots: int) -> None:
    """Withdraw what was to be sent again of the oldest `slots` frames."""
    n = e.va
    for _ in range(slots):
        e.resend -= e.s_mark[n]
        e.s_mark[n] = 0
        n = after(n)


@kernel
def mark(e: Any, n: int) -> None:
    """Note that frame n is asked for; one that is not outstanding is not."""
    place = ahead(n, e.va)
    if place >= e.filled - e.back or e.s_mark[n]:
        return
    if e.resend == 0 or place < ahead(e.resend_from, e.va):
        e.resend_from = n
    e.s_mark[n] = 1
    e.resend += 1


@kernel
def go_back(e: Any) -> None:
    """V(S) := V(A): everything unacknowledged is sent again, in order."""
    if e.resend > 0:
        unmark(e, e.filled)
    e.vs = e.va
    e.back = e.filled
    e.t_due = NEVER
