"""TCP by its RFCs under the interface of `replay.tcp.interface`: what each call of a transport does.

Reno, NewReno, SACK and FACK differ in `recovery` and `scoreboard`; 4.4BSD is Reno with rules of its own.
"""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import inlined, kernel, merged
from multitracer.replay.arq.fields import NEVER
from multitracer.replay.tcp.ends import CLOSED, OPEN, SYN_RECEIVED, SYN_SENT, add_write, clear, connect, place
from multitracer.replay.tcp.packets import ACK, DATA, FIN, SYN
from multitracer.replay.tcp.reassembly import DUPLICATE, IN_ORDER, take_in
from multitracer.replay.tcp.rfc.observed import observe
from multitracer.replay.tcp.rfc.recovery import advance, duplicate, send, time_out
from multitracer.replay.tcp.rfc.scoreboard import forget_below, update
from multitracer.replay.tcp.rfc.sending import send_ack, set_allowance, transmit_syn
from multitracer.replay.tcp.rfc.timing import back_off, restart_after_syn, sample, stop_timer
from multitracer.replay.tcp.rfc.windows import begin, restart

__all__ = ["close", "expire", "local_drop", "observe", "receive", "start", "write"]


@kernel
def start(tcp: Any, k: int, connection: int, now: int) -> None:
    """Make end `k` anew for a connection: closed, all state as before a first packet."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    clear(tcp, k, connection)
    end.dupacks = end.recover = end.recovering = end.limited = end.partials = 0
    end.fack = end.sacked = end.high_rxt = end.pipe = end.rescue = 0
    end.srtt = end.rttvar = end.backoff = end.timed = end.timed_ns = end.expired = 0
    end.rto_ns = rules.initial_rto_ns
    end.cwnd = end.ssthresh = 0.0


@kernel
def write(tcp: Any, k: int, segments: int, last_octets: int, now: int) -> None:
    """Let the application send data; the first write opens the connection."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    add_write(tcp, k, segments, last_octets)
    if end.state == CLOSED:
        open_connection(tcp, k, now)
    if end.state == OPEN:
        restart(end, rules, now)
        continue_sending(tcp, k, now)
    set_timer(end)


@kernel
def close(tcp: Any, k: int, now: int) -> None:
    """Let the application end what it sends: a FIN follows the data, where the parameters have one."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    if rules.fin and end.state != CLOSED:
        end.closing = 1
        if end.state == OPEN:
            continue_sending(tcp, k, now)
        set_timer(end)


@kernel
def continue_sending(tcp: Any, k: int, now: int) -> None:
    """Send what is allowed, and the ACK that is owed at once if no segment carries it."""
    set_allowance(tcp, k)
    send(tcp, k, now)
    send_ack(tcp, k, now)


@inlined
def set_timer(end: Any) -> None:
    """Say when `expire` wants to be called."""
    end.timer_ns = min(end.rtx_ns, end.ack_ns)


@merged
def open_connection(tcp: Any, k: int, now: int) -> None:
    """Send a SYN; without SYNs the connection is open at once."""
    end = tcp.ends[k]
    if tcp.rules[k & 1].syn:
        end.state = SYN_SENT
        transmit_syn(tcp, k, now)
    else:
        open_now(tcp, k, 1 + tcp.rules[1 - (k & 1)].window)


@kernel
def open_now(tcp: Any, k: int, limit: int) -> None:
    """Let the connection be open, with its first windows and no timer."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    connect(tcp, k, limit)
    begin(end, rules)
    restart_after_syn(end, rules)
    stop_timer(end)
    end.fack = 1
    end.recover = 0


@kernel
def receive(tcp: Any, k: int, packet: Any, now: int) -> None:
    """Take in a packet that arrived at end `k`, and send what it allows or asks for."""
    end = tcp.ends[k]
    if packet.connection != end.connection:
        return
    set_allowance(tcp, k)
    if end.state != OPEN:
        shake_hands(tcp, k, packet, now)
    elif packet.bits & SYN:  # the ACK of it was lost
        end.ack_now = 1
    if end.state == OPEN:
        if packet.bits & ACK:
            take_ack(tcp, k, packet, now)
        if packet.bits & (DATA | FIN):
            take_data(tcp, k, packet, now)
        remember_timestamp(end, packet)
        send(tcp, k, now)
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
        end.ack_now = packet.bits & SYN != 0
    elif packet.bits & SYN:
        end.state = SYN_RECEIVED
        end.rcv_nxt = end.rcv_top = 1
        end.ts_recent = packet.sent_ns
        transmit_syn(tcp, k, now)


