"""What SACK blocks say: which segments came, in which order, and which were sent in vain (tcp_sacktag_write_queue)."""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import kernel, merged
from multitracer.replay.arq.fields import codes
from multitracer.replay.tcp.ends import place
from multitracer.replay.tcp.linux24.state import LOSS, RECOVERY

MOST_REORDERING = 127
SACKED_NEW, BEYOND_HIGH_SEQ = codes(2, 1)
"""Bits: a segment was SACKed for the first time or its retransmission found lost; a block ends above high_seq."""


@kernel
def note_reordering(end: Any, metric: int) -> None:
    """Segments overtook one another by `metric`: if that is news, FACK is wrong here (tcp_update_reordering)."""
    if metric > end.reordering:
        end.reordering = min(metric, MOST_REORDERING)
        end.fack = 0


@merged
def is_dsack(packet: Any) -> bool:
    """Whether the first block reports a duplicate: below the ACK, or within the second block (RFC 2883, 4)."""
    if packet.left[0] < packet.ack:
        return True
    return packet.blocks > 1 and packet.left[1] <= packet.left[0] and packet.right[0] <= packet.right[1]


@merged
def tag(tcp: Any, k: int, packet: Any, prior: int) -> int:
    """Mark what a packet reports; `prior` was SND.UNA before its ACK. Returns bits."""
    end = tcp.ends[k]
    news, first, top_sacked = 0, end.top - prior, prior + end.fackets_out
    if end.sacked_out == 0:
        end.fackets_out, top_sacked = 0, prior
    dsack = is_dsack(packet)
    if dsack and packet.right[0] <= prior and packet.right[0] > end.undo_marker:
        end.undo_retrans -= end.undo_marker != 0 and end.undo_retrans > 0
    for at in range(packet.blocks):
        if packet.right[at] > end.high_seq:
            news |= BEYOND_HIGH_SEQ
        duplicate = dsack and at == 0
        for seq in range(max(packet.left[at], prior), min(packet.right[at], end.top)):
            count = seq - prior + 1
            if is_overtaken(tcp, k, seq, duplicate, seq < top_sacked):
                first = min(first, count)
            news |= tag_one(tcp, k, seq, duplicate, count)
    first = min(first, overtaken_by_ack(tcp, k, prior, top_sacked))
    news |= find_lost_retransmissions(tcp, k, highest(packet))
    if first < end.fackets_out and end.ca != LOSS:
        note_reordering(end, end.fackets_out + 1 - first)
    return news


@merged
def highest(packet: Any) -> int:
    """The end of the highest block."""
    found = 0
    for at in range(packet.blocks):
        found = max(found, packet.right[at])
    return found


@merged
def is_overtaken(tcp: Any, k: int, seq: int, duplicate: bool, in_hole: bool) -> bool:
    """Whether a report of a segment shows that others overtook it: it was never sent again, or came twice."""
    segment = tcp.board[k, place(tcp, seq)]
    if seq < tcp.ends[k].una:  # `overtaken_by_ack` sees the others
        return duplicate and segment.sendings > 1 and segment.sacked != 0
    if segment.sacked:
        return duplicate and segment.sendings > 1
    return segment.retrans == 0 and segment.sendings == 1 and in_hole


@merged
def overtaken_by_ack(tcp: Any, k: int, prior: int, top_sacked: int) -> int:
    """The place of the first segment acknowledged now that was sent once and lay in a hole; a large number if none."""
    end = tcp.ends[k]
    for seq in range(prior, min(end.una, top_sacked)):
        segment = tcp.board[k, place(tcp, seq)]
        if not segment.sacked and segment.sendings == 1:
            return seq - prior + 1
    return end.top


@merged
def tag_one(tcp: Any, k: int, seq: int, duplicate: bool, count: int) -> int:
    """Mark one segment as SACKed; returns SACKED_NEW if it was not before."""
    end, segment = tcp.ends[k], tcp.board[k, place(tcp, seq)]
    if duplicate and segment.sendings > 1 and 0 < end.undo_marker <= seq and end.undo_retrans > 0:
        end.undo_retrans -= 1
    if seq < end.una:
        return 0
    news = 0
    if not segment.sacked:
        if segment.lost:
            clear_lost(end, segment)
        segment.sacked = 1
        end.sacked_out += 1
        end.fackets_out = max(end.fackets_out, count)
        news = SACKED_NEW
    if duplicate and segment.retrans:
        clear_retrans(end, segment)
    return news


@merged
def clear_lost(end: Any, segment: Any) -> None:
    """A segment marked as lost has come; its retransmission is taken for the one that did."""
    segment.lost = 0
    end.lost_out -= 1
    if segment.retrans:
        clear_retrans(end, segment)


@kernel
def clear_retrans(end: Any, segment: Any) -> None:
    """The retransmission of a segment is not in flight any more."""
    segment.retrans = 0
    end.retrans_out -= 1


@merged
def find_lost_retransmissions(tcp: Any, k: int, right: int) -> int:
    """Mark retransmissions as lost when what was sent after them has come; without FACK, `reordering` later."""
    end = tcp.ends[k]
    if end.ca != RECOVERY or end.retrans_out == 0:
        return 0
    news, slack = 0, 0 if end.fack else end.reordering
    for seq in range(end.una, min(right, end.top)):
        segment = tcp.board[k, place(tcp, seq)]
        if segment.retrans and right > segment.mark + slack:
            clear_retrans(end, segment)
            if not segment.lost and not segment.sacked:
                segment.lost = 1
                end.lost_out += 1
                news = SACKED_NEW
    return news
