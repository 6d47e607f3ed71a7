"""What limited each direction of each connection, instant by instant, from the captures alone.

An instant has the first cause that applies: the path stood still, its bottleneck was busy, TCP waited for a timer or
repaired a loss (`sending_events`, `path_queue` and `bottleneck` find when), the receiver's window, the sender's, the
application (`limit_shares`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from multitracer.accounting.answer_times import note_answers
from multitracer.accounting.arrivals import note_arrivals
from multitracer.accounting.bottleneck import DELAYED_ACK_NS, find_stalls, is_logged, mark_lost
from multitracer.accounting.delayed_acknowledgements import undelayed_rate
from multitracer.accounting.deliveries import Deliveries, LinkLog, delivered_before, deliveries
from multitracer.accounting.limit_shares import KEPT, add_up
from multitracer.accounting.path_queue import find_queue, find_queue_at_least, find_rate, several_rates
from multitracer.accounting.path_rate import least_without_data, one_rate
from multitracer.accounting.room import Room, room_for
from multitracer.accounting.sending_events import follow, start_state
from multitracer.accounting.sending_state import (
    FIRST_NS,
    LAST_ACKED_NS,
    NO,
    UNKNOWN,
    YES,
    Capture,
)
from multitracer.accounting.shared_rate import Shown, shared_rates
from multitracer.compute.kernels import kernel
from multitracer.compute.threads import concurrently, halves
from multitracer.model.limits import LIMITS, Floats, Ints, Limits, RateChanges, Stretches
from multitracer.model.paths import NOWHERE, Paths
from multitracer.tcp.connection_rows import Groups

if TYPE_CHECKING:
    import pandas as pd


class Directions(NamedTuple):
    """The directions to look at, an element each."""

    end: Any
    """2 * connection + sender."""
    begin: Any
    stop: Any
    """The direction's rows are order[begin:stop]."""
    arrivals: Any
    """Whether there is a capture beside the receiver, too, or a link's log tells arrivals."""
    beside_receiver: Any
    """Whether the only capture is beside the receiver."""
    trip_ns: Any
    """The least round trip in ns, 0 unknown."""
    least_ns: Any
    """Stretches longer than this are kept; 0 none, as the round trip is not known."""
    measures_row: Any
    """Its row of the measures."""


class Told(NamedTuple):
    """What is known of the path beside the captures."""

    rate_bps: float | None = None
    """Its rate, as the user states it."""
    logs: Sequence[LinkLog] = ()
    """The logs of a link on it, one for each direction."""
    path_of: Callable[[Ints], Ints] | None = None
    """Numbers of the paths of ends, 2 * connection + sender: the same for those that share one."""
    path_bps: Floats | None = None
    """Of a part of a trace: the rates of the ends' paths, in bit/s, that the whole shows; 0 unknown."""


class Known(NamedTuple):
    """What is known of the rates of paths, in bit/s; 0 unknown."""

    told_bps: float
    """By the user."""
    shared_bps: Any
    """By all connections of the path, or by more of the trace; an element for each direction."""
    fastest_bps: Any
    """A rate than which the path is hardly faster, by all its connections; an element for each direction."""


class Results(NamedTuple):
    """What is found of each end, an element each."""

    shares: Any
    rates: Any
    rate_from: Any
    times: Any
    """Start and end in ns, shape (ends, 2)."""
    by_arrivals: Any
    unsure: Any
    """Whether its own deliveries do not show the rate of its path."""


