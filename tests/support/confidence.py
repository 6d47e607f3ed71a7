"""Samples of runs by seed, and tests of them at a level: true, false, or open where the interval says neither."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np

Truth = bool | None
"""None: open."""
_STEPS = 4000
"""Of Simpson's rule, for the quantiles: eight digits."""


@dataclass(frozen=True, eq=False)
class Sample:
    """One value a seed; arithmetic goes seed by seed, over the seeds that both have."""

    seeds: np.ndarray
    values: np.ndarray

    def __add__(self, other: Sample) -> Sample:
        seeds, left, right = _paired(self, other)
        return Sample(seeds, left + right)

    def __sub__(self, other: Sample) -> Sample:
        seeds, left, right = _paired(self, other)
        return Sample(seeds, left - right)

    def __mul__(self, factor: float) -> Sample:
        return Sample(self.seeds, self.values * factor)

    @property
    def mean(self) -> float:
        """Over the seeds."""
        return float(self.values.mean())

    @property
    def variance(self) -> float:
        """Of the mean."""
        return float(self.values.var(ddof=1)) / len(self.values) if len(self.values) > 1 else math.nan

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the variance."""
        return len(self.values) - 1


def _paired(left: Sample, right: Sample) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if np.array_equal(left.seeds, right.seeds):
        return left.seeds, left.values, right.values
    seeds, at_left, at_right = np.intersect1d(left.seeds, right.seeds, return_indices=True)
    return seeds, left.values[at_left], right.values[at_right]


def average(samples: Sequence[Sample]) -> Sample:
    """The mean of samples, seed by seed."""
    total = samples[0]
    for sample in samples[1:]:
        total = total + sample
    return total * (1 / len(samples))


@dataclass(frozen=True)
class Estimate:
    """A value with the variance that it is known by."""

    value: float
    variance: float
    freedom: float

    def half(self, level: float) -> float:
        """Half the width of its interval; NaN where one run says nothing about the scatter."""
        if self.variance == 0:
            return 0.0
        if not self.freedom > 0 or not math.isfinite(self.variance):
            return math.nan
        return quantile((1 + level) / 2, self.freedom) * math.sqrt(self.variance)

    def __mul__(self, factor: float) -> Estimate:
        return Estimate(self.value * factor, self.variance * factor**2, self.freedom)

    def __sub__(self, other: Estimate) -> Estimate:
        """Unpaired."""
        return _sum(self.value - other.value, [self, other])


def _sum(value: float, parts: Sequence[Estimate]) -> Estimate:
    """A sum of estimates that scatter apart from each other: as free as the one from the fewest runs."""
    return Estimate(value, sum(part.variance for part in parts), min(part.freedom for part in parts))


def mean_of(sample: Sample) -> Estimate:
    """The mean of a sample."""
    return Estimate(sample.mean, sample.variance, sample.freedom)


def ratio(above: Sample, below: Sample) -> Estimate:
    """Of two means, by the delta method, unpaired: the relative variances add."""
    found = above.mean / below.mean
    relative = [Estimate(0.0, one.variance / one.mean**2, one.freedom) for one in (above, below)]
    joint = _sum(0.0, relative)
    return Estimate(found, found**2 * joint.variance, joint.freedom)


def mean_estimate(parts: Sequence[Estimate]) -> Estimate:
    """The mean of estimates that scatter apart from each other."""
    found = _sum(sum(part.value for part in parts), parts)
    return Estimate(found.value / len(parts), found.variance / len(parts) ** 2, found.freedom)


@cache
def quantile(share: float, freedom: float) -> float:
    """Student's t: below which value a share of the distribution lies."""
    if freedom > 1e5:
        return NormalDist().inv_cdf(share)
    low, high = 0.0, 1e4
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _below(middle, freedom) < share else (low, middle)
    return low


def _below(limit: float, freedom: float) -> float:
    """Integrated over the angle whose tangent is t / sqrt(freedom), where the density is a power of the cosine."""
    angles = np.linspace(0.0, math.atan(limit / math.sqrt(freedom)), _STEPS + 1)
    density = np.cos(angles) ** (freedom - 1)
    weights = np.full(_STEPS + 1, 2.0)
    weights[1::2], weights[[0, -1]] = 4.0, 1.0
    area = float(weights @ density) * (angles[1] - angles[0]) / 3
    norm = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
    return 0.5 + norm * area


def every(tests: Iterable[Truth]) -> Truth:
    """False if one is, else open if one is; of none: open."""
    known = list(tests)
    if False in known:
        return False
    return None if None in known or not known else True


def some(tests: Iterable[Truth]) -> Truth:
    """True if one is, else open if one is."""
    known = list(tests)
    return True if True in known else None if None in known or not known else False


def exceeds(found: Estimate, limit: float, level: float) -> Truth:
    """Whether the value lies above the limit; open while its interval holds more, too, than the limit."""
    half = found.half(level)
    if found.value - half > limit:
        return True
    return False if found.value + half <= limit else None


def beats(one: Sample, other: Sample, level: float) -> Truth:
    """Whether the paired difference is above 0 at the level."""
    return exceeds(mean_of(one - other), 0.0, level)


def not_above(one: Sample, other: Sample, level: float) -> Truth:
    """That it does not beat the other at the level."""
    return beats(one, other, level) is not True


def separated(one: Sample, other: Sample, level: float) -> int:
    """1 or -1 as the first is above or below at the level, else 0."""
    found = mean_of(one - other)
    return int(found.value > found.half(level)) - int(found.value < -found.half(level))


def overlap(one: Sample, other: Sample, level: float) -> Truth:
    """Whether the intervals of two means have a value in common."""
    left, right = mean_of(one), mean_of(other)
    apart = abs(left.value - right.value) - left.half(level) - right.half(level)
    return None if math.isnan(apart) else apart <= 0


def near(value: float, stated: float, allowed: float) -> Truth:
    """Whether a value is as stated; inside an interval so wide that no effect at all would do, too, it is open."""
    if not abs(value - stated) <= allowed:
        return None if math.isnan(allowed) else False
    return True if allowed < abs(stated) else None


def within(value: float, low: float, high: float) -> Truth:
    """Whether a value lies in a range; open where there is none."""
    return None if math.isnan(value) else low <= value <= high
