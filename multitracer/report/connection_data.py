"""The data that the panels draw of what one end of a connection sent, times in ns from the trace's start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.model.schema import ACK, MARKS, RST, SYN
from multitracer.report.fate_columns import Fates
from multitracer.report.panel_data import PanelData, Source, differ, steps, thinned
from multitracer.report.rows_by_connection import Rows, Tables
from multitracer.tcp.rtt import segment_round_trips

if TYPE_CHECKING:
    from multitracer.model.analysis import Analysis

SHAPES = {
    "timeout": "triangle", "fast": "inverted_triangle", "recovery": "diamond", "probe": "square", "unknown": "hex",
}  # fmt: skip
"""A retransmission's mark, by what triggered it."""
_RATE_BINS = 400
_APART_NS = 1_000_000
"""An interval that begins later after the one before is not the next: hosts write their times in microseconds."""
CLASSES = ("no", "yes", "unknown")
"""Needed, needless, and undecided retransmissions: the codes of schema.SPURIOUS."""


class Shared:
    """What the panels of all connections are made from: their rows in the tables, and what became of segments.

    `data_bytes` and `segment_bytes`, the largest payload, are of each end, shape (connections, 2).
    """

    def __init__(self, analysis: Analysis) -> None:
        self.tables, self.fates = Tables(analysis), Fates(analysis)
        self.data_bytes, self.segment_bytes = map(analysis.ends.counts, ("data_bytes", "max_segment_bytes"))


def connection(analysis: Analysis, number: int, sender: int | None = None, shared: Shared | None = None) -> PanelData:
    """All sources of what one end of a connection sent, as captured nearest to it; by default of the data's sender.

    Nothing of the other end where that sent no data: its acknowledgements are the data sender's. Who asks for several
    connections gives the same `shared` for each.
    """
    main = int(analysis.ends.main[number])
    sender = main if sender is None else sender
    shared = shared or Shared(analysis)
    if sender != main and not shared.data_bytes[number, sender]:
        return PanelData({})
    end = _End(analysis, number, sender, shared)
    sent = _segments(end) | _retransmissions(end)
    return thinned(
        {name: source | shared.fates.of(source["row"]) for name, source in sent.items()}
        | _acknowledgements(end)
        | _sacks(end)
        | _state(end)
        | _intervals(end)
        | _outstanding(end)
        | _delays(end)
        | _goodput(end)
    )


class _End:
    """One end of a connection, and what was captured nearest to it."""

    def __init__(self, analysis: Analysis, number: int, sender: int, shared: Shared) -> None:
        self.analysis, self.number, self.sender, self.tables = analysis, number, sender, shared.tables
        self.segment_bytes = int(shared.segment_bytes[number, sender])
        self.name = analysis.connections[("client", "server")[sender]].iat[number]
        self.point = int(analysis.paths.seen_at[number, sender])
        captured = shared.tables.segments[number]
        self.captured = captured.where(captured["point"] == self.point)
        """With what was captured twice."""
        self.own = self.captured.where(self.captured["marks"] & MARKS["captured_twice"] == 0)

    def elapsed(self, time_ns: Any) -> Any:
        """Times as ns from the trace's start."""
        return time_ns.astype(np.int64) - self.analysis.origin_ns

    def sent(self, rows: Rows) -> Rows:
        """Those of the rows of a table that are of data that this end sent."""
        return rows.where((rows["sender"] == self.name) & (rows["payload_bytes"] > 0))


def _segments(end: _End) -> dict[str, Source]:
    """Data sent the first time, from first byte to last."""
    own = end.own
    is_new = own["marks"] & MARKS["retransmission"] == 0
    new = own.where((own["sender"] == end.sender) & (own["payload_bytes"] > 0) & is_new)
    return {"segments": _beams(end, new, new.rows)}


def _beams(end: _End, rows: Rows, row: Any) -> Source:
    """Bars from first byte to last; `row` is each one's row in the table of segments."""
    seq, size = rows["seq"], rows["payload_bytes"]
    return {"x": end.elapsed(rows["time_ns"]), "y": seq, "top": seq + size, "record": rows["record"],
            "row": np.asarray(row, dtype=np.int64)}  # fmt: skip


def _retransmissions(end: _End) -> dict[str, Source]:
    """Data sent again, by whether it was needless."""
    own = end.sent(end.tables.retransmissions[end.number])
    found = {}
    for kind in CLASSES:
        rows = own.where(own["spurious"] == kind)
        source = _beams(end, rows, rows["segment"])
        source["middle"] = (source["y"] + source["top"]) / 2
        source["trigger"] = rows["trigger"].astype(object)
        source["shape"] = np.array([SHAPES[trigger] for trigger in source["trigger"]], dtype=object)
        source["because"] = rows["because"].astype(object)
        found[f"again_{kind}"] = source
    return found


def _acknowledgements(end: _End) -> dict[str, Source]:
    """What the peer acknowledged, and up to where it allowed to send.

    An acknowledgement that data carries, and that repeats the one before it, says nothing (RFC 5681, 2).
    """
    own, flags = end.own, end.own["flags"]
    is_ack = (own["ack"] >= 0) & (flags & ACK != 0) & (flags & (SYN | RST) == 0)
    acks = own.where((own["sender"] != end.sender) & is_ack)
    acks = acks.where((acks["payload_bytes"] == 0) | differ(acks["ack"]) | differ(acks["window_bytes"]))
    times, ack, window = end.elapsed(acks["time_ns"]), acks["ack"], acks["window_bytes"]
    found = {"acks": {"x": times, "y": ack, "record": acks["record"]}}
    known = window >= 0
    if known.any():
        found["window"] = {"x": times[known], "y": (ack + window)[known]}
    return found


