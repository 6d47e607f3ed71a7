"""The accounting: every instant of a session, seen at the link's data sender, and its one cause.

How the definition was read. The session is that of the connections that the link carried: from
their first packet to the last acknowledgement of new data, at the sender's capture; by the link's
log alone, from its first frame to its last. A reset covers all else. The peer's stop covers all but
frames with user data; a full window of the link's counts as one while user data waits. A frame
without user data counts as control while a packet that was offered was not yet wholly sent, else
the link is idle. Headers of a packet are new even when its bytes are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.accounting import air_time as on_air
from multitracer.accounting.idle_causes import congestion_window, idle_causes, recoveries, sending
from multitracer.accounting.intervals import Canvas, Ints, covers, union
from multitracer.correlation.headers import header
from multitracer.link.events import FLOW_CONTROL, RESET
from multitracer.link.timing import Timing
from multitracer.model.paths import NOWHERE, Paths
from multitracer.model.schema import CAUSES, MARKS, build
from multitracer.vantage.paths import host

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.correlation.segment_frames import LinkMatch
    from multitracer.tcp.connection_rows import Groups

CODES = {name: code for code, name in enumerate(CAUSES)}
_PLACE = ("connection", "sender", "seq", "payload_bytes")
IDLE = ("idle_window_limited", "idle_sender", "idle_recovery")
_MOST_STREAMS = 100
"""Of so many streams, those of most data, each idle instant's cause is looked for."""
_IDLE_UNKNOWN = len(CAUSES)
"""An idle instant of unknown cause: told as unknown, counted as idle."""


@dataclass(frozen=True)
class Accounting:
    """`table` as in the schema; shares and utilization as in the summary."""

    table: pd.DataFrame
    shares: dict[str, float]
    utilization: dict[str, Any]
    link: int
    intervals: tuple[Ints, Ints, Ints]

    def within(self, begin: int, end: int) -> Accounting:
        """The same of a part of the session."""
        start, stop = np.clip(self.intervals[0], begin, end), np.clip(self.intervals[1], begin, end)
        keep = stop > start
        stops_known = self.utilization["flow_controlled_s"] is not None
        return _concluded(self.link, start[keep], stop[keep], self.intervals[2][keep], stops_known=stops_known)


@dataclass(frozen=True)
class Transfer:
    """What the captures tell of the TCP that a link carried."""

    segments: pd.DataFrame
    connections: pd.DataFrame
    retransmissions: pd.DataFrame
    tcp_state: pd.DataFrame
    paths: Paths
    groups: Groups


def account(
    link: int,
    reverse: int,
    frames: pd.DataFrame,
    intervals: pd.DataFrame,
    window_full: tuple[Ints, Ints] | None,
    timing: Timing,
    match: LinkMatch | None,
    segment_frames: pd.DataFrame | None,
    transfer: Transfer | None,
) -> Accounting | None:
    """Account for one link direction.

    None when its sender logged nothing, its timing is unknown, or no packet could be put together.
    Where nobody knows when the link's window was full (None), its idleness while data waited has no
    known cause.
    """
    air = on_air.frames_on_air(frames, link, timing)
    if not len(air.rows) or timing.frame_ns is None or match is None or not match.packets:
        return None
    on_air.note_packets(air, match.packets, _carried_before(match, transfer))
    streams = _streams(segment_frames, link, transfer)
    start, end = _session(air, streams, transfer)
    canvas = Canvas(start, end, _IDLE_UNKNOWN)
    for layer in _idleness(streams, transfer):
        canvas.paint(*layer)
    resets = _of(intervals, (link, reverse), RESET)
    waiting = _waiting(match, segment_frames, link, air, resets[0])
    if window_full is None:
        canvas.paint(*waiting, _IDLE_UNKNOWN)
    supervisory = ~air.data & covers(*waiting, air.start_ns)
    canvas.paint(air.start_ns[supervisory], air.end_ns[supervisory], CODES["link_control"])
    canvas.paint(*union(*_of(intervals, (link,), FLOW_CONTROL)), CODES["flow_controlled"])
    if window_full is not None:
        canvas.paint(*_both(union(*window_full), waiting), CODES["flow_controlled"])
    canvas.paint(*on_air.pieces(air, CODES))
    canvas.paint(*union(*resets), CODES["link_reset"])
    return _concluded(link, *canvas.intervals(), stops_known=window_full is not None)


