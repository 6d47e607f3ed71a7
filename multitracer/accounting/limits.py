"""What limited each direction of each connection, instant by instant, from the captures alone.

An instant has the first cause that applies: the path stood still, its bottleneck was busy, TCP waited for a timer or
repaired a loss (`sending_events`, `path_rate` and `bottleneck` find when), the receiver's window, the sender's, the
application (`limit_shares`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from multitracer.accounting.bottleneck import find_busy, find_stalls
from multitracer.accounting.limit_shares import add_up
from multitracer.accounting.path_rate import AGREE, BINS, agreeing, least_delay, middle_rate, sample_rates
from multitracer.accounting.sending_events import (
    FIELDS,
    FIRST_NS,
    LAST_ACKED_NS,
    LISTS,
    Capture,
    Events,
    follow,
    note_arrivals,
    start_state,
)
from multitracer.compute.kernels import kernel
from multitracer.compute.threads import concurrently, halves
from multitracer.model.limits import LIMITS, RATE_FROM, Limits
from multitracer.model.paths import NOWHERE, Paths
from multitracer.tcp.connection_rows import Groups

if TYPE_CHECKING:
    import pandas as pd

TOLD, FOUND = RATE_FROM.index("told"), RATE_FROM.index("found")


class Directions(NamedTuple):
    """The directions to look at, an element each."""

    end: Any
    """2 * connection + sender."""
    begin: Any
    stop: Any
    """The direction's rows are order[begin:stop]."""
    arrivals: Any
    """Whether there is a capture beside the receiver, too."""
    beside_receiver: Any
    """Whether the only capture is beside the receiver."""


class Room(NamedTuple):
    """Arrays that are used anew for each direction."""

    events: Events
    state: Any
    samples: Any
    histogram: Any
    pointers: Any
    spent: Any


def find_limits(
    segments: pd.DataFrame, sacks: pd.DataFrame, measures: pd.DataFrame, groups: Groups, paths: Paths,
    resent: pd.DataFrame, told_bps: float | None = None,
) -> Limits:  # fmt: skip
    """What limited each direction that carried data.

    `sacks` has columns segment, left, right (relative) and dsack; `measures` are those of each point and end,
    `resent` is the retransmissions table, `told_bps` is the path's rate as the user states it.
    """
    ends = 2 * len(paths.sender_point)
    shares, rates = np.full((ends, len(LIMITS)), np.nan), np.full(ends, np.nan)
    rate_from, times = np.zeros(ends, dtype=np.int8), np.full((ends, 2), -1, dtype=np.int64)
    directions = _directions(measures, groups, paths)
    blocks = np.array([sacks[name].to_numpy() for name in ("segment", "left", "right", "dsack")], dtype=np.int64)
    capture, order = _capture(segments, paths, resent), groups.order

    def look_at(part: slice) -> None:
        mine = Directions(*(column[part] for column in directions))
        room = _room(int((mine.stop - mine.begin).max(initial=0)))
        limit_directions(mine, order, capture, blocks, told_bps or 0.0, room, shares, rates, rate_from, times)

    concurrently(look_at, halves(directions.stop - directions.begin))
    return Limits(shares, rates, rate_from, times[:, 0], times[:, 1])


def _capture(segments: pd.DataFrame, paths: Paths, resent: pd.DataFrame) -> Capture:
    code = np.full(len(segments), -1, dtype=np.int8)
    trigger, spurious = (resent[name].cat.codes.to_numpy() for name in ("trigger", "spurious"))
    code[resent["segment"].to_numpy()] = trigger * len(resent["spurious"].cat.categories) + spurious
    columns = {name: segments[name].to_numpy() for name in Capture._fields if name in segments.columns}
    return Capture(**columns, resend=code, arrival=paths.arrival, arrived=paths.arrived)


