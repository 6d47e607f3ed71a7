"""Models of a channel that erases blocks: uniform, even, Gilbert, Gilbert-Elliott, two-state, Markov chains.

Each is a frozen dataclass of its parameters with the same calls: `generate(count, seed)` makes a trace, one
bool a block (True: erased); `log_likelihood(erased)` is the natural logarithm of the probability that
the model makes this trace, `error_rate` the share of blocks that it erases in the long run. Konrad's model
stands in `multitracer.replay.channels.markov_trace`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.model.errors import UsageError
from multitracer.replay.channels import hidden_markov
from multitracer.replay.erasures.runs import trace_of

BITS_PER_BYTE = 8
MS_PER_S = 1000
LARGEST_ORDER = 10
"""Of a Markov chain: 1024 contexts."""


class Channel(Protocol):
    """What every model offers."""

    name: ClassVar[str]

    @property
    def error_rate(self) -> float:
        """The share of blocks erased in the long run."""

    def generate(self, count: int, seed: int) -> Any:
        """A trace of `count` blocks; the same seed gives the same trace."""

    def log_likelihood(self, erased: Any) -> float | None:
        """The natural logarithm of a trace's probability; None where it is 0."""


def probability(name: str, value: float) -> None:
    """Refuse what is no probability."""
    if not 0 <= value <= 1:
        raise UsageError(f"{name} is {value}; it must be from 0 to 1")


def positive(name: str, value: float) -> None:
    """Refuse what is not above 0 and finite."""
    if not 0 < value < math.inf:
        raise UsageError(f"{name} is {value}; it must be above 0")


def bernoulli(erased: Any, decoded: Any, chance: Any) -> float:
    """Log likelihood of so many erased and decoded blocks at each loss probability; -inf if it is impossible."""
    erased, decoded, chance = np.atleast_1d(erased), np.atleast_1d(decoded), np.atleast_1d(chance)
    if ((chance == 0) & (erased > 0)).any() or ((chance == 1) & (decoded > 0)).any():
        return -math.inf
    inner = np.clip(chance, 1e-300, None), np.clip(1 - chance, 1e-300, None)
    return float((erased * np.log(inner[0]) + decoded * np.log(inner[1])).sum())


def possible(log_likelihood: float) -> float | None:
    """None for the logarithm of 0."""
    return log_likelihood if math.isfinite(log_likelihood) else None


def block_count(count: int) -> int:
    """Refuse traces of nothing."""
    if count < 1:
        raise UsageError(f"a trace of {count} blocks; it must have at least 1")
    return count


@dataclass(frozen=True)
class Uniform:
    """Every block is erased with the same probability, whatever happened to the others."""

    name: ClassVar[str] = "uniform"
    probability: float

    def __post_init__(self) -> None:
        probability("probability", self.probability)

    @property
    def error_rate(self) -> float:
        """The probability itself."""
        return self.probability

    def generate(self, count: int, seed: int) -> Any:
        """Independent blocks."""
        return np.random.default_rng(seed).random(block_count(count)) < self.probability

    def log_likelihood(self, erased: Any) -> float | None:
        """Binomial, in the trace's order."""
        trace = trace_of(erased)
        lost = int(trace.sum())
        return possible(bernoulli(lost, len(trace) - lost, self.probability))


