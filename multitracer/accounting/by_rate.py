"""The accounting without a link log: by the path's rate, as the user states it or arrivals show it.

Where the path carries nothing at its rate although data is in flight, it holds it (`path_held`). Only with nothing in
flight the path is idle, for the cause that limits the sender then (`sending_events`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from multitracer.accounting.carried import (
    FIELDS,
    PARTS,
    Carried,
    Codes,
    Fates,
    Places,
    carry,
    decide,
    find_fates,
)
from multitracer.accounting.intervals import Ints, Timeline
from multitracer.accounting.limits import Directions, blocks_of, capture_of, directions_of
from multitracer.accounting.path_rate import Rates
from multitracer.accounting.room import Room, room_for
from multitracer.accounting.sending_events import follow, start_state
from multitracer.accounting.sending_state import (
    CAUSES,
    CODES,
    FASTS,
    FIRST_NS,
    LAST_ACKED_NS,
    TIMEOUTS,
    UNSURE,
    Capture,
)
from multitracer.accounting.session import CODES as CAUSE_CODES
from multitracer.accounting.session import IDLE_UNKNOWN, MOST_STREAMS, Accounting, totalled
from multitracer.model.limits import LIMITS, Limits
from multitracer.model.paths import NOWHERE, Paths
from multitracer.model.schema import MARKS
from multitracer.vantage.paths import host

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.tcp.connection_rows import Groups

_CODES = Codes(
    new_data=CAUSE_CODES["new_data"],
    resent=CAUSE_CODES["tcp_retransmitted"],
    unclear=CAUSE_CODES["unknown"],
    held=CAUSE_CODES["path_held"],
    recovery=CAUSE_CODES["idle_recovery"],
    doubt=IDLE_UNKNOWN,
    fast=IDLE_UNKNOWN + 1,
    timeout=IDLE_UNKNOWN + 2,
)
_IDLE = {
    "application": "idle_sender", "receiver_window": "idle_window_limited", "sender_window": "idle_window_limited",
}  # fmt: skip
_IDLE_OF = np.array([CAUSE_CODES[_IDLE[name]] if name in _IDLE else IDLE_UNKNOWN for name in LIMITS])
"""The accounting's cause for each that limits a sender while nothing is in flight."""


Layer: TypeAlias = tuple[Any, Any, Any]
"""Start and end of intervals in ns, and their cause: one code, or one each."""


class Captured(NamedTuple):
    """The tables of the captured TCP connections."""

    segments: pd.DataFrame
    sacks: pd.DataFrame
    connections: pd.DataFrame
    measures: pd.DataFrame
    retransmissions: pd.DataFrame
    groups: Groups
    paths: Paths


def account_by_rate(end: int, limits: Limits, captured: Captured) -> Accounting | None:
    """The accounting of the host of an end (2 * connection + sender), by the rate of that end's path.

    None where that rate is not known, nothing was captured beside the end, or its data was never acknowledged.
    """
    connection, sender = divmod(end, 2)
    point = int(captured.paths.sender_point[connection, sender])
    if point == NOWHERE or not limits.rate_from[end] or limits.end_ns[end] < 0:
        return None
    mine, directions = _rows_of_host(connection, sender, point, captured)
    capture = capture_of(captured.segments, captured.paths, captured.retransmissions, unanswered_needed=True)
    blocks, room = blocks_of(captured.sacks), room_for(directions.stop - directions.begin)
    carried = _carried(mine, directions, capture, blocks, captured.groups.order, _rates(end, limits, directions.end))
    ended = limits.end_ns[directions.end]
    timeline = Timeline(int(capture.time_ns[mine[0]]), int(ended.max()), _between(len(directions.end)))
    for layer in _idle(directions, capture, blocks, room, captured):
        timeline.overlay(*layer)
    return totalled(-1, *_decided(timeline, carried), stops_known=False)


def _decided(timeline: Timeline, carried: Carried) -> tuple[Ints, Ints, Ints]:
    """(Start, end, cause) of the session's intervals."""
    start, end, base = timeline.intervals()
    decided = np.empty((2 * (len(start) + int(carried.counts.sum())) + 1, 3), dtype=np.int64)
    count = decide(start, end, base, carried, _CODES, np.zeros(PARTS + 1, dtype=np.int64), decided)
    found = np.ascontiguousarray(decided[:count].T)
    return found[0], found[1], found[2]


def _rates(end: int, limits: Limits, ends: Ints) -> Rates:
    """The rates of the path of an end one after the other; before and after its data those of the host's other ends."""
    begin, stop = limits.start_ns[end], limits.end_ns[end]
    outside = (limits.rate_from[ends] > 0) & ((limits.start_ns[ends] >= stop) | (limits.end_ns[ends] <= begin))
    pieces = [piece for one in (end, *ends[outside].tolist()) for piece in _pieces(one, limits)]
    start, byte_ns = (np.array(column) for column in zip(*sorted(pieces), strict=True))
    return Rates(start, byte_ns)


