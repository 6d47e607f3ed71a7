"""GSM RLP in asynchronous balanced mode (3GPP TS 24.022 5) as kernels: what to send, what a frame does, timers.

An entity is one record, made by `multitracer.replay.arq.rlp.entity`; `state` names its fields.
"""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import kernel
from multitracer.replay.arq.fields import NEVER
from multitracer.replay.arq.notes import EXPIRED, FULL, HELD, STOPPED
from multitracer.replay.arq.notes import note as write
from multitracer.replay.arq.orders import RESET as RESET_LINK
from multitracer.replay.arq.orders import STOP, next_order, order_due
from multitracer.replay.arq.rlp.receiver import (
    ask_again,
    catch_up,
    deliver,
    forget,
    keep,
    miss,
    request,
    watch,
    xon_after,
)
from multitracer.replay.arq.rlp.sender import acknowledge, go_back, mark, next_information, unmark
from multitracer.replay.arq.rlp.state import (
    ABM,
    COMMAND,
    CONTENT,
    COUNT_AT,
    DETACHED,
    DISC,
    DM,
    DUE_F,
    DUE_POLL,
    DUE_SABM,
    DUE_UA,
    FAILED,
    FINAL,
    FLUSH,
    IDLE,
    NR_AT,
    NULL,
    NUMBER,
    POLLING,
    REJ,
    RELEASING,
    RESET,
    RESETTING,
    RNR,
    S_AT,
    S_FRAME,
    SABM,
    SREJ,
    U_FRAME,
    UA,
    WAITING,
    XOFF,
    XON,
    after,
    ahead,
)
from multitracer.replay.arq.stretches import lose


@kernel
def offer(e: Any, sdu: int, start: int, octets: int, now: int) -> int:
    """Characters to send: RLP keeps no boundaries between SDUs, and has room for all."""
    e.offered += octets
    return 1


@kernel
def wants(e: Any, octets: int) -> int:
    """Whether less than a frame's characters wait to be sent."""
    return int(e.offered - e.next_octet < e.room)


@kernel
def next_frame(e: Any, frame: Any, now: int) -> int:
    """Write the frame of this opportunity; its octets, negative for NULL: there is nothing to say."""
    frame.position = 0
    header = chosen(e, frame, now)
    frame.header = header
    return -e.frame_bytes if header == NULL else e.frame_bytes


@kernel
def chosen(e: Any, frame: Any, now: int) -> int:
    """The header; in order of precedence: UA, the answer to a poll, a poll, SREJ, information, RR or RNR."""
    if e.urgent != 0 or e.state != ABM:
        return urgent_frame(e, now)
    if e.drain > 0:
        watch(e, now)
    if e.requests > 0 and e.piggyback == 0:
        return request(e, now) | S_FRAME | COMMAND
    n = next_information(e)
    if n >= 0:
        frame.position = e.s_position[n]
        return information(e, n, now)
    if n == -2:  # a frame is needed more often than N2 allows
        exceed_n2(e, now)
        return urgent_frame(e, now)
    if e.requests > 0:
        return request(e, now) | S_FRAME | COMMAND
    if e.ack != 0 and now >= e.ack_due:
        return S_FRAME | report(e)
    return NULL


@kernel
def urgent_frame(e: Any, now: int) -> int:
    """A frame that waits for nothing: UA, the answer to a poll, a poll, SABM; NULL outside ABM."""
    due = e.urgent
    if due & DUE_UA:
        e.urgent = due & ~DUE_UA
        return U_FRAME | UA << NR_AT | FINAL
    if due & DUE_F:
        e.urgent = due & ~DUE_F
        return S_FRAME | report(e) | FINAL
    if due & DUE_POLL:
        e.urgent = due & ~DUE_POLL
        e.poll_state = WAITING
        e.poll_count += 1
        e.polls += 1
        e.t_due = now + e.t1
        return S_FRAME | report(e) | COMMAND | FINAL
    if due & DUE_SABM:
        e.urgent = due & ~DUE_SABM
        e.poll_count += 1
        e.t_due = now + e.t1
        return U_FRAME | (DISC if e.state == RELEASING else SABM) << NR_AT | COMMAND | FINAL
    return NULL


@kernel
def report(e: Any) -> int:
    """The supervisory fields that acknowledge: RR, or RNR while this end is busy."""
    e.ack = 0
    return (RNR << S_AT if e.busy else 0) | e.vr << NR_AT


