"""A campaign: each input is an experiment of its own; they are analysed side by side and compared.

Each experiment has a result directory of its own, DIR/NAME, in which it also keeps what the comparison needs of it.
So a campaign that was stopped goes on where it was: a result that is whole, and of the same inputs, options and
version, is not made again.
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multitracer import __version__, parsers
from multitracer.commands.campaign_task import Failure, Task, run_experiment
from multitracer.commands.experiment import COMMAND, Written
from multitracer.commands.messages import Progress, quiet, say, verbose
from multitracer.commands.parameters import COMPARED, results
from multitracer.commands.workers import on_cluster, on_processors
from multitracer.export.result_directory import OURS
from multitracer.model.errors import InputError, MissingCapabilityError, NoUsableInputError, UsageError

if TYPE_CHECKING:
    from multitracer.report.kept_experiments import Kept

JSON, PAGE = COMPARED
MOST_TOLD = 12
"""Differences of more transfers are not told one by one on the terminal."""


@dataclass(frozen=True)
class Spread:
    """Over what the experiments are spread: so many processes (None: one a processor), or a Dask cluster."""

    jobs: int | None = None
    cluster: str | None = None


def compare_all(
    inputs: tuple[str, ...], output: Path, options: dict[str, Any], what: Written, spread: Spread, *,
    group: re.Pattern[str] | None = None, as_json: bool,
) -> dict[str, int]:  # fmt: skip
    """Analyse each input by itself into a directory of its name, and write compare.json and compare.html.

    Returns the number of skipped records by path; an input that cannot be read counts as 1. Raises
    UsageError for fewer than two inputs, NoUsableInputError if none can be analysed.
    """
    if len(inputs) < 2:
        raise UsageError("--compare needs two experiments at least\nGive a file or a directory for each.")
    tasks = _tasks(inputs, output, options, what)
    names = [PAGE, JSON] if what.all and what.report else [JSON]
    with results(output, COMMAND, last=JSON, names=names) as directory:
        found, failures = _analyze(tasks, spread, told=not as_json)
        if len(failures) == len(tasks):
            _end_as_the_worst(failures)
            raise NoUsableInputError(", ".join(inputs[:3]), "none of the experiments can be analysed")
        document = _write(tasks, found, directory, group, page=PAGE in names)
    click.echo(json.dumps(document) if as_json else _told(document) + ", ".join(str(output / name) for name in names))
    _end_as_the_worst(failures)
    return {path: count for kept in found for path, count in kept.skipped.items()}


def _tasks(inputs: tuple[str, ...], output: Path, options: dict[str, Any], what: Written) -> list[Task]:
    named = enumerate(zip(names_of(inputs), inputs, strict=True), 1)
    tasks = []
    for number, (name, path) in named:
        if options["anonymize"]:
            name, shown = f"experiment-{number}", f"experiment-{number}"
        else:
            shown = path
        tasks.append(Task(name, path, shown, str(output / name), options, what, str(Path.cwd()), quiet(), verbose()))
    return tasks


def _analyze(tasks: Sequence[Task], spread: Spread, *, told: bool) -> tuple[list[Kept], list[Failure]]:
    """Analyse every experiment; what is said of each is said in the order of the arguments."""
    ended: dict[int, Failure | None] = {}
    found: list[Kept] = []
    with Progress(shown=not quiet()) as progress:
        for place, failure in _spread_out(tasks, spread):
            ended[place] = failure
            progress(f"{len(ended)} of {len(tasks)} experiments", len(ended) / len(tasks))
            while len(found) in ended:
                found.append(_kept(tasks[len(found)], ended[len(found)], told=told))
    return found, [failure for failure in ended.values() if failure]


def _spread_out(tasks: Sequence[Task], spread: Spread) -> Iterator[tuple[int, Failure | None]]:
    """(Place, why it failed) of every experiment as they end."""
    from multitracer.compute.threads import processors

    jobs = min(spread.jobs or processors(), len(tasks))
    if spread.cluster is None and jobs == 1:
        yield from enumerate(map(run_experiment, tasks))
        return
    files: list[int] = []
    pipes: list[int] = []
    for place, task in enumerate(tasks):  # a pipe, and standard input, are this process's alone
        kind = parsers.mode_of(task.path)
        (files if stat.S_ISDIR(kind) or stat.S_ISREG(kind) else pipes).append(place)
    yield from ((place, run_experiment(tasks[place])) for place in pipes)
    spread_tasks = [tasks[place] for place in files]
    if spread.cluster is None:
        ended = on_processors(run_experiment, spread_tasks, jobs, _died)
    else:
        ended = on_cluster(run_experiment, spread_tasks, spread.cluster, _died)
    yield from ((files[place], failure) for place, failure in ended)


def _died(task: Task, exit_code: int | None) -> Failure:
    """The failure of an experiment whose process was killed, by the system for want of memory perhaps."""
    how = "" if exit_code is None else f" (signal {-exit_code})" if exit_code < 0 else f" (status {exit_code})"
    return Failure(
        f"{task.path}: the process that analysed it was ended{how}\nGive fewer --jobs if memory was short.",
        MissingCapabilityError.exit_code,
    )


def _kept(task: Task, failure: Failure | None, *, told: bool) -> Kept:
    """What is kept of an experiment that ended; says what is to be said of it."""
    from multitracer.report import comparison, kept_experiments

    kept = kept_experiments.load(Path(task.output)) if failure is None else None
    if kept is None:
        message = failure.message if failure else f"{task.path}: its result in {task.output} was removed meanwhile"
        if not quiet():
            say(message)
        error = message.splitlines()[0]
        if task.options["anonymize"]:  # the message names files, and may quote them
            error = f"{task.shown}: cannot be analysed" + (f" (exit status {failure.status})" if failure else "")
        return kept_experiments.Kept(comparison.failed(task.name, task.shown, error).row, skipped={task.shown: 1})
    for line in () if quiet() else kept.said:
        say(line)
    if told:
        click.echo(f"{task.name}: {kept.row['verdict']}")
    return kept


def _write(
    tasks: Sequence[Task], found: Sequence[Kept], directory: Path, group: re.Pattern[str] | None, *, page: bool
) -> dict[str, Any]:
    """Write compare.json and, with `page`, compare.html; returns the content of the first."""
    from multitracer.report import compare_page, comparison, kept_experiments

    experiments = [
        kept_experiments.experiment(kept, Path(task.output)) for kept, task in zip(found, tasks, strict=True)
    ]
    document = comparison.document(experiments, __version__, group)
    (directory / JSON).write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    if page:
        compare_page.write(experiments, directory / PAGE, __version__, group)
    return document


def _told(document: dict[str, Any]) -> str:
    """How the transfers differ from the first, a paragraph of lines; of many the campaign's page tells more."""
    from multitracer.analysis.difference import sentence

    lines = [f"{one['name']}: {sentence(one)}\n" for one in document["differences"][:MOST_TOLD]]
    left_out = len(document["differences"]) - len(lines)
    if left_out:
        lines.append(f"and {left_out} more, in {JSON}\n")
    lines += [f"{one['name'] or 'others'}: {_told_of_group(one)}\n" for one in document["groups"] or ()]
    return "\n" + ("".join(lines) + "\n" if lines else "")


