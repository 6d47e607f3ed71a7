"""The data that the panels draw: plain arrays of a connection and of the link, times in ns from the trace's start.

Every value is the table's own. Only a series of more records than a browser can hold is thinned, and the
page says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from multitracer.export.series import View, series
from multitracer.model.schema import ACK, FATES, MARKS, RST, SYN
from multitracer.tcp.rtt import segment_round_trips

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.model.analysis import Analysis

Source: TypeAlias = dict[str, Any]

MOST_RECORDS = 30_000_000
"""Of a connection, or of the link; with more its series are thinned to this, and other connections left out."""
KINDS = {
    **dict.fromkeys(("window", "acks", "cwnd", "ssthresh", "srtt", "rto", "outstanding", "goodput", "frames_acked"),
                    "line"),
    **dict.fromkeys(("segments", "sacks"), "beam"),
    **dict.fromkeys(("rtt", "queue", "frames_new"), "cloud"),
    **dict.fromkeys(("again_no", "again_yes", "again_unknown", "frames_again", "frames_missing", "frames_polls"),
                    "event"),
    "carried": "map",
}  # fmt: skip
"""How each series is drawn: a staircase, bars from first byte to last, many points, or rare events. A map is not."""
DIVIDE = {"x": 10**9}
"""Columns by what they are divided by to be drawn: times are drawn in seconds."""
SHAPES = {
    "timeout": "triangle", "fast": "inverted_triangle", "recovery": "diamond", "probe": "square", "unknown": "hex",
}  # fmt: skip
"""A retransmission's mark, by what triggered it."""
MILLISECONDS = ("rtt", "queue")
"""Series whose values are kept in ns, and drawn in ms."""
_RATE_BINS = 400
_UNKNOWN = FATES.index("unknown")
_NEVER_ARRIVED = [FATES.index(name) for name in ("dropped", "flushed", "lost")]
FATE_COLUMNS = ("fate", "arrived")
"""Of data that was sent: its fate, its place among schema.FATES, and when it arrived, in ns; -1 unknown."""
CLASSES = ("no", "yes", "unknown")
"""Needed, needless, and undecided retransmissions: the codes of schema.SPURIOUS."""


@dataclass
class PanelData:
    """Sources by name, which hold every `step`-th record."""

    sources: dict[str, Source]
    step: int = 1

    @property
    def records(self) -> int:
        """The number of records in all sources."""
        return sum(len(source["x"]) for source in self.sources.values())


def divisor(name: str, column: str) -> int:
    """What a column of a series is divided by to be drawn."""
    return 10**6 if column == "y" and name in MILLISECONDS else DIVIDE.get(column, 1)


def largest_first(analysis: Analysis) -> list[int]:
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


def extent(analysis: Analysis) -> tuple[float, float]:
    """The first and the last time of what is drawn, in seconds from the trace's start."""
    names = ["segments", "frames"]
    if len(analysis.tables["segments"]):
        names.append("tcp_state")  # without a capture its clock cannot be tied to the link's
    times = [analysis.tables[name]["time_ns"] for name in names if len(analysis.tables[name])]
    first = min((int(column.min()) for column in times), default=analysis.origin_ns)
    last = max((int(column.max()) for column in times), default=analysis.origin_ns + 1)
    start = (first - analysis.origin_ns) / 1e9
    return start, max((last - analysis.origin_ns) / 1e9, start + 1e-3)


def connection(analysis: Analysis, number: int) -> PanelData:
    """All sources of one connection, as captured nearest to the sender of its data."""
    sender = int(analysis.ends.main[number])
    point = int(analysis.paths.seen_at[number, sender])
    segments = analysis.tables["segments"]
    rows = np.flatnonzero(
        (segments["connection"].to_numpy() == number)
        & (segments["point"].to_numpy() == point)
        & (segments["marks"].to_numpy() & MARKS["captured_twice"] == 0)
    )
    own = segments.take(rows)
    elapsed, what_became = _Elapsed(analysis.origin_ns), _Fates(analysis)
    sent = _segments(own, sender, elapsed) | _retransmissions(analysis, number, sender, elapsed)
    return _thinned(
        {name: source | what_became.of(source["row"]) for name, source in sent.items()}
        | _acknowledgements(own, sender, elapsed)
        | _sacks(analysis, rows, own, sender, elapsed)
        | _state(analysis, number, sender, elapsed)
        | _delays(analysis, number, own, sender, elapsed)
        | _goodput(own, sender, elapsed)
    )


def link(analysis: Analysis) -> PanelData:
    """The sources of the link and direction that carried most data; empty without a log."""
    if analysis.links.main is None:
        return PanelData({})
    sources: dict[str, Source] = {}
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
                value = _number_sent_before(frame["time_s"].to_numpy(), found, name)
            # The times were whole nanoseconds before they became seconds: rounding gives exactly those again.
            sources[short] = {"x": np.rint(frame["time_s"].to_numpy() * 1e9).astype(np.int64), "y": value}
    return _thinned(sources | _carried(analysis))