def account_by_rate(rate_bps: float, transfer: Transfer) -> Accounting | None:
    """The accounting without a link log: captured packets go out one after the other at the stated rate.

    They are all that the host sent which sent most data, where a capture stands beside it; None where
    none does.
    """
    largest = _largest(transfer)
    point = transfer.paths.sender_point[largest] if largest is not None else NOWHERE
    if largest is None or point == NOWHERE:
        return None
    ends = _ends_of_host(transfer, *largest, int(point))
    segments = transfer.segments
    connection, sender = (segments[name].to_numpy() for name in ("connection", "sender"))
    here = (segments["point"].to_numpy() == point) & (connection >= 0)
    here &= segments["marks"].to_numpy() & MARKS["captured_twice"] == 0
    here[here] = ends[connection[here], sender[here]]
    mine = segments.take(np.flatnonzero(here))
    streams = _by_data(mine)
    sent, size = mine["time_ns"].to_numpy(), mine["wire_bytes"].to_numpy().astype(np.int64)
    lasts = np.rint(size * 8e9 / rate_bps).astype(np.int64)
    # A queue that sends in order: each begins when it came, or when all before it are out.
    out = np.cumsum(lasts)
    begin = np.maximum.accumulate(sent - (out - lasts)) + (out - lasts)
    known = on_air.Sent()
    spans = zip(*(mine[name].tolist() for name in _PLACE), strict=True)
    before = np.array([known.put((a, b), seq, length, wraps=False) for a, b, seq, length in spans], dtype=np.int64)
    nothing = np.zeros(len(mine), dtype=np.int64)
    everything = np.ones(len(mine), dtype=np.bool_)
    air = on_air.Air(nothing, begin, begin + lasts, everything, ~everything, np.maximum(size, 1), size, before, nothing)
    start, end = _session(air, streams, transfer)
    canvas = Canvas(start, end, _IDLE_UNKNOWN)
    for layer in _idleness(streams, transfer):
        canvas.paint(*layer)
    canvas.paint(*on_air.pieces(air, CODES))
    return _concluded(-1, *canvas.intervals(), stops_known=False)


def _concluded(link: int, start: Ints, end: Ints, cause: Ints, *, stops_known: bool) -> Accounting:
    shown = np.where(cause == _IDLE_UNKNOWN, CODES["unknown"], cause)
    table = build(
        "accounting",
        {
            "link": np.full(len(start), link, dtype=np.int16),
            "start_ns": start,
            "end_ns": end,
            "cause": [CAUSES[code] for code in shown.tolist()],
        },
    )
    total = int((end - start).sum())
    spent = np.bincount(cause, weights=end - start, minlength=len(CAUSES) + 1)
    by_name = np.bincount(shown, weights=end - start, minlength=len(CAUSES))
    shares = {name: float(by_name[code] / total) if total else 0.0 for name, code in CODES.items()}
    idle = sum(spent[CODES[name]] for name in IDLE) + spent[_IDLE_UNKNOWN]
    again = spent[CODES["tcp_retransmitted"]]
    utilization = {
        "percent": float(100 * (1 - (idle + again) / total)) if total else None,
        "session_s": total / 1e9,
        "link_idle_s": float(idle / 1e9),
        "tcp_retransmitted_s": float(again / 1e9),
        "flow_controlled_s": float(spent[CODES["flow_controlled"]] / 1e9) if stops_known else None,
    }
    return Accounting(table, shares, utilization, link, (start, end, cause))


def _carried_before(match: LinkMatch, transfer: Transfer | None) -> list[int | None]:
    """Per packet, how many of its bytes an earlier packet on this link had carried; None unknown."""
    sent = on_air.Sent()
    found: list[int | None] = []
    for packet, row in zip(match.packets, match.segments.tolist(), strict=True):
        head = None if packet.garbled else header(packet.octets)
        if head is not None and head.numbered:
            found.append(sent.put(head[:4], head.raw_seq, head.payload_bytes if packet.complete else 0, wraps=True))
        elif row >= 0 and transfer is not None:
            connection, sender, seq, size = (int(transfer.segments[name].iat[row]) for name in _PLACE)
            found.append(sent.put((connection, sender), seq, size if packet.complete else 0, wraps=False))
        else:
            found.append(0 if packet.octets and not packet.complete else None)
    return found


def _streams(table: pd.DataFrame | None, link: int, transfer: Transfer | None) -> list[tuple[int, int]]:
    """(Connection, sender) of what the link carried, most data first."""
    if table is None or transfer is None or not len(table):
        return []
    own = table[(table["link"] == link) & (table["payload_bytes"] > 0)]
    ends = {}
    for (connection, sender), size in own.groupby(["connection", "sender"])["payload_bytes"].sum().items():
        client = transfer.connections["client"].iat[connection]
        ends[int(connection), int(sender != client)] = int(size)
    return sorted(ends, key=lambda end: -ends[end])


def _largest(transfer: Transfer) -> tuple[int, int] | None:
    """(Connection, sender) that sent most data."""
    segments = transfer.segments
    return next(iter(_by_data(segments[(segments["connection"] >= 0).to_numpy()])), None)


def _by_data(segments: pd.DataFrame) -> list[tuple[int, int]]:
    """(Connection, sender) of all that sent data, most first."""
    sums = segments.groupby(["connection", "sender"])["payload_bytes"].sum()
    sums = sums[sums > 0].sort_values(ascending=False, kind="stable")
    return [(int(connection), int(sender)) for connection, sender in sums.index]