def find_limits(
    segments: pd.DataFrame, sacks: pd.DataFrame, measures: pd.DataFrame, groups: Groups, paths: Paths,
    resent: pd.DataFrame, told: Told | None = None, stretch_rtts: float = 1.0,
) -> Limits:  # fmt: skip
    """What limited each direction that carried data.

    `segments` may have the column `cwnd_bytes` of `with_windows`. `sacks` has columns segment, left, right (relative)
    and dsack; `measures` are those of each point and end, `resent` is the retransmissions table. Stretches longer
    than `stretch_rtts` least round trips are kept. Where deliveries of one end are too few to show its path's rate, and
    it is not told, those of others on that path are taken, too, and for a part of a trace those of the whole.
    """
    found = _nothing_found(2 * len(paths.sender_point))
    told = told or Told()
    came = deliveries(segments, paths, told.logs)
    directions = directions_of(measures, groups, paths, stretch_rtts, came.ends)
    directions = _settle_open_windows(directions, measures, found)
    capture, blocks = capture_of(segments, paths, resent, came), blocks_of(sacks)

    look_at = partial(_look_at, groups, capture, blocks, told.rate_bps or 0.0, found)
    nothing = np.zeros(len(directions.end))
    kept, changes, samples, singles = look_at(directions, Shown(nothing, nothing))
    if not told.rate_bps:
        unsure = np.flatnonzero(found.unsure[directions.end])
        shown = _shown_by_others(directions.end[unsure], told, changes[:, 0], samples, singles)
        kept = _look_again(look_at, Directions(*(column[unsure] for column in directions)), shown, kept)
    stretches = Stretches(*np.ascontiguousarray(kept[np.argsort(kept[:, 0], kind="stable")].T))
    return Limits(
        found.shares, found.rates, found.rate_from, found.times[:, 0], found.times[:, 1], stretches, found.by_arrivals,
        RateChanges(changes[:, 0], changes[:, 1], 8e9 * changes[:, 2] / changes[:, 3]), ~found.unsure,
    )  # fmt: skip


def _look_at(
    groups: Groups, capture: Capture, blocks: Any, told_bps: float, found: Results,
    directions: Directions, shown: Shown,
) -> list[Any]:  # fmt: skip
    """Fill the elements of `found` of the directions; their stretches, changes, samples of rates, single deliveries."""

    def look_at_part(part: slice) -> Any:
        mine = Directions(*(column[part] for column in directions))
        room = room_for(mine.stop - mine.begin)
        known = Known(told_bps, shown.rate_bps[part], shown.fastest_bps[part])
        limit_directions(mine, groups.order, groups.words, capture, blocks, known, room, found)
        return (
            room.ledger.kept[: room.ledger.current[KEPT]].copy(), room.changes[: room.changed[0]].copy(),
            room.pool[: room.pooled[0]].copy(), room.singles[: room.singles_noted[0]].copy(),
        )  # fmt: skip

    lists = concurrently(look_at_part, halves(directions.stop - directions.begin))
    return [np.concatenate(parts) for parts in zip(*lists, strict=True)]


def _shown_by_others(unsure: Ints, told: Told, several: Ints, samples: Ints, singles: Ints) -> Shown:
    """What more than its own deliveries shows of the rate of the path of each end in `unsure`.

    `several` are the ends whose path had several rates, `samples` what all ends show of theirs, `singles` what those in
    `unsure` do.
    """
    of_whole = np.zeros(len(unsure)) if told.path_bps is None else told.path_bps[unsure]
    if told.path_of is None or of_whole.all():
        return Shown(of_whole, np.zeros(len(unsure)))
    shown = shared_rates(samples, singles, unsure, several, told.path_of)
    # A part may show a rate where the whole shows several.
    return Shown(np.where(of_whole > 0, of_whole, shown.rate_bps), shown.fastest_bps)


def _look_again(look_at: Callable[..., list[Any]], unsure: Directions, shown: Shown, kept: Any) -> Any:
    """Look anew at the directions of which more than their own deliveries show something of the path's rate.

    Returns the stretches of all directions; `kept` are those before.
    """
    which = np.maximum(shown.rate_bps, shown.fastest_bps) > 0
    if not which.any():
        return kept
    again = Directions(*(column[which] for column in unsure))
    anew = look_at(again, Shown(shown.rate_bps[which], shown.fastest_bps[which]))[0]
    return np.concatenate([kept[~np.isin(kept[:, 0], again.end)], anew])


