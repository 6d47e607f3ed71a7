"""Loss recovery: fast retransmit and fast recovery of Reno, NewReno, SACK and FACK, and the timeout."""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import inlined, merged
from multitracer.replay.tcp.rfc.parameters import FACK, NEWRENO, RENO, SACK
from multitracer.replay.tcp.rfc.scoreboard import forget_all, is_lost, send_holes
from multitracer.replay.tcp.rfc.sending import send_limited, send_window, transmit
from multitracer.replay.tcp.rfc.timing import back_off, start_timer, stop_timer
from multitracer.replay.tcp.rfc.windows import grow, halve


@merged
def duplicate(tcp: Any, k: int, now: int) -> None:
    """Count a duplicate ACK: it inflates Reno's and NewReno's window in a recovery."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    end.dupacks += 1
    if end.recovering:
        end.pipe -= 1
        if rules.variant <= NEWRENO:
            end.cwnd += 1
    elif is_loss(tcp, k) and may_recover(end, rules):
        enter(tcp, k, now)


@merged
def is_loss(tcp: Any, k: int) -> bool:
    """Whether the first segment outstanding counts as lost: by duplicate ACKs, IsLost (RFC 6675, 5), or FACK."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    if rules.variant <= NEWRENO:
        return end.dupacks == rules.dupthresh
    if end.dupacks >= rules.dupthresh or (rules.variant == FACK and end.fack - end.una > rules.dupthresh):
        return True
    return rules.variant == SACK and not rules.pipe_rule and is_lost(tcp, k, end.una)


@merged
def may_recover(end: Any, rules: Any) -> bool:
    """Whether duplicate ACKs are not merely those of what a timeout, or an earlier recovery, sent again.

    With SACK it is enough that all that was sent before has come; else the next ACK too (RFC 6582, 3.2).
    """
    if not rules.careful:
        return True
    return end.una >= end.recover if rules.variant > NEWRENO else end.una > end.recover


@merged
def enter(tcp: Any, k: int, now: int) -> None:
    """Retransmit the first segment outstanding, and begin to recover with half the window."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    halve(end, rules)
    end.fast_retransmits += 1
    end.recovering = 1
    end.partials = 0
    if rules.variant != RENO:
        end.recover = end.top
    end.pipe = end.top - end.una - end.dupacks
    end.high_rxt = end.una
    if rules.restarts:
        stop_timer(end)
    transmit(tcp, k, end.una, now)
    end.pipe += 1
    end.cwnd = end.ssthresh + (rules.dupthresh if rules.variant <= NEWRENO else 0)


@inlined
def advance(tcp: Any, k: int, acked: int, now: int) -> None:
    """Let recovery or the window go on after an ACK of `acked` new numbers; SND.UNA has moved, the timer not."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    end.dupacks = end.limited = 0
    if not end.recovering:
        restart_timer(end, rules, now)
        grow(end)
    elif rules.variant != RENO and end.una < end.recover:
        partial(tcp, k, acked, now)
    else:
        restart_timer(end, rules, now)
        leave(end, rules)


@inlined
def restart_timer(end: Any, rules: Any, now: int) -> None:
    """Restart the timer after an ACK of new data, or stop it if nothing is outstanding (RFC 6298, 5.2 and 5.3)."""
    if end.una == end.top:
        stop_timer(end)
    else:
        start_timer(end, rules, now)


@merged
def partial(tcp: Any, k: int, acked: int, now: int) -> None:
    """Go on after an ACK of a part of what was outstanding when recovery began.

    NewReno sends the next hole again and deflates its window; only the first one restarts the timer (RFC 6582, 3.2).
    """
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    end.partials += 1
    end.pipe -= 2
    if rules.variant != NEWRENO:
        restart_timer(end, rules, now)
        return
    if end.partials == 1:
        restart_timer(end, rules, now)
    end.cwnd = max(end.cwnd - acked + 1, 1)
    transmit(tcp, k, end.una, now)


@merged
def leave(end: Any, rules: Any) -> None:
    """End a recovery: the window is deflated, NewReno's to what is in flight and one (RFC 6582, 3.2, 3a)."""
    end.recovering = 0
    end.high_rxt = 0
    end.cwnd = end.ssthresh
    if rules.variant == NEWRENO:
        end.cwnd = min(end.ssthresh, max(end.top - end.una, 1) + 1)


@merged
def time_out(tcp: Any, k: int, now: int) -> None:
    """Go back to the first segment outstanding with a window of one.

    A segment that a timeout sent before leaves ssthresh as it is (RFC 5681, 3.1), but in BSD.
    """
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    end.timeouts += 1
    if rules.half_window or end.expired != end.una:
        halve(end, rules)
    end.expired = end.una
    end.cwnd = 1
    end.recover = end.top
    end.recovering = end.dupacks = end.limited = end.high_rxt = 0
    forget_all(tcp, k)
    end.nxt = end.una
    back_off(end, rules)
    stop_timer(end)
    send_window(tcp, k, now)


@inlined
def send(tcp: Any, k: int, now: int) -> None:
    """Send what is allowed now."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    if end.recovering and rules.variant > NEWRENO:
        send_holes(tcp, k, now)
        return
    send_window(tcp, k, now)
    if end.dupacks and rules.limited_transmit and not end.recovering:
        send_limited(tcp, k, now)
