"""Random numbers: one Philox stream for each seed, purpose and direction, so that every variant meets the same luck.

Numbers are drawn in blocks, outside the kernels. One draw makes one value, whatever the distribution's parameters are,
so that draw k stays the k-th frame's, burst's or page's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

PURPOSES = ("channel", "media", "workload", "tcp")
DIRECTIONS = ("", "down", "up", "forward", "reverse")
MOST_SEED = (1 << 64) - 1


class Stream:
    """The random numbers of one seed, purpose and direction; parts of it are streams of their own.

    However many numbers are drawn at a time, they are the same in the same order, as long as all are of one kind: take
    a part for each kind.
    """

    def __init__(self, seed: int, purpose: str, direction: str = "", part: int = 0) -> None:
        number = PURPOSES.index(purpose) * len(DIRECTIONS) + DIRECTIONS.index(direction)
        philox = np.random.Philox(key=np.array([seed, number], np.uint64))
        # A jump is 2^128 draws: parts never meet.
        self.generator = np.random.Generator(philox.jumped(part) if part else philox)

    def uniform(self, count: int) -> Any:
        """Numbers from 0 to below 1; float64, shape (count,)."""
        return self.generator.random(count)

    def exponential(self, count: int, mean: float) -> Any:
        """Exponential numbers of that mean."""
        return -mean * np.log1p(-self.uniform(count))

    def normal(self, count: int) -> Any:
        """Normal numbers of mean 0 and variance 1."""
        return self.generator.standard_normal(count)

    def gamma(self, count: int, shape: float, scale: float) -> Any:
        """Gamma numbers of mean shape times scale."""
        return self.generator.standard_gamma(shape, count) * scale