def _pieces(end: int, limits: Limits) -> list[tuple[int, float]]:
    """When each rate of the path of an end began to hold, and how long an octet takes then, in ns."""
    start, rate_bps = limits.changes.of(end)
    if not len(start):
        start, rate_bps = limits.start_ns[end : end + 1], limits.rate_bps[end : end + 1]
    begins = np.maximum(start, limits.start_ns[end])
    begins[0] = limits.start_ns[end]
    return list(zip(begins.tolist(), (8e9 / rate_bps).tolist(), strict=True))


def _between(streams: int) -> int:
    """The cause of time in which no stream is active."""
    return CAUSE_CODES["idle_sender"] if streams <= MOST_STREAMS else IDLE_UNKNOWN


def _rows_of_host(connection: int, sender: int, point: int, captured: Captured) -> tuple[Ints, Directions]:
    """Rows of what the host of an end sent, at the point beside it, and its directions with data."""
    columns = [captured.connections[name] for name in ("client", "server")]
    names = np.stack([np.array([host(end) for end in column], dtype=object) for column in columns], axis=1)
    ends = (names == names[connection, sender]) & (captured.paths.sender_point == point)
    segments = captured.segments
    owner, source = segments["connection"].to_numpy(), segments["sender"].to_numpy()
    here = (segments["point"].to_numpy() == point) & (owner >= 0)
    here &= segments["marks"].to_numpy() & MARKS["captured_twice"] == 0
    here[here] = ends[owner[here], source[here]]
    found = directions_of(captured.measures, captured.groups, captured.paths)
    own = ends.ravel()[found.end]
    return np.flatnonzero(here), Directions(*(column[own] for column in found))


def _carried(mine: Ints, directions: Directions, capture: Capture, blocks: Any, order: Any, rates: Rates) -> Carried:
    """What was carried, and when data was in flight; arrays that are not written take no memory."""
    rows, longest = len(capture.time_ns), int((directions.stop - directions.begin).max(initial=0))
    fates = Fates(
        np.full(rows, -1, dtype=np.int64), np.zeros(rows, dtype=np.int32),
        *(np.zeros(rows, dtype=np.bool_) for _ in range(3)),
    )  # fmt: skip
    places = Places(*(np.empty(longest, dtype=np.int32) for _ in Places._fields))
    find_fates(directions, order, capture, blocks, places, np.zeros(FIELDS, dtype=np.int64), fates)
    parts, flights = np.empty((2 * len(mine), 3), dtype=np.int64), np.empty((PARTS, len(mine), 2), dtype=np.int64)
    carried = Carried(parts, flights, np.zeros(PARTS + 1, dtype=np.int64))
    carry(mine, capture, fates, rates, carried)
    return carried


def _idle(directions: Directions, capture: Capture, blocks: Any, room: Room, captured: Captured) -> Iterator[Layer]:
    """Layers of what limits each stream; of those active at an instant that with most data decides."""
    order, payload = captured.groups.order, capture.payload_bytes
    bounds = list(zip(directions.end.tolist(), directions.begin.tolist(), directions.stop.tolist(), strict=True))
    trips = dict(zip(directions.end.tolist(), directions.trip_ns.tolist(), strict=True))
    own = {end: order[begin:stop] for end, begin, stop in bounds}
    words = {end: captured.groups.words[begin:stop] for end, begin, stop in bounds}
    data = {end: int(payload[rows[capture.sender[rows] == end & 1]].sum()) for end, rows in own.items()}
    for end in reversed(sorted(own, key=lambda end: -data[end])[:MOST_STREAMS]):
        start_state(room.state, room.events.counts, False, False, trips[end])
        follow(own[end], words[end], end & 1, capture, blocks, room.events, room.state)
        if room.state[LAST_ACKED_NS] >= 0:
            yield from _causes(room, int(capture.time_ns[own[end][0]]))


def _causes(room: Room, opened: int) -> list[Layer]:
    """What limited the direction that was followed last, whose connection was `opened` then."""
    events, state = room.events, room.state
    first, last = state[FIRST_NS], state[LAST_ACKED_NS]
    causes = events.causes[: state[CAUSES]].copy()
    start = first + causes // CODES
    stop = np.minimum(np.append(start[1:], last), last)
    keep = stop > start
    return [
        (np.array([opened]), np.array([first]), CAUSE_CODES["idle_sender"]),
        (start[keep], stop[keep], _IDLE_OF[causes[keep] % CODES]),
        _spans(room, UNSURE, IDLE_UNKNOWN), _spans(room, FASTS, _CODES.fast), _spans(room, TIMEOUTS, _CODES.timeout),
    ]  # fmt: skip


def _spans(room: Room, which: int, cause: int) -> Layer:
    """The spans of a list of the direction that was followed last, until the last acknowledgement of data."""
    spans = np.minimum(room.events.spans[which, : room.events.counts[which]], room.state[LAST_ACKED_NS])
    return spans[:, 0], spans[:, 1], cause
