"""What a command says on stderr beside its data: options that all commands share, warnings, progress."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from multitracer.commands.terminal import printable

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

QUIET, VERBOSE = "multitracer.quiet", "multitracer.verbose"
"""Where a context remembers -q and -v, for the place that reports errors."""

PATIENCE_S = 1.0
"""Whatever takes longer gets a progress bar."""

Function = TypeVar("Function", bound=Callable[..., Any])


def say(text: str) -> None:
    """One message to the user, marked as ours; control characters shown, not obeyed."""
    first, *rest = (printable(line) for line in text.splitlines() or [""])
    sys.stderr.write("\n".join([f"multitracer: {first}", *(f"  {line}" for line in rest)]) + "\n")
    sys.stderr.flush()


def _remember(key: str) -> Callable[[click.Context, click.Parameter, bool], bool]:
    def remember(context: click.Context, _: click.Parameter, value: bool) -> bool:
        context.meta[key] = value
        return value

    return remember


def talk_options(function: Function) -> Function:
    """The options -q and -v; a command asks `quiet()`."""
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
    """Whether the running command was told -q."""
    return bool(click.get_current_context().meta.get(QUIET))


def verbose() -> bool:
    """Whether the running command was told -v."""
    return bool(click.get_current_context().meta.get(VERBOSE))


class Progress:
    """A progress bar on stderr, when that is a terminal and the work takes more than a second.

    Called with what is being done and how far it is, 0 to 1.
    """

    def __init__(self, shown: bool) -> None:
        self._shown = shown and sys.stderr.isatty()
        self._lock = threading.Lock()
        self._state = ("", 0.0)
        self._compiling = ""
        self._bar: Bar | None = None
        self._timer = threading.Timer(PATIENCE_S, self._start)
        self._timer.daemon = True

    def __call__(self, step: str, fraction: float) -> None:
        """Say what is being done and how far it is."""
        with self._lock:
            self._state = (printable(step), fraction)
            self._update()

    def compiling(self, progress: str) -> None:
        """Say which kernel is being compiled; "" when that is done."""
        with self._lock:
            self._compiling = progress
            self._update()

    def __enter__(self) -> Progress:
        from multitracer.compute.kernels import on_compiling

        on_compiling.append(self.compiling)
        if self._shown:
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        from multitracer.compute.kernels import on_compiling

        on_compiling.remove(self.compiling)
        self._timer.cancel()
        with self._lock:
            self._shown = False
            if self._bar:
                self._bar.stop()

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
            self._bar.update(self._bar.task_ids[0], description=self._compiling or step, completed=fraction)