@inlined
def remember_timestamp(end: Any, packet: Any) -> None:
    """Echo the timestamp of this packet from now on, unless it is above what was acknowledged last (RFC 1323, 3.4)."""
    if packet.seq <= end.last_ack and packet.sent_ns > end.ts_recent:
        end.ts_recent = packet.sent_ns


@inlined
def take_ack(tcp: Any, k: int, packet: Any, now: int) -> None:
    """Take in an acknowledgement: of new data, or a duplicate (RFC 5681, 2; with SACK one that reports new data)."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    if packet.ack < end.una or packet.ack > end.top:
        return
    fresh = update(tcp, k, packet) if packet.blocks else 0
    same_window = packet.limit == end.limit
    end.limit = max(end.limit, packet.limit)
    if packet.ack > end.una:
        acked = packet.ack - end.una
        measure(tcp, k, packet, now)
        forget_below(tcp, k, packet.ack)
        end.una, end.nxt = packet.ack, max(end.nxt, packet.ack)
        end.acked = min(end.una - 1, end.written)
        advance(tcp, k, acked, now)
    elif end.una < end.top and (fresh if rules.sack else same_window and not packet.bits & (DATA | SYN | FIN)):
        duplicate(tcp, k, now)


@inlined
def measure(tcp: Any, k: int, packet: Any, now: int) -> None:
    """Take round trips from an ACK of new data: by timestamp or the segment timed, and as tcptrace takes them."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    last = tcp.board[k, place(tcp, packet.ack - 1)]
    once = True
    for seq in range(end.una, packet.ack):
        once = once and tcp.board[k, place(tcp, seq)].sendings == 1
    if once:
        end.rtts += 1
        end.rtt_ns += now - last.sent_ns
    if rules.timestamps and packet.echo_ns:
        sample(end, rules, packet.echo_ns, now)
        return
    if last.sendings == 1:  # Karn: what was sent once ends the back-off
        end.backoff = 0
    if 0 < end.timed < packet.ack:
        sample(end, rules, end.timed_ns, now)
        end.timed = 0


@inlined
def take_data(tcp: Any, k: int, packet: Any, now: int) -> None:
    """Take in data or a FIN, and owe an ACK: at once for what is out of order or fills a gap (RFC 5681, 4.2)."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    was = take_in(tcp, k, packet)
    if was != IN_ORDER or packet.bits & FIN:
        end.ack_now = 1
    else:
        owe_ack(end, rules, now)
    if 0 < end.peer_fin < end.rcv_nxt and was != DUPLICATE:
        end.closing = rules.fin


@inlined
def owe_ack(end: Any, rules: Any, now: int) -> None:
    """Owe an ACK for a segment in order: at once if it is the last of `ack_every`, else when the ACK timer expires."""
    end.owed += 1
    if end.owed >= rules.ack_every:
        end.ack_now = 1
    elif end.ack_ns == NEVER:
        end.ack_ns = now + rules.ack_delay_ns
        if rules.ack_grid_ns:
            end.ack_ns = ((now + rules.phase_ns) // rules.ack_grid_ns + 1) * rules.ack_grid_ns - rules.phase_ns


@kernel
def expire(tcp: Any, k: int, now: int) -> None:
    """Let the timers run out that are due: the ACK timer, the retransmission timer."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    set_allowance(tcp, k)
    if end.ack_ns <= now:
        end.ack_ns = NEVER
        end.ack_now = 1
    if end.rtx_ns <= now:
        if end.state == OPEN:
            time_out(tcp, k, now)
        else:
            end.timeouts += 1
            back_off(end, rules)
            transmit_syn(tcp, k, now)
    if end.state == OPEN:
        send_ack(tcp, k, now)
    set_timer(end)


@kernel
def local_drop(tcp: Any, k: int, packet: Any, now: int) -> None:
    """Take a drop by the host's own queue for a source quench: cwnd is one segment, ssthresh stays."""
    if tcp.rules[k & 1].quench and packet.bits & (DATA | FIN):
        tcp.ends[k].cwnd = 1.0
