"""Which segments a link's far end certainly never had whole, as one of their frames never came to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from multitracer.correlation.delivery import MISSING, NEVER
from multitracer.correlation.headers import header
from multitracer.link.coverage import one_log
from multitracer.link.frames import DATA_TYPES
from multitracer.link.recovery import least_apart, pair, transmissions

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.correlation.segment_frames import LinkMatch
    from multitracer.link.coverage import Coverage, Coverages
    from multitracer.link.packets import CarriedPacket

Ints = npt.NDArray[np.int64]

_NEVER = np.iinfo(np.int64).max
_FAR = np.int64(1) << 61
_EPOCH_BITS = 40
_LEAST_HEADER_BYTES = 24
"""From so many octets on an IPv4 packet shows its ports."""
NUMBERED_WHOLE = ("rlp", "rlc-umts")
"""Protocols whose frames are sent again whole: LTE's and NR's RLC repeats parts under the number of the whole."""


def with_missing(
    table: pd.DataFrame, match: LinkMatch, frames: pd.DataFrame, covered: Coverages, over_ns: Ints, late_ns: int,
    error_ns: int | None = None,
) -> pd.DataFrame:  # fmt: skip
    """The table segment_frames, with MISSING for what a link gave up before one of its frames had come to the far end.

    Also for what it never had on the air, though it had what was sent later. `over_ns` are the times at which resets of
    the link were over, in order; `late_ns` is the longest that a frame may be on its way, and what the clocks of both
    logs may be apart, `error_ns` what those of the sender's log and of the captures may be; None unknown.
    """
    logged = table["logged_ns"].to_numpy().copy()
    open_ = ((table["link"] == match.link) & (table["segment"] >= 0)).to_numpy() & (logged == NEVER)
    if not match.sender_logged or not open_.any():
        return table
    gone = given_up_unheard(match, frames, covered, over_ns, late_ns)
    logged[open_ & np.isin(table["segment"].to_numpy(), gone)] = MISSING
    if error_ns is not None:
        by_sender = covered.of(match.link, by_sender=True).apart(error_ns)
        unsent = np.flatnonzero(open_ & _never_on_air(table))
        logged[unsent[_overtaken(table, match.link, unsent, by_sender)]] = MISSING
    return table.assign(logged_ns=logged)


def _never_on_air(table: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Which rows are of packets that no link has had on the air, by the logs of their senders."""
    carried, first, segment = (table[name].to_numpy() for name in ("carried_bytes", "first_frame_ns", "segment"))
    never: npt.NDArray[np.bool_] = (carried == 0) & (first < 0) & ~np.isin(segment, segment[first >= 0])
    return never


def _overtaken(table: pd.DataFrame, link: int, rows: Ints, by_sender: Coverage) -> npt.NDArray[np.bool_]:
    """Which of these rows never had a frame, by a log of the sender that lacks nothing until a later one had.

    The queue before the link is first in, first out. The later one is of the same stream, and on the air before the
    octets of the row were sent again: else it may be the row itself that was.
    """
    data = table[((table["link"] == link) & (table["sent_ns"] >= 0) & (table["payload_bytes"] > 0)).to_numpy()]
    data = data.sort_values("sent_ns", kind="stable")
    streams = data.groupby(["connection", "sender"]).indices
    own = table.iloc[rows]
    passed, begun = np.full(len(rows), _NEVER, dtype=np.int64), own["sent_ns"].to_numpy()
    for stream, of_stream in own.groupby(["connection", "sender"]).indices.items():
        if stream in streams:
            passed[of_stream] = _passed_ns(data.iloc[streams[stream]], own.iloc[of_stream])
    found: npt.NDArray[np.bool_] = by_sender.covers(begun, passed) & (passed < _NEVER)
    return found


def _passed_ns(stream: pd.DataFrame, rows: pd.DataFrame) -> Ints:
    """When something sent after each row was first on the air, if before its octets were sent again; else _NEVER.

    `stream` is in the order of sending.
    """
    sent, seq, size, first = (stream[name].to_numpy() for name in ("sent_ns", "seq", "payload_bytes", "first_frame_ns"))
    soonest = np.append(np.minimum.accumulate(np.where(first >= 0, first, _NEVER)[::-1])[::-1], _NEVER)
    passed = np.full(len(rows), _NEVER, dtype=np.int64)
    columns = (rows[name].tolist() for name in ("sent_ns", "seq", "payload_bytes"))
    for at, (begun, start, octets) in enumerate(zip(*columns, strict=True)):
        later = int(np.searchsorted(sent, begun, side="right"))
        again = (seq[later:] < start + octets) & (seq[later:] + size[later:] > start)
        if soonest[later] < sent[later:][again].min(initial=_NEVER):
            passed[at] = soonest[later]
    return passed


