"""`multitracer simulate`: TCP and workloads over a modelled link, many seeds and variants."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from multitracer.commands.messages import Progress, quiet, say, verbosity_options
from multitracer.commands.parameters import MOST_JOBS, Whole, files_to_complete, output_option, results, shortened
from multitracer.commands.retrace import pairs
from multitracer.model.errors import UsageError

if TYPE_CHECKING:
    from multitracer.commands.simulate_task import Spread
    from multitracer.replay.simulate.sweep import Run
    from multitracer.replay.simulate.variants import Plan

JSON, CSV, PAGE = "simulate.json", "simulate.csv", "simulate.html"
MOST_SEEDS = 10_000
LARGEST_SEED = (1 << 53) - 1 - MOST_SEEDS
SHOWN = ("throughput_bps", "page_goodput_bps", "completion_s", "media_delay_ms", "tcp_retransmissions", "tcp_timeouts")
"""The metrics that the terminal shows of each variant, those that it has."""
_MOST_SHOWN = 40

EXAMPLES = """
\b
Examples:
  multitracer simulate --list                                       the scenarios that are built in
  multitracer simulate raw-file-transfer --seeds 30                 means with their intervals, and curves
  multitracer simulate sr-file-transfer --set workload.file_bytes=1000000 --seeds 5
  multitracer simulate raw-file-transfer --vary link.protocol=raw,sr,rlc-am --vary tcp.variant=reno,sack
  multitracer simulate mine.toml --seeds 100 --jobs 8 -o out        stopped, it goes on where it was
  multitracer simulate mine.toml --cluster tcp://host:8786 --json
"""


def _lists(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """KEY=VALUE,VALUE,..."""
    found: dict[str, tuple[str, ...]] = {}
    for key, text in pairs(context, parameter, values).items():
        found[key] = tuple(part.strip() for part in text.split(","))
        if not all(found[key]):
            raise click.BadParameter(f"'{shortened(key)}={shortened(text)}' has an empty value.")
    return found


def jobs_by_default() -> int:
    """One a processor."""
    from multitracer.compute.threads import processors

    return min(processors(), MOST_JOBS)


def scenarios_or_files(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Has the shell complete the name of a built-in scenario, else of a file."""
    from multitracer.replay.simulate.scenario_files import names

    built_in = [CompletionItem(name) for name in names() if name.startswith(begun)]
    return built_in or files_to_complete(context, parameter, begun)


@click.command("simulate", epilog=EXAMPLES)
@click.argument("scenario", required=False, shell_complete=scenarios_or_files)
@click.option("--list", "listing", is_flag=True, help="List the scenarios that are built in.")
@click.option("--set", "settings", multiple=True, callback=pairs, metavar="KEY=VALUE",
              help="A key of the scenario (repeatable).")  # fmt: skip
@click.option("--vary", multiple=True, callback=_lists, metavar="KEY=VALUE,VALUE,...",
              help="Values that a key has one after the other (repeatable: every combination).")  # fmt: skip
@click.option("--seeds", type=Whole(1, MOST_SEEDS), metavar="N",
              help="How many seeds.  [default: the scenario's, else 1]")  # fmt: skip
@click.option("--seed", "first", type=Whole(0, LARGEST_SEED), default=1, show_default=True, metavar="FIRST",
              help="The first one.")  # fmt: skip
@click.option("--jobs", type=Whole(1, MOST_JOBS), metavar="N", help="Runs at once.  [default: one a processor]")
@click.option("--cluster", metavar="ADDRESS", help="A Dask scheduler, whose workers run them.")
@click.option("--record", type=click.Path(path_type=Path), metavar="DIR",
              help="Write what instruments would have logged of one seed, and the truth.")  # fmt: skip
@output_option
@click.option("--json", "as_json", is_flag=True, help="Print simulate.json instead of the summary for people.")
@click.option("--no-report", is_flag=True, help="Leave simulate.html out.")
@verbosity_options
def command(scenario: str | None, listing: bool, output: Path, as_json: bool, no_report: bool, **options: Any) -> None:
    """Say what TCP would have carried over a modelled link.

    SCENARIO is a TOML file or the name of a built-in one. Its keys are described in docs/scenarios.md.
    """
    if listing:
        click.echo(_listed(as_json=as_json))
        return
    if scenario is None:
        raise UsageError("which SCENARIO?\n`multitracer simulate --list` names those that are built in.")
    plan, seeds = _plan(scenario, options)
    from multitracer.commands.simulate_task import Spread

    spread = Spread(options["jobs"] or jobs_by_default(), options["cluster"])
    began = time.monotonic()
    names = (JSON, CSV) if no_report else (JSON, CSV, PAGE)
    run = _runner() if options["record"] is None else _recorded(plan, seeds, options, output)
    document = simulate(plan, seeds, run, spread, output, names)
    document["wall_s"] = round(time.monotonic() - began, 3)
    written = ", ".join(str(output / name) for name in names)
    click.echo(json.dumps(document, allow_nan=False) if as_json else f"{_summary(document)}\n\n{written}")


