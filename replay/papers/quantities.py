"""The numbers that statements name: means, gains, gaps, deficits, and what is made of several."""

from __future__ import annotations

import math
from typing import Any

from multitracer.replay.papers import estimates
from multitracer.replay.papers.estimates import Estimate
from multitracer.replay.papers.labels import Labels
from multitracer.replay.papers.optima import top
from multitracer.replay.papers.orderings import level_of
from multitracer.replay.papers.parts import Case, Spec, spelled


def quantity(case: Case, what: Spec, place: Labels) -> Estimate:
    """The number that a table describes, at a place; its interval at the case's level."""
    return _KINDS[what["kind"]](case, what, {**place, **what.get("where", {})})


def _mean(case: Case, what: Spec, place: Labels) -> Estimate:
    found = estimates.mean(case.sample(place), case.level)
    return Estimate(found.value * what.get("times", 1), found.half * what.get("times", 1))


def _deviation(case: Case, what: Spec, place: Labels) -> Estimate:  # noqa: ARG001
    return estimates.deviation(case.sample(place), case.level)


def _gain(case: Case, what: Spec, place: Labels) -> Estimate:
    return estimates.gain(case.sample(place, what["a"]), case.sample(place, what["b"]), case.level)


def _deficit(case: Case, what: Spec, place: Labels) -> Estimate:
    """By how many percent of a b is below it."""
    found = estimates.gain(case.sample(place, what["b"]), case.sample(place, what["a"]), case.level)
    return Estimate(-found.value, found.half)


def _gap(case: Case, what: Spec, place: Labels) -> Estimate:
    """(best - worst) / worst in percent, of the options `of`."""
    axis = what["axis"]
    best = top(case, place, axis, what["of"])
    worst = min(what["of"], key=lambda option: level_of(case, {**place, axis: option}))
    return estimates.gain(case.sample(place, {axis: best}), case.sample(place, {axis: worst}), case.level)


def _ratio(case: Case, what: Spec, place: Labels) -> Estimate:
    found = _gain(case, what, place)
    return Estimate(1 + found.value / 100, found.half / 100)


def _quotient(case: Case, what: Spec, place: Labels) -> Estimate:
    return estimates.quotient(quantity(case, what["top"], place), quantity(case, what["bottom"], place))


def _percent_change(case: Case, what: Spec, place: Labels) -> Estimate:
    """A quotient as a change in percent; `times` = -1: as a reduction."""
    found = quantity(case, what["of"], place)
    return Estimate(100 * what["times"] * (found.value - 1), 100 * found.half)


def _difference(case: Case, what: Spec, place: Labels) -> Estimate:
    return estimates.difference(quantity(case, what["top"], place), quantity(case, what["bottom"], place))


def _largest(case: Case, what: Spec, place: Labels) -> Estimate:
    """The largest over the labels of `over`."""
    return max((quantity(case, what["of"], {**place, **labels}) for labels in spelled(what["over"])), key=_value)


def _average(case: Case, what: Spec, place: Labels) -> Estimate:
    """The mean over the labels of `over` of a number estimated at each."""
    found = [quantity(case, what["of"], {**place, **labels}) for labels in spelled(what["over"])]
    half = sum(one.half**2 for one in found) ** 0.5
    return Estimate(sum(one.value for one in found) / len(found), half / len(found))


def _value(found: Estimate) -> float:
    return found.value


def _spread(case: Case, what: Spec, place: Labels) -> Estimate:
    """Best less worst of the options."""
    options = list(spelled(what["options"]))
    high, low = (choose(options, key=lambda one: level_of(case, {**place, **one})) for choose in (max, min))
    return case.paired({**place, **high}, {**place, **low})


def _best_mean(case: Case, what: Spec, place: Labels) -> Estimate:
    found = (estimates.mean(case.sample(place, one), case.level) for one in spelled(what["options"]))
    return max(found, key=_value)


def _duration(case: Case, what: Spec, place: Labels) -> Estimate:
    """How many minutes so many bits take at the mean of a rate."""
    rate = estimates.mean(case.sample(place), case.level)
    minutes = what["bits"] / rate.value / 60 if rate.value else math.nan
    return Estimate(minutes, minutes * rate.half / abs(rate.value) if rate.value else math.inf)


def _half_width(case: Case, what: Spec, place: Labels) -> Estimate:
    return Estimate(_mean(case, what, place).half, 0.0)


_KINDS: dict[str, Any] = {
    "mean": _mean, "deviation": _deviation, "gain": _gain, "deficit": _deficit, "gap": _gap, "ratio": _ratio,
    "quotient": _quotient, "difference": _difference, "largest": _largest, "average": _average, "spread": _spread,
    "best-mean": _best_mean, "half-width": _half_width, "percent-change": _percent_change,
    "duration": _duration,
}  # fmt: skip
