"""ns-2's retransmission timer: round trips in ticks, the estimator in integers, back-off."""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import inlined, kernel

MOST_BACKOFF = 64
CLOBBERED = 8
"""Backed off further than this, srtt is given up: the route may have changed."""


@inlined
def next_timer(e: Any) -> None:
    """Say when the end wants to be woken."""
    e.timer_ns = min(e.rtx_ns, e.ack_ns)


@inlined
def rto(e: Any, rules: Any) -> int:
    """The timeout (ns): the shortest one is applied before back-off, the longest one after it."""
    timeout = min(max(e.rtxcur_ns, rules.min_rto_ns) * e.backoff, rules.max_rto_ns)
    return max(timeout, 2 * rules.tick_ns)


@inlined
def restart_timer(e: Any, rules: Any, now: int) -> None:
    """Let the timer expire a timeout from now, whether it runs or not."""
    e.rtx_ns = now + rto(e, rules)
    next_timer(e)


@kernel
def back_off(e: Any, rules: Any) -> None:
    """Double the timeout, up to the longest one; rtxcur stays as it is until the next sample."""
    if e.backoff < MOST_BACKOFF or rto(e, rules) < rules.max_rto_ns:
        e.backoff *= 2
    if e.backoff > CLOBBERED:
        e.rttvar += e.srtt >> 3
        e.srtt = 0


@inlined
def short(ticks: int) -> int:
    """What is left of a difference in 16 bits, as ns-2 keeps it: Fack's samples span idle times."""
    return ((ticks + 0x8000) & 0xFFFF) - 0x8000


@kernel
def learn(e: Any, rules: Any, sent_ns: int, now: int) -> None:
    """Take a round trip into the estimator: at least one tick."""
    ticks = (now + rules.phase_ns) // rules.tick_ns - (sent_ns + rules.phase_ns) // rules.tick_ns
    if rules.up:
        ticks = (now - sent_ns + rules.tick_ns - 1) // rules.tick_ns
    ticks = max(1, ticks)
    if e.srtt == 0:
        e.srtt, e.rttvar = ticks << 3, ticks << 1
    else:
        error = short(ticks - (e.srtt >> 3))
        e.srtt = max(1, e.srtt + error)
        e.rttvar = max(1, e.rttvar + short(abs(error) - (e.rttvar >> 2)))
    e.rtxcur_ns = (((e.rttvar << 3) + e.srtt) >> 3) * rules.tick_ns
