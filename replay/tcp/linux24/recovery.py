"""Congestion control's states: what a dubious ACK changes (tcp_fastretrans_alert), and the timeout (tcp_enter_loss)."""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import kernel, merged
from multitracer.replay.tcp.ends import place
from multitracer.replay.tcp.linux24.sacks import BEYOND_HIGH_SEQ, note_reordering
from multitracer.replay.tcp.linux24.sending import new_data, resend_lost, retransmit
from multitracer.replay.tcp.linux24.state import CWR, DISORDER, LOSS, OPEN, RECOVERY
from multitracer.replay.tcp.linux24.timing import back_off, start_timer
from multitracer.replay.tcp.linux24.undo import undo_by_dsack, undo_loss, undo_partial, undo_recovery
from multitracer.replay.tcp.linux24.windows import moderate, reduce_ssthresh, slow_down
from multitracer.replay.tcp.rfc.timing import ticks


@kernel
def mark_lost(tcp: Any, k: int, below: int) -> None:
    """Mark segments below a number as lost that are not SACKed, in flight again, or marked (tcp_mark_head_lost)."""
    end = tcp.ends[k]
    for seq in range(end.una, min(below, end.high_seq, end.top)):
        segment = tcp.board[k, place(tcp, seq)]
        if not segment.sacked and not segment.retrans and not segment.lost:
            segment.lost = 1
            end.lost_out += 1


@merged
def update_scoreboard(tcp: Any, k: int, now: int) -> None:
    """Mark what duplicate ACKs show to be lost: with FACK all but `reordering` segments below the highest SACKed."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    below = end.una + 1
    if end.fack:
        below = max(below, end.una + end.fackets_out - end.reordering)
    elif rules.sack:
        below = max(below, below_sacked(tcp, k))
    mark_lost(tcp, k, below)
    if head_timed_out(tcp, k, now):
        mark_timed_out(tcp, k, now)


@merged
def below_sacked(tcp: Any, k: int) -> int:
    """The number above which less than `reordering` segments are SACKed: what lies below it and came not is lost."""
    end = tcp.ends[k]
    above, seq = 0, end.una + end.fackets_out
    while seq > end.una and above < end.reordering:
        seq -= 1
        above += tcp.board[k, place(tcp, seq)].sacked
    return seq


@kernel
def head_timed_out(tcp: Any, k: int, now: int) -> bool:
    """Whether the first segment outstanding was sent longer ago than the RTO; only FACK asks (tcp_head_timedout)."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    if not end.fack or end.una == end.top:
        return False
    return ticks(rules, now) - ticks(rules, tcp.board[k, place(tcp, end.una)].sent_ns) > end.rto


