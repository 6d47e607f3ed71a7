"""The side of the path at which each capture was taken: the data sender's or the receiver's.

At the sender's side data is acknowledged a round trip later, and an acknowledgement triggers new data at
once; at the receiver's side it is the other way round.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.kernels import kernel
from multitracer.model.schema import ACK, OPTION_TIMESTAMPS, SYN

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]

_NEAR_SHARE = 0.25
"""An end is near when less than this share of the round trip is on its side."""
_MOST_SEGMENTS = 500_000
"""Number of a connection's first segments that are examined."""
_COLUMNS = ["time_ns", "sender", "seq", "ack", "payload_bytes", "flags", "options", "tsval", "tsecr"]


def find_roles(segments: pd.DataFrame, points: int) -> list[str | None]:
    """Per point: sender, receiver, or None when it is in the middle of the path or unknown."""
    return [_role(segments, point) for point in range(points)]


def nearest_to_sender(segments: pd.DataFrame, points: int, forced: Mapping[int, str]) -> int:
    """The point nearest to the data sender of the connection with most data; `forced` roles come first."""
    candidates = list(range(points))
    stated = [point for point in candidates if forced.get(point) == "sender"]
    others = [point for point in candidates if forced.get(point) != "receiver"]
    candidates = stated or others or candidates
    if len(candidates) < 2:
        return candidates[0] if candidates else 0
    connection, sender = largest(segments)
    waits = [(time_to_ack(_first_segments(segments, connection, point), sender), -point) for point in candidates]
    return -max(waits)[1]


def _first_segments(segments: pd.DataFrame, connection: int, point: int) -> pd.DataFrame:
    """A connection's first segments at a point."""
    rows = np.empty(min(len(segments), _MOST_SEGMENTS), dtype=np.int64)
    count = first_rows(segments["connection"].to_numpy(), segments["point"].to_numpy(), connection, point, rows)
    return segments[_COLUMNS].take(rows[:count])


@kernel
def first_rows(connection: Any, point: Any, wanted: int, at: int, rows: Ints) -> int:
    """Fill `rows` with the first rows of a connection at a point; returns their number."""
    count = 0
    for row in range(len(connection)):
        if count == len(rows):
            break
        if connection[row] == wanted and point[row] == at:
            rows[count] = row
            count += 1
    return count


def largest(segments: pd.DataFrame, point: int = -1) -> tuple[int, int]:
    """(connection, sender) with most payload, at a point or (-1) at any."""
    names = ("connection", "sender", "payload_bytes", "point")
    connection, sender, payload, seen_at = (segments[name].to_numpy() for name in names)
    totals = np.zeros(2 * (int(connection.max(initial=-1)) + 1), dtype=np.int64)
    add_payload(connection, sender, payload, seen_at, point, totals)
    most = int(np.argmax(totals)) if len(totals) else 0
    return most // 2, most % 2


@kernel
def add_payload(connection: Any, sender: Any, payload: Any, point: Any, at: int, totals: Ints) -> None:
    """Add up each sender's payload bytes, at a point or (-1) at any."""
    for row in range(len(connection)):
        if connection[row] >= 0 and (at < 0 or point[row] == at):
            totals[2 * np.int64(connection[row]) + sender[row]] += payload[row]


def _role(segments: pd.DataFrame, point: int) -> str | None:
    connection, sender = largest(segments, point)
    own = _first_segments(segments, connection, point)
    round_trip_beyond, round_trip_before = time_to_ack(own, sender), _time_to_echo(own, sender)
    if round_trip_before < 0 or round_trip_beyond < 0:
        round_trip_beyond, round_trip_before = _handshake(own, sender)
    if round_trip_before < 0 or round_trip_beyond < 0 or round_trip_beyond + round_trip_before == 0:
        return None
    share = round_trip_before / (round_trip_beyond + round_trip_before)
    return "sender" if share < _NEAR_SHARE else "receiver" if share > 1 - _NEAR_SHARE else None


def time_to_ack(own: pd.DataFrame, sender: int) -> float:
    """Lower quartile of the time from data to its acknowledgement at this point (ns); -1 without any."""
    time, flags = own["time_ns"].to_numpy(), own["flags"].to_numpy()
    mine = own["sender"].to_numpy() == sender
    end = own["seq"].to_numpy() + own["payload_bytes"].to_numpy()
    data = np.flatnonzero(mine & (own["payload_bytes"].to_numpy() > 0))
    answers = np.flatnonzero(~mine & (flags & ACK > 0))
    if not len(data) or not len(answers):
        return -1.0
    new = end[data] > np.r_[np.iinfo(np.int64).min, np.maximum.accumulate(end[data])[:-1]]
    data = data[new]
    reached = np.maximum.accumulate(own["ack"].to_numpy()[answers])
    first = np.searchsorted(reached, end[data])
    fits = first < len(answers)
    waits = time[answers[first[fits]]] - time[data[fits]]
    waits = waits[waits >= 0]
    return float(np.quantile(waits, 0.25)) if len(waits) else -1.0


def _time_to_echo(own: pd.DataFrame, sender: int) -> float:
    """Lower decile of the time from an acknowledgement to data that echoes its timestamp (ns); -1 without any."""
    stamped = own["options"].to_numpy() & OPTION_TIMESTAMPS > 0
    mine = own["sender"].to_numpy() == sender
    time = own["time_ns"].to_numpy()
    data = np.flatnonzero(mine & stamped & (own["payload_bytes"].to_numpy() > 0))
    answers = np.flatnonzero(~mine & stamped)
    if len(data) < 2 or len(answers) < 2:
        return -1.0
    echoed = np.maximum.accumulate(own["tsecr"].to_numpy()[data].astype(np.int64))
    stamp = own["tsval"].to_numpy()[answers].astype(np.int64)
    new = stamp > np.r_[np.iinfo(np.int64).min, np.maximum.accumulate(stamp)[:-1]]
    answers, stamp = answers[new], stamp[new]
    first = np.searchsorted(echoed, stamp)
    fits = (first < len(data)) & (first > 0)
    waits = time[data[first[fits]]] - time[answers[fits]]
    waits = waits[waits >= 0]
    return float(np.quantile(waits, 0.1)) if len(waits) else -1.0


def _handshake(own: pd.DataFrame, sender: int) -> tuple[float, float]:
    """The handshake's round trips beyond and before this point, seen from the data sender; -1, -1 unknown."""
    flags = own["flags"].to_numpy()
    time, from_client = own["time_ns"].to_numpy(), own["sender"].to_numpy() == 0
    opening = np.flatnonzero((flags & (SYN | ACK)) == SYN)
    answer = np.flatnonzero((flags & (SYN | ACK)) == (SYN | ACK))
    if len(opening) != 1 or len(answer) != 1:
        return -1.0, -1.0
    closing = np.flatnonzero(from_client & (flags & (SYN | ACK) == ACK))
    closing = closing[closing > answer[0]]
    if not len(closing):
        return -1.0, -1.0
    to_server = float(time[answer[0]] - time[opening[0]])
    to_client = float(time[closing[0]] - time[answer[0]])
    return (to_server, to_client) if sender == 0 else (to_client, to_server)
