"""GSM RLP in asynchronous balanced mode (3GPP TS 24.022 5) as kernels: what to send, what a frame does, timers.

An entity is one array, made by `multitracer.replay.arq.rlp.entity`; `rlp_state` names its parts.
"""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import kernel
from multitracer.replay.arq.rlp.receiver import (
    ask_again,
    catch_up,
    deliver,
    forget,
    keep,
    miss,
    request,
    watch,
)
from multitracer.replay.arq.rlp.sender import acknowledge, go_back, mark, selected, unmark
from multitracer.replay.arq.rlp.state import (
    ABM,
    ACK,
    ACK_DUE,
    BACK,
    BUSY,
    COMMAND,
    CONTENT,
    DETACHED,
    DISC,
    DM,
    DRAIN,
    DUE_F,
    DUE_POLL,
    DUE_SABM,
    DUE_UA,
    DUPLICATES,
    FAILED,
    FILLED,
    FINAL,
    FLUSH_QUEUE,
    FLUSHED,
    FRESH,
    I_SENT,
    IDLE,
    N2,
    NEVER,
    NEXT,
    NR_AT,
    NULL,
    NUMBER,
    OFFERED,
    PEER_BUSY,
    PERSISTENT,
    PIGGYBACK,
    POLL_COUNT,
    POLL_STATE,
    POLLING,
    POLLS,
    REJ,
    REJECT,
    REQUESTS,
    RESEND,
    RESETS,
    RESETS_SEEN,
    RESETTING,
    RNR,
    S_AT,
    S_CONTENT,
    S_FRAME,
    S_POSITION,
    SABM,
    SPAN,
    SREJ,
    STATE,
    T1,
    T2,
    T_RCVS,
    TIMEOUTS,
    U_FRAME,
    UA,
    UNLIMITED,
    URGENT,
    VA,
    VD,
    VR,
    VS,
    WAITING,
    X_SENT,
    XOFF,
    K,
    T,
    after,
    ahead,
)


@kernel
def next_frame(e: Any, now: int) -> Any:
    """The frame of this opportunity, header and position; NULL when there is nothing to say.

    In order of precedence: UA, the answer to a poll, a poll, SREJ, information, RR or RNR.
    """
    if e[URGENT] != 0 or e[STATE] != ABM:
        return urgent(e, now), 0
    if e[DRAIN] > 0:
        watch(e, now)
    if e[REQUESTS] > 0 and e[PIGGYBACK] == 0:
        return request(e, now) | S_FRAME | COMMAND, 0
    n = selected(e)
    if n >= 0:
        return information(e, n, now), e[S_POSITION + n]
    if n == -2:  # a frame is needed more often than N2 allows
        begin_reset(e)
        return urgent(e, now), 0
    if e[REQUESTS] > 0:
        return request(e, now) | S_FRAME | COMMAND, 0
    if e[ACK] != 0 and now >= e[ACK_DUE]:
        return S_FRAME | report(e), 0
    return NULL, 0


@kernel
def urgent(e: Any, now: int) -> int:
    """A frame that waits for nothing: UA, the answer to a poll, a poll, SABM; NULL outside ABM."""
    due = e[URGENT]
    if due & DUE_UA:
        e[URGENT] = due & ~DUE_UA
        return U_FRAME | UA << NR_AT | FINAL
    if due & DUE_F:
        e[URGENT] = due & ~DUE_F
        return S_FRAME | report(e) | FINAL
    if due & DUE_POLL:
        e[URGENT] = due & ~DUE_POLL
        e[POLL_STATE] = WAITING
        e[POLL_COUNT] += 1
        e[POLLS] += 1
        e[T] = now + e[T1]
        return S_FRAME | report(e) | COMMAND | FINAL
    if due & DUE_SABM:
        e[URGENT] = due & ~DUE_SABM
        e[POLL_COUNT] += 1
        e[T] = now + e[T1]
        return U_FRAME | SABM << NR_AT | COMMAND | FINAL
    return NULL


@kernel
def report(e: Any) -> int:
    """The supervisory fields that acknowledge: RR, or RNR while this end is busy."""
    e[ACK] = 0
    return (RNR << S_AT if e[BUSY] else 0) | e[VR] << NR_AT


@kernel
def information(e: Any, n: int, now: int) -> int:
    """The header of frame n; what there is to say of the other direction goes with it."""
    e[I_SENT] += 1
    e[T] = now + e[T1]
    supervisory = request(e, now) if e[REQUESTS] > 0 else report(e)
    return e[S_CONTENT + n] | COMMAND | supervisory | n


@kernel
def receive(e: Any, header: int, position: int, now: int) -> None:
    """Take in a frame that arrived undamaged."""
    ns = header & NUMBER
    if ns == U_FRAME:
        if header != NULL:
            unnumbered(e, header >> NR_AT & NUMBER)
        return
    if e[STATE] != ABM or (ns != S_FRAME and header & FINAL and header & COMMAND):
        return  # 24.022 5.3: an I+S command with P=1 is ignored
    supervisory(e, header, now)
    if ns != S_FRAME:
        numbered(e, ns, header, position, now)


