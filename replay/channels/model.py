"""What every channel model offers, what it is fitted to, and the checks and sums that the models share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from multitracer.model.errors import UsageError
from multitracer.replay.channels.hidden_markov import Powers, powers_of
from multitracer.replay.erasures.run_lengths import Runs, runs_of

BITS_PER_BYTE = 8
MS_PER_S = 1000
FEWEST_BURSTS = 5
"""With fewer, models of four and more parameters are not fitted."""
TOO_FEW_BURSTS = f"the trace has fewer than {FEWEST_BURSTS} bursts of erased blocks"


@dataclass(frozen=True)
class Estimate:
    """A parameter's most likely value, in its own unit, and the standard error of that.

    The standard error is None where the trace says nothing about it.
    """

    value: float
    standard_error: float | None


@dataclass(frozen=True)
class Fit:
    """A model with its most likely parameters; `log_likelihood` is natural, of the whole trace."""

    model: Channel
    estimates: dict[str, Estimate]
    free_parameters: int
    log_likelihood: float
    maximum_at: tuple[float, ...] = ()
    """Where the likelihood was largest, in the coordinates that were searched; empty for closed forms."""


@dataclass(frozen=True, eq=False)
class Sample:
    """The trace that models are fitted to: one bool a block (True: erased), and the size and time of a block."""

    erased: Any
    block_bytes: float = 30
    block_ms: float = 20

    @cached_property
    def runs(self) -> Runs:
        """The trace's bursts and gaps."""
        return runs_of(self.erased)

    @cached_property
    def powers(self) -> Powers:
        """The trace as the likelihood of a hidden Markov chain needs it."""
        return powers_of(self.erased)

    @property
    def bursty(self) -> bool:
        """Whether there are bursts enough to fit a model of four or more parameters."""
        return len(self.runs.bursts) >= FEWEST_BURSTS


class Channel(Protocol):
    """A model of a channel with given parameters."""

    name: ClassVar[str]
    deterministic: ClassVar[bool]
    """Whether it makes one trace only, whatever the seed."""
    why_unfitted: ClassVar[str]
    """What a trace is like that this model cannot be fitted to."""

    @property
    def error_rate(self) -> float:
        """The share of blocks erased in the long run."""

    def generate(self, count: int, seed: int) -> Any:
        """A trace of `count` blocks, one bool each (True: erased); the same seed gives the same trace."""

    def log_likelihood(self, erased: Any) -> float | None:
        """The natural logarithm of the probability that the model makes this trace; None where it is 0."""

    @classmethod
    def fit(cls, sample: Sample, fitted: Mapping[str, Fit]) -> Fit | None:
        """The model with the parameters that make the sample most likely; None where it cannot be fitted.

        `fitted` holds, by name, the fits of the models that stand before this one in the table.
        """


def probability(name: str, value: float) -> None:
    """Raise UsageError unless the value is a probability."""
    if not 0 <= value <= 1:
        raise UsageError(f"{name} is {value}; it must be from 0 to 1")


def block_count(count: int) -> int:
    """The number of blocks of a trace to be made; raises UsageError for none."""
    if count < 1:
        raise UsageError(f"a trace of {count} blocks; it must have at least 1")
    return count


def bernoulli(erased: Any, decoded: Any, chance: Any) -> float:
    """Log likelihood of these numbers of erased and decoded blocks at each loss probability; -inf if impossible."""
    erased, decoded, chance = np.atleast_1d(erased), np.atleast_1d(decoded), np.atleast_1d(chance)
    if ((chance == 0) & (erased > 0)).any() or ((chance == 1) & (decoded > 0)).any():
        return -math.inf
    inner = np.clip(chance, 1e-300, None), np.clip(1 - chance, 1e-300, None)
    return float((erased * np.log(inner[0]) + decoded * np.log(inner[1])).sum())


def finite_or_none(log_likelihood: float) -> float | None:
    """None for the logarithm of 0."""
    return log_likelihood if math.isfinite(log_likelihood) else None


def share(part: int, whole: int) -> Estimate:
    """A probability estimated by counting, with its binomial error; none if all or nothing was counted."""
    value = part / whole
    return Estimate(value, math.sqrt(value * (1 - value) / whole) if 0 < part < whole else None)
