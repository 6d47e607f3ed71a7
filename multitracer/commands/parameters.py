"""Parameters that several commands share: inputs, FILE=VALUE options, the output directory; and the analysis."""

from __future__ import annotations

import math
import re
import stat
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from multitracer.commands.messages import Progress, quiet, say, verbose
from multitracer.export.result_directory import ResultDirectory
from multitracer.model.errors import UsageError
from multitracer.parsers import inputs_in, mode_of

if TYPE_CHECKING:
    from multitracer.model.analysis import Analysis
    from multitracer.model.trace import Trace

Function = TypeVar("Function", bound=Callable[..., Any])
Stated = TypeVar("Stated")

SUMMARY, MARKDOWN = "summary.json", "summary.md"
RESULTS = (SUMMARY, MARKDOWN, "report.html", "tables", "series", "xgraph", "xplot", "csv", "pcapng")
"""What `analyze` writes."""
COMPARED = ("compare.json", "compare.html")
"""What `analyze --compare` writes beside that."""

_LONGEST_S, _LARGEST_PPM = 4e9, 1e5
"""Limits of a stated clock: offset in s (more than the seconds since 1970), drift in ppm (a tenth)."""
_SLOWEST_BPS, _FASTEST_BPS = 1, 1e13
"""Limits of a stated rate: the fastest link of today has 1.6e12 bit/s."""
MOST_NUMBER = (1 << 31) - 1
"""The largest number of a connection, of octets, and of what else is counted: tables hold 32 bits."""
_LEAST = 1e-12
"""No number that is given is smaller, unless it is 0: times have whole nanoseconds."""
_LONG_INPUT_BYTES = 64 << 20
"""Reading so much takes longer than importing what comes after it."""
_DECODING = "wire.tcpip.decode_rows"
"""The kernel of reading. Loading the first one imports numba, 0.15 s."""
_AFTER_READING = (
    "pandas", "multitracer.analysis.pipeline", "multitracer.analysis.summary", "multitracer.export.files",
    "rich.console", "rich.text",
)  # fmt: skip
_LARGEST_KERNELS = (
    "accounting.limits.limit_directions", "tcp.retransmissions.classify_directions", "tcp.port_reuse.split_flows",
    "tcp.measures.measure_rows", "tcp.connection_rows.group_rows", "findings.data_gaps.weigh",
    "vantage.completeness.find_gaps", "vantage.copies.find_equal",
)  # fmt: skip
"""Kernels of the analysis whose code takes longest to load, 3 to 25 ms."""
_SIZE = re.compile(r"(\d{1,15})([KMGT]?)(?:I?B)?", re.IGNORECASE | re.ASCII)
_SHOWN = 60
"""Characters of a wrong value that are repeated in the message."""

MOST_JOBS = 1024
"""The most processes that work at once."""

SHOWN_SKIPS = 10
"""Kinds of skipped records that are listed for each input without -v."""


def _roles(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> list[tuple[str, str]]:
    """FILE=sender or FILE=receiver."""
    pairs = []
    for value in values:
        path, _equals, role = value.rpartition("=")
        if not path or role not in ("sender", "receiver"):
            raise click.BadParameter(f"'{shortened(value)}' is not FILE=sender or FILE=receiver.")
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
                f"'{shortened(value)}' is not FILE=OFFSET_S or FILE=OFFSET_S,DRIFT_PPM with less than "
                f"{_LONGEST_S:g} s and {_LARGEST_PPM:g} ppm."
            )
    return pairs


def _within(text: str, limit: float) -> float:
    number = float(text)
    if not abs(number) < limit or 0 < abs(number) < _LEAST:  # the first holds for NaN, too
        raise ValueError(text)
    return number


def shortened(value: object) -> str:
    """A wrong value as it is repeated in a message."""
    text = str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"


class Whole(click.IntRange):
    """A whole number of a field or a count; without another limit, it has at most 31 bits."""

    def __init__(self, least: int = 0, most: int = MOST_NUMBER) -> None:
        super().__init__(least, most)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number in `value`; a usage error if it is none in the range."""
        if isinstance(value, str) and len(value) > _SHOWN:
            self.fail(f"{shortened(value)!r} is not in the range {self._describe_range()}.", param, ctx)
        number: int = super().convert(value, param, ctx)
        return number


class Regex(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.2 on
    """A regular expression."""

    name = "regex"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> re.Pattern[str]:
        """The pattern; a usage error if it is none."""
        try:
            return re.compile(value)
        except (re.error, OverflowError, RecursionError) as error:
            self.fail(f"{shortened(str(value))!r} is no regular expression: {error}.", param, ctx)


class Size(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.2 on
    """A number of octets with a unit of 1024: 500M, 2G."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The octets in `value`; a usage error if it is no size, or none."""
        if isinstance(value, int):
            return value
        match = _SIZE.fullmatch(value.strip())
        octets = int(match[1]) << 10 * " KMGT".index(match[2].upper() or " ") if match else 0
        if not 0 < octets < 1 << 62:
            self.fail(f"{shortened(value)!r} is not a size such as 500M or 2G.", param, ctx)
        return octets


