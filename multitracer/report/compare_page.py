"""Several transfers in one page: laid over one another, and how well each used its link.

The campaign's figure shows what the tool of the original papers drew: utilization against throughput, and
what kept back those that used the link at 95 % or less.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, HoverTool, NumeralTickFormatter, Range1d, Span
from bokeh.plotting import figure

from multitracer.model.vocabulary import CAUSES
from multitracer.report import colours, page_template
from multitracer.report.comparison import WELL_USED, Experiment, document, percent
from multitracer.report.panel_data import divisor
from multitracer.report.panels import Panels, add_figure, place_legend

MOST_OVERLAID = 24
"""Nobody can tell more lines apart: the first are drawn, all are listed."""


def write(experiments: list[Experiment], path: Path, version: str) -> None:
    """Write the page."""
    path.write_text(html(experiments, version), encoding="utf-8", errors="backslashreplace")


def html(experiments: list[Experiment], version: str) -> str:
    """The page as one HTML document."""
    with_lines = [one for one in experiments if one.lines]
    overlaid = with_lines[:MOST_OVERLAID]
    title = f"MultiTracer: {len(experiments)} transfers compared"
    values = {
        "version": version,
        "experiments": [one.row for one in experiments],
        "below": document(experiments, version)["at_or_below_95_percent"],
        "called": {name: cause.name for name, cause in CAUSES.items()},
        "kinds": list(dict.fromkeys(kind for one in overlaid for kind in one.row["align_s"])),
        "left_out": len(with_lines) - len(overlaid),
        "laid": page_template.script_json(
            [{"name": one.row["name"], "align_s": one.row["align_s"]} for one in overlaid]
        ),
        "columns": page_template.encode_all(_columns(overlaid)),
    }
    figures = _overlays(overlaid).figures
    campaign = _campaign([one.row for one in experiments])
    return page_template.render("compare", title, figures if campaign is None else [campaign, *figures], values)


def _overlays(overlaid: list[Experiment]) -> Panels:
    """The panels in which the transfers are laid over one another."""
    last = max((float(source["x"][-1]) / 1e9 for one in overlaid for source in one.lines.values()), default=1.0)
    panels = Panels(Range1d(-0.02 * last, 1.02 * last, name="xr", min_interval=2e-6))
    _overlay(panels, overlaid, "acks", "Acknowledged", "byte of the stream", 420)
    _overlay(panels, overlaid, "goodput", "Goodput", "kbit/s", 240)
    if not panels.figures:
        add_figure(panels, "No transfer's acknowledgements were captured: nothing to lay over one another", "", 90)
    return panels


def _overlay(panels: Panels, overlaid: list[Experiment], series: str, title: str, label: str, height: int) -> None:
    """One kind of line of every transfer in one panel."""
    if not any(series in one.lines for one in overlaid):
        return
    made = add_figure(panels, title, label, height)
    made.yaxis.formatter = NumeralTickFormatter(format="0,0.[000]")
    for place, one in enumerate(overlaid):
        if series in one.lines:
            source = panels.source(f"{series} {place}", one.lines[series])
            made.step(
                "x", "y", source=source, mode="after", line_width=1.5, legend_label=one.row["name"],
                **colours.line_style(place),
            )  # fmt: skip
    place_legend(made)
    made.xaxis.axis_label = "seconds"


def _columns(overlaid: list[Experiment]) -> list[page_template.Values]:
    return [
        page_template.Values("all", f"{series} {place}", "line", name, source[name], divisor(series, name))
        for place, one in enumerate(overlaid)
        for series, source in one.lines.items()
        for name in ("x", "y")
    ]


def _campaign(rows: list[dict[str, Any]]) -> Any:
    """Utilization against throughput; None where no input tells of the link."""
    known = [row for row in rows if not np.isnan(percent(row)) and row["throughput_bps"]]
    if not known:
        return None
    made = figure(
        title="How well each used its link", height=320, sizing_mode="stretch_width", tools="save",
        toolbar_location="above", name="campaign", y_range=Range1d(0, 103), min_border_left=84, min_border_right=20,
    )  # fmt: skip
    made.toolbar.logo = None
    made.xaxis.axis_label, made.yaxis.axis_label = "throughput, kbit/s", "utilization, %"
    made.add_layout(Span(location=WELL_USED, dimension="width", line_color=colours.GREY, line_dash="dashed"))
    well = [row for row in known if percent(row) > WELL_USED]
    badly = [row for row in known if percent(row) <= WELL_USED]
    _points(made, well, "campaign well", f"above {WELL_USED:.0f} %", "circle", colours.BLUE)
    _points(made, badly, "campaign badly", f"{WELL_USED:.0f} % and less", "triangle", colours.RED)
    place_legend(made)
    return made


def _points(made: Any, rows: list[dict[str, Any]], name: str, label: str, marker: str, colour: str) -> None:
    """One point for each transfer; a click on it opens the transfer's report."""
    if not rows:
        return
    source = ColumnDataSource({
        "x": [row["throughput_bps"] / 1e3 for row in rows], "y": [percent(row) for row in rows],
        "name": [row["name"] for row in rows], "report": [row["report"] or "" for row in rows],
        "causes": [", ".join(CAUSES[cause].name for cause in row["causes"]) for row in rows],
    }, name=name)  # fmt: skip
    marks = made.scatter("x", "y", source=source, marker=marker, size=9, color=colour, legend_label=label)
    made.add_tools(HoverTool(renderers=[marks], tooltips=[
        ("transfer", "@name"), ("throughput", "@x{0,0.0} kbit/s"), ("utilization", "@y{0.0} %"),
        ("besides", "@causes"),
    ]))  # fmt: skip
