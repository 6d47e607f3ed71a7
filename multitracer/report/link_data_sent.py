"""What the transfers of a campaign sent over their links, against the time that the links were not stopped.

Each slope is a rate that the transfers have in common: over the time in which the sender was not stopped, what the link
carries when it may; over all of the time, what is left of that. Where a network stops its senders (XOFF), the first is
the higher one: of GSM data calls 1,200 octets/s against 960 (Ludwig, Rathonyi, Konrad, Oden and Joseph, "Multi-layer
tracing of TCP over a reliable wireless link", 1999, section 6.5).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from multitracer.replay.simulate.quantiles import student_t

TIMES = ("not_stopped_s", "session_s")
LEAST_TRANSFERS = 3
"""With fewer a line has no interval: it goes through them all."""
_LEVEL = 0.95


def link_data(summary: dict[str, Any], link: int | None) -> dict[str, Any] | None:
    """Octets of data that a link's sender sent for the first time, and both times; None where its log does not tell."""
    used, sent = summary["utilization"], next((row for row in summary["links"] if row["id"] == link), None)
    if used is None or sent is None or sent["payload_bytes"] is None:
        return None
    stopped = used["flow_controlled_s"] or 0.0
    return {
        "link": _kind(sent), "octets": sent["payload_bytes"], "session_s": used["session_s"],
        "not_stopped_s": used["session_s"] - stopped,
    }  # fmt: skip


def _kind(link: dict[str, Any]) -> str:
    """Protocol and rate: only links that are equal in these have a line in common."""
    rate = link["rate_bps"]
    return link["protocol"] if rate is None else f"{link['protocol']} {rate / 1e3:.3g} kbit/s"


def slopes(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each kind of link, the one of most transfers first, the least-squares line of its transfers by TIMES.

    {"link", "transfers", name: line or None}.
    """
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for one in (row["link_data"] for row in rows if row["link_data"] is not None):
        by_kind.setdefault(one["link"], []).append(one)
    return [_of_kind(kind, by_kind[kind]) for kind in sorted(by_kind, key=lambda kind: -len(by_kind[kind]))]


def _of_kind(kind: str, known: Sequence[dict[str, Any]]) -> dict[str, Any]:
    octets = [float(one["octets"]) for one in known]
    lines = {name: _line([one[name] for one in known], octets) for name in TIMES}
    return {"link": kind, "transfers": len(known), **lines}


def _line(x: Sequence[float], y: Sequence[float]) -> dict[str, float | None] | None:
    """Slope, its interval's half width, where it begins, and how much of the spread it explains."""
    if len(x) < LEAST_TRANSFERS:
        return None
    mean_x, mean_y = math.fsum(x) / len(x), math.fsum(y) / len(y)
    spread = math.fsum((one - mean_x) ** 2 for one in x)
    whole = math.fsum((one - mean_y) ** 2 for one in y)
    if not spread or not whole:
        return None
    slope = math.fsum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread
    start = mean_y - slope * mean_x
    left = math.fsum((b - start - slope * a) ** 2 for a, b in zip(x, y, strict=True))
    width = student_t((1 + _LEVEL) / 2, len(x) - 2) * math.sqrt(left / (len(x) - 2) / spread)
    return {"octets_per_s": slope, "ci95": width, "intercept_octets": start, "r2": 1 - left / whole}
