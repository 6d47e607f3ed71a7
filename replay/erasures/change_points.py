"""Change points: the blocks at which the error rate of a trace changed, as distinct from bursts.

The trace is cut into batches much longer than its memory. In a channel that does not change, their error counts
are equally likely in any order. A change point is where the batches before and after differ most, if they do so
more than in 99 of 100 random orders (a permutation test, exact whatever the counts' distribution); then each
side is searched in the same way.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from multitracer.replay.erasures.confidence import batch_rates

LEVEL = 0.01
"""The share of traces without a change in which one is found, at most, if batches are independent."""
_MEMORIES = 10
"""The least length of a batch, in multiples of the length over which its blocks are correlated."""
_MOST_BATCHES = 200
_FEWEST_BATCHES = 10
_SHORTEST = 3
"""Batches in a stretch."""
_ORDERS = 999
_SEED = 1


def change_points(erased: Any, memory_blocks: float) -> list[int]:
    """The first blocks of stretches with another error rate than before; `memory_blocks` as `correlation_blocks`."""
    length = max(len(erased) / _MOST_BATCHES, math.ceil(_MEMORIES * memory_blocks), 1)
    batches = int(len(erased) / length)
    if batches < _FEWEST_BATCHES:
        return []
    rates = batch_rates(erased, batches)
    found = sorted(_search(rates, 0, np.random.default_rng(_SEED)))
    bounds = [at * len(erased) // batches for at in (0, *found, batches)]
    reach = len(erased) // batches
    return [
        _refined(erased, start, at, end, reach)
        for start, at, end in zip(bounds[:-2], bounds[1:-1], bounds[2:], strict=True)
    ]


def _search(rates: Any, first: int, generator: Any) -> list[int]:
    """Batches at which a stretch begins, among `rates`, whose first batch has the number `first`."""
    if len(rates) < max(2 * _SHORTEST, 6):
        return []
    scores = _scores(rates[None])[0]
    orders = generator.permuted(np.tile(rates, (_ORDERS, 1)), axis=1)
    # Equal sums in another order differ by rounding.
    as_good = int((_scores(orders).max(axis=1) >= scores.max() * (1 - 1e-9)).sum())
    if (1 + as_good) / (1 + _ORDERS) > LEVEL:
        return []
    at = _SHORTEST + int(np.argmax(scores))
    left, right = _search(rates[:at], first, generator), _search(rates[at:], first + at, generator)
    return [*left, first + at, *right]


def _scores(rates: Any) -> Any:
    """How much the means before and after each possible change differ, in units of their common error."""
    count = rates.shape[1]
    before = np.arange(_SHORTEST, count - _SHORTEST + 1)
    sums = np.cumsum(rates, axis=1)
    excess = sums[:, before - 1] - sums[:, -1:] * before / count
    return np.abs(excess) / np.sqrt(before * (count - before) / count)


def _refined(erased: Any, start: int, at: int, end: int, reach: int) -> int:
    """The block within `reach` of `at` that separates the two stretches best."""
    low, high = max(start + 1, at - reach), min(end - 1, at + reach)
    before, after = float(erased[start:at].mean()), float(erased[at:end].mean())
    sums = np.cumsum(erased[low:high] - (before + after) / 2)
    return low + 1 + int(np.argmin(sums) if after > before else np.argmax(sums))
