"""`multitracer analyze`: read recordings of a transfer, write the summary, tables, series and the report."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multitracer import parsers
from multitracer.commands.browser import open_page
from multitracer.commands.messages import Progress, quiet, say, verbosity_options
from multitracer.commands.parameters import (
    EXPORTED,
    check_copies,
    input_options,
    output_option,
    prepare,
    read_and_analyze,
)
from multitracer.commands.terminal import print_summary
from multitracer.model.errors import InputError, NoUsableInputError, SkippedInputError, UsageError

if TYPE_CHECKING:
    from multitracer.analysis.display_filters import DisplayFilters
    from multitracer.analysis.summary import Summary
    from multitracer.model.analysis import Analysis

EXAMPLES = """
\b
Examples:
  multitracer analyze examples/rlp-reset        a folder with all that was recorded
  multitracer analyze snd.pcap rcv.pcap.gz      both ends' captures
  multitracer analyze snd.pcap --link-rate 9600 one capture and the link's rate
  multitracer analyze --compare monday/ tuesday/  each by itself, and beside the other
  multitracer analyze rec/ --findings | less    every finding, its evidence, filters to copy
  multitracer analyze rec/ --open               and the report in the browser
  multitracer analyze snd.pcap --export pcapng  a copy with the findings as comments on its packets
  multitracer analyze rec/ --json -q | jq .accounting
  tcpdump -w - tcp | multitracer analyze - --no-report
