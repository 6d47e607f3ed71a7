"""Several transfers in one page: how much longer each took and why, and all laid over one another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bokeh.models import NumeralTickFormatter, Range1d

from multitracer.analysis.difference import parts_text, sentence
from multitracer.analysis.finding_rows import Row, rows
from multitracer.model.short_texts import named
from multitracer.model.vocabulary import CAUSES
from multitracer.report import colours, column_packs, page_panels, page_template
from multitracer.report.campaign_figures import campaign_figures
from multitracer.report.compared_findings import dearest, together
from multitracer.report.comparison import WELL_USED, Experiment, document
from multitracer.report.page_panels import Lane
from multitracer.report.panel_data import divisor
from multitracer.report.panels import Panels, add_figure, place_legend
from multitracer.report.time_bars import Bars, time_bars

MOST_OVERLAID = 24
"""Nobody can tell more lines apart: the first are drawn, all are listed."""
MOST_TOLD = 3
"""Of the differences, the largest; the table has all of them."""
MOST_ROWS = 1_000
"""The most findings that the page lists, as many of each transfer: no lane is empty because others have dear ones."""
MOST_LANES = 5
"""Lanes of findings that are seen at once; more are scrolled."""
FIRST_POINTS = 20
"""Of each line, before the page's scripts draw it: many lines of many points would only delay these."""
START = "each transfer's first packet of data"
"""Where an axis begins on which each transfer begins at 0."""


def write(experiments: list[Experiment], path: Path, version: str, group: re.Pattern[str] | None = None) -> None:
    """Write the page."""
    path.write_text(html(experiments, version, group), encoding="utf-8", errors="backslashreplace")


def html(experiments: list[Experiment], version: str, group: re.Pattern[str] | None = None) -> str:
    """The page as one HTML document."""
    compared = document(experiments, version, group)
    drawable = [one for one in experiments if not one.row["error"]]
    overlaid = drawable[:MOST_OVERLAID]
    share = MOST_ROWS // max(1, len(overlaid))
    findings = together([dearest(one.findings, share) for one in overlaid])
    listed = rows(findings, MOST_ROWS)
    figures = _overlays(overlaid).figures
    described = page_panels.take_over(figures)
    campaign = campaign_figures(compared)
    place = {one.row["name"]: number for number, one in enumerate(overlaid)}
    values = {
        "version": version,
        "verdict": _verdict(compared),
        "story": [*_story(compared["differences"]), *_left_out(len(drawable) - len(overlaid))],
        "experiments": compared["experiments"],
        "below": compared["at_or_below_95_percent"],
        "used": compared["utilization"],
        "groups": compared["groups"],
        **_differences(compared),
        "bars": (bars := time_bars([one.row for one in overlaid])),
        "bars_notes": _bars_notes(bars),
        "called": {name: cause.name for name, cause in CAUSES.items()},
        "kinds": list(dict.fromkeys(kind for one in overlaid for kind in one.row["align_s"])),
        "start_name": START,
        "axis": f"seconds since {START}",
        "capture": "compare",
        "panels": described,
        "first_figure": 0,
        "lanes": [Lane(str(number), name, name) for name, number in place.items()] if findings else [],
        "lanes_title": "Findings of each transfer",
        "lanes_label": "the findings of each transfer on the time axis",
        "most_lanes": MOST_LANES,
        "names": list(place),
        "starts": [one.row["align_s"]["start"] for one in overlaid],
        "rows": listed,
        "more_findings": _more_findings(listed, overlaid, drawable[MOST_OVERLAID:]),
        "layer_colours": colours.LAYERS,
        "campaign": [one.described for one in campaign],
        "laid": page_template.script_json(
            [{name: one.row[name] for name in ("name", "report", "align_s")} for one in overlaid]
        ),
        "columns": column_packs.pack_all(_columns(overlaid)),
    }
    title = f"MultiTracer: {len(experiments)} transfers compared"
    every = [*figures, *(one.figure for one in campaign)]
    return page_template.render("compare", title, every, values, apart=True)


