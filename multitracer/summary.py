"""summary.json: what an analysis concluded, as one document of plain values."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import orjson

import multitracer
from multitracer.tables import SPURIOUS, TRIGGERS
from multitracer.tcp.rtt import STATISTICS

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.analysis import Analysis
    from multitracer.trace import Input

Ints: TypeAlias = npt.NDArray[np.int64]

BUSIEST = 4
"""So many connections are told of by name where there is no room for all."""
_BLOCK = 2048
"""So many connections at a time are values of Python's, which take ten times the memory."""

_COUNTS = (
    "packets", "data_segments", "data_bytes", "unique_bytes", "retransmitted_segments", "retransmitted_bytes",
    "out_of_order_segments", "pure_acks", "duplicate_acks", "sack_segments", "zero_window_acks", "window_probes",
    "max_outstanding_bytes", "max_segment_bytes",
)  # fmt: skip

_RATES = ("throughput_bps", "goodput_bps")

_CLOCK = ("reference", "offset_s", "drift_ppm", "error_s", "worst_s", "how")


def summarize(analysis: Analysis) -> dict[str, Any]:
    """The summary document; its keys and their meanings are the public interface.

    `connections` makes its items while they are gone through.
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


def to_json(document: dict[str, Any]) -> bytes:
    """The document as JSON text, in UTF-8."""
    return b"".join(json_pieces(document))


def json_pieces(document: dict[str, Any]) -> Iterator[bytes]:
    """The text of `to_json` in pieces: a line for each item of a list, which keeps large ones searchable."""
    before = b"{\n "
    for key, value in document.items():
        yield before + _json(key) + b": "
        if isinstance(value, list | Connections):
            yield b"["
            for at, lines in enumerate(value.lines() if isinstance(value, Connections) else map(_json, value)):
                yield (b",\n  " if at else b"\n  ") + lines
            yield b"\n ]" if len(value) else b"]"
        else:
            yield _json(value)
        before = b",\n "
    yield b"\n}"


def _json(value: Any) -> bytes:
    """A value as JSON; not-a-number is null."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:  # a file's name may hold octets that are no text (PEP 383): json escapes them
        return json.dumps(_plain(value), allow_nan=False, separators=(",", ":")).encode()


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


@dataclass(frozen=True)
class Totals:
    """What all connections sent together, and which of them sent most."""

    connections: int
    data_segments: int
    spurious: dict[str, int]
    """Retransmissions by whether they were needless: "yes", "no" or "unknown"."""
    busiest: list[dict[str, Any]]
    """At most BUSIEST items of connections[], the one whose one end sent most data first."""


