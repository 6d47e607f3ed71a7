"""Errors at equal distances: the same number of losses as another channel's, but never in bursts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from multitracer.replay.channels.model import Estimate, Fit, Sample, block_count, probability
from multitracer.replay.erasures.run_lengths import trace_of
from multitracer.replay.erasures.trace import evenly_spaced

FEWEST = 4
"""The least number of erased blocks, and of decoded ones, for which regular distances are evidence."""


@dataclass(frozen=True)
class Even:
    """Errors at equal distances: error j of E among n blocks is block floor((j + 1/2) n / E), counted from 0."""

    name: ClassVar[str] = "even"
    deterministic: ClassVar[bool] = True
    why_unfitted: ClassVar[str] = "the errors do not stand at equal distances, or are too few to say"
    error_rate: float

    def __post_init__(self) -> None:
        probability("error_rate", self.error_rate)

    def generate(self, count: int, seed: int = 0) -> Any:
        """The one trace with E = the error rate times `count`, rounded; the seed changes nothing."""
        return evenly_spaced(round(self.error_rate * block_count(count)), count)

    def log_likelihood(self, erased: Any) -> float | None:
        """0 for the one trace of this length that it makes; None for all others."""
        trace = trace_of(erased)
        return 0.0 if np.array_equal(trace, self.generate(len(trace))) else None

    @classmethod
    def fit(cls, sample: Sample, fitted: Mapping[str, Fit]) -> Fit | None:
        """Recognised by errors on a straight line, each within a block of its place, from end to end of the trace.

        The log likelihood is 0 for the trace that the model itself makes. For another (a part of one, or one
        rounded differently) it is the cost of coding the block at which it begins and, unless all distances are
        equal, the rounding of each place.
        """
        lost, blocks = int(sample.erased.sum()), len(sample.erased)
        if min(lost, blocks - lost) < FEWEST or not _regular(sample.erased, lost):
            return None
        model = cls(lost / blocks)
        found = model.log_likelihood(sample.erased)
        if found is None:
            distances = np.diff(np.flatnonzero(sample.erased))
            found = -math.log(blocks) - (lost * math.log(2) if np.ptp(distances) else 0)
        return Fit(model, {"error_rate": Estimate(model.error_rate, None)}, 1, found)


def _regular(erased: Any, lost: int) -> bool:
    places = np.flatnonzero(erased)
    offsets = places - np.linspace(places[0], places[-1], lost)
    distance = (places[-1] - places[0]) / (lost - 1)
    return bool(np.ptp(offsets) < 2 and max(places[0], len(erased) - 1 - places[-1]) <= distance + 1)
