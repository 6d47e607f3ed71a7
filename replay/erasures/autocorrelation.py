"""The memory of a channel: how the loss of a block is correlated with the losses after it."""

from __future__ import annotations

from typing import Any

import numpy as np

_WINDOW = 5
"""Sokal's: autocorrelations are summed up to this many times the sum, where noise takes over."""


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
    """The sum of the autocorrelations on both sides: as many blocks as tell what one independent block does."""
    sums = 2 * np.cumsum(correlations) - 1
    settled = np.flatnonzero(np.arange(len(sums)) >= _WINDOW * sums)
    return max(float(sums[settled[0] if len(settled) else -1]), 0.0)