def _ends_of_host(transfer: Transfer, connection: int, sender: int, point: int) -> Any:
    """Which ends, shape (connections, 2), are on the host of this one and were seen leaving it at the point."""
    columns = [transfer.connections[name] for name in ("client", "server")]
    names = np.stack([np.array([host(end) for end in column], dtype=object) for column in columns], axis=1)
    return (names == names[connection, sender]) & (transfer.paths.sender_point == point)


def _beside(transfer: Transfer, connection: int, sender: int) -> Any:
    """Rows of a connection's segments at the point beside one of its ends; empty where none is."""
    return transfer.groups.rows(connection, int(transfer.paths.sender_point[connection, sender]))


def _session(air: on_air.Air, streams: Sequence[tuple[int, int]], transfer: Transfer | None) -> tuple[int, int]:
    """From the transfer's first packet to the last acknowledgement of data; else the log's extent."""
    spans = []
    for connection, sender in streams:
        if transfer is None:
            break
        rows = _beside(transfer, connection, sender)
        sent = sending(transfer.segments, rows, sender) if len(rows) else None
        if sent is not None:
            spans.append((sent.first_ns, sent.last_acked_ns))
    if spans:
        return min(start for start, _ in spans), max(end for _, end in spans)
    return int(air.start_ns.min()), int(air.end_ns.max())


def _idleness(streams: Sequence[tuple[int, int]], transfer: Transfer | None) -> list[tuple[Ints, Ints, Ints]]:
    """What idle time would be due to: of the streams that are under way, by that of most data."""
    if transfer is None:
        return []
    layers = [_idleness_of(stream, transfer) for stream in streams[:_MOST_STREAMS]]
    return [layer for stream in reversed(layers) for layer in stream]


def _idleness_of(stream: tuple[int, int], transfer: Transfer) -> list[tuple[Ints, Ints, Ints]]:
    """What idle time would be due to while this stream is under way."""
    connection, sender = stream
    rows = _beside(transfer, connection, sender)
    sent = sending(transfer.segments, rows, sender) if len(rows) else None
    if sent is None:
        return []
    state = transfer.tcp_state
    state = state[(state["connection"] == connection) & (state["sender"] == sender)]
    cwnd = congestion_window(state, sent.time_ns, sent.mss_bytes) if len(state) else None
    resent = transfer.retransmissions
    name = transfer.connections[("client", "server")[sender]].iat[connection]
    resent = resent[(resent["connection"] == connection) & (resent["sender"] == name)]
    waits = recoveries(sent, transfer.segments, rows, sender, resent)
    layers = idle_causes(sent, cwnd, waits, {**CODES, "unknown": _IDLE_UNKNOWN})
    return [_clipped(layer, sent.first_ns, sent.last_acked_ns) for layer in layers]


def _clipped(layer: tuple[Ints, Ints, Ints], begin: int, end: int) -> tuple[Ints, Ints, Ints]:
    """What of a layer lies between begin and end."""
    start, stop = np.clip(layer[0], begin, end), np.clip(layer[1], begin, end)
    keep = stop > start
    return start[keep], stop[keep], layer[2][keep]


def _waiting(
    match: LinkMatch | None, table: pd.DataFrame | None, link: int, air: on_air.Air, resets: Ints
) -> tuple[Ints, Ints]:
    """When user data waited: from a packet's being offered to its last first transmission."""
    if match is None or not match.packets:
        return union(air.start_ns[air.data], air.end_ns[air.data])
    place_of = {row: place for place, row in enumerate(air.rows.tolist())}
    offered: dict[int, int] = {}
    if table is not None:
        own = table[(table["link"] == link) & (table["sent_ns"] >= 0) & (table["segment"] >= 0)]
        offered = dict(zip(own["segment"].tolist(), own["sent_ns"].tolist(), strict=True))
    start, end = [], []
    for packet, row in zip(match.packets, match.segments.tolist(), strict=True):
        first, last = (place_of.get(int(packet.first_transmissions[at]), -1) for at in (0, -1))
        if first < 0 or last < 0:
            continue
        start.append(min(offered.get(row, int(air.start_ns[first])), int(air.start_ns[first])))
        flushed = resets[resets >= air.end_ns[last]]
        cut = not packet.complete and len(flushed)
        end.append(int(flushed[0]) if cut else int(air.end_ns[last]))
    return union(start, end)


def _of(intervals: pd.DataFrame, links: Sequence[int], kind: str) -> tuple[Ints, Ints]:
    """Start and end of the intervals of a kind on any of the links."""
    mine = intervals[(intervals["kind"] == kind) & intervals["link"].isin(links)]
    return mine["start_ns"].to_numpy(), mine["end_ns"].to_numpy()


def _both(one: tuple[Ints, Ints], other: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    """The time that is in both."""
    start, end = [], []
    for begin, stop in zip(*(part.tolist() for part in one), strict=True):
        low = np.maximum(other[0], begin)
        high = np.minimum(other[1], stop)
        keep = high > low
        start.append(low[keep])
        end.append(high[keep])
    return (np.concatenate(start), np.concatenate(end)) if start else (one[0], one[1])
