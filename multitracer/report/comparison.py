"""What a comparison of several transfers says of each: the rows of compare.json, and what is shown beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.analysis.difference import difference, spent
from multitracer.analysis.summary import Summary, direction
from multitracer.report import connection_data, panel_data
from multitracer.report.compared_findings import compared
from multitracer.report.groups import fully_used, groups, utilization
from multitracer.report.link_data_sent import link_data, slopes

if TYPE_CHECKING:
    from multitracer.model.analysis import Analysis

WELL_USED = 95.0
"""Percent of utilization above which a link was the limit."""
_WASTE = ("link_retransmitted", "link_control", "flow_controlled", "link_reset", "tcp_retransmitted",
          "idle_window_limited", "idle_sender", "idle_recovery", "path_held", "unknown")  # fmt: skip


@dataclass(frozen=True)
class Experiment:
    """One of the transfers: its row in compare.json, the lines that are drawn of it by their series, its findings."""

    row: dict[str, Any]
    lines: Mapping[str, panel_data.Source]
    findings: Sequence[dict[str, Any]]
    left_out: int = 0
    """How many findings are in the transfer's own report alone."""


def experiment(name: str, path: str, analysis: Analysis, summary: Summary, *, report: bool) -> Experiment:
    """What the comparison needs of an analysis; `report` says whether a report of its own is written."""
    document = summary.document
    order = panel_data.largest_first(analysis)
    row: dict[str, Any] = {
        "name": name, "path": path, "report": f"{name}/report.html" if report else None, "error": None,
        "verdict": summary.verdict,
        "utilization": document["utilization"], "accounting": document["accounting"],
        "causes": causes(document["accounting"]), "spent_s": spent(document, analysis.ends.limited_s),
        "link_data": link_data(document, analysis.links.main),
        "layers": _layers(document["blame"] or ()), "findings": _counts(document["findings"]),
        "align_s": {}, "connection": None, "duration_s": None, "throughput_bps": None, "goodput_bps": None,
    }  # fmt: skip
    if not order:
        findings, left_out = compared(document["findings"], None, None)
        row["align_s"] = {"start": 0.0, **_firsts(findings)}
        return Experiment(row, {}, findings, left_out)
    number = order[0]
    sender = int(analysis.ends.main[number])
    sent = direction(analysis.ends, number, sender)
    one = analysis.connections.iloc[number]
    sources = connection_data.connection(analysis, number).sources
    row |= {
        "connection": number, "duration_s": (int(one["end_ns"]) - int(one["start_ns"])) / 1e9,
        "throughput_bps": sent["throughput_bps"], "goodput_bps": sent["goodput_bps"],
    }  # fmt: skip
    drawable = [name for name in ("acks", "goodput") if name in sources and len(sources[name]["x"])]
    acks = sources["acks"] if "acks" in drawable else None
    findings, left_out = compared(document["findings"], number, acks)
    start_s = _start_s(sources, (int(one["start_ns"]) - analysis.origin_ns) / 1e9)
    row["align_s"] = {"start": start_s, **_firsts(findings)}
    return Experiment(row, {name: sources[name] for name in drawable}, findings, left_out)


def failed(name: str, path: str, error: str) -> Experiment:
    """A transfer that could not be analysed, and why."""
    nothing = dict.fromkeys(
        ("report", "verdict", "utilization", "accounting", "spent_s", "link_data", "connection", "duration_s",
         "throughput_bps", "goodput_bps")
    )  # fmt: skip
    return Experiment({"name": name, "path": path, **nothing, "error": error, "causes": [], "layers": {},
                       "findings": {}, "align_s": {}}, {}, [])  # fmt: skip


def _start_s(sources: Mapping[str, panel_data.Source], else_s: float) -> float:
    """When the first packet of data was seen, in seconds of the trace."""
    names = ("segments", *(f"again_{kind}" for kind in connection_data.CLASSES))
    times = [sources[name]["x"] for name in names if name in sources and len(sources[name]["x"])]
    return min((float(each[0]) / 1e9 for each in times), default=else_s)


def _layers(blame: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The layer of each cause of the blame: that of its dearest part."""
    found: dict[str, str] = {}
    for one in blame:
        found.setdefault(one["cause"], one["layer"])
    return found


def causes(shares: dict[str, float] | None) -> list[str]:
    """The causes that took at least 1 % of the session, largest first; not new data and its framing."""
    if shares is None:
        return []
    return [name for name in sorted(_WASTE, key=lambda name: -shares[name]) if shares[name] >= 0.01]


def _counts(findings: Sequence[dict[str, Any]]) -> dict[str, int]:
    """How many findings of each kind are confirmed."""
    kinds = [finding["kind"] for finding in findings if finding["verdict"] == "confirmed"]
    return {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}


def _firsts(findings: Sequence[dict[str, Any]]) -> dict[str, float]:
    """When the first confirmed finding of each kind began."""
    found: dict[str, float] = {}
    for finding in findings:
        if finding["verdict"] == "confirmed":
            found[finding["kind"]] = min(found.get(finding["kind"], np.inf), finding["start_s"])
    return found


def document(experiments: list[Experiment], version: str, group: re.Pattern[str] | None = None) -> dict[str, Any]:
    """The content of compare.json; what each transfer lasted longer is against the first one that can be compared.

    By `group` the names of transfers are grouped.
    """
    rows = [one.row for one in experiments]
    below = [row["name"] for row in rows if (used := utilization(row)) is not None and used <= WELL_USED]
    measured = [row for row in rows if row["spent_s"]]
    differences = [found for row in measured[1:] if (found := difference(measured[0], row))]
    return {
        "multitracer": version, "experiments": rows, "differences": differences, "at_or_below_95_percent": below,
        "utilization": fully_used(rows), "link_data": slopes(rows),
        "groups": None if group is None else groups(rows, group),
    }  # fmt: skip
