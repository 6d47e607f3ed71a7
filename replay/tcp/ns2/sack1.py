"""ns-2's Sack1: recovery by an estimate of what is in the pipe.

Its scoreboard knows which packets are SACKed (`sacked` of the board's segments, the highest of them below
`sacked_end`), and that all holes below `resent_end` were resent in this recovery.
"""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import inlined, kernel, merged
from multitracer.replay.tcp.ns2.acks import DUPACKS, cut_for_timeout, take_and_grow, take_new
from multitracer.replay.tcp.ns2.output import advance, halve, is_first, output, resend, send_one, stop_timing, window
from multitracer.replay.tcp.ns2.state import BY_DUPACKS
from multitracer.replay.tcp.ns2.timer import restart_timer

NO_HOLE = -1


@inlined
def hear_sack1(tcp: Any, k: int, packet: Any, now: int) -> None:
    """Take in an ACK, and send what it allows."""
    e, ack = tcp.ends[k], packet.ack
    if e.in_recovery:
        e.pipe -= 1
        if ack >= e.recover:
            leave(tcp, k, ack, now)
        elif ack > e.una:
            take_partial(tcp, k, packet, now)
        else:
            mark(tcp, k, packet)
        send_pipe(tcp, k, now)
        return
    if ack > e.una:
        take_and_grow(tcp, k, ack, now)
        e.muted = 0
        clear(tcp, k)
    elif ack == e.una and not e.muted and mark(tcp, k, packet) > 0:
        take_duplicate(tcp, k, now)
    if e.dupacks == 0:
        send_pipe(tcp, k, now)


@merged
def take_duplicate(tcp: Any, k: int, now: int) -> None:
    """Count a duplicate ACK that SACKs something new: limited transmit, or recovery."""
    e, rules = tcp.ends[k], tcp.rules[k & 1]
    e.dupacks += 1
    if e.dupacks == DUPACKS:
        if e.una > e.recover or is_first(e):
            recover(tcp, k, now)
    elif e.dupacks < DUPACKS and rules.limited_transmit:
        send_one(tcp, k, now)


@merged
def recover(tcp: Any, k: int, now: int) -> None:
    """Halve the window and resend the first packet that is not acknowledged; three packets have left the pipe."""
    e, rules = tcp.ends[k], tcp.rules[k & 1]
    e.recover, e.in_recovery = e.top, 1
    e.pipe = e.top - e.una - DUPACKS
    stop_timing(e, rules, now)
    e.resent_end = max(e.resent_end, e.una + 1)
    e.reduction = BY_DUPACKS
    e.cwnd = halve(e, rules)
    e.fast_retransmits += 1
    resend(tcp, k, e.una, now)


@merged
def take_partial(tcp: Any, k: int, packet: Any, now: int) -> None:
    """Stay in recovery: the packet resent has left the pipe too; back-off ends. What is sent next stays as it is."""
    e = tcp.ends[k]
    advance(tcp, k, packet.ack, now)
    mark(tcp, k, packet)
    e.pipe -= 1
    restart_timer(e, tcp.rules[k & 1], now)
    e.backoff = 1


@merged
def leave(tcp: Any, k: int, ack: int, now: int) -> None:
    """All that was sent when recovery began has arrived; this ACK does not open the window."""
    e = tcp.ends[k]
    e.recover, e.in_recovery, e.muted = e.first + 1, 0, 0
    take_new(tcp, k, ack, now)
    clear(tcp, k)


@kernel
def mark(tcp: Any, k: int, packet: Any) -> int:
    """Enter an ACK's blocks into the scoreboard; how many packets they SACK that were not SACKed before."""
    e, mask, count = tcp.ends[k], tcp.board.shape[1] - 1, 0
    for block in range(packet.blocks):
        end = min(packet.right[block], e.top)
        for seq in range(max(packet.left[block], e.una), end):
            segment = tcp.board[k, seq & mask]
            count += 1 - segment.sacked
            segment.sacked = 1
        e.sacked_end = max(e.sacked_end, end)
    return count


@inlined
def clear(tcp: Any, k: int) -> None:
    """Empty the scoreboard; packets below una are not looked at any more."""
    e, mask = tcp.ends[k], tcp.board.shape[1] - 1
    for seq in range(e.una, e.sacked_end):
        tcp.board[k, seq & mask].sacked = 0
    e.sacked_end = e.resent_end = 0


@merged
def next_hole(tcp: Any, k: int) -> int:
    """The first packet below the highest SACK that is neither SACKed nor resent."""
    e, mask = tcp.ends[k], tcp.board.shape[1] - 1
    seq = max(e.resent_end, e.una)
    while seq < e.sacked_end and tcp.board[k, seq & mask].sacked:
        seq += 1
    if seq >= e.sacked_end:
        return NO_HOLE
    e.resent_end = seq
    return seq


@kernel
def send_pipe(tcp: Any, k: int, now: int) -> None:
    """Send while there is room: in the window, or in recovery in the pipe, holes first."""
    e, rules = tcp.ends[k], tcp.rules[k & 1]
    sent = 0
    while has_room(e, rules) and e.window_una < e.written:
        end = e.una + (rules.window if e.in_recovery else window(e, rules))
        seq = next_hole(tcp, k)
        if seq == NO_HOLE:
            if e.next >= end or e.next >= e.written:
                return
            seq = e.next
        elif e.recover <= e.first + 1 or seq >= e.una + rules.window:
            return
        else:
            e.resent_end = seq + 1
        output(tcp, k, seq, now)
        e.next = max(e.next, seq + 1)
        e.pipe += 1
        sent += 1
        if sent == rules.max_burst:
            return


@inlined
def has_room(e: Any, rules: Any) -> bool:
    """Whether another packet may go: by the window as of the last ACK out of recovery, or by the pipe."""
    if e.in_recovery:
        return e.pipe < int(e.cwnd)
    return e.next < e.window_una + window(e, rules)


@merged
def time_out_sack1(tcp: Any, k: int, now: int) -> None:
    """The retransmission timer expired: forget the scoreboard; duplicate ACKs do nothing until new data arrives."""
    e, rules = tcp.ends[k], tcp.rules[k & 1]
    e.dupacks = e.in_recovery = 0
    e.muted = 1
    e.window_una = e.una
    clear(tcp, k)
    cut_for_timeout(e, rules, now)
    send_pipe(tcp, k, now)
