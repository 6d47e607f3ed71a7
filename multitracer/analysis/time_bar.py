"""The bar of where the time went: what the blame charges, else what limited the transfer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from multitracer.model.vocabulary import CAUSES, LIMIT_NAMES

CARRIED = ("new_data", "link_overhead")
"""The causes of the accounting that the session was for: new data and its headers."""


@dataclass(frozen=True)
class Part:
    """One part of the bar."""

    name: str
    """The summary's name for it: a cause of the accounting, a cause of the blame, or a limit."""
    label: str
    share: float
    seconds: float | None
    """None where it is not known how long that of which the parts are shares was."""
    layer: str = ""
    finding: int | None = None
    """The dearest finding to which the time was charged."""
    because: str = ""
    """Of what the blame charges: why."""

    @property
    def is_cost(self) -> bool:
        """Whether the session was for something else."""
        return self.name not in CARRIED


def time_bar(summary: dict[str, Any], limited_s: float | None) -> list[Part]:
    """The parts in the order of the summary, those without time left out; none where nothing is known.

    `limited_s` is the time that the summary's limits divide.
    """
    if summary["blame"] is not None:
        return [*_carried(summary), *_blamed(summary)]
    return [
        Part(name, LIMIT_NAMES[name], share, None if limited_s is None else share * limited_s)
        for name, share in (summary["limits"] or {}).items()
        if share > 0
    ]


def _carried(summary: dict[str, Any]) -> list[Part]:
    shares, session_s = summary["accounting"], summary["utilization"]["session_s"]
    return [
        Part(name, CAUSES[name].name, shares[name], shares[name] * session_s) for name in CARRIED if shares[name] > 0
    ]


def _blamed(summary: dict[str, Any]) -> list[Part]:
    lost = [one["lost_s"] or 0.0 for one in summary["findings"]]
    return [
        Part(
            one["cause"], one["cause"], one["share"], one["seconds"], one["layer"],
            max(one["findings"], key=lost.__getitem__, default=None), one["because"],
        )
        for one in summary["blame"]
        if one["share"] > 0
    ]  # fmt: skip
