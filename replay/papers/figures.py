"""The papers' figures from our runs: a metric along an error rate or a parameter, a curve an option."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from multitracer.replay.papers.estimates import mean
from multitracer.replay.papers.folder import read
from multitracer.replay.papers.labels import Labels, labelled
from multitracer.replay.papers.parts import named
from multitracer.replay.papers.runs import Runs, Sample
from multitracer.replay.papers.verdicts import level

Point = tuple[float, float, float]
"""Where it stands, its mean, and half the width of its interval."""


@dataclass(frozen=True)
class Figure:
    """One figure; `curves` are points in rising order by the option's name."""

    paper: str
    title: str
    axis: str
    metric: str
    curves: Mapping[str, tuple[Point, ...]]


def figures(paper: str, runs: Runs) -> list[Figure]:
    """Every figure of a paper that our runs can fill, in the order of `[[figure]]` in its paper.toml."""
    table = read(paper, "paper")
    return [one for rule in table.get("figure", ()) for metric in rule["metrics"] for one in _of(runs, rule, metric)]


def _of(runs: Runs, rule: Mapping[str, Any], metric: str) -> Iterator[Figure]:
    """The figures of one rule: one for each combination of the labels of `each`."""
    curves: dict[tuple[Any, ...], dict[str, dict[float, Sample]]] = {}
    for labels, variant in labelled(runs.paper):
        sample = runs.points.get((variant.experiment, variant.name), {}).get(metric)
        if sample is not None and len(sample.values) and _belongs(runs.paper, rule, labels):
            place = tuple(labels[name] for name in rule["each"])
            name = _words(runs.paper, {axis: labels[axis] for axis in rule["lines"]}, rule.get("bare", False))
            curves.setdefault(place, {}).setdefault(name, {}).setdefault(float(labels[rule["x"]]), sample)
    for place, found in curves.items():
        title = _words(runs.paper, dict(zip(rule["each"], place, strict=True)))
        made = {name: _points(runs.paper, points) for name, points in found.items()}
        yield Figure(runs.paper, title, rule["axis"], metric, made)


def _belongs(paper: str, rule: Mapping[str, Any], labels: Labels) -> bool:
    """Whether a point has the figure's labels, and where the figure says nothing the paper's defaults."""
    asked = {**read(paper, "paper").get("defaults", {}), **rule.get("where", {})}
    axes = (rule["x"], *rule["lines"], *rule["each"])
    if not all(axis in labels for axis in axes):
        return False
    family = rule.get("of", [labels[rule["lines"][0]]])
    allowed = {name: one if isinstance(one, list) else [one] for name, one in asked.items()}
    return labels[rule["lines"][0]] in family and all(labels.get(name, one[0]) in one for name, one in allowed.items())


def _points(paper: str, found: Mapping[float, Sample]) -> tuple[Point, ...]:
    at_level = level(paper, "ordering")
    return tuple((x, *mean(found[x], at_level)) for x in sorted(found))


def _words(paper: str, labels: Labels, bare: bool = False) -> str:
    """Labels as the paper's [words] call them; others with their name, or `bare`."""
    words = read(paper, "paper").get("words", {})
    said = {named({name: value}): str(value) for name, value in labels.items()}
    return ", ".join(words.get(text, value if bare else text) for text, value in said.items())
