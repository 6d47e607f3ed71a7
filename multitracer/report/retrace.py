"""The page of retrace: throughput against frame size, how losses cluster, and each minute's best size."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bokeh.layouts import row
from bokeh.models import ColumnDataSource, HoverTool, LogTicker, NumeralTickFormatter, Range1d
from bokeh.plotting import figure

from multitracer import __version__
from multitracer.kernels import concurrently
from multitracer.replay.erasures import runs
from multitracer.replay.retrace import MINUTE_NS, Retraced, document
from multitracer.report import panels, shell
from multitracer.report.blobs import encode

MOST_OVERLAID = 24
"""More lines than this nobody tells apart: the first are drawn, all are listed."""
_KILO = 1000


def write(results: Sequence[Retraced], path: Path) -> None:
    """Write the page."""
    path.write_text(html(results), encoding="utf-8")


def html(results: Sequence[Retraced]) -> str:
    """The page as one HTML document."""
    drawn = list(results[:MOST_OVERLAID])
    last = max(len(one.trace.erased) * one.trace.block_ns for one in drawn) / 1e9
    made = panels.Panels(Range1d(-0.01 * last, 1.01 * last, name="xr", min_interval=1e-3))
    series = _over_time(made, drawn)
    names = list(dict.fromkeys(one.trace.name for one in results))
    values = {
        "title": f"MultiTracer: {', '.join(names[:3])}{', ...' if len(names) > 3 else ''} retraced",
        "version": __version__,
        "verdict": verdict(results[0]),
        "traces": document(results)["traces"],
        "left_out": len(results) - len(drawn),
        "names": json.dumps([_label(one) for one in drawn]).replace("<", "\\u003c"),
        "columns": _columns(series),
    }
    lengths = row(_lengths(drawn, lost=True), _lengths(drawn, lost=False), sizing_mode="stretch_width")
    return shell.page("retrace", values["title"], [_curves(drawn), lengths, *made.figures], values)


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


def _label(one: Retraced) -> str:
    return f"{one.trace.name}, {one.settings.model}"


def _figure(title: str, height: int, **options: Any) -> Any:
    made = figure(
        title=title, height=height, sizing_mode="stretch_width", tools="xpan,xwheel_zoom,box_zoom,reset,save",
        toolbar_location="above", min_border_left=84, min_border_right=20, **options,
    )  # fmt: skip
    made.toolbar.logo = None
    made.toolbar.autohide = True
    made.title.text_font_size = "14px"
    for axis in (made.xaxis, made.yaxis):
        axis.axis_label_text_font_size = axis.major_label_text_font_size = "12px"
    return made


def _curves(drawn: Sequence[Retraced]) -> Any:
    """Throughput against frame size, each with its interval, its plateau thick and its best size marked."""
    made = _figure("Throughput against frame size; thick: within 1 % of the best, which is marked", 420, name="curves")
    made.xaxis.axis_label, made.yaxis.axis_label = "frame size, octets", "kbit/s"
    made.yaxis.formatter = NumeralTickFormatter(format="0,0.[000]")
    marks = []
    for place, one in enumerate(drawn):
        curve = _curve(one)
        style, label = panels.line_style(place), _label(one)
        source = ColumnDataSource(curve, name=f"curve {place}")
        named = {"source": source, "legend_label": label}
        made.varea("x", "low", "high", fill_color=style["line_color"], fill_alpha=0.15, **named)
        line = made.line("x", "y", line_width=1.5, **named, **style)
        tips = [("trace", label), ("frame", "@x octets"), ("carries", "@y{0,0.000} kbit/s"),
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
        x, y, colours = zip(*marks, strict=True)
        made.scatter(x, y, marker="star", size=15, fill_color=colours, line_color="white", legend_label="best size")
    panels.place_legend(made)
    return made


def _curve(one: Retraced) -> dict[str, Any]:
    y = np.array([np.nan if bps is None else float(bps) / _KILO for bps in one.exact_bps])
    samples = one.resampled_bps
    if samples is None:
        low = high = y
    else:
        known = np.isfinite(samples).any(axis=1)
        low, high = np.full(len(y), np.nan), np.full(len(y), np.nan)
        low[known], high[known] = np.nanpercentile(samples[known], (2.5, 97.5), axis=1) / _KILO
    return {"x": np.array(one.sizes), "y": y, "low": low, "high": high}


def _lengths(drawn: Sequence[Retraced], *, lost: bool) -> Any:
    """How many runs of lost blocks, or of received ones between them, are at least so long."""
    what = "Bursts: runs of lost blocks" if lost else "Gaps: runs of received blocks"
    made = _figure(what, 300, x_axis_type="log", y_axis_type="log", name="bursts" if lost else "gaps")
    made.xaxis.axis_label, made.yaxis.axis_label = "at least so many blocks", "share of runs"
    made.xaxis.ticker = LogTicker(desired_num_ticks=6)
    seen: set[str] = set()
    for place, one in enumerate(drawn):
        _, lengths, kind = runs(one.trace.erased)
        lengths = np.sort(lengths[kind == lost])
        if not len(lengths) or one.trace.name in seen:
            continue
        seen.add(one.trace.name)
        values, first = np.unique(lengths, return_index=True)
        made.step(
            values, 1 - first / len(lengths), mode="before", line_width=1.5, legend_label=one.trace.name,
            **panels.line_style(place),
        )  # fmt: skip
    panels.place_legend(made)
    return made


# Panels over time

_Series = dict[str, tuple[str, dict[str, tuple[Any, int]]]]
"""By name: how it is drawn, and its columns with what each is divided by."""


def _over_time(made: panels.Panels, drawn: Sequence[Retraced]) -> _Series:
    """Each minute's best size, what was lost, and every burst, on the shared time axis."""
    series: _Series = {}
    _lines(made, drawn, series, "best", _best_by_minute, ("Best frame size of each minute", "octets", 260))
    _lines(made, drawn, series, "lost", _lost_by_stretch, ("Blocks lost", "%", 180))
    made_panel = panels.add_figure(made, "Every burst: when it began, and how long it was", "blocks", 220)
    for place, one in enumerate(drawn):
        begins, lengths, lost = runs(one.trace.erased)
        if not lost.any():
            continue
        name = f"burst {place}"
        series[name] = ("cloud", {"x": (begins[lost] * one.trace.block_ns, 10**9), "y": (lengths[lost], 1)})
        made_panel.scatter(
            "x", "y", source=made.source(name, _plain(series[name][1])), size=4, line_color=None,
            marker=("circle", "triangle", "square")[place % 3], fill_color=panels.line_style(place)["line_color"],
            legend_label=_label(one),
        )  # fmt: skip
    panels.place_legend(made_panel)
    made_panel.xaxis.axis_label = "seconds since the start of the trace"
    return series


