"""The summary of an analysis: the document written to summary.json, in plain Python values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from multitracer.analysis.finding_groups import order_groups
from multitracer.analysis.path_rates import path_notes, path_rate
from multitracer.analysis.plain_values import Tree, dicts, plain
from multitracer.analysis.story import story
from multitracer.findings.finding_columns import objects
from multitracer.model.analysis import Analysis, Ends, Ints, Totals
from multitracer.model.limits import LIMITS, Limits
from multitracer.model.trace import Input
from multitracer.model.version import VERSION
from multitracer.tcp.kernel_clocks import CLOCKS
from multitracer.tcp.rtt import STATISTICS

if TYPE_CHECKING:
    import pandas as pd

BUSIEST = 4
"""The number of connections listed where there is no room for all."""
_BLOCK = 2048
"""Connections or findings that are converted to Python values at a time: these take ten times the memory of columns."""

_COUNTS = (
    "packets", "data_segments", "data_bytes", "unique_bytes", "retransmitted_segments", "retransmitted_bytes",
    "out_of_order_segments", "pure_acks", "duplicate_acks", "sack_segments", "zero_window_acks", "window_probes",
    "max_outstanding_bytes", "max_segment_bytes",
)  # fmt: skip

_RATES = ("throughput_bps", "goodput_bps")

_TEXTS = ("kind", "layer", "verdict", "because", "evidence")

_CLOCK = ("reference", "offset_s", "drift_ppm", "error_s", "worst_s", "how")


@dataclass(frozen=True, repr=False)
class Summary:
    """`document` is the content of summary.json; its keys and their meanings are the public interface.

    `connections` and `findings` in it create their items when these are read.
    """

    document: dict[str, Any]
    totals: Totals
    story: list[str]
    """Where the time went and why, in sentences."""

    @property
    def verdict(self) -> str:
        """The first sentence of the story."""
        return self.story[0]

    def __repr__(self) -> str:
        """The story: the document would fill many screens."""
        return "Summary: " + "\n".join(self.story)


def summarize(analysis: Analysis) -> Summary:
    """The summary of an analysis."""
    connections = Connections(analysis.connections, analysis.ends, analysis.origin_ns)
    document: dict[str, Any] = plain(
        {
            "multitracer": VERSION,
            "inputs": [_input(entry, analysis.trace.shift_ns) for entry in analysis.trace.inputs],
            "connections": [],
            "links": analysis.links.rows,
            "utilization": analysis.links.utilization,
            "accounting": analysis.links.shares,
            "limits": _largest_limits(analysis.ends),
            "path_rate": path_rate(analysis),
            "blame": _blame(analysis),
            "not_looked_for": [{"kind": kind, "needs": needs} for kind, needs in analysis.not_looked_for.items()],
            "findings": [],
            "missing": analysis.missing,
            "notes": path_notes(analysis),
        }
    )
    document["connections"], totals = connections, connections.totals()
    document["findings"] = Findings(analysis.tables["findings"], analysis.origin_ns)
    told = story(document, totals)
    document["story"] = "\n".join(told)
    return Summary(document, totals, told)


def _input(entry: Input, shift_ns: int) -> dict[str, Any]:
    recording, clock = entry.recording, entry.clock
    return {
        "path": entry.path,
        "format": recording.format,
        "role": entry.role,
        "records": recording.records,
        "skipped": entry.skipped,
        "bytes_read": recording.bytes_read,
        "first_ns": None if entry.first_ns is None else entry.first_ns - shift_ns,
        "last_ns": None if entry.last_ns is None else entry.last_ns - shift_ns,
        "complete": recording.complete,
        "clock": {name: getattr(clock, name) for name in _CLOCK} if clock else None,
        "out_of_scope": recording.counts,
        "losses": [vars(skip) for skip in recording.skips],
        "notes": recording.notes,
    }


class Connections:
    """connections[] of the summary; its items, 3 KB each, are created block by block during iteration."""

    def __init__(self, table: pd.DataFrame, ends: Ends, origin_ns: int) -> None:
        self._table, self._ends, self._origin = table, ends, origin_ns
        self._numbers = np.flatnonzero(table["end_ns"].to_numpy() >= 0)

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for columns in self.blocks():
            yield from dicts(columns)

    def blocks(self) -> Iterator[Tree]:
        """The items as columns, a tree for each block of connections."""
        for begin in range(0, len(self), _BLOCK):
            yield self.columns(self._numbers[begin : begin + _BLOCK])

    def of(self, numbers: Ints) -> list[dict[str, Any]]:
        """The items of the connections with these numbers."""
        return dicts(self.columns(numbers))

    def columns(self, numbers: Ints) -> Tree:
        """The items of the connections with these numbers as columns."""
        rows = self._table.iloc[numbers]
        start, end = rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()
        return {
            "id": numbers,
            "client": rows["client"].to_numpy(),
            "server": rows["server"].to_numpy(),
            "start_s": (start - self._origin) / 1e9,
            "duration_s": (end - start) / 1e9,
            "handshake_seen": rows["handshake_seen"].to_numpy(),
            "closed": self._closed(numbers, rows["closed"].to_numpy(dtype=object)),
            "directions": {"client": _sent(self._ends, 2 * numbers), "server": _sent(self._ends, 2 * numbers + 1)},
        }

    def _closed(self, numbers: Ints, closed: Any) -> Any:
        """How they ended; None where it needs the packets of an end that was not captured."""
        unseen = (self._ends.row[2 * numbers] < 0) | (self._ends.row[2 * numbers + 1] < 0)
        return np.where(unseen & (closed == "open"), None, closed)

    def totals(self) -> Totals:
        """Totals over all connections, computed from columns; items are created only of the busiest."""
        data = self._ends.counts("unique_bytes")[self._numbers].max(axis=1)
        order = np.argsort(-data, kind="stable")[:BUSIEST]
        segments = int(self._ends.counts("data_segments").sum())
        spurious = {kind: int(counts.sum()) for kind, counts in self._ends.spurious.items()}
        return Totals(len(self), segments, spurious, self.of(self._numbers[order]), self._ends.limited_s)


class Findings(Sequence[dict[str, Any]]):
    """findings[] of the summary; reading one creates all, of which there may be a hundred thousand, and keeps them."""

    def __init__(self, table: pd.DataFrame, origin_ns: int) -> None:
        self._table, self._origin = table, origin_ns

    def __len__(self) -> int:
        return len(self._table)

    @overload
    def __getitem__(self, at: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, at: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, at: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        return self._items[at]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._items)

    @cached_property
    def _items(self) -> list[dict[str, Any]]:
        return self.of(slice(None))

    def of(self, rows: slice | Ints) -> list[dict[str, Any]]:
        """The items of these rows."""
        columns = self._columns(rows)
        columns["evidence"] = objects(list(map(plain, columns["evidence"])))
        return dicts(columns)

    def blocks(self) -> Iterator[Tree]:
        """The items as columns, a tree for each block of findings; evidence is as the table has it."""
        for begin in range(0, len(self), _BLOCK):
            yield self._columns(slice(begin, begin + _BLOCK))

    def groups(self) -> list[Ints]:
        """The numbers of the findings, in the groups and the order of `order_groups`."""
        kind, verdict = (self._table[name].to_numpy(object) for name in ("kind", "verdict"))
        return order_groups(kind, verdict, (self._table["end_ns"] - self._table["start_ns"]).to_numpy())

    def _columns(self, rows: slice | Ints) -> Tree:
        part = self._table.iloc[rows]
        kind, layer, verdict, because, evidence = (part[name].to_numpy(object) for name in _TEXTS)
        return {
            "kind": kind,
            "layer": layer,
            "connection": _numbers(part["connection"]),
            "start_s": (part["start_ns"].to_numpy() - self._origin) / 1e9,
            "end_s": (part["end_ns"].to_numpy() - self._origin) / 1e9,
            "verdict": verdict,
            "because": because,
            "evidence": evidence,
            "caused_by": _numbers(part["caused_by"]),
            "lost_s": part["lost_s"].to_numpy(),
        }


def _numbers(column: pd.Series[Any]) -> Any:
    """Numbers as Python's, None where they are negative."""
    values = column.to_numpy()
    return np.where(values < 0, None, values.astype(object))


