"""Round trips and timers, in ticks of HZ (tcp_rtt_estimator, tcp_set_rto, tcp_retransmit_timer)."""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import kernel, merged
from multitracer.replay.arq.fields import NEVER
from multitracer.replay.tcp.rfc.timing import ticks


@kernel
def after(rules: Any, now: int, wait: int) -> int:
    """The time (ns) of the tick that is `wait` ticks after the last one."""
    return (ticks(rules, now) + wait) * rules.tick_ns - rules.phase_ns


@kernel
def sample(end: Any, rules: Any, since: int, now: int) -> None:
    """Take a round trip into the RTO, which is not backed off any more."""
    measured = max(ticks(rules, now) - ticks(rules, since), 1)
    if end.srtt == 0:
        end.srtt, end.mdev = measured << 3, measured << 1  # so the first RTO is 3 round trips
        end.mdev_max = end.rttvar = max(end.mdev, rules.min_rto)
        end.rtt_seq = end.nxt
    else:
        follow(end, rules, measured - (end.srtt >> 3))
    end.rto = min((end.srtt >> 3) + end.rttvar, rules.max_rto)


@merged
def follow(end: Any, rules: Any, error: int) -> None:
    """Let srtt and the deviation follow; what falls counts an eighth, and rttvar falls once a window at most."""
    end.srtt += error
    change = abs(error) - (end.mdev >> 2)
    if error < 0 and change > 0:
        change >>= 3
    end.mdev += change
    if end.mdev > end.mdev_max:
        end.mdev_max = end.mdev
        end.rttvar = max(end.rttvar, end.mdev_max)
    if end.una > end.rtt_seq:
        if end.mdev_max < end.rttvar:
            end.rttvar -= (end.rttvar - end.mdev_max) >> 2
        end.rtt_seq = end.nxt
        end.mdev_max = rules.min_rto


@kernel
def start_timer(end: Any, rules: Any, now: int) -> None:
    """Start the retransmission timer anew."""
    end.rtx_ns = after(rules, now, end.rto)


@merged
def restart_timer(end: Any, rules: Any, now: int) -> None:
    """Restart the timer, or stop it if nothing is outstanding (tcp_ack_packets_out)."""
    end.rtx_ns = NEVER if end.una == end.top else after(rules, now, end.rto)


@kernel
def back_off(end: Any, rules: Any) -> None:
    """Double the RTO, until the next sample."""
    end.rto = min(end.rto << 1, rules.max_rto)
