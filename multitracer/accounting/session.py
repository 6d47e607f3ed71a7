"""The accounting: one cause for every instant of a session, as seen at the link's data sender.

The session lasts from the first packet of the connections that the link carried to the last acknowledgement
of new data, in the sender's capture; without one, from the first frame of the link's log to the last.
A link reset overrides every other cause. Flow control by the peer overrides all but frames with user data;
a full transmit window of the link counts as flow control while user data waits. A frame without user
data counts as link control while an offered packet is not sent completely, else the link is idle.
Headers of a packet count as new data even if its bytes were carried before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.accounting.air_time import SentBytes, enter_packets, frame_parts
from multitracer.accounting.idle_causes import Carried, congestion_window, idle_causes, recoveries, sending
from multitracer.accounting.intervals import Ints, Timeline, covers, union
from multitracer.accounting.lost_answers import answers_lost
from multitracer.accounting.waiting import Occupied, data_waiting
from multitracer.correlation.headers import Header, header
from multitracer.link.air_time import FramesOnAir, frames_on_air
from multitracer.link.events import FLOW_CONTROL, RESET
from multitracer.link.timing import Timing
from multitracer.link.window import SHORT_FRAMES
from multitracer.model.paths import Paths
from multitracer.model.schema import CAUSES, build

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.correlation.segment_frames import LinkMatch
    from multitracer.link.packets import CarriedPacket
    from multitracer.tcp.connection_rows import Groups

CODES = {name: code for code, name in enumerate(CAUSES)}
_EARLIEST, _LATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
_PLACE = ("connection", "sender", "seq", "payload_bytes")
IDLE = ("idle_window_limited", "idle_sender", "idle_recovery")
MOST_STREAMS = 100
"""The causes of idle time are looked for in this many streams, those with most data."""
IDLE_UNKNOWN = len(CAUSES)
"""Code of idle time with unknown cause: `unknown` in the table and the shares, idle in the utilization."""


@dataclass(frozen=True)
class Accounting:
    """The accounting of one link direction: `table` as in the schema, shares and utilization as in summary.json.

    `intervals` are (start, end, cause code), arrays in ns; `link` is -1 for the accounting by the path's rate.
    """

    table: pd.DataFrame
    shares: dict[str, float]
    utilization: dict[str, Any]
    link: int
    intervals: tuple[Ints, Ints, Ints]

    def within(self, begin: int, end: int) -> Accounting:
        """The accounting of the part of the session from `begin` to `end` (ns)."""
        start, stop = np.clip(self.intervals[0], begin, end), np.clip(self.intervals[1], begin, end)
        keep = stop > start
        stops_known = self.utilization["flow_controlled_s"] is not None
        return totalled(self.link, start[keep], stop[keep], self.intervals[2][keep], stops_known=stops_known)


@dataclass(frozen=True)
class Transfer:
    """The tables of the captured TCP connections that the accounting reads."""

    segments: pd.DataFrame
    connections: pd.DataFrame
    retransmissions: pd.DataFrame
    tcp_state: pd.DataFrame
    paths: Paths
    groups: Groups


@dataclass(frozen=True)
class Logged:
    """What the logs say of one link direction.

    `frames` and `intervals` are the tables of all links. `window_full` is (start, end) of the times when the link's
    transmit window was full, None if that is not known; `window_known` says whether its size is known.
    """

    link: int
    reverse: int
    frames: pd.DataFrame
    intervals: pd.DataFrame
    window_full: tuple[Ints, Ints] | None
    timing: Timing
    window_known: bool = True


def account(
    logged: Logged, match: LinkMatch | None, segment_frames: pd.DataFrame | None, transfer: Transfer | None
) -> Accounting | None:
    """The accounting of one link direction from its log.

    None if its sender logged no frame, its timing is unknown, or no packet could be reassembled. If
    it is not known when the link's transmit window was full, idle time while data waited has the cause
    unknown.
    """
    link, timing, window_full = logged.link, logged.timing, logged.window_full
    air = frames_on_air(logged.frames, link, timing)
    if not len(air.rows) or timing.frame_ns is None or match is None or not match.packets:
        return None
    enter_packets(air, match.packets, _carried_before(match, transfer))
    streams = _streams(segment_frames, link, transfer)
    start, end = _session(air, streams, transfer)
    timeline = Timeline(start, end, _between(match, streams, transfer))
    for layer in _idle_layers(streams, transfer, segment_frames, link):
        timeline.overlay(*layer)
    resets = _intervals_of(logged.intervals, (link, logged.reverse), RESET)
    stops = _intervals_of(logged.intervals, (link,), FLOW_CONTROL)
    occupied = _occupied(logged, air, (resets, stops, window_full))
    unsent = _unsent(match, streams, transfer)
    waiting = data_waiting(match, segment_frames, link, air, resets[0], unsent, occupied)
    if window_full is None:
        timeline.overlay(*waiting, IDLE_UNKNOWN)
    supervisory = ~air.data & covers(*waiting, air.start_ns)
    timeline.overlay(air.start_ns[supervisory], air.end_ns[supervisory], CODES["link_control"])
    if window_full is not None:
        held = _intersection(union(*window_full), waiting)
        timeline.overlay(*held, CODES["flow_controlled"])
        passing = supervisory & ~covers(*_surely_held(held, air, logged), air.start_ns)
        timeline.overlay(air.start_ns[passing], air.end_ns[passing], CODES["link_control"])
    timeline.overlay(*union(*stops), CODES["flow_controlled"])
    timeline.overlay(*frame_parts(air, CODES))
    timeline.overlay(*union(*resets), CODES["link_reset"])
    return totalled(link, *timeline.intervals(), stops_known=window_full is not None)


def _surely_held(held: tuple[Ints, Ints], air: FramesOnAir, logged: Logged) -> tuple[Ints, Ints]:
    """When no data was on the air though it waited for a full window, not for a frame of control between others."""
    busy = union(air.start_ns[air.data], air.end_ns[air.data])
    free = np.append(_EARLIEST, busy[1]), np.append(busy[0], _LATEST)
    start, end = _intersection(held, free)
    long = (end - start > SHORT_FRAMES * (logged.timing.frame_ns or 0)) | logged.window_known
    return start[long], end[long]


def totalled(link: int, start: Ints, end: Ints, cause: Ints, *, stops_known: bool) -> Accounting:
    """An accounting from its intervals; `stops_known`: whether flow control would have shown."""
    shown = np.where(cause == IDLE_UNKNOWN, CODES["unknown"], cause)
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
    idle = sum(spent[CODES[name]] for name in IDLE) + spent[IDLE_UNKNOWN]
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
    """Per packet, how many of its bytes earlier packets on this link had carried; None unknown."""
    sent = SentBytes()
    found: list[int | None] = []
    for packet, row in zip(match.packets, match.segments.tolist(), strict=True):
        head = None if packet.garbled else header(packet.octets)
        if head is not None and head.numbered:
            found.append(sent.add(head[:4], head.raw_seq, _payload_on_air(packet, head), wraps=True))
        elif row >= 0 and transfer is not None:
            connection, sender, seq, size = (int(transfer.segments[name].iat[row]) for name in _PLACE)
            found.append(sent.add((connection, sender), seq, size if packet.complete else 0, wraps=False))
        else:
            found.append(0 if packet.octets and not packet.complete else None)
    return found


def _payload_on_air(packet: CarriedPacket, head: Header) -> int:
    """How many octets of a packet's payload the link put on the air: of one that a reset cut short, its first ones."""
    if packet.complete:
        return head.payload_bytes
    return max(0, len(packet.octets) - (head.wire_bytes - head.payload_bytes))


