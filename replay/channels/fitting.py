"""Each channel model fitted to a trace by maximum likelihood, with standard errors.

Uniform, Gilbert and Markov chains have closed forms: counts and binomial errors. Gilbert-Elliott's and the
two-state model's likelihood (see `hidden`) is climbed from the best points of a grid, in logits and
logarithms, and its curvature at the top gives the errors. Of Konrad's model the phases are found first,
then their means and the chain are counted. A standard error is None where the trace says nothing about it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from multitracer.replay.channels import hidden_markov
from multitracer.replay.channels.markov_trace import (
    MarkovTraceAnalysis,
    change_blocks,
    inner_successors,
    phases_of,
)
from multitracer.replay.channels.maximum_likelihood import Maximum, maximise, standard_errors
from multitracer.replay.channels.models import (
    BITS_PER_BYTE,
    MS_PER_S,
    Channel,
    Even,
    Gilbert,
    GilbertElliott,
    MarkovChain,
    TwoState,
    Uniform,
    bernoulli,
    elliott_matrices,
    successors,
    two_state_matrices,
)
from multitracer.replay.erasures.runs import runs_of

LARGEST_ORDER = 6
"""Of the Markov chains that are tried."""
FEWEST_BURSTS = 5
"""With fewer, models of four and more parameters are not fitted."""
FEWEST_EVEN = 4
"""So many erased blocks, and as many decoded ones, make regular distances evidence."""
_LOGIT_BOUND = 18.0
_LOG_BOUNDS = np.array([[-18.0, -18, -20, -20], [3.0, 3, 5, 5]])
_CLIMBS = 2
_FIRST_RUNS = 4000
"""The first climbs see so many runs of a long trace; only the last one sees all."""


@dataclass(frozen=True)
class Estimate:
    """A parameter's most likely value, in its own unit, and the standard error of that."""

    value: float
    standard_error: float | None


@dataclass(frozen=True)
class Fit:
    """A model with its most likely parameters; `log_likelihood` is natural, of the whole trace."""

    model: Channel
    estimates: dict[str, Estimate]
    free_parameters: int
    log_likelihood: float


def fit_uniform(erased: Any) -> Fit:
    """The share of erased blocks."""
    lost = int(erased.sum())
    estimate = _share(lost, len(erased))
    found = bernoulli(lost, len(erased) - lost, estimate.value)
    return Fit(Uniform(estimate.value), {"probability": estimate}, 1, found)


def fit_even(erased: Any) -> Fit | None:
    """Recognised by errors that stand on a line, each within a block of its place, from end to end of the trace.

    The log likelihood is 0 for the very trace that the model makes; else (a part of one, or another rounding)
    the cost of saying where it begins and, unless all distances are equal, how each place is rounded.
    """
    lost, blocks = int(erased.sum()), len(erased)
    if min(lost, blocks - lost) < FEWEST_EVEN:
        return None
    places = np.flatnonzero(erased)
    offsets = places - np.linspace(places[0], places[-1], lost)
    distance = (places[-1] - places[0]) / (lost - 1)
    if np.ptp(offsets) >= 2 or max(places[0], blocks - 1 - places[-1]) > distance + 1:
        return None
    model = Even(lost / blocks)
    found = model.log_likelihood(erased)
    if found is None:
        found = -math.log(blocks) - (lost * math.log(2) if np.ptp(np.diff(places)) else 0)
    return Fit(model, {"error_rate": Estimate(model.error_rate, None)}, 1, found)


def fit_gilbert(erased: Any) -> Fit | None:
    """Shares of the transitions; None if a state never had a successor."""
    lost, decoded = (counts.tolist() for counts in successors(erased, 1, previous=None))
    if not (lost[0] + decoded[0] and lost[1] + decoded[1] and lost[0] + decoded[1]):
        return None
    estimates = {"p_bad": _share(lost[0], lost[0] + decoded[0]), "p_good": _share(decoded[1], lost[1] + decoded[1])}
    model = Gilbert(**{name: estimate.value for name, estimate in estimates.items()})
    found = model.log_likelihood(erased)
    return None if found is None else Fit(model, estimates, 2, found)


