"""Tests of what is above what: options of a figure, differences that grow, orders that stay."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from multitracer.replay.papers.estimates import Estimate, combination, mean, median
from multitracer.replay.papers.labels import Labels
from multitracer.replay.papers.parts import Case, Part, Spec, above, mean_above, miss, named, not_below, places, spelled
from multitracer.replay.papers.runs import MissingRunsError


def beats(case: Case, spec: Spec) -> Iterator[Part]:
    """`a` above `b`, paired, at the level: each of a's labels against each of b's; with `any` one place is enough."""
    found = list(_compared(case, spec, above, ">"))
    if spec.get("any"):
        yield best_of(found, "somewhere: ")
    else:
        yield from found


def stays(case: Case, spec: Spec) -> Iterator[Part]:
    """`a` not below `b` at the level."""
    return _compared(case, spec, not_below, ">=")


def rises(case: Case, spec: Spec) -> Iterator[Part]:
    """`a` above `b` at the level, or, where they are not separated, not below in the mean."""
    return _compared(case, spec, partial(mean_above, ties=True), ">=")


def _compared(case: Case, spec: Spec, judged: Any, sign: str) -> Iterator[Part]:
    for place in places(spec):
        for a in spelled(spec["a"]):
            for b in spelled(spec["b"]):
                left, right = {**place, **a}, {**place, **b}
                text = f"{named(a)} {sign} {named(b)}, {named(place)}"
                yield judged(text, case.paired(left, right), level_of(case, right))


def best_of(parts: list[Part], text: str) -> Part:
    """One that holds, else one that is open, else the nearest."""
    chosen = min(parts, key=lambda part: ({True: 0, None: 1, False: 2}[part.holds], part.miss_percent))
    return Part(text + chosen.test, chosen.holds, chosen.value, chosen.ci, chosen.miss_percent)


def level_of(case: Case, labels: Labels) -> float:
    """The mean that differences are measured against."""
    return mean(case.sample(labels), case.level).value


def chain(case: Case, spec: Spec) -> Iterator[Part]:
    """Each option of `of` beats the next."""
    for first, second in pairwise(spec["of"]):
        yield from beats(case, {**spec, "a": {spec["axis"]: first}, "b": {spec["axis"]: second}})


def falls(case: Case, spec: Spec) -> Iterator[Part]:
    """Means fall along `of` at each place, and no step is reversed at the level; a list in `of` is its greatest."""
    for place in places(spec):
        for first, second in pairwise(spec["of"]):
            left, right = (_greatest(case, place, spec["axis"], option) for option in (first, second))
            found, scale = case.paired(left, right), level_of(case, right)
            text = f"{spec['axis']} {left[spec['axis']]} > {right[spec['axis']]}, {named(place)}"
            yield mean_above(f"mean of {text}", found, scale)
            yield not_below(f"not reversed: {text}", found, scale)


def _greatest(case: Case, place: Labels, axis: str, options: Any) -> dict[str, Any]:
    known = options if isinstance(options, list) else [options]
    return max(({**place, axis: option} for option in known), key=lambda labels: level_of(case, labels))


def linear(case: Case, spec: Spec) -> Iterator[Part]:
    """A sum of runs times numbers above 0, paired; with `means` in the mean, with `stays` not below 0."""
    judged = mean_above if spec.get("means") else not_below if spec.get("stays") else above
    for place in places(spec):
        terms = [(term["times"], {**place, **term["of"]}) for term in spec["terms"]]
        found = combination(tuple((times, case.sample(labels)) for times, labels in terms), case.level)
        said = " ".join(
            f"{times:+g} ({named(term['of'])})" for (times, _), term in zip(terms, spec["terms"], strict=True)
        )
        sign = ">=" if spec.get("stays") else ">"
        yield judged(f"{said} {sign} 0, {named(place)}", found, level_of(case, terms[0][1]))


def overlap(case: Case, spec: Spec) -> Iterator[Part]:
    """The intervals of `a` and `b` overlap."""
    for place in places(spec):
        a, b = (mean(case.sample(place, spec[side]), case.level) for side in "ab")
        holds = a.low <= b.high and b.low <= a.high
        gap = a.value - b.value
        yield Part(
            f"intervals of {named(spec['a'])} and {named(spec['b'])} overlap, {named(place)}", holds, gap,
            a.half + b.half, 0.0 if holds else miss(-abs(gap), b.value),
        )  # fmt: skip


def equivalent(case: Case, spec: Spec) -> Iterator[Part]:
    """`a` and `b` within `percent` of each other, the interval too, and not separated at the level."""
    for place in places(spec):
        left, right = {**place, **spec["a"]}, {**place, **spec["b"]}
        found, scale = case.paired(left, right), level_of(case, right)
        allowed = abs(scale) * spec["percent"] / 100
        far, apart = abs(found.value) - found.half > allowed, found.low > 0 or found.high < 0
        near = abs(found.value) + found.half <= allowed
        holds = False if far or apart else True if near else None
        short = allowed - abs(found.value)
        text = f"{named(spec['a'])} = {named(spec['b'])} within {spec['percent']} %, {named(place)}"
        yield Part(text, holds, found.value, found.half, 0.0 if holds else miss(short, scale))


def same_order(case: Case, spec: Spec) -> Iterator[Part]:
    """Any two options stand in the same order in `first` and in `second`; pairs separated in only one are left out."""
    found = [part for place in places(spec) for part in _pairs_alike(case, spec, place)]
    yield from found or [Part("no pair is separated on both sides", None)]


def _pairs_alike(case: Case, spec: Spec, place: Labels) -> Iterator[Part]:
    for a, b in combinations(spec["of"], 2):
        steps = [_step(case, {**place, **spec[side]}, spec["axis"], a, b) for side in ("first", "second")]
        if all(apart(one) for one in steps):
            text = f"{a} and {b} alike in {named(spec['first'])} and {named(spec['second'])}, {named(place)}"
            yield Part(text, steps[0].value * steps[1].value > 0, steps[1].value, steps[1].half)


def apart(found: Estimate) -> bool:
    """Whether a difference is separated from 0."""
    return found.low > 0 or found.high < 0


def _step(case: Case, labels: Labels, axis: str, a: Any, b: Any) -> Estimate:
    return case.paired({**labels, axis: a}, {**labels, axis: b})


def small_step(case: Case, spec: Spec) -> Iterator[Part]:
    """`a` above `b` by less than from b up to the next of the options `of`, in the mean."""
    for place in places(spec):
        low = level_of(case, {**place, **spec["b"]})
        others = [level_of(case, {**place, **labels}) for labels in spelled(spec["of"])]
        higher = [value for value in others if value > low]
        step = level_of(case, {**place, **spec["a"]}) - low
        room = (min(higher) if higher else low) - low
        yield Part(f"{named(spec['a'])} above by less than the next option, {named(place)}", step < room, step, None,
                   0.0 if step < room else miss(room - step, low))  # fmt: skip


def repaired_later(case: Case, spec: Spec) -> Iterator[Part]:
    """At each placement the last frame that is repaired against the first one: the median of the differences."""
    for place in places(spec):
        later = [_last_less_first(case, {**place, "placement": at}) for at in case.runs.values_of("placement", place)]
        known = np.array([one for one in later if one is not None])
        if not len(known):
            raise MissingRunsError(f"no placement has the repairs of two frames, {named(place)}")
        yield _median_above(f"last repaired later than the first, {named(place)}", known, case.level)


def _last_less_first(case: Case, place: Labels) -> float | None:
    frames = sorted(case.runs.values_of("frame", place))
    times = {frame: case.runs.points_value({**place, "frame": frame}) for frame in frames}
    known = [time for time in times.values() if time is not None]
    return known[-1] - known[0] if len(known) > 1 else None


def _median_above(text: str, values: np.ndarray, level: float) -> Part:
    middle, low, high = median(values, level)
    holds = True if low > 0 else False if high <= 0 else None
    return Part(text, holds, middle, (high - low) / 2, 0.0 if holds else miss(middle, abs(middle)))
