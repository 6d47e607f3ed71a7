"""Which further inputs would make more conclusions possible."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from multitracer.model.options import AnalyzeOptions

if TYPE_CHECKING:
    import pandas as pd


def missing_inputs(
    tables: Mapping[str, pd.DataFrame], options: AnalyzeOptions, *, accounted: bool, link_logged: bool
) -> list[str]:
    """One sentence for each further input; `accounted`: the main link has an accounting, `link_logged`: a log."""
    if not len(tables["segments"]):
        if options.cuts:
            return ["No packet was captured in this window."]
        return ["A packet capture beside the data sender would tell which of TCP's segments the frames carried."]
    missing = [] if accounted else [_for_accounting(options, link_logged=link_logged)]
    point = tables["segments"]["point"].to_numpy()
    if point.min() == point.max():
        missing.append("A capture of the other end would tell which segments arrived, and when.")
    if not len(tables["tcp_state"]):
        missing.append(
            "The sender's TCP state (tcp_probe, ss, tcpstats) would tell its window from its application's pauses."
        )
    return missing


def _for_accounting(options: AnalyzeOptions, *, link_logged: bool) -> str:
    if link_logged:
        return "Accounting and utilization need the link log of the end that sends the data over the link."
    if options.link_rate_bps:
        return "The link's rate alone tells nothing without a capture beside the end that sent most data."
    return "Accounting and utilization need a log of the link's frames, or its rate (--link-rate BPS); none shows it."


def not_looked_for(kinds: list[dict[str, str]]) -> list[str]:
    """The kinds of finding that the inputs do not allow, one sentence for each input that is missing."""
    by_needs: dict[str, list[str]] = {}
    for one in kinds:
        by_needs.setdefault(one["needs"], []).append(one["kind"])
    return [f"Not looked for: {', '.join(names)}. Needed: {needs}." for needs, names in by_needs.items()]
