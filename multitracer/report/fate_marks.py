"""The marks of segments' fates and of their arrivals in the panel of sequence numbers, which the page's scripts fill.

What a segment's bar does not tell by itself gets a mark in its middle: delivered is the bar alone, and a needless
resend has a colour of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from bokeh.models import ColumnDataSource

from multitracer.model.schema import FATES
from multitracer.report import colours

if TYPE_CHECKING:
    from bokeh.plotting import figure as Figure  # noqa: N812 - a class, though Bokeh names it like a function

ARRIVED = "arrived"
MARKS = {
    "dropped": ("dropped in the host", "x", 8, colours.LAYERS["host"]),
    "flushed": ("flushed by the link", "asterisk", 9, colours.LAYERS["link"]),
    "lost": ("lost", "cross", 9, colours.BLACK),
    "repeated": ("repeated by the link", "circle", 5, colours.SKY),
    "unknown": ("fate unknown", "dot", 9, colours.GREY),
}
"""Of a fate: its name in the legend, its mark, the mark's size and colour."""


def add_fate_marks(made: Figure, sources: Iterable[Mapping[str, Any]]) -> None:
    """Add what marks the fates that some series have; `sources` have columns `fate` and `arrived` where known."""
    known = [source for source in sources if "fate" in source]
    if any((source["arrived"] >= 0).any() for source in known):
        _add_arrivals(made)
    present = {FATES[code] for source in known for code in np.unique(source["fate"]).tolist()}
    for fate, (label, marker, size, colour) in MARKS.items():
        if fate in present:
            made.scatter(
                "x", "y", source=_empty(f"fate_{fate}", ("x", "y", "record")), marker=marker, size=size,
                line_color=colour, fill_color=None if marker == "circle" else colour, line_width=1.5,
                legend_label=label,
            )  # fmt: skip


def _add_arrivals(made: Figure) -> None:
    source = _empty(ARRIVED, ("x", "y", "top"))
    made.segment("x", "y", "x", "top", source=source, color=colours.ARRIVED, line_width=1.5, legend_label="arrived")


def _empty(name: str, columns: tuple[str, ...]) -> ColumnDataSource:
    """A source with one point nowhere: a legend draws no mark of an empty one."""
    return ColumnDataSource({column: [np.nan] for column in columns}, name=name, tags=["series"])
