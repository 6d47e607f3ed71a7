"""Where each end's segments were seen leaving and arriving, and which of them arrived.

Along the path of a connection the observation points stand in an order: the farther a point is from
the client, the later the client's packets pass it and the earlier the server's. The difference of
the two delays tells the order without any clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.kernels import kernel
from multitracer.model.paths import NOWHERE, Paths
from multitracer.vantage.clocks import Alignment
from multitracer.vantage.roles import largest

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]

UNKNOWN, LOST, INTACT = -1, 0, 1
_UNSEEN = np.iinfo(np.int64).max


def find_paths(segments: pd.DataFrame, connections: pd.DataFrame, alignment: Alignment) -> Paths:
    """Order the points along each connection, and follow every segment from its first to its last."""
    count = len(connections)
    arrival = np.full(len(segments), NOWHERE, dtype=np.int32)
    arrived = np.full(len(segments), UNKNOWN, dtype=np.int8)
    near, far = _outermost(segments, count, alignment) if len(alignment.clocks) > 1 else _one_point(count)
    _seen_once(segments, connections, alignment, near, far)
    sender_point = np.stack([near, far], axis=1)
    receiver_point = np.stack([far, near], axis=1)
    receiver_point[receiver_point == sender_point] = NOWHERE
    paths = Paths(sender_point, receiver_point, arrival, arrived)
    for (one, other), pairing in list(alignment.pairings.items()):
        _follow(segments, paths, alignment, one, other, pairing.rows, pairing.ambiguous, pairing.in_pieces)
    _at_the_receiver(segments, paths)
    return paths


def _one_point(count: int) -> tuple[Ints, Ints]:
    return np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)


def _outermost(segments: pd.DataFrame, count: int, alignment: Alignment) -> tuple[Ints, Ints]:
    """Per connection the point nearest to the client and the one nearest to the server."""
    points = len(alignment.clocks)
    place = np.full((count, points), np.nan)
    connection = segments["connection"].to_numpy()
    for point, rows in enumerate(alignment.rows):
        seen = np.unique(connection[rows])
        place[seen[seen >= 0], point] = np.inf
    # A point's place is known relative to the first point of its pairing; the reference comes first.
    place[np.isinf(place[:, alignment.reference]), alignment.reference] = 0.0
    for (near, far), pairing in alignment.pairings.items():
        distance = _distance(segments, count, alignment, near, far, pairing.rows)
        known = np.isfinite(place[:, near]) & np.isinf(place[:, far]) & np.isfinite(distance)
        place[known, far] = place[known, near] + distance[known]
    seen_anywhere = ~np.isnan(place).all(axis=1)
    placed = np.where(np.isfinite(place), place, np.nan)
    alone = np.isnan(placed).all(axis=1) & seen_anywhere
    placed[alone] = np.where(np.isinf(place[alone]), 0.0, np.nan)
    nearest = np.argmin(np.where(np.isnan(placed), np.inf, placed), axis=1).astype(np.int64)
    farthest = np.argmax(np.where(np.isnan(placed), -np.inf, placed), axis=1).astype(np.int64)
    return nearest, farthest


def _distance(
    segments: pd.DataFrame, count: int, alignment: Alignment, near: int, far: int, rows: Ints
) -> npt.NDArray[np.float64]:
    """Per connection how much farther from the client `far` is than `near`, in ns; NaN where not known."""
    ours = np.flatnonzero(rows >= 0)
    mine, other = alignment.rows[near][ours], alignment.rows[far][rows[ours]]
    recorded = segments["recorded_ns"].to_numpy()
    delay = recorded[other] - recorded[mine]
    stream = 2 * segments["connection"].to_numpy()[mine].astype(np.int64) + segments["sender"].to_numpy()[mine]
    least = np.full(2 * count, _UNSEEN)
    np.minimum.at(least, stream, delay)
    client, server = least[0::2], least[1::2]
    known = (client != _UNSEEN) & (server != _UNSEEN)
    both = np.where(known, client, 0) / 2 - np.where(known, server, 0) / 2
    # One direction only: the connection goes the same way as most others do.
    usual = float(np.median(both[known])) if known.any() else np.nan
    one_way = (client != _UNSEEN) ^ (server != _UNSEEN)
    return np.where(known, both, np.where(one_way, usual, np.nan))


def _seen_once(
    segments: pd.DataFrame, connections: pd.DataFrame, alignment: Alignment, near: Ints, far: Ints
) -> None:
    """Where one point alone saw a connection, its role tells which end it stands beside."""
    alone = near == far
    if not alone.any() or not len(segments) or not any(role for role in alignment.roles):
        return
    main, sender = largest(segments)
    data_host = host(connections[("client", "server")[sender]].iloc[main])
    other_host = host(connections[("server", "client")[sender]].iloc[main])
    client = np.array([host(end) for end in connections["client"]], dtype=object)
    server = np.array([host(end) for end in connections["server"]], dtype=object)
    for point, role in enumerate(alignment.roles):
        if role is None:
            continue
        beside = data_host if role == "sender" else other_host
        mine = alone & (near == point)
        far[mine & (client == beside)] = NOWHERE
        near[mine & (server == beside) & (client != beside)] = NOWHERE


def host(end: str) -> str:
    """The address of an end, ip:port."""
    return str(end).rpartition(":")[0]


def _follow(
    segments: pd.DataFrame, paths: Paths, alignment: Alignment, one: int, other: int,
    rows: Ints, ambiguous: npt.NDArray[np.bool_], in_pieces: Ints,
) -> None:  # fmt: skip
    """Enter into `paths` what a pairing of two points tells of the segments that pass from one to the other."""
    ours, theirs = alignment.rows[one], alignment.rows[other]
    connection, sender = segments["connection"].to_numpy(), segments["sender"].to_numpy()
    known = connection[ours] >= 0
    leaves = known.copy()
    leaves[known] = _passes(paths, connection[ours[known]], sender[ours[known]], one, other)
    found = leaves & (rows >= 0)
    _enter(segments, paths, ours[found], theirs[rows[found]])
    pieces = leaves & ~found & (in_pieces >= 0)
    paths.arrived[ours[pieces]] = INTACT
    missing = leaves & ~found & ~pieces & ~ambiguous
    _judge_missing(segments, paths, ours[missing], theirs)
    back = np.full(len(theirs), NOWHERE, dtype=np.int64)
    back[rows[rows >= 0]] = np.flatnonzero(rows >= 0)
    known = connection[theirs] >= 0
    returns = known.copy()
    returns[known] = _passes(paths, connection[theirs[known]], sender[theirs[known]], other, one)
    found = returns & (back >= 0)
    _enter(segments, paths, theirs[found], ours[back[found]])
    if not ambiguous.any() and not (in_pieces >= 0).any():
        _judge_missing(segments, paths, theirs[returns & ~found], ours)


def _passes(paths: Paths, connection: Ints, sender: Ints, one: int, other: int) -> npt.NDArray[np.bool_]:
    leaves: npt.NDArray[np.bool_] = (paths.sender_point[connection, sender] == one) & (
        paths.receiver_point[connection, sender] == other
    )
    return leaves


def _enter(segments: pd.DataFrame, paths: Paths, left: Ints, came: Ints) -> None:
    paths.arrival[left] = came
    paths.arrived[left] = np.where(segments["checksum_ok"].to_numpy()[came] == 0, LOST, INTACT)


def _judge_missing(segments: pd.DataFrame, paths: Paths, missing: Ints, theirs: Ints) -> None:
    """A segment that the other capture does not hold was lost, unless that capture may have missed it."""
    if not len(missing) or not len(theirs):
        return
    time_ns = segments["time_ns"].to_numpy()
    first, last = time_ns[theirs].min(), time_ns[theirs].max()
    within = (time_ns[missing] >= first) & (time_ns[missing] <= last)
    paths.arrived[missing[within]] = LOST
    stream = 2 * segments["connection"].to_numpy().astype(np.int64) + segments["sender"].to_numpy()
    for key in np.unique(stream[missing[within]]):
        rows = missing[within & (stream[missing] == key)]
        for start, end in _holes(segments, theirs[(stream[theirs] >> 1) == key >> 1], int(key & 1)):
            seq = segments["seq"].to_numpy()[rows]
            stop = seq + segments["payload_bytes"].to_numpy()[rows]
            paths.arrived[rows[(seq < end) & (stop > start)]] = UNKNOWN


def _holes(segments: pd.DataFrame, rows: Ints, sender: int) -> list[tuple[int, int]]:
    """Ranges of one end's bytes that a capture never held although it holds their acknowledgement."""
    mine = segments["sender"].to_numpy()[rows] == sender
    seq, length = segments["seq"].to_numpy()[rows[mine]], segments["payload_bytes"].to_numpy()[rows[mine]]
    acknowledged = int(segments["ack"].to_numpy()[rows[~mine]].max(initial=-1))
    seq, length = seq[length > 0], length[length > 0]
    if not len(seq):
        return []
    order = np.argsort(seq, kind="stable")
    seq, stop = seq[order], np.maximum.accumulate((seq + length)[order])
    gaps = np.flatnonzero(seq[1:] > stop[:-1])
    # A SYN's and a FIN's number are acknowledged without being data: holes are between data only.
    return [(int(stop[g]), int(seq[g + 1])) for g in gaps if seq[g + 1] <= acknowledged]


def _at_the_receiver(segments: pd.DataFrame, paths: Paths) -> None:
    """What only the receiver's capture holds has arrived, by being there."""
    if (paths.sender_point != NOWHERE).all():
        return
    note_arrived(
        segments["connection"].to_numpy(), segments["sender"].to_numpy(), segments["checksum_ok"].to_numpy(),
        paths.sender_point, paths.arrival, paths.arrived,
    )  # fmt: skip


@kernel
def note_arrived(
    connection: Any, sender: Any, checksum_ok: Any, sender_point: Ints, arrival: Any, arrived: Any
) -> None:  # fmt: skip
    """Note each segment of ends that nobody recorded as its own arrival."""
    for row in range(len(connection)):
        if connection[row] >= 0 and sender_point[connection[row], sender[row]] == NOWHERE:
            arrival[row] = row
            arrived[row] = LOST if checksum_ok[row] == 0 else INTACT
