"""The run lengths of a block-erasure trace: bursts of erased blocks, and the gaps of decoded ones between them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitracer.model.errors import UsageError


class Runs(NamedTuple):
    """The runs of a trace in order: how many blocks each has, and whether they are erased."""

    lengths: Any
    erased: Any

    @property
    def begins(self) -> Any:
        """The block with which each run begins."""
        return np.cumsum(self.lengths) - self.lengths

    @property
    def bursts(self) -> Any:
        """Lengths of the runs of erased blocks; runs that the trace's ends cut short count with what is left."""
        return self.lengths[self.erased]

    @property
    def gaps(self) -> Any:
        """Lengths of the runs of decoded blocks."""
        return self.lengths[~self.erased]


def trace_of(erased: Any) -> Any:
    """`erased` as an array of bools, one a block (True: erased); raises UsageError for a trace without blocks."""
    trace = np.asarray(erased, dtype=np.bool_)
    if trace.ndim != 1 or not len(trace):
        raise UsageError(f"an erasure trace is a row of at least 1 block, not of the shape {trace.shape}")
    return trace


def runs_of(erased: Any) -> Runs:
    """The runs of a trace."""
    bounds = np.concatenate(([0], np.flatnonzero(erased[1:] != erased[:-1]) + 1, [len(erased)]))
    return Runs(np.diff(bounds), erased[bounds[:-1]])


def distance(these: Any, those: Any) -> float | None:
    """Kolmogorov and Smirnov's: the largest difference of two distributions of lengths; None if one set is empty."""
    if not len(these) or not len(those):
        return None
    size = int(max(these.max(), those.max())) + 1
    shares = [np.cumsum(np.bincount(lengths, minlength=size)) / len(lengths) for lengths in (these, those)]
    return float(np.abs(shares[0] - shares[1]).max())
