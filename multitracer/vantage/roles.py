"""The side of the path at which each capture was taken: the data sender's or the receiver's.

At the sender's side data is acknowledged a round trip later, and an acknowledgement triggers new data at
once; at the receiver's side it is the other way round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
_MOST_SEGMENTS = 100_000
"""Number of a connection's first segments that are examined."""
_COLUMNS = ("connection", "time_ns", "sender", "seq", "ack", "payload_bytes", "flags", "options", "tsval", "tsecr")

Columns: TypeAlias = Mapping[str, Any]


def find_roles(segments: pd.DataFrame, rows: Sequence[Ints]) -> list[str | None]:
    """Per point: sender, receiver, or None when it is in the middle of the path or unknown.

    `rows[p]` are the rows of segments seen at point p.
    """
    columns = _columns(segments)
    if len(rows) == 1:  # those of all segments, which need not be listed
        connection, sender = largest(segments)
        own = _first_rows(columns["connection"], connection)
        return [_role({name: column[own] for name, column in columns.items()}, sender)]
    most = _Largest(segments)
    ends = [most.at(own) for own in rows]
    return [
        _role(_first_segments(columns, connection, own), sender)
        for own, (connection, sender) in zip(rows, ends, strict=True)
    ]


def nearest_to_sender(segments: pd.DataFrame, rows: Sequence[Ints], forced: Mapping[int, str]) -> int:
    """The point nearest to the data sender of the connection with most data; `forced` roles come first."""
    candidates = list(range(len(rows)))
    stated = [point for point in candidates if forced.get(point) == "sender"]
    others = [point for point in candidates if forced.get(point) != "receiver"]
    candidates = stated or others or candidates
    if len(candidates) < 2:
        return candidates[0] if candidates else 0
    (connection, sender), columns = largest(segments), _columns(segments)
    waits = [(time_to_ack(_first_segments(columns, connection, rows[point]), sender), -point) for point in candidates]
    return -max(waits)[1]


def _columns(segments: pd.DataFrame) -> Columns:
    return {name: segments[name].to_numpy() for name in _COLUMNS}


def _first_rows(connections: Ints, connection: int) -> Ints:
    """A connection's first rows among all segments, which are looked through in parts: mostly the first one will do."""
    found: list[Ints] = []
    for start in range(0, len(connections), 2 * _MOST_SEGMENTS):
        if sum(map(len, found)) >= _MOST_SEGMENTS:
            break
        found.append(start + np.flatnonzero(connections[start : start + 2 * _MOST_SEGMENTS] == connection))
    return np.concatenate([np.empty(0, dtype=np.int64), *found])[:_MOST_SEGMENTS]


def _first_segments(columns: Columns, connection: int, rows: Ints) -> Columns:
    """A connection's first segments among the rows of a point."""
    own = np.empty(min(len(rows), _MOST_SEGMENTS), dtype=np.int64)
    own = own[: find_segments(columns["connection"], rows, connection, own)]
    return {name: column[own] for name, column in columns.items()}


@kernel
def find_segments(connections: Any, rows: Ints, connection: int, own: Ints) -> int:
    """Fill `own` with the first of the `rows` that are of the connection; returns their number."""
    found = 0
    for row in rows:
        if found == len(own):
            break
        if connections[row] == connection:
            own[found] = row
            found += 1
    return found


def largest(segments: pd.DataFrame) -> tuple[int, int]:
    """(connection, sender) with most payload, at all points together."""
    most = _Largest(segments)
    add_payload(*most.columns, most.totals)
    end = int(most.totals.argmax()) if len(most.totals) else 0
    return end // 2, end % 2


class _Largest:
    """Finds who sent most among some rows, in time that only their number decides."""

    def __init__(self, segments: pd.DataFrame) -> None:
        self.columns = tuple(segments[name].to_numpy() for name in ("connection", "sender", "payload_bytes"))
        self.totals = np.zeros(2 * (int(self.columns[0].max(initial=-1)) + 1), dtype=np.int64)

    def at(self, rows: Ints) -> tuple[int, int]:
        """(connection, sender) with most payload in the rows; the first of those with equally much."""
        most = int(most_payload(*self.columns, rows, self.totals))
        return most // 2, most % 2


@kernel
def add_payload(connection: Any, sender: Any, payload: Any, totals: Ints) -> None:
    """Add up the payload that each end sent."""
    for row in range(len(connection)):
        if connection[row] >= 0:
            totals[2 * np.int64(connection[row]) + sender[row]] += payload[row]


