"""What runs say of a number, and how surely: means, paired differences, gains and gaps, each with a half-width."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from multitracer.replay.papers.runs import KEPT, Sample, together
from multitracer.replay.simulate.quantiles import student_t


class Estimate(NamedTuple):
    """A number, and half the width of its confidence interval (infinite where one run alone speaks)."""

    value: float
    half: float

    @property
    def low(self) -> float:
        """The interval's lower end."""
        return self.value - self.half

    @property
    def high(self) -> float:
        """Its upper end."""
        return self.value + self.half


@lru_cache(KEPT)
def mean(sample: Sample, level: float) -> Estimate:
    """The mean over the runs, by Student's t."""
    return _of(sample.values, level)


def _of(values: np.ndarray, level: float) -> Estimate:
    return Estimate(math.fsum(values) / max(len(values), 1), student(len(values), level) * error_of_mean(values))


def student(count: int, level: float) -> float:
    """The two-sided quantile of Student's t for a mean of so many."""
    return student_t((1 + level) / 2, count - 1) if count > 1 else math.inf


def error_of_mean(values: np.ndarray) -> float:
    """The standard error of a mean; of a single value 1, which an infinite quantile then makes infinite."""
    if len(values) < 2:
        return 1.0
    centre = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((values - centre) ** 2) / (len(values) - 1) / len(values))


@lru_cache(KEPT)
def combination(terms: tuple[tuple[float, Sample], ...], level: float) -> Estimate:
    """A sum of samples, each times a number, run by run on the same seeds; (1, a), (-1, b) is a paired difference."""
    values = together([sample for _, sample in terms])
    return _of(sum(factor * value for (factor, _), value in zip(terms, values, strict=True)), level)  # type: ignore[arg-type]


@lru_cache(KEPT)
def gain(a: Sample, b: Sample, level: float) -> Estimate:
    """a / b - 1 in percent, by the delta method on the two means, unpaired, as the papers' error bars are."""
    top, bottom = math.fsum(a.values) / len(a.values), math.fsum(b.values) / len(b.values)
    if not bottom:
        return Estimate(math.nan, math.inf)
    spread = math.hypot(error_of_mean(a.values) / bottom, top * error_of_mean(b.values) / bottom**2)
    return Estimate(100 * (top / bottom - 1), 100 * student(min(len(a.values), len(b.values)), level) * spread)


def deviation(sample: Sample, level: float) -> Estimate:
    """The standard deviation over the runs; half-width as of normal samples, t s / sqrt(2 n)."""
    count = len(sample.values)
    std = float(np.std(sample.values, ddof=1)) if count > 1 else math.nan
    return Estimate(std, student(count, level) * std / math.sqrt(2 * count))


def difference(a: Estimate, b: Estimate) -> Estimate:
    """a - b of two numbers estimated apart."""
    return Estimate(a.value - b.value, math.hypot(a.half, b.half))


def quotient(a: Estimate, b: Estimate) -> Estimate:
    """a / b of two numbers estimated apart, by the delta method."""
    if not b.value:
        return Estimate(math.nan, math.inf)
    ratio = a.value / b.value
    return Estimate(ratio, math.hypot(a.half / b.value, ratio * b.half / b.value))


def median(values: np.ndarray, level: float) -> tuple[float, float, float]:
    """The median, and its interval by order statistics: binomial, free of any distribution."""
    ordered, count = np.sort(values), len(values)
    rank, tail = -1, 0.0
    while tail <= (1 - level) / 2 and rank < count // 2:
        rank += 1
        tail += math.comb(count, rank) * 0.5**count
    low, high = (ordered[rank - 1], ordered[count - rank]) if rank > 0 else (-math.inf, math.inf)
    return float(np.median(ordered)), float(low), float(high)
