"""The order in which findings are shown: the surest first, then the most severe."""

from __future__ import annotations

from typing import Any

from multitracer.model.vocabulary import KINDS

_RANK = tuple(KINDS)
_SURENESS = ("confirmed", "likely", "undecided")


def group_findings(findings: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The findings in groups of one verdict and kind: confirmed first, then by severity; longest first in each."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for finding in findings:
        groups.setdefault((finding["verdict"], finding["kind"]), []).append(finding)
    ordered = sorted(groups, key=lambda key: (_SURENESS.index(key[0]), _RANK.index(key[1])))
    return [sorted(groups[key], key=lambda finding: finding["start_s"] - finding["end_s"]) for key in ordered]