@kernel
def supervisory(e: Any, header: int, now: int) -> None:
    """The supervisory part of a frame: polls and their answers, acknowledgements, requests."""
    s, nr = header >> S_AT & 3, header >> NR_AT & NUMBER
    if header & FINAL:
        if header & COMMAND:
            polled(e)
        elif e[POLL_STATE] == WAITING and s <= RNR:
            answered(e, nr, now)
    if s <= RNR:
        e[PEER_BUSY] = s
        if s == RNR and e[T] == NEVER:
            e[T] = now + e[T1]  # asks again by a poll: the RR that ends this may be lost
    if e[POLL_STATE] == WAITING:
        return  # N(R) without F=1 may be older than the poll
    if s == SREJ:
        mark(e, nr)
    elif acknowledge(e, nr, now) and s == REJ:
        e[PEER_BUSY] = 0
        go_back(e)


@kernel
def answered(e: Any, nr: int, now: int) -> None:
    """The answer to a poll: what it does not acknowledge is sent again (checkpointing)."""
    e[POLL_STATE] = IDLE
    e[POLL_COUNT] = 0
    if acknowledge(e, nr, now):
        go_back(e)


@kernel
def polled(e: Any) -> None:
    """A poll: answer with F=1, and forget what came out of sequence, for the peer will go back to N(R)."""
    e[URGENT] |= DUE_F
    forget(e)


@kernel
def numbered(e: Any, n: int, header: int, position: int, now: int) -> None:
    """The information part of a frame: deliver it, buffer it and ask for what is missing, or drop it."""
    if e[ACK] == 0:
        e[ACK] = 1
        e[ACK_DUE] = now + e[T2]
    place = ahead(n, e[VR])
    if place == 0:
        if e[SPAN] == 0:
            e[VR] = after(n)
            deliver(e, header & CONTENT, position, now)
        else:
            catch_up(e, header & CONTENT, position, now)
    elif place >= e[K]:
        e[DUPLICATES] += 1
    elif e[REJECT]:
        if e[SPAN] == 0:
            miss(e, 1)
    else:
        keep(e, n, place, header & CONTENT, position)


@kernel
def unnumbered(e: Any, m: int) -> None:
    """A U frame: SABM resets, UA ends the reset that this end began, DISC and DM end the link."""
    if e[STATE] == FAILED:
        return
    if m == SABM:
        flush(e)
        e[RESETS_SEEN] += 1
        e[STATE] = ABM
        e[URGENT] = DUE_UA
    elif m == UA and e[STATE] == RESETTING:
        e[STATE] = ABM
        e[URGENT] = 0
        e[POLL_COUNT] = 0
        e[T] = NEVER
    elif m == DISC:
        flush(e)
        e[STATE] = DETACHED
        e[URGENT] = DUE_UA
    elif m == DM:
        flush(e)
        e[STATE] = DETACHED


@kernel
def begin_reset(e: Any) -> None:
    """Give up on what is outstanding: both ends start anew (24.022 5.3.3)."""
    flush(e)
    e[STATE] = RESETTING
    e[URGENT] = DUE_SABM
    e[RESETS] += 1


@kernel
def flush(e: Any) -> None:
    """Empty both buffers and set all variables to zero; user data in them is lost."""
    first = e[S_POSITION + e[VA]] if e[FILLED] > 0 else e[NEXT]
    if e[FLUSH_QUEUE] and e[OFFERED] < UNLIMITED:
        e[NEXT] = e[OFFERED]
    e[FLUSHED] += e[NEXT] - first
    unmark(e, e[FILLED])
    forget(e)
    for variable in (URGENT, VS, VA, VD, VR, FILLED, BACK, RESEND, PEER_BUSY, POLL_STATE, POLL_COUNT, ACK):
        e[variable] = 0
    e[XOFF] = 0
    e[X_SENT] = 0
    e[T] = NEVER
    e[FRESH] = 1


@kernel
def set_busy(e: Any, busy: int, now: int) -> None:
    """Tell the peer to send no new frames (RNR), or that it may again (RR)."""
    e[BUSY] = busy
    e[ACK] = 1
    e[ACK_DUE] = now


@kernel
def next_timer(e: Any) -> int:
    """When a timer runs out next; NEVER when none runs."""
    return min(e[T], e[T_RCVS])


@kernel
def expire(e: Any, now: int) -> None:
    """Do what the timers that ran out until now ask for: repeat, or after N2 times give up and reset."""
    if e[T_RCVS] <= now and not ask_again(e, now):
        begin_reset(e)
    if e[T] <= now:
        e[T] = NEVER
        e[TIMEOUTS] += 1
        if e[STATE] == RESETTING:
            if e[POLL_COUNT] > e[N2] and e[PERSISTENT] == 0:
                e[STATE] = FAILED
            else:
                e[URGENT] |= DUE_SABM
        elif e[STATE] == ABM and (e[FILLED] > e[BACK] or e[PEER_BUSY] or e[POLL_STATE] == WAITING):
            if e[POLL_COUNT] >= e[N2]:
                begin_reset(e)
            else:
                e[POLL_STATE] = POLLING
                e[URGENT] |= DUE_POLL
