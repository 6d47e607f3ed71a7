"""Gilbert's channel: good and bad for geometric numbers of blocks; bad blocks are all lost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from multitracer.replay.channels.markov_chain import successors
from multitracer.replay.channels.model import (
    Fit,
    Sample,
    bernoulli,
    block_count,
    finite_or_none,
    probability,
    share,
)
from multitracer.replay.erasures.run_lengths import trace_of


@dataclass(frozen=True)
class Gilbert:
    """Every block is lost in the bad state and none in the good one.

    `p_bad` is the probability that the block after a decoded one finds the channel bad, `p_good` that the
    block after a lost one finds it good (each per block). The same process as a Markov chain of order 1.
    """

    name: ClassVar[str] = "gilbert"
    deterministic: ClassVar[bool] = False
    why_unfitted: ClassVar[str] = "the trace does not go from decoded to erased blocks and back"
    p_bad: float
    p_good: float

    def __post_init__(self) -> None:
        probability("p_bad", self.p_bad)
        probability("p_good", self.p_good)

    @property
    def error_rate(self) -> float:
        """The share of time in the bad state."""
        return self.p_bad / (self.p_bad + self.p_good) if self.p_bad + self.p_good else 0.5

    def generate(self, count: int, seed: int) -> Any:
        """Bursts and gaps of geometric lengths."""
        return bad_blocks(block_count(count), self.p_bad, self.p_good, np.random.default_rng(seed))

    def log_likelihood(self, erased: Any) -> float | None:
        """From the numbers of transitions; the first block has the probability of the long run."""
        trace = trace_of(erased)
        lost, decoded = successors(trace, 1, previous=None)
        first = self.error_rate if trace[0] else 1 - self.error_rate
        chances = np.array([self.p_bad, 1 - self.p_good])
        return finite_or_none(bernoulli(lost, decoded, chances) + (math.log(first) if first else -math.inf))

    @classmethod
    def fit(cls, sample: Sample, fitted: Mapping[str, Fit]) -> Fit | None:
        """Shares of the transitions; None if no block follows an erased, or a decoded, one."""
        lost, decoded = (counts.tolist() for counts in successors(sample.erased, 1, previous=None))
        if not (lost[0] + decoded[0] and lost[1] + decoded[1] and lost[0] + decoded[1]):
            return None
        estimates = {
            "p_bad": share(lost[0], lost[0] + decoded[0]),
            "p_good": share(decoded[1], lost[1] + decoded[1]),
        }
        model = cls(**{name: estimate.value for name, estimate in estimates.items()})
        found = model.log_likelihood(sample.erased)
        return None if found is None else Fit(model, estimates, 2, found)


def bad_blocks(count: int, leave_good: float, leave_bad: float, generator: Any) -> Any:
    """Whether each of `count` blocks finds the channel bad: geometric stays, begun in the stationary state.

    `leave_good` and `leave_bad` are the probabilities, per block, that a state ends.
    """
    if leave_good == 0 or leave_bad == 0:  # a state that never ends
        bad = bool(leave_good > 0 or (leave_bad == 0 and generator.random() < 0.5))
        return np.full(count, bad)
    bad = bool(generator.random() < leave_good / (leave_good + leave_bad))
    order = (leave_bad, leave_good) if bad else (leave_good, leave_bad)
    parts, done = [], 0
    while done < count:
        cycles = int((count - done) / (1 / leave_good + 1 / leave_bad) * 1.1) + 10
        stays = np.minimum(generator.geometric(order, (cycles, 2)).ravel(), count)
        parts.append(stays)
        done += int(stays.sum())
    lengths = np.concatenate(parts)
    lengths = lengths[: int(np.searchsorted(np.cumsum(lengths), count)) + 1]
    return np.repeat((np.arange(len(lengths)) % 2 == 0) == bad, lengths)[:count]
