"""ns-2's Fack: what is outstanding is reckoned from the highest SACK, and a reduction falls to one packet.

Its scoreboard holds the packets from `board_first` to below `board_end`, the end of the highest SACK. Of each it knows
whether it is SACKed, and whether it was resent, and what was to be sent next then (`resent_at`). `resent` counts
those resent and not yet known to have arrived.
"""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import inlined, kernel, merged
from multitracer.replay.arq.fields import NEVER, codes
from multitracer.replay.tcp.ns2.acks import DUPACKS, take_new
from multitracer.replay.tcp.ns2.output import advance, grow, halve, output, resend, stop_timing
from multitracer.replay.tcp.ns2.state import BY_DUPACKS, BY_TIMEOUT
from multitracer.replay.tcp.ns2.timer import back_off, learn, next_timer, restart_timer

NO_HOLE = -1
NO_LIMIT, *_ = codes(1)


@inlined
def hear_fack(tcp: Any, k: int, packet: Any, now: int) -> None:
    """Take in an ACK, and send what it allows."""
    e, rules, ack = tcp.ends[k], tcp.rules[k & 1], packet.ack
    if e.in_recovery:
        stay(tcp, k, packet, now)
        send_fack(tcp, k, rules.max_burst, now)
        return
    if ack > e.una and packet.blocks == 0:
        take_new(tcp, k, ack, now)
        grow(e)
        clear(e)
    elif ack >= e.una:
        e.resent -= mark(tcp, k, packet)
        take_old(tcp, k, packet, now)
        look_ahead(e, packet)
        e.dupacks = e.fack - e.una - 1
        if e.dupacks >= DUPACKS:
            recover(tcp, k, now)
    if e.dupacks == 0:
        send_fack(tcp, k, rules.max_burst, now)


@merged
def stay(tcp: Any, k: int, packet: Any, now: int) -> None:
    """An ACK in recovery: the window grows; one without blocks for all that was sent before recovery ends it.

    A resend that is overtaken by a SACK of something sent after it stops all sending: the timer repairs that.
    """
    e = tcp.ends[k]
    take_old(tcp, k, packet, now)
    look_ahead(e, packet)
    e.resent -= mark(tcp, k, packet)
    e.muted |= is_overtaken(tcp, k, packet)
    grow(e)
    if packet.blocks == 0 and e.una >= e.recover:
        e.in_recovery = e.dupacks = 0
        clear(e)


@inlined
def clear(e: Any) -> None:
    """Empty the scoreboard."""
    e.fack = e.una
    e.muted = e.resent = 0
    e.board_end = e.board_first


@kernel
def take_old(tcp: Any, k: int, packet: Any, now: int) -> None:
    """What ns-2 does with an ACK that has blocks, is a duplicate, or comes in recovery.

    The timer is restarted, then the round trip is taken from the echoed time, whatever was resent.
    """
    e, rules = tcp.ends[k], tcp.rules[k & 1]
    if packet.ack > e.una:
        advance(tcp, k, packet.ack, now)
    e.fack = max(e.fack, e.una)
    e.next = max(e.next, e.una)
    restart_timer(e, rules, now)
    if e.timing and e.una > e.timed:
        e.timing, e.backoff = 0, 1
    learn(e, rules, packet.echo_ns, now)


@inlined
def look_ahead(e: Any, packet: Any) -> None:
    """Move fack to the end of the highest block."""
    for block in range(packet.blocks):
        e.fack = max(e.fack, packet.right[block])
    e.next = max(e.next, e.fack)


@merged
def recover(tcp: Any, k: int, now: int) -> None:
    """Halve ssthresh, fall to a window of one and resend the first packet that is not acknowledged."""
    e, rules = tcp.ends[k], tcp.rules[k & 1]
    e.recover, e.in_recovery, e.reduction = e.next + 1, 1, BY_DUPACKS
    halve(e, rules)
    e.cwnd = 1.0
    e.fast_retransmits += 1
    stop_timing(e, rules, now)
    resend_hole(tcp, k, e.una, now)


