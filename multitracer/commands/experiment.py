"""One experiment: analysed, and its results written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from multitracer.commands.messages import Progress, quiet
from multitracer.commands.parameters import MARKDOWN, SUMMARY, read_and_analyze, results

if TYPE_CHECKING:
    from multitracer.analysis.summary import Summary
    from multitracer.model.analysis import Analysis

COMMAND = "analyze"


@dataclass(frozen=True)
class Written:
    """What to write of an analysis besides its summary."""

    report: bool
    exports: tuple[str, ...]
    all: bool
    markdown: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Files that are sure to be written."""
        more = ("tables/inputs.parquet", *(["report.html"] if self.report else []))
        return (SUMMARY, *([MARKDOWN] if self.markdown else []), *(more if self.all else ()))


def skipped_in(analysis: Analysis) -> dict[str, int]:
    """The number of skipped records by path, for inputs with any; all of an input with nothing to analyse."""
    from multitracer.analysis.wrong_inputs import unusable

    skipped = {entry.path: entry.skipped for entry in analysis.trace.inputs if entry.recording.skips}
    return skipped | unusable(analysis.trace)


def analyze_one(
    inputs: tuple[str, ...], output: Path, options: dict[str, Any], what: Written
) -> tuple[Analysis, Summary, str]:
    """Analyse the inputs as one experiment and write the results; returns also the names of what was written."""
    with results(output, COMMAND, last=SUMMARY, names=what.names) as directory:
        analysis, summary = analyze_into(directory, inputs, options, what)
    return analysis, summary, written_names(output, what)


def analyze_into(
    directory: Path, inputs: tuple[str, ...], options: dict[str, Any], what: Written
) -> tuple[Analysis, Summary]:
    """Analyse the inputs as one experiment and write all files of the result to a folder."""
    analysis = read_and_analyze(inputs, {**options, "fates": what.all})
    from multitracer.analysis.summary import summarize
    from multitracer.export import files

    summary = summarize(analysis)
    files.write_summary(summary.document, directory)
    if what.markdown:
        files.write_markdown(summary, directory)
    if what.all:
        write_all(analysis, summary, directory, what)
    return analysis, summary


def write_all(analysis: Analysis, summary: Summary, directory: Path, what: Written) -> None:
    """Write everything but the summary."""
    from multitracer.analysis.early_times import as_recorded
    from multitracer.export import files

    with Progress(shown=not quiet()) as progress:
        progress("writing tables", 0.1)
        tables = as_recorded(analysis.tables, analysis.trace.shift_ns)
        files.write_tables({**tables, "inputs": files.inputs_table(summary.document)}, directory)
        progress("writing series", 0.4)
        files.write_series(analysis, directory)
        if what.exports:
            progress("writing exports", 0.5)
            files.write_exports(analysis, summary.document, directory, what.exports)
        if what.report:
            progress("writing the report", 0.7)
            from multitracer import report as pages

            pages.write(analysis, summary, directory / files.REPORT)


def written_names(output: Path, what: Written) -> str:
    """The names of what was written, for people."""
    from multitracer.export import files

    summaries = [SUMMARY, *([MARKDOWN] if what.markdown else [])]
    if not what.all:
        return ", ".join(str(output / name) for name in summaries)
    more = ", ".join([*summaries, f"{files.TABLES}/", f"{files.SERIES}/", *(f"{kind}/" for kind in what.exports)])
    return f"{output / files.REPORT} and in {output}: {more}" if what.report else f"in {output}: {more}"
