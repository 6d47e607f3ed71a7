"""Adaptive selective repeat: SR (see `machine`) with a timeout that follows the link's round trips.

The arithmetic is TCP's integer one in ticks of 10 ms: the smoothed round trip is kept times 8, its variation
times 4. A sample is cut to whole ticks, where TCP counts the ticks that its clock made meanwhile: the source states
neither. Without ticks (`arithmetic` float) it is the same in nanoseconds, where a sum is cut by less than one. The
machine decides which acknowledgements give a sample: those of something new, from the highest frame that
they acknowledge. The timeout is not backed off, and is at least a tick.
Source: Xylomenos & Makidis, MONET 13 (3-4), 2008; V. Jacobson, SIGCOMM 1988, appendix A.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from multitracer.compute.kernels import kernel
from multitracer.model.errors import UsageError
from multitracer.replay.arq.fields import numbers, record
from multitracer.replay.arq.sr.parameters import LONGEST_MS, WindowParameters, nanoseconds, within_ms

LARGEST_WEIGHT = 16
SHORTEST_TICK_MS, LONGEST_TICK_MS = 1, 1000
ARITHMETICS = ("integer", "float")
ESTIMATE = numbers("srtt8 var4 rtxto_ns largest_ns")
"""The smoothed round trip in ticks times 8, its variation in ticks times 4, the timeout that follows, and the largest
there was (ns)."""


@dataclass(frozen=True, kw_only=True)
class AsrParameters(WindowParameters):
    """ASR: timeout = alpha * srtt + beta * srttvar (the paper's policy alpha + beta)."""

    alpha: float = 3
    """Weight of the smoothed round trip (paper: 1 to 4; 3 + 2 best with uniform errors)."""
    beta: float = 2
    """Weight of its variation (paper: 0, 2 or 4)."""
    initial_srtt_ms: float = 1100
    """The smoothed round trip before any sample (paper: 1.1 s; the variation begins at 0)."""
    max_timeout_ms: float = 0
    """The timeout is at most this; 0: no limit (paper: none). Without one it can run away: the sample of an ACK that
    had to wait for a repair by timeout holds that timeout, and the next timeout is `alpha` times as long."""
    min_timeout_ms: float = 0
    """The timeout is at least this, and a tick (paper: none is stated)."""
    tick_ms: float = 10
    """What all times are counted in (paper: 10 ms)."""
    arithmetic: str = "integer"
    """`integer`: TCP's code, in ticks, each sample cut to whole ones; `float`: without ticks (paper: both, integer
    unless said; it states no rounding)."""
    karn: bool = False
    """Whether frames sent more than once give no sample; the paper excludes only duplicate ACKs."""
    var_uses_new_srtt: bool = False
    """Whether the variation takes the sample's distance from the new srtt, as the paper's equations stand in
    their order; TCP's code, which the paper says it uses, takes it from the old one."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("alpha", 1), ("beta", 0)):
            if not least <= getattr(self, name) <= LARGEST_WEIGHT:
                raise UsageError(f"{name} {getattr(self, name)!r} must be a number from {least} to {LARGEST_WEIGHT}")
        if self.arithmetic not in ARITHMETICS:
            raise UsageError(f"arithmetic {self.arithmetic!r} must be one of {', '.join(ARITHMETICS)}")
        within_ms("min_timeout_ms", self.min_timeout_ms, 0, LONGEST_MS)
        within_ms("tick_ms", self.tick_ms, SHORTEST_TICK_MS, LONGEST_TICK_MS)
        within_ms("max_timeout_ms", self.max_timeout_ms, 0, LONGEST_MS)
        if 0 < self.max_timeout_ms < self.tick_ms:
            raise UsageError(f"max_timeout_ms {self.max_timeout_ms:g} must be 0 or from {self.tick_ms:g}, a tick")
        within_ms("initial_srtt_ms", self.initial_srtt_ms, self.tick_ms, LONGEST_MS)
        for name in ("karn", "var_uses_new_srtt"):
            if not isinstance(getattr(self, name), bool):
                raise UsageError(f"{name} {getattr(self, name)!r} must be True or False")

    def rules(self) -> Any:
        """The parameters as kernels read them."""
        rules = super().rules()
        rules.tick_ns = nanoseconds(self.tick_ms) if self.arithmetic == "integer" else 1
        rules.alpha, rules.beta = self.alpha, self.beta
        rules.srtt_ticks = nanoseconds(self.initial_srtt_ms) // rules.tick_ns
        rules.least_ns = max(rules.tick_ns, nanoseconds(self.min_timeout_ms))
        rules.most_ns = nanoseconds(self.max_timeout_ms)
        rules.karn, rules.new_srtt = self.karn, self.var_uses_new_srtt
        return rules


def estimate(rules: Any) -> Any:
    """The estimate before any sample; for SR the constant timeout."""
    first = record(ESTIMATE)
    first.srtt8 = rules.srtt_ticks << 3
    first.rtxto_ns = first.largest_ns = timeout_ns(first, rules) if rules.tick_ns else rules.timeout_ns
    return first


@kernel
def timeout_ns(estimate: Any, rules: Any) -> int:
    """The timeout that the policy makes of an estimate, at least a tick, and at most the limit if there is one."""
    ticks = int(rules.alpha * (estimate.srtt8 >> 3) + rules.beta * (estimate.var4 >> 2))
    timeout = max(ticks * rules.tick_ns, rules.least_ns)
    return min(timeout, rules.most_ns) if rules.most_ns > 0 else timeout


@kernel
def learn(estimate: Any, rules: Any, sample_ns: int) -> None:
    """Take the time from a frame's last sending to its ACK into the estimate."""
    sample = sample_ns // rules.tick_ns
    off = sample - (estimate.srtt8 >> 3)
    estimate.srtt8 += off
    if rules.new_srtt:
        off = sample - (estimate.srtt8 >> 3)
    estimate.var4 += abs(off) - (estimate.var4 >> 2)
    estimate.rtxto_ns = timeout_ns(estimate, rules)
    estimate.largest_ns = max(estimate.largest_ns, estimate.rtxto_ns)
