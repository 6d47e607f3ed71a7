"""`multitracer reproduce`: the experiments of five papers, what they published beside our runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multitracer.commands.messages import Progress, quiet, verbosity_options
from multitracer.commands.parameters import MOST_JOBS, Whole, output_option, results
from multitracer.commands.simulate import jobs_by_default
from multitracer.model.errors import UsageError
from multitracer.replay.papers import PAPERS, SCALES

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.commands.simulate_task import Spread
    from multitracer.replay.emulate.delivery_order import Measured
    from multitracer.replay.papers.figures import Figure
    from multitracer.replay.papers.results import Point
    from multitracer.replay.simulate.sweep import KeptRuns, Run

JSON, RUNS, PAGE, EMULATED = "reproduce.json", "runs.parquet", "reproduce.html", "emulated.html"
_EMULABLE = ("delivery-order",)
"""The papers that `--emulate` puts under this machine's TCP."""
_EMULATED, _DECIDED, _WRITTEN = 0.8, 0.97, 0.99
"""How far the progress is when emulated sessions are done, when the other runs are, and when the verdicts are."""

MOST_PAIRS = 16

EXAMPLES = """
\b
Examples:
  multitracer reproduce                                     all five papers, with few seeds and short transfers
  multitracer reproduce rlc-sack asr                        two of them
  multitracer reproduce rlc-sack --scale paper -o full      as published; stopped, it goes on where it was
  multitracer reproduce asr --alternatives A9b,A9c          other readings of the text beside the defaults
  multitracer reproduce --scale paper --cluster tcp://host:8786 --json
  sudo multitracer reproduce delivery-order --emulate       its sessions under this machine's TCP too, in real time
"""


