"""What the time of several transfers went to: a bar of seconds for each, all on one scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from multitracer.analysis.time_bar import CARRIED
from multitracer.model.vocabulary import CAUSES, LIMIT_NAMES
from multitracer.report import colours


@dataclass(frozen=True)
class Segment:
    """One part of a bar."""

    name: str
    """A cause of the accounting, a cause of the blame, or a limit."""
    label: str
    layer: str
    seconds: float
    share: float
    """Of the time of its transfer."""
    colour: str


@dataclass(frozen=True)
class Bar:
    """The time of one transfer."""

    place: int
    """Which of the transfers it is."""
    name: str
    report: str | None
    seconds: float
    of_longest: float
    """Its length, as a share of the longest bar."""
    segments: list[Segment]


@dataclass(frozen=True)
class Bars:
    """The bars, and the names of the transfers that have none because nothing of their time is known."""

    by: str
    """`blame` where all that have a bar have it, else `limits`."""
    bars: list[Bar]
    unknown: list[str]


def time_bars(rows: Sequence[Mapping[str, Any]]) -> Bars:
    """The bars of rows of compare.json, in their order; in each the parts are in the same order."""
    measured = [row for row in rows if row["spent_s"]]
    by = "blame" if all(row["spent_s"]["blame"] for row in measured) else "limits"
    known = [(place, row) for place, row in enumerate(rows) if row["spent_s"] and row["spent_s"][by]]
    longest = max((sum(row["spent_s"][by].values()) for _, row in known), default=0.0)
    order = _order([row["spent_s"][by] for _, row in known])
    bars = [_bar(place, row, row["spent_s"][by], order, longest) for place, row in known]
    unknown = [row["name"] for row in rows if not (row["spent_s"] and row["spent_s"][by])]
    return Bars(by, bars, unknown)


def _order(every: Sequence[Mapping[str, float]]) -> list[str]:
    """What carried data first, as in a report; then what took most of all transfers' time."""
    totals: dict[str, float] = {}
    for spent in every:
        for name, seconds in spent.items():
            totals[name] = totals.get(name, 0.0) + seconds
    carried = [name for name in CARRIED if name in totals]
    return [*carried, *sorted(totals.keys() - set(CARRIED), key=lambda name: (-totals[name], name))]


def _bar(
    place: int, row: Mapping[str, Any], spent: Mapping[str, float], order: Sequence[str], longest: float
) -> Bar:  # fmt: skip
    seconds = sum(spent.values())
    segments = [
        _segment(name, spent[name], spent[name] / seconds, row["layers"]) for name in order if spent.get(name, 0.0) > 0
    ]
    return Bar(place, row["name"], row["report"], seconds, seconds / longest if longest else 0.0, segments)


def _segment(name: str, seconds: float, share: float, layers: Mapping[str, str]) -> Segment:
    if name in CARRIED:
        return Segment(name, CAUSES[name].name, "", seconds, share, colours.CARRIED[name])
    if name in LIMIT_NAMES:
        return Segment(name, LIMIT_NAMES[name], "", seconds, share, colours.LIMITS[name])
    layer = layers.get(name, "unknown")
    return Segment(name, name, layer, seconds, share, colours.LAYERS[layer])
