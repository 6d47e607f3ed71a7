"""Connections and segments from packets: client and server, and relative sequence numbers.

One pass over the packets in file order splits every flow, at every observation point, into connections;
what the points saw of one connection is matched; a second pass turns the 32-bit sequence and
acknowledgement numbers into relative ones, which start at the initial sequence number and do not wrap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.arrays import rows_with
from multitracer.compute.kernels import kernel
from multitracer.compute.threads import concurrently, shares
from multitracer.model.schema import ACK, MARKS, SYN, build
from multitracer.tcp.connection_matching import MatchedConnections, match_connections
from multitracer.tcp.port_reuse import END, FLOW, MASK, NONE, START, split_into_connections

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

CLOSINGS = ("open", "fin", "reset")
STALE_NUMBER = -1
"""Sequence and acknowledgement number of a packet that belongs to an earlier connection on the same ports."""


@dataclass(frozen=True)
class Connections:
    """`connections` and `segments` as in the schema; `sack` has columns segment, left, right (relative) and dsack."""

    connections: pd.DataFrame
    segments: pd.DataFrame
    sack: pd.DataFrame


def find_connections(
    tables: Mapping[str, pd.DataFrame],
    point: npt.NDArray[np.int16] | None = None,
    same_flow: tuple[Ints, Bools] | None = None,
) -> Connections:
    """Find the connection of every packet, and its relative sequence and acknowledgement numbers.

    `tables` are packets, flows, syn_options and sack_blocks. `point` has one element per packet; without it all
    packets were captured at point 0. `same_flow` joins flows across address translation: per flow, the number of the
    flow that it is at another point (its own when it is not translated), and whether its ends are swapped there. Rows
    of `segments` are rows of `packets`.
    """
    packets, flows = tables["packets"], tables["flows"]
    rows = len(packets)
    if point is None:
        point = np.zeros(rows, dtype=np.int16)
    seq, ack = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64)
    local, ends, uses = split_into_connections(packets, tables["syn_options"], len(flows), point, seq, ack)
    repeats = rows_with(packets["link_repeat"].to_numpy(), 1) if "link_repeat" in packets else np.empty(0, dtype=int)
    marks = _marks(rows, repeats, stale=np.flatnonzero(seq == NONE))
    matched = match_connections(ends, uses, same_flow)
    sender = np.empty(rows, dtype=np.int8)
    window = np.empty(rows, dtype=np.int32)
    packet_columns = (packets[name].to_numpy() for name in ("direction", "flags", "raw_window", "payload_bytes"))
    columns = (*packet_columns, local, seq, ack, sender, window)
    connection_columns = (matched.connection, matched.swapped, matched.base, matched.shift)
    concurrently(lambda mine: make_relative(*(column[mine] for column in columns), *connection_columns), shares(rows))
    segments = _segments(packets, point, marks, local, sender, seq, ack, window)
    sack = relative_sack(tables["sack_blocks"], packets, ack)
    return Connections(_connections(flows, uses, matched), segments, sack)


def relative_sack(blocks: pd.DataFrame, packets: pd.DataFrame, ack: Ints) -> pd.DataFrame:
    """SACK blocks with relative edges, and which of them are DSACKs (RFC 2883)."""
    import pandas as pd

    rows = blocks["packet"].to_numpy()
    keep = (packets["flags"].to_numpy()[rows] & ACK) != 0
    rows = rows[keep]
    near, raw_ack = ack[rows], packets["raw_ack"].to_numpy()[rows].astype(np.int64)
    left, right = (
        near + _signed(blocks[name].to_numpy()[keep].astype(np.int64) - raw_ack) for name in ("raw_left", "raw_right")
    )
    dsack = _dsack_blocks(rows, left, right, near)
    return pd.DataFrame({"segment": rows, "left": left, "right": right, "dsack": dsack})


def _dsack_blocks(rows: Ints, left: Ints, right: Ints, ack: Ints) -> Bools:
    """RFC 2883 4: the first block, when it is below the acknowledgement number or inside the second block."""
    if len(rows) == 0:
        return np.zeros(0, dtype=np.bool_)
    first = np.ones(len(rows), dtype=np.bool_)
    first[1:] = rows[1:] != rows[:-1]
    inside = np.zeros(len(rows), dtype=np.bool_)
    inside[:-1] = ~first[1:] & (left[:-1] >= left[1:]) & (right[:-1] <= right[1:])
    duplicate: Bools = first & ((left < ack) | inside)
    return duplicate


def _signed(difference: Ints) -> Ints:
    """A difference of 32-bit numbers as the nearest signed number."""
    return ((difference + (1 << 31)) & MASK) - (1 << 31)


@kernel
def make_relative(
    direction: Any, flags: Any, raw_window: Any, payload_bytes: Any,
    local: Any, seq: Ints, ack: Ints, sender: Any, window: Any,
    connection: Any, swapped: Any, base: Ints, shift: Any,
) -> None:  # fmt: skip
    """Make `seq` and `ack` relative and `local` the connection's number, in place; scale windows.

    A SYN has number 0 whichever of several SYN+ACKs it is, and its data number 1; a stale packet has STALE_NUMBER.

    Per local connection: `connection`, and `swapped` (the client is end b). Per end of it: `base` (the
    number that becomes 0) and `shift` (window scale, -1 unknown). Windows are in bytes, -1 unknown.
    """
    for row in range(len(seq)):
        number = np.int64(local[row])
        side, flag = np.int64(direction[row]), np.int64(flags[row])
        mine, peer = 2 * number + side, 2 * number + 1 - side
        if seq[row] == NONE:
            seq[row] = ack[row] = STALE_NUMBER
        else:
            seq[row] -= base[mine]
            if flag & ACK:
                ack[row] -= base[peer]
            if flag & SYN:
                seq[row] = 1 if payload_bytes[row] > 0 else 0
        sender[row] = side ^ np.int64(swapped[number])
        local[row] = connection[number]
        scale = 0 if flag & SYN or raw_window[row] == 0 else np.int64(shift[mine])
        window[row] = -1 if scale < 0 else np.int64(raw_window[row]) << scale


def _marks(rows: int, repeats: Ints, stale: Ints) -> npt.NDArray[np.uint16]:
    """The marks that a packet and its numbers tell."""
    marks = np.zeros(rows, dtype=np.uint16)
    marks[stale] |= np.uint16(MARKS["stale"])
    marks[repeats] |= np.uint16(MARKS["link_repeat"])
    return marks


def _segments(
    packets: pd.DataFrame, point: Any, marks: Any,
    connection: Any, sender: Any, seq: Ints, ack: Ints, window: Any,
) -> pd.DataFrame:  # fmt: skip
    """The segments table; columns that it shares with packets are the same arrays."""
    same = ("input", "record", "time_ns", "payload_bytes", "flags", "tsval", "tsecr", "options", "ip_id",
            "checksum", "checksum_ok", "wire_bytes")  # fmt: skip
    return build(
        "segments",
        {name: packets[name].to_numpy() for name in same}
        | {
            "point": point, "recorded_ns": packets["time_ns"].to_numpy(),
            "connection": connection, "sender": sender, "seq": seq, "ack": ack, "window_bytes": window,
            "marks": marks,
        },
    )  # fmt: skip


def _connections(flows: pd.DataFrame, uses: Ints, matched: MatchedConnections) -> pd.DataFrame:
    """The connections table; start and end are the times at the point that saw the connection first."""
    use, swapped = uses[matched.first_local], matched.swapped[matched.first_local]
    flow = use[:, FLOW]
    a, b = _endpoints(flows, flow, "a"), _endpoints(flows, flow, "b")
    known, mss = matched.isn_known, matched.mss
    return build(
        "connections",
        {
            "connection": np.arange(len(use)), "flow": flow,
            "client": np.where(swapped, b, a), "server": np.where(swapped, a, b),
            "start_ns": use[:, START], "end_ns": use[:, END],
            "handshake_seen": known[:, 0] & known[:, 1],
            "closed": np.array(CLOSINGS, dtype=object)[matched.closed],
            "isn_known_client": known[:, 0], "isn_known_server": known[:, 1],
            "window_scaled": matched.window_known,
            "mss_client": mss[:, 0], "mss_server": mss[:, 1],
        },
    )  # fmt: skip


def _endpoints(flows: pd.DataFrame, flow: Ints, end: str) -> npt.NDArray[np.object_]:
    """The name, ip:port, of one end of each flow."""
    addresses, ports = (flows[f"{name}_{end}"].to_numpy()[flow].tolist() for name in ("address", "port"))
    names = np.empty(len(flow), dtype=object)
    names[:] = [f"{address}:{port}" for address, port in zip(addresses, ports, strict=True)]
    return names
