"""`multitracer analyze`: read recordings of a transfer, write the summary, tables, series and the report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from multitracer.commands.campaign import Spread, compare_all
from multitracer.commands.experiment import Written, analyze_one, skipped_in
from multitracer.commands.messages import quiet, say, verbosity_options
from multitracer.commands.parameters import EXPORTED, MOST_JOBS, Whole, input_options, no_message, output_option
from multitracer.commands.terminal import print_summary
from multitracer.export.result_directory import recover
from multitracer.model.errors import SkippedInputError

EXAMPLES = """
\b
Examples:
  multitracer analyze examples/rlp-reset        a folder with all that was recorded
  multitracer analyze snd.pcap rcv.pcap.gz      both ends' captures
  multitracer analyze snd.pcap --link-rate 9600 one capture and the link's rate
  multitracer analyze --compare monday/ tuesday/  each by itself, and beside the other
  multitracer analyze rec/ --json -q | jq .accounting
  tcpdump -w - tcp | multitracer analyze - --no-report
"""


@click.command("analyze", epilog=EXAMPLES)
@click.option("--recover", "recovering", is_flag=True, is_eager=True,
              help="Finish what a run that was killed left unfinished in DIR, and do nothing else.")  # fmt: skip
@input_options
@output_option
@click.option("--json", "as_json", is_flag=True, help="Print summary.json instead of the summary for people.")
@click.option("--no-report", is_flag=True, help="Leave report.html out.")
@click.option("--export", "exports", multiple=True, type=EXPORTED, help="Write another tool's format too (repeatable).")
@click.option("--summary-only", is_flag=True, help="Write summary.json and nothing else.")
@click.option("--compare", is_flag=True, help="Take each INPUT as an experiment of its own, and compare them.")
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
    what = Written(report=not no_report, exports=exports, all=not summary_only)
    recovering, compare = options.pop("recovering"), options.pop("compare")
    spread = Spread(options.pop("jobs"), options.pop("cluster"))
    if recovering:
        _recover(output)
        return
    if compare:
        skipped = compare_all(inputs, output, options, what, spread, as_json=as_json)
    else:
        analysis, summary, written = analyze_one(inputs, output, options, what)
        skipped = skipped_in(analysis)
        if as_json:
            from multitracer.export.json_text import json_text

            click.echo(json_text(summary.document))
        else:
            print_summary(summary, written, sys.stdout)
    if strict and skipped:
        count = sum(skipped.values())
        count_text = "1 record was" if count == 1 else f"{count} records were"
        raise SkippedInputError(f"--strict: {count_text} skipped in {', '.join(skipped)}")


def _recover(output: Path) -> None:
    """Finish the moves of killed runs in DIR, and say where."""
    recovered = recover(output, no_message if quiet() else say)
    for directory in recovered:
        click.echo(f"{directory}: the results are whole")
    if not recovered:
        click.echo(f"{output}: nothing to recover")