def _nothing_found(ends: int) -> Results:
    return Results(
        shares=np.full((ends, len(LIMITS)), np.nan), rates=np.full(ends, np.nan), rate_from=np.zeros(ends, np.int8),
        times=np.full((ends, 2), -1, dtype=np.int64), by_arrivals=np.zeros(ends, dtype=np.bool_),
        unsure=np.zeros(ends, dtype=np.bool_),
    )  # fmt: skip


_NOT_LOGGED = np.empty(0, dtype=np.int64)
# Read-only as the columns of a table are: for another type the loop over directions would be compiled again.
_NOT_LOGGED.flags.writeable = False


def blocks_of(sacks: pd.DataFrame) -> Any:
    """The SACK blocks as `follow` reads them: rows of segment, left, right and dsack."""
    return np.array([sacks[name].to_numpy() for name in ("segment", "left", "right", "dsack")], dtype=np.int64)


def capture_of(
    segments: pd.DataFrame, paths: Paths, resent: pd.DataFrame, came: Deliveries | None = None,
    *, unanswered_needed: bool = False,
) -> Capture:  # fmt: skip
    """The columns of the segments, each retransmission with its verdict.

    Where that is unknown it is taken for needed if later data had passed it: that it was lost is likelier than that it
    was overtaken for so long. With `unanswered_needed` so are timeouts after which nothing of an earlier copy came back
    (`follow` looks at what their answers say).
    """
    code = np.full(len(segments), -1, dtype=np.int8)
    trigger, spurious = (resent[name].cat.codes.to_numpy() for name in ("trigger", "spurious"))
    came = came or deliveries(segments, paths)
    undecided = (resent["spurious"] == "unknown").to_numpy()
    needed = resent["passed"].to_numpy() & undecided
    if unanswered_needed:
        needed |= _unanswered(resent, undecided)
    spurious = np.where(delivered_before(segments, resent, came), YES, np.where(needed, NO, spurious))
    code[resent["segment"].to_numpy()] = trigger * len(resent["spurious"].cat.categories) + spurious
    columns = {name: segments[name].to_numpy() for name in Capture._fields if name in segments.columns}
    columns.setdefault("cwnd_bytes", _NOT_LOGGED)
    return Capture(
        **columns, resend=code, arrival=paths.arrival, arrived=came.arrived, came_ns=came.came_ns,
        given_ns=came.given_ns, held_ns=came.held_ns, left_ns=came.left_ns,
    )  # fmt: skip


def _unanswered(resent: pd.DataFrame, undecided: Any) -> Any:
    """Of these resends, timeouts after which nothing of an earlier copy came back.

    But where a later resend of the same octets turned out to be needless with nothing heard, acknowledgements were lost
    there: the timeout stays unknown.
    """
    unanswered = (resent["late_ack"] == 0).to_numpy()
    rightful = unanswered & undecided & (resent["trigger"] == "timeout").to_numpy()
    needless = unanswered & (resent["spurious"] == "yes").to_numpy()
    if not rightful.any() or not needless.any():
        return rightful
    octets = [resent[name] for name in ("connection", "sender", "seq")]
    latest = resent["segment"].where(needless, -1).groupby(octets).transform("max")
    return rightful & (latest < resent["segment"]).to_numpy()


def directions_of(
    measures: pd.DataFrame, groups: Groups, paths: Paths, stretch_rtts: float = 1.0, logged: Any = None
) -> Directions:
    """The directions with data, each at the point that saw it best; of those `logged` a link's log tells arrivals."""
    names = ("connection", "sender", "point", "data_segments")
    connection, sender, point, data = (measures[name].to_numpy() for name in names)
    found = np.flatnonzero((paths.seen_at[connection, sender] == point) & (data > 0))
    trips = np.rint(np.nan_to_num(measures["rtt_min_ms"].to_numpy()[found]) * 1e6).astype(np.int64)
    connection, sender, point = connection[found], sender[found], point[found]
    group = groups.number(connection, point)
    near, far = (points[connection, sender] != NOWHERE for points in (paths.sender_point, paths.receiver_point))
    begin, stop = groups.starts[group], groups.starts[group + 1]
    trips = np.where(near, trips, 0)
    least = np.rint(stretch_rtts * trips).astype(np.int64)
    end = 2 * connection + sender
    told = far if logged is None else far | logged[end]
    return Directions(end, begin, stop, near & told, ~near, trips, least, found)


