"""Round trips and the retransmission timer (RFC 6298), on a clock that ticks; and 4.4BSD's integers for them."""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import inlined, kernel, merged
from multitracer.replay.arq.fields import NEVER

INITIAL_AFTER_SYN_NS = 3_000_000_000
"""RTO of the first data after a SYN's timeout, at least (RFC 6298, 5.7)."""
MOST_DOUBLINGS = 16
BSD_DOUBLINGS = 6
"""4.4BSD backs off to 64 times the RTO (tcp_backoff)."""
BSD_FORGETS = 3
"""4.4BSD takes a route for changed after more timeouts than this: the next sample counts as a first one."""


@inlined
def ticks(rules: Any, now: int) -> int:
    """Ticks of the clock until `now`."""
    return (now + rules.phase_ns) // rules.tick_ns


@merged
def elapsed(rules: Any, since: int, now: int) -> int:
    """Time from `since` to `now` as the clock shows it, one tick at least."""
    if rules.up:
        return max(-((since - now) // rules.tick_ns), 1) * rules.tick_ns
    return max(ticks(rules, now) - ticks(rules, since), 1) * rules.tick_ns


@merged
def expiry(rules: Any, now: int, interval: int) -> int:
    """When a timer of `interval` expires: at a tick of the clock."""
    first = ticks(rules, now + rules.tick_ns - 1) if rules.up else ticks(rules, now)
    return (first - (-interval // rules.tick_ns)) * rules.tick_ns - rules.phase_ns


@kernel
def sample(end: Any, rules: Any, since: int, now: int) -> None:
    """Take a round trip from `since` to `now` into the RTO, which is not backed off any more."""
    end.backoff = 0
    if rules.bsd_estimator:
        sample_bsd(end, rules, ticks(rules, now) - ticks(rules, since) + 1)
        return
    measured = elapsed(rules, since, now)
    if end.srtt == 0:
        end.srtt, end.rttvar = measured, measured // 2
    else:
        end.rttvar += (abs(end.srtt - measured) - end.rttvar) // 4
        end.srtt += (measured - end.srtt) // 8
    set_rto(end, rules, end.srtt + max(rules.tick_ns, 4 * end.rttvar))


@merged
def sample_bsd(end: Any, rules: Any, rtt: int) -> None:
    """4.4BSD's tcp_xmit_timer: srtt is 8 times, rttvar 4 times its value in ticks; `rtt` counts from 1."""
    if end.srtt != 0:
        delta = rtt - 1 - (end.srtt >> 3)
        end.srtt = max(end.srtt + delta, 1)
        end.rttvar = max(end.rttvar + abs(delta) - (end.rttvar >> 2), 1)
    else:
        end.srtt, end.rttvar = rtt << 3, rtt << 1
    set_rto(end, rules, ((end.srtt >> 3) + end.rttvar) * rules.tick_ns)


@inlined
def set_rto(end: Any, rules: Any, rto: int) -> None:
    """Set the RTO within its bounds."""
    end.rto_ns = min(max(rto, rules.min_rto_ns), rules.max_rto_ns)


@kernel
def start_timer(end: Any, rules: Any, now: int) -> None:
    """Start the retransmission timer anew."""
    interval = min(end.rto_ns << end.backoff, rules.max_rto_ns)
    end.rtx_ns = expiry(rules, now, interval)


@inlined
def stop_timer(end: Any) -> None:
    """Let the retransmission timer not run."""
    end.rtx_ns = NEVER


@kernel
def back_off(end: Any, rules: Any) -> None:
    """Double the RTO after a timeout."""
    end.timed = 0
    end.backoff = min(end.backoff + 1, BSD_DOUBLINGS if rules.bsd_estimator else MOST_DOUBLINGS)
    if rules.bsd_estimator and end.backoff > BSD_FORGETS:
        end.rttvar += end.srtt >> 3
        end.srtt = 0


@merged
def restart_after_syn(end: Any, rules: Any) -> None:
    """Forget a SYN's timeouts when the connection is open; without a sample the RTO is 3 s at least (RFC 6298, 5.7)."""
    if end.backoff:
        end.backoff = 0
        set_rto(end, rules, max(end.rto_ns, INITIAL_AFTER_SYN_NS))