def _directions(measures: pd.DataFrame, groups: Groups, paths: Paths) -> Directions:
    """The directions with data, each at the point that saw it best."""
    names = ("connection", "sender", "point", "data_segments")
    connection, sender, point, data = (measures[name].to_numpy() for name in names)
    found = (paths.seen_at[connection, sender] == point) & (data > 0)
    connection, sender, point = connection[found], sender[found], point[found]
    group = groups.number(connection, point)
    near, far = (points[connection, sender] != NOWHERE for points in (paths.sender_point, paths.receiver_point))
    return Directions(2 * connection + sender, groups.starts[group], groups.starts[group + 1], near & far, ~near)


def _room(rows: int) -> Room:
    """Arrays for the longest direction; pages that are never written take no memory."""
    events = Events(
        row=np.empty(rows, dtype=np.int32), kind=np.empty(rows, dtype=np.int8),
        delivered_ns=np.empty(rows, dtype=np.int64), delivered_upto=np.empty(rows, dtype=np.int32),
        delivered_flag=np.empty(rows, dtype=np.int8), trip_ns=np.empty((rows, 2), dtype=np.int64),
        needed=np.empty((rows, 3), dtype=np.int64), waits=np.empty((rows, 3), dtype=np.int64),
        causes=np.empty(rows + 1, dtype=np.int64), spans=np.empty((LISTS, rows + 1, 2), dtype=np.int64),
        counts=np.zeros(LISTS, dtype=np.int64),
    )  # fmt: skip
    fields, bins, lists, causes = (np.zeros(count, dtype=np.int64) for count in (FIELDS, BINS, LISTS, len(LIMITS)))
    return Room(events, fields, np.empty((rows, 4), dtype=np.int64), bins, lists, causes)


@kernel
def limit_directions(
    directions: Directions, order: Any, capture: Capture, blocks: Any, told_bps: float, room: Room, shares: Any,
    rates: Any, rate_from: Any, times: Any,
) -> None:  # fmt: skip
    """Fill the rows of `shares`, `rates`, `rate_from` and `times` (start and end in ns) of each direction."""
    for number in range(len(directions.end)):
        end = directions.end[number]
        rows = order[directions.begin[number] : directions.stop[number]]
        events, state = room.events, room.state
        start_state(state, events.counts, directions.beside_receiver[number], directions.arrivals[number])
        follow(rows, end & 1, capture, blocks, events, state)
        times[end, 0], times[end, 1] = state[FIRST_NS], state[LAST_ACKED_NS]
        if state[LAST_ACKED_NS] <= state[FIRST_NS]:
            continue
        if not directions.beside_receiver[number]:
            arrivals = directions.arrivals[number] and note_arrivals(capture, events, state)
            rates[end], rate_from[end] = find_rate(capture, room, told_bps)
            find_spans(capture, room, rates[end], not arrivals)
        else:
            events.counts[:] = 0
        add_up(events, state, room.pointers, room.spent)
        for cause in range(len(room.spent)):
            shares[end, cause] = room.spent[cause] / (state[LAST_ACKED_NS] - state[FIRST_NS])


@kernel
def find_rate(capture: Capture, room: Room, told_bps: float) -> tuple[float, int]:
    """The path's rate in bit/s (0 unknown), and where it is from.

    A told rate stands in where too few deliveries behind a queue agree, unless they came faster.
    """
    events, state, samples = room.events, room.state, room.samples
    count = sample_rates(capture, events, state, least_delay(capture, events, state, 0.0), samples)
    rate = middle_rate(samples, count, room.histogram)
    if rate > 0 and agreeing(samples, count, rate):
        return rate, FOUND
    if told_bps > 0 and rate <= told_bps * (1 + AGREE):
        return told_bps, TOLD
    return rate, 0


@kernel
def find_spans(capture: Capture, room: Room, rate_bps: float, by_acknowledgement: bool) -> None:
    """Find when the path was busy, and when it stood still."""
    events, state = room.events, room.state
    find_busy(capture, events, state, least_delay(capture, events, state, rate_bps), rate_bps)
    find_stalls(capture, events, state, by_acknowledgement)
