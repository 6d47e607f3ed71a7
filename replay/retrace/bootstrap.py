"""Confidence intervals by the studentised block bootstrap: blocks of stretches are drawn, which keeps bursts whole.

The blocks are as long as the series' own correlation asks for (Politis and White 2004, Econometric Reviews 23:53, with
the correction of Patton, Politis and White 2009, 28:372). Each resample's mean is divided by its own standard error,
which keeps the interval right where few bursts make the mean skewed (Goetze and Kuensch 1996, Ann. Statist. 24:1914).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

LEVELS = (2.5, 97.5)
"""Percentiles that bound an interval of 95 %."""
LEAST_BLOCKS = 10
"""Of a block's length, and of the series' memory, a trace must have so many."""
MOST_STRETCHES = 250
"""Longer series are summed to this many at most: their correlation is long over in what is summed."""


class Series(NamedTuple):
    """A quantity, and what each stretch adds to its error: the mean of `influence` is 0."""

    estimate: float
    influence: Floats
    telling: npt.NDArray[np.bool_]
    """Shape (2, stretches): those with a loss, and those that carried something."""


class Blocks(NamedTuple):
    """The lag up to which a series' values depend on one another, and the length of blocks to draw, in stretches."""

    memory: int
    length: int


def blocks_of(series: Any) -> Blocks:
    """The rule of Politis and White for the circular block bootstrap, its length a tenth of the series at most."""
    count = len(series)
    away = np.asarray(series, dtype=np.float64) - np.mean(series)
    quiet = max(5, int(np.ceil(np.sqrt(np.log10(count)))))
    longest = min(int(np.ceil(np.sqrt(count))) + quiet, count - 1)
    padded = np.concatenate([away, np.zeros(2 * longest)])
    covariance = np.array([away @ padded[lag : lag + count] for lag in range(2 * longest + 1)]) / count
    if covariance[0] <= 0:
        return Blocks(0, 1)
    notable = np.abs(covariance[1 : longest + 1]) >= 2 * np.sqrt(np.log10(count) / count) * covariance[0]
    ends = (lag for lag in range(longest) if not notable[lag : lag + quiet].any())
    memory = next(ends, int(np.flatnonzero(notable).max(initial=-1)) + 1)
    lags = np.arange(-2 * max(memory, 1), 2 * max(memory, 1) + 1)
    window = np.minimum(1, 2 - 2 * np.abs(lags) / lags[-1])  # flat top, trapezoidal
    weighted = window * covariance[np.abs(lags)]
    density, slope = weighted.sum(), (np.abs(lags) * weighted).sum()
    best = (1.5 * slope**2 / density**2 * count) ** (1 / 3) if density else 1.0
    return Blocks(memory, int(min(np.ceil(max(best, 1)), max(count // LEAST_BLOCKS, 1))))


def summed(table: Any, most: int = MOST_STRETCHES) -> Any:
    """A table of shape (rows, stretches) with neighbours summed, so that at most `most` remain."""
    count = table.shape[1]
    return np.add.reduceat(table, np.arange(0, count, -(-count // most)), axis=1)


def why_none(series: Series) -> str:
    """Why there can be no interval, in words; empty where there is one.

    A resample without a loss says that there is no chance in it: if more than the interval leaves out are such, the
    interval has no end.
    """
    count, (memory, length) = len(series.influence), blocks_of(series.influence)
    if count < LEAST_BLOCKS or memory * LEAST_BLOCKS > count:
        return "the trace is too short against how long its losses depend on one another"
    share = min(float((_windows(row, length) > 0).mean()) for row in series.telling)
    if (1 - share) ** (count // length) > LEVELS[0] / 100:
        return "too few parts of the trace " + ("hold losses" if not _rarely_carried(series) else "carried anything")
    return ""


def _rarely_carried(series: Series) -> bool:
    lossy, carried = series.telling.sum(axis=1).tolist()
    return bool(carried < lossy)


def intervals(series: Sequence[Series], resamples: int) -> list[list[float] | None]:
    """The 95 % interval of each; None where there can be none."""
    found: list[list[float] | None] = [None] * len(series)
    lengths = [0 if why_none(one) else blocks_of(one.influence).length for one in series]
    for length in sorted(set(lengths) - {0}):
        places = [place for place, other in enumerate(lengths) if other == length]
        means = np.stack([_windows(series[place].influence, length) for place in places]) / length
        for place, (low, high) in zip(places, _errors(means, length, resamples), strict=True):
            found[place] = [series[place].estimate - high, series[place].estimate - low]
    return found


def _errors(means: Floats, length: int, resamples: int) -> list[tuple[float, float]]:
    """The bounds of each row's error, given the means of all its blocks, shape (rows, stretches)."""
    count = means.shape[1]
    blocks = count // length
    drawn = draws(count, blocks, resamples)
    power = (means**2).mean(axis=1)
    mean = means @ drawn / blocks
    spread = ((means**2) @ drawn / blocks - mean**2) / (blocks - 1)
    least = np.maximum(1e-9 * power / blocks, np.finfo(np.float64).tiny)
    students = mean / np.sqrt(np.maximum(spread, least[:, None]))
    error = np.sqrt(power * length / (count - length))
    return [
        (float(low * one), float(high * one))
        for one, (low, high) in zip(error, np.percentile(students, LEVELS, axis=1).T, strict=True)
    ]


def draws(count: int, blocks: int, resamples: int, seed: int = 0) -> Floats:
    """How often the block that begins at each stretch is in each resample, shape (count, resamples)."""
    starts = np.random.default_rng(seed).integers(count, size=(resamples, blocks))
    starts += count * np.arange(resamples)[:, None]
    return np.bincount(starts.ravel(), minlength=count * resamples).reshape(resamples, count).T.astype(np.float64)


def _windows(values: Any, length: int) -> Any:
    """Sums over every `length` neighbours; the last goes on with the first."""
    total = np.cumsum(np.concatenate([[0.0], values, values[: length - 1]]))
    return total[length:] - total[:-length]
