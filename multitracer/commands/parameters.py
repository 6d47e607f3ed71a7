"""What options of several commands mean: FILE=VALUE pairs, the inputs, and the analysis they ask for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from multitracer.commands.talk import Progress, quiet, say, verbose
from multitracer.model.errors import UsageError

if TYPE_CHECKING:
    from multitracer.model.analysis import Analysis
    from multitracer.model.trace import Trace

Function = TypeVar("Function", bound=Callable[..., Any])

SUMMARY = "summary.json"
RESULTS = (SUMMARY, "report.html", "tables", "series", "xgraph", "xplot", "csv")
"""What `analyze` writes."""

_LONGEST_S, _LARGEST_PPM = 4e9, 1e5
"""What a stated clock may be off: more than the calendar's seconds so far, and a tenth of its rate."""

SHOWN_SKIPS = 10
"""Kinds of loss named for each input without -v."""


def _roles(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> list[tuple[str, str]]:
    """FILE=sender or FILE=receiver."""
    pairs = []
    for value in values:
        path, _equals, role = value.rpartition("=")
        if not path or role not in ("sender", "receiver"):
            raise click.BadParameter(f"'{value}' is not FILE=sender or FILE=receiver.")
        pairs.append((path, role))
    return pairs


def _clocks(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> list[tuple[str, tuple[float, float]]]:
    """FILE=OFFSET_S or FILE=OFFSET_S,DRIFT_PPM."""
    pairs = []
    for value in values:
        path, _equals, numbers = value.rpartition("=")
        offset, _comma, drift = numbers.partition(",")
        try:
            pairs.append((path, (_within(offset, _LONGEST_S), _within(drift or "0", _LARGEST_PPM))))
        except ValueError:
            path = ""
        if not path:
            raise click.BadParameter(
                f"'{value}' is not FILE=OFFSET_S or FILE=OFFSET_S,DRIFT_PPM with less than {_LONGEST_S:g} s "
                f"and {_LARGEST_PPM:g} ppm."
            )
    return pairs


def _within(text: str, limit: float) -> float:
    number = float(text)
    if not abs(number) < limit:  # not-a-number is not
        raise ValueError(text)
    return number


class Number(click.FloatRange):
    """A finite number: infinity and not-a-number are no times and no rates."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number that the text is; a usage error if it is none."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


def input_options(function: Function) -> Function:
    """The inputs of an analysis, and everything a user may tell about them."""
    for option in reversed(_INPUT_OPTIONS):
        function = option(function)
    return function


_INPUT_OPTIONS = (
    click.argument("inputs", nargs=-1, required=True, metavar="INPUT..."),
    click.option(
        "--role", "roles", multiple=True, callback=_roles, metavar="FILE=sender|receiver",
        help="State which side a file was recorded on.",
    ),
    click.option(
        "--clock", "clocks", multiple=True, callback=_clocks, metavar="FILE=OFFSET_S[,DRIFT_PPM]",
        help="State a clock that cannot be found: it minus the reference.",
    ),
    click.option(
        "--link-rate", "link_rate_bps", type=Number(0, min_open=True), metavar="BPS",
        help="The link's rate, where no log can tell it.",
    ),
    click.option(
        "--from", "from_s", type=Number(), metavar="SECONDS",
        help="Leave out what was before, counted from the trace's start.",
    ),
    click.option("--to", "to_s", type=Number(), metavar="SECONDS", help="Leave out what came after."),
    click.option(
        "--connection", "connections", type=click.IntRange(0), multiple=True, metavar="ID",
        help="Keep this connection only (repeatable).",
    ),
    click.option("--anonymize", is_flag=True, help="Replace addresses, the same everywhere."),
)  # fmt: skip

EXPORTED = click.Choice(["xgraph", "xplot", "csv"])
"""Other tools' formats; multitracer.export.files is too heavy to import for their names."""

output_option = click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("multitracer-out"), show_default=True,
    metavar="DIR", help="Where results go.",
)  # fmt: skip


def prepare(directory: Path) -> None:
    """Make the directory, so that a place where nothing can be written is named before the work."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = f"{directory}: no results can be written there: {error.strerror}"
        raise UsageError(f"{problem}\nName another place with -o.") from error


def analysed(inputs: Sequence[str], options: dict[str, Any]) -> Analysis:
    """Read and analyse the inputs as `options` ask, showing progress; names on stderr what had to be skipped."""
    from multitracer.model.options import AnalyzeOptions
    from multitracer.parsers.shared.experiment import read

    files = files_in(inputs)
    if options["from_s"] is not None and options["to_s"] is not None and options["to_s"] <= options["from_s"]:
        raise UsageError(f"--to {options['to_s']:g} is not after --from {options['from_s']:g}")
    asked = AnalyzeOptions(
        roles={named(path, files, "--role"): role for path, role in options.pop("roles")},
        clocks={named(path, files, "--clock"): clock for path, clock in options.pop("clocks")},
        **options,
    )
    with Progress(shown=not quiet()) as progress:
        trace = read(*files, progress=progress)
        from multitracer.analysis.pipeline import analyze

        analysis = analyze(trace, asked, progress)
    if not quiet():
        tell_losses(analysis.trace)
    return analysis


def files_in(inputs: Sequence[str]) -> list[str]:
    """The files that the inputs name; results that an earlier run left in a named directory are none."""
    from multitracer.parsers import inputs_in

    return [path for path in inputs_in(list(inputs)) if path in inputs or not _is_result(Path(path))]


def _is_result(path: Path) -> bool:
    """Whether `path` is something that `analyze` wrote, by the summary.json beside or above it."""
    places = zip(path.parents, [path.name, *(parent.name for parent in path.parents)], strict=False)
    return any(name in RESULTS and _is_ours(directory / SUMMARY) for directory, name in places)


@cache
def _is_ours(summary: Path) -> bool:
    try:
        with summary.open("rb") as stream:
            return b'"multitracer"' in stream.read(40)
    except OSError:
        return False


def named(path: str, files: Sequence[str], option: str) -> str:
    """The input that an option means: by its path, or by its name where only one has it."""
    same = [file for file in files if file == path or (path != "-" and Path(file).resolve() == Path(path).resolve())]
    same = same or [file for file in files if Path(file).name == path]
    if len(same) != 1:
        how_many = "several inputs have" if same else "no input has"
        raise UsageError(f"{option} {path}: {how_many} that name\nThere are: {', '.join(files)}.")
    return same[0]


def tell_losses(trace: Trace) -> None:
    """Name on stderr every kind of loss, with the record and the byte where it was first met."""
    for entry in trace.inputs:
        skips = entry.recording.skips
        shown = skips if verbose() else skips[:SHOWN_SKIPS]
        for skip in shown:
            record = f", record {skip.record}" if skip.record is not None else ""
            offset = f", byte {skip.offset}" if skip.offset is not None else ""
            times = f" ({skip.count} times)" if skip.count > 1 else ""
            say(f"{entry.path}{record}{offset}: skipped: {skip.reason}{times}")
        if len(skips) > len(shown):
            say(f"{entry.path}: {len(skips) - len(shown)} more kinds of loss (-v names them)")
        if verbose():
            for note in entry.recording.notes:
                say(f"{entry.path}: {note}")
