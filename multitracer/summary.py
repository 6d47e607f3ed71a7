"""summary.json: what an analysis concluded, as one document of plain values."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

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
    """The summary document; its keys and their meanings are the public interface.

    `connections` makes each of its items when it is asked for.
    """
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
    plain["connections"] = Connections(analysis)
    return plain


def to_json(document: dict[str, Any]) -> str:
    """The document as JSON text."""
    return "".join(json_pieces(document))


def json_pieces(document: dict[str, Any]) -> Iterator[str]:
    """The document as JSON text in pieces: a line for each item of a list, which keeps large ones searchable."""
    before = "{\n "
    for key, value in document.items():
        yield before + json.dumps(key) + ": "
        if isinstance(value, Sequence) and not isinstance(value, str) and len(value):
            for at, item in enumerate(value):
                yield (",\n  " if at else "[\n  ") + json.dumps(item, allow_nan=False)
            yield "\n ]"
        else:
            yield json.dumps(list(value) if isinstance(value, Connections) else value, allow_nan=False)
        before = ",\n "
    yield "\n}"


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


class Connections(Sequence[dict[str, Any]]):
    """connections[] of the summary, each made when it is asked for: all at once they are 3 KB each."""

    def __init__(self, analysis: Analysis) -> None:
        table = analysis.connections
        kept = np.flatnonzero(table["end_ns"].to_numpy() >= 0)
        origin = analysis.origin_ns
        start, end = table["start_ns"].to_numpy()[kept], table["end_ns"].to_numpy()[kept]
        names = ("connection", "client", "server", "handshake_seen", "closed")
        self._columns = {name: table[name].to_numpy()[kept].tolist() for name in names}
        self._start_s, self._duration_s = ((start - origin) / 1e9).tolist(), ((end - start) / 1e9).tolist()
        self._ends = analysis.ends

    def __len__(self) -> int:
        return len(self._start_s)

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, place: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, place: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        number, client, server, seen, closed = (values[place] for values in self._columns.values())
        return {
            "id": number,
            "client": client,
            "server": server,
            "start_s": self._start_s[place],
            "duration_s": self._duration_s[place],
            "handshake_seen": seen,
            "closed": closed,
            "directions": {"client": self._ends.of(number, 0), "server": self._ends.of(number, 1)},
        }


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


class Ends:
    """D of the summary for every end of every connection: what it sent, by the point that saw it best."""

    def __init__(
        self, measures: pd.DataFrame, retransmissions: pd.DataFrame, connections: pd.DataFrame, seen_at: Any
    ) -> None:
        self._resent = _resent(retransmissions, connections)
        connection, sender = measures["connection"].to_numpy(), measures["sender"].to_numpy()
        chosen = np.flatnonzero(seen_at[connection, sender] == measures["point"].to_numpy())
        self._place = np.full(2 * len(connections), -1, dtype=np.int64)
        self._place[(2 * connection + sender)[chosen]] = np.arange(len(chosen))
        self._own = {name: measures[name].to_numpy()[chosen] for name in measures.columns}
        self._begin, self._plain = 0, self._made_plain(0)

    def _made_plain(self, begin: int) -> list[tuple[Any, ...]]:
        """The counts, rates, samples and statistics of a block of rows, as values of Python's."""
        own = {name: values[begin : begin + _BLOCK] for name, values in self._own.items()}
        parts = (
            (_whole_or_none(own[name]) for name in _COUNTS),
            (_float_or_none(own[name]) for name in _RATES),
            (_float_or_none(own[f"rtt_{name}_ms"]) for name in STATISTICS),
        )
        return list(zip(own["rtt_samples"].tolist(), *(zip(*part, strict=True) for part in parts), strict=True))

    def of(self, connection: int, sender: int) -> dict[str, Any]:
        """What one end sent (0 the client); nulls where nothing of it was seen."""
        end = 2 * connection + sender
        at = int(self._place[end])
        if at < 0:
            return copy.deepcopy(_UNSEEN)
        if not self._begin <= at < self._begin + _BLOCK:
            self._begin = at - at % _BLOCK
            self._plain = self._made_plain(self._begin)
        samples, counts, rates, trips = self._plain[at - self._begin]
        triggers, verdicts = self._resent.get(end, _NEVER_RESENT)
        return {
            **dict(zip(_COUNTS, counts, strict=True)),
            **dict(zip(_RATES, rates, strict=True)),
            "rtt_ms": {"samples": samples, **dict(zip(STATISTICS, trips, strict=True))},
            "retransmissions": dict(triggers),
            "spurious": dict(verdicts),
        }


_BLOCK = 4096
"""So many rows at a time are values of Python's, which take ten times the memory."""
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
