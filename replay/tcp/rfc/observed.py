"""What can be seen of an end of TCP by its RFCs, or of 4.4BSD."""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import kernel


@kernel
def observe(tcp: Any, k: int, seen: Any) -> None:
    """Fill a row of OBSERVED with what end `k` is like."""
    end, rules = tcp.ends[k], tcp.rules[k & 1]
    seen.una, seen.top, seen.written, seen.limit = end.una, end.top, end.written + 1, end.limit
    seen.srtt_ns, seen.rttvar_ns = end.srtt, end.rttvar
    if rules.bsd_estimator:
        seen.srtt_ns, seen.rttvar_ns = (end.srtt * rules.tick_ns) >> 3, (end.rttvar * rules.tick_ns) >> 2
    seen.rto_ns = min(end.rto_ns << end.backoff, rules.max_rto_ns)
    seen.timeouts, seen.fast_retransmits = end.timeouts, end.fast_retransmits
    seen.cwnd, seen.ssthresh = float(end.cwnd), float(end.ssthresh)
