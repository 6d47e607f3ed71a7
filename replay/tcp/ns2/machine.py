"""ns-2.35's TCP as `interface` describes it: a sender and a sink at each end, for one direction each.

Data never carry acknowledgements. An end that writes opens its own direction: its sender sends the SYN, number 0, the
other end's sink acknowledges it like any packet, and data follow. The connection is never closed.

Source: ns-2.35, tcp/tcp.cc, tcp-reno.cc, tcp-newreno.cc, tcp-sack1.cc, tcp-fack.cc, tcp-sink.cc, with the defaults of
ns-default.tcl; its Tcl variables are named where a parameter stands for one.
"""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import kernel
from multitracer.replay.tcp.ns2.fack import hear_fack, send_fack, time_out_fack
from multitracer.replay.tcp.ns2.observed import observe
from multitracer.replay.tcp.ns2.output import send_window
from multitracer.replay.tcp.ns2.parameters import FACK, SACK
from multitracer.replay.tcp.ns2.reno import hear_reno, time_out_reno
from multitracer.replay.tcp.ns2.sack1 import hear_sack1, send_pipe, time_out_sack1
from multitracer.replay.tcp.ns2.sink import expire_delay, take_data
from multitracer.replay.tcp.ns2.state import SHORTS, begin
from multitracer.replay.tcp.packets import ACK

__all__ = ["close", "expire", "local_drop", "observe", "receive", "start", "write"]


@kernel
def start(tcp: Any, k: int, connection: int, now: int) -> None:
    """Make end `k` anew for a connection."""
    e = tcp.ends[k]
    for at in range(tcp.board.shape[1]):
        tcp.board[k, at].here = 0
    begin(e, tcp.rules[k & 1])
    e.connection = connection


@kernel
def write(tcp: Any, k: int, segments: int, last_octets: int, now: int) -> int:
    """Let end `k` send more data, the last segment of `last_octets`; 0 if it cannot keep another short one, else 1."""
    e, rules = tcp.ends[k], tcp.rules[k & 1]
    if last_octets != rules.segment_octets:
        if e.shorts - e.short_first == SHORTS:
            return 0
        at = e.shorts % SHORTS
        e.short_numbers[at], e.short_octets[at] = e.written + segments - 1, last_octets
        e.shorts += 1
    e.written += segments
    if rules.variant == FACK:
        send_fack(tcp, k, rules.max_burst, now)
    elif rules.variant == SACK:
        send_pipe(tcp, k, now)
    else:
        send_window(tcp, k, rules.max_burst, now)
    return 1


@kernel
def close(tcp: Any, k: int, now: int) -> None:
    """Nothing: ns-2's one-way TCP has no FIN."""


@kernel
def expire(tcp: Any, k: int, now: int) -> None:
    """Let the timers of end `k` run out that are due: a delayed ACK's, the retransmission timer."""
    e, variant = tcp.ends[k], tcp.rules[k & 1].variant
    if e.ack_ns <= now:
        expire_delay(tcp, k, now)
    if e.rtx_ns > now:
        return
    if variant == FACK:
        time_out_fack(tcp, k, now)
    elif variant == SACK:
        time_out_sack1(tcp, k, now)
    else:
        time_out_reno(tcp, k, now)


@kernel
def receive(tcp: Any, k: int, packet: Any, now: int) -> None:
    """Take in a packet that arrived at end `k`: an ACK for its sender, or data for its sink.

    A timer that is due runs out before: ns-2 does what was scheduled first, and a timer is older than an arrival.
    """
    if tcp.ends[k].timer_ns <= now:
        expire(tcp, k, now)
    if packet.bits != ACK:
        take_data(tcp, k, packet, now)
        return
    variant = tcp.rules[k & 1].variant
    if variant == FACK:
        hear_fack(tcp, k, packet, now)
    elif variant == SACK:
        hear_sack1(tcp, k, packet, now)
    else:
        hear_reno(tcp, k, packet.ack, now)


@kernel
def local_drop(tcp: Any, k: int, packet: Any, now: int) -> None:
    """Nothing: ns-2's senders are not told what a queue of their own host drops."""
