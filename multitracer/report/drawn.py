"""What the panels draw: plain arrays of a connection and of the link, times in seconds from the start.

Every value is the table's own. Only when a set has more points than a browser draws at ease it is
thinned, and the page says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from multitracer.export.series import View, series
from multitracer.tables import ACK, MARKS, RST, SYN

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.analysis import Analysis

Source: TypeAlias = dict[str, Any]

MOST_POINTS = 300_000
"""Of one kind; a set with more is thinned to this."""
_RATE_BINS = 400
CLASSES = ("no", "yes", "unknown")
"""Needed, needless, and undecided retransmissions: the codes of tables.SPURIOUS."""


@dataclass
class Drawn:
    """Sources by name, and which of them hold only every n-th point."""

    sources: dict[str, Source]
    thinned: dict[str, int] = field(default_factory=dict)


def main_end(analysis: Analysis, connection: int) -> int:
    """Which end of a connection sent more data: 0 the client, 1 the server."""
    sent = [analysis.direction(connection, end)["unique_bytes"] or 0 for end in (0, 1)]
    return int(sent[1] > sent[0])


def by_data(analysis: Analysis) -> list[int]:
    """The connections of which anything was seen, most data first."""
    segments = analysis.tables["segments"]
    known = segments["connection"].to_numpy() >= 0
    total = np.bincount(
        segments["connection"].to_numpy()[known],
        weights=segments["payload_bytes"].to_numpy()[known],
        minlength=len(analysis.connections),
    )
    seen = np.zeros(len(total), dtype=np.bool_)
    seen[segments["connection"].to_numpy()[known]] = True
    order = np.argsort(-total, kind="stable")
    return order[seen[order]].tolist()


def connection(analysis: Analysis, number: int) -> Drawn:
    """All sources of one connection, by the capture beside its data sender."""
    sender = main_end(analysis, number)
    point = int(analysis.paths.seen_at[number, sender])
    segments = analysis.tables["segments"]
    rows = np.flatnonzero(
        (segments["connection"].to_numpy() == number)
        & (segments["point"].to_numpy() == point)
        & (segments["marks"].to_numpy() & MARKS["captured_twice"] == 0)
    )
    own = segments.take(rows)
    drawn = Drawn({})
    seconds = _Seconds(analysis.origin_ns)
    for name, source in (
        _segments(own, sender, seconds)
        | _retransmissions(analysis, number, sender, seconds)
        | _acknowledgements(own, sender, seconds)
        | _sacks(analysis, rows, own, sender, seconds)
        | _state(analysis, number, sender, seconds)
        | _delays(analysis, number, sender, seconds)
        | _goodput(own, sender, seconds)
    ).items():
        drawn.sources[name] = _thinned(drawn, name, source)
    return drawn


def link(analysis: Analysis) -> Drawn:
    """The sources of the link and direction that carried most data; empty without a log."""
    drawn = Drawn({})
    if analysis.links.main is None:
        return drawn
    found = series(analysis.tables, 0, View(0, link=analysis.links.main), analysis.origin_ns)
    names = {
        "data": "frames_new", "data-rexmt": "frames_again", "ack": "frames_acked", "poll-snd": "frames_polls",
        "srej-rcv": "frames_missing", "nack-rcv": "frames_missing",
    }  # fmt: skip
    for name, frame in found.items():
        short = names.get(name.partition("-")[2])
        if short and len(frame):
            value = frame["value"].to_numpy()
            if np.isnan(value).all():
                value = _beside(frame["time_s"].to_numpy(), found, name)
            drawn.sources[short] = _thinned(drawn, short, {"x": frame["time_s"].to_numpy(), "y": value})
    return drawn


def _beside(times: Any, found: dict[str, pd.DataFrame], name: str) -> Any:
    """Where a mark without a number stands: at the number last sent."""
    sent = found[f"{name.partition('-')[0]}-data"]
    place = np.searchsorted(sent["time_s"].to_numpy(), times, side="right") - 1
    return np.where(place >= 0, sent["value"].to_numpy()[np.maximum(place, 0)], np.nan)


@dataclass(frozen=True)
class _Seconds:
    origin_ns: int

    def __call__(self, time_ns: Any) -> Any:
        return (np.asarray(time_ns, dtype=np.int64) - self.origin_ns) / 1e9


def _thinned(drawn: Drawn, name: str, source: Source) -> Source:
    size = len(source["x"])
    step = -(-size // MOST_POINTS)
    if step <= 1:
        return source
    drawn.thinned[name] = step
    return {column: values[::step] for column, values in source.items()}


def _segments(own: pd.DataFrame, sender: int, seconds: _Seconds) -> dict[str, Source]:
    """Data sent the first time, from first byte to last."""
    data = own[(own["sender"] == sender) & (own["payload_bytes"] > 0)]
    new = data[data["marks"] & MARKS["retransmission"] == 0]
    return {"segments": _beams(new, seconds)}


def _beams(rows: pd.DataFrame, seconds: _Seconds) -> Source:
    seq = rows["seq"].to_numpy().astype(np.float64)
    size = rows["payload_bytes"].to_numpy()
    return {"x": seconds(rows["time_ns"]), "y": seq, "top": seq + size, "record": rows["record"].to_numpy()}


def _retransmissions(analysis: Analysis, number: int, sender: int, seconds: _Seconds) -> dict[str, Source]:
    """Data sent again, by whether it was needless."""
    table = analysis.tables["retransmissions"]
    end = analysis.connections[("client", "server")[sender]].iat[number]
    own = table[(table["connection"] == number) & (table["sender"] == end) & (table["payload_bytes"] > 0)]
    found = {}
    for kind in CLASSES:
        rows = own[own["spurious"] == kind]
        source = _beams(rows, seconds)
        source["middle"] = (source["y"] + source["top"]) / 2
        source["trigger"] = rows["trigger"].astype(str).to_numpy(dtype=object)
        source["because"] = rows["because"].to_numpy(dtype=object)
        found[f"again_{kind}"] = source
    return found


def _acknowledgements(own: pd.DataFrame, sender: int, seconds: _Seconds) -> dict[str, Source]:
    """What the peer acknowledged, and up to where it allowed to send."""
    flags = own["flags"].to_numpy()
    acks = own[(own["sender"] != sender) & (own["ack"] >= 0) & (flags & ACK != 0) & (flags & (SYN | RST) == 0)]
    times, ack = seconds(acks["time_ns"]), acks["ack"].to_numpy().astype(np.float64)
    found = {"acks": {"x": times, "y": ack, "record": acks["record"].to_numpy()}}
    known = acks["window_bytes"].to_numpy() >= 0
    if known.any():
        found["window"] = {"x": times[known], "y": (ack + acks["window_bytes"].to_numpy())[known]}
    return found


def _sacks(analysis: Analysis, rows: Any, own: pd.DataFrame, sender: int, seconds: _Seconds) -> dict[str, Source]:
    sack = analysis.tables["sack"]
    mine = sack[np.isin(sack["segment"].to_numpy(), rows[(own["sender"] != sender).to_numpy()])]
    times = analysis.tables["segments"]["time_ns"].to_numpy()[mine["segment"].to_numpy()]
    left, right = (mine[name].to_numpy().astype(np.float64) for name in ("left", "right"))
    return {"sacks": {"x": seconds(times), "y": left, "top": right}}


def _state(analysis: Analysis, number: int, sender: int, seconds: _Seconds) -> dict[str, Source]:
    """The sender's windows and timer as its host logged them, and what was outstanding by the capture."""
    state = analysis.tables["tcp_state"]
    own = state[(state["connection"] == number) & (state["sender"] == sender)].sort_values("time_ns", kind="stable")
    mss = analysis.direction(number, sender)["max_segment_bytes"] or 0
    found: dict[str, Source] = {}
    for name in ("cwnd", "ssthresh"):
        value = own[f"{name}_bytes"].fillna(own[f"{name}_segments"] * mss).to_numpy()
        known = np.isfinite(value)
        if known.any():
            found[name] = {"x": seconds(own["time_ns"])[known], "y": value[known]}
    for name in ("srtt", "rto"):
        value = own[f"{name}_s"].to_numpy() * 1e3
        known = np.isfinite(value) & (value > 0)
        if known.any():
            found[name] = {"x": seconds(own["time_ns"])[known], "y": value[known]}
    return found | _outstanding(analysis, number, sender, seconds)


