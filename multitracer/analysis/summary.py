"""summary.json: what an analysis concluded, as one document of plain values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

import multitracer
from multitracer.analysis import json_rows
from multitracer.model.schema import SPURIOUS, TRIGGERS
from multitracer.tcp.rtt import STATISTICS

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.analysis.pipeline import Analysis
    from multitracer.model.trace import Input

Ints: TypeAlias = npt.NDArray[np.int64]

BUSIEST = 4
"""So many connections are told of by name where there is no room for all."""
_BLOCK = 2048
"""So many connections at a time are values of Python's, which take ten times the memory."""

_BETWEEN = b",\n  "
"""What stands between the items of a list."""

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
    plain: dict[str, Any] = json_rows.plain(document)
    plain["connections"] = Connections(analysis)
    return plain


def to_json(document: dict[str, Any]) -> bytes:
    """The document as JSON text, in UTF-8."""
    return b"".join(json_pieces(document))


def json_pieces(document: dict[str, Any]) -> Iterator[bytes]:
    """The text of `to_json` in pieces: a line for each item of a list, which keeps large ones searchable."""
    before = b"{\n "
    for key, value in document.items():
        yield before + json_rows.to_json(key) + b": "
        if isinstance(value, list | Connections):
            yield b"["
            texts = value.texts() if isinstance(value, Connections) else map(json_rows.to_json, value)
            for at, text in enumerate(texts):
                yield (_BETWEEN if at else b"\n  ") + text
            yield b"\n ]" if len(value) else b"]"
        else:
            yield json_rows.to_json(value)
        before = b",\n "
    yield b"\n}"


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
        for numbers in self._blocks():
            yield from self.of(numbers)

    def texts(self) -> Iterator[bytes]:
        """The items as JSON, a line each, a block at a time."""
        for numbers in self._blocks():
            yield _BETWEEN.join(json_rows.lines(self._columns(numbers)))

    def of(self, numbers: Ints) -> list[dict[str, Any]]:
        """The items of the connections with these numbers."""
        return json_rows.dicts(self._columns(numbers))

    def _blocks(self) -> Iterator[Ints]:
        for begin in range(0, len(self), _BLOCK):
            yield self._numbers[begin : begin + _BLOCK]

    def _columns(self, numbers: Ints) -> json_rows.Tree:
        rows = self._table.iloc[numbers]
        start, end = rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()
        return {
            "id": numbers,
            "client": rows["client"].to_numpy(),
            "server": rows["server"].to_numpy(),
            "start_s": (start - self._origin) / 1e9,
            "duration_s": (end - start) / 1e9,
            "handshake_seen": rows["handshake_seen"].to_numpy(),
            "closed": rows["closed"].to_numpy(dtype=object),
            "directions": {"client": self._ends.columns(2 * numbers), "server": self._ends.columns(2 * numbers + 1)},
        }

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
        return json_rows.dicts(self.columns(ends))

    def columns(self, ends: Ints) -> json_rows.Tree:
        """The columns of `of`."""
        own, row = self._measures, self._row[ends]
        seen = np.where(row < 0, -1, ends)
        trips = {name: _rates(own[f"rtt_{name}_ms"], row) for name in STATISTICS}
        return {
            **{name: _counts(own[name], row) for name in _COUNTS},
            **{name: _rates(own[name], row) for name in _RATES},
            "rtt_ms": {"samples": _counts(own["rtt_samples"], row), **trips},
            "retransmissions": {kind: _counts(counts, seen) for kind, counts in self._triggers.items()},
            "spurious": {kind: _counts(counts, seen) for kind, counts in self._spurious.items()},
        }

    def counts(self, name: str) -> Ints:
        """One of the counts, shape (connections, 2); 0 where nothing was seen."""
        seen, counts = self._row >= 0, np.zeros(len(self._row), dtype=np.int64)
        counts[seen] = self._measures[name][self._row[seen]]
        return counts.reshape(-1, 2)

    @property
    def spurious(self) -> dict[str, int]:
        """How many retransmissions of all ends together were needless."""
        return {kind: int(counts.sum()) for kind, counts in self._spurious.items()}


def _rates(values: Any, rows: Ints) -> Any:
    """The values at the rows; not-a-number where there is no row (-1)."""
    taken, known = np.full(len(rows), np.nan), rows >= 0
    taken[known] = values[rows[known]]
    return taken


def _counts(values: Any, rows: Ints) -> Any:
    """The values at the rows, whole numbers; None where there is no row (-1), or no number."""
    known = rows >= 0
    known[known] = np.isfinite(values[rows[known]])
    if known.all():
        return values[rows].astype(np.int64)
    counts = np.full(len(rows), None)
    counts[known] = values[rows[known]].astype(np.int64)
    return counts
