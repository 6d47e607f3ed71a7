"""From planned runs to the table of their results: each distinct run once, though several points share it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from multitracer.replay.papers.plan import RUN_COLUMNS, Run
from multitracer.replay.papers.retraced import retraced
from multitracer.replay.simulate.loops import loop_of
from multitracer.replay.simulate.metrics import BESIDE, sample
from multitracer.replay.simulate.run import refusal, run
from multitracer.replay.simulate.statistics import QUARTILES
from multitracer.replay.simulate.sweep import Task, tasks_of

SIMULATE = "simulate"
TOOLS = {SIMULATE: run, "retrace": retraced}
"""What runs a seed of a scenario, by the tool of a planned run."""


@dataclass(frozen=True)
class Point:
    """A planned run, and its seeds as tasks."""

    run: Run
    tasks: tuple[Task, ...]
    refused: str = ""
    """Why it cannot be simulated; empty: it can."""


def points(runs: Iterable[Run], commit: str) -> list[Point]:
    """Every planned run with its tasks; those that cannot be simulated say why. Another commit makes other results."""
    return [_point(one, commit) for one in runs]


def _point(planned: Run, commit: str) -> Point:
    scenario = planned.scenario
    why = refusal(scenario) if planned.tool == SIMULATE else ""
    return Point(planned, () if why else tuple(tasks_of(scenario, planned.seeds, commit, planned.tool)), why)


def tasks(made: Sequence[Point], tool: str) -> list[Task]:
    """What is to be done with one tool, each once; those that share a compiled loop stand together."""
    wanted: dict[str, Task] = {}
    for task in (task for point in made if point.run.tool == tool for task in point.tasks):
        wanted.setdefault(task.key, task)
    return sorted(wanted.values(), key=lambda task: loop_of(task.scenario))


def refusals(made: Iterable[Point]) -> dict[tuple[str, str, str], str]:
    """Why points cannot be simulated, by experiment, variant and choice."""
    return {(one.run.experiment, one.run.variant, one.run.choice): one.refused for one in made if one.refused}


def table(made: Iterable[Point], results: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """The table of plan.RUN_COLUMNS; a metric that a run has not has no row."""
    columns: list[list[Any]] = [[] for _ in RUN_COLUMNS]
    for point in made:
        for task in point.tasks:
            names, values = zip(*_metrics(results[task.key]), strict=True)
            planned = point.run
            shared = planned.paper, planned.experiment, planned.variant, planned.choice, task.seed
            for column, value in zip(columns, shared, strict=False):
                column.extend([value] * len(names))
            columns[-2].extend(names)
            columns[-1].extend(values)
    found = pd.DataFrame(dict(zip(RUN_COLUMNS, columns, strict=True)))
    return found.astype({**dict.fromkeys(RUN_COLUMNS, "str"), "seed": np.int64, "value": np.float64})


def _metrics(result: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Each metric that a run has, as one number; the quartiles one by one."""
    for name, value in result.items():
        if name == QUARTILES and value is not None:
            yield from ((f"{name}.{place}", float(one)) for place, one in enumerate(value, 1) if one is not None)
        elif name not in BESIDE and (known := sample(value)) is not None:
            yield name, known