def _streams(table: pd.DataFrame | None, link: int, transfer: Transfer | None) -> list[tuple[int, int]]:
    """(Connection, sender) of the streams that the link carried, most data first."""
    if table is None or transfer is None or not len(table):
        return []
    own = table[(table["link"] == link) & (table["payload_bytes"] > 0)]
    ends = {}
    for (connection, sender), size in own.groupby(["connection", "sender"])["payload_bytes"].sum().items():
        client = transfer.connections["client"].iat[connection]
        ends[int(connection), int(sender != client)] = int(size)
    return sorted(ends, key=lambda end: -ends[end])


def _rows_beside(transfer: Transfer, connection: int, sender: int) -> Any:
    """Rows of a connection's segments at the point beside one of its ends; empty without such a point."""
    return transfer.groups.rows(connection, int(transfer.paths.sender_point[connection, sender]))


def _session(air: FramesOnAir, streams: Sequence[tuple[int, int]], transfer: Transfer | None) -> tuple[int, int]:
    """(Start, end) of the session: first packet to last acknowledgement of data; else first to last frame."""
    spans = []
    for connection, sender in streams:
        if transfer is None:
            break
        rows = _rows_beside(transfer, connection, sender)
        sent = sending(transfer.segments, rows, sender) if len(rows) else None
        if sent is not None:
            spans.append((sent.first_ns, sent.last_acked_ns))
    if spans:
        return min(start for start, _ in spans), max(end for _, end in spans)
    return int(air.start_ns.min()), int(air.end_ns.max())


def _between(match: LinkMatch, streams: Sequence[tuple[int, int]], transfer: Transfer | None) -> int:
    """The cause of idle time in which no stream is active: TCP had nothing to send, if all of its streams are known."""
    if transfer is None or not 0 < len(streams) <= MOST_STREAMS:
        return IDLE_UNKNOWN
    beside = all(len(_rows_beside(transfer, *stream)) for stream in streams)
    return CODES["idle_sender"] if beside and all_captured(match) else IDLE_UNKNOWN


