"""The verdict: one sentence on what limited the transfer, from the summary document and the connections' totals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from multitracer.model.vocabulary import CAUSES, KINDS

if TYPE_CHECKING:
    from multitracer.model.analysis import Totals

FULL = 0.9
"""If the link carries new data for at least this share of the session, the link is the limit."""

RANK = tuple(KINDS)
"""Kinds of finding, the most severe first."""

_SURENESS = ("confirmed", "likely", "undecided")


def verdict(summary: dict[str, Any], totals: Totals) -> str:
    """One sentence on what limited the transfer, as far as the inputs show."""
    shares = summary["accounting"]
    limit = _by_shares(shares) if shares else _by_tcp(totals)
    leading = [group for group in group_findings(summary["findings"]) if group[0]["verdict"] == "confirmed"][:2]
    return limit + "".join(f"; {_count(group)}" for group in leading) + "."


def group_findings(findings: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The findings in groups of one verdict and kind: confirmed first, then by severity; longest first in each."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for finding in findings:
        groups.setdefault((finding["verdict"], finding["kind"]), []).append(finding)
    ordered = sorted(groups, key=lambda key: (_SURENESS.index(key[0]), _place(key[1])))
    return [sorted(groups[key], key=lambda finding: finding["start_s"] - finding["end_s"]) for key in ordered]


def _place(kind: str) -> int:
    return RANK.index(kind) if kind in RANK else len(RANK)


def _count(group: list[dict[str, Any]]) -> str:
    first = min(finding["start_s"] for finding in group)
    if len(group) == 1:
        return f"{group[0]['kind']} at {first:.1f} s"
    return f"{len(group)} times {group[0]['kind']}, first at {first:.1f} s"


def _by_shares(shares: dict[str, float]) -> str:
    """The sentence from the accounting: the cause that took most time besides new data and link overhead."""
    carrying = shares["new_data"] + shares["link_overhead"]
    if carrying >= FULL:
        return f"The link was the limit: it carried new data {_percent(carrying)} of the session"
    cause = max((name for name in CAUSES if name not in ("new_data", "link_overhead")), key=lambda name: shares[name])
    phrase = CAUSES[cause].phrase
    return (
        f"{phrase[0].upper()}{phrase[1:]} took {_percent(shares[cause])} of the session;"
        f" the link carried new data {_percent(carrying)} of it"
    )


def _by_tcp(totals: Totals) -> str:
    """The sentence from TCP's retransmissions, without a log or the rate of the link."""
    if not totals.connections:
        return "There is no TCP connection here"
    segments, spurious = totals.data_segments, totals.spurious
    resent = sum(spurious.values())
    if not resent:
        return f"TCP sent none of {segments} data segments again, and no log of the link nor its rate tells more"
    judged = f"{spurious['no']} needed, {spurious['yes']} needless, {spurious['unknown']} not known"
    return f"TCP sent {resent} of {segments} data segments again: {judged}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
