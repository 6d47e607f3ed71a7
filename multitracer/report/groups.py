"""Groups of a campaign's transfers by their names, with the mean of each group and how sure it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from multitracer.replay.simulate.statistics import mean_and_interval

MEASURES = ("utilization_percent", "throughput_bps", "goodput_bps")
FULLY_USED = 98.0
"""Percent of utilization from which a transfer counts as one that used its link fully."""


def groups(rows: Sequence[dict[str, Any]], pattern: re.Pattern[str]) -> list[dict[str, Any]]:
    """The groups of rows of compare.json, by name; None is the name of those that the pattern does not match.

    What a name is grouped by is the pattern's first group, or all that it matches.
    """
    found: dict[str | None, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(_key(pattern, row["name"]), []).append(row)
    return [_group(name, found[name]) for name in sorted(found, key=lambda name: (name is None, name or ""))]


def fully_used(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Of how many transfers the utilization is known, of how many not, and the share that used their link fully."""
    known = [used for used in map(utilization, rows) if used is not None]
    full = sum(used >= FULLY_USED for used in known)
    return {
        "known": len(known), "unknown": len(rows) - len(known),
        "at_or_above_98_percent": full / len(known) if known else None,
    }  # fmt: skip


def utilization(row: dict[str, Any]) -> float | None:
    """The utilization of a transfer in percent; None where no input tells."""
    used = row["utilization"]
    return None if used is None or used["percent"] is None else float(used["percent"])


def _key(pattern: re.Pattern[str], name: str) -> str | None:
    """None where nothing of the name is matched."""
    match = pattern.search(name)
    if match is None:
        return None
    return (match[1] if pattern.groups and match[1] is not None else match[0]) or None


def _group(name: str | None, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    measured = {measure: [_value(row, measure) for row in rows] for measure in MEASURES}
    known = {measure: [one for one in every if one is not None] for measure, every in measured.items()}
    described = {measure: mean_and_interval(samples) for measure, samples in known.items()}
    return {"name": name, "transfers": [row["name"] for row in rows], "utilization": fully_used(rows), **described}


def _value(row: dict[str, Any], measure: str) -> float | None:
    return utilization(row) if measure == "utilization_percent" else row[measure]
