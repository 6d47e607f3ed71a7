"""Curves of means with their intervals, as the pages of simulations draw them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bokeh.models import ColumnDataSource

from multitracer.report import colours


def add_curve(made: Any, name: str, curve: Mapping[str, Any], place: int, label: str, *, shaded: bool = True) -> Any:
    """Draw one curve, the one at `place` among others: columns x, y, low, high; returns its dots, for a tooltip."""
    style = colours.line_style(place)
    named = {"source": ColumnDataSource(dict(curve), name=name), "legend_label": label}
    if shaded:
        made.varea("x", "low", "high", fill_color=style["line_color"], fill_alpha=0.15, **named)
    made.line("x", "y", line_width=1.5, **named, **style)
    dots = made.scatter("x", "y", size=7, color=style["line_color"], **named)
    made.segment("x", "low", "x", "high", line_color=style["line_color"], **named)
    return dots