def _sacks(end: _End) -> dict[str, Source]:
    """The SACK blocks of the peer's acknowledgements."""
    blocks = end.tables.sack[end.number]
    mine = blocks.where(np.isin(blocks["segment"], end.own.rows[end.own["sender"] != end.sender]))
    times = end.analysis.tables["segments"]["time_ns"].to_numpy()[mine["segment"]]
    return {"sacks": {"x": end.elapsed(times), "y": mine["left"], "top": mine["right"]}}


def _state(end: _End) -> dict[str, Source]:
    """The sender's windows and timer as its host logged them."""
    logged = end.tables.tcp_state[end.number]
    own = logged.where(logged["sender"] == end.sender)
    own = own.where(np.argsort(own["time_ns"], kind="stable"))
    found: dict[str, Source] = {}
    for name in ("cwnd", "ssthresh"):
        value = own[f"{name}_bytes"].astype(np.float64)
        value = np.where(np.isnan(value), own[f"{name}_segments"] * end.segment_bytes, value)
        known = np.isfinite(value)
        if known.any():
            found[name] = {"x": end.elapsed(own["time_ns"])[known], "y": value[known]}
    for name in ("srtt", "rto"):
        value = own[f"{name}_s"] * 1e3
        known = np.isfinite(value) & (value > 0)
        if known.any():
            found[name] = {"x": end.elapsed(own["time_ns"])[known], "y": value[known]}
    return found


def _intervals(end: _End) -> dict[str, Source]:
    """What the sender's host counted in each interval: the octets handed to TCP, in kbit/s, and segments sent again."""
    logged = end.tables.tcp_state[end.number]
    own = logged.where((logged["sender"] == end.sender) & (logged["interval_s"] > 0))
    if len(own["input"]):  # of several logs of one sender that with most of them, as in the series
        own = own.where(own["input"] == np.bincount(own["input"]).argmax())
    own = own.where(np.argsort(own["time_ns"], kind="stable"))
    stop, lasted = end.elapsed(own["time_ns"]), own["interval_s"]
    start = stop - (lasted * 1e9).astype(np.int64)
    found = {}
    for name, value in (("handed", own["interval_bytes"] * 8e-3 / lasted), ("resends", own["interval_resends"])):
        known = np.isfinite(value)
        if known.any():
            found[name] = _steps(start[known], stop[known], value[known])
    return found


def _steps(start: Any, stop: Any, value: Any) -> Source:
    """The value of each interval from its begin to its end; none (NaN) from an end on at which no other begins."""
    gaps = np.flatnonzero(start[1:] - stop[:-1] > _APART_NS)
    at = np.append(np.repeat(gaps + 1, 2), len(start))
    values = np.column_stack([value[gaps], np.full(len(gaps), np.nan)]).ravel()
    x = np.insert(start, at, np.append(np.repeat(stop[gaps], 2), stop[-1]))
    return {"x": x, "y": np.insert(value.astype(np.float64), at, np.append(values, value[-1]))}


def _outstanding(end: _End) -> dict[str, Source]:
    """What was sent and not acknowledged yet, by the capture."""
    own = end.captured
    mine = own["sender"] == end.sender
    top = np.maximum.accumulate(np.where(mine, own["seq"] + own["payload_bytes"], 0))
    acked = np.maximum.accumulate(np.where(~mine, own["ack"], 0))
    value = np.maximum(top - np.maximum(acked, 1), 0)
    return {"outstanding": steps({"x": end.elapsed(own["time_ns"]), "y": value})} if len(own) else {}


def _delays(end: _End) -> dict[str, Source]:
    """Round trips of segments sent once, and how long what had data waited for its first frame."""
    found: dict[str, Source] = {}
    if end.analysis.paths.sender_point[end.number, end.sender] >= 0:
        time_ns, seq, payload, ack = (end.own[name] for name in ("time_ns", "seq", "payload_bytes", "ack"))
        sent, rtt = segment_round_trips(time_ns, end.own["sender"] == end.sender, seq, payload, ack)
        if len(sent):
            found["rtt"] = {"x": end.elapsed(sent), "y": rtt}
    carried = end.sent(end.tables.segment_frames[end.number])
    carried = carried.where(carried["queue_ns"] >= 0)
    if len(carried):
        found["queue"] = {"x": end.elapsed(carried["sent_ns"]), "y": carried["queue_ns"]}
    return found


def _goodput(end: _End) -> dict[str, Source]:
    """Newly acknowledged bytes over equal stretches of time, in kbit/s."""
    acks = end.own.where((end.own["sender"] != end.sender) & (end.own["ack"] >= 0))
    if len(acks) < 2:
        return {}
    times, ack = end.elapsed(acks["time_ns"]), np.maximum.accumulate(np.maximum(acks["ack"], 1))
    span = times[-1] - times[0]
    if span <= 0:
        return {}
    edges = np.linspace(times[0], times[-1], min(_RATE_BINS, max(2, len(acks) // 2)) + 1).astype(np.int64)
    edges = np.unique(edges)
    reached = ack[np.maximum(np.searchsorted(times, edges, side="right") - 1, 0)]
    rate = np.diff(reached) * 8e6 / np.diff(edges)
    return {"goodput": {"x": edges, "y": np.append(rate, rate[-1])}}