def given_up_unheard(
    match: LinkMatch, frames: pd.DataFrame, covered: Coverages, over_ns: Ints, late_ns: int
) -> Ints:  # fmt: skip
    """The rows of the segments that a link gave up before one of their frames had come.

    It did when a reset was over, or when the far end, of which it is known what it took, had a later one whole. Until
    then no transmission of the frame was taken, or came, by a log of the far end that lacks nothing then; nor can the
    log of the sender lack one. Afterwards other frames may have the same numbers. Of one that was cut off, the last
    frames were never sent.
    """
    time_ns, number = frames["time_ns"].to_numpy(), frames["sn_unwrapped"].to_numpy()
    last_ns = np.array([time_ns[one.rows[-1]] for one in match.packets], dtype=np.int64)
    until_ns = np.append(over_ns, _NEVER)[np.searchsorted(over_ns, last_ns)]
    if match.taken is not None:
        whole = np.append(np.where(match.whole_ns >= 0, match.whole_ns, _NEVER)[1:], _NEVER)
        until_ns = np.minimum(until_ns, np.minimum.accumulate(whole[::-1])[::-1])
    kept = np.flatnonzero((match.segments >= 0) & (until_ns < _NEVER))
    if not len(kept):
        return np.empty(0, dtype=np.int64)
    rows = [match.packets[at].rows for at in kept.tolist()]
    packet, row = np.repeat(kept, [len(one) for one in rows]), np.concatenate(rows)
    order = np.lexsort((time_ns[row], number[row], packet))
    packet, row = packet[order], row[order]
    first = np.flatnonzero((np.diff(packet, prepend=-1) != 0) | (np.diff(number[row], prepend=-1) != 0))
    packet, row = packet[first], row[first]
    start_ns, end_ns = time_ns[row] - late_ns, until_ns[packet]
    never = covered.of(match.link, by_sender=False).covers(start_ns, end_ns)
    never &= covered.of(match.link, by_sender=True).covers(time_ns[row], end_ns)
    never &= (end_ns >= time_ns[row]) & ~_came(match, frames, row, start_ns, end_ns)
    found: Ints = match.segments[np.union1d(packet[never], kept[_cut_off(match, frames, covered, kept, until_ns)])]
    return found


def _cut_off(
    match: LinkMatch, frames: pd.DataFrame, covered: Coverages, kept: Ints, until_ns: Ints
) -> npt.NDArray[np.bool_]:  # fmt: skip
    """Which of these packets were on the air only in part until then, by a log of the sender that lacks nothing.

    The log has their octets: fewer than their header says, or not even that.
    """
    packets = [match.packets[at] for at in kept.tolist()]
    begun_ns = frames["time_ns"].to_numpy()[[one.rows[0] for one in packets]]
    in_part = np.array([_in_part(one) for one in packets])
    by_sender = covered.of(match.link, by_sender=True)
    cut: npt.NDArray[np.bool_] = in_part & by_sender.covers(begun_ns, until_ns[kept])
    return cut


def _in_part(packet: CarriedPacket) -> bool:
    """Whether the octets of a packet that was not complete are fewer than its header says."""
    if packet.complete or packet.garbled or not packet.octets:
        return False
    head = header(packet.octets)
    return head.wire_bytes > len(packet.octets) if head is not None else len(packet.octets) < _LEAST_HEADER_BYTES


def _came(match: LinkMatch, frames: pd.DataFrame, row: Ints, start_ns: Ints, end_ns: Ints) -> npt.NDArray[np.bool_]:
    """Whether the frame of each of these sent rows came to the far end, or may have within a time.

    An arrival that fits no transmission may be one of any frame with its number.
    """
    came = match.taken
    if came is None:
        came = one_log(frames, np.flatnonzero(((frames["link"] == match.link) & ~frames["sent"]).to_numpy()))
        came = came[(frames["type"].isin(DATA_TYPES) & (frames["sn"] >= 0)).to_numpy()[came]]
    origin = _origins(frames, match.link, came)
    number, epoch = frames["sn_unwrapped"].to_numpy(), frames["epoch"].to_numpy().astype(np.int64)
    known = origin[origin >= 0]
    found = np.isin(number[row] + (epoch[row] << _EPOCH_BITS), number[known] + (epoch[known] << _EPOCH_BITS))
    sn, time_ns, unknown = frames["sn"].to_numpy(), frames["time_ns"].to_numpy(), came[origin < 0]
    for one in np.unique(sn[unknown]).tolist():
        own, mine = np.sort(time_ns[unknown[sn[unknown] == one]]), np.flatnonzero(sn[row] == one)
        within = np.searchsorted(own, end_ns[mine], side="right") > np.searchsorted(own, start_ns[mine])
        found[mine] |= within
    return found


def _origins(frames: pd.DataFrame, link: int, came: Ints) -> Ints:
    """The row of the transmission that each of these arrivals was; -1 where none fits."""
    rows = frames.reset_index(drop=True)
    data = rows["type"].isin(DATA_TYPES) & (rows["sn_unwrapped"] >= 0)
    sent = transmissions(rows[(rows["link"] == link) & data & rows["sent"]])
    apart = None if sent is None else least_apart(sent.sn, sent.time)
    if sent is None or not len(came):
        return np.full(len(came), -1, dtype=np.int64)
    times, numbers = (rows[name].to_numpy()[came] for name in ("time_ns", "sn"))
    heard = pair(sent, int(_FAR if apart is None else apart), times, numbers)
    if heard is None:
        return np.full(len(came), -1, dtype=np.int64)
    return np.where(heard.transmission >= 0, sent.row[heard.transmission], -1)
