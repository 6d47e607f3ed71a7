"""Confidence intervals by block bootstrap: blocks of stretches are drawn with replacement, which keeps bursts whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

LEVELS = (2.5, 97.5)
"""Percentiles that bound an interval of 95 %."""
LEAST_BLOCKS = 10
"""With fewer independent blocks there is no interval."""
_LONGEST_SHARE = 5
"""A block spans a fifth of all stretches at most."""


def block_stretches(errors: Any) -> int:
    """How many stretches a block needs so that different blocks are independent.

    Up to the first lag at which the errors' autocorrelation cannot be distinguished from none
    (2 / sqrt(n), Bartlett's bound).
    """
    values = np.asarray(errors, dtype=np.float64)
    values = values - values.mean()
    power = float(values @ values)
    longest = max(len(values) // _LONGEST_SHARE, 1)
    for lag in range(1, longest):
        if power == 0 or values[lag:] @ values[:-lag] < 2 * power / np.sqrt(len(values)):
            return lag
    return longest


def weights(stretches: int, block: int, resamples: int, seed: int = 0) -> Floats:
    """How often each stretch is in each resample, shape (stretches, resamples); blocks wrap round at the end."""
    generator = np.random.default_rng(seed)
    starts = generator.integers(stretches, size=(resamples, -(-stretches // block)))
    drawn = (starts[:, :, None] + np.arange(block)) % stretches
    drawn = drawn.reshape(resamples, -1)[:, :stretches] + stretches * np.arange(resamples)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=stretches * resamples)
    return counts.reshape(resamples, stretches).T.astype(np.float64)


def ratios(numerators: Any, denominators: Any, drawn: Floats) -> Floats:
    """The ratio of sums in each resample, shape (rows, resamples); not-a-number where the denominator is 0."""
    below = np.asarray(denominators, dtype=np.float64) @ drawn
    above = np.asarray(numerators, dtype=np.float64) @ drawn
    return np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)


def interval(samples: Floats, blocks: float) -> list[float] | None:
    """The 95 % interval of one quantity's resamples; None where no resample has a value.

    With few independent blocks the resamples spread too little: their bounds are moved out as far as Student's
    quantile exceeds the normal one (its expansion in 1 / degrees of freedom).
    """
    known = samples[np.isfinite(samples)]
    if not len(known):
        return None
    freedom = blocks - 1
    wider = 1 + 1.211 / freedom + 1.44 / freedom**2
    middle = float(np.median(known))
    return [middle + wider * (float(bound) - middle) for bound in np.percentile(known, LEVELS)]
