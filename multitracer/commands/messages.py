"""Messages and progress on stderr, and the options -q and -v that all commands have."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from multitracer.commands.terminal import printable

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

QUIET, VERBOSE = "multitracer.quiet", "multitracer.verbose"
"""Keys in click's `Context.meta` under which -q and -v are stored, also for the error messages in cli.py."""

PATIENCE_S = 1.0
"""Work that takes longer than this gets a progress bar."""

Function = TypeVar("Function", bound=Callable[..., Any])


def say(text: str) -> None:
    """Write a message to stderr, with the prefix "multitracer: "; control characters are escaped."""
    first, *rest = (printable(line) for line in text.splitlines() or [""])
    with suppress(OSError, ValueError):  # a closed stderr is no defect: there is nobody to tell
        sys.stderr.write("\n".join([f"multitracer: {first}", *(f"  {line}" for line in rest)]) + "\n")
        sys.stderr.flush()


def _remember(key: str) -> Callable[[click.Context, click.Parameter, bool], bool]:
    def remember(context: click.Context, _: click.Parameter, value: bool) -> bool:
        context.meta[key] = value
        return value

    return remember


def verbosity_options(function: Function) -> Function:
    """Add the options -q and -v to a command; see `quiet()` and `verbose()`."""
    quiet = click.option(
        "-q", "--quiet", is_flag=True, is_eager=True, expose_value=False, callback=_remember(QUIET),
        help="Say nothing on stderr.",
    )  # fmt: skip
    verbose = click.option(
        "-v", "--verbose", is_flag=True, is_eager=True, expose_value=False, callback=_remember(VERBOSE),
        help="Say more; with a traceback where there is an error.",
    )  # fmt: skip
    return quiet(verbose(function))


def quiet() -> bool:
    """Whether the running command has the option -q."""
    return bool(click.get_current_context().meta.get(QUIET))


def verbose() -> bool:
    """Whether the running command has the option -v."""
    return bool(click.get_current_context().meta.get(VERBOSE))


class Progress:
    """A progress bar on stderr, shown if stderr is a terminal and the work takes more than a second.

    A context manager; it is called with the current step and the fraction that is done, 0 to 1. At its end it says,
    also where there is no terminal, if the kernels that were compiled could not be kept. With `shown` false it says
    nothing.
    """

    def __init__(self, shown: bool) -> None:
        self._quiet = not shown
        self._shown = shown and sys.stderr.isatty()
        self._lock = threading.Lock()
        self._state = ("", 0.0)
        self._compiling = self._waiting = ""
        self._bar: Bar | None = None
        self._timer = threading.Timer(PATIENCE_S, self._start)
        self._timer.daemon = True

    def __call__(self, step: str, fraction: float) -> None:
        """Show the current step and the fraction that is done, 0 to 1."""
        with self._lock:
            self._state = (printable(step), fraction)
            self._update()

    def compiling(self, progress: str) -> None:
        """Show which kernel is being compiled instead of the step; "" ends that."""
        with self._lock:
            self._compiling = progress
            self._update()

    def waiting(self, progress: str) -> None:
        """Show how far a long part of the step is instead of the step; "" ends that."""
        with self._lock:
            self._waiting = progress
            self._update()

    def __enter__(self) -> Progress:
        from multitracer.compute.kernels import on_compiling
        from multitracer.compute.patience import on_waiting

        on_compiling.append(self.compiling)
        on_waiting.append(self.waiting)
        if self._shown:
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        from multitracer.compute.kernels import on_compiling, refusal_to_say
        from multitracer.compute.patience import on_waiting

        on_compiling.remove(self.compiling)
        on_waiting.remove(self.waiting)
        self._timer.cancel()
        with self._lock:
            self._shown = False
            if self._bar:
                self._bar.stop()
        if not self._quiet and (refusal := refusal_to_say()):
            say(refusal)

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
        bar = Progress(*columns, console=Console(stderr=True), transient=True)
        with self._lock:
            if self._shown:
                self._bar = bar
                bar.add_task("", total=1.0)
                bar.start()
                self._update()

    def _update(self) -> None:
        if self._bar:
            step, fraction = self._state
            told = self._compiling or self._waiting or step
            self._bar.update(self._bar.task_ids[0], description=told, completed=fraction)
