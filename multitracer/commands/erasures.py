"""`multitracer erasures`: extract block-erasure traces from logs, generate, fit and describe them."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from multitracer.commands.messages import Progress, quiet, say, verbosity_options
from multitracer.commands.parameters import (
    Number,
    Whole,
    files_to_complete,
    output_option,
    results,
    unpacked_option,
)
from multitracer.commands.retrace import geometry_options, pairs
from multitracer.replay.channels import CHANNELS

if TYPE_CHECKING:
    from multitracer.replay.channels.recommendation import Comparison
    from multitracer.replay.erasures.trace import ErasureTrace

FIT, DESCRIBE, PAGE = "fit.json", "describe.json", "describe.html"
MOST_BLOCKS = 1_000_000_000
MOST_SEED = (1 << 63) - 1
SHORTEST_MINUTES, LONGEST_MINUTES = 1e-9, 1e9
_SHOWN_PARAMETERS = 4
EXAMPLES = """
\b
Examples:
  multitracer erasures extract rlpdump.mobile.txt -o traces
  multitracer erasures describe traces/*.txt
  multitracer erasures generate gilbert --set p_bad=0.004 --set p_good=0.08 --minutes 215
  multitracer erasures fit trace.txt
"""


@click.group("erasures", epilog=EXAMPLES)
def command() -> None:
    """Block-erasure traces: which blocks of a radio link were lost.

    A trace is text of the characters 0 (received) and 1 (lost), or packed to a bit a block.
    """


_traces = click.argument("traces", nargs=-1, required=True, metavar="TRACE...", shell_complete=files_to_complete)
_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
_packed_option = click.option("--packed", is_flag=True, help="Write a bit a block instead of text.")

EXTRACT_EXAMPLES = """
\b
Examples:
  multitracer erasures extract rlpdump.mobile.txt      what the network sent and the mobile lost
  multitracer erasures extract recordings/ -o traces   both ends' logs of an RLC link
"""


@command.command("extract", epilog=EXTRACT_EXAMPLES)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...", shell_complete=files_to_complete)
@_packed_option
@unpacked_option
@_json_option
@output_option
@verbosity_options
def extract(inputs: tuple[str, ...], packed: bool, max_unpacked: int | None, as_json: bool, output: Path) -> None:
    """Write the erasure trace of each direction that link logs tell of.

    RLP: the grid of blocks as the receiving end logged it, frames whose check failed are lost. RLC: the PDUs
    that one end sent, lost where the other end never logged them.
    """
    from multitracer.parsers.shared.source import Room
    from multitracer.replay.erasures.loading import load_all

    found, _ = load_all(inputs, logs_first=True, room=Room(max_unpacked))
    with results(output, "erasures extract", adds=True) as directory:
        written = [output / save(trace, directory, packed=packed).name for trace in found]
    for trace in found:
        for note in trace.notes if not quiet() else ():
            say(f"{trace.name}: {note}")
    rows = [_row(trace, path) for trace, path in zip(found, written, strict=True)]
    click.echo(json.dumps({"traces": rows}) if as_json else "\n".join(map(_line, rows)))


def save(trace: ErasureTrace, output: Path, *, packed: bool) -> Path:
    """Write a trace to a file of its name in the directory; returns the path."""
    from multitracer.parsers import erasures, erasures_packed
    from multitracer.replay.erasures.loading import file_name
    from multitracer.replay.erasures.trace import ms_text

    block_ms = erasures.UNKNOWN if trace.block_ms is None else ms_text(trace.block_ns)
    header = {"block_bytes": trace.block_bytes, "block_ms": block_ms, "name": trace.name}
    path = output / f"{file_name(trace.name)}.{'bin' if packed else 'txt'}"
    if packed:
        with path.open("wb") as stream:
            erasures_packed.write(stream, trace.erased, header)
    else:
        with path.open("w", encoding="utf-8") as text:
            erasures.write(text, trace.erased, header)
    return path


GENERATE_EXAMPLES = """
\b
Examples:
  multitracer erasures generate uniform --set probability=0.02 --minutes 60
  multitracer erasures generate gilbert --set p_bad=0.004 --set p_good=0.08 --seed 7
  multitracer erasures generate two-state --set good_s=10 --set bad_s=0.5 --set good_ber=1e-6 --set bad_ber=1e-2
  multitracer erasures generate markov --set probabilities=0.01,0.3,0.15,0.6
  multitracer erasures generate examples/channels/bad.toml --seed 3
"""


_CHANNEL_NAMES = [entry.name + (f" ({entry.note})" if entry.note else "") for entry in CHANNELS]
GENERATE_HELP = f"""Make an erasure trace by a model of a channel.

MODEL is {", ".join(_CHANNEL_NAMES[:-1])} or {_CHANNEL_NAMES[-1]}; or a TOML file with the keys model, minutes and the
model's parameters.
"""


def models_or_files(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Has the shell complete the name of a model, else of a file."""
    models = [CompletionItem(name) for name in _CHANNEL_NAMES if name.startswith(begun)]
    return models or files_to_complete(context, parameter, begun)


@command.command("generate", epilog=GENERATE_EXAMPLES, help=GENERATE_HELP)
@click.argument("model", metavar="MODEL|FILE.toml", shell_complete=models_or_files)
@click.option("--set", "parameters", multiple=True, callback=pairs, metavar="KEY=VALUE",
              help="A parameter of the model (repeatable).")  # fmt: skip
@click.option("--blocks", type=Whole(1, MOST_BLOCKS), metavar="N", help="How many blocks.")
@click.option("--minutes", type=Number(SHORTEST_MINUTES, LONGEST_MINUTES), metavar="MINUTES",
              help="How long, where --blocks is not given.  [default: 60]")  # fmt: skip
@click.option("--seed", type=Whole(0, MOST_SEED), default=0, show_default=True, metavar="N",
              help="The same seed makes the same trace.")  # fmt: skip
@geometry_options
@click.option("--name", metavar="NAME", help="The trace's name.  [default: the model's and the seed]")
@_packed_option
@_json_option
@output_option
@verbosity_options
def generate(model: str, packed: bool, as_json: bool, output: Path, **options: Any) -> None:
    """Make an erasure trace by a model of a channel."""
    from multitracer.replay.channels.generation import generate_trace

    trace = generate_trace(model, **options)
    with results(output, "erasures generate", adds=True) as directory:
        written = save(trace, directory, packed=packed).name
    row = _row(trace, output / written)
    click.echo(json.dumps(row) if as_json else _line(row))


FIT_EXAMPLES = """
\b
Examples:
  multitracer erasures fit trace.txt                every model, how well each fits, and which to take
  multitracer erasures fit trace.txt --json | jq .traces[0].recommended
"""


@command.command("fit", epilog=FIT_EXAMPLES)
@_traces
@unpacked_option
@_json_option
@output_option
@verbosity_options
def fit(traces: tuple[str, ...], max_unpacked: int | None, as_json: bool, output: Path) -> None:
    """Fit every model of a channel to a trace, compare them, and recommend one.

    Writes fit.json: parameters with standard errors, likelihood, how far the lengths of bursts and gaps are
    from the trace's.
    """
    from multitracer.parsers.shared.source import Room
    from multitracer.replay.channels.recommendation import compare
    from multitracer.replay.erasures.loading import load_all

    found, _ = load_all(traces, room=Room(max_unpacked))
    rows = []
    with Progress(shown=not quiet()) as progress, results(output, "erasures fit", last=FIT, names=[FIT]) as directory:
        for place, trace in enumerate(found):
            progress(f"fitting {trace.name}", place / len(found))
            rows.append(fit_row(trace, compare(trace.erased, trace.block_bytes, trace.known_ms)))
        document = {"traces": rows}
        (directory / FIT).write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    click.echo(json.dumps(document) if as_json else "\n\n".join(map(_fit_lines, rows)) + f"\n\n{output / FIT}")


def fit_row(trace: ErasureTrace, found: Comparison) -> dict[str, Any]:
    """One trace's entry in fit.json."""
    return {
        "name": trace.name, "blocks": found.blocks, "recommended": found.recommended, "because": found.reason,
        "not_told_apart": found.alike, "not_fitted": found.unfitted,
        "models": [
            {
                "model": one.name,
                "parameters": {name: asdict(estimate) for name, estimate in one.fit.estimates.items()},
                "free_parameters": one.fit.free_parameters, "log_likelihood": one.fit.log_likelihood,
                "log_likelihood_per_block": one.log_likelihood_per_block, "bic": one.bic,
                "burst_distance": one.burst_distance, "gap_distance": one.gap_distance,
            }
            for one in found.assessments
        ],
    }  # fmt: skip


def _fit_lines(row: dict[str, Any]) -> str:
    head = f"{row['name']}: {row['recommended']}\n  {row['because']}\n"
    lines = [f"  {'model':16} {'BIC':>14} {'bursts':>8} {'gaps':>8}  parameters"]
    for one in row["models"]:
        distances = ["?" if one[key] is None else f"{one[key]:.3f}" for key in ("burst_distance", "gap_distance")]
        named = [f"{name}={_with_error(**estimate)}" for name, estimate in one["parameters"].items()]
        more = f", ... ({len(named)})" if len(named) > _SHOWN_PARAMETERS else ""
        shown = ", ".join(named[:_SHOWN_PARAMETERS]) + more
        lines.append(f"  {one['model']:16} {one['bic']:14,.1f} {distances[0]:>8} {distances[1]:>8}  {shown}")
    why = [f"  {name}: not fitted, {reason}" for name, reason in row["not_fitted"].items()]
    return head + "\n".join(lines + why)


def _with_error(value: float, standard_error: float | None) -> str:
    return f"{value:.4g}" + (f" ± {standard_error:.1g}" if standard_error else "")


DESCRIBE_EXAMPLES = """
\b
Examples:
  multitracer erasures describe trace.txt           in words, as JSON and as a page with plots
  multitracer erasures describe rlpdump.mobile.txt  the losses that a link log shows
"""


@command.command("describe", epilog=DESCRIBE_EXAMPLES)
@_traces
@click.option("--no-report", is_flag=True, help="Leave describe.html out.")
@unpacked_option
@_json_option
@output_option
@verbosity_options
def describe(traces: tuple[str, ...], no_report: bool, max_unpacked: int | None, as_json: bool, output: Path) -> None:
    """Say how a trace loses blocks: its error rate, bursts and gaps, memory, and where the channel changed.

    Writes describe.json and describe.html.
    """
    from multitracer.parsers.shared.source import Room
    from multitracer.replay.erasures.description import describe as described
    from multitracer.replay.erasures.loading import load_all

    found, _ = load_all(traces, room=Room(max_unpacked))
    place = results(output, "erasures describe", last=DESCRIBE, names=[DESCRIBE] + [PAGE] * (not no_report))
    with Progress(shown=not quiet()) as progress, place as directory:
        descriptions = []
        for number, trace in enumerate(found):
            progress(f"describing {trace.name}", number / len(found))
            descriptions.append(described(trace.erased, trace.block_bytes, trace.known_ms))
        rows = [
            {"name": trace.name, **asdict(one), "notes": list(trace.notes)}
            for trace, one in zip(found, descriptions, strict=True)
        ]
        document = {"traces": rows}
        (directory / DESCRIBE).write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        if not no_report:
            progress("writing the page", 0.95)
            from multitracer.report.erasures_page import write

            write(found, descriptions, directory / PAGE)
    written = ", ".join(str(output / name) for name in [DESCRIBE] + [PAGE] * (not no_report))
    click.echo(json.dumps(document) if as_json else "\n\n".join(map(_description_lines, rows)) + f"\n\n{written}")


def _description_lines(row: dict[str, Any]) -> str:
    low, high = row["error_rate_low"], row["error_rate_high"]
    between = "" if low is None else f" (95 %: {100 * low:.3f} to {100 * high:.3f})"
    memory = row["correlation_blocks"]
    lines = [
        f"{row['name']}: {row['blocks']:,} blocks of {row['block_bytes']:g} octets every {row['block_ms']:g} ms, "
        f"{row['duration_s'] / 60:.1f} min",
        f"  lost: {row['erased_blocks']:,} blocks, {100 * row['error_rate']:.3f} %{between}",
        f"  bursts: {_lengths_line(row['bursts'])}",
        f"  gaps:   {_lengths_line(row['gaps'])}",
    ]
    if memory:
        lines.append(f"  memory: {memory:.1f} blocks tell as much as one independent block")
    changed = len(row["stretches"]) - 1
    lines.append(f"  the channel changed {changed} times" if changed else "  no change of the channel is to be seen")
    for part in row["stretches"] if changed else ():
        lines.append(f"    {part['start_s']:.1f} to {part['end_s']:.1f} s: {100 * part['error_rate']:.3f} % lost")
    return "\n".join(lines + [f"  {note}" for note in row["notes"]])


def _lengths_line(found: dict[str, Any]) -> str:
    if not found["count"]:
        return "none"
    middle, long = found["quantiles_blocks"]["50"], found["quantiles_blocks"]["95"]
    return (
        f"{found['count']:,}, {found['mean_blocks']:.2f} blocks on average, half up to {middle}, "
        f"95 % up to {long}, longest {found['max_blocks']:,}"
    )


def _row(trace: ErasureTrace, path: Path) -> dict[str, Any]:
    return {
        "name": trace.name, "path": str(path), "blocks": len(trace.erased), "block_bytes": trace.block_bytes,
        "block_ms": trace.block_ms, "erased": trace.count, "error_rate": trace.count / len(trace.erased),
    }  # fmt: skip


def _line(row: dict[str, Any]) -> str:
    every = "" if row["block_ms"] is None else f" every {row['block_ms']:g} ms"
    return (
        f"{row['path']}: {row['blocks']:,} blocks of {row['block_bytes']} octets{every}, "
        f"{100 * row['error_rate']:.2f} % lost"
    )