@dataclass(frozen=True)
class Even:
    """Errors at equal distances: error j of E among n blocks is block floor((j + 1/2) n / E), counted from 0."""

    name: ClassVar[str] = "even"
    error_rate: float

    def __post_init__(self) -> None:
        probability("error_rate", self.error_rate)

    def generate(self, count: int, seed: int = 0) -> Any:
        """The one trace with E = the error rate times `count`, rounded; the seed changes nothing."""
        erased = np.zeros(block_count(count), dtype=np.bool_)
        errors = round(self.error_rate * count)
        erased[(2 * np.arange(errors) + 1) * count // (2 * max(errors, 1))] = True
        return erased

    def log_likelihood(self, erased: Any) -> float | None:
        """0 for the one trace that it makes of this length."""
        trace = trace_of(erased)
        return 0.0 if np.array_equal(trace, self.generate(len(trace))) else None


def states(count: int, leave_good: float, leave_bad: float, generator: Any) -> Any:
    """Whether each of `count` blocks finds the channel bad: geometric stays, begun in the stationary state."""
    if leave_good == 0 or leave_bad == 0:  # a state that is never left again
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


@dataclass(frozen=True)
class Gilbert:
    """Every block is lost in the bad state and none in the good one.

    `p_bad` is the probability that the block after a decoded one finds the channel bad, `p_good` that the
    block after a lost one finds it good (each per block). The same process as a Markov chain of order 1.
    """

    name: ClassVar[str] = "gilbert"
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
        return states(block_count(count), self.p_bad, self.p_good, np.random.default_rng(seed))

    def log_likelihood(self, erased: Any) -> float | None:
        """Transitions counted; the first block as in the long run."""
        trace = trace_of(erased)
        lost, decoded = successors(trace, 1, previous=None)
        first = self.error_rate if trace[0] else 1 - self.error_rate
        chances = np.array([self.p_bad, 1 - self.p_good])
        return possible(bernoulli(lost, decoded, chances) + (math.log(first) if first else -math.inf))


@dataclass(frozen=True)
class GilbertElliott:
    """Gilbert's two states, with loss probabilities `h_good` and `h_bad` in them (Elliott 1963)."""

    name: ClassVar[str] = "gilbert_elliott"
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
        bad = states(block_count(count), self.p_bad, self.p_good, generator)
        return generator.random(count) < np.where(bad, self.h_bad, self.h_good)

    def log_likelihood(self, erased: Any) -> float | None:
        """Summed over all sequences of states."""
        matrices = elliott_matrices(np.array([[self.p_bad, self.p_good, self.h_good, self.h_bad]]))
        return _hidden_likelihood(matrices, erased)


def elliott_matrices(parameters: Any) -> tuple[Any, Any]:
    """`decoded` and `lost` (see `hidden`) for rows of p_bad, p_good, h_good, h_bad."""
    p_bad, p_good = parameters[:, 0], parameters[:, 1]
    transition = np.stack([1 - p_bad, p_bad, p_good, 1 - p_good], axis=-1).reshape(-1, 2, 2)
    lost = transition * parameters[:, 2:, None]
    return transition - lost, lost


@dataclass(frozen=True)
class TwoState:
    """A channel in continuous time that is good and bad for exponential times, with a bit error rate in each.

    `good_s` and `bad_s` are mean times in seconds, `good_ber` and `bad_ber` probabilities for each bit. A
    block of `block_bytes`, sent within `block_ms`, is lost unless all its bits are right; it may see both states.
    """

    name: ClassVar[str] = "two_state"
    good_s: float
    bad_s: float
    good_ber: float
    bad_ber: float
    block_bytes: float = 30
    block_ms: float = 20

    def __post_init__(self) -> None:
        for name in ("good_s", "bad_s", "block_bytes", "block_ms"):
            positive(name, getattr(self, name))
        probability("good_ber", self.good_ber)
        probability("bad_ber", self.bad_ber)

    @property
    def error_rate(self) -> float:
        """From the process of its blocks."""
        decoded, lost = self._matrices()
        return float((hidden_markov.stationary(decoded + lost)[0, :, None] * lost[0]).sum())

    def generate(self, count: int, seed: int) -> Any:
        """Times first, then each block's share of bad time, then losses."""
        generator = np.random.default_rng(seed)
        blocks_per_s = MS_PER_S / self.block_ms
        good, bad = (np.array([self.good_s, self.bad_s]) * blocks_per_s).tolist()
        first_bad = bool(generator.random() < bad / (good + bad))
        switches = _switches(block_count(count), (bad, good) if first_bad else (good, bad), generator)
        stays = np.diff(switches)
        stays[int(first_bad) :: 2] = 0  # the good ones
        bad_time = np.interp(np.arange(count + 1), switches, np.concatenate(([0.0], np.cumsum(stays))))
        bad_share = np.clip(np.diff(bad_time), 0, 1)
        hazards = self._hazards()
        return generator.random(count) < -np.expm1(-(hazards[0] * (1 - bad_share) + hazards[1] * bad_share))

    def log_likelihood(self, erased: Any) -> float | None:
        """Exact: the state at blocks' borders is a hidden Markov chain (see `two_state_matrices`)."""
        return _hidden_likelihood(self._matrices(), erased)

    def _hazards(self) -> list[float]:
        """Minus the logarithm of a block's chance in each state; a bit error rate of 1 as good as 1 - 1e-12."""
        bits = self.block_bytes * BITS_PER_BYTE
        return [-bits * math.log1p(-min(ber, 1 - 1e-12)) for ber in (self.good_ber, self.bad_ber)]

    def _matrices(self) -> tuple[Any, Any]:
        block_s = self.block_ms / MS_PER_S
        return two_state_matrices(np.array([[block_s / self.good_s, block_s / self.bad_s, *self._hazards()]]))


def _switches(count: int, means: tuple[float, float], generator: Any) -> Any:
    """When the state changes, in blocks from the start: first 0, last behind `count`."""
    parts, done = [np.zeros(1)], 0.0
    while done <= count:
        cycles = int((count - done) / sum(means) * 1.1) + 10
        parts.append(generator.exponential(means, (cycles, 2)).ravel())
        done += float(parts[-1].sum())
    return np.cumsum(np.concatenate(parts))


def two_state_matrices(parameters: Any) -> tuple[Any, Any]:
    """`decoded` and `lost` (see `hidden`) for rows of rates per block: good to bad, bad to good, hazard good, bad.

    With Q the generator of the states and R the diagonal of the hazards (expected errors per block), a
    block is decoded with the matrix exp(Q - R), whatever the moments of change within it: Feynman and Kac.
    """
    to_bad, to_good = parameters[:, 0], parameters[:, 1]
    change = np.stack([-to_bad, to_bad, to_good, -to_good], axis=-1).reshape(-1, 2, 2)
    decoded = np.maximum(hidden_markov.exponential(change - parameters[:, 2:, None] * np.eye(2)), 0.0)
    return decoded, np.maximum(hidden_markov.exponential(change) - decoded, 0.0)


def _hidden_likelihood(matrices: tuple[Any, Any], erased: Any) -> float | None:
    return possible(float(hidden_markov.log_likelihoods(*matrices, hidden_markov.powers_of(trace_of(erased)))[0]))


@dataclass(frozen=True)
class MarkovChain:
    """A block is lost with a probability that the `order` blocks before it decide.

    `probabilities[c]` is the one after the blocks that c's bits say, oldest highest, 1 for erased; there are
    2^order. A trace begins as if all blocks before it had been decoded.
    """

    name: ClassVar[str] = "markov"
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
        share = np.linalg.lstsq(np.vstack([change, np.ones(size)]), np.append(np.zeros(size), 1.0))[0]
        return float(np.clip(share @ chances, 0, 1))

    def generate(self, count: int, seed: int) -> Any:
        """Block by block."""
        erased = np.zeros(block_count(count), dtype=np.bool_)
        walk(np.random.default_rng(seed).random(count), np.array(self.probabilities), erased)
        return erased

    def log_likelihood(self, erased: Any) -> float | None:
        """Transitions counted."""
        return possible(bernoulli(*successors(trace_of(erased), self.order), np.array(self.probabilities)))


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
