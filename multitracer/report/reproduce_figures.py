"""Figures of reproduced papers: each published value beside ours, and the papers' own figures from our runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from bokeh.layouts import row
from bokeh.models import ColumnDataSource, NumeralTickFormatter, Range1d, Span

from multitracer.replay.papers.figures import Figure, Point
from multitracer.replay.papers.verdicts import NOT_REPRODUCED, REPRODUCED, UNDECIDED
from multitracer.report import colours
from multitracer.report.erasure_figures import plain_figure
from multitracer.report.interval_curves import add_curve
from multitracer.report.metric_texts import title_of, unit_of
from multitracer.report.panels import add_tooltip, place_legend

LEAST, MOST = -0.5, 3.0
"""How far from a published value ours is drawn, as multiples of it; beyond, it stands at the edge."""
_EDGE = 0.05
_HEIGHT, _ROW, _FRAME = 280, 20, 110
_NARROW = 290
"""Pixels of a legend's width where two figures stand side by side."""
_SIDE_BY_SIDE = {"flex": "1 1 440px", "min-width": "min(100%, 440px)"}
_MARKS = {
    REPRODUCED: ("circle", colours.GREEN), NOT_REPRODUCED: ("triangle", colours.RED),
    UNDECIDED: ("square", colours.GREY),
}  # fmt: skip
Row = Mapping[str, Any]


def layouts(papers: Sequence[Mapping[str, Any]], figures: Sequence[Figure]) -> list[Any]:
    """For each paper its values, and its figures side by side where there is room; all bear the paper's name."""
    shared = Range1d(LEAST - _EDGE, MOST + _EDGE, name="xr", min_interval=1e-3)
    made: list[Any] = []
    for paper in papers:
        name = paper["paper"]
        values = [one for one in paper["statements"] if _drawn(one)]
        if values or paper is papers[0]:  # the first one's axis is what keys move
            made.append(_values(name, values, shared))
        curves = [_curves(one) for one in figures if one.paper == name]
        if curves:
            made.append(row(*curves, sizing_mode="stretch_width", styles={"flex-wrap": "wrap"}, tags=[name]))
    return made


def _drawn(one: Row) -> bool:
    """Whether a statement is a number, of which we have one too."""
    known = isinstance(one["published"], int | float) and one["published"] != 0 and one["ours"]["value"] is not None
    return known and one["kind"] == "value" and one["role"] == "result"


def _values(paper: str, rows: Sequence[Row], shared: Range1d) -> Any:
    """Every value of a paper on a line of its own, ours as a multiple of the published one."""
    count = len(rows)
    title = f"{paper}: values" if rows else f"{paper}: no values"
    made = plain_figure(title, _FRAME + _ROW * count, name=f"values {paper}", x_range=shared, tags=[paper],
                        y_range=Range1d(-count + 0.4, 0.6))  # fmt: skip
    made.xaxis.axis_label = "ours / published"
    made.yaxis.ticker = [-place for place in range(count)]
    made.yaxis.major_label_overrides = {-place: one["id"] for place, one in enumerate(rows)}
    made.add_layout(Span(location=1, dimension="height", line_color=colours.GREY, line_width=2))
    for verdict, (marker, colour) in _MARKS.items():
        chosen = [(place, one) for place, one in enumerate(rows) if one["verdict"] == verdict]
        if chosen:
            _add_values(made, paper, verdict, chosen, marker, colour)
    if rows:
        place_legend(made)
    return made


def _add_values(
    made: Any, paper: str, verdict: str, chosen: Sequence[tuple[int, Row]], marker: str, colour: str
) -> None:
    source = ColumnDataSource(_columns(chosen), name=f"{verdict} {paper}")
    named = {"source": source, "legend_label": verdict}
    made.segment("low", "y", "high", "y", line_color=colour, line_width=1.5, **named)
    dots = made.scatter("x", "y", size=8, marker=marker, color=colour, **named)
    tips = [("", "@id: @statement"), ("published", "@published"), ("ours", "@ours"), ("", "@because")]
    add_tooltip(made, [dots], tips)


def _columns(chosen: Sequence[tuple[int, Row]]) -> dict[str, Any]:
    rows = [one for _, one in chosen]
    published = np.array([one["published"] for one in rows], float)
    value = np.array([one["ours"]["value"] for one in rows], float)
    half = np.array([one["ours"]["ci"] or 0.0 for one in rows], float)
    ends = np.sort([(value - half) / published, (value + half) / published], axis=0)
    low, high = np.clip(ends, LEAST, MOST)
    return {
        "x": np.clip(value / published, LEAST, MOST), "y": np.array([-place for place, _ in chosen], float),
        "low": low, "high": high, "id": [one["id"] for one in rows],
        "statement": [one["statement"] for one in rows], "because": [one["because"] for one in rows],
        "published": [f"{one['published']:g} {one['unit']}" for one in rows],
        "ours": [ours_text(one) for one in rows],
    }  # fmt: skip


def ours_text(one: Row) -> str:
    """Our number with its interval; empty where there is none."""
    value, half = one["ours"]["value"], one["ours"]["ci"]
    return "" if value is None else f"{value:.4g}" + ("" if half is None else f" \u00b1 {half:.2g}")


def _curves(figure: Figure) -> Any:
    """One of a paper's figures."""
    title = f"{figure.paper}: {figure.title}"
    made = plain_figure(title, _HEIGHT, tags=[figure.paper], styles=_SIDE_BY_SIDE)
    made.xaxis.axis_label, made.yaxis.axis_label = figure.axis, title_of(figure.metric)
    made.yaxis.formatter = NumeralTickFormatter(format="0,0.[000]")
    dots = [  # not shaded: shades of many hide each other
        add_curve(made, f"{title} {place}", _curve(name, points, figure.metric), place, name, shaded=False)
        for place, (name, points) in enumerate(figure.curves.items())
    ]
    tips = [("option", "@option"), (figure.axis, "@x"), ("mean", "@y{0,0.000}"), ("interval", "@low to @high")]
    add_tooltip(made, dots, tips)
    place_legend(made, width=_NARROW)
    return made


def _curve(name: str, points: Sequence[Point], metric: str) -> dict[str, Any]:
    x, mean, half = np.array(points).T
    scale = unit_of(metric)[1]
    half = np.where(np.isfinite(half), half, 0.0)
    return {"x": x, "y": mean / scale, "low": (mean - half) / scale, "high": (mean + half) / scale,
            "option": [name] * len(x)}  # fmt: skip
