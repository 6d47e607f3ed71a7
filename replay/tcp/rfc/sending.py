"""What an end of TCP by its RFCs sends: segments within the windows, SYNs, ACKs."""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import inlined, kernel, merged
from multitracer.replay.arq.fields import NEVER
from multitracer.replay.tcp.ends import last_number, place, post_ack, post_segment, post_syn
from multitracer.replay.tcp.rfc.timing import start_timer


@inlined
def transmit(tcp: Any, k: int, seq: int, now: int) -> None:
    """Send a segment, for the first time or again. One new segment at a time is timed, and none that is sent again."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    if seq == end.top:
        if end.timed == 0:
            end.timed, end.timed_ns = seq, now
    elif seq == end.timed:
        end.timed = 0
    post_segment(tcp, k, seq, now)
    if end.rtx_ns == NEVER:
        start_timer(end, rules, now)


@kernel
def transmit_syn(tcp: Any, k: int, now: int) -> None:
    """Send a SYN and start the timer."""
    post_syn(tcp, k, now)
    start_timer(tcp.ends[k], tcp.rules[k & 1], now)


@inlined
def edge(tcp: Any, k: int) -> int:
    """The first number that may not be sent: by the other end's window, the send buffer, and what there is to send."""
    end = tcp.ends[k]
    return min(end.limit, end.una + tcp.rules[k & 1].buffer, last_number(end) + 1)


@inlined
def send_window(tcp: Any, k: int, now: int) -> None:
    """Send what the congestion window allows from SND.NXT on, but nothing that is SACKed."""
    end = tcp.ends[k]
    last = min(edge(tcp, k), end.una + int(end.cwnd))
    while end.nxt < last and end.allowance > 0:
        if end.nxt < end.top and tcp.board[k, place(tcp, end.nxt)].sacked:
            end.nxt += 1
        else:
            transmit(tcp, k, end.nxt, now)


@merged
def send_limited(tcp: Any, k: int, now: int) -> None:
    """Send a new segment for each of the first duplicate ACKs (RFC 3042)."""
    end = tcp.ends[k]
    last = min(edge(tcp, k), end.una + int(end.cwnd) + min(end.dupacks, tcp.rules[k & 1].dupthresh - 1))
    while end.nxt == end.top < last and end.allowance > 0:
        transmit(tcp, k, end.nxt, now)
        end.limited += 1


@inlined
def send_ack(tcp: Any, k: int, now: int) -> None:
    """Send the ACK that is owed at once, if no segment has carried it."""
    if tcp.ends[k].ack_now:
        post_ack(tcp, k, now)


@inlined
def set_allowance(tcp: Any, k: int) -> None:
    """Let this event send as many segments as max_burst allows.

    A sender that is told of local drops stops with the first segment that its host's queue does not take (tcp_output).
    """
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    end.allowance = rules.max_burst if rules.max_burst else NEVER
    if rules.quench:
        end.allowance = min(end.allowance, tcp.out.rooms[k & 1] + 1)
