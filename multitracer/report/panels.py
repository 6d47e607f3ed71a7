"""The panels: Bokeh figures that share one time axis, and the sources that fill them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from bokeh.models import (
    BasicTicker,
    BasicTickFormatter,
    BoxAnnotation,
    BoxSelectTool,
    ColumnDataSource,
    CrosshairTool,
    HoverTool,
    NumeralTickFormatter,
    Range1d,
    RangeTool,
    Slope,
    Span,
)  # fmt: skip
from bokeh.plotting import figure

from multitracer.report.drawn import DIVIDE, MILLISECONDS, Drawn

if TYPE_CHECKING:
    import pandas as pd
    from bokeh.plotting import figure as Figure  # noqa: N812 - a class, though Bokeh names it like a function

    from multitracer.model.analysis import Analysis

# Okabe and Ito's colours, told apart by every eye; each goes with a shape or a dash of its own.
BLUE, GREEN, ORANGE, RED, PURPLE, GREY, SKY, BLACK = (
    "#0072b2", "#009e73", "#e69f00", "#d55e00", "#cc79a7", "#7f7f7f", "#56b4e9", "#000000",
)  # fmt: skip
CAUSE_COLOURS = {
    "new_data": BLUE, "tcp_retransmitted": RED, "link_retransmitted": ORANGE, "link_overhead": SKY,
    "link_control": "#999933", "flow_controlled": PURPLE, "link_reset": "#882255", "idle_window_limited": "#bbbbbb",
    "idle_sender": "#dddddd", "idle_recovery": "#661100", "unknown": "#f0e442",
}  # fmt: skip
_LINE_COLOURS = (BLUE, RED, GREEN, PURPLE, ORANGE, SKY, GREY, BLACK)
_LINE_DASHES = ("solid", "dashed", "dotted")
LAYERS = ("tcp", "link", "host", "path", "capture")
_LEFT_BORDER, _WIDTH = 84, 1180
_LETTER, _SWATCH, _ROW = 7, 36, 21
"""Pixels of a letter, of a legend's mark, and of its row."""
MOST_BANDS = 200
_SEED = 500
"""So many points of a series are in the page before its engine runs."""


