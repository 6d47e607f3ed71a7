"""What is in flight, and the congestion window: growth, rate halving, moderation."""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import inlined, kernel, merged
from multitracer.replay.tcp.linux24.parameters import UNLIMITED
from multitracer.replay.tcp.linux24.state import CWR, RECOVERY
from multitracer.replay.tcp.rfc.timing import ticks

MAX_BURST = 3
"""How many segments one ACK may let out in a dubious state (tcp_max_burst)."""


@inlined
def in_flight(end: Any) -> int:
    """Segments that are taken to be on the way (tcp_packets_in_flight)."""
    return end.top - end.una - end.sacked_out - end.lost_out + end.retrans_out


@inlined
def grow(end: Any) -> None:
    """Slow start up to ssthresh, then one segment a window (tcp_cong_avoid)."""
    if end.cwnd <= end.ssthresh:
        end.cwnd += 1
    elif end.cwnd_cnt >= end.cwnd:
        end.cwnd += 1
        end.cwnd_cnt = 0
    else:
        end.cwnd_cnt += 1


@kernel
def current_ssthresh(end: Any) -> int:
    """What an undo gives back: at least three quarters of the window (tcp_current_ssthresh)."""
    if end.ca == CWR or end.ca == RECOVERY:
        return end.ssthresh
    return max(end.ssthresh, (end.cwnd >> 1) + (end.cwnd >> 2))


@kernel
def reduce_ssthresh(end: Any) -> None:
    """Remember ssthresh for an undo, and halve the window for the time after recovery (tcp_recalc_ssthresh)."""
    end.prior_ssthresh = current_ssthresh(end)
    end.ssthresh = max(end.cwnd >> 1, 2)


@kernel
def slow_down(end: Any) -> None:
    """Rate halving: one less with every second ACK, down to ssthresh; one above the flight at most (tcp_cwnd_down)."""
    end.cwnd_cnt += 1
    if end.cwnd_cnt >= 2:
        end.cwnd_cnt = 0
        if end.cwnd > end.ssthresh:
            end.cwnd -= 1
    end.cwnd = min(end.cwnd, in_flight(end) + 1)


@kernel
def moderate(end: Any) -> None:
    """Keep a dubious ACK from letting a burst out (tcp_moderate_cwnd)."""
    end.cwnd = min(end.cwnd, in_flight(end) + MAX_BURST)


@merged
def restart(end: Any, rules: Any, now: int) -> None:
    """Halve the window for each RTO of a pause, down to the initial window (tcp_cwnd_restart)."""
    if end.una != end.top:
        return
    pause = ticks(rules, now) - ticks(rules, end.last_sent_ns)
    if pause > end.rto and end.ssthresh < UNLIMITED:
        end.ssthresh = current_ssthresh(end)
    while pause > end.rto and end.cwnd > rules.initial_window:
        pause -= end.rto
        end.cwnd = max(end.cwnd >> 1, rules.initial_window)
