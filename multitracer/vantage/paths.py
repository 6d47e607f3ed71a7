"""Where each end's segments were seen leaving and arriving, and which of them arrived.

The observation points along a connection's path are ordered: the farther a point is from the client, the
later it sees the client's packets and the earlier the server's. The difference of the two delays gives the
order, independently of the clocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.kernels import kernel
from multitracer.compute.threads import concurrently, shares
from multitracer.model.paths import NOWHERE, Paths
from multitracer.vantage.clocks import Alignment
from multitracer.vantage.roles import largest

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]

UNKNOWN, LOST, INTACT = -1, 0, 1
_NO_DELAY, _NEVER = np.iinfo(np.int64).max, np.iinfo(np.int64).min


def find_paths(segments: pd.DataFrame, connections: pd.DataFrame, alignment: Alignment) -> Paths:
    """Order the points along each connection's path, and find each segment's arrival at the last of them."""
    count = len(connections)
    arrival = np.full(len(segments), NOWHERE, dtype=np.int32)
    arrived = np.full(len(segments), UNKNOWN, dtype=np.int8)
    near, far = _nearest_points(segments, count, alignment) if len(alignment.clocks) > 1 else _one_point(count)
    _apply_roles(segments, connections, alignment, near, far)
    sender_point = np.stack([near, far], axis=1)
    receiver_point = np.stack([far, near], axis=1)
    receiver_point[receiver_point == sender_point] = NOWHERE
    paths = Paths(sender_point, receiver_point, arrival, arrived)
    for (one, other), pairing in list(alignment.pairings.items()):
        _note_pairing(segments, paths, alignment, one, other, pairing.rows, pairing.ambiguous, pairing.in_pieces)
    _note_receiver_only(segments, paths)
    return paths


def _one_point(count: int) -> tuple[Ints, Ints]:
    return np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)


def _nearest_points(segments: pd.DataFrame, count: int, alignment: Alignment) -> tuple[Ints, Ints]:
    """Per connection the point nearest to the client and the one nearest to the server."""
    points = len(alignment.clocks)
    position = np.full((count, points), np.nan)
    connection = segments["connection"].to_numpy()
    for point, rows in enumerate(alignment.rows):
        seen = np.unique(connection[rows])
        position[seen[seen >= 0], point] = np.inf
    # Positions (ns) are relative to the first point of a pairing, and the reference is placed first.
    position[np.isinf(position[:, alignment.reference]), alignment.reference] = 0.0
    for (near, far), pairing in alignment.pairings.items():
        distance = _distances(segments, count, alignment, near, far, pairing.rows)
        known = np.isfinite(position[:, near]) & np.isinf(position[:, far]) & np.isfinite(distance)
        position[known, far] = position[known, near] + distance[known]
    seen_anywhere = ~np.isnan(position).all(axis=1)
    placed = np.where(np.isfinite(position), position, np.nan)
    alone = np.isnan(placed).all(axis=1) & seen_anywhere
    placed[alone] = np.where(np.isinf(position[alone]), 0.0, np.nan)
    nearest = np.argmin(np.where(np.isnan(placed), np.inf, placed), axis=1).astype(np.int64)
    farthest = np.argmax(np.where(np.isnan(placed), -np.inf, placed), axis=1).astype(np.int64)
    return nearest, farthest


def _distances(
    segments: pd.DataFrame, count: int, alignment: Alignment, near: int, far: int, rows: Ints
) -> npt.NDArray[np.float64]:
    """Per connection how much farther from the client `far` is than `near` (ns); NaN when unknown."""
    ours = np.flatnonzero(rows >= 0)
    mine, other = alignment.rows[near][ours], alignment.rows[far][rows[ours]]
    recorded = segments["recorded_ns"].to_numpy()
    delay = recorded[other] - recorded[mine]
    stream = 2 * segments["connection"].to_numpy()[mine].astype(np.int64) + segments["sender"].to_numpy()[mine]
    least = np.full(2 * count, _NO_DELAY)
    np.minimum.at(least, stream, delay)
    client, server = least[0::2], least[1::2]
    known = (client != _NO_DELAY) & (server != _NO_DELAY)
    both = np.where(known, client, 0) / 2 - np.where(known, server, 0) / 2
    # Packets of one direction only: assume the order that most connections have.
    usual = float(np.median(both[known])) if known.any() else np.nan
    one_way = (client != _NO_DELAY) ^ (server != _NO_DELAY)
    return np.where(known, both, np.where(one_way, usual, np.nan))


def _apply_roles(
    segments: pd.DataFrame, connections: pd.DataFrame, alignment: Alignment, near: Ints, far: Ints
) -> None:
    """Where one point alone saw a connection, its role gives the end that it is beside."""
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
    """The address of an end, which is ip:port."""
    return str(end).rpartition(":")[0]


def path_numbers(connections: pd.DataFrame, flows: pd.DataFrame, ends: Ints) -> Ints:
    """A number for each end (2 * connection + sender): the same where data goes from the same host to the same other.

    A tunnel tells hosts with one private address apart. The numbers are those of one call: another one may number the
    same paths otherwise.
    """
    connection, sender = np.divmod(ends, 2)
    used, which = np.unique(connection, return_inverse=True)
    tunnels = flows["tunnel"].to_numpy()[connections["flow"].to_numpy()[used]].tolist()
    codes_of: dict[tuple[str, str], int] = {}
    codes = [
        [codes_of.setdefault((host(name), tunnel), len(codes_of)) for name, tunnel in zip(names, tunnels, strict=True)]
        for names in (connections[side].to_numpy()[used].tolist() for side in ("client", "server"))
    ]
    client, server = (np.array(code, dtype=np.int64)[which] for code in codes)
    numbers: Ints = np.where(sender == 0, client << 32 | server, server << 32 | client)
    return numbers


def _note_pairing(
    segments: pd.DataFrame, paths: Paths, alignment: Alignment, one: int, other: int,
    rows: Ints, ambiguous: npt.NDArray[np.bool_], in_pieces: Ints,
) -> None:  # fmt: skip
    """Enter into `paths` the arrivals and losses between two points that a pairing shows, in both directions."""
    ours, theirs = alignment.rows[one], alignment.rows[other]
    connection, sender = segments["connection"].to_numpy(), segments["sender"].to_numpy()
    known = connection[ours] >= 0
    leaves = known.copy()
    leaves[known] = _goes_between(paths, connection[ours[known]], sender[ours[known]], one, other)
    found = leaves & (rows >= 0)
    _note_arrival(segments, paths, ours[found], theirs[rows[found]])
    pieces = leaves & ~found & (in_pieces >= 0)
    paths.arrived[ours[pieces]] = INTACT
    missing = leaves & ~found & ~pieces & ~ambiguous
    _note_missing(segments, paths, ours[missing], theirs, (ours[found], theirs[rows[found]]))
    reverse_rows = np.full(len(theirs), NOWHERE, dtype=np.int64)
    reverse_rows[rows[rows >= 0]] = np.flatnonzero(rows >= 0)
    known = connection[theirs] >= 0
    returns = known.copy()
    returns[known] = _goes_between(paths, connection[theirs[known]], sender[theirs[known]], other, one)
    found = returns & (reverse_rows >= 0)
    _note_arrival(segments, paths, theirs[found], ours[reverse_rows[found]])
    if not ambiguous.any() and not (in_pieces >= 0).any():
        _note_missing(segments, paths, theirs[returns & ~found], ours, (theirs[found], ours[reverse_rows[found]]))


def _goes_between(paths: Paths, connection: Ints, sender: Ints, one: int, other: int) -> npt.NDArray[np.bool_]:
    leaves: npt.NDArray[np.bool_] = (paths.sender_point[connection, sender] == one) & (
        paths.receiver_point[connection, sender] == other
    )
    return leaves


def _note_arrival(segments: pd.DataFrame, paths: Paths, left: Ints, arrivals: Ints) -> None:
    paths.arrival[left] = arrivals
    paths.arrived[left] = np.where(segments["checksum_ok"].to_numpy()[arrivals] == 0, LOST, INTACT)


def _note_missing(
    segments: pd.DataFrame, paths: Paths, missing: Ints, theirs: Ints, arrivals: tuple[Ints, Ints]
) -> None:
    """A segment that the other capture does not hold was lost, unless that capture may have missed it.

    `arrivals` are the rows of those that arrived, where they left and where they came.
    """
    if not len(missing) or not len(theirs):
        return
    time_ns = segments["time_ns"].to_numpy()
    within = _due_while_captured(time_ns[missing], time_ns[theirs], *(time_ns[rows] for rows in arrivals))
    paths.arrived[missing[within]] = LOST
    stream = 2 * segments["connection"].to_numpy().astype(np.int64) + segments["sender"].to_numpy()
    for key in np.unique(stream[missing[within]]):
        rows = missing[within & (stream[missing] == key)]
        for start, end in _holes(segments, theirs[(stream[theirs] >> 1) == key >> 1], int(key & 1)):
            seq = segments["seq"].to_numpy()[rows]
            stop = seq + segments["payload_bytes"].to_numpy()[rows]
            paths.arrived[rows[(seq < end) & (stop > start)]] = UNKNOWN


def _due_while_captured(sent: Ints, captured: Ints, left: Ints, came: Ints) -> npt.NDArray[np.bool_]:
    """Whether packets sent at these times would have come while the other capture ran.

    They were sent before one that came, or long enough before its end for the slowest: the error of the clocks is in
    the delays too, and so does not matter.
    """
    delay = came - left if len(came) else np.zeros(1, dtype=np.int64)
    begun = sent + delay.min() >= captured.min()
    result: npt.NDArray[np.bool_] = begun & (
        (sent <= left.max(initial=_NEVER)) | (sent + delay.max() <= captured.max())
    )
    return result


def _holes(segments: pd.DataFrame, rows: Ints, sender: int) -> list[tuple[int, int]]:
    """Ranges of one end's bytes that a capture holds the acknowledgement of, but not the data."""
    mine = segments["sender"].to_numpy()[rows] == sender
    seq, length = segments["seq"].to_numpy()[rows[mine]], segments["payload_bytes"].to_numpy()[rows[mine]]
    acknowledged = int(segments["ack"].to_numpy()[rows[~mine]].max(initial=-1))
    seq, length = seq[length > 0], length[length > 0]
    if not len(seq):
        return []
    order = np.argsort(seq, kind="stable")
    seq, stop = seq[order], np.maximum.accumulate((seq + length)[order])
    gaps = np.flatnonzero(seq[1:] > stop[:-1])
    # SYN and FIN consume sequence numbers without data: only gaps between data are holes.
    return [(int(stop[g]), int(seq[g + 1])) for g in gaps if seq[g + 1] <= acknowledged]


def _note_receiver_only(segments: pd.DataFrame, paths: Paths) -> None:
    """Segments that only the receiver's capture could hold have arrived."""
    if (paths.sender_point != NOWHERE).all():
        return
    columns = [segments[name].to_numpy() for name in ("connection", "sender", "checksum_ok")]
    columns += [paths.arrival, paths.arrived]
    concurrently(
        lambda rows: note_arrived(rows.start, *(column[rows] for column in columns), paths.sender_point),
        shares(len(segments)),
    )


@kernel
def note_arrived(
    first: int, connection: Any, sender: Any, checksum_ok: Any, arrival: Any, arrived: Any, sender_point: Ints
) -> None:  # fmt: skip
    """Mark each segment of ends without a capture beside them as its own arrival; row 0 here is row `first` of all."""
    for row in range(len(connection)):
        if connection[row] >= 0 and sender_point[connection[row], sender[row]] == NOWHERE:
            arrival[row] = first + row
            arrived[row] = LOST if checksum_ok[row] == 0 else INTACT
