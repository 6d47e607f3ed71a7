"""A block-erasure trace in numbers: error rate, bursts and gaps, memory, and where the rate changed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from multitracer.replay.erasures.autocorrelation import autocorrelation, correlation_blocks
from multitracer.replay.erasures.change_points import change_points
from multitracer.replay.erasures.confidence import interval
from multitracer.replay.erasures.run_lengths import runs_of, trace_of
from multitracer.replay.erasures.trace import positive

QUANTILES = (10, 25, 50, 75, 90, 95, 99)
"""Of run lengths, in percent."""
LAGS_SHOWN = 500
"""10 s of GSM blocks."""
MS_PER_S = 1000
_LAGS = 20_000


@dataclass(frozen=True)
class Lengths:
    """Run lengths in blocks; runs that the trace's ends cut short count with what is left.

    `histogram` has a pair (length in blocks, how many) for each length that occurs. Without runs, mean and
    maximum are None.
    """

    count: int
    mean_blocks: float | None
    max_blocks: int | None
    quantiles_blocks: dict[str, int]
    histogram: list[tuple[int, int]]


@dataclass(frozen=True)
class Stretch:
    """A part of the trace in which no change of the error rate was found.

    The limits are those of a 95 % confidence interval, None where the stretch is too short or all alike.
    """

    start_s: float
    end_s: float
    blocks: int
    error_rate: float
    error_rate_low: float | None
    error_rate_high: float | None


@dataclass(frozen=True)
class Description:
    """A trace in numbers.

    `error_rate_low` and `error_rate_high` are a 95 % confidence interval that allows for bursts, and
    `effective_blocks` the number of independent blocks that would give the same; None where the trace is too short
    or all blocks are alike. `correlation_blocks` is the sum of all autocorrelations (1 for independent
    blocks); `autocorrelation[k]` is the one at a lag of k blocks. Both are None if all blocks are alike.
    """

    blocks: int
    erased_blocks: int
    block_bytes: float
    block_ms: float
    duration_s: float
    error_rate: float
    error_rate_low: float | None
    error_rate_high: float | None
    effective_blocks: float | None
    bursts: Lengths
    gaps: Lengths
    correlation_blocks: float | None
    autocorrelation: list[float] | None
    stretches: list[Stretch]


def describe(erased: Any, block_bytes: float = 30, block_ms: float = 20) -> Description:
    """Describe a trace of blocks of that size, sent in that time each."""
    trace = trace_of(erased)
    positive("block_bytes", block_bytes)
    positive("block_ms", block_ms)
    runs, known = runs_of(trace), interval(trace)
    low, high, effective = known or (None, None, None)
    correlations = autocorrelation(trace, min(_LAGS, len(trace) // 4))
    memory = None if correlations is None else correlation_blocks(correlations)
    return Description(
        len(trace), int(trace.sum()), block_bytes, block_ms, len(trace) * block_ms / MS_PER_S, float(trace.mean()),
        low, high, effective, lengths(runs.bursts), lengths(runs.gaps), memory,
        None if correlations is None else correlations[: LAGS_SHOWN + 1].tolist(),
        stretches(trace, memory, block_ms),
    )  # fmt: skip


def lengths(blocks: Any) -> Lengths:
    """The distribution of some runs' lengths."""
    if not len(blocks):
        return Lengths(0, None, None, {}, [])
    values, counts = np.unique(blocks, return_counts=True)
    ranked = np.percentile(blocks, QUANTILES, method="inverted_cdf")
    quantiles = {str(percent): int(value) for percent, value in zip(QUANTILES, ranked, strict=True)}
    histogram = list(zip(values.tolist(), counts.tolist(), strict=True))
    return Lengths(len(blocks), float(blocks.mean()), int(values[-1]), quantiles, histogram)


def stretches(erased: Any, memory_blocks: float | None, block_ms: float) -> list[Stretch]:
    """The trace cut where its error rate changed; one stretch if it did not."""
    found = [] if memory_blocks is None else change_points(erased, memory_blocks)
    bounds = [0, *found, len(erased)]
    return [_stretch(erased[start:end], start, block_ms) for start, end in pairwise(bounds)]


def _stretch(part: Any, start: int, block_ms: float) -> Stretch:
    known = interval(part)
    start_s, end_s = (block * block_ms / MS_PER_S for block in (start, start + len(part)))
    limits = (None, None) if known is None else (known.low, known.high)
    return Stretch(start_s, end_s, len(part), float(part.mean()), *limits)
