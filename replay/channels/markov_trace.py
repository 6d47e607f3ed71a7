"""Konrad's Markov-based trace analysis: lossy and error-free phases, and a Markov chain within the lossy ones.

After Konrad, Zhao, Joseph, Ludwig, "A Markov-based channel model algorithm for wireless networks", Wireless
Networks 9, 2003. The rules used here:

- C, the change-of-state constant, is the mean plus one (population) standard deviation of the lengths of the
  bursts of erased blocks, rounded up.
- A run of C or more decoded blocks is an error-free phase; so are decoded blocks at either end of the
  trace. What is between is a lossy phase: it begins and ends with an erased block.
- Lossy phases are geometric from 1 block up, error-free ones from C up (the exponential in whole blocks).
- Within a lossy phase each block but the first follows a Markov chain on the blocks before it in the trace
  (Konrad joins the lossy phases to one sequence first; the contexts differ at the seams only).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.model.errors import UsageError
from multitracer.replay.channels.markov_chain import LARGEST_FITTED_ORDER, MarkovChain, best_chain, contexts_of
from multitracer.replay.channels.model import (
    TOO_FEW_BURSTS,
    Estimate,
    Fit,
    Sample,
    bernoulli,
    block_count,
    finite_or_none,
)
from multitracer.replay.erasures.run_lengths import runs_of, trace_of
from multitracer.replay.erasures.trace import positive


class Phases(NamedTuple):
    """A trace's phases: excess lengths of error-free ones over C, how many of these ended by an error, lossy lengths.

    `inside` says of each block whether the chain decides it: it is in a lossy phase and not its first.
    """

    excess_blocks: Any
    ended: int
    lossy_blocks: Any
    inside: Any


def change_blocks(erased: Any) -> int:
    """The change-of-state constant C of a trace that has errors."""
    bursts = runs_of(trace_of(erased)).bursts
    return max(1, math.ceil(float(bursts.mean() + bursts.std()) - 1e-9))


def phases_of(erased: Any, change: int) -> Phases:
    """Cut a trace at runs of `change` or more decoded blocks."""
    runs = runs_of(erased)
    free = ~runs.erased & (runs.lengths >= change)
    free[[0, -1]] |= ~runs.erased[[0, -1]]
    lossy = np.repeat(~free, runs.lengths)
    bounds = runs_of(lossy)
    inside = lossy.copy()
    inside[(np.cumsum(bounds.lengths) - bounds.lengths)[bounds.erased]] = False
    ended = int(free.sum()) - int(free[-1])
    return Phases(np.maximum(runs.lengths[free] - change, 0), ended, bounds.bursts, inside)


def inner_successors(erased: Any, inside: Any, order: int) -> tuple[Any, Any]:
    """How many blocks that the chain decides were erased, and decoded, after each context."""
    contexts = contexts_of(erased, order)
    return (
        np.bincount(contexts[inside & erased], minlength=2**order),
        np.bincount(contexts[inside & ~erased], minlength=2**order),
    )


@dataclass(frozen=True)
class MarkovTraceAnalysis:
    """Phases of `error_free_blocks` and `lossy_blocks` on average, and a chain within the lossy ones.

    `change_blocks` is C; `probabilities` are those of `MarkovChain`. Each lossy phase begins with an
    erased block, has no run of C decoded ones, and, once its length is reached, lasts until the next erased block.
    """

    name: ClassVar[str] = "mta"
    deterministic: ClassVar[bool] = False
    why_unfitted: ClassVar[str] = f"{TOO_FEW_BURSTS}, or no error-free phase"
    change_blocks: int
    error_free_blocks: float
    lossy_blocks: float
    probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        positive("change_blocks", self.change_blocks)
        MarkovChain(self.probabilities)
        if self.error_free_blocks < self.change_blocks:
            raise UsageError(f"error_free_blocks is {self.error_free_blocks}; it must be at least change_blocks")
        if self.lossy_blocks < 1:
            raise UsageError(f"lossy_blocks is {self.lossy_blocks}; it must be at least 1")

    @property
    def error_rate(self) -> float:
        """Approximately: the chain is taken to be in its stationary state from a phase's second block on."""
        erased = 1 + (self.lossy_blocks - 1) * MarkovChain(self.probabilities).error_rate
        return erased / (self.lossy_blocks + self.error_free_blocks)

    def generate(self, count: int, seed: int) -> Any:
        """Phases first, then blocks; the first phase is error-free."""
        generator = np.random.default_rng(seed)
        erased = np.zeros(block_count(count), dtype=np.bool_)
        cycles = count // self.change_blocks + 2
        end_free = 1 / (1 + self.error_free_blocks - self.change_blocks)
        cycles = min(cycles, int(count * end_free * 1.2) + 100)
        done = 0
        while done < count:
            free = self.change_blocks + generator.geometric(end_free, cycles) - 1
            lossy = generator.geometric(1 / self.lossy_blocks, cycles)
            draws = generator.random(count - done)
            done = walk_phases(free, lossy, draws, np.array(self.probabilities), erased, done, self.change_blocks)
        return erased

    def log_likelihood(self, erased: Any) -> float | None:
        """That of the phases found at C and of the chain within them.

        It is one of the ways in which the model makes the trace, so (but for the trace's ends) a lower bound.
        """
        trace = trace_of(erased)
        phases = phases_of(trace, self.change_blocks)
        end_free, end_lossy = 1 / (1 + self.error_free_blocks - self.change_blocks), 1 / self.lossy_blocks
        lossy = len(phases.lossy_blocks)
        found = bernoulli(phases.ended, phases.excess_blocks.sum(), end_free)
        found += bernoulli(lossy, phases.lossy_blocks.sum() - lossy, end_lossy)
        counts = inner_successors(trace, phases.inside, MarkovChain(self.probabilities).order)
        return finite_or_none(found + bernoulli(*counts, np.array(self.probabilities)))

    @classmethod
    def fit(cls, sample: Sample, fitted: Mapping[str, Fit]) -> Fit | None:
        """Phases cut at C, means of their lengths, and the chain within of the order with the lowest BIC.

        The errors hold for this C: where it cuts lossy phases that belong together, both means are too small.
        """
        if not sample.bursty:
            return None
        change = change_blocks(sample.erased)
        phases = phases_of(sample.erased, change)
        excess, lossy = float(phases.excess_blocks.sum()) / max(phases.ended, 1), float(phases.lossy_blocks.mean())
        counts = inner_successors(sample.erased, phases.inside, LARGEST_FITTED_ORDER)
        chain = best_chain(*counts, len(sample.erased))
        model = cls(change, change + excess, lossy, tuple(each.value for each in chain.estimates.values()))
        lengths = {
            "change_blocks": Estimate(change, None),
            "error_free_blocks": _mean_length(change + excess, excess, phases.ended),
            "lossy_blocks": _mean_length(lossy, lossy - 1, len(phases.lossy_blocks)),
        }
        found = model.log_likelihood(sample.erased)
        if found is None or not phases.ended:
            return None
        return Fit(model, lengths | chain.estimates, chain.contexts_seen + 3, found)


def _mean_length(value: float, excess: float, count: int) -> Estimate:
    """The mean of `count` geometric lengths; `excess` is how far it is above the shortest possible one."""
    return Estimate(value, math.sqrt(excess * (1 + excess) / count) if excess and count else None)


@kernel
def walk_phases(free: Any, lossy: Any, draws: Any, probabilities: Any, erased: Any, start: int, change: int) -> int:
    """Fill `erased` from block `start` on, phase by phase; returns the block after the last phase."""
    mask, block, count = len(probabilities) - 1, start, len(erased)
    for cycle in range(len(free)):
        block += free[cycle]
        if block >= count:
            return count
        end, context, gap = block + lossy[cycle], 0, change
        while block < count and (block < end or gap > 0):
            if gap + 1 >= change or draws[block - start] < probabilities[context]:
                erased[block], gap = True, 0
            else:
                gap += 1
            context = (context << 1 | (1 if gap == 0 else 0)) & mask
            block += 1
    return min(block, count)
