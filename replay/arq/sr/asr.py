"""Adaptive selective repeat: SR (see sr.py) with a timeout that follows the link's round trips.

The arithmetic is TCP's integer one in ticks of 10 ms: the smoothed round trip is kept times 8, its variation
times 4. Which acknowledgements give a sample is decided in sr.py: the highest frame of one that acknowledges
anything new. The timeout is not backed off, and floors at a tick.
Source: Xylomenos & Makidis, MONET 13 (3-4), 2008; V. Jacobson, SIGCOMM 1988, appendix A.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.model.errors import UsageError
from multitracer.replay.arq.sr.parameters import (
    ALPHA,
    BETA,
    KARN,
    LONGEST_MS,
    MS,
    NEW_SRTT,
    SRTT_TICKS,
    TICK_NS,
    TIMEOUT_NS,
    WindowParameters,
    within,
)

SRTT8, VAR4, RTXTO_NS = range(3)
"""Columns of an estimate: ticks times 8, ticks times 4, and the timeout that follows from them (ns)."""


@dataclass(frozen=True, kw_only=True)
class AsrParameters(WindowParameters):
    """ASR: timeout = alpha * srtt + beta * srttvar (the paper's policy alpha + beta)."""

    alpha: int = 3
    """Weight of the smoothed round trip (paper: 1 to 4; 3 + 2 best with uniform errors)."""
    beta: int = 2
    """Weight of its variation (paper: 0, 2 or 4)."""
    initial_srtt_ms: int = 1100
    """The smoothed round trip before any sample (paper: 1.1 s; the variation begins at 0)."""
    tick_ms: int = 10
    """What all times are counted in (paper: 10 ms)."""
    karn: bool = False
    """Whether frames sent more than once give no sample; the paper excludes only duplicate ACKs."""
    var_uses_new_srtt: bool = False
    """Whether the variation takes the sample's distance from the new srtt, as the paper's equations stand in
    their order; TCP's code, which the paper says it uses, takes it from the old one."""

    def __post_init__(self) -> None:
        super().__post_init__()
        within("alpha", self.alpha, 1, 16)
        within("beta", self.beta, 0, 16)
        within("tick_ms", self.tick_ms, 1, 1000)
        within("initial_srtt_ms", self.initial_srtt_ms, self.tick_ms, LONGEST_MS)
        for name in ("karn", "var_uses_new_srtt"):
            if not isinstance(getattr(self, name), bool):
                raise UsageError(f"{name} {getattr(self, name)!r} must be True or False")

    def rules(self) -> Any:
        """The parameters as kernels read them."""
        rules = super().rules()
        rules[TICK_NS] = self.tick_ms * MS
        rules[[ALPHA, BETA]] = self.alpha, self.beta
        rules[SRTT_TICKS] = self.initial_srtt_ms // self.tick_ms
        rules[[KARN, NEW_SRTT]] = self.karn, self.var_uses_new_srtt
        return rules


def estimate(rules: Any) -> Any:
    """What is believed before any sample; for SR the constant timeout."""
    believed = np.zeros(3, dtype=np.int64)
    believed[SRTT8] = rules[SRTT_TICKS] << 3
    believed[RTXTO_NS] = timeout_ns(believed, rules) if rules[TICK_NS] else rules[TIMEOUT_NS]
    return believed


@kernel
def timeout_ns(believed: Any, rules: Any) -> int:
    """The timeout that the policy makes of an estimate, at least a tick."""
    ticks = rules[ALPHA] * (believed[SRTT8] >> 3) + rules[BETA] * (believed[VAR4] >> 2)
    return max(ticks, 1) * rules[TICK_NS]


@kernel
def learn(believed: Any, rules: Any, sample_ns: int) -> None:
    """Take the time from a frame's last sending to its ACK into the estimate."""
    sample = sample_ns // rules[TICK_NS]
    off = sample - (believed[SRTT8] >> 3)
    believed[SRTT8] += off
    if rules[NEW_SRTT]:
        off = sample - (believed[SRTT8] >> 3)
    believed[VAR4] += abs(off) - (believed[VAR4] >> 2)
    believed[RTXTO_NS] = timeout_ns(believed, rules)
