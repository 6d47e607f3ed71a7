"""The report's panels: what happened to one connection and on the link, layer by layer, on one time axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from bokeh.models import BoxAnnotation, ColumnDataSource, FactorRange, NumeralTickFormatter, Range1d, Slope, Span

from multitracer.model.vocabulary import LAYERS
from multitracer.report import colours
from multitracer.report.panel_data import PanelData
from multitracer.report.panels import FIRST_POINTS, Panels, add_figure, add_tooltip, place_legend, range_figure

if TYPE_CHECKING:
    from bokeh.plotting import figure as Figure  # noqa: N812 - a class, though Bokeh names it like a function

    from multitracer.model.analysis import Analysis

MOST_BANDS = 200
NOT_FITTED = "not fitted"
"""The name of what a panel's y axis is not fitted to; the page's scripts know it too."""


def build(
    analysis: Analysis, shown: PanelData, link: PanelData, extent: tuple[float, float], points: int = FIRST_POINTS,
    *, lanes: bool = False,
) -> Panels:  # fmt: skip
    """All panels for one connection and the link, with about `points` points of each series at most.

    With `lanes` the first panel holds where the time went and the findings, which the report's page draws by itself.
    """
    margin = max((extent[1] - extent[0]) * 0.01, 1e-6)
    panels = Panels(Range1d(extent[0] - margin, extent[1] + margin, name="xr", min_interval=2e-6), points=points)
    data = {**shown.sources, **link.sources}
    if lanes:
        _causes_and_findings(analysis, panels)
    for add in (_sequence, _sender_state, _delay, _frames, _goodput, _resends_counted):
        add(analysis, panels, data)
    _bands(analysis, panels)
    panels.figures.insert(0, range_figure(panels))
    return panels


def link_rate(analysis: Analysis) -> float | None:
    """What the link can carry, in bit/s of user data; None where no log tells."""
    if analysis.options.link_rate_bps:
        return analysis.options.link_rate_bps
    return analysis.links.rate_bps


def _causes_and_findings(analysis: Analysis, panels: Panels) -> None:
    """Where the time went, and the findings, one lane for each layer."""
    has_causes = bool(len(analysis.main_accounting))
    lanes = [layer for layer in LAYERS if (analysis.tables["findings"]["layer"] == layer).any()]
    names = (["time"] if has_causes else []) + lanes
    if not names:
        panels.absent.append("No findings, and no accounting: nothing to mark on the time axis.")
        return
    title = "Where the time went, and findings by layer"
    made = add_figure(panels, title, "", 60 + 34 * len(names), FactorRange(*reversed(names)))
    if has_causes:
        _causes(made)
    if lanes:
        _findings(made, analysis)


def _causes(made: Figure) -> None:
    """Bars that the page fills: with each stretch where they are few, else with the cause of most of each part."""
    nothing = {"left": [np.nan], "right": [np.nan], "lane": ["time"], "cause": [""], "colour": [colours.GREY]}
    source = ColumnDataSource(nothing, name="accounting")
    bars = made.hbar(y="lane", left="left", right="right", height=0.8, color="colour", line_color=None, source=source)
    add_tooltip(made, [bars], [("cause", "@cause"), ("from", "@left{0.000000} s"), ("to", "@right{0.000000} s")])


def _findings(made: Figure, analysis: Analysis) -> None:
    """A mark for each finding, and behind it a bar as long as the finding lasts."""
    findings = analysis.tables["findings"]
    verdict = findings["verdict"].astype(str).to_numpy()
    source = ColumnDataSource({
        "left": _seconds(analysis, findings["start_ns"]), "right": _seconds(analysis, findings["end_ns"]),
        "lane": findings["layer"].to_numpy(dtype=object),
        "kind": findings["kind"].to_numpy(dtype=object), "because": findings["because"].to_numpy(dtype=object),
        "verdict": verdict.astype(object),
        "alpha": np.array([{"confirmed": 0.85, "likely": 0.5}.get(name, 0.25) for name in verdict]),
    }, name="findings")  # fmt: skip
    bars = made.hbar(
        y="lane", left="left", right="right", height=0.5, color=colours.FINDING, alpha="alpha", source=source
    )
    marks = made.scatter(
        "left", "lane", marker="dash", angle=np.pi / 2, size=16, color=colours.RED, alpha="alpha", source=source
    )
    tips = [("finding", "@kind (@verdict)"), ("why", "@because"), ("from", "@left{0.000000} s")]
    add_tooltip(made, [bars, marks], tips)


def _seconds(analysis: Analysis, time_ns: Any) -> Any:
    return (time_ns.to_numpy() - analysis.origin_ns) / 1e9


def _sequence(analysis: Analysis, panels: Panels, data: dict[str, Any]) -> None:
    """Time and sequence as tcptrace draws them: segments, acknowledgements, window, SACKs, resends."""
    if not len(analysis.connections):
        panels.absent.append("Sequence numbers: no TCP connection was captured.")
        return
    made = add_figure(panels, "Sequence numbers", "byte of the stream", 420, tag="sequence")
    made.yaxis.formatter = NumeralTickFormatter(format="0,0")
    _acknowledgements(made, panels, data)
    _segments(made, panels, data)
    for kind, label in (("no", "resent, needed"), ("yes", "resent, needless"), ("unknown", "resent, undecided")):
        _resends(made, panels, data, kind, label)
    _chosen(made, "chosen segments", ("x", "y", "top"))
    _slope(analysis, made, data)
    place_legend(made)


def _acknowledgements(made: Figure, panels: Panels, data: dict[str, Any]) -> None:
    """The advertised window, what was acknowledged, and SACK blocks; the y axis is not fitted to the window."""
    window = panels.source("window", data.get("window"))
    made.step("x", "y", source=window, mode="after", color=colours.ADVERTISED_WINDOW, name=NOT_FITTED,
              line_dash="dashed", line_width=1, legend_label="advertised window")  # fmt: skip
    acks = panels.source("acks", data.get("acks"), ("x", "y", "record"))
    made.step("x", "y", source=acks, mode="after", color=colours.ACKNOWLEDGED, line_width=1.5,
              legend_label="acknowledged")  # fmt: skip
    sacks = panels.source("sacks", data.get("sacks"), ("x", "y", "top"))
    made.segment("x", "y", "x", "top", source=sacks, color=colours.SACK, line_width=2, legend_label="SACK")


def _segments(made: Figure, panels: Panels, data: dict[str, Any]) -> None:
    """Data sent for the first time, from first byte to last."""
    segments = panels.source("segments", data.get("segments"), ("x", "y", "top", "record"))
    bars = made.segment("x", "y", "x", "top", source=segments, color=colours.SENT, line_width=2, legend_label="sent")
    ends = made.scatter("x", "top", source=segments, marker="dash", size=5, color=colours.SENT)
    starts = made.scatter("x", "y", source=segments, marker="dash", size=5, color=colours.SENT)
    tips = [("sent", "@x{0.000000000} s"), ("bytes", "@y{0,0} to @top{0,0}"), ("record", "@record")]
    add_tooltip(made, [bars, ends, starts], tips)


def _resends(made: Figure, panels: Panels, data: dict[str, Any], kind: str, label: str) -> None:
    """Retransmissions of one kind: a bar each, and in its middle a mark whose shape says what triggered it."""
    columns = ("x", "y", "top", "record", "middle", "trigger", "shape", "because")
    source, colour = panels.source(f"again_{kind}", data.get(f"again_{kind}"), columns), colours.RESENT[kind]
    made.segment("x", "y", "x", "top", source=source, color=colour, line_width=2, legend_label=label)
    marks = made.scatter("x", "middle", source=source, marker="shape", size=8, fill_color=colour, line_color="white",
                         line_width=0.5)  # fmt: skip
    add_tooltip(made, [marks], [("resent", "@x{0.000000000} s (@trigger)"), ("bytes", "@y{0,0} to @top{0,0}"),
                                ("why", "@because"), ("record", "@record")])  # fmt: skip


def _slope(analysis: Analysis, made: Figure, data: dict[str, Any]) -> None:
    """The link's rate as a line to compare slopes with."""
    rate, first = link_rate(analysis), data.get("segments")
    if rate is None or first is None or not len(first["x"]):
        return
    gradient = rate / 8
    intercept = float(first["y"][0] - gradient * first["x"][0] / 1e9)
    slope = Slope(
        gradient=gradient, y_intercept=intercept, line_color=colours.LINK_RATE, line_dash="dotdash", line_width=1,
        name="rate",
    )  # fmt: skip
    made.add_layout(slope)
    _rate_label(made, rate)


