"""What a notebook user holds: an analysis that offers its summary, its verdict, its panels and its report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from multitracer.analysis import pipeline
from multitracer.analysis.summary import Summary, summarize
from multitracer.export.markdown import markdown
from multitracer.model import analysis as model
from multitracer.model.errors import UsageError
from multitracer.model.options import AnalyzeOptions, Progress
from multitracer.model.schema import SCHEMA
from multitracer.model.short_texts import Document, named
from multitracer.model.trace import Trace
from multitracer.parsers.shared.experiment import read
from multitracer.report import analysis_page, notebook_panels, notebook_texts, seconds

if TYPE_CHECKING:
    import pandas as pd
    from bokeh.models import LayoutDOM

Paths: TypeAlias = str | Path | Sequence[str | Path]


@dataclass(frozen=True, repr=False)
class Analysis(model.Analysis):
    """Everything concluded about one trace; `tables` are those of `multitracer.tables`.

    Shown by itself it is its story; printed, or at the end of a notebook's cell, its findings follow.
    """

    @cached_property
    def _summary(self) -> Summary:
        return summarize(self)

    def summary(self) -> dict[str, Any]:
        """The content of summary.json; shown by itself it is shortened."""
        document = self._summary.document
        return Document({**document, **{name: list(document[name]) for name in ("connections", "findings")}})

    @property
    def verdict(self) -> str:
        """The story: where the time went and why, one sentence a line, the first of which says it all."""
        return "\n".join(self._summary.story)

    def frame(self, name: str) -> pd.DataFrame:
        """A table for people: times in seconds from the trace's start, columns `_s` where `tables` has `_ns`.

        Raises UsageError for a name that there is not.
        """
        if name not in self.tables or name not in SCHEMA:
            known = ", ".join(sorted(set(self.tables) & set(SCHEMA)))
            raise UsageError(f"there is no table {name!r}\nThere are: {known}.")
        return seconds.in_seconds(name, self.tables[name], self.origin_ns)

    def markdown(self) -> str:
        """The summary as GitHub's Markdown: what `analyze --markdown` writes to summary.md."""
        return markdown(self._summary)

    def report(self, path: str | Path) -> None:
        """Write the report: one HTML file that opens without a network."""
        analysis_page.write(self, self._summary, Path(path))

    def plot(self, connection: int | None = None) -> LayoutDOM:
        """The report's panels: one connection and the link, on one time axis.

        At the end of a notebook's cell they show themselves, also without a network; elsewhere `bokeh.io.show` does.
        `connection` is a number of the table of connections; by default the one with most data is shown.
        Panning or zooming one panel moves all.
        """
        return notebook_panels.shown_by_itself(notebook_panels.layout(self, connection))

    def __repr__(self) -> str:
        """What was captured, and the story."""
        counted = (
            _counted(self._summary.totals.connections, "connection"),
            _counted(len(self.links.rows), "link direction"),
            _counted(len(self.tables["findings"]), "finding"),
        )
        names = named([entry.path for entry in self.trace.inputs])
        return f"Analysis of {names}: {', '.join(counted)}\n{self.verdict}"

    def __str__(self) -> str:
        """The same, the bar of where the time went, and the findings by kind."""
        return "\n".join([repr(self), *notebook_texts.text(self._summary.document)])

    def _repr_html_(self) -> str:
        """The same, as a notebook shows it."""
        return notebook_texts.html(repr(self), self._summary.document)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def analyze(
    source: Trace | Paths,
    *further: str | Path | AnalyzeOptions | Progress | None,
    options: AnalyzeOptions | None = None,
    progress: Progress | None = None,
) -> Analysis:
    """Say which layer was responsible, when, and on what evidence.

    `source` is a Trace, or the path or paths of what was recorded in one experiment; more paths may follow, and then
    `options` and `progress`. Raises UsageError for a Trace with paths beside it.
    """
    paths = [one for one in further if isinstance(one, str | Path)]
    rest: Any = iter(further[len(paths) :])
    options, progress = next(rest, options), next(rest, progress)
    if not isinstance(source, Trace):
        source = read(source, *paths, progress=progress)
    elif paths:
        raise UsageError("analyze takes a Trace or paths, not both\nRead all paths at once: read(path, path, ...).")
    concluded = pipeline.analyze(source, _by_text(options), progress)
    return Analysis(**{field.name: getattr(concluded, field.name) for field in fields(concluded)})


def _by_text(options: AnalyzeOptions | None) -> AnalyzeOptions | None:
    """The options with each path as the text by which its input is known."""
    if options is None:
        return None
    roles = {str(path): role for path, role in options.roles.items()}
    return replace(options, roles=roles, clocks={str(path): clock for path, clock in options.clocks.items()})
