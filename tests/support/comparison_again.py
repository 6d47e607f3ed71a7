"""Works out again what compare.json says, from the summaries alone and with nothing of the product.

    python tests/support/comparison_again.py DIR [GROUP]

DIR is what `multitracer analyze --compare ... [--group GROUP] -o DIR` wrote. Prints every number that is another one.
Means, deviations and lines are NumPy's; Student's t is a table, and beyond it Abramowitz and Stegun 26.7.5.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

STUDENT = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""The t of 1 to 30 degrees of freedom below which 97.5 % lie."""
NORMAL = 1.959964
MOST_NAMED, LEAST_NAMED = 4, 0.05
"""The parts of a difference that are named: so many, each of at least this share of all that changed."""
UNACKNOWLEDGED = 0.01
"""The most of its data that a transfer may have left without an acknowledgement."""
Document = Mapping[str, Any]
Told = Iterator[tuple[str, Any, Any]]
"""What is compared: what it is, what compare.json says, and what the summaries say."""


def disagreements(folder: Path, group: str | None = None) -> list[str]:
    """What compare.json says otherwise than the summaries beside it."""
    compared = json.loads((folder / "compare.json").read_text(encoding="utf-8"))
    rows = compared["experiments"]
    summaries = {row["name"]: _summary(folder / row["name"]) for row in rows if not row["error"]}
    every = [*_differences(compared, summaries), *_shares("all", compared["utilization"], rows, summaries),
             *_below(compared, summaries), *_lines(compared, rows, summaries),
             *_groups(compared, rows, summaries, group)]  # fmt: skip
    return [f"{what}: {said}, not {found}" for what, said, found in every if not _same(said, found)]


def _summary(folder: Path) -> Document:
    found: Document = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return found


def _same(said: Any, found: Any) -> bool:
    """Equal, numbers as far as a table of three decimals tells."""
    if isinstance(said, float) and isinstance(found, float):
        return abs(said - found) <= 1e-9 + 5e-4 * abs(found)
    return bool(said == found)


def student(freedom: int) -> float:
    """The t below which 97.5 % lie."""
    if freedom <= len(STUDENT):
        return STUDENT[freedom - 1]
    z, v = NORMAL, freedom
    return z + (z**3 + z) / (4 * v) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2)


def _used(summary: Document | None) -> float | None:
    used = None if summary is None else summary["utilization"]
    return None if used is None else used["percent"]


def _spent(summary: Document, row: Document) -> dict[str, dict[str, float]]:
    """Seconds by cause of the accounting, and by limit; the time that limits divide is not in the summary."""
    found = {}
    if summary["accounting"] is not None:
        session_s = summary["utilization"]["session_s"]
        found["accounting"] = {name: share * session_s for name, share in summary["accounting"].items()}
    if summary["limits"] is not None and row["spent_s"] and row["spent_s"]["limits"]:
        limited_s = sum(row["spent_s"]["limits"].values())
        found["limits"] = {name: share * limited_s for name, share in summary["limits"].items()}
    return found


def _is_as_long(summary: Document, row: Document) -> bool:
    """Whether the time of the limits is that in which the goodput was delivered, but for what was not acknowledged."""
    ends = summary["connections"][row["connection"]]["directions"].values()
    sent = max(ends, key=lambda one: one["unique_bytes"])
    limited_s = sum(row["spent_s"]["limits"].values())
    return bool(abs(8 * sent["unique_bytes"] / sent["goodput_bps"] - limited_s) <= UNACKNOWLEDGED * limited_s)


def _blamed(summary: Document) -> dict[str, float] | None:
    """Seconds that carried data, and those of each cause of the blame."""
    if summary["blame"] is None or summary["accounting"] is None:
        return None
    session_s = summary["utilization"]["session_s"]
    found = {name: summary["accounting"][name] * session_s for name in ("new_data", "link_overhead")}
    for one in summary["blame"]:
        found[one["cause"]] = found.get(one["cause"], 0.0) + one["seconds"]
    return found


def _differences(compared: Document, summaries: Mapping[str, Document]) -> Told:
    rows = {row["name"]: row for row in compared["experiments"]}
    spent = {name: _spent(summary, rows[name]) for name, summary in summaries.items()}
    for name in spent:
        if "limits" in spent[name]:
            yield f"{name}, the limits' time is the goodput's", True, _is_as_long(summaries[name], rows[name])
    measured = [name for name in spent if spent[name]]
    shared = [name for name in measured[1:] if spent[name].keys() & spent[measured[0]].keys()]
    yield "transfers with a difference", [one["name"] for one in compared["differences"]], shared
    for told in compared["differences"]:
        first, other = told["against"], told["name"]
        by = next(name for name in ("accounting", "limits") if name in spent[first] and name in spent[other])
        yield f"{other}, against", first, measured[0]
        yield f"{other}, by", told["by"], by
        yield f"{other}, s", told["seconds"], sum(spent[other][by].values()) - sum(spent[first][by].values())
        yield from _parts(f"{other}, {by}", told["parts"], spent[first][by], spent[other][by])
        one, two = _blamed(summaries[first]), _blamed(summaries[other])
        if told["blame"] is not None and one and two:
            yield from _parts(f"{other}, blame", told["blame"], one, two)
            yield f"{other}, sum of the blame", sum(told["blame"].values()), told["seconds"]


