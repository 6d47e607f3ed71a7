"""Undoing a reduction that retransmissions in vain have caused: by DSACKs, or by timestamps (tcp_try_undo_*)."""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import kernel, merged
from multitracer.replay.tcp.ends import place
from multitracer.replay.tcp.linux24.sacks import note_reordering
from multitracer.replay.tcp.linux24.state import OPEN
from multitracer.replay.tcp.linux24.windows import moderate
from multitracer.replay.tcp.rfc.timing import ticks


@merged
def is_original(end: Any, rules: Any, packet: Any) -> bool:
    """Whether an ACK answers what was sent before the first retransmission (tcp_packet_delayed)."""
    if end.retrans_stamp == 0:
        return True
    echo = packet.echo_ns
    return rules.timestamps != 0 and echo != 0 and ticks(rules, echo) < ticks(rules, end.retrans_stamp)


@kernel
def may_undo(end: Any, rules: Any, packet: Any) -> bool:
    """Whether all retransmissions are known to have been needless (tcp_may_undo)."""
    return end.undo_marker != 0 and (end.undo_retrans == 0 or is_original(end, rules, packet))


@kernel
def undo_window(end: Any, ssthresh_too: bool) -> None:
    """Give the window back, and ssthresh if it was above (tcp_undo_cwr)."""
    if end.prior_ssthresh:
        end.cwnd = max(end.cwnd, end.ssthresh << 1)
        if ssthresh_too and end.prior_ssthresh > end.ssthresh:
            end.ssthresh = end.prior_ssthresh
    else:
        end.cwnd = max(end.cwnd, end.ssthresh)
    moderate(end)


@kernel
def undo_recovery(end: Any, rules: Any, packet: Any) -> bool:
    """Undo at the end of a recovery or loss; true if the state is kept till more than high_seq is acknowledged."""
    if may_undo(end, rules, packet):
        undo_window(end, True)
        end.undo_marker = 0
    if end.una == end.high_seq and not rules.sack:
        moderate(end)  # duplicate ACKs of what was sent again may still come
        return True
    end.ca = OPEN
    return False


@kernel
def undo_by_dsack(end: Any) -> None:
    """Undo when a DSACK has come for each retransmission."""
    if end.undo_marker and end.undo_retrans == 0:
        undo_window(end, True)
        end.undo_marker = 0


@merged
def undo_partial(end: Any, rules: Any, packet: Any, acked: int) -> bool:
    """Whether the first hole is to be marked as lost after a partial ACK; not if that answers an original."""
    if may_undo(end, rules, packet):
        if end.retrans_out == 0:
            end.retrans_stamp = 0
        note_reordering(end, end.fackets_out + acked)
        undo_window(end, False)
        return False
    return not rules.sack or end.fackets_out > end.reordering


@merged
def undo_loss(tcp: Any, k: int, packet: Any) -> bool:
    """Undo a timeout: nothing counts as lost any more."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    if not may_undo(end, rules, packet):
        return False
    for seq in range(end.una, end.top):
        tcp.board[k, place(tcp, seq)].lost = 0
    end.lost_out = 0
    undo_window(end, True)
    end.retransmits = end.undo_marker = 0
    if rules.sack:
        end.ca = OPEN
    return True
