"""What Linux 2.4 sends: lost segments first, then new ones, while less is in flight than the congestion window."""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import inlined, kernel, merged
from multitracer.replay.arq.fields import NEVER
from multitracer.replay.tcp.ends import last_number, place, post_ack, post_segment, report_blocks
from multitracer.replay.tcp.linux24.state import RECOVERY
from multitracer.replay.tcp.linux24.timing import start_timer
from multitracer.replay.tcp.linux24.windows import in_flight
from multitracer.replay.tcp.rfc.timing import ticks


@kernel
def retransmit(tcp: Any, k: int, seq: int, now: int) -> None:
    """Send a segment again (tcp_retransmit_skb)."""
    end, segment = tcp.ends[k], tcp.board[k, place(tcp, seq)]
    before_sending(tcp, k, now)
    post_segment(tcp, k, seq, now)
    segment.retrans, segment.mark = 1, end.top
    end.retrans_out += 1
    end.undo_retrans += 1
    if end.retrans_stamp == 0:
        end.retrans_stamp = max(now, 1)
    if end.rtx_ns == NEVER or seq == end.una:
        start_timer(end, tcp.rules[k & 1], now)


@inlined
def before_sending(tcp: Any, k: int, now: int) -> None:
    """Data that follows data which came just before shows an application that answers: ACKs may wait for it."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    if end.ato and ticks(rules, now) - end.last_data < end.ato:
        end.pingpong = 1
    use_quick_ack(end, rules)


@inlined
def use_quick_ack(end: Any, rules: Any) -> None:
    """An ACK goes out: one quick one less; after the last the delay is the least again (tcp_dec_quickack_mode)."""
    if end.quick:
        end.quick -= 1
        if end.quick == 0:
            end.ato = rules.least_ato


@inlined
def new_data(tcp: Any, k: int) -> bool:
    """Whether there is a new segment that the other end's window and the send buffer allow."""
    end = tcp.ends[k]
    return end.top < min(end.limit, end.una + tcp.rules[k & 1].buffer, last_number(end) + 1)


@inlined
def send_new(tcp: Any, k: int, now: int) -> None:
    """Send new segments (tcp_write_xmit)."""
    end = tcp.ends[k]
    while end.allowance > 0 and in_flight(end) < end.cwnd and new_data(tcp, k):
        segment = tcp.board[k, place(tcp, end.top)]
        segment.lost = segment.retrans = 0
        before_sending(tcp, k, now)
        post_segment(tcp, k, end.top, now)
        if end.rtx_ns == NEVER:
            start_timer(end, tcp.rules[k & 1], now)


@kernel
def resend_lost(tcp: Any, k: int, now: int) -> None:
    """Send again what is marked as lost, and in a recovery the other holes if there is nothing new to be sent.

    tcp_xmit_retransmit_queue.
    """
    end = tcp.ends[k]
    if end.lost_out:
        for seq in range(end.una, end.top):
            if in_flight(end) >= end.cwnd or end.allowance <= 0:
                return
            segment = tcp.board[k, place(tcp, seq)]
            if segment.lost and not segment.sacked and not segment.retrans:
                retransmit(tcp, k, seq, now)
    if end.ca == RECOVERY and tcp.rules[k & 1].sack and not (new_data(tcp, k) and in_flight(end) < end.cwnd):
        resend_holes(tcp, k, now)


@merged
def resend_holes(tcp: Any, k: int, now: int) -> None:
    """Send again what lies below the highest SACKed, though it is not marked as lost."""
    end = tcp.ends[k]
    for seq in range(end.una, end.una + end.fackets_out):
        if in_flight(end) >= end.cwnd or end.allowance <= 0:
            return
        segment = tcp.board[k, place(tcp, seq)]
        if not segment.sacked and not segment.lost and not segment.retrans:
            retransmit(tcp, k, seq, now)


@inlined
def send_ack(tcp: Any, k: int, now: int) -> None:
    """Send the ACK that is owed at once, with the duplicate that came first among its blocks (RFC 2883)."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    if not end.ack_now:
        return
    use_quick_ack(end, rules)
    if end.dsack == 0 or not rules.sack:
        post_ack(tcp, k, now)
    else:
        post_dsack(tcp, k, now)
    end.dsack = 0


@merged
def post_dsack(tcp: Any, k: int, now: int) -> None:
    """Put an ACK with a DSACK into the box."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    reports, end.reports = end.reports, 0
    at = tcp.out.state.packets
    post_ack(tcp, k, now)
    end.reports = reports
    packet = tcp.out.rows[at]
    packet.left[0], packet.right[0], packet.blocks = end.dsack, end.dsack + 1, 1
    report_blocks(end, packet, rules.blocks)
    packet.octets = rules.ack_octets + rules.block_octets * packet.blocks