def _carried(analysis: Analysis) -> dict[str, Source]:
    """Which frames had octets of which segment (its row): one record for each pair, in order of time."""
    frames, pairs = analysis.tables["frames"], analysis.links.segments
    if pairs is None:
        return {}
    rows = pairs.frame
    number = frames["sn_unwrapped"].to_numpy()[rows]
    return {
        "carried": {
            "x": frames["time_ns"].to_numpy()[rows] - analysis.origin_ns,
            "y": number,
            "row": pairs.segment,
            "again": (frames["transmission"].to_numpy()[rows] > 0).astype(np.int64),
        }
    }


def _number_sent_before(times: Any, found: dict[str, pd.DataFrame], name: str) -> Any:
    """The frame number at which a mark without one is drawn: the number last sent."""
    sent = found.get(f"{name.partition('-')[0]}-data")
    if sent is None or not len(sent):
        return np.full(len(times), np.nan)
    place = np.searchsorted(sent["time_s"].to_numpy(), times, side="right") - 1
    return np.where(place >= 0, sent["value"].to_numpy()[np.maximum(place, 0)], np.nan)


@dataclass(frozen=True)
class _Elapsed:
    """Times as ns from the trace's start."""

    origin_ns: int

    def __call__(self, time_ns: Any) -> Any:
        return np.asarray(time_ns, dtype=np.int64) - self.origin_ns


def _thinned(sources: dict[str, Source]) -> PanelData:
    """The series in order of time; with too many records every n-th of each."""
    step = max(1, -(-sum(len(source["x"]) for source in sources.values()) // MOST_RECORDS))
    if step > 1:
        # Which frames carried a segment cannot be told from every n-th of them.
        sources.pop("carried", None)
    return PanelData({name: _in_order(source, step) for name, source in sources.items()}, step)


def _in_order(source: Source, step: int) -> Source:
    times = source["x"]
    if len(times) > 1 and (times[1:] < times[:-1]).any():
        order = np.argsort(times, kind="stable")
        source = {column: values[order] for column, values in source.items()}
    return {column: values[::step] for column, values in source.items()} if step > 1 else source


class _Fates:
    """What became of segments, by their rows in the table."""

    def __init__(self, analysis: Analysis) -> None:
        segments, carried = analysis.tables["segments"], analysis.tables["segment_frames"]
        self.time_ns = segments["time_ns"].to_numpy()
        asked = "fate" in segments
        self.codes = segments["fate"].array.codes if asked else np.full(len(segments), _UNKNOWN)
        self.paths, self.origin_ns = analysis.paths, analysis.origin_ns
        sure = (carried["matched_by"] == "payload") & (carried["segment"] >= 0) & (carried["delivered_ns"] >= 0)
        delivered = carried[sure.to_numpy()].sort_values("segment", kind="stable")
        self.carried, self.delivered_ns = (delivered[name].to_numpy() for name in ("segment", "delivered_ns"))

    def of(self, rows: Any) -> Source:
        """The columns of rows; a row of -1 is unknown."""
        known = rows >= 0
        at = np.maximum(rows, 0)
        fate = np.where(known, self.codes[at], _UNKNOWN).astype(np.int64)
        arrived = self._arrived(at, by_link=fate != _UNKNOWN)
        return {"fate": fate, "arrived": np.where(known & ~np.isin(fate, _NEVER_ARRIVED), arrived, -1)}

    def _arrived(self, rows: Any, by_link: Any) -> Any:
        """When they came to the receiver's capture; those `by_link`, where none tells, when the link delivered them."""
        found = np.full(len(rows), -1, dtype=np.int64)
        if len(self.carried):
            place = np.minimum(np.searchsorted(self.carried, rows), len(self.carried) - 1)
            told = by_link & (self.carried[place] == rows)
            found[told] = self.delivered_ns[place[told]] - self.origin_ns
        came = self.paths.arrival[rows]
        captured = (came >= 0) & (self.paths.arrived[rows] != 0)
        found[captured] = self.time_ns[came[captured]] - self.origin_ns
        return found


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
    """What the peer acknowledged, and up to where it allowed to send."""
    flags = own["flags"].to_numpy()
    acks = own[(own["sender"] != sender) & (own["ack"] >= 0) & (flags & ACK != 0) & (flags & (SYN | RST) == 0)]
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
    return {"outstanding": {"x": elapsed(own["time_ns"]), "y": value}} if len(own) else {}


def _delays(
    analysis: Analysis, number: int, seen: pd.DataFrame, sender: int, elapsed: _Elapsed
) -> dict[str, Source]:
    """Round trips of segments sent once, and how long each waited for its first frame."""
    found: dict[str, Source] = {}
    if analysis.paths.sender_point[number, sender] >= 0:
        time_ns, seq, payload, ack = (seen[name].to_numpy() for name in ("time_ns", "seq", "payload_bytes", "ack"))
        sent, rtt = segment_round_trips(time_ns, seen["sender"].to_numpy() == sender, seq, payload, ack)
        if len(sent):
            found["rtt"] = {"x": elapsed(sent), "y": rtt}
    table = analysis.tables["segment_frames"]
    end = analysis.connections[("client", "server")[sender]].iat[number]
    own = table[(table["connection"] == number) & (table["sender"] == end) & (table["queue_ns"] >= 0)]
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
