"""The data that the panels draw of what one end of a connection sent, times in ns from the trace's start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.model.schema import ACK, MARKS, RST, SYN
from multitracer.report.fate_columns import Fates
from multitracer.report.panel_data import PanelData, Source, differ, steps, thinned
from multitracer.tcp.rtt import segment_round_trips

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.model.analysis import Analysis

SHAPES = {
    "timeout": "triangle", "fast": "inverted_triangle", "recovery": "diamond", "probe": "square", "unknown": "hex",
}  # fmt: skip
"""A retransmission's mark, by what triggered it."""
_RATE_BINS = 400
CLASSES = ("no", "yes", "unknown")
"""Needed, needless, and undecided retransmissions: the codes of schema.SPURIOUS."""


def connection(analysis: Analysis, number: int, sender: int | None = None, fates: Fates | None = None) -> PanelData:
    """All sources of what one end of a connection sent, as captured nearest to it; by default of the data's sender.

    Nothing of the other end where that sent no data: its acknowledgements are the data sender's. What became of all
    segments, `fates`, is the same for every end.
    """
    main = int(analysis.ends.main[number])
    sender = main if sender is None else sender
    if sender != main and not analysis.ends.counts("data_bytes")[number, sender]:
        return PanelData({})
    point = int(analysis.paths.seen_at[number, sender])
    segments = analysis.tables["segments"]
    rows = np.flatnonzero(
        (segments["connection"].to_numpy() == number)
        & (segments["point"].to_numpy() == point)
        & (segments["marks"].to_numpy() & MARKS["captured_twice"] == 0)
    )
    own = segments.take(rows)
    elapsed, what_became = _Elapsed(analysis.origin_ns), fates or Fates(analysis)
    sent = _segments(own, sender, elapsed) | _retransmissions(analysis, number, sender, elapsed)
    return thinned(
        {name: source | what_became.of(source["row"]) for name, source in sent.items()}
        | _acknowledgements(own, sender, elapsed)
        | _sacks(analysis, rows, own, sender, elapsed)
        | _state(analysis, number, sender, elapsed)
        | _delays(analysis, number, own, sender, elapsed)
        | _goodput(own, sender, elapsed)
    )


@dataclass(frozen=True)
class _Elapsed:
    """Times as ns from the trace's start."""

    origin_ns: int

    def __call__(self, time_ns: Any) -> Any:
        return np.asarray(time_ns, dtype=np.int64) - self.origin_ns


def _segments(own: pd.DataFrame, sender: int, elapsed: _Elapsed) -> dict[str, Source]:
    """Data sent the first time, from first byte to last."""
    data = own[(own["sender"] == sender) & (own["payload_bytes"] > 0)]
    new = data[data["marks"] & MARKS["retransmission"] == 0]
    return {"segments": _beams(new, elapsed, new.index)}


def _beams(rows: pd.DataFrame, elapsed: _Elapsed, row: Any) -> Source:
    """Bars from first byte to last; `row` is each one's row in the table of segments."""
    seq, size = rows["seq"].to_numpy(), rows["payload_bytes"].to_numpy()
    return {"x": elapsed(rows["time_ns"]), "y": seq, "top": seq + size, "record": rows["record"].to_numpy(),
            "row": np.asarray(row, dtype=np.int64)}  # fmt: skip


def _retransmissions(analysis: Analysis, number: int, sender: int, elapsed: _Elapsed) -> dict[str, Source]:
    """Data sent again, by whether it was needless."""
    table = analysis.tables["retransmissions"]
    end = analysis.connections[("client", "server")[sender]].iat[number]
    own = table[(table["connection"] == number) & (table["sender"] == end) & (table["payload_bytes"] > 0)]
    found = {}
    for kind in CLASSES:
        rows = own[own["spurious"] == kind]
        source = _beams(rows, elapsed, rows["segment"])
        source["middle"] = (source["y"] + source["top"]) / 2
        source["trigger"] = rows["trigger"].astype(str).to_numpy(dtype=object)
        source["shape"] = np.array([SHAPES[trigger] for trigger in source["trigger"]], dtype=object)
        source["because"] = rows["because"].to_numpy(dtype=object)
        found[f"again_{kind}"] = source
    return found


def _acknowledgements(own: pd.DataFrame, sender: int, elapsed: _Elapsed) -> dict[str, Source]:
    """What the peer acknowledged, and up to where it allowed to send.

    An acknowledgement that data carries, and that repeats the one before it, says nothing (RFC 5681, 2).
    """
    flags = own["flags"].to_numpy()
    acks = own[(own["sender"] != sender) & (own["ack"] >= 0) & (flags & ACK != 0) & (flags & (SYN | RST) == 0)]
    acks = acks[(acks["payload_bytes"].to_numpy() == 0) | differ(acks["ack"]) | differ(acks["window_bytes"])]
    times, ack = elapsed(acks["time_ns"]), acks["ack"].to_numpy()
    found = {"acks": {"x": times, "y": ack, "record": acks["record"].to_numpy()}}
    known = acks["window_bytes"].to_numpy() >= 0
    if known.any():
        found["window"] = {"x": times[known], "y": (ack + acks["window_bytes"].to_numpy())[known]}
    return found


