"""summary.json: what an analysis concluded, as one document of plain values."""

from __future__ import annotations

import json
import math
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
        "connections": [],
        "links": analysis.link_rows,
        "utilization": analysis.utilization,
        "accounting": analysis.shares,
        "findings": _findings(analysis, origin),
        "missing": analysis.missing,
    }
    plain: dict[str, Any] = _plain(document)
    plain["connections"] = _connections(analysis)  # plain by itself: there may be a hundred thousand
    return plain


def to_json(document: dict[str, Any]) -> str:
    """The document as JSON text: a line for each item of a list, which keeps large ones quick and searchable."""
    parts = [f"{json.dumps(key)}: {_item_lines(value)}" for key, value in document.items()]
    return "{\n " + ",\n ".join(parts) + "\n}"


def _item_lines(value: Any) -> str:
    if not isinstance(value, list) or not value:
        return json.dumps(value, allow_nan=False)
    return "[\n  " + ",\n  ".join(json.dumps(item, allow_nan=False) for item in value) + "\n ]"


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
    rows: list[dict[str, Any]] = [_UNSEEN] * (2 * len(connections))
    chosen = seen_at[measures["connection"].to_numpy(), measures["sender"].to_numpy()] == measures["point"].to_numpy()
    counts = [_whole_or_none(measures[name].to_numpy()[chosen]) for name in _COUNTS]
    rates = [_float_or_none(measures[name].to_numpy()[chosen]) for name in _RATES]
    samples = measures["rtt_samples"].to_numpy()[chosen].tolist()
    trips = [_float_or_none(measures[f"rtt_{name}_ms"].to_numpy()[chosen]) for name in STATISTICS]
    ends = (2 * measures["connection"].to_numpy() + measures["sender"].to_numpy())[chosen].tolist()
    columns = (ends, samples, *(zip(*values, strict=True) for values in (counts, rates, trips)))
    for end, sampled, counted, rated, tripped in zip(*columns, strict=True):
        triggers, verdicts = resent.get(end, _NEVER_RESENT)
        rows[end] = {
            **dict(zip(_COUNTS, counted, strict=True)),
            **dict(zip(_RATES, rated, strict=True)),
            "rtt_ms": {"samples": sampled, **dict(zip(STATISTICS, tripped, strict=True))},
            "retransmissions": dict(triggers),
            "spurious": dict(verdicts),
        }
    return rows


_RATES = ("throughput_bps", "goodput_bps")
_NEVER_RESENT = (dict.fromkeys(TRIGGERS, 0), dict.fromkeys(SPURIOUS, 0))
_UNSEEN: dict[str, Any] = {
    **dict.fromkeys((*_COUNTS, *_RATES)),
    "rtt_ms": dict.fromkeys(("samples", *STATISTICS)),
    "retransmissions": dict.fromkeys(TRIGGERS),
    "spurious": dict.fromkeys(SPURIOUS),
}
"""D of an end of which nothing was seen."""


def _float_or_none(values: Any) -> list[float | None]:
    kept: list[float | None] = np.where(np.isfinite(values), values, 0.0).tolist()
    for row in np.flatnonzero(~np.isfinite(values)).tolist():
        kept[row] = None
    return kept


def _whole_or_none(values: Any) -> list[int | None]:
    if values.dtype.kind != "f":
        whole: list[int | None] = values.tolist()
        return whole
    return [None if value is None else int(value) for value in _float_or_none(values)]


def _resent(
    retransmissions: pd.DataFrame, connections: pd.DataFrame
) -> dict[int, tuple[dict[str, int], dict[str, int]]]:
    """Per end that resent anything, how many there were of each trigger and of each verdict."""
    if not len(retransmissions):
        return {}
    number = retransmissions["connection"].to_numpy()
    from_server = retransmissions["sender"].to_numpy() != connections["client"].to_numpy()[number]
    ends, index = np.unique(2 * number.astype(np.int64) + from_server, return_inverse=True)
    counted = []
    for name, kinds in (("trigger", TRIGGERS), ("spurious", SPURIOUS)):
        code = retransmissions[name].cat.codes.to_numpy().astype(np.int64)
        table = np.bincount(index * len(kinds) + code, minlength=len(ends) * len(kinds)).reshape(-1, len(kinds))
        counted.append([dict(zip(kinds, row, strict=True)) for row in table.tolist()])
    return dict(zip(ends.tolist(), zip(*counted, strict=True), strict=True))
