"""SACK's scoreboard: what was reported, what is lost, and what is sent in a recovery (RFC 6675, FACK, `pipe`)."""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import inlined, kernel, merged
from multitracer.replay.tcp.ends import place
from multitracer.replay.tcp.rfc.parameters import FACK, SACK
from multitracer.replay.tcp.rfc.sending import edge, transmit


@merged
def update(tcp: Any, k: int, packet: Any) -> int:
    """Mark what a packet reports, and return how many segments are new among it."""
    end = tcp.ends[k]
    before = end.sacked
    for at in range(packet.blocks):
        for seq in range(max(packet.left[at], end.una), min(packet.right[at], end.top)):
            segment = tcp.board[k, place(tcp, seq)]
            if not segment.sacked:
                segment.sacked = 1
                end.sacked += 1
                end.fack = max(end.fack, seq + 1)
    return end.sacked - before


@inlined
def forget_below(tcp: Any, k: int, ack: int) -> None:
    """Take what is acknowledged now off the scoreboard."""
    end = tcp.ends[k]
    if end.sacked:
        for seq in range(end.una, ack):
            end.sacked -= tcp.board[k, place(tcp, seq)].sacked
    end.fack = max(end.fack, ack)


@merged
def forget_all(tcp: Any, k: int) -> None:
    """Empty the scoreboard after a timeout: the receiver may have thrown away what it reported (RFC 2018, 8)."""
    end = tcp.ends[k]
    for seq in range(end.una, end.top):
        tcp.board[k, place(tcp, seq)].sacked = 0
    end.sacked = 0
    end.fack = end.una


@kernel
def lost_below(tcp: Any, k: int) -> int:
    """The number below which all that is not SACKed is lost: DupThresh segments above it are (RFC 6675, IsLost).

    Three discontiguous blocks, or more than two segments' octets, are three segments when all are full.
    """
    end = tcp.ends[k]
    above, seq = 0, end.fack
    while seq > end.una and above < tcp.rules[k & 1].dupthresh:
        seq -= 1
        above += tcp.board[k, place(tcp, seq)].sacked
    return seq if above >= tcp.rules[k & 1].dupthresh else end.una


@merged
def is_lost(tcp: Any, k: int, seq: int) -> bool:
    """Whether a segment that is not SACKed counts as lost (RFC 6675, IsLost)."""
    return seq < lost_below(tcp, k)


@merged
def set_pipe(tcp: Any, k: int) -> int:
    """Segments in flight (RFC 6675, SetPipe): what is neither SACKed nor lost, and what was sent again."""
    end = tcp.ends[k]
    lost, pipe = lost_below(tcp, k), 0
    for seq in range(end.una, end.top):
        if not tcp.board[k, place(tcp, seq)].sacked:
            pipe += (seq >= lost) + (seq <= end.high_rxt)
    return pipe


@merged
def awnd(tcp: Any, k: int) -> int:
    """Segments in flight by FACK: all above the highest SACKed, and what was sent again and not SACKed."""
    end = tcp.ends[k]
    retran = 0
    for seq in range(end.una, min(end.high_rxt + 1, end.top)):
        retran += 1 - tcp.board[k, place(tcp, seq)].sacked
    return end.top - end.fack + retran


@kernel
def next_hole(tcp: Any, k: int, below: int) -> int:
    """The lowest segment below a number that is neither SACKed nor was sent again in this recovery; 0 if none."""
    end = tcp.ends[k]
    for seq in range(max(end.una, end.high_rxt + 1), below):
        if not tcp.board[k, place(tcp, seq)].sacked:
            return seq
    return 0


@merged
def rescue(tcp: Any, k: int) -> int:
    """The highest segment outstanding and not SACKed, once a recovery; 0 if there is none (RFC 6675, NextSeg 4)."""
    end = tcp.ends[k]
    if end.una < end.rescue:
        return 0
    for seq in range(end.top - 1, end.una - 1, -1):
        if not tcp.board[k, place(tcp, seq)].sacked:
            end.rescue = end.recover
            return seq
    return 0


@merged
def next_segment(tcp: Any, k: int) -> int:
    """What is to be sent next in a recovery (RFC 6675, NextSeg; all holes first in FACK and `pipe`); 0 for nothing."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    by_rfc = rules.variant == SACK and not rules.pipe_rule
    seq = next_hole(tcp, k, lost_below(tcp, k) if by_rfc else end.fack)
    if seq == 0 and end.top < edge(tcp, k):
        return end.top
    if seq == 0 and by_rfc:
        seq = next_hole(tcp, k, end.fack)
        if seq == 0:
            return rescue(tcp, k)
    if seq:
        end.high_rxt = seq
    return seq


@merged
def in_flight(tcp: Any, k: int) -> int:
    """Segments in flight by the rule of this end's variant."""
    rules = tcp.rules[k & 1]
    if rules.variant == FACK:
        return awnd(tcp, k)
    return tcp.ends[k].pipe if rules.pipe_rule else set_pipe(tcp, k)


@merged
def send_holes(tcp: Any, k: int, now: int) -> None:
    """Send in a recovery while less is in flight than the congestion window."""
    end = tcp.ends[k]
    room = int(end.cwnd) - in_flight(tcp, k)
    while room > 0 and end.allowance > 0:
        seq = next_segment(tcp, k)
        if seq == 0:
            return
        transmit(tcp, k, seq, now)
        end.pipe += 1
        room -= 1
