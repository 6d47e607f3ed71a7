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
_NUMBERS = ("octets_per_s", "ci95", "intercept_octets", "r2")
_TOO_FEW = f"a line takes {LEAST_TRANSFERS} transfers"
_ALL_AS_LONG = "all are equally long"
_ALL_AS_MUCH = "all carried equally much"
_HOLDS_ZERO = "its 95 % interval holds 0"
_FALLS = "the longer a transfer took, the less it carried"


def link_data(summary: dict[str, Any], link: int | None) -> dict[str, Any] | None:
    """Octets of data that a link's sender sent for the first time, and both times; None where its log does not tell.

    Where the log does not tell of stops, it is not known how long the sender was not stopped.
    """
    used, sent = summary["utilization"], next((row for row in summary["links"] if row["id"] == link), None)
    if used is None or sent is None or sent["payload_bytes"] is None:
        return None
    whole, stopped = used["session_s"], used["flow_controlled_s"]
    return {
        "link": _kind(sent), "octets": sent["payload_bytes"], "session_s": whole,
        "not_stopped_s": None if stopped is None else whole - stopped,
    }  # fmt: skip


def _kind(link: dict[str, Any]) -> str:
    """Protocol and rate: only links that are equal in these have a line in common."""
    rate = link["rate_bps"]
    return link["protocol"] if rate is None else f"{link['protocol']} {rate / 1e3:.3g} kbit/s"


def slopes(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each kind of link, the one of most transfers first, the least-squares line of its transfers by TIMES.

    {"link", "transfers", name: {"transfers", "octets_per_s", "ci95", "intercept_octets", "r2", "why_no_slope"}}.
    Where the transfers do not tell a slope, `why_no_slope` says the reason; numbers that there are not are None.
    """
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for one in (row["link_data"] for row in rows if row["link_data"] is not None):
        by_kind.setdefault(one["link"], []).append(one)
    return [_of_kind(kind, by_kind[kind]) for kind in sorted(by_kind, key=lambda kind: -len(by_kind[kind]))]


def _of_kind(kind: str, known: Sequence[dict[str, Any]]) -> dict[str, Any]:
    lines = {name: _of_time([one for one in known if one[name] is not None], name) for name in TIMES}
    return {"link": kind, "transfers": len(known), **lines}


def _of_time(known: Sequence[dict[str, Any]], name: str) -> dict[str, Any]:
    x, y = [one[name] for one in known], [float(one["octets"]) for one in known]
    why = _why_no_line(x, y)
    if why is not None:
        return {"transfers": len(known), **dict.fromkeys(_NUMBERS), "why_no_slope": why}
    line = _line(x, y)
    return {"transfers": len(known), **line, "why_no_slope": _why_no_slope(line["octets_per_s"], line["ci95"])}


def _why_no_line(x: Sequence[float], y: Sequence[float]) -> str | None:
    if len(x) < LEAST_TRANSFERS:
        return _TOO_FEW
    return _ALL_AS_LONG if min(x) == max(x) else _ALL_AS_MUCH if min(y) == max(y) else None


def _why_no_slope(slope: float, width: float) -> str | None:
    """A rate is above 0: an interval that is not does not tell one."""
    return None if slope > width else _HOLDS_ZERO if slope >= -width else _FALLS


def _line(x: Sequence[float], y: Sequence[float]) -> dict[str, float]:
    """Slope, its interval's half width, where it begins, and how much of the spread it explains."""
    mean_x, mean_y = math.fsum(x) / len(x), math.fsum(y) / len(y)
    spread = math.fsum((one - mean_x) ** 2 for one in x)
    whole = math.fsum((one - mean_y) ** 2 for one in y)
    slope = math.fsum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread
    start = mean_y - slope * mean_x
    left = math.fsum((b - start - slope * a) ** 2 for a, b in zip(x, y, strict=True))
    width = student_t((1 + _LEVEL) / 2, len(x) - 2) * math.sqrt(left / (len(x) - 2) / spread)
    return {"octets_per_s": slope, "ci95": width, "intercept_octets": start, "r2": 1 - left / whole}