@dataclass
class Panels:
    """The figures from top to bottom, their sources by name, and what was left out and why."""

    time: Any
    figures: list[Figure] = field(default_factory=list)
    sources: dict[str, Any] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)

    def source(self, name: str, data: dict[str, Any] | None, columns: Iterable[str] = ("x", "y")) -> Any:
        """The named source with a few of its points, for a first sight: the page's engine fills it.

        Without data it holds one point nowhere: a legend draws no mark of none.
        """
        values: dict[str, Any] = {column: np.full(1, np.nan) for column in columns}
        if data and len(data["x"]):
            step = -(-len(data["x"]) // _SEED)
            few = {column: data[column][::step] for column in columns if column in data}
            values = {
                column: some if some.dtype == object else some / divisor(name, column) for column, some in few.items()
            }
        made = ColumnDataSource(data=values, name=name, tags=["series"])
        self.sources[name] = made
        return made


def line_style(place: int) -> dict[str, str]:
    """Colour and dash of one of several lines, told apart for 24."""
    return {
        "line_color": _LINE_COLOURS[place % len(_LINE_COLOURS)],
        "line_dash": _LINE_DASHES[place // len(_LINE_COLOURS) % len(_LINE_DASHES)],
    }


def divisor(name: str, column: str) -> int:
    """What a column of a series is divided by to be drawn."""
    return 10**6 if column == "y" and name in MILLISECONDS else DIVIDE.get(column, 1)


def build(analysis: Analysis, shown: Drawn, link: Drawn, extent: tuple[float, float]) -> Panels:
    """All panels for one connection and the link."""
    margin = max((extent[1] - extent[0]) * 0.01, 1e-6)
    panels = Panels(Range1d(extent[0] - margin, extent[1] + margin, name="xr", min_interval=2e-6))
    data = {**shown.sources, **link.sources}
    for add in (_overview, _sequence, _sender_state, _delay, _frames, _rate):
        add(analysis, panels, data)
    _bands(analysis, panels)
    panels.figures.insert(0, range_figure(panels))
    return panels


def range_figure(panels: Panels) -> Figure:
    """All of the trace in small: how much was sent when, how often again, and the part that is in view."""
    whole = Range1d(panels.time.start, panels.time.end, name="whole")
    made = figure(
        title="All of the trace: drag the frame, or its edges", height=96, width=_WIDTH, sizing_mode="stretch_width",
        x_range=whole, y_range=Range1d(0, 1, name="overview rate"), tools="", output_backend="canvas",
        min_border_left=_LEFT_BORDER, min_border_right=20, toolbar_location=None, name="overview",
    )  # fmt: skip
    made.title.text_font_size = "12px"
    made.yaxis.axis_label = "kbit/s"
    made.yaxis.ticker = BasicTicker(desired_num_ticks=2)
    made.xaxis.formatter = BasicTickFormatter(use_scientific=False)
    made.yaxis.formatter = NumeralTickFormatter(format="0,0")
    nothing = {"left": [np.nan], "right": [np.nan], "top": [np.nan]}
    for name, colour in (("overview sent", BLUE), ("overview again", RED)):
        source = ColumnDataSource(nothing, name=name)
        made.quad(left="left", right="right", bottom=0, top="top", color=colour, line_color=None, source=source)
    tool = RangeTool(x_range=panels.time)
    tool.overlay.fill_color, tool.overlay.fill_alpha = SKY, 0.2
    made.add_tools(tool)
    return made


def add_figure(panels: Panels, title: str, label: str, height: int, y_range: Any = None) -> Figure:
    """One panel; its tools act on time alone, its y axis follows what is in view."""
    made = figure(
        title=title, height=height, width=_WIDTH, sizing_mode="stretch_width", x_range=panels.time,
        y_range=y_range or Range1d(0, 1), tools="xpan,xwheel_zoom,xbox_zoom,reset,save",
        active_drag="xpan", active_scroll="xwheel_zoom", output_backend="canvas", lod_threshold=None,
        min_border_left=_LEFT_BORDER, min_border_right=20, toolbar_location="above",
        name=f"panel {len(panels.figures)}",
    )  # fmt: skip
    made.yaxis.axis_label = label
    if y_range is None:
        made.yaxis.ticker = BasicTicker(desired_num_ticks=max(3, height // 60))
    made.xaxis.axis_label = None
    made.title.text_font_size = "14px"
    made.yaxis.axis_label_text_font_size = made.xaxis.axis_label_text_font_size = "12px"
    made.xaxis.major_label_text_font_size = made.yaxis.major_label_text_font_size = "12px"
    made.xaxis.formatter = BasicTickFormatter(use_scientific=False)
    picture = {"image": [np.zeros((1, 1), dtype=np.uint32)], "x": [0.0], "y": [0.0], "dw": [1e-9], "dh": [1e-9]}
    made.image_rgba(
        "image", "x", "y", "dw", "dh",
        source=ColumnDataSource(picture, name=f"image {len(panels.figures)}"), level="glyph",
    )  # fmt: skip
    made.toolbar.logo = None
    made.toolbar.autohide = True
    # Without renderers: it would mark rows of sources that the engine fills anew, and fade the others.
    made.add_tools(BoxSelectTool(dimensions="width", renderers=[], persistent=False))
    made.add_layout(
        BoxAnnotation(name=f"box {len(panels.figures)}", visible=False, fill_color=SKY, fill_alpha=0.15,
                      line_color=BLUE, line_alpha=0.8)
    )  # fmt: skip
    made.add_tools(
        CrosshairTool(overlay=Span(dimension="height", line_color=GREY, line_dash="dotted"), dimensions="height")
    )
    panels.figures.append(made)
    return made


def place_legend(made: Figure, width: int = 1050) -> None:
    """Put the legend below the panel, in rows not wider than so many pixels; a click hides what it names."""
    if made.legend:
        longest = max(len(item.label.value) for item in made.legend[0].items)
        columns = max(1, width // (_LETTER * longest + _SWATCH))
        made.legend.ncols = columns
        made.height += _ROW * (-(-len(made.legend[0].items) // columns) - 1)
        made.legend.click_policy = "hide"
        made.legend.location = "top_left"
        made.legend.orientation = "horizontal"
        made.legend.label_text_font_size = "12px"
        made.legend.padding = made.legend.margin = 4
        made.legend.background_fill_alpha = 0.75
        made.add_layout(made.legend[0], "below")


def _hover(made: Figure, renderers: list[Any], tips: list[tuple[str, str]]) -> None:
    made.add_tools(
        HoverTool(renderers=renderers, tooltips=tips, mode="mouse", point_policy="snap_to_data", visible=False)
    )


def _overview(analysis: Analysis, panels: Panels, _: dict[str, Any]) -> None:
    """Where the time went, and the findings, one lane for each layer."""
    findings, accounting = analysis.tables["findings"], accounted(analysis)
    lanes = [layer for layer in LAYERS if (findings["layer"] == layer).any()]
    names = (["time"] if len(accounting) else []) + lanes
    if not names:
        panels.absent.append("No findings, and no accounting: nothing to mark on the time axis.")
        return
    from bokeh.models import FactorRange

    made = add_figure(
        panels, "Where the time went, and findings by layer", "", 60 + 34 * len(names), FactorRange(*reversed(names))
    )
    if len(accounting):
        # The page fills it: with each stretch where they are few, else with the cause of most of each pixel.
        nothing = {"left": [np.nan], "right": [np.nan], "lane": ["time"], "cause": [""], "colour": [GREY]}
        source = ColumnDataSource(nothing, name="accounting")
        bars = made.hbar(
            y="lane", left="left", right="right", height=0.8, color="colour", line_color=None, source=source
        )
        _hover(made, [bars], [("cause", "@cause"), ("from", "@left{0.000000} s"), ("to", "@right{0.000000} s")])
    if lanes:
        start, end = _s(analysis, findings["start_ns"]), _s(analysis, findings["end_ns"])
        verdict = findings["verdict"].astype(str).to_numpy()
        source = ColumnDataSource({
            "left": start, "right": end, "lane": findings["layer"].to_numpy(dtype=object),
            "kind": findings["kind"].to_numpy(dtype=object), "because": findings["because"].to_numpy(dtype=object),
            "verdict": verdict.astype(object),
            "alpha": np.array([{"confirmed": 0.85, "likely": 0.5}.get(name, 0.25) for name in verdict]),
        }, name="findings")  # fmt: skip
        # A finding of an instant is a mark; one that lasts is a bar behind it.
        bars = made.hbar(y="lane", left="left", right="right", height=0.5, color=ORANGE, alpha="alpha", source=source)
        marks = made.scatter(
            "left", "lane", marker="dash", angle=np.pi / 2, size=16, color=RED, alpha="alpha", source=source
        )
        _hover(
            made, [bars, marks], [("finding", "@kind (@verdict)"), ("why", "@because"), ("from", "@left{0.000000} s")]
        )


def accounted(analysis: Analysis) -> pd.DataFrame:
    """The stretches of the link and direction that carried most data, in order of time."""
    table = analysis.tables["accounting"]
    return table[table["link"] == (-1 if analysis.links.main is None else analysis.links.main)]


def _s(analysis: Analysis, time_ns: Any) -> Any:
    return (time_ns.to_numpy() - analysis.origin_ns) / 1e9


def _sequence(analysis: Analysis, panels: Panels, data: dict[str, Any]) -> None:
    """Time and sequence as tcptrace draws them: segments, acknowledgements, window, SACKs, resends."""
    made = add_figure(panels, "Sequence numbers", "byte of the stream", 420)
    made.yaxis.formatter = NumeralTickFormatter(format="0,0")
    beam = ("x", "y", "top", "record")
    made.step("x", "y", source=panels.source("window", data.get("window")), mode="after", color="#b8860b",
              name="not fitted", line_dash="dashed", line_width=1, legend_label="advertised window")  # fmt: skip
    made.step("x", "y", source=panels.source("acks", data.get("acks"), ("x", "y", "record")), mode="after", color=GREEN,
              line_width=1.5, legend_label="acknowledged")  # fmt: skip
    sacks = panels.source("sacks", data.get("sacks"), ("x", "y", "top"))
    made.segment("x", "y", "x", "top", source=sacks, color=PURPLE, line_width=2, legend_label="SACK")
    segments = panels.source("segments", data.get("segments"), beam)
    drawn = made.segment("x", "y", "x", "top", source=segments, color=BLUE, line_width=2, legend_label="sent")
    ends = made.scatter("x", "top", source=segments, marker="dash", size=5, color=BLUE)
    starts = made.scatter("x", "y", source=segments, marker="dash", size=5, color=BLUE)
    _hover(
        made,
        [drawn, ends, starts],
        [("sent", "@x{0.000000000} s"), ("bytes", "@y{0,0} to @top{0,0}"), ("record", "@record")],
    )
    for kind, colour, label in (
        ("no", RED, "resent, needed"), ("yes", ORANGE, "resent, needless"), ("unknown", GREY, "resent, undecided"),
    ):  # fmt: skip
        columns = ("x", "y", "top", "record", "middle", "trigger", "shape", "because")
        source = panels.source(f"again_{kind}", data.get(f"again_{kind}"), columns)
        made.segment("x", "y", "x", "top", source=source, color=colour, line_width=2, legend_label=label)
        marks = made.scatter("x", "middle", source=source, marker="shape", size=8, fill_color=colour,
                             line_color="white", line_width=0.5)  # fmt: skip
        _hover(made, [marks], [("resent", "@x{0.000000000} s (@trigger)"), ("bytes", "@y{0,0} to @top{0,0}"),
                               ("why", "@because"), ("record", "@record")])  # fmt: skip
    _chosen(made, "chosen segments", ("x", "y", "top"))
    _slope(analysis, panels, made, data)
    place_legend(made)


def _slope(analysis: Analysis, panels: Panels, made: Figure, data: dict[str, Any]) -> None:
    """The link's rate as a line to compare slopes with."""
    rate, first = link_rate(analysis), data.get("segments")
    if rate is None or first is None or not len(first["x"]):
        return
    gradient = rate / 8
    intercept = float(first["y"][0] - gradient * first["x"][0] / 1e9)
    slope = Slope(
        gradient=gradient, y_intercept=intercept, line_color=GREY, line_dash="dotdash", line_width=1, name="rate"
    )
    made.add_layout(slope)
    made.line([np.nan], [np.nan], color=GREY, line_dash="dotdash", legend_label=f"link rate {rate / 1e3:,.4g} kbit/s")


def link_rate(analysis: Analysis) -> float | None:
    """What the link can carry, in bit/s of user data; None where no log tells."""
    if analysis.options.link_rate_bps:
        return analysis.options.link_rate_bps
    return analysis.links.rate_bps


def _sender_state(_: Analysis, panels: Panels, data: dict[str, Any]) -> None:
    if not any(name in data for name in ("cwnd", "ssthresh", "outstanding")):
        panels.absent.append("Sender state: no recording shows windows.")
        return
    made = add_figure(panels, "Windows of the sender", "bytes", 200)
    made.yaxis.formatter = NumeralTickFormatter(format="0,0")
    _steps(panels, made, data, (
        ("outstanding", "outstanding", BLUE, "solid"),
        ("cwnd", "congestion window", RED, "dashed"),
        ("ssthresh", "slow start threshold", GREEN, "dotted"),
    ))  # fmt: skip


def _steps(panels: Panels, made: Figure, data: dict[str, Any], lines: Iterable[tuple[str, str, str, str]]) -> None:
    for name, label, colour, dash in lines:
        source = panels.source(name, data.get(name))
        line = made.step(
            "x", "y", source=source, mode="after", color=colour, line_dash=dash, line_width=1.5, legend_label=label
        )
        _hover(made, [line], [(label, "@y{0,0.[000]}"), ("at", "@x{0.000000} s")])
    place_legend(made)


def _delay(_: Analysis, panels: Panels, data: dict[str, Any]) -> None:
    if not any(name in data for name in ("rtt", "srtt", "queue")):
        panels.absent.append("Delays: no acknowledged segment was sent once only.")
        return
    made = add_figure(panels, "Delays", "ms", 200)
    for name, label, colour, marker in (
        ("rtt", "round trip", BLUE, "circle"),
        ("queue", "wait for the first frame", ORANGE, "square"),
    ):
        source = panels.source(name, data.get(name))
        marks = made.scatter(
            "x", "y", source=source, marker=marker, size=4, fill_color=colour, line_color=None, legend_label=label
        )
        _hover(made, [marks], [(label, "@y{0,0.000} ms"), ("sent", "@x{0.000000} s")])
    for name, label, colour, dash in (
        ("srtt", "smoothed round trip", RED, "dashed"),
        ("rto", "retransmission timer", GREEN, "dotted"),
    ):
        made.step("x", "y", source=panels.source(name, data.get(name)), mode="after", color=colour, line_dash=dash,
                  line_width=1.5, legend_label=label)  # fmt: skip
    place_legend(made)


def _frames(analysis: Analysis, panels: Panels, data: dict[str, Any]) -> None:
    if "frames_new" not in data:
        panels.absent.append("Link frames: no log of the link's data sender (rlpdump, rlcdump, GSMTAP, .mi2log).")
        return
    row = next(row for row in analysis.links.rows if row["id"] == analysis.links.main)
    made = add_figure(panels, f"Link frames: {row['protocol']}, sent by the {row['sender']}", "frame number", 300)
    made.yaxis.formatter = NumeralTickFormatter(format="0,0")
    made.step("x", "y", source=panels.source("frames_acked", data.get("frames_acked")), mode="after", color=GREEN,
              line_width=1.2, legend_label="acknowledged")  # fmt: skip
    for name, label, colour, marker, size in (
        ("frames_new", "sent", BLUE, "square", 3),
        ("frames_missing", "reported missing", PURPLE, "x", 7),
        ("frames_polls", "poll", BLACK, "asterisk", 7),
        ("frames_again", "repeated", RED, "triangle", 6),
    ):
        if name not in data:
            continue
        source = panels.source(name, data[name])
        marks = made.scatter("x", "y", source=source, marker=marker, size=size, color=colour, legend_label=label)
        _hover(made, [marks], [(f"frame {label}", "@y{0,0}"), ("at", "@x{0.000000} s")])
    _chosen(made, "chosen frames", ("x", "y"))
    place_legend(made)


def _chosen(made: Figure, name: str, columns: tuple[str, ...]) -> None:
    """Marks for what was clicked, or belongs to it in another layer."""
    source = ColumnDataSource({column: [np.nan] for column in columns}, name=name)
    if "top" in columns:
        made.segment("x", "y", "x", "top", source=source, line_color=BLACK, line_width=3)
    made.scatter("x", columns[-1], source=source, marker="circle", size=11, fill_color=None, line_color=BLACK,
                 line_width=1.5)  # fmt: skip


def _rate(analysis: Analysis, panels: Panels, data: dict[str, Any]) -> None:
    if "goodput" not in data:
        panels.absent.append("Goodput: nothing was acknowledged twice.")
        return
    made = add_figure(panels, "Goodput", "kbit/s", 180)
    made.yaxis.formatter = NumeralTickFormatter(format="0,0.[000]")
    source = panels.source("goodput", data["goodput"])
    line = made.step(
        "x", "y", source=source, mode="after", color=BLUE, line_width=1.5,
        legend_label="acknowledged for the first time",
    )  # fmt: skip
    _hover(made, [line], [("goodput", "@y{0,0.0} kbit/s"), ("from", "@x{0.000} s")])
    rate = link_rate(analysis)
    if rate is not None:
        made.add_layout(Span(location=rate / 1e3, dimension="width", line_color=GREY, line_dash="dotdash", name="rate"))
        made.line([np.nan], [np.nan], color=GREY, line_dash="dotdash", legend_label="link rate")
    made.xaxis.axis_label = "seconds since the start of the trace"
    place_legend(made)


def _bands(analysis: Analysis, panels: Panels) -> None:
    """Resets and stops of the link, shaded in every panel."""
    table = analysis.links.intervals
    if table is None:
        return
    colours: dict[str, tuple[str, str]] = {
        "reset": (RED, "///"),
        "flow-control": (PURPLE, "..."),
        "release": (BLACK, "xxx"),
    }
    for row in table.head(MOST_BANDS).itertuples():
        colour, _ = colours.get(row.kind, (GREY, ""))
        left, right = ((time - analysis.origin_ns) / 1e9 for time in (row.start_ns, row.end_ns))
        for made in panels.figures:
            made.add_layout(BoxAnnotation(left=left, right=right, fill_color=colour, fill_alpha=0.12, line_color=colour,
                                          line_alpha=0.4, level="underlay"))  # fmt: skip
