"""The two-state channel: good and bad for exponential times, with a bit error rate in each state."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from multitracer.replay.channels import hidden_markov
from multitracer.replay.channels.gilbert_elliott import GilbertElliott, logistic
from multitracer.replay.channels.maximum_likelihood import Maximum, estimates_at, maximise
from multitracer.replay.channels.model import (
    BITS_PER_BYTE,
    MS_PER_S,
    TOO_FEW_BURSTS,
    Fit,
    Sample,
    block_count,
    finite_or_none,
    probability,
)
from multitracer.replay.erasures.run_lengths import trace_of
from multitracer.replay.erasures.trace import positive

_LOG_BOUNDS = np.array([[-18.0, -18, -20, -20], [3.0, 3, 5, 5]])
"""Of the logarithms of both rates and both hazards: lowest and highest."""


@dataclass(frozen=True)
class TwoState:
    """A channel in continuous time that is good and bad for exponential times, with a bit error rate in each.

    `good_s` and `bad_s` are mean times in seconds, `good_ber` and `bad_ber` probabilities for each bit. A
    block of `block_bytes`, sent within `block_ms`, is lost unless all its bits are right; it may see both states.
    """

    name: ClassVar[str] = "two_state"
    deterministic: ClassVar[bool] = False
    why_unfitted: ClassVar[str] = TOO_FEW_BURSTS
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
        """The long-run loss of its blocks."""
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
        """Exact: the state at the borders of blocks is a hidden Markov chain (see `block_matrices`)."""
        return finite_or_none(hidden_markov.log_likelihood(self._matrices(), trace_of(erased)))

    def _hazards(self) -> list[float]:
        """Minus the logarithm of a block's chance in each state; a bit error rate of 1 is taken as 1 - 1e-12."""
        bits = self.block_bytes * BITS_PER_BYTE
        return [-bits * math.log1p(-min(ber, 1 - 1e-12)) for ber in (self.good_ber, self.bad_ber)]

    def _matrices(self) -> tuple[Any, Any]:
        block_s = self.block_ms / MS_PER_S
        return block_matrices(np.array([[block_s / self.good_s, block_s / self.bad_s, *self._hazards()]]))

    @classmethod
    def fit(cls, sample: Sample, fitted: Mapping[str, Fit]) -> Fit | None:
        """The maximum of the likelihood over logarithms, searched from where Gilbert-Elliott's is."""
        nearest = fitted.get(GilbertElliott.name)
        if nearest is None:
            return None

        def likelihood(logarithms: Any) -> Any:
            return hidden_markov.log_likelihoods(*block_matrices(np.exp(logarithms)), sample.powers)

        found = maximise(likelihood, _start(nearest), *_LOG_BOUNDS)
        return _fit_at(found, sample.block_bytes, sample.block_ms)


def block_matrices(parameters: Any) -> tuple[Any, Any]:
    """`decoded` and `lost` (see hidden_markov) for rows of rates per block: good to bad, bad to good, hazard good, bad.

    With Q the generator of the states and R the diagonal of the hazards (expected errors per block), a
    block is decoded with the matrix exp(Q - R), whatever the moments of change within it: Feynman and Kac.
    """
    to_bad, to_good = parameters[:, 0], parameters[:, 1]
    change = np.stack([-to_bad, to_bad, to_good, -to_good], axis=-1).reshape(-1, 2, 2)
    decoded = np.maximum(hidden_markov.exponential(change - parameters[:, 2:, None] * np.eye(2)), 0.0)
    return decoded, np.maximum(hidden_markov.exponential(change) - decoded, 0.0)


def _switches(count: int, means: tuple[float, float], generator: Any) -> Any:
    """When the state changes, in blocks from the start: the first at 0, the last beyond `count`."""
    parts, done = [np.zeros(1)], 0.0
    while done <= count:
        cycles = int((count - done) / sum(means) * 1.1) + 10
        parts.append(generator.exponential(means, (cycles, 2)).ravel())
        done += float(parts[-1].sum())
    return np.cumsum(np.concatenate(parts))


def _start(nearest: Fit) -> Any:
    """Logarithms of the rates and hazards whose blocks behave as Gilbert-Elliott's do."""
    p_bad, p_good, h_good, h_bad = logistic(np.array(nearest.maximum_at)).tolist()
    pace = -math.log(max(1 - p_bad - p_good, 0.01)) / (p_bad + p_good)
    return np.log(np.array([p_bad * pace, p_good * pace, -math.log1p(-h_good), -math.log1p(-h_bad)]))


def _fit_at(found: Maximum, block_bytes: float, block_ms: float) -> Fit:
    to_bad, to_good, good, bad = np.exp(found.point)
    bits, block_s = block_bytes * BITS_PER_BYTE, block_ms / MS_PER_S
    times, hazards = block_s / np.array([to_bad, to_good]), np.array([good, bad]) / bits
    values = np.concatenate([times, -np.expm1(-hazards)])
    estimates = estimates_at(values, np.concatenate([times, np.exp(-hazards) * hazards]), found.hessian)
    if good > bad:  # the good state is the one that loses less
        estimates = [estimates[place] for place in (1, 0, 3, 2)]
    named = dict(zip(("good_s", "bad_s", "good_ber", "bad_ber"), estimates, strict=True))
    good_s, bad_s, good_ber, bad_ber = (each.value for each in estimates)
    model = TwoState(good_s, bad_s, good_ber, bad_ber, block_bytes, block_ms)
    return Fit(model, named, 4, found.value, tuple(found.point.tolist()))
