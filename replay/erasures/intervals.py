"""How well a trace tells the error rate, and how long its blocks remember: both for errors that come in bursts."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

BATCHES = 30
T_29 = 2.0452
"""The 97.5 % quantile of Student's distribution with BATCHES - 1 degrees of freedom."""
LEAST_BLOCKS = 10 * BATCHES
"""Below this burstiness cannot be judged."""
_WINDOW = 5
"""Sokal's: autocorrelations are summed up to this many times the sum, where noise takes over."""


class Interval(NamedTuple):
    """A 95 % confidence interval for the error rate, and how many independent blocks would tell it as well."""

    low: float
    high: float
    effective_blocks: float


def interval(erased: Any) -> Interval | None:
    """Wilson's interval for as many independent blocks as the spread between 30 batches amounts to.

    The batches' spread holds whatever correlation is shorter than they are. None for a trace of less than
    300 blocks, and for one without errors or with nothing else, since how bursty those would be is unknown.
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
    """The error rates of so many parts of equal length, to a block."""
    bounds = np.arange(batches + 1) * len(erased) // batches
    return np.diff(np.concatenate(([0], np.cumsum(erased)))[bounds]) / np.diff(bounds)


def autocorrelation(erased: Any, lags: int) -> Any:
    """Of the erasures at lags 0 to `lags` blocks; None if all blocks are alike.

    By Fourier transform, in n log n; the estimate that divides by the number of all blocks.
    """
    deviation = erased - erased.mean()
    if not deviation.any():
        return None
    size = 1 << (len(deviation) + lags - 1).bit_length()
    power = np.abs(np.fft.rfft(deviation, size)) ** 2
    products = np.fft.irfft(power, size)[: lags + 1]
    return products / products[0]


def correlation_blocks(correlations: Any) -> float:
    """The sum of the autocorrelations on both sides: so many blocks tell the error rate as well as one independent."""
    sums = 2 * np.cumsum(correlations) - 1
    settled = np.flatnonzero(np.arange(len(sums)) >= _WINDOW * sums)
    return max(float(sums[settled[0] if len(settled) else -1]), 0.0)