def rate_text(rate_bps: float) -> str:
    """The link's rate as a legend tells it."""
    return f"link rate {rate_bps / 1e3:,.4g} kbit/s"


def _rate_label(made: Figure, rate_bps: float) -> None:
    """A line nowhere, for the legend: it has no place for an annotation."""
    made.line([np.nan], [np.nan], color=colours.LINK_RATE, line_dash="dotdash", legend_label=rate_text(rate_bps))


def _sender_state(_: Analysis, panels: Panels, data: dict[str, Any]) -> None:
    """The sender's windows, and what was outstanding."""
    if not any(name in data for name in ("cwnd", "ssthresh", "outstanding")):
        panels.absent.append("Sender state: no recording shows windows.")
        return
    made = add_figure(panels, "Windows of the sender", "bytes", 200, tag="windows")
    made.yaxis.formatter = NumeralTickFormatter(format="0,0")
    for name, label, colour, dash in (
        ("outstanding", "outstanding", colours.BLUE, "solid"),
        ("cwnd", "congestion window", colours.RED, "dashed"),
        ("ssthresh", "slow start threshold", colours.GREEN, "dotted"),
    ):
        line = _step(made, panels, data, name, label, colour, dash)
        add_tooltip(made, [line], [(label, "@y{0,0.[000]}"), ("at", "@x{0.000000} s")])
    place_legend(made)