class Number(click.FloatRange):
    """A finite number: infinity and NaN are not valid times or rates."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number in `value`; a usage error if it is not a finite number in the range."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number) or 0 < abs(number) < _LEAST:
            self.fail(f"{shortened(value)!r} is not a finite number, or all but 0.", param, ctx)
        return number


def files_to_complete(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """Has the shell complete the names of files."""
    return [CompletionItem(begun, type="file")]


def folders_to_complete(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """Has the shell complete the names of folders."""
    return [CompletionItem(begun, type="dir")]


unpacked_option = click.option(
    "--max-unpacked", type=Size(), metavar="SIZE",
    help="Read no more than this of all inputs together, unpacked: 500M, 2G.  [default: half of the memory]",
)  # fmt: skip


def input_options(function: Function) -> Function:
    """Add the argument INPUT... and the options of an analysis to a command."""
    for option in reversed(_INPUT_OPTIONS):
        function = option(function)
    return function


def _some(context: click.Context, parameter: click.Parameter, inputs: tuple[str, ...]) -> tuple[str, ...]:
    """The inputs; a usage error if there are none, unless nothing is to be read."""
    if not inputs and not context.params.get("recovering"):
        raise click.MissingParameter(ctx=context, param=parameter)
    return inputs


_INPUT_OPTIONS = (
    click.argument("inputs", nargs=-1, callback=_some, metavar="INPUT...", shell_complete=files_to_complete),
    click.option(
        "--role", "roles", multiple=True, callback=_roles, metavar="FILE=sender|receiver",
        help="State which side a file was recorded on.",
    ),
    click.option(
        "--clock", "clocks", multiple=True, callback=_clocks, metavar="FILE=OFFSET_S[,DRIFT_PPM]",
        help="State a clock that cannot be found: it minus the reference.",
    ),
    click.option(
        "--link-rate", "link_rate_bps", type=Number(_SLOWEST_BPS, _FASTEST_BPS), metavar="BPS",
        help="The link's rate, where no log can tell it.",
    ),
    click.option(
        "--from", "from_s", type=Number(-_LONGEST_S, _LONGEST_S), metavar="SECONDS",
        help="Leave out what was before, counted from the trace's start.",
    ),
    click.option(
        "--to", "to_s", type=Number(-_LONGEST_S, _LONGEST_S), metavar="SECONDS", help="Leave out what came after."
    ),
    click.option(
        "--connection", "connections", type=Whole(), multiple=True, metavar="ID",
        help="Keep this connection only (repeatable).",
    ),
    click.option(
        "--anonymize", is_flag=True,
        help="Replace addresses, names of files and hosts, and bearers, the same everywhere.",
    ),
    unpacked_option,
)  # fmt: skip

PCAPNG = "pcapng"
EXPORTED = click.Choice(["xgraph", "xplot", "csv", PCAPNG])
"""Other tools' formats, named here because importing multitracer.export.files takes too long for `--help`."""

output_option = click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("multitracer-out"), show_default=True,
    metavar="DIR", help="Where results go.", shell_complete=folders_to_complete,
)  # fmt: skip


def results(
    directory: Path, command: str, *, last: str = "", names: Sequence[str] = (), adds: bool = False
) -> ResultDirectory:
    """The place for a command's results, as `ResultDirectory` describes it; a wait for another run is said."""
    told = no_message if quiet() else say
    return ResultDirectory(directory, command, last=last, names=names, adds=adds, tell=told)


def no_message(_: str) -> None:
    """What `say` is with -q."""


def check_copies(inputs: Sequence[str], formats: Sequence[str], *, anonymize: bool) -> None:
    """Raise UsageError if captures are to be copied that cannot be read twice, or whose addresses are to be hidden."""
    if PCAPNG not in formats:
        return
    if anonymize:
        raise UsageError("pcapng copies packets as they are, with addresses and payload: not with --anonymize")
    once = [path for path in inputs if path == "-" or stat.S_ISFIFO(mode_of(path))]
    if once:
        raise UsageError(f"{once[0]}: pcapng copies captures, and this cannot be read twice\nWrite it to a file first.")


