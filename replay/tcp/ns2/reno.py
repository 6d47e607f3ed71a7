"""ns-2's Reno and NewReno: duplicate ACKs inflate the window."""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import inlined, merged
from multitracer.replay.tcp.ns2.acks import DUPACKS, cut_for_timeout, take_and_grow
from multitracer.replay.tcp.ns2.output import (
    advance,
    bursts,
    halve,
    is_first,
    resend,
    send_one,
    send_window,
    stop_timing,
)
from multitracer.replay.tcp.ns2.parameters import NEWRENO
from multitracer.replay.tcp.ns2.state import BY_DUPACKS, RECOVERED
from multitracer.replay.tcp.ns2.timer import restart_timer


@inlined
def hear_reno(tcp: Any, k: int, ack: int, now: int) -> None:
    """Take in an ACK, and send what it allows: on new data, and from the third duplicate on.

    ns-2 also sends on an ACK below una (aggressive_maxburst_), which tells apart only when bursts are limited.
    """
    e, rules = tcp.ends[k], tcp.rules[k & 1]
    if ack > e.una:
        if rules.variant == NEWRENO and ack < e.recover and e.reduction == BY_DUPACKS:
            take_partial(tcp, k, ack, now)
        else:
            leave(e)
            take_and_grow(tcp, k, ack, now)
    elif ack == e.una:
        take_duplicate(tcp, k, now)
    if e.dupacks == 0 or e.dupacks >= DUPACKS:
        send_window(tcp, k, bursts(e, rules), now)


@inlined
def leave(e: Any) -> None:
    """New data ends a recovery; Reno's with the first ACK, NewReno's with one of all that was sent at its start."""
    e.inflation = e.partial = 0
    if e.reduction == BY_DUPACKS:
        e.reduction = RECOVERED


@merged
def take_partial(tcp: Any, k: int, ack: int, now: int) -> None:
    """NewReno stays in recovery: it takes what left the network off the window and resends the next hole.

    Only the first partial ACK restarts the timer; dupacks are not reset. The timed packet gives no sample.
    """
    e = tcp.ends[k]
    if not e.partial:
        e.partial = 1
        restart_timer(e, tcp.rules[k & 1], now)
    acked = ack - e.una
    if e.inflation > acked:
        e.inflation -= acked - 1
    else:
        e.cwnd = max(1.0, e.cwnd - (acked - e.inflation))
        e.inflation = 1
    advance(tcp, k, ack, now)
    e.next = max(e.next, ack)
    if e.timing and ack > e.timed:
        e.backoff, e.timing = 1, 0
    resend(tcp, k, e.una, now)


@merged
def take_duplicate(tcp: Any, k: int, now: int) -> None:
    """Count a duplicate ACK: limited transmit, fast retransmit, or a larger window in recovery."""
    e, rules = tcp.ends[k], tcp.rules[k & 1]
    e.dupacks += 1
    if e.dupacks == DUPACKS:
        if e.una > e.recover or is_first(e):
            retransmit_fast(tcp, k, now)
    elif e.dupacks > DUPACKS:
        if e.reduction == BY_DUPACKS:
            e.inflation += 1
    elif rules.limited_transmit:
        send_one(tcp, k, now)


@merged
def retransmit_fast(tcp: Any, k: int, now: int) -> None:
    """Halve the window and resend the first packet that is not acknowledged."""
    e, rules = tcp.ends[k], tcp.rules[k & 1]
    e.recover = e.top
    e.reduction = BY_DUPACKS
    e.cwnd = halve(e, rules)
    e.fast_retransmits += 1
    stop_timing(e, rules, now)
    resend(tcp, k, e.una, now)
    e.inflation = DUPACKS


@merged
def time_out_reno(tcp: Any, k: int, now: int) -> None:
    """The retransmission timer expired."""
    e, rules = tcp.ends[k], tcp.rules[k & 1]
    e.inflation = e.dupacks = 0
    cut_for_timeout(e, rules, now)
    send_window(tcp, k, rules.max_burst, now)
