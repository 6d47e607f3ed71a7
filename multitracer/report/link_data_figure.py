"""What links carried against time: the transfers of each kind of link as points, and their rate as a line's slope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bokeh.models import NumeralTickFormatter, Range1d

from multitracer.report import colours
from multitracer.report.campaign_figure import CampaignFigure, Drawing, told
from multitracer.report.link_data_sent import TIMES

LEAST_POINTS = 2
"""Transfers from which on there is something to see."""
MOST_KINDS = 4
"""Kinds of link of which two kinds of points each can be told apart."""
_LOOKS = {"not_stopped_s": ("circle", "solid"), "session_s": ("x", "dashed")}
"""Marker and dash of the line: both times of a kind have one colour."""
_SHORT = {"not_stopped_s": "not stopped", "session_s": "all of the time"}
_LONG = {"not_stopped_s": "the time in which the sender was not stopped (XOFF)", "session_s": "all of the time"}
Rows = Sequence[Mapping[str, Any]]


def link_data_figure(rows: Rows, kinds: Rows) -> CampaignFigure | None:
    """Data sent against the time not stopped and against all of it, each with a line where a slope can be told.

    `kinds` are the kinds of link of compare.json, of which the commonest are drawn.
    """
    drawn = kinds[:MOST_KINDS]
    by_kind = [[row for row in rows if row["link_data"] and row["link_data"]["link"] == kind["link"]] for kind in drawn]
    known = [row["link_data"] for row in rows if row["link_data"]]
    if sum(map(len, by_kind)) < LEAST_POINTS:
        return None
    drawing = Drawing(
        "link-data", "seconds", "octets of data sent over the link",
        x_range=_from_0([one["session_s"] for one in known]), y_range=_from_0([one["octets"] for one in known]),
    )  # fmt: skip
    drawing.figure.yaxis.formatter = NumeralTickFormatter(format="0,0")
    for place, (kind, own) in enumerate(zip(drawn, by_kind, strict=True)):
        for name in _times(own):
            _draw(drawing, kind, own, name, place)
    sentences = [*map(_sentence, drawn, by_kind), *_left_out(kinds[MOST_KINDS:]), *_without(len(rows) - len(known))]
    return drawing.done("What the links carried", "octets of link data of each transfer against time", sentences)


def _from_0(values: Sequence[float]) -> Range1d:
    return Range1d(0, 1.05 * max(values) or 1.0)


def _times(own: Rows) -> list[str]:
    """The times that differ: where no transfer is known to have been stopped, both are the same."""
    return [name for name in TIMES if name == "session_s" or _stopped(own)]


def _stopped(own: Rows) -> int:
    """How many transfers are known to have been stopped."""
    each = [row["link_data"] for row in own]
    return sum(one["not_stopped_s"] is not None and one["not_stopped_s"] < one["session_s"] for one in each)


def _draw(drawing: Drawing, kind: Mapping[str, Any], own: Rows, name: str, place: int) -> None:
    """The points of one kind of link against one time, and their line where it tells a slope."""
    known = [_point(row, name) for row in own if row["link_data"][name] is not None]
    colour = colours.line_style(place)["line_color"]
    marker, dash = _LOOKS[name]
    label = f"{kind['link']}, {_SHORT[name]}"
    drawing.points(known, label, marker=marker, size=8, color=colour, fill_alpha=0.6)
    line = kind[name]
    if line["why_no_slope"] is None:
        ends = [min(one["x"] for one in known), max(one["x"] for one in known)]
        y = [line["intercept_octets"] + line["octets_per_s"] * end for end in ends]
        drawing.figure.y_range.end = max(drawing.figure.y_range.end, 1.02 * y[-1])
        drawing.line(ends, y, label, line_color=colour, line_dash=dash)


def _point(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    sent = row["link_data"]
    text = f"{sent['octets']:,} octets of data in {sent[name]:,.1f} s ({_SHORT[name]})"
    return told(row, sent[name], sent["octets"], text, f"over {sent['link']}")


def _sentence(kind: Mapping[str, Any], own: Rows) -> str:
    """Which transfers these are, and their slopes in words."""
    return f"{_count(kind)}: {'; '.join([*_slopes(kind, _times(own)), *_stops(own)])}."


def _slopes(kind: Mapping[str, Any], times: Sequence[str]) -> list[str]:
    """What there is to tell over each time, or once what holds for all."""
    lines = [kind[name] for name in times]
    whys = {line["why_no_slope"] for line in lines}
    if len(whys) == 1 and all(line["octets_per_s"] is None for line in lines):
        return [f"no slope can be told, as {whys.pop()}"]
    return [_slope(line, _LONG[name]) for name, line in zip(times, lines, strict=True)]


def _stops(own: Rows) -> list[str]:
    """That none was stopped, or of how many this is not known."""
    unknown = sum(row["link_data"]["not_stopped_s"] is None for row in own)
    if unknown:
        return [f"of {unknown} it is not known for how long the sender was stopped"]
    return [] if _stopped(own) else ["no sender was stopped"]


def _count(kind: Mapping[str, Any]) -> str:
    return f"{kind['transfers']} transfer{'s' if kind['transfers'] > 1 else ''} over {kind['link']}"


def _slope(line: Mapping[str, Any], over: str) -> str:
    why = line["why_no_slope"]
    if line["octets_per_s"] is None:
        return f"no slope can be told over {over}, as {why}"
    slope = f"{line['octets_per_s']:,.0f} \N{PLUS-MINUS SIGN} {line['ci95']:,.0f} octets/s"
    if why is not None:
        return f"no slope can be told over {over}, as {why} ({slope})"
    return f"{slope} (95 %, R\N{SUPERSCRIPT TWO} {line['r2']:.3f}) over {over}"


def _left_out(kinds: Rows) -> list[str]:
    if not kinds:
        return []
    named = [_count(kind) for kind in kinds[:MOST_KINDS]]
    more = [f"{len(kinds) - len(named)} more kinds of link"] if len(kinds) > len(named) else []
    return [f"Not drawn, as {MOST_KINDS} kinds of link can be told apart: {', '.join([*named, *more])}."]


def _without(count: int) -> list[str]:
    return [f"Of {count} transfer{'s' if count > 1 else ''} no log tells what the link carried."] if count else []