def _outstanding(analysis: Analysis, number: int, sender: int, seconds: _Seconds) -> dict[str, Source]:
    point = int(analysis.paths.seen_at[number, sender])
    segments = analysis.tables["segments"]
    own = segments[(segments["connection"] == number) & (segments["point"] == point)]
    mine = (own["sender"] == sender).to_numpy()
    top = np.maximum.accumulate(np.where(mine, own["seq"].to_numpy() + own["payload_bytes"].to_numpy(), 0))
    acked = np.maximum.accumulate(np.where(~mine, own["ack"].to_numpy(), 0))
    value = np.maximum(top - np.maximum(acked, 1), 0).astype(np.float64)
    return {"outstanding": {"x": seconds(own["time_ns"]), "y": value}} if len(own) else {}


def _delays(analysis: Analysis, number: int, sender: int, seconds: _Seconds) -> dict[str, Source]:
    """Round trips of segments sent once, and how long each waited for its first frame."""
    found: dict[str, Source] = {}
    direction = analysis.scene.direction(number, sender)
    if direction is not None and direction.sender_point >= 0:
        sent, rtt = analysis.scene.round_trips(direction)
        if len(sent):
            found["rtt"] = {"x": seconds(sent), "y": rtt / 1e6}
    table = analysis.tables["segment_frames"]
    end = analysis.connections[("client", "server")[sender]].iat[number]
    own = table[(table["connection"] == number) & (table["sender"] == end) & (table["queue_ns"] >= 0)]
    if len(own):
        found["queue"] = {"x": seconds(own["sent_ns"]), "y": own["queue_ns"].to_numpy() / 1e6}
    return found


def _goodput(own: pd.DataFrame, sender: int, seconds: _Seconds) -> dict[str, Source]:
    """Newly acknowledged bytes over equal stretches of time, in kbit/s."""
    acks = own[(own["sender"] != sender) & (own["ack"] >= 0)]
    if len(acks) < 2:
        return {}
    times, ack = seconds(acks["time_ns"]), np.maximum.accumulate(np.maximum(acks["ack"].to_numpy(), 1))
    span = times[-1] - times[0]
    if span <= 0:
        return {}
    edges = np.linspace(times[0], times[-1], min(_RATE_BINS, max(2, len(acks) // 2)) + 1)
    reached = ack[np.maximum(np.searchsorted(times, edges, side="right") - 1, 0)]
    rate = np.diff(reached) * 8 / np.diff(edges) / 1e3
    return {"goodput": {"x": edges, "y": np.append(rate, rate[-1])}}
