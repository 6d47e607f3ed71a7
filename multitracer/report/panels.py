"""Panels: Bokeh figures that share one time axis, and the sources that fill them."""

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
    Span,
)  # fmt: skip
from bokeh.plotting import figure

from multitracer.report import colours
from multitracer.report.panel_data import divisor

if TYPE_CHECKING:
    from bokeh.plotting import figure as Figure  # noqa: N812 - a class, though Bokeh names it like a function

_LEFT_BORDER, _WIDTH = 84, 1180
_LETTER, _SWATCH, _ROW = 7, 36, 21
"""Pixels of a letter, of a legend's mark, and of its row."""
FIRST_POINTS = 500
"""The most points of a series that its figure has before the page's scripts run."""


@dataclass
class Panels:
    """The figures from top to bottom, their sources by name, and what was left out and why."""

    time: Any
    figures: list[Figure] = field(default_factory=list)
    sources: dict[str, Any] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)
    points: int = FIRST_POINTS
    """The most points of a series; of more, every n-th."""

    def source(self, name: str, data: dict[str, Any] | None, columns: Iterable[str] = ("x", "y")) -> Any:
        """The named source with a few of its points, which are drawn until the page's scripts fill it.

        Without data it holds one point nowhere, because a legend draws no mark of an empty source.
        """
        values: dict[str, Any] = {column: np.full(1, np.nan) for column in columns}
        if data and len(data["x"]):
            step = -(-len(data["x"]) // self.points)
            few = {column: data[column][::step] for column in columns if column in data}
            values = {
                column: some if some.dtype == object else some / divisor(name, column) for column, some in few.items()
            }
        made = ColumnDataSource(data=values, name=name, tags=["series"])
        self.sources[name] = made
        return made


def range_figure(panels: Panels) -> Figure:
    """All of the trace in small: how much was sent when, how often again, and the part that is in view."""
    whole = Range1d(panels.time.start, panels.time.end, name="whole")
    made = figure(
        x_range=whole, y_range=Range1d(0, 1, name="overview rate"), tools="", output_backend="canvas",
        min_border_left=_LEFT_BORDER, min_border_right=20, toolbar_location=None, name="overview",
        sizing_mode="stretch_both",
    )  # fmt: skip
    made.yaxis.ticker = BasicTicker(desired_num_ticks=2)
    made.xaxis.visible = made.xgrid.visible = False
    made.yaxis.formatter = NumeralTickFormatter(format="0,0.[000]")
    made.yaxis.major_label_text_font_size = "12px"
    nothing = {"left": [np.nan], "right": [np.nan], "bottom": [np.nan], "top": [np.nan]}
    for name, colour in (
        ("overview sent", colours.BLUE), ("overview again", colours.RED), ("overview spikes", colours.BLACK),
    ):  # fmt: skip
        source = ColumnDataSource(nothing, name=name)
        made.quad(left="left", right="right", bottom="bottom", top="top", color=colour, line_color=None, source=source)
    tool = RangeTool(x_range=panels.time)
    tool.overlay.fill_color, tool.overlay.fill_alpha = colours.SKY, 0.2
    made.add_tools(tool)
    return made


def add_figure(
    panels: Panels, title: str, label: str, height: int, y_range: Any = None, tag: str | None = None
) -> Figure:
    """One panel; its tools act on time alone, its y axis follows what is in view. `tag` is its name in a page."""
    made = figure(
        title=title, height=height, width=_WIDTH, sizing_mode="stretch_width", x_range=panels.time,
        y_range=y_range or Range1d(0, 1), tools="xpan,xwheel_zoom,xbox_zoom,reset,save",
        active_drag="xpan", active_scroll="xwheel_zoom", output_backend="canvas", lod_threshold=None,
        min_border_left=_LEFT_BORDER, min_border_right=20, toolbar_location="above",
        name=f"panel {len(panels.figures)}", tags=[tag] if tag else [],
    )  # fmt: skip
    made.yaxis.axis_label = label
    if y_range is None:
        made.yaxis.ticker = BasicTicker(desired_num_ticks=max(3, height // 60))
    made.xaxis.axis_label = None
    made.title.text_font_size = "14px"
    made.yaxis.axis_label_text_font_size = made.xaxis.axis_label_text_font_size = "12px"
    made.xaxis.major_label_text_font_size = made.yaxis.major_label_text_font_size = "12px"
    made.xaxis.formatter = BasicTickFormatter(use_scientific=False)
    _add_picture(made, len(panels.figures))
    _add_tools(made, len(panels.figures))
    panels.figures.append(made)
    return made


def _add_picture(made: Figure, number: int) -> None:
    """One transparent pixel, which the page replaces by a picture of what are too many records for marks."""
    picture = {"image": [np.zeros((1, 1), dtype=np.uint32)], "x": [0.0], "y": [0.0], "dw": [1e-9], "dh": [1e-9]}
    made.image_rgba(
        "image", "x", "y", "dw", "dh", source=ColumnDataSource(picture, name=f"image {number}"), level="glyph",
    )  # fmt: skip


def _add_tools(made: Figure, number: int) -> None:
    """Add the box that selects a part of the time, and the crosshair."""
    made.toolbar.logo = None
    made.toolbar.autohide = True
    # Without renderers, because it would mark rows of sources that the page refills, and fade all others.
    made.add_tools(BoxSelectTool(dimensions="width", renderers=[], persistent=False))
    made.add_layout(
        BoxAnnotation(name=f"box {number}", visible=False, fill_color=colours.SKY, fill_alpha=0.15,
                      line_color=colours.BLUE, line_alpha=0.8)
    )  # fmt: skip
    crosshair = Span(dimension="height", line_color=colours.GREY, line_dash="dotted")
    made.add_tools(CrosshairTool(overlay=crosshair, dimensions="height"))


def place_legend(made: Figure, width: int = 1050) -> None:
    """Put the legend below the panel, in rows of at most `width` pixels; a click on an entry hides its series."""
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


def add_tooltip(made: Figure, renderers: list[Any], tips: list[tuple[str, str]]) -> None:
    """What the pointer shows over marks, one line for each pair of a name and a value."""
    made.add_tools(
        HoverTool(renderers=renderers, tooltips=tips, mode="mouse", point_policy="snap_to_data", visible=False)
    )
