"""summary.json: what an analysis concluded, as one document of plain values."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

import multitracer
from multitracer.tables import SPURIOUS, TRIGGERS
from multitracer.tcp.rtt import STATISTICS

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.analysis import Analysis
    from multitracer.trace import Input

_COUNTS = (
    "packets", "data_segments", "data_bytes", "unique_bytes", "retransmitted_segments", "retransmitted_bytes",
    "out_of_order_segments", "pure_acks", "duplicate_acks", "sack_segments", "zero_window_acks", "window_probes",
    "max_outstanding_bytes", "max_segment_bytes",
)  # fmt: skip

_CLOCK = ("reference", "offset_s", "drift_ppm", "error_s", "worst_s", "how")


def summarize(analysis: Analysis) -> dict[str, Any]:
    """The summary document; its keys and their meanings are the public interface."""
    origin = analysis.origin_ns
    document = {
        "multitracer": multitracer.__version__,
        "inputs": [_input(entry) for entry in analysis.trace.inputs],
        "connections": _connections(analysis),
        "links": analysis.link_rows,
        "utilization": analysis.utilization,
        "accounting": analysis.shares,
        "findings": _findings(analysis, origin),
        "missing": analysis.missing,
    }
    plain: dict[str, Any] = _plain(document)
    return plain


def to_json(document: dict[str, Any]) -> str:
    """The document as JSON text; what is not a number is null."""
    return json.dumps(_plain(document), indent=1, allow_nan=False)


def _plain(value: Any) -> Any:
    """NumPy scalars as Python's, and not-a-number as null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _input(entry: Input) -> dict[str, Any]:
    recording, clock = entry.recording, entry.clock
    return {
        "path": entry.path,
        "format": recording.format,
        "role": entry.role,
        "records": recording.records,
        "skipped": entry.skipped,
        "bytes_read": recording.bytes_read,
        "first_ns": entry.first_ns,
        "last_ns": entry.last_ns,
        "complete": recording.complete,
        "clock": {name: getattr(clock, name) for name in _CLOCK} if clock else None,
        "out_of_scope": recording.counts,
        "losses": [vars(skip) for skip in recording.skips],
        "notes": recording.notes,
    }


def _connections(analysis: Analysis) -> list[dict[str, Any]]:
    table = analysis.connections
    columns = {
        name: table[name].tolist()
        for name in ("connection", "client", "server", "start_ns", "end_ns", "handshake_seen", "closed")
    }
    origin = analysis.origin_ns
    return [
        {
            "id": number,
            "client": client,
            "server": server,
            "start_s": (start - origin) / 1e9,
            "duration_s": (end - start) / 1e9,
            "handshake_seen": seen,
            "closed": closed,
            "directions": {
                "client": analysis.direction(number, 0),
                "server": analysis.direction(number, 1),
            },
        }
        for number, client, server, start, end, seen, closed in zip(*columns.values(), strict=True)
        if end >= 0
    ]


def _findings(analysis: Analysis, origin: int) -> list[dict[str, Any]]:
    table = analysis.tables["findings"]
    rows = zip(*(table[name].tolist() for name in table.columns), strict=True)
    return [
        {
            "kind": kind,
            "layer": layer,
            "connection": connection if connection >= 0 else None,
            "start_s": (start - origin) / 1e9,
            "end_s": (end - origin) / 1e9,
            "verdict": str(verdict),
            "because": because,
            "evidence": json.loads(evidence),
        }
        for kind, layer, connection, start, end, verdict, because, evidence in rows
    ]


def direction_rows(
    measures: pd.DataFrame, retransmissions: pd.DataFrame, connections: pd.DataFrame, seen_at: Any
) -> list[dict[str, Any]]:
    """D of the summary for every connection and end, in order: row 2 * connection + end (0 the client)."""
    resent = _resent(retransmissions, connections)
    rows = [_direction({}, None) for _ in range(2 * len(connections))]
    chosen = seen_at[measures["connection"].to_numpy(), measures["sender"].to_numpy()] == measures["point"].to_numpy()
    names = [*_COUNTS, "throughput_bps", "goodput_bps", "rtt_samples", *(f"rtt_{name}_ms" for name in STATISTICS)]
    columns = [measures[name].to_numpy()[chosen].tolist() for name in names]
    ends = (2 * measures["connection"].to_numpy() + measures["sender"].to_numpy())[chosen].tolist()
    for end, *values in zip(ends, *columns, strict=True):
        rows[end] = _direction(dict(zip(names, values, strict=True)), resent.get(end, {}))
    return rows


def _direction(found: dict[str, Any], resent: dict[str, Counter[str]] | None) -> dict[str, Any]:
    """One D; None for all that was not seen."""
    counted = {name: _whole(found.get(name)) for name in _COUNTS}
    rtt = {"samples": found.get("rtt_samples")} | {name: found.get(f"rtt_{name}_ms") for name in STATISTICS}
    counted_by = resent or {}
    trigger, spurious = counted_by.get("trigger", Counter()), counted_by.get("spurious", Counter())
    none = None if resent is None else 0
    return counted | {
        "throughput_bps": found.get("throughput_bps"),
        "goodput_bps": found.get("goodput_bps"),
        "rtt_ms": rtt,
        "retransmissions": {name: trigger.get(name, none) for name in TRIGGERS},
        "spurious": {name: spurious.get(name, none) for name in SPURIOUS},
    }


def _whole(value: Any) -> int | None:
    return None if value is None or value != value else int(value)


def _resent(retransmissions: pd.DataFrame, connections: pd.DataFrame) -> dict[int, dict[str, Counter[str]]]:
    """Per end, how many retransmissions there were of each trigger and of each verdict."""
    client = dict(enumerate(connections["client"].tolist()))
    found: dict[int, dict[str, Counter[str]]] = {}
    columns = (retransmissions[name].tolist() for name in ("connection", "sender", "trigger", "spurious"))
    for connection, sender, trigger, spurious in zip(*columns, strict=True):
        end = 2 * connection + (sender != client[connection])
        counts = found.setdefault(end, {"trigger": Counter(), "spurious": Counter()})
        counts["trigger"][str(trigger)] += 1
        counts["spurious"][str(spurious)] += 1
    return found
