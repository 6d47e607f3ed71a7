"""What an end sends: data of its sender, and what every variant does around sending (ns-2's output, send_much)."""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import inlined, kernel, merged
from multitracer.replay.arq.fields import NEVER
from multitracer.replay.tcp.ns2.parameters import NEWRENO
from multitracer.replay.tcp.ns2.state import SHORTS
from multitracer.replay.tcp.ns2.timer import restart_timer
from multitracer.replay.tcp.packets import DATA, SYN, posted

NEWRENO_BURST = 2
"""Packets that NewReno sends for an ACK in recovery."""


@inlined
def window(e: Any, rules: Any) -> int:
    """What may be unacknowledged, in packets: cwnd and what duplicate ACKs let in addition (Reno, NewReno)."""
    return min(int(e.cwnd) + e.inflation, rules.window)


@inlined
def octets_of(e: Any, rules: Any, seq: int) -> int:
    """A packet's octets on the wire."""
    if seq == 0:
        return rules.syn_octets
    return rules.segment_octets if e.shorts == e.short_first else short_octets(e, rules, seq)


@merged
def short_octets(e: Any, rules: Any, seq: int) -> int:
    """A packet's octets when some of those to be acknowledged are short."""
    for at in range(e.short_first, e.shorts):
        if e.short_numbers[at % SHORTS] == seq:
            return e.short_octets[at % SHORTS]
    return rules.segment_octets


@inlined
def output(tcp: Any, k: int, seq: int, now: int) -> None:
    """Send a packet; the timer is set if it does not run or nothing was outstanding. New data may be timed."""
    e, rules = tcp.ends[k], tcp.rules[k & 1]
    segment = tcp.board[k, seq & (tcp.board.shape[1] - 1)]
    if seq >= e.top:
        segment.sendings = segment.sacked = segment.resent = 0
    packet = tcp.out.rows[posted(tcp.out)]
    packet.connection, packet.end, packet.bits, packet.seq = e.connection, k & 1, DATA if seq > 0 else SYN, seq
    packet.octets, packet.sending = octets_of(e, rules, seq), segment.sendings
    packet.ack, packet.limit, packet.sent_ns, packet.echo_ns = 0, 0, now, 0
    segment.sendings += 1
    segment.sent_ns = now
    e.packets += 1
    if e.rtx_ns == NEVER or e.una == e.top:
        restart_timer(e, rules, now)
    if seq < e.top:
        e.retransmissions += 1
    else:
        e.top = seq + 1
        if not e.timing:
            e.timing, e.timed, e.timed_ns = 1, seq, now


@kernel
def resend(tcp: Any, k: int, seq: int, now: int) -> None:
    """Send a packet again; `output` is compiled only into what sends new data."""
    output(tcp, k, seq, now)


@inlined
def send_window(tcp: Any, k: int, burst: int, now: int) -> None:
    """Send what the window allows, but no more than `burst` packets unless that is 0."""
    e, rules = tcp.ends[k], tcp.rules[k & 1]
    end = min(e.una + window(e, rules), e.written)
    if burst:
        end = min(end, e.next + burst)
    while e.next < end:
        output(tcp, k, e.next, now)
        e.next += 1


@kernel
def send_one(tcp: Any, k: int, now: int) -> None:
    """Limited transmit: send a new packet for a first or second duplicate ACK."""
    e, rules = tcp.ends[k], tcp.rules[k & 1]
    if e.next < min(e.una + rules.window, e.written) and e.next - e.una + 1 <= e.cwnd + e.dupacks:
        output(tcp, k, e.next, now)
        e.next += 1


@inlined
def grow(e: Any) -> None:
    """Open the window: by one in slow start, else by a cwnd-th. It is never capped; what is sent is."""
    e.cwnd += 1.0 if e.cwnd < e.ssthresh else 1.0 / e.cwnd


@kernel
def halve(e: Any, rules: Any) -> float:
    """Set ssthresh to half the window, at least 2, and give back that half with its fraction."""
    half = min(e.cwnd + e.inflation, float(rules.window)) / 2
    e.ssthresh = max(2, int(half))
    return half


@kernel
def stop_timing(e: Any, rules: Any, now: int) -> None:
    """Restart the timer and give up the running measurement: data is sent again."""
    restart_timer(e, rules, now)
    e.timing = 0


@inlined
def advance(tcp: Any, k: int, ack: int, now: int) -> None:
    """Move to a higher acknowledgement; it is a round trip if what it answers was sent once."""
    e = tcp.ends[k]
    segment = tcp.board[k, (ack - 1) & (tcp.board.shape[1] - 1)]
    if segment.sendings == 1:
        e.rtt_ns += now - segment.sent_ns
        e.rtts += 1
    e.una = ack
    e.acked = ack - 1
    e.established = 1
    while e.short_first < e.shorts and e.short_numbers[e.short_first % SHORTS] < ack:
        e.short_first += 1


@inlined
def is_first(e: Any) -> bool:
    """Whether the first packet, and no other, is acknowledged."""
    return e.una == e.first + 1


@inlined
def bursts(e: Any, rules: Any) -> int:
    """How many packets an ACK may let out; 0: no limit."""
    return NEWRENO_BURST if rules.variant == NEWRENO and e.dupacks > 0 else rules.max_burst
