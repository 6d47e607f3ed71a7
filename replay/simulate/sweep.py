"""Every seed of every variant: what is to be run, what was run before, and the results as JSON has them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from multitracer.model.errors import InputError
from multitracer.model.version import VERSION
from multitracer.replay.simulate import statistics
from multitracer.replay.simulate.code_digest import code_digest
from multitracer.replay.simulate.metrics import BESIDE, ENDED, EVENTS, LOSSLESS
from multitracer.replay.simulate.scenario import Scenario
from multitracer.replay.simulate.schema import DIRECTIONS
from multitracer.replay.simulate.variants import Plan

Run = Callable[[Scenario, int], Mapping[str, Any]]
"""Runs one seed of a scenario: the value of each metric."""
MOST_PAIRED = 50
"""Variants that are compared with each other: their pairs grow with the square."""


@dataclass(frozen=True)
class Task:
    """One seed of one scenario, and what its result is kept under."""

    scenario: Scenario
    seed: int
    key: str


def tasks(plan: Plan, seeds: Sequence[int]) -> list[Task]:
    """Every seed of every variant; of variants that are the same only one."""
    made: dict[str, Task] = {}
    for variant in plan.variants:
        for task in tasks_of(variant.scenario, seeds):
            made.setdefault(task.key, task)
    return list(made.values())


def tasks_of(scenario: Scenario, seeds: Sequence[int], *more: str) -> list[Task]:
    """Every seed of a scenario; `more` is what else its results depend on."""
    depends = [*_depends(scenario), *more]
    return [Task(scenario, seed, _key(depends, seed)) for seed in seeds]


def _depends(scenario: Scenario) -> list[str]:
    """All that the results depend on but the seed; InputError if the channel's trace cannot be read."""
    traces = {scenario.value("channel.trace", direction) for direction in DIRECTIONS["channel"]} - {None}
    return [VERSION, code_digest(), scenario.digest, *(_content(path) for path in sorted(traces))]


def _content(path: str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(path, f"the channel's trace cannot be read: {error.strerror or error}") from error


def _key(depends: Sequence[str], seed: int) -> str:
    return hashlib.sha256(json.dumps([*depends, seed]).encode()).hexdigest()


class KeptRuns:
    """What was run before, in a file of one line a run: a sweep that was stopped goes on from there.

    Lines are added as runs end. One that a kill or a full disk cut is left out when the file is read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.results: dict[str, dict[str, Any]] = dict(self._read())

    def _read(self) -> Iterator[tuple[str, dict[str, Any]]]:
        try:
            lines = self.path.read_bytes().splitlines()
        except FileNotFoundError:
            return
        for line in lines:
            try:
                found = json.loads(line)
                if found["version"] == VERSION and isinstance(found["result"], dict):
                    yield found["key"], found["result"]
            except (ValueError, KeyError, TypeError):
                continue

    def add(self, task: Task, result: Mapping[str, Any]) -> None:
        """Keep the result of a run."""
        self.results[task.key] = dict(result)
        with self.path.open("ab") as file:
            begins = b"\n" if file.tell() and not self._ends_whole() else b""
            file.write(begins + self._line(task.key) + b"\n")

    def _ends_whole(self) -> bool:
        with self.path.open("rb") as file:
            file.seek(-1, 2)
            return file.read(1) == b"\n"

    def _line(self, key: str) -> bytes:
        line = {"version": VERSION, "key": key, "result": self.results[key]}
        return json.dumps(line, allow_nan=False).encode()

    def only(self, keys: Sequence[str]) -> None:
        """Keep nothing but these, in this order, once all is done."""
        draft = self.path.with_suffix(".draft")
        draft.write_bytes(b"".join(self._line(key) + b"\n" for key in keys))
        draft.replace(self.path)


def runs_of(plan: Plan, seeds: Sequence[int], results: Mapping[str, Mapping[str, Any]]) -> list[list[dict[str, Any]]]:
    """The results of every variant, in the order of the seeds."""
    return [
        [dict(results[task.key]) for task in tasks_of(variant.scenario, seeds)] for variant in plan.variants
    ]


def document(plan: Plan, seeds: Sequence[int], runs: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """The results as one JSON document, without how long they took; its top is the first variant's."""
    metrics = [statistics.describe([_metrics(run) for run in of_one]) for of_one in runs]
    first = plan.variants[0].scenario
    made = {
        "scenario": plan.name,
        "parameters": first.parameters,
        "seeds": len(seeds),
        "first_seed": seeds[0],
        "metrics": metrics[0],
        "events": _events(runs[0]),
    }
    if len(plan.variants) == 1:
        return made
    names = [variant.scenario.name for variant in plan.variants]
    variants = [
        {"name": name, "parameters": variant.scenario.parameters, "metrics": of_one}
        for name, variant, of_one in zip(names, plan.variants, metrics, strict=True)
    ]
    return {**made, "variants": variants, "pairs": _pairs(names, runs)}


def _pairs(names: Sequence[str], runs: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]] | None:
    if len(names) > MOST_PAIRED:
        return None
    own = [[_metrics(run) for run in of_one] for of_one in runs]
    return list(statistics.pairs(list(zip(names, own, strict=True))))


def _metrics(run: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in run.items() if name not in BESIDE}


def _events(runs: Sequence[Mapping[str, Any]]) -> int | None:
    known = [run[EVENTS] for run in runs if run.get(EVENTS) is not None]
    return sum(known) if known else None


def why_ended(plan: Plan, runs: Sequence[Sequence[Mapping[str, Any]]]) -> list[str]:
    """Of each variant in which runs could not go on, or met less than they were to: how many, and what happened."""
    said = []
    for variant, of_one in zip(plan.variants, runs, strict=True):
        reasons = [run[name] for run in of_one for name in (ENDED, LOSSLESS) if run.get(name)]
        for reason in dict.fromkeys(reasons):
            said.append(f"{variant.scenario.name}: {reasons.count(reason)} of {len(of_one)} runs: {reason}")
    return said