def fit_markov(erased: Any) -> Fit | None:
    """The chain of the order, up to 6, whose BIC is lowest; None if that is 0 or 1, uniform's and gilbert's process."""
    estimates, free, found = _best_chain(*successors(erased, LARGEST_ORDER), len(erased))
    if len(estimates) <= 2:
        return None
    return Fit(MarkovChain(tuple(estimate.value for estimate in estimates.values())), estimates, free, found)


def fit_mta(erased: Any) -> Fit | None:
    """Phases cut at C, means of their lengths, and the chain within of the order whose BIC is lowest.

    The errors hold for this C: where it cuts lossy phases that belong together, both means are too small.
    """
    if len(runs_of(erased).bursts) < FEWEST_BURSTS:
        return None
    change = change_blocks(erased)
    phases = phases_of(erased, change)
    excess, lossy = float(phases.excess_blocks.sum()) / max(phases.ended, 1), float(phases.lossy_blocks.mean())
    estimates, free, _ = _best_chain(*inner_successors(erased, phases.inside, LARGEST_ORDER), len(erased))
    model = MarkovTraceAnalysis(change, change + excess, lossy, tuple(each.value for each in estimates.values()))
    lengths = {
        "change_blocks": Estimate(change, None),
        "error_free_blocks": _mean(change + excess, excess, phases.ended),
        "lossy_blocks": _mean(lossy, lossy - 1, len(phases.lossy_blocks)),
    }
    found = model.log_likelihood(erased)
    return None if found is None or not phases.ended else Fit(model, lengths | estimates, free + 3, found)


def _share(part: int, whole: int) -> Estimate:
    share = part / whole
    return Estimate(share, math.sqrt(share * (1 - share) / whole) if 0 < part < whole else None)


def _mean(value: float, excess: float, count: int) -> Estimate:
    """Of geometric lengths whose mean is `excess` above the least there can be."""
    return Estimate(value, math.sqrt(excess * (1 + excess) / count) if excess and count else None)


def _best_chain(lost: Any, decoded: Any, blocks: int) -> tuple[dict[str, Estimate], int, float]:
    """Estimates by context, how many contexts were seen, and the log likelihood of the best order.

    A context that was never seen is given the mean probability, and is no parameter.
    """
    candidates = []
    for order in range(LARGEST_ORDER + 1):
        folded = [counts.reshape(-1, 2**order).sum(axis=0) for counts in (lost, decoded)]
        seen = folded[0] + folded[1] > 0
        chances = np.where(seen, folded[0] / np.maximum(folded[0] + folded[1], 1), _mean_chance(lost, decoded))
        found = bernoulli(folded[0], folded[1], chances)
        candidates.append((int(seen.sum()) * math.log(blocks) - 2 * found, order, folded, chances, found, seen))
    _, order, folded, chances, found, seen = min(candidates, key=lambda candidate: candidate[:2])
    estimates = {}
    for context, (part, rest) in enumerate(zip(*(counts.tolist() for counts in folded), strict=True)):
        name = f"loss_after_{context:0{order}b}" if order else "loss"
        estimates[name] = _share(part, part + rest) if part + rest else Estimate(float(chances[context]), None)
    return estimates, int(seen.sum()), found


def _mean_chance(lost: Any, decoded: Any) -> float:
    blocks = int(lost.sum() + decoded.sum())
    return int(lost.sum()) / blocks if blocks else 0.5


def fit_hidden(erased: Any, block_bytes: float, block_ms: float) -> list[Fit]:
    """Gilbert-Elliott and two-state: the one's best point is where the other's climb begins."""
    if len(runs_of(erased).bursts) < FEWEST_BURSTS:
        return []
    powers = hidden_markov.powers_of(erased)
    elliott = _climb_elliott(powers, erased)
    p_bad, p_good, h_good, h_bad = _logistic(elliott.point).tolist()
    pace = -math.log(max(1 - p_bad - p_good, 0.01)) / (p_bad + p_good)
    start = np.array([p_bad * pace, p_good * pace, -math.log1p(-h_good), -math.log1p(-h_bad)])
    return [_elliott(elliott), _two_state(_climb_two_state(powers, np.log(start)), block_bytes, block_ms)]


