"""What the ends of all models in this package have in common: fields, rings of segments, and what they send.

Number n of an end's sending and receiving sequence stands at place n modulo the ring's slots, a power of two that
no window exceeds; the SYN, number 0, has no place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.compute.kernels import inlined, kernel, merged
from multitracer.replay.arq.fields import NEVER, codes, joined, numbers, table
from multitracer.replay.tcp.packets import ACK, DATA, FIN, SACK_BLOCKS, SYN, posted

CLOSED, SYN_SENT, SYN_RECEIVED, OPEN = codes(4)
"""How far an end's connection is (`state`); it stays OPEN after FINs."""

END = joined(
    numbers(
        # The interface's.
        "timer_ns established acked delivered", "packets retransmissions timeouts fast_retransmits",
        # Sum and count of round trips as tcptrace takes them: ACKs of segments sent once, the last one acknowledged.
        "rtt_ns rtts",
        "connection state syns",
        # Sending: SND.UNA, SND.NXT, SND.MAX; what the application wrote: the last number, writes not fully sent and
        # segments refused; whether and with which number it closes; the other end's window.
        "una nxt top written writes next_write refused closing limit",
        # What this event may still send (max_burst).
        "allowance",
        # Receiving: RCV.NXT, one above the highest held, the window (segments), the other end's FIN.
        "rcv_nxt rcv_top window peer_fin",
        # Acknowledging: the timer, whether at once, segments not acknowledged yet, the last ACK sent, the timestamp
        # to be echoed; blocks to be reported.
        "ack_ns ack_now owed last_ack ts_recent reports",
        "rtx_ns last_sent_ns",
    ),
    tables=[("left", np.int64, (SACK_BLOCKS,)), ("right", np.int64, (SACK_BLOCKS,))],
)  # fmt: skip

SEGMENT = numbers("octets sendings sent_ns sacked", "here left right", "write_end write_octets")
"""A place in a ring. Sending: octets on the wire, how often and when last it was sent, whether it was SACKed.
Receiving: whether it is held; at its first and last segment, where the block of held segments ends and begins. A write:
number and octets of its last segment."""


def rules_of_sides(parameters: tuple[Any, Any], dtype: Any) -> Any:
    """The rules of the wired ends and of the terminals; SACK is used where both have it."""
    rules = table(2, dtype)
    for side, each in enumerate(parameters):
        rules[side] = each.rules()
    rules["sack"] = rules["sack"].all()
    return rules


def slots(*windows: int) -> int:
    """Places in a ring for some windows."""
    return 1 << (max(windows) + 1).bit_length()


def with_fields(base: Any, *names: str, doubles: tuple[str, ...] = ()) -> Any:
    """A dtype with more fields than another."""
    return joined(base, numbers(*names), tables=[(name, np.float64) for name in doubles])


def closed(connections: int, dtype: Any) -> Any:
    """A table of both ends of some connections, none of them started: no timer runs."""
    made = table(2 * connections, dtype)
    for name in ("timer_ns", "rtx_ns", "ack_ns"):
        made[name] = NEVER
    return made


@inlined
def place(tcp: Any, n: int) -> int:
    """The place of number `n` in a ring."""
    return n & (tcp.board.shape[1] - 1)


@merged
def clear(tcp: Any, k: int, connection: int) -> None:
    """Make the fields of `END`, and the ring, those of an end that is not connected."""
    end = tcp.ends[k]
    end.timer_ns = end.rtx_ns = end.ack_ns = NEVER
    end.established = end.acked = end.delivered = 0
    end.packets = end.retransmissions = end.timeouts = end.fast_retransmits = 0
    end.rtt_ns = end.rtts = 0
    end.connection = connection
    end.state, end.syns = CLOSED, 0
    end.una = end.nxt = end.top = end.written = end.limit = 0
    end.writes = end.next_write = end.refused = end.closing = 0
    end.rcv_nxt = end.rcv_top = end.peer_fin = 0
    end.window = tcp.rules[k & 1].window
    end.ack_now = end.owed = end.last_ack = end.ts_recent = end.reports = 0
    end.allowance = 0
    end.last_sent_ns = 0
    for at in range(tcp.board.shape[1]):
        segment = tcp.board[k, at]
        segment.here = segment.sacked = segment.sendings = 0