def _names(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    """ID,ID,..."""
    found = tuple(part.strip() for part in value.split(",")) if value is not None else ()
    if not all(found):
        raise click.BadParameter("an empty ID; give ID,ID,... or beside or all.")
    return tuple(dict.fromkeys(found))


@click.command("reproduce", epilog=EXAMPLES)
@click.argument("papers", nargs=-1, type=click.Choice(PAPERS), metavar="[PAPER]...")
@click.option("--scale", type=click.Choice(SCALES), default=SCALES[0], show_default=True,
              help="As many seeds and octets as published, or few: quick verdicts enter no score.")  # fmt: skip
@click.option("--alternatives", callback=_names, metavar="ID,...|beside|all",
              help="Other readings of what a text leaves open, each run alone beside the defaults.")  # fmt: skip
@click.option("--jobs", type=Whole(1, MOST_JOBS), metavar="N", help="Runs at once.  [default: one a processor]")
@click.option("--cluster", metavar="ADDRESS", help="A Dask scheduler, whose workers run them.")
@click.option("--emulate", is_flag=True,
              help="Paper 002 (delivery-order) under this machine's own TCP too, in real time.")  # fmt: skip
@click.option("--pairs", type=Whole(1, MOST_PAIRS), default=1, show_default=True, metavar="N",
              help="With --emulate: sessions at once; those that were late are run again alone.")  # fmt: skip
@output_option
@click.option("--json", "as_json", is_flag=True, help="Print reproduce.json instead of the text for people.")
@verbosity_options
def command(papers: tuple[str, ...], scale: str, output: Path, as_json: bool, **options: Any) -> None:
    """Run the experiments of published papers again, and say which of their statements our runs reproduce.

    PAPER is one of rlc-sack, rlc-web, delivery-order, asr and multitracer; all without one. How verdicts are reached
    is in docs/reproduction.md.
    """
    from multitracer.commands.simulate_task import Spread
    from multitracer.replay.papers.alternatives import chosen
    from multitracer.replay.papers.document import text

    wanted = tuple(paper for paper in PAPERS if paper in (papers or PAPERS))
    choices = chosen(wanted, options["alternatives"])
    spread = Spread(options["jobs"] or jobs_by_default(), options["cluster"])
    if options["emulate"] and wanted != _EMULABLE:
        raise UsageError(f"--emulate is of {_EMULABLE[0]} alone\nName this paper and no other.")
    pairs = options["pairs"] if options["emulate"] else 0
    document = reproduce(choices, scale, _runners(), spread, output, pairs)
    written = ", ".join(str(output / name) for name in _files(pairs))
    click.echo(json.dumps(document, allow_nan=False) if as_json else f"{text(document)}\n\n{written}")


def _files(pairs: int) -> tuple[str, ...]:
    """What is written, with or without emulated sessions."""
    return (JSON, RUNS, PAGE, *([EMULATED] if pairs else []))


def _runners() -> Mapping[str, Run]:
    """What runs a seed, by tool."""
    from multitracer.replay.papers.results import TOOLS

    return TOOLS


def reproduce(
    choices: Mapping[str, tuple[str, ...]], scale: str, runners: Mapping[str, Run], spread: Spread, output: Path,
    pairs: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """Run papers with alternatives beside the defaults, and write the results; returns the document.

    With `pairs` also delivery-order's sessions under this machine's TCP, so many at once.
    """
    from multitracer.commands.emulated_sessions import emulated
    from multitracer.commands.simulate_task import kept_in
    from multitracer.model.commit import commit
    from multitracer.replay.papers.document import document
    from multitracer.replay.papers.plan import plan
    from multitracer.replay.papers.results import points
    from multitracer.report.reproduce_page import write

    code = commit()
    made = {paper: points(plan(paper, scale, chosen), code) for paper, chosen in choices.items()}
    place = results(output, "reproduce", last=JSON, names=_files(pairs))
    with Progress(shown=not quiet()) as progress, place as directory:
        kept = kept_in(output)
        sessions = emulated(scale, kept, pairs, code, _part(progress, 0.0, _EMULATED)) if pairs else []
        begun = _EMULATED if pairs else 0.0
        everything = [point for of_paper in made.values() for point in of_paper]
        _run(everything, kept, runners, spread, _part(progress, begun, _DECIDED - begun))
        papers, figures, runs = _decided(made, choices, scale, kept.results, progress)
        found = document(scale, code, papers)
        progress("writing the page", _WRITTEN)
        if sessions:
            found["emulated"] = _with_emulated(sessions, runs, scale, directory / EMULATED)
        (directory / JSON).write_text(json.dumps(found, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        runs.to_parquet(directory / RUNS, index=False)
        write(found, figures, directory / PAGE)
    return found


def _with_emulated(sessions: Sequence[Measured], runs: pd.DataFrame, scale: str, page: Path) -> dict[str, Any]:
    """Write the page of emulated sessions; returns what it shows."""
    from multitracer.replay.papers.runs import runs_of
    from multitracer.report.emulated_document import document
    from multitracer.report.emulated_page import write

    found = document(sessions, runs_of(_EMULABLE[0], runs), scale)
    write(found, page)
    return found


def _run(
    everything: Sequence[Point], kept: KeptRuns, runners: Mapping[str, Run], spread: Spread,
    progress: Callable[[str, float], object],
) -> None:  # fmt: skip
    """Run what is not kept yet, tool by tool, and leave the kept runs in one order."""
    from multitracer.commands.simulate_task import run_all
    from multitracer.replay.papers.results import tasks

    wanted = {tool: tasks(everything, tool) for tool in runners}
    count, before = sum(map(len, wanted.values())), 0
    for tool, of_tool in wanted.items():
        share, begun = len(of_tool) / max(count, 1), before / max(count, 1)
        run_all(of_tool, kept, runners[tool], spread, _part(progress, begun, share))
        before += len(of_tool)
    ours = dict.fromkeys(task.key for of_tool in wanted.values() for task in of_tool)
    kept.only([*ours, *(key for key in kept.results if key not in ours)])


def _part(progress: Callable[[str, float], object], begun: float, share: float) -> Callable[[str, float], object]:
    """The progress of a part of the whole."""
    return lambda step, done: progress(step, begun + share * done)


def _decided(
    made: Mapping[str, Sequence[Point]], choices: Mapping[str, tuple[str, ...]], scale: str, kept: Mapping[str, Any],
    progress: Callable[[str, float], object],
) -> tuple[list[dict[str, Any]], list[Figure], pd.DataFrame]:  # fmt: skip
    """Every paper decided; the figures of all, and the table of the runs."""
    import pandas as pd

    from multitracer.replay.papers.document import paper_document
    from multitracer.replay.papers.figures import figures
    from multitracer.replay.papers.folder import first_run
    from multitracer.replay.papers.results import refusals, table
    from multitracer.replay.papers.runs import runs_of

    papers, drawn, tables = [], [], []
    for paper, points in made.items():
        progress(f"deciding {paper}", _DECIDED)
        runs, refused = table(points, kept), refusals(points)
        before = first_run(paper) if scale == "paper" else None
        papers.append(paper_document(paper, runs, scale, choices[paper], refused=refused, first_run=before))
        drawn += figures(paper, runs_of(paper, runs))
        tables.append(runs)
    return papers, drawn, pd.concat(tables, ignore_index=True)
