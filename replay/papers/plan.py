"""The runs that a paper's statements need: each variant with its seeds, at a scale.

The runs table that decides the statements has one row for each (paper, experiment, variant, choice, seed, metric):
`value` is that run's metric by the name that `simulate` has for it; where it has none, NaN or no row. A metric of
several values has a row each, `connection_goodput_quartile_bps.1` to `.4`. `choice` is empty for the defaults, else the
alternative's ID.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from multitracer.model.errors import UsageError
from multitracer.replay.papers import SCALES
from multitracer.replay.papers.alternatives import Alternative, changed, named
from multitracer.replay.papers.folder import experiments, read
from multitracer.replay.papers.variants import Keys, Variant, variants
from multitracer.replay.simulate.scenario import Scenario, resolve

RUN_COLUMNS = ("paper", "experiment", "variant", "choice", "seed", "metric", "value")
METRICS_ADDED = (
    "tcp_timeouts_outside_resets", "local_drops", "fast_retransmits_after_local_drop",
    "cwnd_before_local_drop_segments", "cwnd_after_repair_segments", "optimal_frame_bytes", "even_optimal_frame_bytes",
)  # fmt: skip
"""What statements of paper 004 need beside the metrics of `simulate`: timeouts after the first ten round trip
samples and outside the gap of a link reset; packets refused by the host's own queue, and those of them that a fast
retransmit followed; cwnd before the first of them and after its repair; and of `retrace`: the best frame on a trace and
on its even twin."""


@dataclass(frozen=True)
class Run:
    """One point of a paper: a set of parameters, and the seeds to run it with."""

    paper: str
    experiment: str
    variant: str
    keys: Keys
    seeds: tuple[int, ...]
    tool: str = "simulate"
    """`simulate`, or `retrace` for erasure traces of the channel, as long as workload.seconds."""
    choice: str = ""
    """The alternative that it is run for; empty: the defaults."""

    @property
    def scenario(self) -> Scenario:
        """The run as `simulate` takes it; runs of equal `digest` and seed are one."""
        return resolve(f"{self.paper}/{self.experiment}: {self.variant}", self.keys)


def plan(paper: str, scale: str, choices: tuple[str, ...] = ()) -> list[Run]:
    """Every run of a paper at a scale: with the defaults, and again with each alternative where that changes a key."""
    if scale not in SCALES:
        raise UsageError(f"there is no scale '{scale}'\nIt must be one of {', '.join(SCALES)}.")
    runs = [run for experiment in experiments(paper) for run in _experiment(paper, experiment, scale)]
    return runs + [other for choice in named(paper, choices) for other in _alternative(runs, choice)]


def _experiment(paper: str, experiment: str, scale: str) -> Iterator[Run]:
    table = read(paper, "paper")
    rules = table["experiment"][experiment]
    scaled = table["scale"][scale].get("keys", {}) if rules.get("scaled", True) else {}
    thin = rules.get("thin", {})
    for variant in _thinned(variants(paper, experiment), thin, scale):
        seeds = _seeds(variant, rules, table["scale"][scale]["seeds"])
        every = thin.get(scale, 1) if "key" not in thin else 1
        seeds = max(1, round(seeds / every))
        keys = {**variant.keys, **{key: value for key, value in scaled.items() if _scales(key, variant.keys)}}
        yield Run(paper, experiment, variant.name, keys, tuple(range(1, seeds + 1)), rules.get("tool", "simulate"))


def _scales(key: str, keys: Keys) -> bool:
    """A file's size is scaled only where it is no statement's own: sizes that are drawn stay."""
    return key != "workload.file_bytes" or "workload.file_bytes_max" not in keys


def _seeds(variant: Variant, rules: dict[str, Any], of_the_scale: int) -> int:
    if "shares" in rules:
        return int(dict(map(tuple, rules["shares"]["of"]))[variant.keys[rules["shares"]["key"]]])
    return int(rules.get("seeds", of_the_scale))


def _thinned(points: tuple[Variant, ...], thin: dict[str, Any], scale: str) -> list[Variant]:
    """Every n-th placement at the quick scale."""
    if "key" not in thin or scale not in thin:
        return list(points)
    kept = set(list(dict.fromkeys(point.keys[thin["key"]] for point in points))[:: thin[scale]])
    return [point for point in points if point.keys[thin["key"]] in kept]


def _alternative(runs: list[Run], choice: Alternative) -> Iterator[Run]:
    for run in runs:
        keys = changed(choice, run.experiment, run.keys)
        if keys != run.keys:
            yield replace(run, keys=keys, choice=choice.id)
