"""What can be seen of an end of ns-2's TCP."""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import kernel
from multitracer.replay.tcp.ns2.timer import rto


@kernel
def observe(tcp: Any, k: int, seen: Any) -> None:
    """Fill a row of OBSERVED with what end `k` is like."""
    e, rules = tcp.ends[k], tcp.rules[k & 1]
    seen.una, seen.top, seen.written, seen.limit = e.una, e.top, e.written, e.una + rules.window
    seen.srtt_ns, seen.rttvar_ns = (e.srtt * rules.tick_ns) >> 3, (e.rttvar * rules.tick_ns) >> 2
    seen.rto_ns = rto(e, rules)
    seen.timeouts, seen.fast_retransmits = e.timeouts, e.fast_retransmits
    seen.cwnd, seen.ssthresh = e.cwnd + e.inflation, float(e.ssthresh)
