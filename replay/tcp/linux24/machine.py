"""Linux 2.4's TCP under the interface of `replay.tcp.interface`: what each call of a transport does.

What an ACK says of losses is in `sacks`, what is done about it in `recovery` and `undo`; the receiver is in `receiver`.
"""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import inlined, kernel, merged
from multitracer.replay.arq.fields import NEVER
from multitracer.replay.tcp import ends
from multitracer.replay.tcp.ends import CLOSED, SYN_RECEIVED, SYN_SENT, add_write, clear, connect, place, post_syn
from multitracer.replay.tcp.linux24 import state as states
from multitracer.replay.tcp.linux24.observed import observe
from multitracer.replay.tcp.linux24.receiver import ack_timer, take_data
from multitracer.replay.tcp.linux24.recovery import alert, time_out
from multitracer.replay.tcp.linux24.sacks import tag
from multitracer.replay.tcp.linux24.sending import send_ack, send_new
from multitracer.replay.tcp.linux24.state import CWR, RECOVERY
from multitracer.replay.tcp.linux24.timing import back_off, restart_timer, sample, start_timer
from multitracer.replay.tcp.linux24.windows import grow, in_flight, restart
from multitracer.replay.tcp.packets import ACK, DATA, FIN, SYN
from multitracer.replay.tcp.rfc.machine import remember_timestamp, set_timer
from multitracer.replay.tcp.rfc.sending import set_allowance

__all__ = ["close", "expire", "local_drop", "observe", "receive", "start", "write"]

CONNECTED = ends.OPEN
ORDERLY = states.OPEN


@kernel
def start(tcp: Any, k: int, connection: int, now: int) -> None:
    """Make end `k` anew for a connection: closed, all state as before a first packet."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    kept = end.reordering
    clear(tcp, k, connection)
    end.window = rules.first_window
    end.ca = ORDERLY
    end.cwnd, end.cwnd_cnt = 0, 0
    end.ssthresh, end.prior_ssthresh, end.high_seq = rules.ssthresh, 0, 0
    end.sacked_out = end.lost_out = end.retrans_out = end.fackets_out = end.retransmits = 0
    end.undo_marker = end.undo_retrans = end.retrans_stamp = 0
    end.srtt = end.mdev = end.mdev_max = end.rttvar = end.rtt_seq = 0
    end.rto = rules.initial_rto
    end.quick = end.ato = end.pingpong = end.last_data = end.dsack = 0
    end.reordering, end.fack = rules.reordering, rules.fack
    if rules.metrics_kept and kept > rules.reordering:  # tcp_init_metrics
        end.reordering, end.fack = kept, 0


@kernel
def write(tcp: Any, k: int, segments: int, last_octets: int, now: int) -> None:
    """Let the application send data; the first write opens the connection."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    add_write(tcp, k, segments, last_octets)
    if end.state == CLOSED:
        open_connection(tcp, k, now)
    if end.state == CONNECTED:
        restart(end, rules, now)
        continue_sending(tcp, k, now)
    set_timer(end)


@kernel
def close(tcp: Any, k: int, now: int) -> None:
    """Let the application end what it sends: a FIN follows the data, where the parameters have one."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    if rules.fin and end.state != CLOSED:
        end.closing = 1
        if end.state == CONNECTED:
            continue_sending(tcp, k, now)
        set_timer(end)


@kernel
def continue_sending(tcp: Any, k: int, now: int) -> None:
    """Send what is allowed, and the ACK that is owed at once if no segment carries it."""
    set_allowance(tcp, k)
    send_new(tcp, k, now)
    send_ack(tcp, k, now)


@merged
def open_connection(tcp: Any, k: int, now: int) -> None:
    """Send a SYN; without SYNs the connection is open at once."""
    end = tcp.ends[k]
    if tcp.rules[k & 1].syn:
        end.state = SYN_SENT
        send_syn(tcp, k, now)
    else:
        open_now(tcp, k, 1 + tcp.rules[1 - (k & 1)].first_window)


@kernel
def send_syn(tcp: Any, k: int, now: int) -> None:
    """Send a SYN and start the timer."""
    post_syn(tcp, k, now)
    start_timer(tcp.ends[k], tcp.rules[k & 1], now)


@kernel
def open_now(tcp: Any, k: int, limit: int) -> None:
    """Let the connection be open, with its first window and no timer."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    connect(tcp, k, limit)
    end.cwnd = rules.initial_window
    end.rtx_ns = NEVER
    end.high_seq = end.rtt_seq = 1
    if end.srtt == 0:
        end.rto = rules.initial_rto