class Connections:
    """connections[] of the summary, made a block at a time while they are gone through: each takes 3 KB."""

    def __init__(self, analysis: Analysis) -> None:
        self._table, self._ends, self._origin = analysis.connections, analysis.ends, analysis.origin_ns
        self._numbers = np.flatnonzero(self._table["end_ns"].to_numpy() >= 0)

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for block in self._blocks():
            yield from block

    def _blocks(self) -> Iterator[list[dict[str, Any]]]:
        for begin in range(0, len(self), _BLOCK):
            yield self.of(self._numbers[begin : begin + _BLOCK])

    def lines(self) -> Iterator[bytes]:
        """The items as JSON, a line each, a block at a time: item by item writing takes ten times as long."""
        for block in self._blocks():
            # Not to be mistaken: within a text quotes are escaped, and only items begin with "id".
            yield orjson.dumps(block)[1:-1].replace(b'},{"id":', b'},\n  {"id":')

    def of(self, numbers: Ints) -> list[dict[str, Any]]:
        """The items of the connections with these numbers."""
        rows = self._table.iloc[numbers]
        ends = {"client": self._ends.of(2 * numbers), "server": self._ends.of(2 * numbers + 1)}
        return _rows(
            {
                "id": numbers.tolist(),
                "client": rows["client"].tolist(),
                "server": rows["server"].tolist(),
                "start_s": ((rows["start_ns"] - self._origin) / 1e9).tolist(),
                "duration_s": ((rows["end_ns"] - rows["start_ns"]) / 1e9).tolist(),
                "handshake_seen": rows["handshake_seen"].tolist(),
                "closed": rows["closed"].tolist(),
                "directions": _rows(ends),
            }
        )

    def totals(self) -> Totals:
        """Their totals, from columns: no item is made but of the busiest."""
        data = self._ends.counts("unique_bytes")[self._numbers].max(axis=1)
        order = np.argsort(-data, kind="stable")[:BUSIEST]
        segments = int(self._ends.counts("data_segments").sum())
        return Totals(len(self), segments, self._ends.spurious, self.of(self._numbers[order]))


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
    """D of the summary for every end of every connection: what it sent, by the point that saw it best.

    Ends are numbered 2 * connection + sender.
    """

    def __init__(
        self, measures: pd.DataFrame, retransmissions: pd.DataFrame, connections: pd.DataFrame, seen_at: Any
    ) -> None:
        self._measures = {name: measures[name].to_numpy() for name in measures.columns}
        connection, sender, point = (self._measures[name] for name in ("connection", "sender", "point"))
        best = np.flatnonzero(seen_at[connection, sender] == point)
        self._row = np.full(2 * len(connections), -1)
        self._row[(2 * connection + sender)[best]] = best
        number = retransmissions["connection"].to_numpy().astype(np.int64)
        from_server = retransmissions["sender"].to_numpy() != connections["client"].to_numpy()[number]
        end = 2 * number + from_server
        self._triggers, self._spurious = (
            {kind: np.bincount(end[retransmissions[name] == kind], minlength=len(self._row)) for kind in kinds}
            for name, kinds in (("trigger", TRIGGERS), ("spurious", SPURIOUS))
        )

    def of(self, ends: Ints) -> list[dict[str, Any]]:
        """What each of these ends sent; nulls where nothing was seen of it."""
        own, row = self._measures, self._row[ends]
        seen = np.where(row < 0, -1, ends)
        trips = {name: _values(own[f"rtt_{name}_ms"], row, float) for name in STATISTICS}
        return _rows(
            {
                **{name: _values(own[name], row) for name in _COUNTS},
                **{name: _values(own[name], row, float) for name in _RATES},
                "rtt_ms": _rows({"samples": _values(own["rtt_samples"], row), **trips}),
                "retransmissions": _rows({kind: _values(counts, seen) for kind, counts in self._triggers.items()}),
                "spurious": _rows({kind: _values(counts, seen) for kind, counts in self._spurious.items()}),
            }
        )

    def counts(self, name: str) -> Ints:
        """One of the counts, shape (connections, 2); 0 where nothing was seen."""
        seen, counts = self._row >= 0, np.zeros(len(self._row), dtype=np.int64)
        counts[seen] = self._measures[name][self._row[seen]]
        return counts.reshape(-1, 2)

    @property
    def spurious(self) -> dict[str, int]:
        """How many retransmissions of all ends together were needless."""
        return {kind: int(counts.sum()) for kind, counts in self._spurious.items()}


def _rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """A dict for each row of the columns; filled column by column, which takes the least time."""
    rows: list[dict[str, Any]] = [{} for _ in next(iter(columns.values()))]
    for name, values in columns.items():
        for row, value in zip(rows, values, strict=True):
            row[name] = value
    return rows


def _values(values: Any, rows: Ints, kind: type[int | float] = int) -> list[Any]:
    """The values at the rows as Python's; None where there is no row (-1), and where a value is not a number."""
    known, plain = rows >= 0, np.full(len(rows), None)
    known[known] = np.isfinite(values[rows[known]])
    plain[known] = values[rows[known]].astype(kind)
    kept: list[Any] = plain.tolist()
    return kept
