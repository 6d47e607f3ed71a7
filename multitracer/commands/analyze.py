"""`multitracer analyze`: captured traces in, report out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multitracer import memory
from multitracer.commands.parameters import EXPORTED, analysed, input_options, output_option
from multitracer.commands.talk import Progress, quiet, talk_options
from multitracer.errors import SkippedInputError

if TYPE_CHECKING:
    from multitracer.analysis import Analysis

EXAMPLES = """
\b
Examples:
  multitracer analyze examples/rlp-reset        a folder with all that was recorded
  multitracer analyze snd.pcap rcv.pcap.gz      both ends' captures
  multitracer analyze snd.pcap --link-rate 9600 one capture and the link's rate
  multitracer analyze rec/ --json -q | jq .accounting
  tcpdump -w - tcp | multitracer analyze - --no-report
"""


@click.command("analyze", epilog=EXAMPLES)
@input_options
@output_option
@click.option("--json", "as_json", is_flag=True, help="Print summary.json instead of the summary for people.")
@click.option("--no-report", is_flag=True, help="Leave report.html out.")
@click.option("--export", "exports", multiple=True, type=EXPORTED, help="Write another tool's format too (repeatable).")
@click.option("--summary-only", is_flag=True, help="Write summary.json and nothing else.")
@click.option("--strict", is_flag=True, help="End with status 4 when a part of an input had to be skipped.")
@talk_options
def command(
    inputs: tuple[str, ...], output: Path, as_json: bool, no_report: bool, exports: tuple[str, ...],
    summary_only: bool, strict: bool, **options: Any,
) -> None:  # fmt: skip
    """Say which layer made a transfer slow, when, and on what evidence.

    INPUT is a file or a directory, in any order: captures of one or both ends, the sender's TCP
    state, logs of the link (`multitracer formats` lists what is read). All are recordings of one
    experiment. "-" is standard input.
    """
    memory.make_ready(inputs)
    from multitracer.export import files
    from multitracer.summary import json_pieces, summarize, to_json
    from multitracer.terminal import print_summary

    files.prepare(output)
    analysis = analysed(inputs, options)
    document = summarize(analysis)
    written = str(files.write_summary(json_pieces(document), output))
    if not summary_only:
        written = write_all(analysis, document, output, report=not no_report, exports=exports)
    if as_json:
        click.echo(to_json(document))
    else:
        print_summary(document, written, sys.stdout)
    if strict and (lossy := [entry for entry in analysis.trace.inputs if entry.recording.skips]):
        names = ", ".join(entry.path for entry in lossy)
        count = sum(entry.skipped for entry in lossy)
        said = "1 record was" if count == 1 else f"{count} records were"
        raise SkippedInputError(f"--strict: {said} skipped in {names}")


def write_all(
    analysis: Analysis, document: dict[str, Any], output: Path, *, report: bool, exports: tuple[str, ...]
) -> str:
    """Write everything but the summary; says where it is."""
    from multitracer.export import files

    with Progress(shown=not quiet()) as progress:
        progress("writing tables", 0.1)
        files.write_tables({**analysis.tables, "inputs": files.inputs_table(document)}, output)
        progress("writing series", 0.4)
        files.write_series(analysis, output)
        if exports:
            progress("writing exports", 0.5)
            files.write_exports(analysis, output, exports)
        if report:
            progress("writing the report", 0.7)
            analysis.report(output / files.REPORT)
    more = ", ".join([files.SUMMARY, f"{files.TABLES}/", f"{files.SERIES}/", *(f"{kind}/" for kind in exports)])
    return f"{output / files.REPORT} and in {output}: {more}" if report else f"in {output}: {more}"
