"""The verdict: one sentence on what limited the transfer, from the summary document and the connections' totals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multitracer.model.analysis import Totals

FULL = 0.9
"""If the link carries new data for at least this share of the session, the link is the limit."""

CAUSE_NAMES = {
    "new_data": "new data", "tcp_retransmitted": "resent by TCP", "link_retransmitted": "repeated by the link",
    "link_overhead": "link overhead", "link_control": "link control", "flow_controlled": "flow controlled",
    "link_reset": "link reset", "idle_window_limited": "idle: window limited", "idle_sender": "idle: sender",
    "idle_recovery": "idle: recovery", "unknown": "unknown",
}  # fmt: skip
"""The names of the accounting's causes in HTML pages."""

_PHRASES = {
    "tcp_retransmitted": "TCP sending again what the link had already carried",
    "link_retransmitted": "the link's own repeats",
    "link_control": "the link's control frames, sent while data waited,",
    "flow_controlled": "the link standing still, stopped by its peer or with its own window full,",
    "link_reset": "link resets",
    "idle_window_limited": "TCP waiting for a larger window",
    "idle_sender": "the sender having nothing to send",
    "idle_recovery": "TCP waiting for its timer or repairing a loss",
    "unknown": "idleness whose cause these inputs cannot tell",
}

RANK = (
    "link-release", "link-reset", "link-outage", "header-decompression-failure", "spurious-timeout", "local-drop",
    "competing-recovery", "flow-control-gap", "timeout", "burst-loss", "excessive-queueing",
    "spurious-fast-retransmit", "link-recovery-hole", "zero-window", "fast-retransmit", "ack-loss", "reordering",
    "idle-link", "ack-compression", "probe", "handshake-retry",
)  # fmt: skip
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
    cause = max(_PHRASES, key=lambda name: shares[name])
    phrase = _PHRASES[cause]
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
