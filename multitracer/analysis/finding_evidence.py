"""The evidence of a finding in words: its values, and where the records are that it names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def evidence_lines(summary: dict[str, Any], finding: dict[str, Any]) -> Iterator[str]:
    """A line of all values, and one of the records of each input; `finding` is one of the summary's."""
    values = {name: value for name, value in finding["evidence"].items() if name != "records"}
    if values:
        yield ", ".join(f"{name} {_plain(value)}" for name, value in values.items())
    records: dict[int, list[str]] = {}
    for reference in finding["evidence"].get("records") or ():
        records.setdefault(reference["input"], []).append(str(reference["record"]))
    for number, some in records.items():
        yield f"record{'s' if len(some) > 1 else ''} {', '.join(some)} of {summary['inputs'][number]['path']}"


def _plain(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)
