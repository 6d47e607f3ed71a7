"""Markov chains: the blocks before a block decide with which probability it is lost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.model.errors import UsageError
from multitracer.replay.channels.model import (
    Estimate,
    Fit,
    Sample,
    bernoulli,
    block_count,
    finite_or_none,
    probability,
    share,
)
from multitracer.replay.erasures.run_lengths import trace_of

LARGEST_ORDER = 10
"""Of a Markov chain: 1024 contexts."""
LARGEST_FITTED_ORDER = 6
"""Of the chains that are fitted."""


@dataclass(frozen=True)
class MarkovChain:
    """A block is lost with a probability that the `order` blocks before it decide.

    `probabilities[c]` is the one after the blocks that c's bits say, oldest highest, 1 for erased; there are
    2^order. A trace begins as if all blocks before it had been decoded.
    """

    name: ClassVar[str] = "markov"
    deterministic: ClassVar[bool] = False
    why_unfitted: ClassVar[str] = "a chain of order 0 or 1 suits it best: the process of uniform, or of gilbert"
    probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.probabilities) not in (2**order for order in range(LARGEST_ORDER + 1)):
            raise UsageError(f"{len(self.probabilities)} probabilities; a chain has 2^order, for 0 to {LARGEST_ORDER}")
        for context, value in enumerate(self.probabilities):
            probability(f"probability {context}", value)

    @property
    def order(self) -> int:
        """How many blocks back it looks."""
        return len(self.probabilities).bit_length() - 1

    @property
    def error_rate(self) -> float:
        """From the stationary distribution of its contexts."""
        chances, size = np.array(self.probabilities), len(self.probabilities)
        contexts = np.arange(size)
        change = -np.eye(size)
        change[contexts << 1 & size - 1, contexts] += 1 - chances
        change[(contexts << 1 | 1) & size - 1, contexts] += chances
        time = np.linalg.lstsq(np.vstack([change, np.ones(size)]), np.append(np.zeros(size), 1.0))[0]
        return float(np.clip(time @ chances, 0, 1))

    def generate(self, count: int, seed: int) -> Any:
        """Block by block."""
        erased = np.zeros(block_count(count), dtype=np.bool_)
        walk(np.random.default_rng(seed).random(count), np.array(self.probabilities), erased)
        return erased

    def log_likelihood(self, erased: Any) -> float | None:
        """From the numbers of transitions."""
        counts = successors(trace_of(erased), self.order)
        return finite_or_none(bernoulli(*counts, np.array(self.probabilities)))

    @classmethod
    def fit(cls, sample: Sample, fitted: Mapping[str, Fit]) -> Fit | None:
        """The chain of the order, up to 6, with the lowest BIC.

        None if that is 0 or 1: those are the processes of uniform errors and of Gilbert's channel.
        """
        best = best_chain(*successors(sample.erased, LARGEST_FITTED_ORDER), len(sample.erased))
        if len(best.estimates) <= 2:
            return None
        model = cls(tuple(estimate.value for estimate in best.estimates.values()))
        return Fit(model, best.estimates, best.contexts_seen, best.log_likelihood)


@kernel
def walk(draws: Any, probabilities: Any, erased: Any) -> None:
    """Fill `erased` by a Markov chain; `draws` are uniform in [0, 1), one for each block."""
    context, mask = 0, len(probabilities) - 1
    for block in range(len(draws)):
        lost = draws[block] < probabilities[context]
        erased[block] = lost
        context = (context << 1 | (1 if lost else 0)) & mask


def contexts_of(erased: Any, order: int) -> Any:
    """For each block the `order` blocks before it as a number, oldest highest; before the trace all are decoded."""
    contexts = np.zeros(len(erased), dtype=np.int64)
    for back in range(1, min(order, len(erased) - 1) + 1):
        contexts[back:] |= erased[:-back].astype(np.int64) << (back - 1)
    return contexts


def successors(erased: Any, order: int, previous: int | None = 0) -> tuple[Any, Any]:
    """How many blocks were erased, and decoded, after each context; without the first block if `previous` is None."""
    first = 0 if previous is not None else 1
    contexts, lost = contexts_of(erased, order)[first:], erased[first:]
    return np.bincount(contexts[lost], minlength=2**order), np.bincount(contexts[~lost], minlength=2**order)


class BestChain(NamedTuple):
    """The chain with the lowest BIC: an estimate for each context, and how many contexts the trace has."""

    estimates: dict[str, Estimate]
    contexts_seen: int
    log_likelihood: float


def best_chain(lost: Any, decoded: Any, blocks: int) -> BestChain:
    """The order with the lowest BIC, given how many blocks were lost and decoded after each context of order 6.

    A context that never occurs gets the mean probability, and does not count as a parameter.
    """
    candidates = []
    for order in range(LARGEST_FITTED_ORDER + 1):
        folded = [counts.reshape(-1, 2**order).sum(axis=0) for counts in (lost, decoded)]
        seen = folded[0] + folded[1] > 0
        chances = np.where(seen, folded[0] / np.maximum(folded[0] + folded[1], 1), _mean_chance(lost, decoded))
        found = bernoulli(folded[0], folded[1], chances)
        candidates.append((int(seen.sum()) * math.log(blocks) - 2 * found, order, folded, chances, found, seen))
    _, order, folded, chances, found, seen = min(candidates, key=lambda candidate: candidate[:2])
    estimates = {}
    for context, (part, rest) in enumerate(zip(*(counts.tolist() for counts in folded), strict=True)):
        name = f"loss_after_{context:0{order}b}" if order else "loss"
        estimates[name] = share(part, part + rest) if part + rest else Estimate(float(chances[context]), None)
    return BestChain(estimates, int(seen.sum()), found)


def _mean_chance(lost: Any, decoded: Any) -> float:
    blocks = int(lost.sum() + decoded.sum())
    return int(lost.sum()) / blocks if blocks else 0.5