@kernel
def receive(tcp: Any, k: int, packet: Any, now: int) -> None:
    """Take in a packet that arrived at end `k`, and send what it allows or asks for."""
    end = tcp.ends[k]
    if packet.connection != end.connection:
        return
    set_allowance(tcp, k)
    if end.state != CONNECTED:
        shake_hands(tcp, k, packet, now)
    elif packet.bits & SYN:  # the ACK of it was lost
        end.ack_now = 1
    if end.state == CONNECTED:
        if packet.bits & ACK:
            take_ack(tcp, k, packet, now)
        if packet.bits & (DATA | FIN):
            take_data(tcp, k, packet, now)
        remember_timestamp(end, packet)
        send_new(tcp, k, now)
        send_ack(tcp, k, now)
    set_timer(end)


@merged
def shake_hands(tcp: Any, k: int, packet: Any, now: int) -> None:
    """Go on with the handshake: answer a SYN, or open when the own SYN is acknowledged."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    if not rules.syn:
        open_now(tcp, k, packet.limit)
    elif packet.bits & ACK and packet.ack >= 1 and end.state != CLOSED:
        if end.syns == 1:
            sample(end, rules, end.last_sent_ns, now)
        open_now(tcp, k, packet.limit)
        if packet.bits & SYN:  # connect() returns before the application can write: the ACK goes alone
            end.ack_now = 1
            send_ack(tcp, k, now)
    elif packet.bits & SYN:
        end.state = SYN_RECEIVED
        end.rcv_nxt = end.rcv_top = 1
        end.ts_recent = packet.sent_ns
        send_syn(tcp, k, now)


@inlined
def take_ack(tcp: Any, k: int, packet: Any, now: int) -> None:
    """Take in an acknowledgement (tcp_ack)."""
    end = tcp.ends[k]
    prior, flight = end.una, in_flight(end)
    if packet.ack < prior or packet.ack > end.top:
        return
    end.una = packet.ack
    news = tag(tcp, k, packet, prior) if packet.blocks else 0
    duplicate = packet.ack == prior and packet.limit <= end.limit and not packet.bits & (DATA | SYN | FIN)
    end.limit = max(end.limit, packet.limit)
    if prior == end.top:
        return
    acked = end.una - prior
    if acked:
        take_off_queue(tcp, k, prior, packet, now)
    dubious = duplicate or news or end.ca != ORDERLY
    limited = acked > 0 and flight >= end.cwnd
    if limited and not (dubious and (end.ca == RECOVERY or end.ca == CWR)):
        grow(end)
    if dubious:
        alert(tcp, k, packet, acked, duplicate, news, now)


@inlined
def take_off_queue(tcp: Any, k: int, prior: int, packet: Any, now: int) -> None:
    """Forget the segments that are acknowledged, take a round trip from them, restart the timer.

    tcp_clean_rtx_queue; without timestamps only segments sent once give one (Karn).
    """
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    once = True
    for seq in range(prior, end.una):
        segment = tcp.board[k, place(tcp, seq)]
        once = once and segment.sendings == 1
        end.lost_out -= segment.lost
        end.retrans_out -= segment.retrans
        if rules.sack:
            end.sacked_out -= segment.sacked
        segment.lost = segment.retrans = segment.sacked = 0
    end.fackets_out = max(end.fackets_out - (end.una - prior), 0)
    end.acked = min(end.una - 1, end.written)
    last = tcp.board[k, place(tcp, end.una - 1)]
    if once:
        end.rtts += 1
        end.rtt_ns += now - last.sent_ns
    if rules.timestamps and packet.echo_ns:
        sample(end, rules, packet.echo_ns, now)
    elif once:
        sample(end, rules, tcp.board[k, place(tcp, prior)].sent_ns, now)
    restart_timer(end, rules, now)


@kernel
def expire(tcp: Any, k: int, now: int) -> None:
    """Let the timers run out that are due: the ACK timer, the retransmission timer."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    set_allowance(tcp, k)
    if end.ack_ns <= now:
        ack_timer(end, rules)
    if end.rtx_ns <= now:
        if end.state == CONNECTED:
            time_out(tcp, k, now)
        else:
            end.timeouts += 1
            back_off(end, rules)
            send_syn(tcp, k, now)
    if end.state == CONNECTED:
        send_ack(tcp, k, now)
    set_timer(end)


@kernel
def local_drop(tcp: Any, k: int, packet: Any, now: int) -> None:
    """Halve the window, a segment with every second ACK, for a drop by the host's own queue (tcp_enter_cwr)."""
    end = tcp.ends[k]
    if tcp.rules[k & 1].quench and end.ca < CWR and packet.bits & (DATA | FIN):
        end.undo_marker = end.prior_ssthresh = 0
        end.ssthresh = max(end.cwnd >> 1, 2)
        end.cwnd = min(end.cwnd, in_flight(end) + 1)
        end.cwnd_cnt = 0
        end.high_seq = end.top
        end.ca = CWR
