"""Utilization against throughput of several transfers: what the tool of the original papers drew of a campaign."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bokeh.models import ColumnDataSource, Range1d, Span
from bokeh.plotting import figure

from multitracer.model.vocabulary import CAUSES
from multitracer.report import colours
from multitracer.report.comparison import WELL_USED
from multitracer.report.groups import utilization
from multitracer.report.panels import place_legend


def campaign_figure(rows: Sequence[dict[str, Any]]) -> Any:
    """One point for each transfer of which both are known; None where no input tells of the link."""
    known = [row for row in rows if utilization(row) is not None and row["throughput_bps"]]
    if not known:
        return None
    made = figure(
        height=320, sizing_mode="stretch_both", tools="", toolbar_location=None, name="campaign",
        y_range=Range1d(0, 103), min_border_left=84, min_border_right=20,
    )  # fmt: skip
    made.xaxis.axis_label, made.yaxis.axis_label = "throughput, kbit/s", "utilization, %"
    made.axis.axis_label_text_font_size = made.axis.major_label_text_font_size = "12px"
    made.add_layout(Span(location=WELL_USED, dimension="width", line_color=colours.GREY, line_dash="dashed"))
    well = [row for row in known if row["utilization"]["percent"] > WELL_USED]
    badly = [row for row in known if row["utilization"]["percent"] <= WELL_USED]
    _points(made, well, "campaign well", f"above {WELL_USED:.0f} %", "circle", colours.BLUE)
    _points(made, badly, "campaign badly", f"{WELL_USED:.0f} % and less", "triangle", colours.RED)
    place_legend(made)
    return made


def _points(made: Any, rows: Sequence[dict[str, Any]], name: str, label: str, marker: str, colour: str) -> None:
    """Points with what the page tells of each."""
    if not rows:
        return
    source = ColumnDataSource({
        "x": [row["throughput_bps"] / 1e3 for row in rows], "y": [row["utilization"]["percent"] for row in rows],
        "name": [row["name"] for row in rows], "report": [row["report"] or "" for row in rows],
        "causes": [", ".join(CAUSES[cause].name for cause in row["causes"]) for row in rows],
    }, name=name)  # fmt: skip
    made.scatter("x", "y", source=source, marker=marker, size=9, color=colour, legend_label=label)