def _parts(what: str, told: Mapping[str, float], one: Mapping[str, float], two: Mapping[str, float]) -> Told:
    """Each part by itself, which are named, and what all add up to."""
    changes = {name: two.get(name, 0.0) - one.get(name, 0.0) for name in {*one, *two}}
    least = LEAST_NAMED * sum(map(abs, changes.values()))
    ranked = sorted((name for name in changes if abs(changes[name]) >= least > 0), key=lambda name: -abs(changes[name]))
    named = told.keys() - {"other"}
    yield f"{what}, named", len(named), len(ranked[:MOST_NAMED])
    for name in named:
        yield f"{what}, {name}", told[name], changes[name]
    smallest = min((abs(changes[name]) for name in named), default=np.inf)
    larger = [name for name in ranked if name not in named and abs(changes[name]) > smallest + 1e-9]
    yield f"{what}, larger than what is named", [], larger
    yield f"{what}, all", sum(told.values()), sum(changes.values())


def _shares(what: str, told: Document, rows: Sequence[Document], summaries: Mapping[str, Document]) -> Told:
    """How many transfers' utilization is known, and the share at 98 % and above."""
    used = [_used(summaries.get(row["name"])) for row in rows]
    known = np.array([one for one in used if one is not None])
    yield f"{what}, known", told["known"], len(known)
    yield f"{what}, unknown", told["unknown"], len(used) - len(known)
    yield f"{what}, at 98 %", told["at_or_above_98_percent"], float(np.mean(known >= 98)) if len(known) else None


def _below(compared: Document, summaries: Mapping[str, Document]) -> Told:
    below = [name for name, one in summaries.items() if (used := _used(one)) is not None and used <= 95]
    yield "at 95 % or less", compared["at_or_below_95_percent"], below


def _lines(compared: Document, rows: Sequence[Document], summaries: Mapping[str, Document]) -> Told:
    """The line of each kind of link, from what each summary says of the link that carried most."""
    points: dict[str, list[dict[str, float | None]]] = {}
    for row in rows:
        if row["link_data"] is not None:
            points.setdefault(row["link_data"]["link"], []).append(_point(summaries[row["name"]]))
    yield "kinds of link", sorted(one["link"] for one in compared["link_data"]), sorted(points)
    for kind in compared["link_data"]:
        for name in ("not_stopped_s", "session_s"):
            known = [one for one in points[kind["link"]] if one[name] is not None]
            x, y = (np.array([one[which] for one in known], dtype=float) for which in (name, "octets"))
            yield from _line(f"{kind['link']}, {name}", kind[name], x, y)


def _point(summary: Document) -> dict[str, float | None]:
    used = summary["utilization"]
    octets = max(one["payload_bytes"] for one in summary["links"] if one["payload_bytes"] is not None)
    stopped = used["flow_controlled_s"]
    whole = used["session_s"]
    return {"octets": octets, "session_s": whole, "not_stopped_s": None if stopped is None else whole - stopped}


def _line(what: str, told: Document, x: Any, y: Any) -> Told:
    yield f"{what}, transfers", told["transfers"], len(x)
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        yield f"{what}, slope", told["octets_per_s"], None
        return
    fit = np.polyfit(x, y, 1)
    left = y - np.polyval(fit, x)
    width = student(len(x) - 2) * float(np.sqrt(np.sum(left**2) / (len(x) - 2) / np.sum((x - x.mean()) ** 2)))
    yield f"{what}, slope", told["octets_per_s"], float(fit[0])
    yield f"{what}, interval", told["ci95"], width
    yield f"{what}, begins", told["intercept_octets"], float(fit[1])
    yield f"{what}, R2", told["r2"], float(np.corrcoef(x, y)[0, 1] ** 2)
    yield f"{what}, tells a slope", told["why_no_slope"] is None, bool(fit[0] > width)


def _groups(
    compared: Document, rows: Sequence[Document], summaries: Mapping[str, Document], pattern: str | None
) -> Told:  # fmt: skip
    members: dict[str, list[Document]] = {}
    for row in rows if pattern is not None else ():
        match = re.search(pattern or "", row["name"])
        members.setdefault("" if match is None else match[match.re.groups and 1], []).append(row)
    groups = {one["name"] or "": one for one in compared["groups"] or ()}
    yield "groups", sorted(groups), sorted(members)
    for name, own in members.items():
        told = groups[name]
        yield f"{name}, transfers", told["transfers"], [row["name"] for row in own]
        yield from _shares(name, told["utilization"], own, summaries)
        yield from _mean(f"{name}, utilization", told["utilization_percent"],
                         [_used(summaries.get(row["name"])) for row in own])  # fmt: skip
        for rate in ("throughput_bps", "goodput_bps"):
            yield from _mean(f"{name}, {rate}", told[rate], [_rate(row, summaries, rate) for row in own])


def _rate(row: Document, summaries: Mapping[str, Document], rate: str) -> float | None:
    """Of the direction that sent most."""
    if row["connection"] is None:
        return None
    ends = summaries[row["name"]]["connections"][row["connection"]]["directions"].values()
    value: float | None = max(ends, key=lambda one: one["data_bytes"])[rate]
    return value


def _mean(what: str, told: Document | None, values: Sequence[float | None]) -> Told:
    known = np.array([one for one in values if one is not None], dtype=float)
    if not len(known):
        yield what, told, None
        return
    said = told or {}
    std = float(known.std(ddof=1)) if len(known) > 1 else None
    yield f"{what}, samples", said.get("samples"), len(known)
    yield f"{what}, mean", said.get("mean"), float(known.mean())
    yield f"{what}, deviation", said.get("std"), std
    width = None if std is None else student(len(known) - 1) * std / float(np.sqrt(len(known)))
    yield f"{what}, interval", said.get("ci95"), width


if __name__ == "__main__":
    found = disagreements(Path(sys.argv[1]), *sys.argv[2:3])
    print("\n".join(found) or "all as the summaries say")
    sys.exit(bool(found))