@merged
def add_write(tcp: Any, k: int, segments: int, last_octets: int) -> None:
    """Append to what the application has written; what finds no room in the list of writes is counted as refused."""
    end = tcp.ends[k]
    if end.writes - end.next_write >= tcp.board.shape[1] or end.closing:
        end.refused += segments
        return
    end.written += segments
    last = tcp.board[k, place(tcp, end.writes)]
    last.write_end, last.write_octets = end.written, last_octets
    end.writes += 1


@merged
def new_octets(tcp: Any, k: int, seq: int) -> int:
    """Octets on the wire of a segment that was never sent: fewer than a full one's at the end of a write."""
    end = tcp.ends[k]
    if seq > end.written:
        return tcp.rules[k & 1].ack_octets
    write = tcp.board[k, place(tcp, end.next_write)]
    if seq < write.write_end:
        return tcp.rules[k & 1].segment_octets
    end.next_write += 1
    return write.write_octets


@inlined
def last_number(end: Any) -> int:
    """The last number that can be sent: of the data written, or of the FIN after them."""
    return end.written + end.closing


@inlined
def post(tcp: Any, k: int, flags: int, seq: int, now: int) -> Any:
    """Put a packet into the box, without its size and SACK blocks: an ACK too once the other end has been heard."""
    end = tcp.ends[k]
    at = posted(tcp.out)
    tcp.out.rooms[k & 1] -= 1
    packet = tcp.out.rows[at]
    packet.connection, packet.end = end.connection, k & 1
    packet.seq, packet.sending = seq, 0
    packet.sent_ns = now
    packet.bits = flags
    packet.ack = packet.limit = packet.echo_ns = 0
    if end.state != SYN_SENT:
        packet.bits = flags | ACK
        packet.echo_ns = end.ts_recent
        acknowledge_with(end, packet)
    packet.limit = end.rcv_nxt + end.window
    end.packets += 1
    return at


@inlined
def acknowledge_with(end: Any, packet: Any) -> None:
    """Let a packet acknowledge all that has come: no ACK is owed any more."""
    packet.ack = end.last_ack = end.rcv_nxt
    end.ack_ns = NEVER
    end.ack_now = end.owed = 0


@kernel
def post_segment(tcp: Any, k: int, seq: int, now: int) -> None:
    """Put the segment of a number into the box, for the first time or again; a FIN after all data."""
    end = tcp.ends[k]
    segment = tcp.board[k, place(tcp, seq)]
    if seq == end.top:
        segment.octets = new_octets(tcp, k, seq)
        segment.sendings = segment.sacked = 0
        end.top += 1
    packet = tcp.out.rows[post(tcp, k, DATA if seq <= end.written else FIN, seq, now)]
    packet.sending, packet.octets = segment.sendings, segment.octets
    end.retransmissions += segment.sendings > 0
    segment.sendings += 1
    segment.sent_ns = end.last_sent_ns = now
    end.nxt = max(end.nxt, seq + 1)
    end.allowance -= 1


@kernel
def post_ack(tcp: Any, k: int, now: int) -> None:
    """Put a packet without data into the box, with the SACK blocks that are to be reported."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    packet = tcp.out.rows[post(tcp, k, ACK, end.nxt, now)]
    if rules.sack and end.reports:
        report_blocks(end, packet, rules.blocks)
    packet.octets = rules.ack_octets + rules.block_octets * packet.blocks


@kernel
def report_blocks(end: Any, packet: Any, most: int) -> None:
    """Write the blocks reported last into a packet, after those that it has; `most` together."""
    for at in range(min(end.reports, most - packet.blocks)):
        packet.left[packet.blocks] = end.left[at]
        packet.right[packet.blocks] = end.right[at]
        packet.blocks += 1


@merged
def post_syn(tcp: Any, k: int, now: int) -> None:
    """Put a SYN into the box, with an ACK if the other end's has come."""
    end = tcp.ends[k]
    packet = tcp.out.rows[post(tcp, k, SYN, 0, now)]
    packet.octets = tcp.rules[k & 1].syn_octets
    packet.sending = end.syns
    end.retransmissions += end.syns > 0
    end.syns += 1
    end.nxt = end.top = 1
    end.last_sent_ns = now


@merged
def connect(tcp: Any, k: int, limit: int) -> None:
    """Let the connection of an end be open: its SYN, if any, is acknowledged."""
    end = tcp.ends[k]
    end.state, end.established = OPEN, 1
    end.una = end.nxt = end.top = end.rcv_nxt = end.rcv_top = 1
    end.limit = limit
