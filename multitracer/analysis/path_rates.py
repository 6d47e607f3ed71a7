"""The rates of the path of the end that sent most data, and what should be known about them."""

from __future__ import annotations

from typing import Any

from multitracer.model.analysis import Analysis
from multitracer.model.limits import RATE_FROM

CONTRADICTED = 1.05
"""Arrivals contradict a stated rate that differs by more than this factor: any if faster, enough of them if slower."""
MOST_TOLD = 4
"""Rates that the note on changes lists."""


def path_rate(analysis: Analysis) -> list[dict[str, Any]] | None:
    """The rate of the path of the end that sent most data; None where a link's log has it, or nothing shows it."""
    limits, end = analysis.ends.limits, analysis.ends.largest
    if end is None or analysis.links.rows or not limits.rate_from[end]:
        return None
    start, rates = limits.changes.of(end)
    if not len(rates):
        rates = limits.rate_bps[end : end + 1]
    edges = [limits.start_ns[end], *start[1:], limits.end_ns[end]]
    seconds = [float(edge - analysis.origin_ns) / 1e9 for edge in edges]
    how = RATE_FROM[limits.rate_from[end]]
    return [
        {"start_s": begin, "end_s": stop, "rate_bps": rate, "how": how}
        for begin, stop, rate in zip(seconds[:-1], seconds[1:], rates.tolist(), strict=True)
    ]


def path_notes(analysis: Analysis) -> list[str]:
    """What should be known about these rates, one sentence each."""
    return [*_contradiction(analysis), *_changes(path_rate(analysis) or [])]


def _contradiction(analysis: Analysis) -> list[str]:
    limits, end, told = analysis.ends.limits, analysis.ends.largest, analysis.options.link_rate_bps
    if end is None or analysis.links.rows or not told:
        return []
    faster = limits.rate_bps[end] > CONTRADICTED * told
    slower = RATE_FROM[limits.rate_from[end]] == "found" and CONTRADICTED * limits.rate_bps[end] < told
    if not faster and not slower:
        return []
    instead = "which is used" if limits.rate_from[end] else "but too few of them agree to use that"
    return [
        f"The stated rate of {_kilobits(told)} is not the path's: behind a queue data arrived at"
        f" {_kilobits(limits.rate_bps[end])}, {instead}."
    ]


def _changes(rates: list[dict[str, Any]]) -> list[str]:
    if len(rates) < 2:
        return []
    told = ", then ".join(f"{_kilobits(one['rate_bps'])} until {one['end_s']:.1f} s" for one in rates[:MOST_TOLD])
    more = f", and {len(rates) - MOST_TOLD} more" if len(rates) > MOST_TOLD else ""
    return [f"The path's rate changed: {told}{more}."]


def _kilobits(rate_bps: float) -> str:
    return f"{rate_bps / 1000:,.1f} kbit/s"
