"""How much longer one transfer took than another, and what that time went to.

The time of a transfer is the session of its accounting; without one it is the time that its limits divide, from the
first octet of data sent to the last one acknowledged. Two transfers are compared by what both have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from multitracer.analysis.time_bar import CARRIED
from multitracer.model.vocabulary import CAUSES, LIMIT_NAMES

OTHER = "other"
MOST_NAMED = 4
LEAST_NAMED = 0.05
"""A part is named from this share of all that changed, either way."""

Seconds: TypeAlias = dict[str, float]


def spent(summary: Mapping[str, Any], limited_s: float | None) -> dict[str, Seconds | None] | None:
    """What the time of a transfer went to, in seconds, each time adding up to all of it; None for what is not known.

    Where nothing is known there is no such table at all. `limited_s` is the time that the limits divide. The blame
    stands beside what the session was for.
    """
    accounting = blame = limits = None
    if summary["accounting"] is not None:
        session_s = summary["utilization"]["session_s"]
        accounting = {name: share * session_s for name, share in summary["accounting"].items()}
        blame = None if summary["blame"] is None else _charged(accounting, summary["blame"])
    if summary["limits"] is not None and limited_s is not None:
        limits = {name: share * limited_s for name, share in summary["limits"].items()}
    if accounting is None and limits is None:
        return None
    return {"accounting": accounting, "blame": blame, "limits": limits}


def _charged(accounting: Seconds, blame: Sequence[Mapping[str, Any]]) -> Seconds:
    """What the session was for, and what each cause of the blame cost."""
    charged = {name: accounting[name] for name in CARRIED}
    for one in blame:
        charged[one["cause"]] = charged.get(one["cause"], 0.0) + one["seconds"]
    return charged


def difference(first: dict[str, Any], other: dict[str, Any]) -> dict[str, Any] | None:
    """How much longer the row `other` of compare.json took than the row `first`; None where they share no measure.

    `seconds` is the sum of `parts`, and of `blame` where both have one: the largest changes by name, and `other`.
    """
    one, two = first["spent_s"], other["spent_s"]
    if one is None or two is None:
        return None
    by = next((name for name in ("accounting", "limits") if one[name] and two[name]), None)
    if by is None:
        return None
    blame = _parts(one["blame"], two["blame"]) if one["blame"] and two["blame"] and by == "accounting" else None
    seconds = sum(two[by].values()) - sum(one[by].values())
    parts = _parts(one[by], two[by])
    names = {"name": other["name"], "against": first["name"]}
    return {**names, "seconds": seconds, "by": by, "parts": parts, "blame": blame}


def _parts(one: Seconds, two: Seconds) -> Seconds:
    """What changed, largest first; what is too little to be named is `other`."""
    changes = {name: two.get(name, 0.0) - one.get(name, 0.0) for name in {**one, **two}}
    least = LEAST_NAMED * sum(map(abs, changes.values()))
    named = sorted((name for name in changes if abs(changes[name]) >= least > 0), key=lambda name: -abs(changes[name]))
    kept = {name: changes.pop(name) for name in named[:MOST_NAMED]}
    return {**kept, OTHER: sum(changes.values())}


def sentence(found: Mapping[str, Any]) -> str:
    """The difference in words; the parts add up as they are written."""
    seconds = round(found["seconds"], 1)
    if not seconds:
        return f"As long as {found['against']}: {_told(0.0, found['parts'])}."
    how = "longer" if seconds > 0 else "shorter"
    told = f"{abs(seconds):.1f} s {how} than {found['against']}: {_told(seconds, found['parts'])}"
    if found["blame"]:
        told += f"; by cause: {_told(seconds, found['blame'])}"
    return f"{told}."


def parts_text(found: Mapping[str, Any]) -> str:
    """What the time of a difference went to, by cause where that is known."""
    return _told(round(found["seconds"], 1), found["blame"] or found["parts"])


def _told(seconds: float, parts: Seconds) -> str:
    rounded = {name: round(part, 1) for name, part in parts.items() if name != OTHER}
    rounded[OTHER] = round(seconds - sum(rounded.values()), 1)
    changed = [f"{_name(name)} {part:+.1f} s" for name, part in rounded.items() if part]
    return ", ".join(changed) or "nothing changed by 0.1 s"


def _name(name: str) -> str:
    """A cause of the accounting, a limit or a kind of finding, for people."""
    called = CAUSES[name].name if name in CAUSES else LIMIT_NAMES.get(name, name)
    head, _, tail = called.partition(": ")
    return f"{head} ({tail})" if tail else called
