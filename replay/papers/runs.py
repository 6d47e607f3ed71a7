"""The results of runs, found by the labels of checks; a table of plan.RUN_COLUMNS behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

import numpy as np
import pandas as pd

from multitracer.replay.papers.labels import Labels, labelled

METRIC = "metric"
DROPS, MOST_DROPS_PERCENT = "link_queue_drop_percent", 0.1
"""A statement is decided on runs in which the device's queue dropped more of the link's own frames: that is said."""
KEPT = 1 << 16
"""Estimates that are kept: permuted options ask for the same ones again and again."""
Renamed = Callable[[Labels], Labels]


class MissingRunsError(LookupError):
    """No run, or none with that metric, has these labels."""


@dataclass(frozen=True, eq=False)
class Sample:
    """A metric of the runs of one point, a value a seed; known by itself, so that what is made of it is kept."""

    seeds: np.ndarray
    values: np.ndarray


@cache
def _index(paper: str, names: tuple[str, ...]) -> dict[tuple[Any, ...], list[tuple[str, str]]]:
    """Experiments and variants by their values of these labels."""
    found: dict[tuple[Any, ...], list[tuple[str, str]]] = {}
    for labels, variant in labelled(paper):
        if all(name in labels for name in names):
            key = tuple(labels[name] for name in names)
            found.setdefault(key, []).append((variant.experiment, variant.name))
    return found


@cache
def _values(paper: str, names: tuple[str, ...], name: str) -> dict[tuple[Any, ...], list[tuple[Any, tuple[str, str]]]]:
    """The values of one label, each with its place, by the values of others."""
    found: dict[tuple[Any, ...], list[tuple[Any, tuple[str, str]]]] = {}
    for labels, variant in labelled(paper):
        if name in labels and all(one in labels for one in names):
            key = tuple(labels[one] for one in names)
            found.setdefault(key, []).append((labels[name], (variant.experiment, variant.name)))
    return found


@dataclass
class Runs:
    """The runs of one paper, with its defaults or one alternative beside them."""

    paper: str
    points: Mapping[tuple[str, str], Mapping[str, Sample]]
    """By experiment and variant, then by metric."""
    refused: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Of points that cannot be simulated, why."""
    metrics: Mapping[str, str] = field(default_factory=dict)
    """Which metric is read in place of another."""
    renamed: Renamed | None = None
    """What labels are turned into before they are looked for: a permutation of options."""
    overrides: Labels = field(default_factory=dict)
    """Labels that stand in for those of the same name."""
    used: set[Sample] = field(default_factory=set)
    """The samples that were asked for."""
    _found: dict[Any, Sample] = field(default_factory=dict)

    def sample(self, labels: Labels) -> Sample:
        """The values of labels["metric"] at the one point that has the other labels.

        A label that is a list stands for the mean over its values, seed by seed. Raises MissingRunsError.
        """
        listed = next((name for name, value in labels.items() if isinstance(value, list)), None)
        if listed is not None:
            return _mean(tuple(self.sample({**labels, listed: value}) for value in labels[listed]))
        wanted = {**labels, **{name: value for name, value in self.overrides.items() if name in labels}}
        wanted = dict(self.renamed(wanted)) if self.renamed else wanted
        key = tuple(sorted(wanted.items()))
        if key not in self._found:
            self._found[key] = self._search(wanted)
        self.used.add(self._found[key])
        return self._found[key]

    @property
    def dropped_percent(self) -> float:
        """The most that the device's queue dropped of the link's own frames at a point that was asked for, in the mean;
        0 where that is no more than is to be said."""
        used = (one for one in self.points.values() if DROPS in one and not self.used.isdisjoint(one.values()))
        means = (float(np.mean(one[DROPS].values)) for one in used)
        return max((mean for mean in means if mean > MOST_DROPS_PERCENT), default=0.0)

    def _search(self, wanted: dict[str, Any]) -> Sample:
        metric = wanted.pop(METRIC)
        metric = self.metrics.get(metric, metric)
        names = tuple(sorted(wanted))
        places = _index(self.paper, names).get(tuple(wanted[name] for name in names), ())
        for place in places:
            sample = self.points.get(place, {}).get(metric)
            if sample is not None and len(sample.values):
                return sample
        said = ", ".join(f"{name} {value}" for name, value in wanted.items())
        raise MissingRunsError(f"no runs of {said} have {metric}{self._why(places)}")

    def _why(self, places: Iterable[tuple[str, str]]) -> str:
        """Why none of these points was run, where that is known."""
        reasons = dict.fromkeys(self.refused[place] for place in places if place in self.refused)
        return f": {'; '.join(reasons)}" if reasons else ""

    def points_value(self, labels: Labels) -> float | None:
        """The value of the one run at a point; None where it has none."""
        try:
            return float(self.sample(labels).values[0])
        except MissingRunsError:
            return None

    def values_of(self, name: str, labels: Labels) -> list[Any]:
        """The values that a label takes among the points that were run and have these other labels.

        Raises MissingRunsError if there are only points that cannot be simulated.
        """
        wanted = {key: value for key, value in labels.items() if key != METRIC and not isinstance(value, list)}
        names = tuple(sorted(wanted))
        found = _values(self.paper, names, name).get(tuple(wanted[one] for one in names), ())
        known = dict.fromkeys(value for value, place in found if place in self.points)
        if not known and (why := self._why(place for _, place in found)):
            raise MissingRunsError(f"no runs of any {name}{why}")
        return list(known)


def runs_of(
    paper: str, table: pd.DataFrame, choice: str = "", refused: Mapping[tuple[str, str, str], str] | None = None
) -> Runs:
    """The runs of a paper out of a table; those of an alternative where it changes any, else the defaults.

    `refused` says of points that cannot be simulated why, by experiment, variant and choice.
    """
    own = table[(table["paper"] == paper) & table["choice"].isin({"", choice})]
    points: dict[tuple[str, str], dict[str, Sample]] = {}
    reasons: dict[tuple[str, str], str] = {}
    for taken in ("", choice) if choice else ("",):
        rows = own[own["choice"] == taken].sort_values("seed", kind="stable")
        rows = rows[rows["value"].notna()]
        seeds, values = rows["seed"].to_numpy(np.int64), rows["value"].to_numpy(np.float64)
        places = rows.groupby(["experiment", "variant", "metric"], sort=False).indices
        for (experiment, variant, metric), at in places.items():
            points.setdefault((experiment, variant), {})[metric] = Sample(seeds[at], values[at])
            reasons.pop((experiment, variant), None)
        for (experiment, variant, asked), why in (refused or {}).items():
            if asked == taken:
                points.pop((experiment, variant), None)
                reasons[experiment, variant] = why
    return Runs(paper, points, reasons)


def together(samples: Sequence[Sample]) -> list[np.ndarray]:
    """The values of the seeds that all samples have, in one order: paired."""
    first = samples[0].seeds
    if all(np.array_equal(first, other.seeds) for other in samples[1:]):
        return [sample.values for sample in samples]
    common = first
    for other in samples[1:]:
        common = np.intersect1d(common, other.seeds)
    return [sample.values[np.isin(sample.seeds, common)] for sample in samples]


@lru_cache(KEPT)
def _mean(samples: tuple[Sample, ...]) -> Sample:
    values = together(samples)
    seeds = samples[0].seeds if len(values[0]) == len(samples[0].seeds) else np.arange(len(values[0]))
    return Sample(seeds, np.mean(values, axis=0))
