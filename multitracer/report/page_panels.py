"""The panels as a page shows them: bare figures, and what the page says of each in its own words and buttons.

A figure of Bokeh draws; the page around it has the title, the legend with the values at the cursor, and the keys and
gestures, so that they work alike in every panel and can be reached by keyboard.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from bokeh.models import Legend

if TYPE_CHECKING:
    from bokeh.plotting import figure as Figure  # noqa: N812 - a class, though Bokeh names it like a function


@dataclass(frozen=True)
class Entry:
    """One entry of a panel's legend: a series, or a line that is not one (`series` is then empty)."""

    series: str
    label: str
    colour: str
    shape: str
    """A marker's name, `bar` or `line`."""
    dash: str = ""
    """Of a line: the lengths of its dashes and gaps in pixels."""


@dataclass(frozen=True)
class PagePanel:
    """A panel of a page: its name in the page, its title, the unit of its y axis and its legend."""

    name: str
    title: str
    unit: str
    entries: list[Entry]


class Lane(NamedTuple):
    """A lane of findings on the time axis: its name in the page's data, what it is called, and what that means."""

    key: str
    name: str
    title: str = ""


def take_over(figures: Sequence[Figure]) -> list[PagePanel]:
    """What the page has to show of each of these figures, which lose it."""
    return [_taken(made) for made in figures]


def _taken(made: Figure) -> PagePanel:
    described = PagePanel(made.tags[0], made.title.text, made.yaxis[0].axis_label or "", _entries(made))
    made.title, made.toolbar_location, made.toolbar.tools = None, None, []
    made.below = [each for each in made.below if not isinstance(each, Legend)]
    made.yaxis.axis_label = made.xaxis.axis_label = None
    made.sizing_mode, made.width, made.height = "stretch_both", None, None
    made.min_border_top = made.min_border_bottom = 4
    return described


def _entries(made: Figure) -> list[Entry]:
    return [_entry(item) for legend in made.legend for item in legend.items]


def _entry(item: Any) -> Entry:
    renderer = item.renderers[0]
    return entry(renderer.data_source.name or "", item.label.value, renderer.glyph)


def entry(series: str, label: str, glyph: Any) -> Entry:
    """The entry of a series that is drawn by a glyph."""
    kind = type(glyph).__name__
    if kind == "Scatter":
        return Entry(series, label, glyph.fill_color or glyph.line_color, glyph.marker)
    dash = "" if kind == "Segment" else " ".join(map(str, glyph.line_dash))
    return Entry(series, label, glyph.line_color, "bar" if kind == "Segment" else "line", dash)
