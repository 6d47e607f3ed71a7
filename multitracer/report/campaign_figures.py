"""What the tool of the original papers drew of a campaign: how well transfers used their links, and what these carried.

The paper's figures are for 500 transfers over GSM: utilization against throughput, how the utilization is distributed,
and data sent against time (Ludwig and others, "Multi-layer tracing of TCP over a reliable wireless link", 1999).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, NumeralTickFormatter, Range1d, Span
from bokeh.plotting import figure

from multitracer.model.vocabulary import CAUSES
from multitracer.report import colours
from multitracer.report.comparison import WELL_USED
from multitracer.report.groups import FULLY_USED, utilization
from multitracer.report.link_data_sent import TIMES
from multitracer.report.panels import place_legend

LEAST_DISTRIBUTED = 2
"""Transfers from which on there is a distribution to draw."""
_WORDS = {"not_stopped_s": "not stopped", "session_s": "all of the time"}


@dataclass(frozen=True)
class Described:
    """What the page says beside a figure."""

    name: str
    title: str
    label: str
    """For those who cannot see it."""
    sentence: str = ""


@dataclass(frozen=True)
class CampaignFigure:
    """A figure of all transfers, and what the page says beside it."""

    figure: Any
    described: Described


def campaign_figures(compared: dict[str, Any]) -> list[CampaignFigure]:
    """Those that what is known of the transfers allows, of compare.json."""
    rows = [row for row in compared["experiments"] if not row["error"]]
    made = (_used(rows), _distribution(rows, compared), _link_data(rows, compared["link_data"]))
    return [one for one in made if one is not None]


def _figure(name: str, x_label: str, y_label: str, **more: Any) -> Any:
    made = figure(
        height=320, sizing_mode="stretch_both", tools="", toolbar_location=None, name=name, min_border_left=84,
        min_border_right=20, **more,
    )  # fmt: skip
    made.xaxis.axis_label, made.yaxis.axis_label = x_label, y_label
    made.axis.axis_label_text_font_size = made.axis.major_label_text_font_size = "12px"
    return made


def _used(rows: Sequence[dict[str, Any]]) -> CampaignFigure | None:
    """One point for each transfer of which throughput and utilization are known."""
    known = [row for row in rows if utilization(row) is not None and row["throughput_bps"]]
    if not known:
        return None
    made = _figure("campaign", "throughput, kbit/s", "utilization, %", y_range=Range1d(0, 103))
    made.add_layout(Span(location=WELL_USED, dimension="width", line_color=colours.GREY, line_dash="dashed"))
    well = [row for row in known if row["utilization"]["percent"] > WELL_USED]
    badly = [row for row in known if row["utilization"]["percent"] <= WELL_USED]
    _points(made, well, "campaign well", f"above {WELL_USED:.0f} %", "circle", colours.BLUE)
    _points(made, badly, "campaign badly", f"{WELL_USED:.0f} % and less", "triangle", colours.RED)
    place_legend(made)
    label = "utilization against throughput; the table holds the same facts as text"
    return CampaignFigure(made, Described("campaign", "How well each used its link", label))


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


def _distribution(rows: Sequence[dict[str, Any]], compared: dict[str, Any]) -> CampaignFigure | None:
    """The share of transfers up to each utilization, of each group where they are grouped."""
    used = {row["name"]: utilization(row) for row in rows}
    known = {name: one for name, one in used.items() if one is not None}
    if len(known) < LEAST_DISTRIBUTED:
        return None
    groups = compared["groups"] or [{"name": "all transfers", "transfers": list(known)}]
    made = _figure(
        "distribution", "utilization, %", "transfers at or below, %",
        x_range=Range1d(min([*known.values(), 90.0]) - 1, 101), y_range=Range1d(0, 103),
    )  # fmt: skip
    made.add_layout(Span(location=FULLY_USED, dimension="height", line_color=colours.GREY, line_dash="dashed"))
    for place, group in enumerate(groups):
        values = sorted(known[name] for name in group["transfers"] if name in known)
        if values:
            share = 100 * np.arange(len(values) + 1) / len(values)
            made.step(
                [made.x_range.start, *values, made.x_range.end], [*share, 100.0], mode="after", line_width=1.5,
                legend_label=group["name"] or "others", **colours.line_style(place),
            )  # fmt: skip
    place_legend(made)
    part = compared["utilization"]["at_or_above_98_percent"]
    sentence = f"{100 * part:.0f} % of {len(known)} transfers used their link at {FULLY_USED:.0f} % or more (dashed)."
    label = "the cumulative distribution of utilization; " + sentence
    return CampaignFigure(made, Described("distribution", "How utilization is distributed", label, sentence))


def _link_data(rows: Sequence[dict[str, Any]], kinds: Sequence[dict[str, Any]]) -> CampaignFigure | None:
    """Data sent against the time not stopped and against all of it, each with a line; of the commonest kind of link."""
    kind = next((one for one in kinds if one["transfers"] >= LEAST_DISTRIBUTED), None)
    if kind is None:
        return None
    known = [one for row in rows if (one := row["link_data"]) is not None and one["link"] == kind["link"]]
    made = _figure("link data", "seconds", "octets of data sent over the link", x_range=Range1d(0, _end(known)))
    made.yaxis.formatter = NumeralTickFormatter(format="0,0")
    octets = [one["octets"] for one in known]
    for name, marker, colour in zip(TIMES, ("circle", "square"), (colours.BLUE, colours.PURPLE), strict=True):
        times, line = [one[name] for one in known], kind[name]
        made.scatter(times, octets, marker=marker, size=8, color=colour, fill_alpha=0.6, legend_label=_WORDS[name])
        if line is not None:
            ends = np.array([min(times), max(times)])
            made.line(ends, line["intercept_octets"] + line["octets_per_s"] * ends, color=colour, line_width=1.5,
                      legend_label=_WORDS[name])  # fmt: skip
    place_legend(made)
    sentence = _told(kind)
    label = "octets of link data of each transfer against time; " + sentence
    return CampaignFigure(made, Described("link-data", "What the links carried", label, sentence))


def _end(known: Sequence[dict[str, Any]]) -> float:
    return 1.05 * max(one["session_s"] for one in known) or 1.0


def _told(kind: dict[str, Any]) -> str:
    """Which transfers these are, and both slopes in words."""
    whose = f"{kind['transfers']} transfers over {kind['link']}."
    told = [f"{_slope(kind[name])} over {words}" for name, words in _SPANS.items() if kind[name] is not None]
    if not told:
        return f"{whose} They are too few for a line, or all of one length."
    return f"{whose} The lines' slopes: {'; '.join(told)}."


_SPANS = {"not_stopped_s": "the time in which the sender was not stopped (XOFF)", "session_s": "all of the time"}


def _slope(line: dict[str, float | None]) -> str:
    slope, width = f"{line['octets_per_s']:,.0f}", f"{line['ci95']:,.0f}"
    return f"{slope} \N{PLUS-MINUS SIGN} {width} octets/s (95 %, R\N{SUPERSCRIPT TWO} {line['r2']:.3f})"