def direction(ends: Ends, connection: int, sender: int) -> dict[str, Any]:
    """What one end of a connection sent (`sender` 0 the client, 1 the server); None values if nothing was captured."""
    return dicts(_sent(ends, np.array([2 * connection + sender])))[0]


def _sent(ends: Ends, numbers: Ints) -> Tree:
    """The columns of directions.client and directions.server for the ends `numbers` (2 * connection + sender)."""
    own, row = ends.columns, ends.row[numbers]
    seen = np.where(row < 0, -1, numbers)
    alone = ~np.isfinite(_rates(own["window_probes"], row))  # nothing of the other end was captured beside it
    trips = {name: _rates(own[f"rtt_{name}_ms"], row) for name in STATISTICS}
    return {
        **{name: _counts(own[name], row) for name in _COUNTS},
        **{name: _rates(own[name], row) for name in _RATES},
        "rtt_ms": {"samples": _counts(own["rtt_samples"], row), **trips},
        "retransmissions": _judged(ends.triggers, seen, alone),
        "spurious": _judged(ends.spurious, seen, alone),
        "limits": _limits(ends.limits, numbers),
        "kernel_clocks": _kernel_clocks(ends, numbers),
    }


def _judged(kinds: Mapping[str, Ints], seen: Ints, alone: Any) -> Tree:
    """The resends of each kind; None for a kind of which only the other end's packets, not captured, would tell."""
    unjudged = alone & (kinds["unknown"][seen] > 0)
    return {
        kind: _counts(counts, np.where(unjudged & (counts[seen] == 0) & (kind != "unknown"), -1, seen))
        for kind, counts in kinds.items()
    }