def _settle_open_windows(directions: Directions, measures: pd.DataFrame, found: Results) -> Directions:
    """Fill the times and shares of those beside a receiver that always had room for a segment; returns the others.

    What the sender knew and when is not seen there: only a window with less room than the longest segment, with nothing
    on the way, is certain to have limited it. Without such a window all is unknown, and no row needs to be followed.
    """
    names = ("max_segment_bytes", "peer_window_min_bytes", "data_from_ns", "data_acked_ns")
    longest, window, first, last = (measures[name].to_numpy()[directions.measures_row] for name in names)
    is_open = directions.beside_receiver & (window >= longest)
    end, first, last = directions.end[is_open], first[is_open], last[is_open]
    found.times[end, 0], found.times[end, 1] = first, last
    end = end[last > first]
    found.shares[end], found.shares[end, UNKNOWN] = 0.0, 1.0
    return Directions(*(column[~is_open] for column in directions))


@kernel
def look_at_path(
    number: int, directions: Directions, rows: Any, words: Any, capture: Capture, known: Known, room: Room,
    found: Results,
) -> None:  # fmt: skip
    """Find the rate of a direction's path, and fill the spans in which the path stood still or its bottleneck was busy.

    `rows` and `words` are those that were followed.
    """
    end, events, state = directions.end[number], room.events, room.state
    arrivals = directions.arrivals[number] and note_arrivals(capture, events, state)
    found.by_arrivals[end] = arrivals
    rate, found.rate_from[end], pieces, sure = find_rate(end, room, known.told_bps, known.shared_bps[number], arrivals)
    found.rates[end], found.unsure[end] = rate, not sure
    loses_singles = mark_lost(capture, events, state)
    if not sure and not is_logged(capture, events, state):
        find_queue_at_least(end, room, known.fastest_bps[number], loses_singles, arrivals)
    rates = one_rate(room.rates, rate)
    if pieces > 1:
        rates = several_rates(end, pieces, room)
    longer, shortest, surely = np.int64(0), np.int64(0), rates
    if not sure:
        trip = directions.trip_ns[number]
        surely, in_time = undelayed_rate(room, rate, arrivals)
        longer = trip if pieces > 0 and in_time else trip + DELAYED_ACK_NS
        shortest = least_without_data(rows, words, end & 1, capture) if arrivals else trip
    # Not before: dates are not exact enough to measure rates between them.
    all_dated = not arrivals and note_answers(capture, events, state, room.samples)
    find_stalls(events, state, not arrivals)
    find_queue(capture, room, surely, rates, longer, shortest, loses_singles, not arrivals, all_dated)


@kernel
def limit_directions(
    directions: Directions, order: Any, words: Any, capture: Capture, blocks: Any, known: Known, room: Room,
    found: Results,
) -> None:  # fmt: skip
    """Fill the elements of `found` of each direction, and the stretches that are kept."""
    for number in range(len(directions.end)):
        end = directions.end[number]
        begin, stop = directions.begin[number], directions.stop[number]
        events, state = room.events, room.state
        beside_receiver, arrivals = directions.beside_receiver[number], directions.arrivals[number]
        start_state(state, events.counts, beside_receiver, arrivals, directions.trip_ns[number])
        rows, packed = order[begin:stop], words[begin:stop]
        follow(rows, packed, end & 1, capture, blocks, events, state)
        found.times[end, 0], found.times[end, 1] = state[FIRST_NS], state[LAST_ACKED_NS]
        if state[LAST_ACKED_NS] <= state[FIRST_NS]:
            continue
        if beside_receiver:
            events.counts[:] = 0
        else:
            look_at_path(number, directions, rows, packed, capture, known, room, found)
        add_up(end, directions.least_ns[number], events, state, room.ledger)
        for cause in range(len(found.shares[end])):
            found.shares[end, cause] = room.ledger.spent[cause] / (state[LAST_ACKED_NS] - state[FIRST_NS])