def all_captured(match: LinkMatch) -> bool:
    """Whether a link carried no connection but those of which a capture has packets.

    A packet that no capture has, and whose octets the log does not have all, may be of another.
    """
    captured = (match.segments >= 0).tolist()
    heads = [None if packet.garbled else header(packet.octets) for packet in match.packets]
    known = {head[:4] for head, seen in zip(heads, captured, strict=True) if head and seen}
    for packet, head, seen in zip(match.packets, heads, captured, strict=True):
        whole = packet.complete and not packet.garbled and len(packet.octets) > 0
        is_known = head[:4] in known if head is not None else seen or whole
        if not is_known:
            return False
    return True


def _idle_layers(
    streams: Sequence[tuple[int, int]], transfer: Transfer | None, table: pd.DataFrame | None, link: int
) -> list[tuple[Ints, Ints, Ints]]:
    """Layers with the cause of idle time: of the streams active at an instant, that with most data decides."""
    if transfer is None or table is None:
        return []
    layers = [_idle_layers_of(stream, transfer, table, link) for stream in streams[:MOST_STREAMS]]
    return [layer for stream in reversed(layers) for layer in stream]


def _idle_layers_of(
    stream: tuple[int, int], transfer: Transfer, table: pd.DataFrame, link: int
) -> list[tuple[Ints, Ints, Ints]]:
    """Layers with the cause of idle time while this stream is active."""
    connection, sender = stream
    rows = _rows_beside(transfer, connection, sender)
    sent = sending(transfer.segments, rows, sender) if len(rows) else None
    if sent is None:
        return []
    state = transfer.tcp_state
    state = state[(state["connection"] == connection) & (state["sender"] == sender)]
    cwnd = congestion_window(state, sent.time_ns, sent.mss_bytes) if len(state) else None
    resent = transfer.retransmissions
    name = transfer.connections[("client", "server")[sender]].iat[connection]
    resent = resent[(resent["connection"] == connection) & (resent["sender"] == name)]
    table = table[table["connection"] == connection]
    own = table["sender"] == name
    carried = Carried(table[own & (table["link"] == link)], table[~own])
    lost = answers_lost(resent, transfer.segments, connection, sender, transfer.paths, transfer.groups)
    waits = recoveries(sent, transfer.segments, rows, sender, resent, carried, lost)
    layers = idle_causes(sent, cwnd, waits, {**CODES, "unknown": IDLE_UNKNOWN})
    return [_clipped(layer, sent.first_ns, sent.last_acked_ns) for layer in layers]


def _clipped(layer: tuple[Ints, Ints, Ints], begin: int, end: int) -> tuple[Ints, Ints, Ints]:
    """The part of a layer between begin and end."""
    start, stop = np.clip(layer[0], begin, end), np.clip(layer[1], begin, end)
    keep = stop > start
    return start[keep], stop[keep], layer[2][keep]


def _unsent(match: LinkMatch, streams: Sequence[tuple[int, int]], transfer: Transfer | None) -> Ints:
    """When each segment was captured, in the order of sending, that follows all that the link carried of its stream."""
    found = [np.empty(0, dtype=np.int64)]
    if transfer is None or not match.sender_logged:
        return found[0]
    carried = match.segments[match.segments >= 0]
    for connection, sender in streams:
        rows = _rows_beside(transfer, connection, sender)
        own = rows[transfer.segments["sender"].to_numpy()[rows] == sender]
        last = np.flatnonzero(np.isin(own, carried))
        if len(last):
            found.append(transfer.segments["time_ns"].to_numpy()[own[last[-1] + 1 :]])
    return np.sort(np.concatenate(found))


def _occupied(logged: Logged, air: FramesOnAir, held: Sequence[tuple[Ints, Ints] | None]) -> Occupied:
    """When frames were on the air, or one of the spans `held` kept the sender from sending."""
    spans = [(air.start_ns, air.end_ns), *(one for one in held if one is not None)]
    start, end = union(*(np.concatenate(part) for part in zip(*spans, strict=True)))
    frames = logged.frames
    own = frames["input"] == frames["input"].iat[int(air.rows[0])]
    last = max(int(frames["time_ns"][own].max()), int(air.end_ns.max()))
    return Occupied(start, end, last, logged.timing.frame_ns or 0)


def _intervals_of(intervals: pd.DataFrame, links: Sequence[int], kind: str) -> tuple[Ints, Ints]:
    """Start and end of the intervals of a kind on any of the links."""
    mine = intervals[(intervals["kind"] == kind) & intervals["link"].isin(links)]
    return mine["start_ns"].to_numpy(), mine["end_ns"].to_numpy()


def _intersection(one: tuple[Ints, Ints], other: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    """The intersection of two sets of intervals."""
    start, end = [], []
    for begin, stop in zip(*(part.tolist() for part in one), strict=True):
        low = np.maximum(other[0], begin)
        high = np.minimum(other[1], stop)
        keep = high > low
        start.append(low[keep])
        end.append(high[keep])
    return (np.concatenate(start), np.concatenate(end)) if start else (one[0], one[1])