def _step(
    made: Figure, panels: Panels, data: dict[str, Any], name: str, label: str, colour: str, dash: str
) -> Any:  # fmt: skip
    """A staircase of one series."""
    source = panels.source(name, data.get(name))
    return made.step(
        "x", "y", source=source, mode="after", color=colour, line_dash=dash, line_width=1.5, legend_label=label
    )


def _delay(_: Analysis, panels: Panels, data: dict[str, Any]) -> None:
    """Round trips, waits for the link, and what the sender's timer made of them."""
    if not any(name in data for name in ("rtt", "srtt", "queue")):
        panels.absent.append("Delays: no acknowledged segment was sent once only.")
        return
    made = add_figure(panels, "Delays", "ms", 200, tag="delays")
    made.yaxis.formatter = NumeralTickFormatter(format="0,0.[000]")
    for name, label, colour, marker in (
        ("rtt", "round trip", colours.BLUE, "circle"),
        ("queue", "wait for the first frame", colours.ORANGE, "square"),
    ):
        source = panels.source(name, data.get(name))
        marks = made.scatter(
            "x", "y", source=source, marker=marker, size=4, fill_color=colour, line_color=None, legend_label=label
        )
        add_tooltip(made, [marks], [(label, "@y{0,0.000} ms"), ("sent", "@x{0.000000} s")])
    _step(made, panels, data, "srtt", "smoothed round trip", colours.RED, "dashed")
    _step(made, panels, data, "rto", "retransmission timer", colours.GREEN, "dotted")
    place_legend(made)


def _frames(analysis: Analysis, panels: Panels, data: dict[str, Any]) -> None:
    """The link's frames by number: sent, repeated, reported missing, acknowledged."""
    if not data.keys() & {"frames_new", "frames_again"}:
        panels.absent.append(f"Link frames: {_why_no_frames(analysis)}.")
        return
    made = add_figure(panels, "Link frames", "frame number", 300, tag="frames")
    made.yaxis.formatter = NumeralTickFormatter(format="0,0")
    acked = panels.source("frames_acked", data.get("frames_acked"))
    made.step("x", "y", source=acked, mode="after", color=colours.ACKNOWLEDGED, line_width=1.2,
              legend_label="acknowledged")  # fmt: skip
    for name, label, colour, marker, size in (
        ("frames_new", "sent", colours.BLUE, "square", 3),
        ("frames_missing", "reported missing", colours.PURPLE, "x", 7),
        ("frames_polls", "poll", colours.BLACK, "asterisk", 7),
        ("frames_again", "repeated", colours.RED, "triangle", 6),
    ):
        if name in data:
            source = panels.source(name, data[name])
            marks = made.scatter("x", "y", source=source, marker=marker, size=size, color=colour, legend_label=label)
            add_tooltip(made, [marks], [(f"frame {label}", "@y{0,0}"), ("at", "@x{0.000000} s")])
    _chosen(made, "chosen frames", ("x", "y"))
    place_legend(made)


