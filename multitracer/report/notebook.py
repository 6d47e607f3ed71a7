"""What a notebook user holds: an analysis that offers its summary, its verdict, its panels and its report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from multitracer.analysis import pipeline
from multitracer.analysis.finding_groups import group_findings
from multitracer.analysis.summary import Summary, summarize
from multitracer.model import analysis as model
from multitracer.model.options import AnalyzeOptions, Progress
from multitracer.model.trace import Trace
from multitracer.parsers.shared.experiment import read
from multitracer.report import analysis_page, notebook_panels

if TYPE_CHECKING:
    from bokeh.models import LayoutDOM


@dataclass(frozen=True, repr=False)
class Analysis(model.Analysis):
    """Everything concluded about one trace; `tables` are those of `multitracer.tables`."""

    @cached_property
    def _summary(self) -> Summary:
        return summarize(self)

    def summary(self) -> dict[str, Any]:
        """The content of summary.json."""
        document = self._summary.document
        return {**document, "connections": list(document["connections"])}

    @property
    def verdict(self) -> str:
        """What limited the transfer, in one sentence."""
        return self._summary.verdict

    def report(self, path: str | Path) -> None:
        """Write the report: one HTML file that opens without a network."""
        analysis_page.write(self, self._summary, Path(path))

    def plot(self, connection: int | None = None) -> LayoutDOM:
        """The report's panels for `bokeh.io.show`: one connection and the link, on one time axis.

        `connection` is a number of the table of connections; by default the one with most data is shown.
        Panning or zooming one panel moves all.
        """
        return notebook_panels.layout(self, connection)

    def __repr__(self) -> str:
        """What was captured, the verdict, and how much was found."""
        names = ", ".join(Path(entry.path).name for entry in self.trace.inputs)
        counted = (
            f"{self._summary.totals.connections} connections, {len(self.links.rows)} link directions, "
            f"{len(self.tables['findings'])} findings"
        )
        return f"Analysis of {names}: {counted}\n" + "\n".join(self._summary.story)

    def _repr_html_(self) -> str:
        """The same, and the findings by kind, as a notebook shows them."""
        rows = "".join(
            f"<tr><td>{len(group)}</td><td>{escape(group[0]['kind'])}</td><td>{escape(group[0]['verdict'])}</td>"
            f"<td>{group[0]['start_s']:.3f} s</td><td>{escape(group[0]['because'])}</td></tr>"
            for group in group_findings(self._summary.document["findings"])
        )
        head = "<tr><th>count</th><th>finding</th><th>verdict</th><th>longest at</th><th>because</th></tr>"
        table = f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>" if rows else ""
        return "".join(f"<p>{escape(line)}</p>" for line in repr(self).splitlines()) + table


def analyze(
    source: Trace | str | Path | Sequence[str | Path],
    options: AnalyzeOptions | None = None,
    progress: Progress | None = None,
) -> Analysis:
    """Say which layer was responsible, when, and on what evidence.

    `source` is a Trace, or the path or paths of what was recorded in one experiment.
    """
    if not isinstance(source, Trace):
        paths = [source] if isinstance(source, str | Path) else source
        source = read(*paths, progress=progress)
    concluded = pipeline.analyze(source, options, progress)
    return Analysis(**{field.name: getattr(concluded, field.name) for field in fields(concluded)})
