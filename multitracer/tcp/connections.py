"""Packets become connections and segments: who talks to whom, and each number's place in its stream.

One pass over the packets in file order splits every flow, at every observation point, into
connections; what the points saw of one connection is joined; a second pass turns the 32-bit fields
into numbers that start at the initial sequence number and never wrap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.kernels import kernel
from multitracer.compute.threads import concurrently, shares
from multitracer.model.schema import ACK, MARKS, SYN, build
from multitracer.tcp.connection_matching import Joined, join_points
from multitracer.tcp.port_reuse import END, FLOW, MASK, START, split

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

CLOSINGS = ("open", "fin", "reset")


@dataclass(frozen=True)
class Connections:
    """`connections` and `segments` as in the schema; `sack` holds segment, left, right, dsack."""

    connections: pd.DataFrame
    segments: pd.DataFrame
    sack: pd.DataFrame


def find_connections(
    tables: Mapping[str, pd.DataFrame],
    point: npt.NDArray[np.int16] | None = None,
    captured_twice: Bools | None = None,
    same_flow: tuple[Ints, Bools] | None = None,
) -> Connections:
    """Tell which connection every packet belongs to, and where in it.

    `point` and `captured_twice` have one element per packet; without them all packets were seen
    once at point 0. `same_flow` joins flows across address translation: per flow, the number of
    the flow that it is elsewhere (itself, if it is not translated) and whether its ends are swapped
    there. Rows of `segments` are rows of `packets`.
    """
    packets, flows = tables["packets"], tables["flows"]
    rows = len(packets)
    if point is None:
        point = np.zeros(rows, dtype=np.int16)
    if captured_twice is None:
        captured_twice = np.zeros(rows, dtype=np.bool_)
    seq, ack = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64)
    local, ends, uses = split(packets, tables["syn_options"], len(flows), point, seq, ack)
    joined = join_points(ends, uses, same_flow)
    sender = np.empty(rows, dtype=np.int8)
    window = np.empty(rows, dtype=np.int32)
    taken = (packets[name].to_numpy() for name in ("direction", "flags", "raw_window"))
    columns = (*taken, local, seq, ack, sender, window)
    learnt = (joined.connection, joined.swapped, joined.base, joined.shift)
    concurrently(lambda mine: place_segments(*(column[mine] for column in columns), *learnt), shares(rows))
    segments = _segments(packets, point, captured_twice, local, sender, seq, ack, window)
    sack = relative_sack(tables["sack_blocks"], packets, ack)
    return Connections(_connections(flows, uses, joined), segments, sack)


def relative_sack(blocks: pd.DataFrame, packets: pd.DataFrame, ack: Ints) -> pd.DataFrame:
    """SACK blocks as relative edges, and which of them are duplicate reports (RFC 2883)."""
    import pandas as pd

    rows = blocks["packet"].to_numpy()
    keep = (packets["flags"].to_numpy()[rows] & ACK) != 0
    rows = rows[keep]
    near, raw_ack = ack[rows], packets["raw_ack"].to_numpy()[rows].astype(np.int64)
    left, right = (
        near + _signed(blocks[name].to_numpy()[keep].astype(np.int64) - raw_ack)
        for name in ("raw_left", "raw_right")
    )
    dsack = _duplicate_reports(rows, left, right, near)
    return pd.DataFrame({"segment": rows, "left": left, "right": right, "dsack": dsack})


def _duplicate_reports(rows: Ints, left: Ints, right: Ints, ack: Ints) -> Bools:
    """RFC 2883 4: the first block, when it is acknowledged already or lies inside the second."""
    if len(rows) == 0:
        return np.zeros(0, dtype=np.bool_)
    first = np.ones(len(rows), dtype=np.bool_)
    first[1:] = rows[1:] != rows[:-1]
    inside = np.zeros(len(rows), dtype=np.bool_)
    inside[:-1] = ~first[1:] & (left[:-1] >= left[1:]) & (right[:-1] <= right[1:])
    duplicate: Bools = first & ((left < ack) | inside)
    return duplicate


def _signed(difference: Ints) -> Ints:
    """A difference of 32-bit numbers as the nearest signed one."""
    return ((difference + (1 << 31)) & MASK) - (1 << 31)


@kernel
def place_segments(
    direction: Any, flags: Any, raw_window: Any, local: Any, seq: Ints, ack: Ints, sender: Any, window: Any,
    connection: Any, swapped: Any, base: Ints, shift: Any,
) -> None:  # fmt: skip
    """Make `seq` and `ack` relative and `local` the connection's number, in place; scale windows.

    Per local connection: `connection`, and `swapped` (the client is end b); per end of it: `base`
    (what becomes 0) and `shift` (window scale, -1 unknown).
    """
    for row in range(len(seq)):
        number = np.int64(local[row])
        side, flag = np.int64(direction[row]), np.int64(flags[row])
        mine, peer = 2 * number + side, 2 * number + 1 - side
        seq[row] -= base[mine]
        if flag & ACK:
            ack[row] -= base[peer]
        sender[row] = side ^ np.int64(swapped[number])
        local[row] = connection[number]
        scale = 0 if flag & SYN or raw_window[row] == 0 else np.int64(shift[mine])
        window[row] = -1 if scale < 0 else np.int64(raw_window[row]) << scale


def _segments(
    packets: pd.DataFrame, point: Any, captured_twice: Bools,
    connection: Any, sender: Any, seq: Ints, ack: Ints, window: Any,
) -> pd.DataFrame:  # fmt: skip
    """The segments table; columns that packets have too are the same arrays."""
    same = ("input", "record", "time_ns", "payload_bytes", "flags", "tsval", "tsecr", "options", "ip_id",
            "checksum", "checksum_ok", "wire_bytes")  # fmt: skip
    return build(
        "segments",
        {name: packets[name].to_numpy() for name in same}
        | {
            "point": point, "recorded_ns": packets["time_ns"].to_numpy(),
            "connection": connection, "sender": sender, "seq": seq, "ack": ack, "window_bytes": window,
            "marks": captured_twice * np.uint16(MARKS["captured_twice"]),
        },
    )  # fmt: skip


def _connections(flows: pd.DataFrame, uses: Ints, joined: Joined) -> pd.DataFrame:
    """The connections table; times are those of the point that saw each first."""
    use, swapped = uses[joined.lead], joined.swapped[joined.lead]
    flow = use[:, FLOW]
    a, b = _endpoints(flows, flow, "a"), _endpoints(flows, flow, "b")
    known, mss = joined.isn_known, joined.mss
    return build(
        "connections",
        {
            "connection": np.arange(len(use)), "flow": flow,
            "client": np.where(swapped, b, a), "server": np.where(swapped, a, b),
            "start_ns": use[:, START], "end_ns": use[:, END],
            "handshake_seen": known[:, 0] & known[:, 1],
            "closed": np.array(CLOSINGS, dtype=object)[joined.closed],
            "isn_known_client": known[:, 0], "isn_known_server": known[:, 1],
            "window_scaled": joined.window_known,
            "mss_client": mss[:, 0], "mss_server": mss[:, 1],
        },
    )  # fmt: skip


def _endpoints(flows: pd.DataFrame, flow: Ints, end: str) -> npt.NDArray[np.object_]:
    """The name, ip:port, of one end of each of the flows."""
    addresses, ports = flows[f"address_{end}"].to_numpy()[flow], flows[f"port_{end}"].to_numpy()[flow]
    names = np.empty(len(flow), dtype=object)
    names[:] = [f"{address}:{port}" for address, port in zip(addresses, ports, strict=True)]
    return names
