"""The page of retrace: throughput against frame size, how losses cluster, and each minute's best size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, HoverTool, NumeralTickFormatter

from multitracer.model.version import VERSION
from multitracer.replay.retrace.document import document
from multitracer.replay.retrace.result import MINUTE_NS, Retraced
from multitracer.report import colours, page_template
from multitracer.report.erasure_figures import MOST_OVERLAID, Line, OverTime, lengths, lost, plain_figure, steps
from multitracer.report.panels import place_legend

_KILO = 1000


def write(results: Sequence[Retraced], path: Path) -> None:
    """Write the page."""
    path.write_text(html(results), encoding="utf-8", errors="backslashreplace")


def html(results: Sequence[Retraced]) -> str:
    """The page as one HTML document."""
    drawn = list(results[:MOST_OVERLAID])
    names = list(dict.fromkeys(one.trace.name for one in results))
    labels = [f"{one.trace.name}, {one.settings.model}" for one in drawn]
    by_name = {one.trace.name: one.trace for one in drawn}
    traces = list(by_name.values())
    over_time = OverTime(traces)
    frame = ("Best frame size of each minute", "octets", 260)
    over_time.lines("best", labels, lambda place: _best_by_minute(drawn[place]), frame)
    over_time.lines("lost", list(by_name), lambda place: lost(traces[place]), ("Blocks lost", "%", 180))
    over_time.bursts(list(by_name), traces)
    title = f"MultiTracer: {', '.join(names[:3])}{', ...' if len(names) > 3 else ''} retraced"
    values = {
        "version": VERSION,
        "verdict": verdict(results[0]),
        "traces": document(results)["traces"],
        "left_out": len(results) - len(drawn),
        "names": page_template.script_json({"runs": labels, "traces": list(by_name)}),
        "notes": [
            *(f"{trace.name}: {note}" for trace in traces for note in trace.notes),
            *(f"{one.trace.name}, {one.settings.model}, {sentence}." for one in results for sentence in one.remarks),
        ],
        "columns": over_time.columns(),
    }
    figures = [_curves(drawn, labels), lengths(traces), *over_time.figures()]
    return page_template.render("retrace", title, figures, values)


def verdict(one: Retraced) -> str:
    """The first trace's result in one sentence."""
    if one.optimal_frame_bytes is None or one.plateau is None:
        return f"Nothing came through over {one.trace.name} at any frame size."
    low, high = one.plateau
    gain = "" if one.gain_percent is None else (
        f", {one.gain_percent:.1f} % more than {one.sizes[one.baseline]} octets"
    )  # fmt: skip
    return (
        f"Over {one.trace.name} frames of {one.optimal_frame_bytes} octets carry most{gain}; "
        f"{low} to {high} octets are within 1 % of that."
    )


def _curves(drawn: Sequence[Retraced], labels: Sequence[str]) -> Any:
    """Throughput against frame size, each with its interval, its plateau thick and its best size marked."""
    title = "Throughput against frame size; thick: within 1 % of the best, which is marked"
    made = plain_figure(title, 420, name="curves")
    made.xaxis.axis_label, made.yaxis.axis_label = "frame size, octets", "kbit/s"
    made.yaxis.formatter = NumeralTickFormatter(format="0,0.[000]")
    marks = []
    for place, (one, label) in enumerate(zip(drawn, labels, strict=True)):
        curve, style = _curve(one), colours.line_style(place)
        # Bokeh takes a tooltip's text for HTML, but not the values of a column in it.
        source = ColumnDataSource({**curve, "label": [label] * len(curve["x"])}, name=f"curve {place}")
        named = {"source": source, "legend_label": label}
        made.varea("x", "low", "high", fill_color=style["line_color"], fill_alpha=0.15, **named)
        line = made.line("x", "y", line_width=1.5, **named, **style)
        tips = [("trace", "@label"), ("frame", "@x octets"), ("carries", "@y{0,0.000} kbit/s"),
                ("95 %", "@low{0,0.000} to @high{0,0.000}")]  # fmt: skip
        made.add_tools(HoverTool(renderers=[line], tooltips=tips, mode="mouse", visible=False))
        if one.optimal_frame_bytes is None or one.plateau is None:
            continue
        near = [at for at, size in enumerate(one.sizes) if one.plateau[0] <= size <= one.plateau[1]]
        made.line(
            curve["x"][near], curve["y"][near], line_width=5, line_alpha=0.45, line_color=style["line_color"],
            legend_label=label,
        )  # fmt: skip
        marks.append((one.optimal_frame_bytes, curve["y"][one.best], style["line_color"]))
    if marks:
        x, y, inks = zip(*marks, strict=True)
        made.scatter(x, y, marker="star", size=15, fill_color=inks, line_color="white", legend_label="best size")
    place_legend(made)
    return made


def _curve(one: Retraced) -> dict[str, Any]:
    y = np.array([np.nan if bps is None else float(bps) / _KILO for bps in one.exact_bps])
    low, high = np.array([bounds or [np.nan, np.nan] for bounds in one.ci95_bps]).T / _KILO
    return {"x": np.array(one.sizes), "y": y, "low": low, "high": high}


def _best_by_minute(one: Retraced) -> Line:
    sizes = np.where(one.by_minute.known, np.array(one.sizes)[one.by_minute.chosen], np.nan)
    return steps(np.arange(len(sizes)) * MINUTE_NS, sizes, len(one.trace.erased) * one.trace.block_ns)
