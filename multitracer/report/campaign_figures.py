"""What the tool of the original papers drew of a campaign: how well transfers used their links, and what these carried.

The paper's figures are for 500 transfers over GSM: utilization against throughput, how the utilization is distributed,
and data sent against time (Ludwig and others, "Multi-layer tracing of TCP over a reliable wireless link", 1999).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from bokeh.models import BoxAnnotation, Range1d, Span

from multitracer.model.vocabulary import CAUSES
from multitracer.report import colours
from multitracer.report.campaign_figure import CampaignFigure, Drawing, told
from multitracer.report.comparison import WELL_USED
from multitracer.report.groups import FULLY_USED, utilization
from multitracer.report.link_data_figure import link_data_figure

LEAST_DISTRIBUTED = 3
"""Transfers from which on there is a distribution to draw."""
MOST_LINES = 24
"""As many lines differ by colour and dash."""
ALL = "all transfers"


def campaign_figures(compared: Mapping[str, Any]) -> list[CampaignFigure]:
    """Those that what is known of the transfers allows, of compare.json."""
    rows = [row for row in compared["experiments"] if not row["error"]]
    made = (_used(rows), _distribution(rows, compared), link_data_figure(rows, compared["link_data"]))
    return [one for one in made if one is not None]


def _used(rows: Sequence[dict[str, Any]]) -> CampaignFigure | None:
    """One point for each transfer of which throughput and utilization are known."""
    known = [row for row in rows if utilization(row) is not None and row["throughput_bps"]]
    if not known:
        return None
    drawing = Drawing("campaign", "throughput, kbit/s", "utilization, %", y_range=Range1d(0, 103))
    limit = Span(location=WELL_USED, dimension="width", line_color=colours.GREY, line_dash="dashed")
    drawing.figure.add_layout(limit)
    well = [_point(row) for row in known if row["utilization"]["percent"] > WELL_USED]
    badly = [_point(row) for row in known if row["utilization"]["percent"] <= WELL_USED]
    if well:
        drawing.points(well, f"above {WELL_USED:.0f} %", "campaign well", marker="circle", size=9, color=colours.BLUE)
    if badly:
        label = f"{WELL_USED:.0f} % and less"
        drawing.points(badly, label, "campaign badly", marker="triangle", size=9, color=colours.RED)
    return drawing.done(
        "How well each used its link", "utilization against throughput; the table holds the same facts as text"
    )  # fmt: skip


def _point(row: dict[str, Any]) -> dict[str, Any]:
    kilobits, percent = row["throughput_bps"] / 1e3, row["utilization"]["percent"]
    causes = ", ".join(CAUSES[cause].name for cause in row["causes"])
    more = [f"besides new data: {causes}"] if causes else []
    return told(row, kilobits, percent, f"{kilobits:.1f} kbit/s, {percent:.1f} %", *more)


def _distribution(rows: Sequence[dict[str, Any]], compared: Mapping[str, Any]) -> CampaignFigure | None:
    """The share of transfers up to each utilization, of each group where they are grouped."""
    used = {row["name"]: utilization(row) for row in rows}
    known = {name: one for name, one in used.items() if one is not None}
    if len(known) < LEAST_DISTRIBUTED:
        return None
    lines, notes = _lines(compared["groups"], known)
    drawing = Drawing(
        "distribution", "utilization, %", "transfers at or below, %",
        x_range=Range1d(min([*known.values(), 90.0]) - 1, 101), y_range=Range1d(0, 103),
    )  # fmt: skip
    shade = BoxAnnotation(left=FULLY_USED, fill_color=colours.GREY, fill_alpha=0.15, line_color=None)
    drawing.figure.add_layout(shade)
    for place, (label, values) in enumerate(lines):
        share = 100 * np.arange(len(values) + 1) / len(values)
        ends = drawing.figure.x_range
        drawing.steps([ends.start, *values, ends.end], [*share, 100.0], label, **colours.line_style(place))
    return drawing.done(
        "How utilization is distributed", "the cumulative distribution of utilization",
        [_share(compared["utilization"]), *notes],
    )  # fmt: skip


def _share(used: Mapping[str, Any]) -> str:
    """How many used their link fully, and of how many this is not known."""
    share, known, unknown = 100 * used["at_or_above_98_percent"], used["known"], used["unknown"]
    told = f"{share:.0f} % of {known} transfers used their link at {FULLY_USED:.0f} % or more (shaded)"
    return f"{told}; of {unknown} more the utilization is not known." if unknown else f"{told}."


def _lines(
    groups: Sequence[Mapping[str, Any]] | None, known: Mapping[str, float]
) -> tuple[list[tuple[str, list[float]]], list[str]]:
    """The lines that are drawn, each with its sorted values, and sentences on those that are not."""
    if groups is None:
        return [(ALL, sorted(known.values()))], []
    every = [
        (group["name"] or "others", sorted(known[name] for name in group["transfers"] if name in known))
        for group in groups
    ]
    enough = [one for one in every if len(one[1]) >= LEAST_DISTRIBUTED]
    if not enough:
        alone = f"No group has {LEAST_DISTRIBUTED} transfers whose utilization is known: the line is that of all."
        return [(ALL, sorted(known.values()))], [alone]
    largest = sorted(enough, key=lambda one: -len(one[1]))[:MOST_LINES]
    return [one for one in enough if one in largest], [
        *_not_drawn(len(every) - len(enough), f"with utilization known of fewer than {LEAST_DISTRIBUTED} transfers"),
        *_not_drawn(len(enough) - len(largest), f"beyond the {MOST_LINES} of most transfers"),
    ]


def _not_drawn(count: int, which: str) -> list[str]:
    """A sentence on groups without a line, if there are any."""
    return [f"{count} {'groups have' if count > 1 else 'group has'} no line: {which}."] if count else []
