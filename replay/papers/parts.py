"""The single tests that a check consists of, each with what it found; and what a check is given."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from multitracer.replay.papers.estimates import Estimate, combination
from multitracer.replay.papers.labels import Labels
from multitracer.replay.papers.runs import Runs, Sample

Spec = Mapping[str, Any]
"""One test as a statement has it: its verb under `test`, and what the verb reads."""


@dataclass(frozen=True)
class Part:
    """One test: whether it holds, None where the runs cannot tell."""

    test: str
    holds: bool | None
    value: float | None = None
    ci: float | None = None
    """Half-width of the value's interval."""
    miss_percent: float = 0.0
    """How far the means are from it, in percent of what is compared; 0 where it holds."""
    missing: bool = False
    """No run says anything of it."""
    unsure: bool = False
    """It does not hold of the means, but the level does not separate them."""


@dataclass(frozen=True)
class Case:
    """What a test is decided from."""

    runs: Runs
    level: float
    published: float | None = None
    decide: Callable[[str, Runs], str] | None = None
    """The verdict of another statement on other runs."""

    def sample(self, *labels: Labels) -> Sample:
        """The runs with all these labels; later ones win."""
        return self.runs.sample({name: value for some in labels for name, value in some.items()})

    def paired(self, a: Labels, b: Labels) -> Estimate:
        """The paired difference a - b."""
        return combination(((1, self.sample(a)), (-1, self.sample(b))), self.level)

    def at(self, level: float | None) -> Case:
        """The same at another level."""
        return replace(self, level=level) if level else self


def places(spec: Spec) -> Iterator[dict[str, Any]]:
    """Every combination of the labels that a test is made at (`each`), with those that are the same (`where`)."""
    each = spec.get("each", {})
    for values in product(*each.values()):
        yield {**spec.get("where", {}), **dict(zip(each, values, strict=True))}


def spelled(labels: Labels) -> Iterator[dict[str, Any]]:
    """Labels with lists in them, one by one."""
    lists = {name: value if isinstance(value, list) else [value] for name, value in labels.items()}
    for values in product(*lists.values()):
        yield dict(zip(lists, values, strict=True))


def above(text: str, found: Estimate, scale: float) -> Part:
    """That a number is above 0: at the level, or open while the interval has 0 in it; a sure 0 is not above."""
    holds = True if found.low > 0 else False if found.high <= 0 else None
    return Part(text, holds, found.value, found.half, 0.0 if holds else miss(found.value, scale))


def not_below(text: str, found: Estimate, scale: float) -> Part:
    """That a number is not below 0 at the level."""
    holds = not found.high < 0
    return Part(text, holds, found.value, found.half, 0.0 if holds else miss(found.value, scale))


def mean_above(text: str, found: Estimate, scale: float, *, ties: bool = False) -> Part:
    """That a mean is above 0 (with `ties` not below), however surely: the check asks for the mean alone."""
    holds = None if math.isnan(found.value) else found.value >= 0 if ties else found.value > 0
    short = 0.0 if holds else miss(found.value, scale)
    return Part(text, holds, found.value, found.half, short, unsure=not holds and found.high > 0)


def miss(short: float, scale: float) -> float:
    """By how much a difference falls short of 0, in percent."""
    return 100 * max(0.0, -short) / abs(scale) if scale and math.isfinite(short) else 0.0


def named(labels: Labels) -> str:
    """Labels in words."""
    return " ".join(f"{name} {_word(value)}" for name, value in labels.items())


def _word(value: Any) -> str:
    if isinstance(value, list):
        return "+".join(map(_word, value))
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)
