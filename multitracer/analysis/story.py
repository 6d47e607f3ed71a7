"""The story of a transfer: where its time went, dearest cause first, each with what it set off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from multitracer.model.vocabulary import KINDS, LIMIT_NAMES, UNEXPLAINED

if TYPE_CHECKING:
    from multitracer.model.analysis import Totals

FULL = 0.9
"""If the link carries new data for at least this share of the session, the link is the limit."""
LEAST = 0.01
"""What took a smaller share of the time is left out."""
MOST_CAUSES, MOST_EFFECTS = 4, 5
_INSTANTS = ("timeout", "spurious-timeout", "probe")
"""Kinds of which the beginning is told: their intervals go on to the last resend of the recovery."""
_PART_OF_CAUSE = ("burst-loss", "ack-loss")
"""Kinds that are not told where something else set them off: what that flushed or dropped."""


def story(summary: dict[str, Any], totals: Totals) -> list[str]:
    """The story in sentences, the verdict first; `summary` is the summary document with its findings and blame."""
    if summary["accounting"]:
        limited = _limited(summary["limits"], totals) if summary.get("path_rate") else []
        return [_carried(summary), *limited, *_blamed(summary), *_left_over(summary)]
    if not totals.connections:
        return ["There is no TCP connection here."]
    return [*_limited(summary["limits"], totals), _resent(totals)]


def _carried(summary: dict[str, Any]) -> str:
    """What the session was used for."""
    shares, lasted = summary["accounting"], summary["utilization"]["session_s"]
    new, overhead, unknown = (shares[name] for name in ("new_data", "link_overhead", "unknown"))
    if new + overhead >= FULL:
        carried = _percent(new + overhead)
        return f"The link was the limit: it carried new data {carried} of {lasted:.1f} s, headers included."
    lost = 1 - new - overhead - unknown
    headers = f" and its headers {_percent(overhead)}" if overhead >= LEAST else ""
    elsewhere = f"{_percent(lost)} ({lost * lasted:.1f} s) went elsewhere"
    if unknown >= LEAST:
        elsewhere += f", and of {_percent(unknown)} the use is not known"
    return f"Of {lasted:.1f} s new data took {_percent(new)}{headers}; {elsewhere}."


def _blamed(summary: dict[str, Any]) -> list[str]:
    """A sentence for each of the dearest causes: what it cost, whose it was, what happened and what followed."""
    effects = _effects(summary["findings"])
    named = [one for one in summary["blame"] or () if one["cause"] != UNEXPLAINED and one["share"] >= LEAST]
    return [f"{_cost(one)}, {_where(one['layer'])}: {_happened(summary, one, effects)}." for one in named[:MOST_CAUSES]]


def _left_over(summary: dict[str, Any]) -> list[str]:
    """What no finding explains, by the accounting's largest causes."""
    nobody = [one for one in summary["blame"] or () if one["cause"] == UNEXPLAINED and one["share"] >= LEAST]
    if not nobody:
        return []
    return [f"{_cost(nobody[0])}: {nobody[0]['because']}."]


def _happened(summary: dict[str, Any], blame: dict[str, Any], effects: dict[int, list[int]]) -> str:
    """The root that cost most, and what followed from it; how many others of its kind there are."""
    findings = summary["findings"]
    number = max(blame["findings"], key=lambda number: findings[number]["lost_s"])
    root, followed = findings[number], [findings[effect] for effect in _all_effects(number, effects)]
    followed = sorted((one for one in followed if one["kind"] not in _PART_OF_CAUSE), key=lambda one: one["start_s"])
    told = _clause([root])
    waits = [one for one in followed if one["kind"] == "idle-link" and one["start_s"] < root["start_s"]]
    if waits and root["kind"] in _INSTANTS:
        # A timer ends the wait that it caused: told in the order of time.
        followed = [one for one in followed if one not in waits]
        told += f", after the link had stood idle for {sum(one['end_s'] - one['start_s'] for one in waits):.1f} s"
    if len(blame["findings"]) > 1:
        told += f" (dearest of {len(blame['findings'])})"
    kinds = list(dict.fromkeys(one["kind"] for one in followed))[:MOST_EFFECTS]
    return told + "".join(f", so {_clause([one for one in followed if one['kind'] == kind])}" for kind in kinds)


def _clause(findings: list[dict[str, Any]]) -> str:
    """What findings of one kind say: the phrase of the kind, when, and for how long or how often."""
    first = findings[0]
    phrase = f"{KINDS[first['kind']].phrase} at {first['start_s']:.1f} s"
    if len(findings) > 1:
        return f"{phrase} and {len(findings) - 1} more time{'s' if len(findings) > 2 else ''}"
    lasted = first["end_s"] - first["start_s"]
    return phrase if lasted < 0.05 or first["kind"] in _INSTANTS else f"{phrase} for {lasted:.1f} s"


def _effects(findings: Sequence[dict[str, Any]]) -> dict[int, list[int]]:
    """For each finding what it set off, in order of time."""
    effects: dict[int, list[int]] = {}
    for number, one in enumerate(findings):
        if one["caused_by"] is not None and one["verdict"] != "undecided":
            effects.setdefault(one["caused_by"], []).append(number)
    return effects


def _all_effects(root: int, effects: dict[int, list[int]]) -> list[int]:
    """What a finding set off, and what that set off, nearest first."""
    found, level = [], [root]
    while level:
        level = [effect for number in level for effect in effects.get(number, ())]
        found += level
    return found


def _limited(limits: dict[str, float] | None, totals: Totals) -> list[str]:
    """What limited the busiest direction, the largest share of its time first."""
    if not limits:
        return []
    lasted = totals.limited_s or 0.0  # known wherever limits are
    largest = sorted(((share, name) for name, share in limits.items() if share >= LEAST), reverse=True)
    told = (f"{LIMIT_NAMES[name]} {share * lasted:.1f} s ({_percent(share)})" for share, name in largest)
    return [f"What limited it: {', '.join(told)}."]


def _resent(totals: Totals) -> str:
    """TCP's retransmissions, where neither a log nor a rate of the link tells more."""
    segments, spurious = totals.data_segments, totals.spurious
    resent = sum(spurious.values())
    if not segments:
        return "No data segment was captured."
    if not resent:
        return f"TCP sent none of {segments} data segments again; neither a log of the link nor its rate tells more."
    if resent == spurious["unknown"]:
        return f"TCP sent {resent} of {segments} data segments again: whether they were needed is not known."
    judged = f"{spurious['no']} needed, {spurious['yes']} needless, {spurious['unknown']} not known"
    return f"TCP sent {resent} of {segments} data segments again: {judged}."


def _cost(blame: dict[str, Any]) -> str:
    return f"{blame['seconds']:.1f} s ({_percent(blame['share'])})"


def _where(layer: str) -> str:
    return "layer not proven" if layer == "unknown" else layer


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