@kernel
def information(e: Any, n: int, now: int) -> int:
    """The header of frame n; what there is to say of the other direction goes with it."""
    e.i_sent += 1
    e.t_due = now + e.t1
    supervisory = request(e, now) if e.requests > 0 else report(e)
    return e.s_content[n] | COMMAND | supervisory | n


@kernel
def carries_data(frame: Any) -> int:
    """Whether it is an information frame with characters."""
    return int(frame.header & NUMBER < S_FRAME and frame.header >> COUNT_AT > 0)


@kernel
def on_air(e: Any, frame: Any, end: int) -> None:
    """T1 runs from when a frame is made."""
    return


@kernel
def receive(e: Any, frame: Any, octets: int, now: int) -> None:
    """Take in a frame that arrived undamaged."""
    header = frame.header
    ns = header & NUMBER
    if ns == U_FRAME:
        if header != NULL:
            on_unnumbered(e, header >> NR_AT & NUMBER, now)
        return
    if e.state != ABM or (ns != S_FRAME and header & FINAL and header & COMMAND):
        return  # 24.022 5.3: an I+S command with P=1 is ignored
    supervisory(e, header, now)
    if ns != S_FRAME:
        on_information(e, ns, header, frame.position, now)


@kernel
def supervisory(e: Any, header: int, now: int) -> None:
    """The supervisory part of a frame: polls and their answers, acknowledgements, requests."""
    s, nr = header >> S_AT & 3, header >> NR_AT & NUMBER
    if header & FINAL:
        if header & COMMAND:
            on_poll(e)
        elif e.poll_state == WAITING and s <= RNR:
            on_poll_answer(e, nr, now)
    if s <= RNR:
        e.peer_busy = s
        if s == RNR and e.t_due == NEVER:
            e.t_due = now + e.t1  # asks again by a poll: the RR that ends this may be lost
    if e.poll_state == WAITING:
        return  # N(R) without F=1 may be older than the poll
    if s == SREJ:
        mark(e, nr)
    elif acknowledge(e, nr, now) and s == REJ:
        e.peer_busy = 0
        go_back(e)


@kernel
def on_poll_answer(e: Any, nr: int, now: int) -> None:
    """The answer to a poll: what it does not acknowledge is sent again (checkpointing)."""
    e.poll_state = IDLE
    e.poll_count = 0
    if acknowledge(e, nr, now):
        go_back(e)


@kernel
def on_poll(e: Any) -> None:
    """A poll: answer with F=1, and forget what came out of sequence, for the peer will go back to N(R)."""
    e.urgent |= DUE_F
    forget(e)


@kernel
def on_information(e: Any, n: int, header: int, position: int, now: int) -> None:
    """The information part of a frame: deliver it, buffer it and ask for what is missing, or drop it."""
    if e.ack == 0:
        e.ack = 1
        e.ack_due = now + e.t2
        if e.t2 > 0:
            e.look_due = min(e.look_due, e.ack_due)
    place = ahead(n, e.vr)
    if place == 0:
        if e.span == 0:
            e.vr = after(n)
            deliver(e, header & CONTENT, position, now, now)
        else:
            catch_up(e, header & CONTENT, position, now)
    elif place >= e.window:
        e.duplicates += 1
    elif e.reject:
        if e.span == 0:
            miss(e, 1)
    else:
        keep(e, n, place, header & CONTENT, position, now)


@kernel
def on_unnumbered(e: Any, m: int, now: int) -> None:
    """A U frame: SABM resets, UA ends the reset or the release that this end began, DISC and DM end the link."""
    if e.state == FAILED:
        return
    if m == SABM:
        flush(e, now)
        e.resets_seen += 1
        e.reset_ns = now
        e.state = ABM
        e.urgent = DUE_UA
    elif m == UA and (e.state == RESETTING or e.state == RELEASING):
        e.reset_ns = now
        e.state = ABM if e.state == RESETTING else DETACHED
        e.urgent = 0
        e.poll_count = 0
        e.t_due = NEVER
    elif m == DISC:
        flush(e, now)
        e.state = DETACHED
        e.urgent = DUE_UA
    elif m == DM:
        flush(e, now)
        e.state = DETACHED


@kernel
def exceed_n2(e: Any, now: int) -> None:
    """Something is needed more often than N2 allows: reset the link, or release it."""
    if e.release == 0:
        begin_reset(e, now)
        return
    flush(e, now)
    e.state = RELEASING
    e.urgent = DUE_SABM


@kernel
def begin_reset(e: Any, now: int) -> None:
    """Give up on what is outstanding: both ends start anew (24.022 5.3.3)."""
    flush(e, now)
    e.state = RESETTING
    e.urgent = DUE_SABM
    e.resets += 1


