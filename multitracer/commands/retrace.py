"""`multitracer retrace`: throughput of link protocols on block-erasure traces, by frame size."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multitracer.commands.messages import Progress, quiet, say, verbosity_options
from multitracer.commands.parameters import (
    MOST_JOBS,
    MOST_NUMBER,
    Number,
    Whole,
    files_to_complete,
    output_option,
    results,
    shortened,
    unpacked_option,
)
from multitracer.model.errors import UsageError
from multitracer.replay.retrace import IDEAL, MODEL_NAMES, RECORDABLE

if TYPE_CHECKING:
    from multitracer.replay.erasures.trace import ErasureTrace
    from multitracer.replay.retrace.result import Retraced
    from multitracer.replay.retrace.settings import Settings

JSON, CSV, PAGE = "retrace.json", "retrace.csv", "retrace.html"
_MOST_SIZES = 10_000
SHORTEST_RTT_MS, LONGEST_RTT_MS = 1e-3, 3_600_000
SHORTEST_BLOCK_MS, LONGEST_BLOCK_MS = 1e-3, 3_000_000
MOST_BYTES = 65_535
MOST_RESAMPLES = 100_000
MOST_RECORDED = 20
"""The most runs that --record writes: each takes hundreds of octets per frame."""

EXAMPLES = """
\b
Examples:
  multitracer retrace trace.txt                      the original analysis, 1 to 50 blocks a frame
  multitracer retrace trace.txt --model rlp          GSM's own protocol, acknowledgements and all
  multitracer retrace a.txt b.txt --even             and each with its losses spread evenly
  multitracer retrace t.txt --model ideal --model rlp --model rlc-am --set rlp.n2=10
  multitracer retrace rlpdump.mobile.txt             the losses that a link log shows
  multitracer retrace t.txt --model rlp --set N2=10 --frame-sizes 30:600:30
  multitracer retrace t.txt --model rlp --frame-sizes 30 --record && multitracer analyze multitracer-out/t-rlp-30
  multitracer retrace lte.txt --block-bytes 100 --block-ms 1 --overhead 4
"""


def _sizes(_: click.Context, __: click.Parameter, value: str | None) -> tuple[int, ...]:
    """Parse FIRST:LAST:STEP, LAST included, or a list with commas: sizes in octets, () if not given."""
    if value is None:
        return ()
    try:
        if ":" in value:
            first, last, step = (whole(part) for part in value.split(":"))
            sizes = range(first, last + 1, step)
        else:
            sizes = sorted({whole(part) for part in value.split(",")})  # type: ignore[assignment]
    except ValueError:
        problem = (
            f"'{shortened(value)}' is not FIRST:LAST:STEP or a list of sizes such as 30,210,1500, each of which "
            f"is at most {MOST_NUMBER}."
        )
        raise click.BadParameter(problem) from None
    if not 1 <= len(sizes) <= _MOST_SIZES or min(sizes) < 1:
        raise click.BadParameter(f"'{shortened(value)}' must name 1 to {_MOST_SIZES} sizes of 1 octet and more.")
    return tuple(sizes)


def whole(text: str) -> int:
    """A whole number of a frame's octets; raises ValueError for any other text."""
    number = int(text[:20])
    if len(text) > 20 or abs(number) > MOST_NUMBER:
        raise ValueError(text)
    return number