@kernel
def resend_hole(tcp: Any, k: int, seq: int, now: int) -> None:
    """Send a hole again."""
    e = tcp.ends[k]
    segment = tcp.board[k, seq & (tcp.board.shape[1] - 1)]
    segment.resent, segment.resent_at = 1, e.next
    e.resent += 1
    resend(tcp, k, seq, now)


@kernel
def mark(tcp: Any, k: int, packet: Any) -> int:
    """Enter an ACK's blocks into the scoreboard; how many resends are known to have arrived by it."""
    e, mask = tcp.ends[k], tcp.board.shape[1] - 1
    arrived = drop_acknowledged(tcp, k)
    for block in range(packet.blocks):
        left, right = packet.left[block], packet.right[block]
        if e.board_first == e.board_end:
            e.board_first = e.board_end = e.una
        for seq in range(e.board_end, right):
            segment = tcp.board[k, seq & mask]
            segment.sacked = segment.resent = 0
        e.board_end = max(e.board_end, right)
        for seq in range(max(left, e.board_first), right):
            segment = tcp.board[k, seq & mask]
            arrived += segment.resent
            segment.sacked, segment.resent = 1, 0
    return arrived


@merged
def drop_acknowledged(tcp: Any, k: int) -> int:
    """Take what is acknowledged off the scoreboard; how many of those were resent."""
    e, mask, arrived = tcp.ends[k], tcp.board.shape[1] - 1, 0
    end = min(e.una, e.board_end)
    for seq in range(e.board_first, end):
        arrived += tcp.board[k, seq & mask].resent
    e.board_first = max(e.board_first, end)
    return arrived


@merged
def is_overtaken(tcp: Any, k: int, packet: Any) -> int:
    """Whether a block shows that a resend was lost again: something sent after it has arrived."""
    e, mask, lost = tcp.ends[k], tcp.board.shape[1] - 1, 0
    for block in range(packet.blocks):
        right = packet.right[block]
        for seq in range(e.board_first, right):
            segment = tcp.board[k, seq & mask]
            if segment.resent and segment.resent_at < right:
                segment.resent = segment.resent_at = 0
                lost = 1
    return lost


@merged
def next_hole(tcp: Any, k: int) -> int:
    """The first packet on the scoreboard that is neither SACKed nor resent."""
    e, mask = tcp.ends[k], tcp.board.shape[1] - 1
    for seq in range(e.board_first, e.board_end):
        segment = tcp.board[k, seq & mask]
        if not segment.sacked and not segment.resent:
            return seq
    return NO_HOLE


@kernel
def send_fack(tcp: Any, k: int, burst: int, now: int) -> None:
    """Send while less than the window is outstanding beyond fack, resends counted; holes first."""
    e, rules = tcp.ends[k], tcp.rules[k & 1]
    window, sent = int(min(e.cwnd, float(rules.window))), 0
    while e.next < e.fack + window - e.resent and not e.muted:
        seq = next_hole(tcp, k)
        if seq != NO_HOLE:
            resend_hole(tcp, k, seq, now)
        elif e.next >= e.written or (e.in_recovery and e.next >= e.una + rules.window):
            return
        else:
            output(tcp, k, e.next, now)
            e.next += 1
        sent += 1
        if sent == burst:
            return


@merged
def time_out_fack(tcp: Any, k: int, now: int) -> None:
    """The retransmission timer expired: go back to the first packet that is not acknowledged, recovery or not.

    What is sent now is not limited by the largest burst. An idle sender's window becomes the first one.
    """
    e, rules = tcp.ends[k], tcp.rules[k & 1]
    idle = e.una == e.top
    if idle:
        e.cwnd = float(rules.initial_window)
    else:
        e.timeouts += 1
        halve(e, rules)
        e.cwnd = 1.0
        back_off(e, rules)
    e.reduction = BY_TIMEOUT
    clear(e)
    e.next = e.una
    stop_timing(e, rules, now)
    if idle:
        e.rtx_ns = NEVER
        next_timer(e)
    send_fack(tcp, k, NO_LIMIT, now)
