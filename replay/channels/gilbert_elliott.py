"""Gilbert-Elliott: Gilbert's two states with a loss probability in each, the states hidden (Elliott 1963)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from multitracer.replay.channels import hidden_markov
from multitracer.replay.channels.gilbert import Gilbert, bad_blocks
from multitracer.replay.channels.maximum_likelihood import Maximum, estimates_at, maximise
from multitracer.replay.channels.model import (
    TOO_FEW_BURSTS,
    Fit,
    Sample,
    block_count,
    finite_or_none,
    probability,
)
from multitracer.replay.erasures.run_lengths import trace_of

_LOGIT_BOUND = 18.0
_STARTS = 2
"""The number of the grid's best points at which the search begins."""
_FIRST_RUNS = 4000
"""Runs of a long trace that the first searches look at; only the last one looks at all, to save time."""


@dataclass(frozen=True)
class GilbertElliott:
    """Gilbert's two states, with loss probabilities `h_good` and `h_bad` in them (Elliott 1963)."""

    name: ClassVar[str] = "gilbert_elliott"
    deterministic: ClassVar[bool] = False
    why_unfitted: ClassVar[str] = TOO_FEW_BURSTS
    p_bad: float
    p_good: float
    h_good: float
    h_bad: float

    def __post_init__(self) -> None:
        for name in ("p_bad", "p_good", "h_good", "h_bad"):
            probability(name, getattr(self, name))

    @property
    def error_rate(self) -> float:
        """Both states' losses, each for its share of time."""
        bad = Gilbert(self.p_bad, self.p_good).error_rate
        return bad * self.h_bad + (1 - bad) * self.h_good

    def generate(self, count: int, seed: int) -> Any:
        """States first, then losses."""
        generator = np.random.default_rng(seed)
        bad = bad_blocks(block_count(count), self.p_bad, self.p_good, generator)
        return generator.random(count) < np.where(bad, self.h_bad, self.h_good)

    def log_likelihood(self, erased: Any) -> float | None:
        """Summed over all sequences of states."""
        matrices = block_matrices(np.array([[self.p_bad, self.p_good, self.h_good, self.h_bad]]))
        return finite_or_none(hidden_markov.log_likelihood(matrices, trace_of(erased)))

    @classmethod
    def fit(cls, sample: Sample, fitted: Mapping[str, Fit]) -> Fit | None:
        """The maximum of the likelihood over logits, searched from the best points of a grid."""
        if not sample.bursty:
            return None
        found = _search(sample)
        values = logistic(found.point)
        estimates = estimates_at(values, values * (1 - values), found.hessian)
        if values[2] > values[3]:  # the good state is the one that loses less
            estimates = [estimates[place] for place in (1, 0, 3, 2)]
        named = dict(zip(("p_bad", "p_good", "h_good", "h_bad"), estimates, strict=True))
        model = cls(*(each.value for each in estimates))
        return Fit(model, named, 4, found.value, tuple(found.point.tolist()))


def block_matrices(parameters: Any) -> tuple[Any, Any]:
    """`decoded` and `lost` (see hidden_markov) for rows of p_bad, p_good, h_good, h_bad."""
    p_bad, p_good = parameters[:, 0], parameters[:, 1]
    transition = np.stack([1 - p_bad, p_bad, p_good, 1 - p_good], axis=-1).reshape(-1, 2, 2)
    lost = transition * parameters[:, 2:, None]
    return transition - lost, lost


def logistic(logits: Any) -> Any:
    """Probabilities from their logits."""
    return 1 / (1 + np.exp(-logits))


def _search(sample: Sample) -> Maximum:
    part = sample.erased[: int(sample.runs.lengths[:_FIRST_RUNS].sum())]
    few, bound = hidden_markov.powers_of(part), np.full(4, _LOGIT_BOUND)
    starts = _grid(float(part.mean()))
    best = starts[np.argsort(-_likelihood(starts, few))[:_STARTS]]
    found = [maximise(lambda logits: _likelihood(logits, few), start, -bound, bound) for start in best]
    top = max(found, key=lambda each: each.value)
    if len(part) == len(sample.erased):
        return top
    return maximise(lambda logits: _likelihood(logits, sample.powers), top.point, -bound, bound)


def _likelihood(logits: Any, powers: hidden_markov.Powers) -> Any:
    return hidden_markov.log_likelihoods(*block_matrices(logistic(logits)), powers)


def _grid(rate: float) -> Any:
    """Logits to begin at: bad states short and long, of little and of much more than the errors' share of time."""
    rows = []
    for p_good in (0.5, 0.2, 0.05, 0.02, 0.005):
        for bad in (1.05 * rate, 2 * rate, 5 * rate):
            for h_good in (0.02 * rate, 0.3 * rate):
                part = min(bad, 0.9)
                rows.append((p_good * part / (1 - part), p_good, h_good, (rate - (1 - part) * h_good) / part))
    grid = np.clip(rows, 1e-7, 1 - 1e-3)
    return np.log(grid / (1 - grid))