@kernel
def flush(e: Any, now: int) -> None:
    """Empty both buffers and set all variables to zero; user data in them is lost."""
    first = e.s_position[e.va] if e.filled > 0 else e.next_octet
    if e.flush_queue:
        e.next_octet = e.offered
    e.flushed += e.next_octet - first
    if e.next_octet > first:
        lose(e.above, first, e.next_octet, -1)
    unmark(e, e.filled)
    forget(e)
    e.urgent = e.vs = e.va = e.vd = e.vr = 0
    e.filled = e.back = e.resend = e.peer_busy = e.poll_state = e.poll_count = e.ack = 0
    if e.xoff:
        e.xoff_ns += now - e.xoff_since
    e.xoff = 0
    e.x_sent = 0
    e.t_due = NEVER
    e.fresh = 1


@kernel
def set_busy(e: Any, busy: int, now: int) -> None:
    """Tell the peer to send no new frames (RNR), or that it may again (RR)."""
    e.busy = busy
    e.ack = 1
    e.ack_due = now


@kernel
def next_timer(e: Any) -> int:
    """When a timer runs out next, or there will be something to say; NEVER when neither is so."""
    return min(e.t_due, e.t_rcvs_due, e.look_due)


@kernel
def expire(e: Any, now: int) -> None:
    """Do what the timers that ran out until now ask for: repeat, or after N2 times give up and reset."""
    if e.look_due <= now:
        look(e, now)
    if e.t_rcvs_due <= now and not ask_again(e, now):
        exceed_n2(e, now)
    if e.t_due <= now:
        e.t_due = NEVER
        e.timeouts += 1
        if e.state == RESETTING or e.state == RELEASING:
            if e.poll_count > e.n2 and (e.persistent == 0 or e.state == RELEASING):
                e.state = FAILED
            else:
                e.urgent |= DUE_SABM
        elif e.state == ABM and (e.filled > e.back or e.peer_busy or e.poll_state == WAITING):
            if e.poll_count >= e.n2:
                exceed_n2(e, now)
            else:
                e.poll_state = POLLING
                e.urgent |= DUE_POLL


@kernel
def look(e: Any, now: int) -> None:
    """See whether an acknowledgement, the end of XOFF or an order is due, and when to see again."""
    e.look_due = e.ack_due if e.ack != 0 and e.ack_due > now else NEVER
    if e.drain > 0:
        watch(e, now)
        if e.x:
            e.look_due = min(e.look_due, now + xon_after(e))
    while order_due(e) <= now:
        what = next_order(e)
        if what != RESET_LINK:
            e.x = int(what == STOP)
        elif e.state == ABM:
            begin_reset(e, now)
    e.look_due = min(e.look_due, order_due(e))


@kernel
def total_delivered(e: Any) -> int:
    """Characters handed up so far."""
    return e.delivered


@kernel
def note(e: Any, log: Any, now: int, side: int, why: int) -> None:
    """Log resets, what they flushed, XOFF, XON and what holds new data; timers wait for the next frame or arrival."""
    if why == EXPIRED:
        return
    resets = e.resets + e.resets_seen
    if resets != e.noted_resets:
        write(log, now, side, RESET, 0, 0, 0)
        write(log, now, side, FLUSH, e.flushed - e.noted_flushed, e.next_octet, 0)
        e.noted_resets, e.noted_flushed = resets, e.flushed
    if e.xoffs != e.noted_xoffs:
        write(log, now, side, XOFF, 0, 0, 0)
        e.noted_xoffs = e.xoffs
    if e.xons != e.noted_xons:
        write(log, now, side, XON, 0, 0, 0)
        e.noted_xons = e.xons
    held = FULL * int(e.filled >= e.window) + STOPPED * int(e.xoff != 0 or e.peer_busy != 0)
    if held != e.noted_held:
        write(log, now, side, HELD, 0, e.next_octet, held)
        e.noted_held = held


@kernel
def copy_frame(frame: Any, to: Any, octets: int) -> None:
    """Copy a frame into another."""
    to.header, to.position = frame.header, frame.position


@kernel
def span(e: Any, frame: Any) -> tuple[int, int]:
    """The characters of an information frame."""
    return frame.position, frame.position + (frame.header >> COUNT_AT)


@kernel
def gone(frame: Any, octets: int) -> tuple[int, int]:
    """What is lost is repeated."""
    return 0, 0


@kernel
def restarted(e: Any) -> int:
    """When UA answered this end's SABM, or the peer's SABM came."""
    return e.reset_ns