def _why_no_frames(analysis: Analysis) -> str:
    if analysis.links.main not in analysis.links.by_sender:
        return "no log of the link's data sender (rlpdump, rlcdump, GSMTAP, .mi2log)"
    return f"the link's data sender logged no data frames{analysis.options.in_this_part}"


def _chosen(made: Figure, name: str, columns: tuple[str, ...]) -> None:
    """Marks for what was clicked, or belongs to it in another layer."""
    source = ColumnDataSource({column: [np.nan] for column in columns}, name=name)
    if "top" in columns:
        made.segment("x", "y", "x", "top", source=source, line_color=colours.BLACK, line_width=3)
    made.scatter("x", columns[-1], source=source, marker="circle", size=11, fill_color=None, line_color=colours.BLACK,
                 line_width=1.5)  # fmt: skip


def _goodput(analysis: Analysis, panels: Panels, data: dict[str, Any]) -> None:
    """Newly acknowledged bytes a second, and the link's rate."""
    if "goodput" not in data:
        panels.absent.append("Goodput: nothing was acknowledged twice.")
        return
    made = add_figure(panels, "Goodput", "kbit/s", 180, tag="goodput")
    made.yaxis.formatter = NumeralTickFormatter(format="0,0.[000]")
    source = panels.source("goodput", data["goodput"])
    line = made.step("x", "y", source=source, mode="after", color=colours.BLUE, line_width=1.5,
                     legend_label="acknowledged for the first time")  # fmt: skip
    add_tooltip(made, [line], [("goodput", "@y{0,0.0} kbit/s"), ("from", "@x{0.000} s")])
    if "handed" in data:
        handed = _step(made, panels, data, "handed", "handed to TCP, as the host counts", colours.ORANGE, "dashed")
        add_tooltip(made, [handed], [("handed to TCP", "@y{0,0.0} kbit/s"), ("from", "@x{0.000} s")])
    rate = link_rate(analysis)
    if rate is not None:
        level = Span(
            location=rate / 1e3, dimension="width", line_color=colours.LINK_RATE, line_dash="dotdash", name="rate"
        )
        made.add_layout(level)
        _rate_label(made, rate)
    made.xaxis.axis_label = "seconds since the start of the trace"
    place_legend(made)


def _resends_counted(_: Analysis, panels: Panels, data: dict[str, Any]) -> None:
    """How many segments the sender's host says it sent again in each interval, where it counts them."""
    if "resends" not in data:
        return
    made = add_figure(panels, "Resends that the sender's host counted", "segments in an interval", 140, tag="resends")
    line = _step(made, panels, data, "resends", "sent again", colours.RED, "solid")
    add_tooltip(made, [line], [("sent again", "@y{0,0}"), ("from", "@x{0.000} s")])
    place_legend(made)


def _bands(analysis: Analysis, panels: Panels) -> None:
    """Resets and stops of the link, shaded in every panel."""
    table = analysis.links.intervals
    if table is None:
        return
    shades = {"reset": colours.LINK_RESET, "flow-control": colours.FLOW_CONTROL, "release": colours.RELEASE}
    for row in table.head(MOST_BANDS).itertuples():
        colour = shades.get(row.kind, colours.GREY)
        left, right = ((time - analysis.origin_ns) / 1e9 for time in (row.start_ns, row.end_ns))
        for made in panels.figures:
            made.add_layout(BoxAnnotation(left=left, right=right, fill_color=colour, fill_alpha=0.12, line_color=colour,
                                          line_alpha=0.4, level="underlay"))  # fmt: skip
