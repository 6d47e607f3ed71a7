"""The findings of a transfer as a comparison needs them: what, when, at how many octets delivered, at what cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from multitracer.analysis.finding_rows import Finding, Row, rows
from multitracer.report.panel_data import Source

MOST_KEPT = 500
"""Of one transfer, those that cost most, each with what it set off."""
_KEPT = ("kind", "layer", "verdict", "start_s", "end_s", "lost_s")


def compared(findings: Sequence[Finding], number: int | None, acks: Source | None) -> tuple[list[dict[str, Any]], int]:
    """The findings about connection `number` and about the link, and how many are left out; `caused_by` is a place.

    `delivered_bytes` is what the connection's receiver had acknowledged when the finding began; None without `acks`.
    """
    ours = [at for at, one in enumerate(findings) if number is None or one["connection"] in (None, number)]
    about = _chosen(findings, ours)
    kept = dearest(about, MOST_KEPT)
    described = [
        {name: one[name] for name in (*_KEPT, "caused_by")} | {"delivered_bytes": _delivered(acks, one["start_s"])}
        for one in kept
    ]
    return described, len(findings) - len(kept)


def _chosen(findings: Sequence[Finding], places: Sequence[int]) -> list[Finding]:
    """The findings at these places, which `caused_by` then counts; None where the cause is not among them."""
    place = {index: at for at, index in enumerate(places)}
    return [findings[index] | {"caused_by": place.get(findings[index]["caused_by"])} for index in places]


def flattened(listed: Sequence[Row]) -> Iterator[Row]:
    """Every row, each before what it set off."""
    for row in listed:
        yield row
        yield from flattened(row.effects)


def dearest(findings: Sequence[Finding], most: int) -> list[Finding]:
    """Those findings of one transfer that cost most, each with what it set off: no more than `most`."""
    return _chosen(findings, sorted(one.index for one in flattened(rows(findings, most))))


def together(every: Sequence[Sequence[Finding]]) -> list[Finding]:
    """The findings of several transfers in one list, each with the place of its transfer."""
    found: list[Finding] = []
    for place, findings in enumerate(every):
        first = len(found)
        found += [
            one | {"transfer": place, "caused_by": None if one["caused_by"] is None else first + one["caused_by"]}
            for one in findings
        ]
    return found


def _delivered(acks: Source | None, start_s: float) -> int | None:
    """Octets acknowledged at a time; the first octet of data is number 1 of the stream, as the SYN is number 0."""
    if acks is None:
        return None
    before = np.asarray(acks["y"])[: int(np.searchsorted(acks["x"], round(start_s * 1e9), side="right"))]
    return max(0, int(before.max()) - 1) if len(before) else 0
