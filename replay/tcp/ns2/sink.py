"""ns-2's sinks: an ACK for each packet or for each second one, with SACK blocks or without."""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import inlined, merged
from multitracer.replay.arq.fields import NEVER
from multitracer.replay.tcp.ns2.timer import next_timer
from multitracer.replay.tcp.packets import ACK, posted

NOTHING = -1


@inlined
def take_data(tcp: Any, k: int, packet: Any, now: int) -> None:
    """Take in a packet and acknowledge it, now or later."""
    e, rules, seq = tcp.ends[k], tcp.rules[k & 1], packet.seq
    if packet.sent_ns >= e.echo_ns and seq <= e.answered:
        e.echo_ns = packet.sent_ns
    if seq >= e.expected:
        keep(tcp, k, seq)
    if rules.delays_acks and e.ack_ns == NEVER and may_wait(e, seq):
        e.ack_ns, e.waiting = now + rules.ack_delay_ns, seq
        next_timer(e)
    else:
        acknowledge(tcp, k, seq, now)


@inlined
def may_wait(e: Any, seq: int) -> bool:
    """Whether an ACK may be delayed: of the last packet in order, if it filled no gap and is not the first."""
    return seq == e.expected - 1 and seq == e.highest - 1 and seq != e.first


@inlined
def keep(tcp: Any, k: int, seq: int) -> None:
    """Keep a packet until it is in order, and hand over all that are now."""
    e, mask = tcp.ends[k], tcp.board.shape[1] - 1
    if seq > e.expected:
        tcp.board[k, seq & mask].here = 1
    else:
        e.expected += 1
        while tcp.board[k, e.expected & mask].here:
            tcp.board[k, e.expected & mask].here = 0
            e.expected += 1
        e.delivered = e.expected - 1
        e.established = 1
    e.highest = max(e.highest, seq + 1)


@inlined
def acknowledge(tcp: Any, k: int, seq: int, now: int) -> None:
    """Send an ACK that answers packet `seq`."""
    e, rules = tcp.ends[k], tcp.rules[k & 1]
    row = tcp.out.rows[posted(tcp.out)]
    row.connection, row.end, row.bits, row.seq, row.sending = e.connection, k & 1, ACK, 0, 0
    row.ack, row.limit = e.expected, e.expected + rules.window
    row.sent_ns, row.echo_ns = now, e.echo_ns
    if rules.sack:
        report(tcp, k, seq, row)
    row.octets = rules.ack_octets + row.blocks * rules.block_octets
    e.answered = e.expected
    e.packets += 1
    e.ack_ns = NEVER
    next_timer(e)


@merged
def report(tcp: Any, k: int, seq: int, row: Any) -> None:
    """Write SACK blocks: the one that holds packet `seq`, then those reported before that it does not contain.

    A packet in order has no block; what it has joined is in none that was reported before.
    """
    e, blocks = tcp.ends[k], tcp.rules[k & 1].blocks
    if e.expected >= e.highest:
        e.history = 0
        return
    left, right = 0, e.expected
    if seq > e.expected:
        left, right = left_of(tcp, k, seq), right_of(tcp, k, seq)
        row.left[0], row.right[0] = left, right
        row.blocks = 1
    at = 0
    while row.blocks < blocks and at < e.history:
        if left <= e.left[at] and e.right[at] <= right:
            forget(e, at)
        else:
            row.left[row.blocks], row.right[row.blocks] = e.left[at], e.right[at]
            row.blocks += 1
            at += 1
    if left > 0:
        remember(e, blocks, left, right)


@inlined
def left_of(tcp: Any, k: int, seq: int) -> int:
    """The first packet of the block that packet `seq` is in."""
    mask = tcp.board.shape[1] - 1
    while tcp.board[k, (seq - 1) & mask].here:
        seq -= 1
    return seq


@inlined
def right_of(tcp: Any, k: int, seq: int) -> int:
    """The end of the block that packet `seq` is in."""
    mask = tcp.board.shape[1] - 1
    while tcp.board[k, seq & mask].here:
        seq += 1
    return seq


@inlined
def forget(e: Any, at: int) -> None:
    """Take a block out of those reported before."""
    e.history -= 1
    for n in range(at, e.history):
        e.left[n], e.right[n] = e.left[n + 1], e.right[n + 1]


@inlined
def remember(e: Any, blocks: int, left: int, right: int) -> None:
    """Put a block before those reported before; one too many is dropped."""
    e.history = min(e.history + 1, blocks)
    for n in range(e.history - 1, 0, -1):
        e.left[n], e.right[n] = e.left[n - 1], e.right[n - 1]
    e.left[0], e.right[0] = left, right


@merged
def expire_delay(tcp: Any, k: int, now: int) -> None:
    """Acknowledge the packet whose ACK waited."""
    acknowledge(tcp, k, tcp.ends[k].waiting, now)