def _sacks(analysis: Analysis, rows: Any, own: pd.DataFrame, sender: int, elapsed: _Elapsed) -> dict[str, Source]:
    sack = analysis.tables["sack"]
    mine = sack[np.isin(sack["segment"].to_numpy(), rows[(own["sender"] != sender).to_numpy()])]
    times = analysis.tables["segments"]["time_ns"].to_numpy()[mine["segment"].to_numpy()]
    left, right = (mine[name].to_numpy() for name in ("left", "right"))
    return {"sacks": {"x": elapsed(times), "y": left, "top": right}}


def _state(analysis: Analysis, number: int, sender: int, elapsed: _Elapsed) -> dict[str, Source]:
    """The sender's windows and timer as its host logged them, and what was outstanding by the capture."""
    state = analysis.tables["tcp_state"]
    own = state[(state["connection"] == number) & (state["sender"] == sender)].sort_values("time_ns", kind="stable")
    mss = int(analysis.ends.counts("max_segment_bytes")[number, sender])
    found: dict[str, Source] = {}
    for name in ("cwnd", "ssthresh"):
        value = own[f"{name}_bytes"].fillna(own[f"{name}_segments"] * mss).to_numpy()
        known = np.isfinite(value)
        if known.any():
            found[name] = {"x": elapsed(own["time_ns"])[known], "y": value[known]}
    for name in ("srtt", "rto"):
        value = own[f"{name}_s"].to_numpy() * 1e3
        known = np.isfinite(value) & (value > 0)
        if known.any():
            found[name] = {"x": elapsed(own["time_ns"])[known], "y": value[known]}
    return found | _outstanding(analysis, number, sender, elapsed)


def _outstanding(analysis: Analysis, number: int, sender: int, elapsed: _Elapsed) -> dict[str, Source]:
    point = int(analysis.paths.seen_at[number, sender])
    segments = analysis.tables["segments"]
    own = segments[(segments["connection"] == number) & (segments["point"] == point)]
    mine = (own["sender"] == sender).to_numpy()
    top = np.maximum.accumulate(np.where(mine, own["seq"].to_numpy() + own["payload_bytes"].to_numpy(), 0))
    acked = np.maximum.accumulate(np.where(~mine, own["ack"].to_numpy(), 0))
    value = np.maximum(top - np.maximum(acked, 1), 0)
    return {"outstanding": steps({"x": elapsed(own["time_ns"]), "y": value})} if len(own) else {}


def _delays(analysis: Analysis, number: int, seen: pd.DataFrame, sender: int, elapsed: _Elapsed) -> dict[str, Source]:
    """Round trips of segments sent once, and how long what had data waited for its first frame."""
    found: dict[str, Source] = {}
    if analysis.paths.sender_point[number, sender] >= 0:
        time_ns, seq, payload, ack = (seen[name].to_numpy() for name in ("time_ns", "seq", "payload_bytes", "ack"))
        sent, rtt = segment_round_trips(time_ns, seen["sender"].to_numpy() == sender, seq, payload, ack)
        if len(sent):
            found["rtt"] = {"x": elapsed(sent), "y": rtt}
    table = analysis.tables["segment_frames"]
    end = analysis.connections[("client", "server")[sender]].iat[number]
    own = table[(table["connection"] == number) & (table["sender"] == end) & (table["payload_bytes"] > 0)]
    own = own[own["queue_ns"] >= 0]
    if len(own):
        found["queue"] = {"x": elapsed(own["sent_ns"]), "y": own["queue_ns"].to_numpy()}
    return found


def _goodput(own: pd.DataFrame, sender: int, elapsed: _Elapsed) -> dict[str, Source]:
    """Newly acknowledged bytes over equal stretches of time, in kbit/s."""
    acks = own[(own["sender"] != sender) & (own["ack"] >= 0)]
    if len(acks) < 2:
        return {}
    times, ack = elapsed(acks["time_ns"]), np.maximum.accumulate(np.maximum(acks["ack"].to_numpy(), 1))
    span = times[-1] - times[0]
    if span <= 0:
        return {}
    edges = np.linspace(times[0], times[-1], min(_RATE_BINS, max(2, len(acks) // 2)) + 1).astype(np.int64)
    edges = np.unique(edges)
    reached = ack[np.maximum(np.searchsorted(times, edges, side="right") - 1, 0)]
    rate = np.diff(reached) * 8e6 / np.diff(edges)
    return {"goodput": {"x": edges, "y": np.append(rate, rate[-1])}}
