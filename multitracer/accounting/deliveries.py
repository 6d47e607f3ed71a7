"""When each segment came to its receiver: by the capture there, else by the log of the far end of the link before it.

A link's log also tells until when the link held each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from multitracer.accounting.intervals import Ints
from multitracer.correlation.delivery import MISSING, perhaps_out_of_sequence
from multitracer.model.paths import NOWHERE, Paths
from multitracer.wire import rlp

if TYPE_CHECKING:
    import pandas as pd


LEAST_ALIKE = 1 / 8
"""Of the times from a link to a capture behind it one is the least that so many took as took the most frequent one."""


class Deliveries(NamedTuple):
    """An element per segment, but for `ends`."""

    came_ns: Ints
    """-1 unknown, or never; no elements where neither a log nor captures beside both ends of a connection tell."""
    arrived: Any
    """1 yes, 0 no, -1 unknown."""
    given_ns: Ints
    """When it was at the link at the soonest: the least time that any took from its sender's capture; -1 unknown.

    No elements as `came_ns`.
    """
    held_ns: Ints
    """Until when the link had it at least: until the last of its octets had been on the air once; -1 unknown."""
    left_ns: Ints
    """When the link was done with it, but for its way to the far end; -1 unknown.

    Unknown is also what came to the receiver's capture later than a link's log explains.
    """
    ends: Any
    """Per 2 * connection + sender, whether a link's log stands in for the receiver's capture."""


class LinkLog(NamedTuple):
    """What the logs of one direction of a link say; times related to those of the captures."""

    link: int
    segment_frames: pd.DataFrame
    frame_ns: int
    """How long a frame takes."""
    resets_ns: Any = ()
    """When the link was reset, in order."""
    in_sequence: bool = False
    """Whether its protocol always delivers in the order of sending."""
    silences_ns: Any = ()
    """After which frames its sender had no data for so long that it took all for acknowledged, in order."""


def deliveries(segments: pd.DataFrame, paths: Paths, logs: Sequence[LinkLog] = ()) -> Deliveries:
    """The arrivals that captures show, and those that links' logs show where there is no capture at the receiver."""
    ends = np.zeros(2 * len(paths.sender_point), dtype=np.bool_)
    both_captured = (paths.sender_point != NOWHERE) & (paths.receiver_point != NOWHERE)
    if not logs and not both_captured.any():  # writing -1 for every segment takes longer than looking for limits
        nothing = np.empty(0, dtype=np.int64)
        return Deliveries(nothing, paths.arrived, nothing, nothing, nothing, ends)
    came, given, held, left = (np.full(len(segments), -1, dtype=np.int64) for _ in range(4))
    rows = np.flatnonzero((paths.arrival >= 0) & (paths.arrived == 1))
    came[rows] = segments["time_ns"].to_numpy()[paths.arrival[rows]]
    found = Deliveries(came, paths.arrived.copy(), given, held, left, ends)
    for log in logs:
        _note_link(found, log, segments, paths)
    return found


def _note_link(found: Deliveries, log: LinkLog, segments: pd.DataFrame, paths: Paths) -> None:
    """Enter what the link delivered, and what never reached it.

    These links deliver to IP in the order of sending (24.022 4; 25.322 and 36.322 as bearers of TCP are mostly set up;
    38.323 5.2.2.2): what was whole before sooner data was came with that. UMTS RLC can also be set up to deliver data
    as soon as it is whole (25.322 11.3.2); of an end where that may be so no arrival is entered, but when the link was
    done with what the receiver's capture shows to have come as soon as it was whole.
    """
    table = log.segment_frames
    table = table[((table["link"] == log.link) & (table["segment"] >= 0)).to_numpy()]
    delivered = table[((table["delivered_ns"] >= 0) & (table["queue_ns"] >= 0)).to_numpy()]
    delivered = delivered.sort_values("first_frame_ns", kind="stable")
    rows, out = delivered["segment"].to_numpy(), np.maximum.accumulate(delivered["delivered_ns"].to_numpy())
    connection, sender = (segments[name].to_numpy() for name in ("connection", "sender"))
    ends_of = 2 * connection.astype(np.int64) + sender
    _note_given(found, table, delivered, ends_of, segments["time_ns"].to_numpy())
    whole_ns = delivered["delivered_ns"].to_numpy()
    known = np.ones(len(rows), dtype=np.bool_)
    if not log.in_sequence:
        known = ~perhaps_out_of_sequence(rows, whole_ns, out, segments)
    known &= ~_seen_out_of_sequence(ends_of[rows], found.came_ns[rows], whole_ns, out, log.frame_ns)
    seen = ~known & (found.came_ns[rows] >= 0)
    _note_left(found, rows[seen], whole_ns[seen], delivered[seen], log.frame_ns)
    delivered, rows, out = delivered[known], rows[known], out[known]
    alone = paths.receiver_point[connection, sender] == NOWHERE
    _note_left(found, rows, out, delivered, log.frame_ns)
    mine = alone[rows]
    found.came_ns[rows[mine]], found.arrived[rows[mine]] = out[mine], 1
    found.ends[ends_of[rows[mine]]] = True
    _note_undelivered(found, log, table, delivered, ends_of)
    sent_ns = segments["time_ns"].to_numpy()
    if log.in_sequence and len(table):
        _note_kept(found, log, table, ends_of, min(int(sent_ns.max()), int(table["last_frame_ns"].max())))
    never = table["segment"].to_numpy()[(table["frames"] == 0).to_numpy()]
    found.arrived[never[alone[never]]] = 0
    _note_flushed(found, table, sent_ns, np.asarray(log.resets_ns, dtype=np.int64))


