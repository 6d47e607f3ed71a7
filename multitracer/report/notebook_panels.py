"""The report's panels for a notebook: Bokeh figures that show their data without the report's scripts."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np
from bokeh.embed import file_html
from bokeh.layouts import column, gridplot
from bokeh.models import BoxSelectTool, BoxZoomTool, CrosshairTool, DataRange1d, Div, ImageRGBA, Plot, Range1d, Span
from bokeh.resources import INLINE

from multitracer.model.errors import UsageError
from multitracer.report import analysis_panels, colours, connection_data, link_data, panel_data
from multitracer.report.directions import link_title
from multitracer.report.panel_data import PanelData

if TYPE_CHECKING:
    from bokeh.models import LayoutDOM
    from bokeh.plotting import figure as Figure  # noqa: N812 - a class, though Bokeh names it like a function

    from multitracer.model.analysis import Analysis
    from multitracer.report.panels import Panels

MOST_POINTS = 20_000
"""The most points of one series: with many more a browser no longer pans smoothly."""
_MARGINS = 90
"""Pixels for the heading, the tools, and the space around them."""


def layout(analysis: Analysis, number: int | None = None) -> LayoutDOM:
    """The panels of a connection, of the one with most data by default, and of the link, on one time axis."""
    number = _chosen(analysis, number)
    shown = PanelData({}) if number is None else connection_data.connection(analysis, number)
    link = link_data.link(analysis, analysis.links.main)
    panels = analysis_panels.build(analysis, shown, link, panel_data.extent(analysis), MOST_POINTS, lanes=True)
    figures = panels.figures[1:]  # without the overview, which the report's scripts fill
    _fill_causes(analysis, panels)
    cursor = Span(dimension="height", line_color=colours.GREY, line_dash="dotted")
    for made in figures:
        _stand_alone(made, cursor)
        if "frames" in made.tags and analysis.links.main is not None:
            made.title.text += f", {link_title(analysis, analysis.links.main, link)}"
    grid = gridplot(
        [[made] for made in figures], sizing_mode="stretch_width", toolbar_location="above",
        toolbar_options={"logo": None, "autohide": False},
    )  # fmt: skip
    drawn = [source for name, source in (shown.sources | link.sources).items() if panel_data.KINDS[name] != "map"]
    records = [len(analysis.main_accounting), *(len(source["x"]) for source in drawn)]
    heading = Div(text=_heading(analysis, number, panels, records), render_as_text=True)
    return column(heading, grid, sizing_mode="stretch_width")


def shown_by_itself(layout: LayoutDOM) -> LayoutDOM:
    """The layout, which a notebook shows at the end of a cell; a Bokeh model by itself is shown as its type's name."""
    vars(layout)["_repr_html_"] = lambda: _framed(layout)
    return layout


def _framed(layout: LayoutDOM) -> str:
    """The layout in a page of its own, scripts included: it needs neither a network nor `output_notebook`."""
    page = file_html(layout, INLINE, "MultiTracer")
    height = _MARGINS + sum(made.height or 0 for made in layout.select({"type": Plot}))
    return f'<iframe srcdoc="{escape(page)}" style="width:100%;height:{height}px;border:0"></iframe>'


def _chosen(analysis: Analysis, number: int | None) -> int | None:
    """The connection to show; None where no capture shows any."""
    there = panel_data.largest_first(analysis)
    if number is None:
        return there[0] if there else None
    if number not in there:
        known = ", ".join(map(str, sorted(there))) or "none"
        raise UsageError(f"connection={number}: no capture shows a connection of that number\nThere are: {known}.")
    return number


def _fill_causes(analysis: Analysis, panels: Panels) -> None:
    """Give the bar of where the time went its stretches, the longest where they are many."""
    table = analysis.main_accounting
    start, end = table["start_ns"].to_numpy(), table["end_ns"].to_numpy()
    longest = np.sort(np.argsort(start - end, kind="stable")[:MOST_POINTS])
    cause = table["cause"].astype(str).to_numpy(dtype=object)[longest]
    data = {
        "left": (start[longest] - analysis.origin_ns) / 1e9, "right": (end[longest] - analysis.origin_ns) / 1e9,
        "lane": ["time"] * len(longest), "cause": cause, "colour": [colours.CAUSES[name] for name in cause],
    }  # fmt: skip
    for made in panels.figures:
        for source in made.select({"name": "accounting"}):
            source.data = data


def _stand_alone(made: Figure, cursor: Span) -> None:
    """Have Bokeh do what the report's scripts do for a panel: fit its y axis to what is in view, and share a cursor.

    Bokeh counts the whole of a series that has no point in view. The box zoom then sets both axes, by a square box.
    """
    made.renderers = [each for each in made.renderers if not isinstance(each.glyph, ImageRGBA)]
    made.tools = [tool for tool in made.tools if not isinstance(tool, BoxSelectTool)]
    made.window_axis = "x"
    if isinstance(made.y_range, Range1d):
        fitted = [each for each in made.renderers if each.name != analysis_panels.NOT_FITTED]
        made.y_range = DataRange1d(renderers=fitted, only_visible=True)
    for tool in made.tools:
        if isinstance(tool, CrosshairTool):
            tool.overlay = cursor
        elif isinstance(tool, BoxZoomTool):
            tool.dimensions = "auto"


def _heading(analysis: Analysis, number: int | None, panels: Panels, records: list[int]) -> str:
    """Which connection is shown, which panels are not there and why, and whether some records are left out.

    `records` are how many each series has.
    """
    parts = [] if number is None else [
        f"Connection {number}: {analysis.connections['client'].iat[number]} to "
        f"{analysis.connections['server'].iat[number]}."
    ]  # fmt: skip
    parts += panels.absent
    if max(records, default=0) > MOST_POINTS:
        parts.append(
            f"Of a series with more than {MOST_POINTS:,} records every n-th is drawn, of the bar of where the time "
            "went the longest stretches: the report shows all."
        )
    return " ".join(parts)