@kernel
def most_payload(connection: Any, sender: Any, payload: Any, rows: Ints, totals: Ints) -> int:
    """2 * connection + sender with most payload bytes in `rows`; `totals` is all 0 before and after."""
    most = np.int64(0)
    for row in rows:
        if connection[row] >= 0:
            totals[2 * np.int64(connection[row]) + sender[row]] += payload[row]
    for row in rows:
        if connection[row] >= 0:
            end = 2 * np.int64(connection[row]) + sender[row]
            if totals[end] > totals[most] or (totals[end] == totals[most] and totals[end] > 0 and end < most):
                most = end
    for row in rows:
        if connection[row] >= 0:
            totals[2 * np.int64(connection[row]) + sender[row]] = 0
    return int(most)


def _role(own: Columns, sender: int) -> str | None:
    """The role of a point by the first segments that it saw of a connection."""
    round_trip_beyond, round_trip_before = time_to_ack(own, sender), _time_to_echo(own, sender)
    if round_trip_before < 0 or round_trip_beyond < 0:
        round_trip_beyond, round_trip_before = _handshake(own, sender)
    if round_trip_before < 0 or round_trip_beyond < 0 or round_trip_beyond + round_trip_before == 0:
        return None
    share = round_trip_before / (round_trip_beyond + round_trip_before)
    return "sender" if share < _NEAR_SHARE else "receiver" if share > 1 - _NEAR_SHARE else None


def time_to_ack(own: Columns, sender: int) -> float:
    """Lower quartile of the time from data to its acknowledgement at this point (ns); -1 without any."""
    time, flags = own["time_ns"], own["flags"]
    mine = own["sender"] == sender
    end = own["seq"] + own["payload_bytes"]
    data = np.flatnonzero(mine & (own["payload_bytes"] > 0))
    answers = np.flatnonzero(~mine & (flags & ACK > 0))
    if not len(data) or not len(answers):
        return -1.0
    new = end[data] > np.r_[np.iinfo(np.int64).min, np.maximum.accumulate(end[data])[:-1]]
    data = data[new]
    reached = np.maximum.accumulate(own["ack"][answers])
    first = np.searchsorted(reached, end[data])
    fits = first < len(answers)
    waits = time[answers[first[fits]]] - time[data[fits]]
    waits = waits[waits >= 0]
    return float(np.quantile(waits, 0.25)) if len(waits) else -1.0


def _time_to_echo(own: Columns, sender: int) -> float:
    """Lower decile of the time from an acknowledgement to data that echoes its timestamp (ns); -1 without any."""
    stamped = own["options"] & OPTION_TIMESTAMPS > 0
    mine = own["sender"] == sender
    time = own["time_ns"]
    data = np.flatnonzero(mine & stamped & (own["payload_bytes"] > 0))
    answers = np.flatnonzero(~mine & stamped)
    if len(data) < 2 or len(answers) < 2:
        return -1.0
    echoed = np.maximum.accumulate(own["tsecr"][data].astype(np.int64))
    stamp = own["tsval"][answers].astype(np.int64)
    new = stamp > np.r_[np.iinfo(np.int64).min, np.maximum.accumulate(stamp)[:-1]]
    answers, stamp = answers[new], stamp[new]
    first = np.searchsorted(echoed, stamp)
    fits = (first < len(data)) & (first > 0)
    waits = time[data[first[fits]]] - time[answers[fits]]
    waits = waits[waits >= 0]
    return float(np.quantile(waits, 0.1)) if len(waits) else -1.0


def _handshake(own: Columns, sender: int) -> tuple[float, float]:
    """The handshake's round trips beyond and before this point, seen from the data sender; -1, -1 unknown."""
    flags = own["flags"]
    time, from_client = own["time_ns"], own["sender"] == 0
    opening = np.flatnonzero((flags & (SYN | ACK)) == SYN)
    answer = np.flatnonzero((flags & (SYN | ACK)) == (SYN | ACK))
    if len(opening) != 1 or len(answer) != 1:
        return -1.0, -1.0
    closing = np.flatnonzero(from_client & (flags & (SYN | ACK) == ACK))
    closing = closing[closing > answer[0]]
    if not len(closing):
        return -1.0, -1.0
    # As Python integers: damaged times may be further apart than int64 reaches.
    asked, answered, closed = (int(time[row[0]]) for row in (opening, answer, closing))
    to_server, to_client = float(answered - asked), float(closed - answered)
    return (to_server, to_client) if sender == 0 else (to_client, to_server)
