"""What many seeds say of a metric: mean, spread and confidence intervals; and how two variants differ."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from multitracer.replay.simulate.metrics import METRICS, sample
from multitracer.replay.simulate.quantiles import chi_squared, student_t

LEVELS = {"ci95": 0.95, "ci99": 0.99}
Run = Mapping[str, Any]
"""What one seed gives: the value of each metric."""
QUARTILES = "connection_goodput_quartile_bps"
"""The metric whose four values are not samples of one."""


def describe(runs: Sequence[Run]) -> dict[str, Any]:
    """Every metric of the runs of one variant: JSON's `metrics`; null where no run has it."""
    return {name: _all(name, [run.get(name) for run in runs]) for name in _names(runs)}


def _names(runs: Sequence[Run]) -> list[str]:
    more = dict.fromkeys(name for run in runs for name in run if name not in METRICS)
    return [*METRICS, *more]


def _all(name: str, values: Sequence[Any]) -> Any:
    if name == QUARTILES:
        known = [value for value in values if value is not None]
        return [_metric([one[place] for one in known]) for place in range(4)] if known else None
    return _metric(values)


def _metric(values: Sequence[Any]) -> dict[str, Any] | None:
    samples = [one for one in map(sample, values) if one is not None]
    return summary(samples) if samples else None


def summary(samples: Sequence[float]) -> dict[str, Any]:
    """Mean and standard deviation of one sample a seed, the half-widths of their intervals, and the extremes.

    `ci*` are half-widths of Student's t, `std_ci*` intervals by chi-squared; with one sample there are none.
    """
    mean, std = mean_of(samples), std_of(samples)
    return {
        "mean": mean,
        **{name: half_width(std, len(samples), level) for name, level in LEVELS.items()},
        "std": std,
        **{f"std_{name}": _std_interval(std, len(samples), level) for name, level in LEVELS.items()},
        "min": min(samples),
        "max": max(samples),
        "samples": len(samples),
    }


def mean_and_interval(samples: Sequence[float]) -> dict[str, Any] | None:
    """Mean, standard deviation, and the half-width of Student's 95 % interval of the mean; None without samples."""
    if not samples:
        return None
    std = std_of(samples)
    ci95 = half_width(std, len(samples), LEVELS["ci95"])
    return {"mean": mean_of(samples), "std": std, "ci95": ci95, "samples": len(samples)}


def mean_of(samples: Sequence[float]) -> float:
    """Their mean, with one rounding: the same in whatever order they come."""
    return math.fsum(samples) / len(samples)


def std_of(samples: Sequence[float]) -> float | None:
    """The standard deviation of the population that they are drawn from; None for a single one."""
    if len(samples) < 2:
        return None
    mean = mean_of(samples)
    return math.sqrt(math.fsum((one - mean) ** 2 for one in samples) / (len(samples) - 1))


def half_width(std: float | None, count: int, level: float) -> float | None:
    """Half the width of Student's interval of the mean."""
    return None if std is None else student_t((1 + level) / 2, count - 1) * std / math.sqrt(count)


def _std_interval(std: float | None, count: int, level: float) -> list[float] | None:
    if std is None:
        return None
    tails = ((1 + level) / 2, (1 - level) / 2)
    return [std * math.sqrt((count - 1) / chi_squared(tail, count - 1)) for tail in tails]


def pairs(variants: Sequence[tuple[str, Sequence[Run]]]) -> Iterator[dict[str, Any]]:
    """How each two variants differ on the same seeds: a minus b, for every metric that both have.

    `variants` are names and runs, all of the same seeds in the same order.
    """
    for (a, runs_a), (b, runs_b) in combinations(variants, 2):
        for name in _names(runs_a):
            both = [(sample(x.get(name)), sample(y.get(name))) for x, y in zip(runs_a, runs_b, strict=True)]
            differences = [x - y for x, y in both if x is not None and y is not None]
            if differences and name != QUARTILES:
                yield {"metric": name, "a": a, "b": b, **difference(differences)}


def difference(differences: Sequence[float]) -> dict[str, Any]:
    """The mean of paired differences and its half-widths."""
    std = std_of(differences)
    widths = {name: half_width(std, len(differences), level) for name, level in LEVELS.items()}
    return {"mean": mean_of(differences), **widths}
