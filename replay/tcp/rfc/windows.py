"""The congestion window: how it grows and is reduced (RFC 5681, 3.1 and 4.1)."""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import inlined, kernel, merged


@inlined
def grow(end: Any) -> None:
    """Let the window grow for an ACK of new data: slow start, or congestion avoidance."""
    if end.cwnd < end.ssthresh:
        end.cwnd += 1
    else:
        end.cwnd += 1 / end.cwnd


@kernel
def halve(end: Any, rules: Any) -> None:
    """Set ssthresh to half of the flight without limited transmit (RFC 5681, 3.2), or as BSD of the whole window."""
    if rules.half_window:
        end.ssthresh = max(min(int(end.cwnd), end.limit - end.una) // 2, 2)
    else:
        end.ssthresh = max((end.top - end.una - end.limited) / 2, 2)


@merged
def begin(end: Any, rules: Any) -> None:
    """Windows of a connection that has just opened; one segment if a SYN was lost (RFC 5681, 3.1)."""
    end.cwnd = 1 if end.syns > 1 else rules.initial_window
    end.ssthresh = rules.ssthresh


@merged
def restart(end: Any, rules: Any, now: int) -> None:
    """Begin with the initial window again after a pause longer than the RTO (RFC 5681, 4.1)."""
    if end.una == end.top and now - end.last_sent_ns > end.rto_ns:
        end.cwnd = min(end.cwnd, rules.initial_window)
