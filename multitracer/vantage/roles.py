"""Which side of the path each capture was taken at, seen from the data sender.

At the sender's side data is answered a round trip later, and an acknowledgement sets off new data
at once; at the receiver's side it is the other way round.
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

_AT_AN_END = 0.25
"""Below this share of the round trip an end is held to be near."""
_ENOUGH = 500_000
"""So many of a connection's first segments tell where it was captured."""
_TOLD_BY = ["time_ns", "sender", "seq", "ack", "payload_bytes", "flags", "options", "tsval", "tsecr"]


def find_roles(segments: pd.DataFrame, points: int) -> list[str | None]:
    """Per point: sender, receiver, or None where it stands in between or nothing tells."""
    return [_role(segments, point) for point in range(points)]


def nearest_to_sender(segments: pd.DataFrame, points: int, forced: Mapping[int, str]) -> int:
    """The point nearest to the data sender of the connection with most data."""
    candidates = list(range(points))
    stated = [point for point in candidates if forced.get(point) == "sender"]
    others = [point for point in candidates if forced.get(point) != "receiver"]
    candidates = stated or others or candidates
    if len(candidates) < 2:
        return candidates[0] if candidates else 0
    connection, sender = largest(segments)
    waits = [(answered_after(_of(segments, connection, point), sender), -point) for point in candidates]
    return -max(waits)[1]


def _of(segments: pd.DataFrame, connection: int, point: int) -> pd.DataFrame:
    """A connection's first segments at a point, with the columns that tell where it stands."""
    rows = np.empty(min(len(segments), _ENOUGH), dtype=np.int64)
    count = first_rows(segments["connection"].to_numpy(), segments["point"].to_numpy(), connection, point, rows)
    return segments[_TOLD_BY].take(rows[:count])


@kernel
def first_rows(connection: Any, point: Any, wanted: int, at: int, rows: Ints) -> int:
    """Fill `rows` with the first rows of a connection at a point; returns how many."""
    count = 0
    for row in range(len(connection)):
        if count == len(rows):
            break
        if connection[row] == wanted and point[row] == at:
            rows[count] = row
            count += 1
    return count


def largest(segments: pd.DataFrame, point: int = -1) -> tuple[int, int]:
    """(connection, sender) of most payload, at a point or (-1) at all."""
    names = ("connection", "sender", "payload_bytes", "point")
    connection, sender, payload, seen_at = (segments[name].to_numpy() for name in names)
    totals = np.zeros(2 * (int(connection.max(initial=-1)) + 1), dtype=np.int64)
    add_payload(connection, sender, payload, seen_at, point, totals)
    most = int(np.argmax(totals)) if len(totals) else 0
    return most // 2, most % 2


@kernel
def add_payload(connection: Any, sender: Any, payload: Any, point: Any, at: int, totals: Ints) -> None:
    """Add up each sender's payload, at a point or (-1) at all."""
    for row in range(len(connection)):
        if connection[row] >= 0 and (at < 0 or point[row] == at):
            totals[2 * np.int64(connection[row]) + sender[row]] += payload[row]


def _role(segments: pd.DataFrame, point: int) -> str | None:
    connection, sender = largest(segments, point)
    own = _of(segments, connection, point)
    there, here = answered_after(own, sender), _set_off_after(own, sender)
    if here < 0 or there < 0:
        there, here = _handshake(own, sender)
    if here < 0 or there < 0 or there + here == 0:
        return None
    share = here / (there + here)
    return "sender" if share < _AT_AN_END else "receiver" if share > 1 - _AT_AN_END else None


def answered_after(own: pd.DataFrame, sender: int) -> float:
    """How soon data is usually acknowledged here (ns, lower quartile), -1 when it never is."""
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


def _set_off_after(own: pd.DataFrame, sender: int) -> float:
    """How soon data echoes the timestamp of an acknowledgement here (ns, lower decile), -1 unknown."""
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
    """The round trips beyond and before this point, of the handshake, as the data sender has them."""
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