def _verdict(compared: dict[str, Any]) -> str:
    """How many of the transfers used their link badly, and of how many this is not known."""
    below, used = len(compared["at_or_below_95_percent"]), compared["utilization"]
    if not below:
        return f"{len(compared['experiments'])} transfers."
    told = f"{below} of {used['known']} transfers used their link at {WELL_USED:.0f} % or less"
    return f"{told}; of {used['unknown']} more the utilization is not known." if used["unknown"] else f"{told}."


def _more_findings(
    listed: Sequence[Row], overlaid: Sequence[Experiment], others: Sequence[Experiment]
) -> list[str]:  # fmt: skip
    """How many findings the page does not list: of the transfers that are drawn, and of those that are not."""
    own, theirs = (sum(len(one.findings) + one.left_out for one in each) for each in (overlaid, others))
    own -= sum(row.members for row in listed)
    told = [f"{own:,} more are in the transfers' own reports."] if own else []
    if theirs:
        told.append(f"Not listed are {theirs:,} findings of the {len(others):,} transfers that are not drawn.")
    return told


def _story(differences: Sequence[dict[str, Any]]) -> list[str]:
    """The largest differences in words, the largest first."""
    largest = sorted(differences, key=lambda one: -abs(one["seconds"]))
    return [f"{one['name']}: {sentence(one)}" for one in largest[:MOST_TOLD]]


def _left_out(count: int) -> list[str]:
    """How many transfers are in the table alone."""
    return [f"The first {MOST_OVERLAID} are drawn; {count} more are in the table below."] if count > 0 else []


def _differences(compared: dict[str, Any]) -> dict[str, Any]:
    """The differences by the place of their row, and against which transfer they are."""
    differences = compared["differences"]
    by_name = {one["name"]: one for one in differences}
    of_rows = {
        place: by_name[row["name"]] for place, row in enumerate(compared["experiments"]) if row["name"] in by_name
    }
    against = differences[0]["against"] if differences else ""
    return {"differences": of_rows, "against": against, "parts_text": parts_text}


def _bars_notes(bars: Bars) -> list[str]:
    """What the bars show instead of the blame, and what they do not show."""
    notes = []
    if bars.by == "limits" and bars.bars:
        notes.append("The bars show what limited each transfer, as what is to blame is not known of all of them.")
    if bars.unknown:
        notes.append(f"Where the time went is not known of {named(bars.unknown)}.")
    return notes


def _overlays(overlaid: Sequence[Experiment]) -> Panels:
    """The panels in which the transfers are laid over one another."""
    last = max((float(source["x"][-1]) / 1e9 for one in overlaid for source in one.lines.values()), default=1.0)
    panels = Panels(Range1d(-0.02 * last, 1.02 * last, name="xr", min_interval=2e-6), points=FIRST_POINTS)
    _overlay(panels, overlaid, "acks", "Acknowledged", "byte of the stream", "sequence")
    _overlay(panels, overlaid, "goodput", "Goodput", "kbit/s", "goodput")
    if not panels.figures:
        nothing = "No transfer's acknowledgements were captured: nothing to lay over one another"
        empty = add_figure(panels, nothing, "", 90, tag="sequence")
        empty.yaxis.visible = empty.grid.visible = False
    return panels


def _overlay(
    panels: Panels, overlaid: Sequence[Experiment], series: str, title: str, label: str, tag: str
) -> None:  # fmt: skip
    """One kind of line of every transfer in one panel."""
    if not any(series in one.lines for one in overlaid):
        return
    made = add_figure(panels, title, label, 240, tag=tag)
    made.yaxis.formatter = NumeralTickFormatter(format="0,0.[000]")
    for place, one in enumerate(overlaid):
        if series in one.lines:
            source = panels.source(f"{series} {place}", one.lines[series])
            made.step(
                "x", "y", source=source, mode="after", line_width=1.5, legend_label=one.row["name"],
                **colours.line_style(place),
            )  # fmt: skip
    place_legend(made)


def _columns(overlaid: Sequence[Experiment]) -> list[column_packs.Values]:
    return [
        column_packs.Values("all", f"{series} {place}", "line", name, source[name], divisor(series, name))
        for place, one in enumerate(overlaid)
        for series, source in one.lines.items()
        for name in ("x", "y")
    ]
