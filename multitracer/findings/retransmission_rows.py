"""Findings made from rows of the retransmissions table."""

from __future__ import annotations

from typing import Any, TypeAlias

from multitracer.findings.finding import Finding

Columns: TypeAlias = dict[str, Any]
"""The columns of the retransmissions table as arrays."""


def finding(kind: str, columns: Columns, rows: list[int], verdict: str, because: str) -> Finding:
    """One finding about these retransmissions, which one sender sent on one connection."""
    time = columns["time_ns"]
    evidence = {
        "count": len(rows),
        "seq": int(columns["seq"][rows[0]]),
        "bytes": int(columns["payload_bytes"][rows].sum()),
        "records": [{"input": int(columns["input"][row]), "record": int(columns["record"][row])} for row in rows[:5]],
    }
    return Finding(
        kind, "sender", int(columns["connection"][rows[0]]), int(time[rows[0]]), int(time[rows[-1]]), verdict,
        because, evidence, segments=columns["segment"][rows], resends=rows,
    )  # fmt: skip