def _logistic(logits: Any) -> Any:
    return 1 / (1 + np.exp(-logits))


def _climb_elliott(powers: hidden_markov.Powers, erased: Any) -> Maximum:
    part = erased[: int(runs_of(erased).lengths[:_FIRST_RUNS].sum())]
    few, bound = hidden_markov.powers_of(part), np.full(4, _LOGIT_BOUND)
    starts = _grid(float(part.mean()))
    best = starts[np.argsort(-_elliott_likelihood(starts, few))[:_CLIMBS]]
    climbs = [maximise(lambda logits: _elliott_likelihood(logits, few), start, -bound, bound) for start in best]
    top = max(climbs, key=lambda climb: climb.value)
    if len(part) == len(erased):
        return top
    return maximise(lambda logits: _elliott_likelihood(logits, powers), top.point, -bound, bound)


def _elliott_likelihood(logits: Any, powers: hidden_markov.Powers) -> Any:
    return hidden_markov.log_likelihoods(*elliott_matrices(_logistic(logits)), powers)


def _grid(rate: float) -> Any:
    """Logits to begin at: bad states short and long, of little and of much more than the errors' share of time."""
    rows = []
    for p_good in (0.5, 0.2, 0.05, 0.02, 0.005):
        for bad in (1.05 * rate, 2 * rate, 5 * rate):
            for h_good in (0.02 * rate, 0.3 * rate):
                share = min(bad, 0.9)
                rows.append((p_good * share / (1 - share), p_good, h_good, (rate - (1 - share) * h_good) / share))
    grid = np.clip(rows, 1e-7, 1 - 1e-3)
    return np.log(grid / (1 - grid))


def _elliott(found: Maximum) -> Fit:
    values = _logistic(found.point)
    estimates = _scaled(values, values * (1 - values), found.hessian)
    if values[2] > values[3]:  # the good state is the one that loses less
        estimates = [estimates[place] for place in (1, 0, 3, 2)]
    named = dict(zip(("p_bad", "p_good", "h_good", "h_bad"), estimates, strict=True))
    return Fit(GilbertElliott(*(each.value for each in estimates)), named, 4, found.value)


def _climb_two_state(powers: hidden_markov.Powers, start: Any) -> Maximum:
    def likelihood(logarithms: Any) -> Any:
        return hidden_markov.log_likelihoods(*two_state_matrices(np.exp(logarithms)), powers)

    return maximise(likelihood, start, *_LOG_BOUNDS)


def _two_state(found: Maximum, block_bytes: float, block_ms: float) -> Fit:
    to_bad, to_good, good, bad = np.exp(found.point)
    bits, block_s = block_bytes * BITS_PER_BYTE, block_ms / MS_PER_S
    times, hazards = block_s / np.array([to_bad, to_good]), np.array([good, bad]) / bits
    values = np.concatenate([times, -np.expm1(-hazards)])
    estimates = _scaled(values, np.concatenate([times, np.exp(-hazards) * hazards]), found.hessian)
    if good > bad:
        estimates = [estimates[place] for place in (1, 0, 3, 2)]
    named = dict(zip(("good_s", "bad_s", "good_ber", "bad_ber"), estimates, strict=True))
    good_s, bad_s, good_ber, bad_ber = (each.value for each in estimates)
    return Fit(TwoState(good_s, bad_s, good_ber, bad_ber, block_bytes, block_ms), named, 4, found.value)


def _scaled(values: Any, slopes: Any, hessian: Any) -> list[Estimate]:
    """Estimates of functions of the climbed parameters, by their slopes (the delta method)."""
    errors = standard_errors(hessian)
    return [
        Estimate(float(value), None if error is None else float(slope) * error)
        for value, slope, error in zip(values, slopes, errors, strict=True)
    ]