def _told_of_group(group: dict[str, Any]) -> str:
    """How many transfers a group has, and the means of what is measured, with their intervals."""
    units = (("utilization_percent", "utilization", 1, "%"), ("throughput_bps", "throughput", 1e3, "kbit/s"))
    told = [f"{len(group['transfers'])} transfers"]
    for name, label, unit, text in units:
        if found := group[name]:
            interval = "" if found["ci95"] is None else f" ± {found['ci95'] / unit:.1f}"
            told.append(f"{label} {found['mean'] / unit:.1f}{interval} {text}")
    return ", ".join(told)


def _end_as_the_worst(failures: Sequence[Failure]) -> None:
    """End with the status of what went wrong, unless it is only that inputs could not be used: the rows say that."""
    worse = [failure.status for failure in failures if failure.status != InputError.exit_code]
    if worse:
        click.get_current_context().exit(min(worse))


def names_of(inputs: tuple[str, ...]) -> list[str]:
    """A unique name for each experiment's directory: that of its file or directory, without file extensions."""
    from multitracer.model.short_texts import encodable

    names: list[str] = []
    for path in inputs:
        short, number = encodable(_short(Path(path).resolve())), 1
        name = short
        while name in names:
            number += 1
            name = f"{short}-{number}"
        names.append(name)
    return names


def _short(path: Path) -> str:
    """The name of a directory, or of a file without its known extensions."""
    name = path.name if parsers.is_folder(str(path)) else parsers.without_endings(path.name)
    return name if name not in ("", OURS) else "experiment"
