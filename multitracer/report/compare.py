"""Several transfers in one page: laid over one another, and how well each used its link.

The campaign's picture is that of the original tool: utilization against throughput, and what kept
those back that used the link at 95 % or less.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from bokeh.models import ColumnDataSource, HoverTool, NumeralTickFormatter, Range1d, Span
from bokeh.plotting import figure

from multitracer.report import drawn, panels, shell
from multitracer.report.blobs import encode
from multitracer.summary import summarize
from multitracer.threads import concurrently
from multitracer.verdict import CAUSE_NAMES, verdict

if TYPE_CHECKING:
    from multitracer.analysis import Analysis

WELL_USED = 95.0
"""Percent of utilization above which a link was the limit."""
MOST_OVERLAID = 24
"""More lines than this nobody tells apart: the first are laid over one another, all are listed."""
_WASTE = ("link_retransmitted", "link_control", "flow_controlled", "link_reset", "tcp_retransmitted",
          "idle_window_limited", "idle_sender", "idle_recovery", "unknown")  # fmt: skip


@dataclass(frozen=True)
class Experiment:
    """One of the transfers: `row` is its in compare.json, `lines` what is drawn of it."""

    row: dict[str, Any]
    lines: dict[str, drawn.Source]


def experiment(name: str, path: str, analysis: Analysis, *, report: bool) -> Experiment:
    """What the comparison needs of an analysis, which can then be forgotten; `report` says whether it has one."""
    document = summarize(analysis)
    order = drawn.by_data(analysis)
    row: dict[str, Any] = {
        "name": name, "path": path, "report": f"{name}/report.html" if report else None, "error": None,
        "verdict": verdict(document, analysis.totals),
        "utilization": document["utilization"], "accounting": document["accounting"],
        "causes": causes(document["accounting"]), "findings": _counts(document["findings"]), "align_s": {},
        "connection": None, "duration_s": None, "throughput_bps": None, "goodput_bps": None,
    }  # fmt: skip
    if not order:
        return Experiment(row, {})
    number = order[0]
    sender = int(analysis.main_ends[number])
    sent = analysis.direction(number, sender)
    one = analysis.connections.iloc[number]
    start = (int(one["start_ns"]) - analysis.origin_ns) / 1e9
    row |= {
        "connection": number, "duration_s": (int(one["end_ns"]) - int(one["start_ns"])) / 1e9,
        "throughput_bps": sent["throughput_bps"], "goodput_bps": sent["goodput_bps"],
        "align_s": {"start": start, **_firsts(document["findings"])},
    }  # fmt: skip
    sources = drawn.connection(analysis, number).sources
    drawable = [name for name in ("acks", "goodput") if name in sources and len(sources[name]["x"])]
    return Experiment(row, {name: sources[name] for name in drawable})


def failed(name: str, path: str, error: str) -> Experiment:
    """One that could not be analysed, and why."""
    nothing = dict.fromkeys(
        ("report", "verdict", "utilization", "accounting", "connection", "duration_s", "throughput_bps", "goodput_bps")
    )
    return Experiment({"name": name, "path": path, **nothing, "error": error, "causes": [], "findings": {},
                       "align_s": {}}, {})  # fmt: skip


def causes(shares: dict[str, float] | None) -> list[str]:
    """What took the session beside new data and its framing, most first; what took less than 1 % left out."""
    if shares is None:
        return []
    return [name for name in sorted(_WASTE, key=lambda name: -shares[name]) if shares[name] >= 0.01]


def _counts(findings: list[dict[str, Any]]) -> dict[str, int]:
    """How many findings of each kind are confirmed."""
    kinds = [finding["kind"] for finding in findings if finding["verdict"] == "confirmed"]
    return {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}


def _firsts(findings: list[dict[str, Any]]) -> dict[str, float]:
    """When the first confirmed finding of each kind began."""
    found: dict[str, float] = {}
    for finding in findings:
        if finding["verdict"] == "confirmed":
            found[finding["kind"]] = min(found.get(finding["kind"], np.inf), finding["start_s"])
    return found


def document(experiments: list[Experiment], version: str) -> dict[str, Any]:
    """The content of compare.json."""
    rows = [one.row for one in experiments]
    below = [row["name"] for row in rows if _percent(row) <= WELL_USED]
    return {"multitracer": version, "experiments": rows, "at_or_below_95_percent": below}


def _percent(row: dict[str, Any]) -> float:
    """Its utilization; not-a-number, which is below nothing, where no input tells."""
    told = row["utilization"]
    return float("nan") if told is None or told["percent"] is None else float(told["percent"])


def write(experiments: list[Experiment], path: Path, version: str) -> None:
    """Write the page."""
    path.write_text(html(experiments, version), encoding="utf-8", errors="backslashreplace")


def html(experiments: list[Experiment], version: str) -> str:
    """The page as one HTML document."""
    laid = [one for one in experiments if one.lines][:MOST_OVERLAID]
    last = max((float(source["x"][-1]) / 1e9 for one in laid for source in one.lines.values()), default=1.0)
    made = panels.Panels(Range1d(-0.02 * last, 1.02 * last, name="xr", min_interval=2e-6))
    _overlay(made, laid, "acks", "Acknowledged", "byte of the stream", 420)
    _overlay(made, laid, "goodput", "Goodput", "kbit/s", 240)
    if not made.figures:
        panels.add_figure(made, "No transfer's acknowledgements were captured: nothing to lay over one another", "", 90)
    kinds = list(dict.fromkeys(kind for one in laid for kind in one.row["align_s"]))
    told = document(experiments, version)
    values = {
        "title": f"MultiTracer: {len(experiments)} transfers compared",
        "summary": told,
        "experiments": [one.row for one in experiments],
        "below": told["at_or_below_95_percent"],
        "called": CAUSE_NAMES,
        "kinds": kinds,
        "left_out": max(len([one for one in experiments if one.lines]) - len(laid), 0),
        "laid": json.dumps([{"name": one.row["name"], "align_s": one.row["align_s"]} for one in laid]).replace(
            "<", "\\u003c"
        ),
        "columns": _columns(laid),
    }
    campaign = _campaign([one.row for one in experiments])
    figures = [campaign, *made.figures] if campaign is not None else made.figures
    return shell.page("compare", values["title"], figures, values)


def _campaign(rows: list[dict[str, Any]]) -> Any:
    """Utilization against throughput; None where no input tells of the link."""
    told = [row for row in rows if not np.isnan(_percent(row)) and row["throughput_bps"]]
    if not told:
        return None
    made = figure(
        title="How well each used its link", height=320, sizing_mode="stretch_width", tools="save",
        toolbar_location="above", name="campaign", y_range=Range1d(0, 103), min_border_left=84, min_border_right=20,
    )  # fmt: skip
    made.toolbar.logo = None
    made.xaxis.axis_label, made.yaxis.axis_label = "throughput, kbit/s", "utilization, %"
    made.add_layout(Span(location=WELL_USED, dimension="width", line_color=panels.GREY, line_dash="dashed"))
    for well, marker, colour in ((True, "circle", panels.BLUE), (False, "triangle", panels.RED)):
        mine = [row for row in told if (_percent(row) > WELL_USED) == well]
        if not mine:
            continue
        source = ColumnDataSource({
            "x": [row["throughput_bps"] / 1e3 for row in mine], "y": [_percent(row) for row in mine],
            "name": [row["name"] for row in mine], "report": [row["report"] or "" for row in mine],
            "causes": [", ".join(CAUSE_NAMES[name] for name in row["causes"]) for row in mine],
        }, name=f"campaign {'well' if well else 'badly'}")  # fmt: skip
        label = f"above {WELL_USED:.0f} %" if well else f"{WELL_USED:.0f} % and less"
        marks = made.scatter("x", "y", source=source, marker=marker, size=9, color=colour, legend_label=label)
        made.add_tools(HoverTool(renderers=[marks], tooltips=[
            ("transfer", "@name"), ("throughput", "@x{0,0.0} kbit/s"), ("utilization", "@y{0.0} %"),
            ("besides", "@causes"),
        ]))  # fmt: skip
    made.legend.location = "bottom_right"
    return made


def _overlay(made: panels.Panels, laid: list[Experiment], series: str, title: str, label: str, height: int) -> None:
    """One kind of line of every transfer in one panel."""
    if not any(series in one.lines for one in laid):
        return
    panel = panels.add_figure(made, title, label, height)
    panel.yaxis.formatter = NumeralTickFormatter(format="0,0.[000]")
    for place, one in enumerate(laid):
        if series in one.lines:
            source = made.source(f"{series} {place}", one.lines[series])
            panel.step(
                "x", "y", source=source, mode="after", line_width=1.5, legend_label=one.row["name"],
                **panels.line_style(place),
            )  # fmt: skip
    panels.place_legend(panel)
    panel.xaxis.axis_label = "seconds"


def _columns(laid: list[Experiment]) -> list[shell.Column]:
    wanted = [
        (place, series, name, source[name])
        for place, one in enumerate(laid)
        for series, source in one.lines.items()
        for name in ("x", "y")
    ]
    blobs = concurrently(lambda it: encode(it[3], panels.divisor(it[1], it[2])), wanted)
    return [
        shell.Column("all", f"{series} {place}", "line", name, blob.text, json.dumps(blob.meta))
        for (place, series, name, _), blob in zip(wanted, blobs, strict=True)
    ]