def _note_given(found: Deliveries, table: pd.DataFrame, delivered: pd.DataFrame, ends: Ints, sent_ns: Ints) -> None:
    """Enter when each segment was at the link at the soonest, by those of its end that were delivered, if any was."""
    never = np.iinfo(np.int64).max
    sent = table[(table["queue_ns"] >= 0).to_numpy()]
    least, of_all = (np.full(len(found.ends), never, dtype=np.int64) for _ in range(2))
    for fewest, rows in ((least, delivered), (of_all, sent)):
        np.minimum.at(fewest, ends[rows["segment"].to_numpy()], rows["queue_ns"].to_numpy())
    row = sent["segment"].to_numpy()
    found.given_ns[row] = sent_ns[row] + np.where(least < never, least, of_all)[ends[row]]


def _seen_out_of_sequence(ends: Ints, came_ns: Ints, whole_ns: Ints, given_ns: Ints, frame_ns: int) -> Any:
    """Which segments are of an end of which the receiver's capture has one before the link would have given it.

    If it keeps the order, it gives at `given_ns` what was whole before. An arrival that stands in for what the log
    lacks tells nothing.
    """
    way, wait = came_ns - whole_ns, given_ns - whole_ns
    seen = (came_ns >= 0) & (way != 0)
    least = np.full(int(ends.max(initial=0)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(least, ends[seen], way[seen])
    early = seen & (wait > frame_ns)
    # Kept in order, its way would be `wait` longer than the least: the nearer of both decides.
    early[early] = way[early] - least[ends[early]] < wait[early] // 2
    return np.isin(ends, ends[early])


def _note_left(found: Deliveries, rows: Ints, out_ns: Ints, delivered: pd.DataFrame, frame_ns: int) -> None:
    """Enter when the link was done with what came out of it at these times.

    But not of what came to the capture later than by the way behind the link: something else held that up.
    """
    at_once = _at_once(found.came_ns[rows] - out_ns, found.came_ns[rows] >= 0, frame_ns)
    found.left_ns[rows[at_once]] = out_ns[at_once] - _way_ns(delivered, frame_ns)


def _note_undelivered(
    found: Deliveries, log: LinkLog, table: pd.DataFrame, delivered: pd.DataFrame, ends: Ints
) -> None:
    """Enter until when the link had what it sent and never delivered: until it last had octets of it on the air.

    RLP may send frames again long after it had taken them for acknowledged. So of what took longer than anything that
    the link delivered of the same end, or was sent again after a silence, it is only known until when the link had it
    at least. What lacked a frame that never came may take as much longer as the link has attempts.
    """
    lost = table[((table["delivered_ns"] < 0) & (table["queue_ns"] >= 0)).to_numpy()]
    rows, first, last = (lost[name].to_numpy() for name in ("segment", "first_frame_ns", "last_frame_ns"))
    longest = np.full(len(found.ends), -1, dtype=np.int64)
    took = (delivered["delivered_ns"] - delivered["first_frame_ns"]).to_numpy()
    np.maximum.at(longest, ends[delivered["segment"].to_numpy()], took)
    attempts = np.where(lost["logged_ns"] == MISSING, rlp.MOST_REPEATS, 1)
    silences = np.asarray(log.silences_ns, dtype=np.int64)
    mine = last - first <= attempts * longest[ends[rows]]
    mine &= np.searchsorted(silences, first) == np.searchsorted(silences, last)
    found.left_ns[rows[mine]] = last[mine] + log.frame_ns
    found.held_ns[rows] = lost["last_new_frame_ns"].to_numpy() + log.frame_ns


def _note_kept(found: Deliveries, log: LinkLog, table: pd.DataFrame, ends: Ints, until: int) -> None:
    """Enter that the link had what is never delivered until its log or the captures end, at `until`.

    A link that delivers in order and repeats frames drops a packet only at a reset, or where a silence made its sender
    take all for acknowledged. So it still has those that had frames on the air after the last of these, unless it
    delivered a later one.
    """
    rows, first, last, out = (
        table[name].to_numpy() for name in ("segment", "first_frame_ns", "last_frame_ns", "delivered_ns")
    )
    latest = np.full(int(ends.max(initial=0)) + 1, -1, dtype=np.int64)
    np.maximum.at(latest, ends[rows], np.where(out >= 0, first, -1))
    dropped = max([*(reset for reset in log.resets_ns if reset <= until), *log.silences_ns], default=-1)
    kept = (out < 0) & (found.came_ns[rows] < 0) & (table["frames"] > 0).to_numpy()
    kept &= (first > latest[ends[rows]]) & (last > dropped)
    found.left_ns[rows[kept]] = np.maximum(until, last[kept])


def _note_flushed(found: Deliveries, table: pd.DataFrame, sent_ns: Ints, resets_ns: Ints) -> None:
    """Enter until when the link had what was never on the air though what was sent later was: until the reset between.

    What waits goes on the air in the order of sending; a reset, or a queue before it that was full until then, took it.
    """
    ordered = table.iloc[np.argsort(sent_ns[table["segment"].to_numpy()], kind="stable")]
    rows, first = ordered["segment"].to_numpy(), ordered["first_frame_ns"].to_numpy()
    on_air = (ordered["frames"] > 0).to_numpy()
    never = np.iinfo(np.int64).max
    following = np.minimum.accumulate(np.where(on_air, first, never)[::-1])[::-1]
    place = np.searchsorted(resets_ns, sent_ns[rows])
    reset = np.append(resets_ns, never)[place]
    flushed = ~on_air & (reset < following) & (following < never)
    found.left_ns[rows[flushed]] = reset[flushed]


def _way_ns(delivered: pd.DataFrame, frame_ns: int) -> int:
    """The least time from the end of a frame to its arrival at the link's far end."""
    over = (delivered["delivered_ns"] - delivered["last_frame_ns"])[delivered["frame_retransmissions"] == 0]
    return max(0, int(over.min()) - frame_ns) if len(over) else 0


def _at_once(beyond_ns: Ints, seen: Any, frame_ns: int) -> Any:
    """Which of the times from a link's far end to the capture behind it are the least, or longer by a frame at most.

    The least is one that several took, to a frame, where many took the same: what few came before that contradicts the
    log (RLP may take an old frame for a new one). Where a log lacks when a packet was whole, its arrival stands for
    that: that it took no time tells nothing.
    """
    told = np.sort(beyond_ns[seen & (beyond_ns != 0)])
    if not len(told):
        return np.ones(len(beyond_ns), dtype=np.bool_)
    alike = np.searchsorted(told, told + frame_ns, side="right") - np.arange(len(told))
    least = told[np.argmax(alike >= LEAST_ALIKE * alike.max())]
    return ~seen | (beyond_ns == 0) | (np.abs(beyond_ns - least) <= frame_ns)


def delivered_before(segments: pd.DataFrame, resent: pd.DataFrame, came: Deliveries) -> Any:
    """Which retransmissions of an unknown verdict repeat a segment of which a link delivered an earlier copy."""
    row = resent["segment"].to_numpy()
    connection, sender = (segments[name].to_numpy() for name in ("connection", "sender"))
    logged = came.ends[2 * connection[row] + sender[row]] & (resent["spurious"] == "unknown").to_numpy()
    if not logged.any():
        return logged
    copies = segments.loc[came.came_ns >= 0, ["connection", "sender", "seq", "payload_bytes"]]
    first = copies.assign(row=np.flatnonzero(came.came_ns >= 0)).groupby(list(copies.columns))["row"].min()
    mine = segments.iloc[row][list(copies.columns)].itertuples(index=False, name=None)
    found = dict(first.items())
    earliest = np.array([found.get(one, len(segments)) for one in mine], dtype=np.int64)
    return logged & (earliest < row)
