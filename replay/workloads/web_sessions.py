"""Web sessions with a structure: time off, then a page of several objects, each on a connection of its own.

Time off is Gamma, the number of objects and the size of a request lognormal, the size of an object Pareto.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

_NS_PER_S = 1_000_000_000
LONGEST_OFF_NS = 1 << 53
LARGEST_BYTES = 1 << 40
"""A Pareto distribution has no end, and some have no mean worth waiting for: no object is larger."""


@dataclass(frozen=True)
class Habits:
    """Means and standard deviations of what a user does; times in s."""

    off_s: float = 46.8
    off_sd_s: float = 168.6
    objects: float = 5.3
    objects_sd: float = 12.0
    object_bytes: float = 5600.0
    object_alpha: float = 1.77
    request_bytes: float = 364.0
    request_sd_bytes: float = 101.0


@dataclass(frozen=True)
class Session:
    """Some pages after one another; all int64. Object j of page i is at place `first[i] + j` of the last two."""

    off_ns: Any
    """Time before each page."""
    objects: Any
    first: Any
    request_bytes: Any
    object_bytes: Any


class Surfer:
    """The pages of one seed, in blocks: the same pages however many are taken at a time."""

    def __init__(self, stream: Any, habits: Habits) -> None:
        self._off, self._objects, self._requests, self._sizes = map(stream, range(4))
        self._habits = habits

    def take(self, count: int) -> Session:
        """The next pages."""
        habits = self._habits
        off = self._off.gamma(count, *gamma_of(habits.off_s, habits.off_sd_s)) * _NS_PER_S
        objects = _whole(lognormal(self._objects.normal(count), habits.objects, habits.objects_sd))
        total = int(objects.sum())
        requests = lognormal(self._requests.normal(total), habits.request_bytes, habits.request_sd_bytes)
        sizes = pareto(self._sizes.uniform(total), habits.object_bytes, habits.object_alpha)
        return Session(
            np.minimum(np.rint(off), LONGEST_OFF_NS).astype(np.int64),
            objects,
            np.cumsum(objects) - objects,
            _whole(requests),
            _whole(np.minimum(sizes, LARGEST_BYTES)),
        )


def gamma_of(mean: float, deviation: float) -> tuple[float, float]:
    """Shape and scale of the Gamma distribution with that mean and standard deviation."""
    return (mean / deviation) ** 2, deviation * deviation / mean


def lognormal(normal: Any, mean: float, deviation: float) -> Any:
    """Lognormal numbers of that mean and standard deviation, from normal ones."""
    variance = math.log1p((deviation / mean) ** 2)
    return np.exp(math.log(mean) - variance / 2 + math.sqrt(variance) * normal)


def pareto(uniform: Any, mean: float, alpha: float) -> Any:
    """Pareto numbers of that mean and shape, from uniform ones."""
    return mean * (alpha - 1) / alpha * (1 - uniform) ** (-1 / alpha)


def _whole(numbers: Any) -> Any:
    """Rounded, at least 1: a page has an object, and a message an octet."""
    return np.maximum(np.rint(numbers), 1).astype(np.int64)
