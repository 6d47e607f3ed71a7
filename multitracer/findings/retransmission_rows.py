"""Findings made from rows of the retransmissions table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from multitracer.compute.arrays import Columns
from multitracer.findings.finding import Finding

if TYPE_CHECKING:
    import pandas as pd


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


def recoveries(table: pd.DataFrame, *, begun_by: str, ended_by: str) -> dict[int, list[int]]:
    """By the row of each retransmission with the trigger `begun_by`, the rows of its recovery.

    These are its sender's until the next with either trigger.
    """
    trigger = table["trigger"]
    begun, over, within = ((trigger == name).to_numpy() for name in (begun_by, ended_by, "recovery"))
    if not begun.any():
        return {}
    end = table.groupby(["connection", "sender"], sort=False).ngroup().to_numpy()
    order = np.argsort(end, kind="stable")
    place = np.arange(len(order))
    # For each row, sorted by end, the latest row up to it that began a recovery or ended one.
    marked = np.maximum.accumulate(np.where((begun | over)[order], place, -1))
    mine = within[order] & (marked >= 0)
    mine[mine] = begun[order[marked[mine]]] & (end[order[marked[mine]]] == end[order[mine]])
    found: dict[int, list[int]] = {}
    for first, row in sorted(zip(order[marked[mine]].tolist(), order[mine].tolist(), strict=True)):
        found.setdefault(first, []).append(row)
    return found
