"""Tests of which option is best: of the means, and by what the level separates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from multitracer.replay.papers.labels import Labels
from multitracer.replay.papers.orderings import level_of
from multitracer.replay.papers.parts import Case, Part, Spec, above, mean_above, named, not_below, places


def best(case: Case, spec: Spec) -> Iterator[Part]:
    """`option` has the highest mean of `of` (unless `mean` is false), none beats it, and it beats those of `beats`."""
    axis, option = spec["axis"], spec["option"]
    for place in places(spec):
        others = [other for other in spec["of"] if other != option]
        if spec.get("mean", True):
            yield from (_than(case, place, axis, option, other, "mean of ") for other in others)
        if spec.get("unbeaten", True):
            yield from (_than(case, place, axis, option, other, "not beaten: ") for other in others)
        yield from (_than(case, place, axis, option, other, "") for other in spec.get("beats", ()))


def _than(case: Case, place: Labels, axis: str, option: Any, other: Any, test: str) -> Part:
    right = {**place, axis: other}
    found, scale = case.paired({**place, axis: option}, right), level_of(case, right)
    text = f"{test}{axis} {option} > {other}, {named(place)}"
    if not test:
        return above(text, found, scale)
    return mean_above(text, found, scale, ties=True) if test.startswith("mean") else not_below(text, found, scale)


def lowest(case: Case, spec: Spec) -> Iterator[Part]:
    """`option` has the lowest mean of `of`."""
    for place in places(spec):
        for other in spec["of"]:
            if other != spec["option"]:
                yield _than(case, place, spec["axis"], other, spec["option"], "mean of ")


def same_best(case: Case, spec: Spec) -> Iterator[Part]:
    """One option is best in `first` and in `second`; those that the best does not beat at the level tie with it."""
    for place in places(spec):
        ends = [{**place, **spec[side]} for side in ("first", "second")]
        tops = [top(case, labels, spec["axis"], spec["of"]) for labels in ends]
        tied = [
            {one for one in spec["of"] if one == best or not _separated(case, labels, spec["axis"], best, one)}
            for best, labels in zip(tops, ends, strict=True)
        ]
        text = f"{tops[0]} best in {named(spec['first'])}, {tops[1]} in {named(spec['second'])}, {named(place)}"
        yield Part(text, bool(tied[0] & tied[1]))


def top(case: Case, labels: Labels, axis: str, options: Any) -> Any:
    """The option of the highest mean."""
    return max(options, key=lambda option: level_of(case, {**labels, axis: option}))


def _separated(case: Case, labels: Labels, axis: str, a: Any, b: Any) -> bool:
    found = case.paired({**labels, axis: a}, {**labels, axis: b})
    return found.low > 0 or found.high < 0


def best_differs(case: Case, spec: Spec) -> Iterator[Part]:
    """The best option of `first` is not that of `second`."""
    for place in places(spec):
        tops = [top(case, {**place, **spec[side]}, spec["axis"], spec["of"]) for side in ("first", "second")]
        text = f"{tops[0]} best in {named(spec['first'])}, {tops[1]} in {named(spec['second'])}, {named(place)}"
        yield Part(text, tops[0] != tops[1])


def one_best(case: Case, spec: Spec) -> Iterator[Part]:
    """Of each of `sides` one option is unbeaten everywhere, and it is not the same one."""
    unbeaten = []
    for side in spec["sides"]:
        spots = [{**place, **side} for place in places(spec)]
        left = [
            one for one in spec["of"] if all(_unbeaten(case, spot, spec["axis"], one, spec["of"]) for spot in spots)
        ]
        unbeaten.append(left)
        yield Part(f"one option unbeaten everywhere, {named(side)}: {', '.join(map(str, left)) or 'none'}", bool(left))
    same = len(unbeaten[0]) == 1 and unbeaten[0] == unbeaten[1]
    yield Part("another one on either side", not same)


def _unbeaten(case: Case, labels: Labels, axis: str, option: Any, options: Any) -> bool:
    others = (other for other in options if other != option)
    return not any(case.paired({**labels, axis: option}, {**labels, axis: other}).high < 0 for other in others)