def _lines(
    made: panels.Panels, drawn: Sequence[Retraced], series: _Series, kind: str, columns: Any, said: tuple[str, str, int]
) -> None:
    panel = panels.add_figure(made, *said)
    panel.yaxis.formatter = NumeralTickFormatter(format="0,0.[00]")
    for place, one in enumerate(drawn):
        name = f"{kind} {place}"
        series[name] = ("line", columns(one))
        source = made.source(name, _plain(series[name][1]))
        panel.step(
            "x", "y", source=source, mode="after", line_width=1.5, legend_label=_label(one), **panels.line_style(place)
        )
    panels.place_legend(panel)


def _plain(columns: dict[str, tuple[Any, int]]) -> dict[str, Any]:
    return {name: values / divided for name, (values, divided) in columns.items()}


def _best_by_minute(one: Retraced) -> dict[str, tuple[Any, int]]:
    sizes = np.array(one.sizes, dtype=np.int64)[one.by_minute.chosen]
    starts = np.append(np.arange(len(sizes)) * MINUTE_NS, len(one.trace.erased) * one.trace.block_ns)
    return {"x": (starts, 10**9), "y": (np.append(sizes, sizes[-1]), 1)}


def _lost_by_stretch(one: Retraced) -> dict[str, tuple[Any, int]]:
    lost = np.add.reduceat(one.trace.erased.astype(np.int64), one.starts)
    share = lost * 1_000_000 // np.diff(np.append(one.starts, len(one.trace.erased)))
    starts = np.append(one.starts, len(one.trace.erased)) * one.trace.block_ns
    return {"x": (starts, 10**9), "y": (np.append(share, share[-1]), 10_000)}


def _columns(series: _Series) -> list[shell.Column]:
    wanted = [
        (name, kind, column, values, divided)
        for name, (kind, columns) in series.items()
        for column, (values, divided) in columns.items()
    ]
    blobs = concurrently(lambda it: encode(it[3], it[4]), wanted)
    return [
        shell.Column("all", name, kind, column, blob.text, json.dumps(blob.meta))
        for (name, kind, column, _, _), blob in zip(wanted, blobs, strict=True)
    ]
