"""`multitracer analyze`: read recordings of a transfer, write the summary, tables, series and the report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multitracer.commands.browser import open_page
from multitracer.commands.experiment import Written, analyze_one, skipped_in
from multitracer.commands.messages import quiet, say, verbosity_options
from multitracer.commands.parameters import (
    EXPORTED,
    MOST_JOBS,
    Regex,
    Whole,
    check_copies,
    input_options,
    no_message,
    output_option,
)
from multitracer.commands.terminal import print_summary
from multitracer.export.result_directory import recover
from multitracer.model.errors import SkippedInputError, UsageError

if TYPE_CHECKING:
    from multitracer.analysis.display_filters import DisplayFilters
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
  multitracer analyze rec/ --markdown           also summary.md, for an issue or a wiki
  multitracer analyze rec/ --json -q | jq .accounting
  tcpdump -w - tcp | multitracer analyze - --no-report
"""


@click.command("analyze", epilog=EXAMPLES)
@click.option("--recover", "recovering", is_flag=True, is_eager=True,
              help="Finish what a run that was killed left unfinished in DIR, and do nothing else.")  # fmt: skip
@input_options
@output_option
@click.option("--json", "as_json", is_flag=True, help="Print summary.json instead of the summary for people.")
@click.option("--findings", "all_findings", is_flag=True, help="Print every finding whole, with all of its evidence.")
@click.option("--open", "opened", is_flag=True, help="Open the report in the browser when it is written.")
@click.option("--no-report", is_flag=True, help="Leave report.html out.")
@click.option("--export", "exports", multiple=True, type=EXPORTED, help="Write another tool's format too (repeatable).")
@click.option("--markdown", is_flag=True, help="Write summary.md too: story, findings and tables to paste elsewhere.")
@click.option("--summary-only", is_flag=True, help="Write no tables, series and report.")
@click.option("--compare", is_flag=True, help="Take each INPUT as an experiment of its own, and compare them.")
@click.option("--group", type=Regex(), metavar="REGEX",
              help="Group the experiments of --compare by what this matches in their names, or by its first group.")
@click.option("--jobs", type=Whole(1, MOST_JOBS), metavar="N",
              help="Experiments of --compare worked on at once.  [default: one a processor]")  # fmt: skip
@click.option("--cluster", metavar="ADDRESS", help="Work on the experiments of --compare on a Dask cluster.")
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
    what = Written(report=not no_report, exports=exports, all=not summary_only, markdown=options.pop("markdown"))
    jobs, cluster, group = (options.pop(name) for name in ("jobs", "cluster", "group"))
    if options.pop("recovering"):
        _recover(output)
        return
    check_copies(inputs, exports, anonymize=options["anonymize"])
    grouped = group is not None and not compare
    check_together(what, findings_of_several=all_findings and compare, group_of_one=grouped, opened=opened)
    if compare:
        from multitracer.commands.campaign import Spread, compare_all

        skipped = compare_all(inputs, output, options, what, Spread(jobs, cluster), group=group, as_json=as_json)
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


def check_together(what: Written, *, findings_of_several: bool, group_of_one: bool, opened: bool) -> None:
    """Raise UsageError for options that contradict each other, before any work is done."""
    if group_of_one:
        raise UsageError("--group groups the experiments of --compare\nGive --compare too.")
    if findings_of_several:
        raise UsageError("--findings lists those of one experiment, not of --compare\nUse it for each by itself.")
    if opened and not (what.report and what.all):
        raise UsageError("--open shows the report, which --no-report and --summary-only leave out")


def _recover(output: Path) -> None:
    """Finish the moves of killed runs in DIR, and say where."""
    recovered = recover(output, no_message if quiet() else say)
    for directory in recovered:
        click.echo(f"{directory}: the results are whole")
    if not recovered:
        click.echo(f"{output}: nothing to recover")
