"""Linux 2.4's receiver: quick and delayed ACKs, the receive window that grows, DSACKs."""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import inlined, kernel, merged
from multitracer.replay.arq.fields import NEVER
from multitracer.replay.tcp.linux24.timing import after
from multitracer.replay.tcp.packets import FIN
from multitracer.replay.tcp.reassembly import BEYOND, DUPLICATE, FILLING, HELD, take_in
from multitracer.replay.tcp.rfc.timing import ticks

MOST_QUICK_ACKS = 16
GROWTH = 2
"""Segments by which the window grows with each one in order (tcp_grow_window)."""


@inlined
def take_data(tcp: Any, k: int, packet: Any, now: int) -> None:
    """Take in data or a FIN, and owe an ACK (tcp_data_queue, __tcp_ack_snd_check)."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    was = take_in(tcp, k, packet)
    if was == DUPLICATE:
        end.dsack = packet.seq
    if was <= BEYOND:
        enter_quick_acks(end, rules)
    if was >= FILLING:
        note_data(end, rules, now)
        end.window = min(end.window + GROWTH, rules.window)
    if was == FILLING and end.rcv_top == end.rcv_nxt:
        end.pingpong = 0
    if packet.bits & FIN or was <= HELD or must_ack(end, rules):
        end.ack_now = 1
    else:
        delay_ack(end, rules, now)
    if 0 < end.peer_fin < end.rcv_nxt and was != DUPLICATE:
        end.closing = rules.fin


@inlined
def must_ack(end: Any, rules: Any) -> bool:
    """Whether an ACK goes at once: for the second segment, in quick-ACK mode, or while something is missing."""
    if not rules.linux_acks or end.rcv_nxt - end.last_ack > 1 or end.rcv_top > end.rcv_nxt:
        return True
    return end.quick > 0 and end.pingpong == 0


@kernel
def add_quick_acks(end: Any) -> None:
    """Let half a window of segments be acknowledged at once (tcp_incr_quickack)."""
    end.quick = max(end.quick, min(max(end.window // 2, 2), MOST_QUICK_ACKS))


@merged
def enter_quick_acks(end: Any, rules: Any) -> None:
    """Acknowledge at once from now on: the sender is in trouble (tcp_enter_quickack_mode)."""
    add_quick_acks(end)
    end.pingpong = 0
    end.ato = rules.least_ato


@inlined
def note_data(end: Any, rules: Any, now: int) -> None:
    """Let the delay of ACKs follow the times between segments (tcp_event_data_recv)."""
    at = ticks(rules, now)
    gap, least = at - end.last_data, rules.least_ato
    end.last_data = at
    if end.ato == 0:
        add_quick_acks(end)
        end.ato = least
    elif gap <= least // 2:
        end.ato = (end.ato >> 1) + least // 2
    elif gap < end.ato:
        end.ato = min((end.ato >> 1) + gap, end.rto)
    elif gap > end.rto:
        add_quick_acks(end)


@inlined
def delay_ack(end: Any, rules: Any, now: int) -> None:
    """Start the ACK timer, or bring it forward (tcp_send_delayed_ack)."""
    wait = end.ato
    if wait > rules.least_ato:
        most = rules.most_ato
        if end.srtt:
            most = min(most, max(end.srtt >> 3, rules.least_ato))
        wait = min(wait, most)
    end.ack_ns = min(end.ack_ns, after(rules, now, wait))


@merged
def ack_timer(end: Any, rules: Any) -> None:
    """The ACK timer has expired: ACKs wait longer from now on, but never for an application that does not answer."""
    end.ack_ns = NEVER
    end.ack_now = 1
    if end.pingpong:
        end.pingpong = 0
        end.ato = rules.least_ato
    else:
        end.ato = min(end.ato << 1, end.rto)
