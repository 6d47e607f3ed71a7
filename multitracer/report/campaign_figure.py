"""A figure of all transfers of a campaign, and what the page says beside it: its title, its sentences, its legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bokeh.models import ColumnDataSource
from bokeh.plotting import figure

from multitracer.report import page_panels
from multitracer.report.page_panels import Entry

_LETTERS = "12px"


@dataclass(frozen=True)
class Described:
    """What the page says beside a figure."""

    name: str
    title: str
    label: str
    """For those who cannot see it."""
    sentences: Sequence[str]
    entries: Sequence[Entry]
    """Its legend; an entry's `series` is the name of the renderers that it hides."""


@dataclass(frozen=True)
class CampaignFigure:
    """A figure of all transfers, and what the page says beside it."""

    figure: Any
    described: Described


class Drawing:
    """A figure that is being drawn, with the legend that the page will show beside it."""

    def __init__(self, name: str, x_label: str, y_label: str, **more: Any) -> None:
        self.name = name
        self.entries: list[Entry] = []
        self.figure = figure(
            height=320, sizing_mode="stretch_both", tools="", toolbar_location=None, name=name, min_border_left=84,
            min_border_right=20, **more,
        )  # fmt: skip
        self.figure.xaxis.axis_label, self.figure.yaxis.axis_label = x_label, y_label
        self.figure.axis.axis_label_text_font_size = self.figure.axis.major_label_text_font_size = _LETTERS

    def points(self, rows: Sequence[Mapping[str, Any]], label: str, source: str = "", **look: Any) -> None:
        """A mark for each of some rows: x and y, the transfer's name and report, and what else is told of it.

        In `told` each line of what the page tells under the pointer.
        """
        columns = ("x", "y", "name", "report", "told")
        data = ColumnDataSource({column: [row[column] for row in rows] for column in columns}, name=source or None)
        made = self.figure.scatter("x", "y", source=data, name=label, **look)
        self.entries.append(page_panels.entry(label, label, made.glyph))

    def line(self, x: Sequence[float], y: Sequence[float], name: str, **look: Any) -> None:
        """A line that the legend's entry of this name hides too."""
        self.figure.line(x, y, name=name, line_width=1.5, **look)

    def steps(self, x: Sequence[float], y: Sequence[float], label: str, **look: Any) -> None:
        """A line of steps."""
        made = self.figure.step(x, y, mode="after", name=label, line_width=1.5, **look)
        self.entries.append(page_panels.entry(label, label, made.glyph))

    def done(self, title: str, label: str, sentences: Sequence[str] = ()) -> CampaignFigure:
        """The figure with all that the page says beside it."""
        spoken = " ".join([f"{label};", *sentences]) if sentences else label
        return CampaignFigure(self.figure, Described(self.name, title, spoken, sentences, self.entries))


def told(row: Mapping[str, Any], x: float, y: float, *lines: str) -> dict[str, Any]:
    """A row of compare.json as a point, with what the page tells of it."""
    return {"x": x, "y": y, "name": row["name"], "report": row["report"] or "", "told": "\n".join(lines)}