"""


@click.command("analyze", epilog=EXAMPLES)
@input_options
@output_option
@click.option("--json", "as_json", is_flag=True, help="Print summary.json instead of the summary for people.")
@click.option("--findings", "all_findings", is_flag=True, help="Print every finding whole, with all of its evidence.")
@click.option("--open", "opened", is_flag=True, help="Open the report in the browser when it is written.")
@click.option("--no-report", is_flag=True, help="Leave report.html out.")
@click.option("--export", "exports", multiple=True, type=EXPORTED, help="Write another tool's format too (repeatable).")
@click.option("--summary-only", is_flag=True, help="Write summary.json and nothing else.")
@click.option("--compare", is_flag=True, help="Take each INPUT as an experiment of its own, and compare them.")
@click.option("--strict", is_flag=True, help="End with status 4 when a part of an input had to be skipped.")
@verbosity_options
def command(
    inputs: tuple[str, ...], output: Path, as_json: bool, no_report: bool, exports: tuple[str, ...],
    summary_only: bool, strict: bool, **options: Any,
) -> None:  # fmt: skip
    """Say which layer made a transfer slow, when, and on what evidence.

    INPUT is a file or a directory, in any order: captures of one or both ends, the sender's TCP
    state, logs of the link (`multitracer formats` lists what is read). All are recordings of one
    experiment. "-" is standard input.
    """
    compare, all_findings, opened = (options.pop(name) for name in ("compare", "all_findings", "opened"))
    what = Written(report=not no_report, exports=exports, all=not summary_only)
    check_copies(inputs, exports, anonymize=options["anonymize"])
    check_together(what, findings_of_several=all_findings and compare, opened=opened)
    if compare:
        skipped = compare_all(inputs, output, options, what, as_json=as_json)
    else:
        analysis, summary, written = analyze_one(inputs, output, options, what)
        skipped = skipped_in(analysis)
        if as_json:
            from multitracer.export.json_text import json_text

            click.echo(json_text(summary.document))
        else:
            print_summary(summary, written, sys.stdout, filters_of(analysis) if all_findings else None)
    if strict and skipped:
        count = sum(skipped.values())
        count_text = "1 record was" if count == 1 else f"{count} records were"
        raise SkippedInputError(f"--strict: {count_text} skipped in {', '.join(skipped)}")
    if opened:
        open_page(output / ("compare.html" if compare else "report.html"))


def filters_of(analysis: Analysis) -> DisplayFilters:
    """The display filters of its findings."""
    from multitracer.analysis.display_filters import DisplayFilters

    return DisplayFilters(analysis)


def check_together(what: Written, *, findings_of_several: bool, opened: bool) -> None:
    """Raise UsageError for options that contradict each other, before any work is done."""
    if findings_of_several:
        raise UsageError("--findings lists those of one experiment, not of --compare\nUse it for each by itself.")
    if opened and not (what.report and what.all):
        raise UsageError("--open shows the report, which --no-report and --summary-only leave out")


def skipped_in(analysis: Analysis) -> dict[str, int]:
    """The number of skipped records by path, for inputs with any; all of an input with nothing to analyse."""
    from multitracer.analysis.wrong_inputs import unusable

    skipped = {entry.path: entry.skipped for entry in analysis.trace.inputs if entry.recording.skips}
    return skipped | unusable(analysis.trace)


@dataclass(frozen=True)
class Written:
    """What to write of an analysis besides its summary."""

    report: bool
    exports: tuple[str, ...]
    all: bool


def analyze_one(
    inputs: tuple[str, ...], output: Path, options: dict[str, Any], what: Written
) -> tuple[Analysis, Summary, str]:
    """Analyse the inputs as one experiment and write the results; returns also the names of what was written."""
    prepare(output)
    analysis = read_and_analyze(inputs, dict(options))
    from multitracer.analysis.summary import summarize
    from multitracer.export import files

    summary = summarize(analysis)
    written = str(files.write_summary(summary.document, output))
    if what.all:
        written = write_all(analysis, summary, output, report=what.report, exports=what.exports)
    return analysis, summary, written


def compare_all(
    inputs: tuple[str, ...], output: Path, options: dict[str, Any], what: Written, *, as_json: bool
) -> dict[str, int]:
    """Analyse each input by itself into a directory of its name, and write compare.json and compare.html.

    Returns the number of skipped records by path; an input that cannot be read counts as 1. Raises
    UsageError for fewer than two inputs, NoUsableInputError if none can be read.
    """
    import multitracer
    from multitracer.report import compare_page, comparison

    if len(inputs) < 2:
        raise UsageError("--compare needs two experiments at least\nGive a file or a directory for each.")
    prepare(output)
    found, skipped = [], {}
    for name, path in zip(names_of(inputs), inputs, strict=True):
        try:
            analysis, summary, _ = analyze_one((path,), output / name, options, what)
        except InputError as error:
            say(str(error))
            skipped[path] = 1
            found.append(comparison.failed(name, path, str(error).splitlines()[0]))
            continue
        skipped |= skipped_in(analysis)
        found.append(comparison.experiment(name, path, analysis, summary, report=what.report and what.all))
        if not as_json:
            click.echo(f"{name}: {found[-1].row['verdict']}")
    if all(experiment.row["error"] for experiment in found):
        raise NoUsableInputError(", ".join(inputs[:3]), "none of the experiments can be analysed")
    document = comparison.document(found, multitracer.__version__)
    (output / "compare.json").write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    written = [output / "compare.json"]
    if what.all and what.report:
        written.insert(0, output / "compare.html")
        compare_page.write(found, written[0], multitracer.__version__)
    click.echo(json.dumps(document) if as_json else f"\n{', '.join(map(str, written))}")
    return skipped


def names_of(inputs: tuple[str, ...]) -> list[str]:
    """A unique name for each experiment's directory: that of its file or directory, without file extensions."""
    from multitracer.model.schema import encodable

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
    return (path.name if path.is_dir() else parsers.without_endings(path.name)) or "experiment"


def write_all(
    analysis: Analysis, summary: Summary, output: Path, *, report: bool, exports: tuple[str, ...]
) -> str:
    """Write everything but the summary; returns the names of what was written."""
    from multitracer.export import files

    with Progress(shown=not quiet()) as progress:
        progress("writing tables", 0.1)
        files.write_tables({**analysis.tables, "inputs": files.inputs_table(summary.document)}, output)
        progress("writing series", 0.4)
        files.write_series(analysis, output)
        if exports:
            progress("writing exports", 0.5)
            files.write_exports(analysis, summary.document, output, exports)
        if report:
            progress("writing the report", 0.7)
            from multitracer import report as pages

            pages.write(analysis, summary, output / files.REPORT)
    more = ", ".join([files.SUMMARY, f"{files.TABLES}/", f"{files.SERIES}/", *(f"{kind}/" for kind in exports)])
    return f"{output / files.REPORT} and in {output}: {more}" if report else f"in {output}: {more}"
