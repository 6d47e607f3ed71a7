"""One experiment of a campaign, as a process of its own does it: no terminal, its result only in its directory."""

from __future__ import annotations

import hashlib
import json
import stat
import threading
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import click

from multitracer import __version__
from multitracer.commands.experiment import COMMAND, Written, analyze_into, skipped_in
from multitracer.commands.messages import QUIET, VERBOSE, say
from multitracer.commands.parameters import SUMMARY, files_in, losses_of, no_message
from multitracer.export.result_directory import ResultDirectory, is_whole
from multitracer.model.errors import MissingCapabilityError, MultiTracerError, is_lack_of_memory
from multitracer.parsers import mode_of

_HASHED_AT_ONCE = 1 << 20
_ONE_AT_A_TIME = threading.Lock()
"""A worker of a cluster may have several threads; the working directory and the parsers' caches are the process's."""


@dataclass(frozen=True)
class Task:
    """An experiment of a campaign: where it is, where its result goes, and how it is analysed.

    `name` is what results call it, `path` what the user does; relative paths are those of the folder `cwd`.
    """

    name: str
    path: str
    shown: str
    """The path in compare.json."""
    output: str
    options: dict[str, Any]
    what: Written
    cwd: str
    quiet: bool
    verbose: bool


@dataclass(frozen=True)
class Failure:
    """Why an experiment has no result, and the exit status that this would be alone."""

    message: str
    status: int


class _AlreadyDoneError(Exception):
    """The result is there: nothing is to be written."""


def run_experiment(task: Task) -> Failure | None:
    """Analyse one experiment and write its result, unless it is there; returns why that failed."""
    try:
        with _ONE_AT_A_TIME, chdir(task.cwd), _no_terminal(task):
            _unless_done(task)
    except MultiTracerError as error:
        return Failure(str(error), error.exit_code)
    except Exception as error:  # noqa: BLE001 - a defect shown by one experiment must not stop the others
        if isinstance(error, OSError) or is_lack_of_memory(error):
            lacking = error if isinstance(error, OSError) else "not enough memory"
            return Failure(f"{task.path}: {lacking}", MissingCapabilityError.exit_code)
        return Failure(f"{task.path}: this is a defect in MultiTracer: {type(error).__name__}: {error}", 1)
    return None


@contextmanager
def _no_terminal(task: Task) -> Iterator[None]:
    """What is said is kept for the campaign; progress is the campaign's."""
    with click.Context(click.Command(COMMAND)) as context:
        context.meta.update({QUIET: True, VERBOSE: task.verbose})
        yield


def _unless_done(task: Task) -> None:
    key, output = key_of(task), Path(task.output)
    told = no_message if task.quiet else say
    try:
        with ResultDirectory(output, COMMAND, last=SUMMARY, names=task.what.names, tell=told) as directory:
            if is_done(output, key):
                raise _AlreadyDoneError
            _analyze(task, key, directory)
    except _AlreadyDoneError:
        pass


def is_done(output: Path, key: str) -> bool:
    """Whether a whole result of that key is there."""
    from multitracer.report import kept_experiments

    kept = kept_experiments.load(output)
    return bool(key) and kept is not None and kept.key == key and is_whole(output, SUMMARY)


def _analyze(task: Task, key: str, directory: Path) -> None:
    from multitracer.report import comparison, kept_experiments

    analysis, summary = analyze_into(directory, (task.path,), task.options, task.what)
    report = task.what.report and task.what.all
    compared = comparison.experiment(task.name, task.shown, analysis, summary, report=report)
    said = list(losses_of(analysis.trace, all_of_them=False))
    findings, skipped = list(compared.findings), skipped_in(analysis)
    kept = kept_experiments.Kept(compared.row, key, skipped, said, findings, compared.left_out)
    kept_experiments.save(kept, compared.lines, directory)


def key_of(task: Task) -> str:
    """A hash of all that the result depends on: inputs by path and content, options, version.

    Empty where an input cannot be read twice (a pipe) or at all: then it is analysed anew.
    """
    try:
        files = [(path, _content(path)) for path in files_in((task.path,))]
    except (OSError, ValueError, MultiTracerError):
        return ""
    from multitracer.report.kept_experiments import LAYOUT

    same = replace(task, output="", cwd="", quiet=False, verbose=False)
    depends = [__version__, LAYOUT, asdict(same), files]
    return hashlib.sha256(json.dumps(depends, default=str).encode()).hexdigest()


def _content(path: str) -> str:
    """A hash of a regular file's content; raises ValueError for what is none."""
    if not stat.S_ISREG(mode_of(path)):
        raise ValueError(path)
    digest = hashlib.blake2b()
    with Path(path).open("rb") as file:
        while octets := file.read(_HASHED_AT_ONCE):
            digest.update(octets)
    return digest.hexdigest()