@merged
def mark_timed_out(tcp: Any, k: int, now: int) -> None:
    """Mark all as lost that was sent longer ago than the RTO."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    for seq in range(end.una, end.top):
        segment = tcp.board[k, place(tcp, seq)]
        old = ticks(rules, now) - ticks(rules, segment.sent_ns) > end.rto
        if old and not segment.sacked and not segment.retrans and not segment.lost:
            segment.lost = 1
            end.lost_out += 1


@merged
def is_loss(tcp: Any, k: int, now: int) -> bool:
    """Whether it is time to recover (tcp_time_to_recover)."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    distance = end.fackets_out if end.fack else end.sacked_out + 1
    if end.lost_out or distance > end.reordering or head_timed_out(tcp, k, now):
        return True
    out = end.top - end.una
    return out <= end.reordering and end.sacked_out >= max(out // 2, rules.reordering) and not new_data(tcp, k)


@kernel
def count_duplicate(end: Any) -> None:
    """Without SACK, a duplicate ACK stands for a segment that came (tcp_add_reno_sack)."""
    end.sacked_out += 1
    limit_counted(end)


@kernel
def limit_counted(end: Any) -> None:
    """More duplicate ACKs than segments can have come: some were of reordered ones (tcp_check_reno_reordering)."""
    out = end.top - end.una
    holes = min(max(end.lost_out, 1), out)
    if end.sacked_out + holes > out:
        end.sacked_out = out - holes
        note_reordering(end, out)


@merged
def uncount(end: Any, acked: int) -> None:
    """Without SACK, an ACK covers a hole and segments counted by duplicate ACKs (tcp_remove_reno_sacks)."""
    end.sacked_out = max(end.sacked_out - (acked - 1), 0)
    limit_counted(end)


@merged
def alert(tcp: Any, k: int, packet: Any, acked: int, duplicate: bool, news: int, now: int) -> None:
    """Go on after an ACK that is a duplicate, reports SACKed segments, or comes in another state than OPEN."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    if end.una == end.top:
        end.sacked_out = 0
    if end.sacked_out == 0:
        end.fackets_out = 0
    beyond = news & BEYOND_HIGH_SEQ and end.una < end.high_seq and end.ca != OPEN
    if beyond and rules.sack and end.fackets_out > end.reordering:
        mark_lost(tcp, k, end.una + end.fackets_out - end.reordering)
    if leave_state(tcp, k, packet):
        return
    if end.ca == LOSS:
        go_on_after_timeout(tcp, k, packet, acked, now)
        if end.ca != OPEN:
            return
    if end.ca == RECOVERY:
        duplicate = recover_on(tcp, k, packet, acked, duplicate)
    elif not begin_recovery(tcp, k, acked, duplicate, now):
        return
    if duplicate or head_timed_out(tcp, k, now):
        update_scoreboard(tcp, k, now)
    slow_down(end)
    resend_lost(tcp, k, now)


@merged
def leave_state(tcp: Any, k: int, packet: Any) -> bool:
    """Leave a state when its high_seq is acknowledged; true if the ACK has done all it can."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    if end.ca == OPEN:
        end.retrans_stamp = 0
    elif end.una >= end.high_seq:
        if end.ca == LOSS:
            end.retransmits = 0
            return undo_recovery(end, rules, packet)
        if end.ca == CWR:
            leave_cwr(end)
        elif end.ca == DISORDER:
            leave_disorder(end, rules)
        elif end.ca == RECOVERY:
            if not rules.sack:
                end.sacked_out = 0
            if undo_recovery(end, rules, packet):
                return True
            end.cwnd = min(end.cwnd, end.ssthresh)
    return False


@merged
def leave_cwr(end: Any) -> None:
    """End the reduction for a local drop."""
    if end.una != end.high_seq:
        end.cwnd = min(end.cwnd, end.ssthresh)
        end.ca = OPEN


@merged
def leave_disorder(end: Any, rules: Any) -> None:
    """End a disorder; with an undo still possible, DSACKs are awaited until more is acknowledged."""
    undo_by_dsack(end)
    if end.undo_marker == 0 or not rules.sack or end.una != end.high_seq:
        end.undo_marker = 0
        end.ca = OPEN


@merged
def go_on_after_timeout(tcp: Any, k: int, packet: Any, acked: int, now: int) -> None:
    """Send more of what the timeout has marked as lost, unless the timeout was spurious."""
    end = tcp.ends[k]
    if acked:
        end.retransmits = 0
    if not undo_loss(tcp, k, packet):
        moderate(end)
        resend_lost(tcp, k, now)


@merged
def recover_on(tcp: Any, k: int, packet: Any, acked: int, duplicate: bool) -> bool:
    """Take an ACK in a recovery; true if it shows a loss."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    if acked == 0:
        if not rules.sack and duplicate:
            count_duplicate(end)
        return duplicate
    if not rules.sack:
        uncount(end, acked)
    return undo_partial(end, rules, packet, acked)


@merged
def begin_recovery(tcp: Any, k: int, acked: int, duplicate: bool, now: int) -> bool:
    """Enter recovery if it is time to; else stay in order, or in disorder."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    if not rules.sack:
        if acked:
            end.sacked_out = 0
        if duplicate:
            count_duplicate(end)
    if end.ca == DISORDER:
        undo_by_dsack(end)
    if not is_loss(tcp, k, now):
        stay(end)
        return False
    end.high_seq = end.top
    end.undo_marker, end.undo_retrans = end.una, end.retrans_out
    end.prior_ssthresh = 0
    if end.ca < CWR:
        reduce_ssthresh(end)
    end.cwnd_cnt = 0
    end.ca = RECOVERY
    end.fast_retransmits += 1
    return True


@merged
def stay(end: Any) -> None:
    """Be in order, or in disorder while something is missing (tcp_try_to_open)."""
    if end.retrans_out == 0:
        end.retrans_stamp = 0
    if end.ca == CWR:
        slow_down(end)
        return
    state = DISORDER if end.sacked_out or end.retrans_out or end.undo_marker else OPEN
    if state != end.ca:
        end.ca = state
        end.high_seq = end.top
    moderate(end)


@merged
def time_out(tcp: Any, k: int, now: int) -> None:
    """Take all that was not SACKed for lost, and send the first segment again with a window of one."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    end.timeouts += 1
    if end.ca <= DISORDER or end.una == end.high_seq or (end.ca == LOSS and end.retransmits == 0):
        reduce_ssthresh(end)
    end.cwnd, end.cwnd_cnt = 1, 0
    mark_all_lost(tcp, k)
    end.reordering = min(end.reordering, rules.reordering)
    end.ca, end.high_seq = LOSS, end.top
    retransmit(tcp, k, end.una, now)
    end.retransmits += 1
    back_off(end, rules)
    start_timer(end, rules, now)


@merged
def mark_all_lost(tcp: Any, k: int) -> None:
    """Mark what was not SACKed as lost; an undo is possible if nothing of it was sent again before."""
    end = tcp.ends[k]
    end.sacked_out = end.lost_out = end.retrans_out = end.fackets_out = end.undo_retrans = 0
    end.undo_marker = end.una
    for seq in range(end.una, end.top):
        segment = tcp.board[k, place(tcp, seq)]
        segment.retrans = 0
        if segment.sendings > 1:
            end.undo_marker = 0
        segment.lost = 1 - segment.sacked
        end.lost_out += segment.lost
        end.sacked_out += segment.sacked
        if segment.sacked:
            end.fackets_out = seq - end.una + 1
