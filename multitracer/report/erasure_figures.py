"""Figures of erasure traces: how long bursts and gaps are, and when blocks were lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from bokeh.layouts import row
from bokeh.models import LogTicker, NumeralTickFormatter, Range1d
from bokeh.plotting import figure

from multitracer.replay.erasures.run_lengths import runs_of
from multitracer.replay.erasures.trace import ErasureTrace
from multitracer.replay.retrace.throughput import stretches
from multitracer.report import colours, column_packs
from multitracer.report.panels import Panels, add_figure, place_legend

MOST_OVERLAID = 24
"""Nobody can tell more lines apart: the first are drawn, all are listed."""
NANO = 10**9
_MARKERS = ("circle", "triangle", "square", "diamond")

Line = tuple[Any, Any, int]
"""Times in ns, whole values, and what the values are divided by to be read."""


class OverTime:
    """Panels on one time axis, and the series in them."""

    def __init__(self, traces: Sequence[ErasureTrace]) -> None:
        last = max(len(trace.erased) * trace.block_ns for trace in traces) / NANO
        self.panels = Panels(Range1d(-0.01 * last, 1.01 * last, name="xr", min_interval=1e-3))
        self.series: dict[str, tuple[str, Line]] = {}

    def lines(self, kind: str, labels: Sequence[str], each: Callable[[int], Line], frame: tuple[str, str, int]) -> None:
        """One panel with a staircase for each label; `frame` is the panel's title, unit and height."""
        panel = add_figure(self.panels, *frame)
        panel.yaxis.formatter = NumeralTickFormatter(format="0,0.[00]")
        for place, label in enumerate(labels):
            source = self._add(f"{kind} {place}", "line", each(place))
            style = colours.line_style(place)
            panel.step("x", "y", source=source, mode="after", line_width=1.5, legend_label=label, **style)
        place_legend(panel)

    def bursts(self, labels: Sequence[str], traces: Sequence[ErasureTrace]) -> None:
        """A panel with a mark for every burst; none where nothing was lost."""
        if not any(trace.count for trace in traces):
            return
        panel = add_figure(self.panels, "Every burst: when it began, and how long it was", "blocks", 220)
        for place, (label, trace) in enumerate(zip(labels, traces, strict=True)):
            found = runs_of(trace.erased)
            if not len(found.bursts):
                continue
            line = found.begins[found.erased] * trace.block_ns, found.bursts, 1
            panel.scatter(
                "x", "y", source=self._add(f"burst {place}", "cloud", line), size=4, line_color=None,
                legend_label=label, marker=_MARKERS[place % len(_MARKERS)],
                fill_color=colours.line_style(place)["line_color"],
            )  # fmt: skip
        place_legend(panel)

    def _add(self, name: str, kind: str, line: Line) -> Any:
        self.series[name] = kind, line
        times, values, divided = line
        return self.panels.source(name, {"x": times / NANO, "y": values / divided})

    def figures(self) -> list[Any]:
        """The panels; the last one names the axis."""
        self.panels.figures[-1].xaxis.axis_label = "seconds since the start of the trace"
        return list(self.panels.figures)

    def columns(self) -> list[column_packs.Pack]:
        """The series encoded for the page."""
        return column_packs.pack_all([
            column_packs.Values("all", name, kind, column, values, divide)
            for name, (kind, (times, heights, divisor)) in self.series.items()
            for column, values, divide in (("x", times, NANO), ("y", heights, divisor))
        ])  # fmt: skip


def steps(starts_ns: Any, values: Any, end_ns: int, divided: int = 1) -> Line:
    """A staircase: each value from its start to the next, the last to the end."""
    return np.append(starts_ns, end_ns), np.append(values, values[-1:]), divided


def lost(trace: ErasureTrace) -> Line:
    """The share of lost blocks in each part of a minute, in percent."""
    starts = stretches(trace)
    counts = np.add.reduceat(trace.erased.astype(np.int64), starts)
    share = counts * 1_000_000 // np.diff(np.append(starts, len(trace.erased)))
    return steps(starts * trace.block_ns, share, len(trace.erased) * trace.block_ns, 10_000)


def plain_figure(title: str, height: int, **options: Any) -> Any:
    """A figure whose axis is not time."""
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


def lengths(traces: Sequence[ErasureTrace]) -> Any:
    """The distributions of burst and gap lengths side by side; one that would be empty is left out."""
    parts = [_lengths(traces, bursts=bursts) for bursts in (True, False)]
    return row(*(part for part in parts if part.renderers), sizing_mode="stretch_width")


def _lengths(traces: Sequence[ErasureTrace], *, bursts: bool) -> Any:
    what = "Bursts: runs of lost blocks" if bursts else "Gaps: runs of received blocks"
    made = plain_figure(what, 300, x_axis_type="log", y_axis_type="log", name="bursts" if bursts else "gaps")
    made.xaxis.axis_label, made.yaxis.axis_label = "at least so many blocks", "share of runs"
    made.xaxis.ticker = LogTicker(desired_num_ticks=6)
    for place, trace in enumerate(traces):
        found = runs_of(trace.erased)
        values, counts = np.unique(found.bursts if bursts else found.gaps, return_counts=True)
        if len(values):
            share = np.cumsum(counts[::-1])[::-1] / counts.sum()
            style = colours.line_style(place)
            made.step(values, share, mode="before", line_width=1.5, legend_label=trace.name, **style)
            made.scatter(values[-1:], share[-1:], size=4, color=style["line_color"], legend_label=trace.name)
    place_legend(made, width=500)
    return made