def read_and_analyze(inputs: Sequence[str], options: dict[str, Any]) -> Analysis:
    """Read and analyse the inputs with `options`, showing progress; says skipped records on stderr.

    Raises UsageError if the options contradict each other or name no input.
    """
    from multitracer.model.options import AnalyzeOptions
    from multitracer.parsers.shared.experiment import read

    files, max_unpacked = files_in(inputs), options.pop("max_unpacked")
    if options["from_s"] is not None and options["to_s"] is not None and options["to_s"] <= options["from_s"]:
        raise UsageError(f"--to {options['to_s']:g} is not after --from {options['from_s']:g}")
    asked = AnalyzeOptions(
        roles=_of_inputs(options.pop("roles"), files, "--role"),
        clocks=_of_inputs(options.pop("clocks"), files, "--clock"),
        **options,
    )
    _import_ahead(files)
    with Progress(shown=not quiet()) as progress:
        trace = read(*files, progress=progress, max_unpacked=max_unpacked)
        from multitracer.analysis.pipeline import analyze

        analysis = analyze(trace, asked, progress)
    if asked.anonymize and not quiet():
        for entry, path in zip(analysis.trace.inputs, files, strict=True):
            say(f"{path} is called {entry.path}")
    if not quiet():
        for loss in losses_of(analysis.trace, all_of_them=verbose()):
            say(loss)
    return analysis


def _import_ahead(files: Sequence[str]) -> None:
    """Let a thread load what comes after the reading of long files, 0.4 s: decoding leaves it the interpreter."""
    from multitracer.compute.threads import most

    regular = (file for file in files if stat.S_ISREG(mode_of(file)))
    if most() > 1 and sum(Path(file).stat().st_size for file in regular) >= _LONG_INPUT_BYTES:
        Thread(name="imports", target=_import_all).start()


def _import_all() -> None:
    """First what reading waits for, as nothing else shall then take the interpreter."""
    _load(_DECODING)
    with suppress(Exception):  # whoever needs the module meets the error again
        for name in _AFTER_READING:
            import_module(name)
    for name in _LARGEST_KERNELS:
        _load(name)


def _load(kernel: str) -> None:
    """Load a kernel that an earlier run kept; whoever needs it meets what went wrong again."""
    module, name = kernel.rsplit(".", 1)
    with suppress(Exception):
        getattr(import_module(f"multitracer.{module}"), name).load()


def files_in(inputs: Sequence[str]) -> list[str]:
    """The files that the inputs name, directories expanded without the results of earlier runs."""
    return [path for path in inputs_in(list(inputs)) if path in inputs or not _is_result(Path(path))]


def _is_result(path: Path) -> bool:
    """Whether `analyze` wrote `path`: by its name and what lies in the same or a parent directory."""
    if path.name in COMPARED:
        return _is_ours(path.parent / COMPARED[0])
    places = zip(path.parents, [path.name, *(parent.name for parent in path.parents)], strict=False)
    return any(name in RESULTS and _is_ours(directory / SUMMARY) for directory, name in places)


@cache
def _is_ours(summary: Path) -> bool:
    try:
        with summary.open("rb") as stream:
            return b'"multitracer"' in stream.read(40)
    except OSError:
        return False


def _of_inputs(stated: Sequence[tuple[str, Stated]], files: Sequence[str], option: str) -> dict[str, Stated]:
    """What an option states, by input; UsageError where it states two things of one."""
    found: dict[str, Stated] = {}
    for name, value in stated:
        path = input_named(name, files, option)
        if found.setdefault(path, value) != value:
            raise UsageError(f"{option} {path}: two different things are said of it\nGive it once.")
    return found


def input_named(path: str, files: Sequence[str], option: str) -> str:
    """The input that an option names, by its path or, if only one input has it, by its file name.

    Raises UsageError if there is none, or several.
    """
    same = [file for file in files if file == path or (path != "-" and Path(file).resolve() == Path(path).resolve())]
    same = same or [file for file in files if Path(file).name == path]
    if len(same) != 1:
        how_many = "several inputs have" if same else "no input has"
        raise UsageError(f"{option} {path}: {how_many} that name\nThere are: {', '.join(files)}.")
    return same[0]


def losses_of(trace: Trace, *, all_of_them: bool) -> Iterator[str]:
    """Every kind of skipped record, with record number and byte offset of the first; `all_of_them` with notes."""
    for entry in trace.inputs:
        skips = entry.recording.skips
        shown = skips if all_of_them else skips[:SHOWN_SKIPS]
        for skip in shown:
            record = f", record {skip.record}" if skip.record is not None else ""
            offset = f", byte {skip.offset}" if skip.offset is not None else ""
            times = f" ({skip.count} times)" if skip.count > 1 else ""
            yield f"{entry.path}{record}{offset}: skipped: {skip.reason}{times}"
        if len(skips) > len(shown):
            yield f"{entry.path}: {len(skips) - len(shown)} more kinds of loss (-v names them)"
        if all_of_them:
            yield from (f"{entry.path}: {note}" for note in entry.recording.notes)
            if entry.recording.defect is not None:
                yield "".join(traceback.format_exception(entry.recording.defect))
