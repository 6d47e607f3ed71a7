"""Uniform errors: every block is erased with the same probability, independently of the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from multitracer.replay.channels.model import (
    TOO_FEW_BURSTS,
    Fit,
    Sample,
    bernoulli,
    block_count,
    finite_or_none,
    probability,
    share,
)
from multitracer.replay.erasures.run_lengths import trace_of


@dataclass(frozen=True)
class Uniform:
    """Every block is erased with the same probability, whatever happened to the others."""

    name: ClassVar[str] = "uniform"
    deterministic: ClassVar[bool] = False
    why_unfitted: ClassVar[str] = TOO_FEW_BURSTS
    probability: float

    def __post_init__(self) -> None:
        probability("probability", self.probability)

    @property
    def error_rate(self) -> float:
        """The probability itself."""
        return self.probability

    def generate(self, count: int, seed: int) -> Any:
        """Independent blocks."""
        return np.random.default_rng(seed).random(block_count(count)) < self.probability

    def log_likelihood(self, erased: Any) -> float | None:
        """Binomial, in the trace's order."""
        trace = trace_of(erased)
        lost = int(trace.sum())
        return finite_or_none(bernoulli(lost, len(trace) - lost, self.probability))

    @classmethod
    def fit(cls, sample: Sample, fitted: Mapping[str, Fit]) -> Fit:
        """The share of erased blocks; every trace has one."""
        lost, blocks = int(sample.erased.sum()), len(sample.erased)
        estimate = share(lost, blocks)
        log_likelihood = bernoulli(lost, blocks - lost, estimate.value)
        return Fit(cls(estimate.value), {"probability": estimate}, 1, log_likelihood)
