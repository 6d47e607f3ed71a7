"""The bar of where the time went: what the blame charges, else what limited the transfer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from multitracer.model.vocabulary import CAUSES, LIMIT_NAMES
from multitracer.report import colours


@dataclass(frozen=True)
class Part:
    """One part of the bar."""

    label: str
    share: float
    seconds: float | None
    """None where the parts are shares of each direction's own time."""
    colour: str
    layer: str = ""
    finding: int | None = None
    """The dearest finding to which the time was charged, which a click on the part shows."""


def time_bar(summary: dict[str, Any]) -> list[Part]:
    """The parts in the order of the summary, those without time left out; none where nothing is known."""
    if summary["blame"] is not None:
        return [*_carried(summary), *_blamed(summary)]
    return [
        Part(LIMIT_NAMES[name], share, None, colours.LIMITS[name])
        for name, share in (summary["limits"] or {}).items()
        if share > 0
    ]


def _carried(summary: dict[str, Any]) -> list[Part]:
    """What the session was for: new data and its headers."""
    shares, session_s = summary["accounting"], summary["utilization"]["session_s"]
    return [
        Part(CAUSES[name].name, shares[name], shares[name] * session_s, colours.CARRIED[name])
        for name in colours.CARRIED
        if shares[name] > 0
    ]


def _blamed(summary: dict[str, Any]) -> list[Part]:
    lost = [one["lost_s"] or 0.0 for one in summary["findings"]]
    return [
        Part(
            one["cause"], one["share"], one["seconds"], colours.LAYERS[one["layer"]], one["layer"],
            max(one["findings"], key=lost.__getitem__, default=None),
        )
        for one in summary["blame"]
        if one["share"] > 0
    ]  # fmt: skip
