"""The bar of where the time went in the colours of a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from multitracer.analysis import time_bar as parts
from multitracer.report import colours


@dataclass(frozen=True)
class Part(parts.Part):
    """One part of the bar with its colour; a click on it shows the finding."""

    colour: str = colours.GREY


def time_bar(summary: dict[str, Any], limited_s: float | None) -> list[Part]:
    """The parts in the order of the summary, those without time left out; none where nothing is known."""
    return [Part(**vars(one), colour=_colour(one)) for one in parts.time_bar(summary, limited_s)]


def _colour(part: parts.Part) -> str:
    """That of the layer which is to blame, else of what carried data or limited it."""
    if part.layer:
        return colours.LAYERS[part.layer]
    return (colours.CARRIED if part.name in parts.CARRIED else colours.LIMITS)[part.name]
