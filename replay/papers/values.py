"""Tests of one number: near the published one, inside a range, above another."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

from multitracer.replay.papers.estimates import Estimate
from multitracer.replay.papers.parts import Case, Part, Spec, above, mean_above, miss, named, places
from multitracer.replay.papers.quantities import quantity


def near(case: Case, spec: Spec) -> Iterator[Part]:
    """Within `factor` half-widths, or `slack` and one half-width, of `published` (else the statement's value).

    Where that reaches 0 it would hold without any effect, too: then what lies inside is no evidence, and open. With
    `weak` it would hold for almost any outcome: always open.
    """
    stated = spec.get("published", case.published)
    for place in places(spec):
        found = quantity(case, spec["of"], place)
        allowed = spec.get("slack", 0.0) + spec.get("factor", 1.0) * found.half
        off = abs(found.value - stated) > allowed
        known = math.isfinite(allowed) and not spec.get("weak") and (off or allowed < abs(stated))
        holds = not off if known else None
        text = f"{stated:g} +- {allowed:.3g}, {named(place)}"
        short = miss(allowed - abs(found.value - stated), stated)
        yield Part(text, holds, found.value, found.half, 0.0 if holds else short)


def stated_inside(case: Case, spec: Spec) -> Iterator[Part]:
    """The published value inside our interval, or within `slack` of our mean."""
    for place in places(spec):
        found, stated = quantity(case, spec["of"], place), float(case.published or 0)
        off = abs(found.value - stated)
        holds = None if not math.isfinite(found.half) else off <= max(found.half, spec["slack"])
        yield Part(f"{stated:g} inside our interval, {named(place)}", holds, found.value, found.half,
                   0.0 if holds else miss(found.half - off, stated))  # fmt: skip


def inside(case: Case, spec: Spec) -> Iterator[Part]:
    """From `low` to `high`, ends included; open while the half-width is above `most_half`."""
    for place in places(spec):
        found = quantity(case, spec["of"], place)
        wide = math.isnan(found.value) or found.half > spec.get("most_half", math.inf)
        holds = None if wide else spec["low"] <= found.value <= spec["high"]
        text = f"from {spec['low']:g} to {spec['high']:g}, {named({**place, **spec['of'].get('where', {})})}"
        yield Part(text, holds, found.value, found.half, 0.0 if holds else _outside(found.value, spec))


def _outside(value: float, spec: Spec) -> float:
    short = min(value - spec["low"], spec["high"] - value)
    return miss(short, spec["low"] if value < spec["low"] else spec["high"])


def means_inside(case: Case, spec: Spec) -> Iterator[Part]:
    """Every mean of a figure from `low` to `high`."""
    axes = {**spec.get("each", {}), spec["axis"]: spec["of"]}
    for values in product(*axes.values()):
        place = {**spec.get("where", {}), **dict(zip(axes, values, strict=True))}
        yield from inside(case, {**spec, "each": {}, "where": place, "of": {"kind": "mean", "times": spec["times"]}})


def below(case: Case, spec: Spec) -> Iterator[Part]:
    """The interval's upper end below `limit`."""
    yield from (
        above(f"below {spec['limit']:g}, {named(place)}", _short(found, spec["limit"]), spec["limit"])
        for place in places(spec)
        for found in [quantity(case, spec["of"], place)]
    )


def over(case: Case, spec: Spec) -> Iterator[Part]:
    """The interval's lower end above `limit`."""
    for place in places(spec):
        found = quantity(case, spec["of"], place)
        beyond = Estimate(found.value - spec["limit"], found.half)
        yield above(f"above {spec['limit']:g}, {named(place)}", beyond, spec["limit"])


def _short(found: Estimate, limit: float) -> Estimate:
    return Estimate(limit - found.value, found.half)


def more(case: Case, spec: Spec) -> Iterator[Part]:
    """One number above another that was estimated apart; with `means` in the mean alone."""
    judged = mean_above if spec.get("means") else above
    for place in places(spec):
        left, right = quantity(case, spec["of"], place), quantity(case, spec["than"], place)
        found = Estimate(left.value - right.value, math.hypot(left.half, right.half))
        text = f"{_said(spec['of'])} > {_said(spec['than'])}, {named(place)}"
        yield judged(text, found, right.value)


def _said(what: Spec) -> str:
    labels = named({**what.get("where", {}), **{side: named(what[side]) for side in "ab" if side in what}})
    return f"{what['kind']} {labels}".strip()
