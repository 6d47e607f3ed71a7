"""Traces of every channel model with realistic parameters, and the quality of the fits to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.replay.channels.even import Even
from multitracer.replay.channels.gilbert import Gilbert
from multitracer.replay.channels.gilbert_elliott import GilbertElliott
from multitracer.replay.channels.markov_chain import MarkovChain
from multitracer.replay.channels.markov_trace import MarkovTraceAnalysis
from multitracer.replay.channels.model import Channel
from multitracer.replay.channels.recommendation import Comparison
from multitracer.replay.channels.two_state import TwoState
from multitracer.replay.channels.uniform import Uniform

MODELS = ("uniform", "even", "gilbert", "gilbert_elliott", "two_state", "markov", "mta")
BLOCKS = (20_000, 60_000, 200_000)
SAME_PROCESS = {"two_state": ("two_state", "gilbert_elliott"), "gilbert_elliott": ("two_state", "gilbert_elliott")}
"""Both models have two hidden states with a loss probability each: in blocks they are the same process."""
CHOSEN = ("change_blocks",)
"""Parameters that are set by a rule and not estimated."""


def draw(name: str, seed: int) -> tuple[Channel, int]:
    """A channel with random parameters, and a trace length in blocks; the ranges are those of papers 003 and 004."""
    generator = np.random.default_rng([MODELS.index(name), seed])

    def between(low: float, high: float) -> float:
        return float(np.exp(generator.uniform(np.log(low), np.log(high))))

    blocks = int(generator.choice(BLOCKS))
    if name == "uniform":
        return Uniform(between(0.002, 0.1)), blocks
    if name == "even":
        return Even(round(between(0.005, 0.1) * blocks) / blocks), blocks
    if name == "gilbert":
        rate, p_good = between(0.01, 0.1), between(0.04, 0.4)
        return Gilbert(p_good * rate / (1 - rate), p_good), blocks
    if name == "gilbert_elliott":
        return GilbertElliott(between(0.002, 0.02), between(0.03, 0.2), between(5e-4, 0.01), between(0.3, 0.8)), blocks
    if name == "two_state":
        return TwoState(10, float(generator.choice([0.1, 0.2, 0.5, 1.0])), 1e-6, 1e-2), blocks
    if name == "markov":
        shape = [(0.01, 0.3, 0.15, 0.6), (0.01, 0.25, 0.15, 0.5, 0.08, 0.3, 0.4, 0.75)][seed % 2]
        return MarkovChain(tuple(chance * between(0.8, 1.25) for chance in shape)), blocks
    chances = between(0.4, 0.6), between(0.75, 0.9)
    burst = 1 / (1 - chances[1])
    change = int(np.ceil(burst + np.sqrt(burst * (burst - 1))))
    return MarkovTraceAnalysis(change, between(200, 800), between(40, 120), chances), blocks


def truths(model: Channel) -> dict[str, float]:
    """Its parameters by the names of `Fit.estimates`."""
    found: dict[str, Any] = dict(vars(model))
    chances = found.pop("probabilities", None)
    if chances:
        order = len(chances).bit_length() - 1
        found.update({f"loss_after_{context:0{order}b}": chance for context, chance in enumerate(chances)})
    return found


def deviations(model: Channel, comparison: Comparison) -> list[float]:
    """How many standard errors each estimate of the generating model is from the truth; inf if the order differs."""
    estimates = next((each.fit.estimates for each in comparison.assessments if each.name == model.name), {})
    found = []
    for name, truth in truths(model).items():
        if name in CHOSEN or name.startswith("block_") or model.name == "even":
            continue
        estimate = estimates.get(name)
        if estimate is None:
            found.append(float("inf"))
        elif estimate.standard_error is not None:
            found.append(abs(estimate.value - truth) / estimate.standard_error)
    return found


def recognised(model: Channel, comparison: Comparison) -> bool:
    """Whether the generating model, or one that is the same process, is recommended."""
    return comparison.recommended in SAME_PROCESS.get(model.name, (model.name,))
