"""The runs of a simulation, spread over processes or a cluster, and kept as they end."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from multitracer.commands.workers import on_cluster, on_processors
from multitracer.model.errors import MissingCapabilityError, MultiTracerError
from multitracer.replay.simulate.loops import loop_of
from multitracer.replay.simulate.sweep import KeptRuns, Run, Task

KEPT = "runs.jsonl"
"""The file in DIR/.multitracer/ that keeps finished runs."""
_FEWER = "Give fewer --jobs if memory was short."
_PRELOADED = ("multitracer.replay.simulate.sweep",)


@dataclass(frozen=True)
class Failure:
    """Why a run has no result, and the exit status that this is."""

    message: str
    status: int
    traceback: str = ""
    """Of a defect."""


class RunError(MultiTracerError):
    """A run failed in another process; its status is that of the error there."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.exit_code = failure.status
        if failure.traceback:
            self.add_note(failure.traceback)  # shown with -v


@dataclass(frozen=True)
class Spread:
    """Over what the runs are spread: so many processes, or a Dask cluster."""

    jobs: int = 1
    cluster: str | None = None


def run_all(
    tasks: Sequence[Task], kept: KeptRuns, run: Run, spread: Spread, progress: Callable[[str, float], object]
) -> None:
    """Run what is not kept yet, and keep it; the first run that fails ends this, and the others stay kept."""
    missing = [task for task in tasks if task.key not in kept.results]
    before, began = len(tasks) - len(missing), time.monotonic()
    progress(f"{before:,} of {len(tasks):,} runs", before / max(len(tasks), 1))
    for done, (place, found) in enumerate(_ended(missing, run, spread), 1):
        if isinstance(found, Failure):
            raise RunError(found)
        kept.add(missing[place], found)
        left_s = (time.monotonic() - began) * (len(missing) - done) / done
        shown = f"{before + done:,} of {len(tasks):,} runs{_left(left_s)}: {missing[place].scenario.name}"
        progress(shown, (before + done) / len(tasks))


def _left(seconds: float) -> str:
    """How long it goes on, as far as the runs that have ended tell."""
    return f", {seconds / 60:,.0f} min left" if seconds >= 90 else f", {seconds:.0f} s left" if seconds >= 2 else ""


def _ended(tasks: Sequence[Task], run: Run, spread: Spread) -> Iterator[tuple[int, Mapping[str, Any] | Failure]]:
    """(Place, result) of every run as they end."""
    jobs = min(spread.jobs, len(tasks))
    elsewhere = partial(run_elsewhere, run)
    if spread.cluster is not None and tasks:
        return on_cluster(elsewhere, tasks, spread.cluster, _died)
    if jobs <= 1:
        return ((place, run_one(run, task)) for place, task in enumerate(tasks))
    return _compiled_first(tasks, run, lambda rest: on_processors(
        elsewhere, rest, jobs, _died, (*_PRELOADED, run.__module__)
    ))  # fmt: skip


def _compiled_first(
    tasks: Sequence[Task], run: Run, spread: Callable[[list[Task]], Iterator[tuple[int, Any]]]
) -> Iterator[tuple[int, Any]]:
    """The first run of each loop before the others: else every process would compile the same at the same time.

    Of a single loop in this process, which shows what is compiled; of several at once.
    """
    loops: dict[tuple[str, str], int] = {}
    for place, task in enumerate(tasks):
        loops.setdefault(loop_of(task.scenario), place)
    firsts = list(loops.values())
    if len(firsts) == 1:
        yield firsts[0], run_one(run, tasks[firsts[0]])
    else:
        yield from _at(firsts, tasks, spread)
    yield from _at(sorted(set(range(len(tasks))) - set(firsts)), tasks, spread)


def _at(
    places: Sequence[int], tasks: Sequence[Task], spread: Callable[[list[Task]], Iterator[tuple[int, Any]]]
) -> Iterator[tuple[int, Any]]:
    """The results of the tasks at these places, with their places."""
    yield from ((places[at], found) for at, found in spread([tasks[place] for place in places]))


def run_one(run: Run, task: Task) -> Mapping[str, Any] | Failure:
    """Run one seed; what a user can do about is given back."""
    try:
        return dict(run(task.scenario, task.seed))
    except MultiTracerError as error:
        return Failure(_where(task, str(error)), error.exit_code)
    except MemoryError:
        return Failure(_where(task, f"there is not memory enough for this\n{_FEWER}"), MissingCapabilityError.exit_code)


def run_elsewhere(run: Run, task: Task) -> Mapping[str, Any] | Failure:
    """Run one seed in another process: a defect is given back too."""
    try:
        return run_one(run, task)
    except Exception as error:  # noqa: BLE001 - it is to be told by the process that has the terminal
        what = f"{type(error).__name__}: {error}".splitlines()[0]
        problem = f"this is a defect in MultiTracer, not in your input: {what}\nPlease report it, with what -v shows."
        return Failure(_where(task, problem), MultiTracerError.exit_code, traceback.format_exc())


def _died(task: Task, exit_code: int | None) -> Failure:
    """The failure of a run whose process was killed, by the system for want of memory perhaps."""
    how = f" (signal {-exit_code})" if exit_code is not None and exit_code < 0 else ""
    problem = f"the process that ran it was ended{how}; what was done is kept\n{_FEWER}"
    return Failure(_where(task, problem), MissingCapabilityError.exit_code)


def _where(task: Task, problem: str) -> str:
    return f"{task.scenario.name}, seed {task.seed}: {problem}"


def kept_in(directory: Path) -> KeptRuns:
    """The runs that are kept in a result directory, which is locked."""
    from multitracer.export.result_directory import OURS

    return KeptRuns(directory / OURS / KEPT)
