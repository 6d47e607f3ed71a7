"""What all variants but Fack do with acknowledgements of new data, and when the timer expires."""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import inlined, kernel
from multitracer.replay.arq.fields import NEVER
from multitracer.replay.tcp.ns2.output import advance, grow, halve, is_first, stop_timing
from multitracer.replay.tcp.ns2.state import BY_TIMEOUT
from multitracer.replay.tcp.ns2.timer import back_off, learn, next_timer, restart_timer

DUPACKS = 3
"""Duplicate ACKs that set off a fast retransmit."""


@inlined
def take_new(tcp: Any, k: int, ack: int, now: int) -> None:
    """Acknowledge up to `ack`: the timed packet gives a sample and ends back-off, then the timer is restarted.

    It is restarted also when nothing is outstanding any more, and so cuts the window of a sender that stays idle.
    """
    e, rules = tcp.ends[k], tcp.rules[k & 1]
    e.dupacks = 0
    advance(tcp, k, ack, now)
    e.window_una = ack
    e.next = max(e.next, ack)
    if e.timing and ack > e.timed:
        e.backoff, e.timing = 1, 0
        learn(e, rules, e.timed_ns, now)
    restart_timer(e, rules, now)


@inlined
def take_and_grow(tcp: Any, k: int, ack: int, now: int) -> None:
    """The same, with a larger window; the first ACK sets the initial one."""
    e = tcp.ends[k]
    take_new(tcp, k, ack, now)
    grow(e)
    if is_first(e):
        e.cwnd = float(e.initial_window)


@kernel
def cut_for_timeout(e: Any, rules: Any, now: int) -> None:
    """The timer expired: go back to the first packet that is not acknowledged, with a window of one.

    An idle sender's window is cut too, but not its ssthresh, and nothing is backed off. ns-2 then sets the timer again
    and again; as that changes nothing more, here it stops until something is sent.
    """
    idle = e.una == e.top
    e.recover = e.top
    if e.una == e.first:
        e.initial_window = 1
    if not idle:
        e.timeouts += 1
        halve(e, rules)
        back_off(e, rules)
    e.cwnd = 1.0
    e.reduction = BY_TIMEOUT
    e.next = e.una
    stop_timing(e, rules, now)
    if idle:
        e.rtx_ns = NEVER
        next_timer(e)