def pairs(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Parse KEY=VALUE options to a dict."""
    found = {}
    for value in values:
        key, equals, text = value.partition("=")
        if not (key and equals and text):
            raise click.BadParameter(f"'{shortened(value)}' is not KEY=VALUE.")
        found[key.strip()] = text.strip()
    return found


def geometry_options(function: Any) -> Any:
    """Add the options for size and duration of the radio blocks, which override the trace's."""
    function = click.option(
        "--block-ms", type=Number(SHORTEST_BLOCK_MS, LONGEST_BLOCK_MS), metavar="MS",
        help="How long a block lasts.  [default: the trace's]",
    )(function)  # fmt: skip
    return click.option(
        "--block-bytes", type=Whole(1, MOST_BYTES), metavar="BYTES", help="Octets of a block.  [default: the trace's]"
    )(function)


@click.command("retrace", epilog=EXAMPLES)
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...", shell_complete=files_to_complete)
@click.option("--model", "models", type=click.Choice(MODEL_NAMES), multiple=True, default=[IDEAL], show_default=True,
              help="The link's protocol (repeatable).")  # fmt: skip
@click.option("--frame-sizes", "sizes", callback=_sizes, metavar="FIRST:LAST:STEP",
              help="In octets, ends included, or a list with commas.  [default: 1 to 50 blocks]")  # fmt: skip
@click.option("--overhead", type=Whole(), default=6, show_default=True, metavar="BYTES",
              help="Octets of each frame without user data (ideal).")  # fmt: skip
@click.option("--rtt-ms", type=Number(SHORTEST_RTT_MS, LONGEST_RTT_MS), default=400.0, show_default=True,
              metavar="MS", help="The link's round trip at frames of one block.")  # fmt: skip
@click.option("--set", "parameters", multiple=True, callback=pairs, metavar="KEY=VALUE",
              help="A parameter of the model, with several models MODEL.KEY=VALUE (repeatable).")  # fmt: skip
@geometry_options
@click.option("--reverse", metavar="TRACE", help="What the other direction loses.  [default: its log's, else the same]")
@click.option("--baseline", type=Whole(1), metavar="BYTES",
              help="Size that gain is counted from.  [default: one block]")  # fmt: skip
@click.option("--even", is_flag=True, help="Add each trace with its losses spread evenly.")
@click.option("--bootstrap", "resamples", type=Whole(0, MOST_RESAMPLES), default=1000, show_default=True,
              metavar="N",
              help="Resamples for the intervals; 0 for none.")  # fmt: skip
@click.option("--jobs", type=Whole(1, MOST_JOBS), default=1, show_default=True, metavar="N",
              help="Sizes worked on at once.")  # fmt: skip
@click.option(
    "--record",
    "recorded",
    is_flag=True,
    help=f"Write what instruments on the link would have logged of each run ({' and '.join(RECORDABLE)}).",
)
@output_option
@click.option("--json", "as_json", is_flag=True, help="Print retrace.json instead of the summary for people.")
@click.option("--no-report", is_flag=True, help="Leave retrace.html out.")
@unpacked_option
@verbosity_options
def command(
    traces: tuple[str, ...], output: Path, as_json: bool, no_report: bool, recorded: bool, **options: Any
) -> None:
    """Say what a link would have carried at every frame size, given which radio blocks were lost.

    TRACE is an erasure trace (characters 0 and 1), any log of a link that `analyze` reads, or a directory
    of either.
    """
    from multitracer.replay.retrace.document import document
    from multitracer.replay.retrace.throughput import retrace

    found, reverse = _traces(traces, options)
    asked = _settings(options)
    runs = _recorded(found, reverse, asked) if recorded else []
    place = results(output, "retrace", last=JSON, names=(JSON, CSV, *([] if no_report else [PAGE])))
    with Progress(shown=not quiet()) as progress, place as directory:
        by_model = [retrace(found, one, reverse, progress) for one in asked]
        retraced = [one for of_trace in zip(*by_model, strict=True) for one in of_trace]
        result = document(retraced)
        (directory / JSON).write_text(json.dumps(result, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        _write_csv(result["traces"], directory / CSV)
        for number, (name, run) in enumerate(runs):
            progress(f"recording {name}", number / len(runs))
            run(directory / name)
        if not no_report:
            progress("writing the page", 0.99)
            from multitracer.report.retrace_page import write

            write(retraced, directory / PAGE)
    if not quiet():
        for trace in found:
            for note in trace.notes:
                say(f"{trace.name}: {note}")
    written = [JSON, CSV, *([] if no_report else [PAGE]), *(f"{name}/" for name, _ in runs)]
    click.echo(json.dumps(result) if as_json else _summary(retraced, output, written))


def _traces(paths: Sequence[str], options: dict[str, Any]) -> tuple[list[ErasureTrace], dict[str, ErasureTrace]]:
    """The traces that the arguments name, with the block geometry of the options, and their reverse directions."""
    from multitracer.parsers.shared.source import Room
    from multitracer.replay.erasures.loading import load_all
    from multitracer.replay.erasures.trace import even_name, spread_evenly

    room = Room(options["max_unpacked"])
    found, reverse = load_all(paths, room=room)
    if options["reverse"]:
        others, _ = load_all([options["reverse"]], room=room)
        if len(others) != 1:
            raise UsageError(f"--reverse {options['reverse']} holds {len(others)} traces, one is needed")
        reverse = {trace.name: others[0] for trace in found}
    found = [with_block_options(trace, options) for trace in found]
    reverse = {name: with_block_options(trace, options) for name, trace in reverse.items()}
    if options["even"]:
        found = [shown for trace in found for shown in (trace, spread_evenly(trace))]
        reverse |= {even_name(name): other for name, other in reverse.items()}
    return found, reverse


def with_block_options(trace: ErasureTrace, options: dict[str, Any]) -> ErasureTrace:
    """The trace with the block size and duration of the options, if given."""
    wanted = {name: options[name] for name in ("block_bytes", "block_ms") if options[name] is not None}
    return replace(trace, **wanted)


def _settings(options: dict[str, Any]) -> list[Settings]:
    """The settings of each model."""
    from multitracer.replay.retrace.settings import Settings

    models = list(dict.fromkeys(options["models"]))
    return [
        Settings(
            model, options["sizes"], options["overhead"], options["rtt_ms"], parameters, options["resamples"],
            options["baseline"], options["jobs"],
        )
        for model, parameters in _of_models(models, options["parameters"]).items()
    ]  # fmt: skip


def _of_models(models: Sequence[str], given: dict[str, str]) -> dict[str, dict[str, str]]:
    """The parameters of each model, from MODEL.KEY, or KEY if there is only one model."""
    found: dict[str, dict[str, str]] = {model: {} for model in models}
    for key, value in given.items():
        model, dot, name = key.partition(".")
        if not dot and len(models) == 1:
            model, name = models[0], key
        if model not in found or not name:
            raise UsageError(f"--set {key}: with several models give MODEL.KEY=VALUE\nThere are: {', '.join(models)}.")
        found[model][name] = value
    return found


def _recorded(
    traces: Sequence[ErasureTrace], reverse: dict[str, ErasureTrace], asked: Sequence[Settings]
) -> list[tuple[str, Callable[[Path], object]]]:
    """A directory name and a function that writes the recording there, for every trace, model and size."""
    from multitracer.replay.erasures.loading import file_name
    from multitracer.replay.record.recording import recordable, recording_of

    wanted = [(one, trace, size) for one in asked for trace in traces for size in one.sizes(trace)]
    for one in asked:
        recordable(one.model)
    if len(wanted) > MOST_RECORDED:
        raise UsageError(f"--record of {len(wanted)} runs; at most {MOST_RECORDED}: name some --frame-sizes")
    return [
        (f"{file_name(trace.name)}-{one.model}-{size}", recording_of(trace, reverse.get(trace.name, trace), one, size))
        for one, trace, size in wanted
    ]


def _write_csv(rows: list[dict[str, Any]], path: Path) -> None:
    """Write retrace.csv: one line per trace and frame size."""
    from multitracer.export.csv import not_a_formula

    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["name", "model", "frame_bytes", "throughput_bps", "ci95_low_bps", "ci95_high_bps"])
        for row in rows:
            for size, bps in row["throughput_bps"].items():
                low, high = row["ci95_bps"][size] or (None, None)
                writer.writerow([not_a_formula(row["name"]), row["model"], size, bps, low, high])


def _summary(results: Sequence[Retraced], output: Path, written: Sequence[str]) -> str:
    return "\n".join([*(_result_text(one) for one in results), "", ", ".join(str(output / name) for name in written)])


def _not_told_apart(one: Retraced) -> str:
    """The sizes that may as well be the best, in words; empty where that is not known."""
    bounds = one.optimal_ci95_bytes
    return "" if bounds is None else f"; may be the best (95 %): {bounds[0]} to {bounds[1]}"


def _result_text(one: Retraced) -> str:
    """The lines of the summary for one trace and model."""
    trace = one.trace
    head = (
        f"{trace.name}: {trace.minutes:.1f} min, {len(trace.erased):,} blocks of {trace.block_bytes} octets, "
        f"{100 * trace.count / len(trace.erased):.2f} % lost, {one.settings.model}"
    )
    if one.optimal_frame_bytes is None or one.plateau is None:
        return f"{head}\n  nothing came through at any frame size{_why(one)}"
    best = one.exact_bps[one.best]
    gain = "which carried nothing" if one.gain_percent is None else f"{one.gain_percent:+.2f} %{_interval(one)}"
    lines = [
        head,
        f"  best frame: {one.optimal_frame_bytes} octets, {float(best or 0) / 1000:.2f} kbit/s; "
        f"against {one.sizes[one.baseline]} octets: {gain}",
        f"  within 1 % of it: {one.plateau[0]} to {one.plateau[1]} octets{_not_told_apart(one)}",
    ]
    gains = one.by_minute.gains()
    if one.by_minute.octets.shape[1] > 1 and gains["hindsight_gain_percent"] is not None:
        before = gains["minute_before_gain_percent"]
        lines.append(
            f"  a size chosen anew each minute: {gains['hindsight_gain_percent']:+.2f} % with hindsight"
            + ("" if before is None else f", {before:+.2f} % from the minute before")
        )
    return "\n".join(lines + [f"  {sentence}" for sentence in one.remarks])


def _interval(one: Retraced) -> str:
    bounds = one.gain_ci95_percent
    return f" (95 %: {bounds[0]:+.2f} to {bounds[1]:+.2f})" if bounds else ""


def _why(one: Retraced) -> str:
    reasons = list(dict.fromkeys(one.ended.values()))
    return f": {reasons[0]}" if reasons else ""