def _listed(*, as_json: bool) -> str:
    """The built-in scenarios, a line each."""
    from multitracer.replay.simulate.scenario_files import built_in

    found = {name: one.about for name, one in built_in().items()}
    if as_json:
        return json.dumps([{"name": name, "about": about} for name, about in found.items()])
    width = max(map(len, found))
    return "\n".join(f"{name:{width}}  {about}" for name, about in found.items())


def _plan(scenario: str, options: dict[str, Any]) -> tuple[Plan, range]:
    """The variants that are asked for, and the seeds; keys without effect are said."""
    from multitracer.replay.simulate.scenario_files import load
    from multitracer.replay.simulate.variants import plan

    described = load(scenario)
    made = plan(described, options["settings"], options["vary"])
    if made.unused and not quiet():
        say(f"without effect in this scenario: {', '.join(made.unused)}")
    count = options["seeds"] or (described.seeds if options["record"] is None else None) or 1
    return made, range(options["first"], options["first"] + count)


def _runner() -> Run:
    """The function that runs one seed."""
    from multitracer.replay.simulate.run import run

    return run


def _recorded(plan: Plan, seeds: Sequence[int], options: dict[str, Any], output: Path) -> Run:
    """Record the one run that there is; gives what runs it again: its metrics, which are known then."""
    directory: Path = options["record"]
    if len(plan.variants) > 1 or len(seeds) > 1:
        raise UsageError(f"--record takes one run: there are {len(plan.variants)} variants and {len(seeds)} seeds")
    if options["cluster"] is not None:
        raise UsageError("--record is for runs on this machine\nLeave --cluster out.")
    if directory.resolve() == output.resolve():
        raise UsageError(f"{directory} cannot have both the results and the recording\nGive --record another DIR.")
    from multitracer.replay.record.simulation import TRUTH, record_simulation

    made = results(directory, "simulate --record", last=TRUTH, names=(TRUTH,))
    with Progress(shown=not quiet()) as progress, made as place:
        progress("recording", 0.0)
        found = record_simulation(plan.variants[0].scenario, seeds[0], place)
    return lambda *_: found


def simulate(
    plan: Plan, seeds: Sequence[int], run: Run, spread: Spread, output: Path, names: Sequence[str]
) -> dict[str, Any]:
    """Run every seed of every variant and write the results; returns the document, as it is in simulate.json."""
    from multitracer.commands.simulate_task import kept_in, run_all
    from multitracer.replay.simulate.sweep import document, runs_of, tasks, why_ended

    wanted = tasks(plan, seeds)
    place = results(output, "simulate", last=JSON, names=names)
    with Progress(shown=not quiet()) as progress, place as directory:
        kept = kept_in(output)
        run_all(wanted, kept, run, spread, progress)
        runs = runs_of(plan, seeds, kept.results)
        made = document(plan, seeds, runs)
        (directory / JSON).write_text(json.dumps(made, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        _write_csv(plan, seeds, runs, directory / CSV)
        if PAGE in names:
            progress("writing the page", 0.99)
            from multitracer.report.simulate_page import write

            write(plan, made, directory / PAGE)
        kept.only([task.key for task in wanted])
    for sentence in [] if quiet() else why_ended(plan, runs):
        say(sentence)
    return made


def _write_csv(plan: Plan, seeds: Sequence[int], runs: Sequence[Sequence[dict[str, Any]]], path: Path) -> None:
    """Write simulate.csv: one line for each metric of each run; a list's values are separated by blanks."""
    from multitracer.export.csv import not_a_formula

    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["variant", "seed", "metric", "value"])
        for variant, of_one in zip(plan.variants, runs, strict=True):
            name = not_a_formula(variant.scenario.name)
            for seed, run in zip(seeds, of_one, strict=True):
                writer.writerows([name, seed, metric, _cell(value)] for metric, value in run.items())


def _cell(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else value


def _summary(document: dict[str, Any]) -> str:
    """The means of the first metrics, a line a variant."""
    variants = document.get("variants", [{"name": document["scenario"], "metrics": document["metrics"]}])
    lines = [f"{one['name']}: {_metrics_text(one['metrics'])}" for one in variants[:_MOST_SHOWN]]
    left = len(variants) - len(lines)
    seeds = f"{document['seeds']} seed{'s' if document['seeds'] > 1 else ''}, mean and 95 % interval:"
    return "\n".join([seeds, *lines, *([f"and {left} more variants"] if left else [])])


def _metrics_text(metrics: dict[str, Any]) -> str:
    shown = [_metric_text(name, metrics[name]) for name in SHOWN if metrics.get(name)]
    return "; ".join(shown) or "nothing was measured"


def _metric_text(name: str, one: dict[str, Any]) -> str:
    words, _, unit = name.rpartition("_")
    scale, said = {"bps": (1000, " kbit/s"), "s": (1, " s"), "ms": (1, " ms")}.get(unit, (1, ""))
    called = (words if said else name).replace("_", " ").replace("tcp", "TCP")
    width = "" if one["ci95"] is None else f" ± {one['ci95'] / scale:.3g}"
    return f"{called} {one['mean'] / scale:,.4g}{width}{said}"
