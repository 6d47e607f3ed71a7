"""The confidence interval of a trace's error rate, which is wider when errors come in bursts."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

BATCHES = 30
T_29 = 2.0452
"""The 97.5 % quantile of Student's distribution with BATCHES - 1 degrees of freedom."""
LEAST_BLOCKS = 10 * BATCHES
"""In fewer blocks, bursts cannot be judged."""


class Interval(NamedTuple):
    """A 95 % confidence interval of the error rate, and how many independent blocks would give the same."""

    low: float
    high: float
    effective_blocks: float


def interval(erased: Any) -> Interval | None:
    """Wilson's interval for the number of independent blocks that would spread as much as 30 batches do.

    The spread between batches accounts for all correlation that is shorter than a batch. None for a trace of less
    than 300 blocks, and for one without errors or with nothing else: how bursty those would be is unknown.
    """
    blocks, rate = len(erased), float(erased.mean())
    if blocks < LEAST_BLOCKS or rate in (0.0, 1.0):
        return None
    variance = float(batch_rates(erased, BATCHES).var(ddof=1)) / BATCHES
    effective = rate * (1 - rate) / variance if variance else float(blocks)
    z = T_29**2 / effective
    middle = (rate + z / 2) / (1 + z)
    half = math.sqrt(z * rate * (1 - rate) + z * z / 4) / (1 + z)
    return Interval(max(0.0, middle - half), min(1.0, middle + half), effective)


def batch_rates(erased: Any, batches: int) -> Any:
    """The error rates of `batches` parts of equal length, to a block."""
    bounds = np.arange(batches + 1) * len(erased) // batches
    return np.diff(np.concatenate(([0], np.cumsum(erased)))[bounds]) / np.diff(bounds)