def _limits(limits: Limits, numbers: Ints) -> Any:
    """What limited the ends: a tree of columns, or where of some nothing can be said a column of dicts and None."""
    known = np.isfinite(limits.shares[numbers, 0])
    shares = limits.shares[numbers[known]]
    tree: Tree = {name: shares[:, cause] for cause, name in enumerate(LIMITS)}
    if known.all():
        return tree
    items = np.full(len(numbers), None)
    items[known] = dicts(tree)
    return items


def _kernel_clocks(ends: Ends, numbers: Ints) -> Any:
    """The kernel's own clocks of the ends, one dict each; None where no log has them."""
    items = np.full(len(numbers), None)
    values = ends.kernel_clocks[numbers]
    known = np.isfinite(values[:, 0])
    items[known] = dicts({name: values[known, place] for place, name in enumerate(CLOCKS)})
    return items


def _largest_limits(ends: Ends) -> dict[str, float] | None:
    """What limited the end that sent most data."""
    if ends.largest is None:
        return None
    found: dict[str, float] | None = dicts({"limits": _limits(ends.limits, np.array([ends.largest]))})[0]["limits"]
    return found


def _blame(analysis: Analysis) -> list[dict[str, Any]] | None:
    """Who is to blame for the time that carried no new data, dearest first; None without an accounting."""
    if analysis.blame is None:
        return None
    return [
        {"cause": one.cause, "layer": one.layer, "seconds": one.lost_ns / 1e9, "share": one.share,
         "findings": one.findings, "because": one.because}
        for one in analysis.blame
    ]  # fmt: skip


def _rates(values: Any, rows: Ints) -> Any:
    """The values at the rows, float64; NaN where the row is -1."""
    taken, known = np.full(len(rows), np.nan), rows >= 0
    taken[known] = values[rows[known]]
    return taken


def _counts(values: Any, rows: Ints) -> Any:
    """The values at the rows as integers; None where the row is -1 or the value is NaN."""
    known = rows >= 0
    known[known] = np.isfinite(values[rows[known]])
    if known.all():
        return values[rows].astype(np.int64)
    counts = np.full(len(rows), None)
    counts[known] = values[rows[known]].astype(np.int64)
    return counts
