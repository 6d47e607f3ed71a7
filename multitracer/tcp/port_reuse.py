"""Port reuse: splitting a flow at one observation point into connections.

A SYN with another initial sequence number on the same port pair opens another connection. A retransmitted
SYN does not, nor does one that the capture recorded late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.arrays import runs
from multitracer.compute.kernels import kernel
from multitracer.model.schema import ACK, FIN, RST, SYN

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]

NONE = -(1 << 62)
"""Unknown sequence number; -1 cannot be used, since relative numbers may be negative."""
MASK = 0xFFFFFFFF
FAR_BACK, FAR_AHEAD = 1 << 16, 1 << 24
"""A SYN that many bytes below or above the highest sequence number seen is outside any window."""

# Columns of `ends`, per end of a local connection (one connection on a flow at one point).
ISN, TOP, LOW, PACKETS, FINS, MSS, WSCALE, END_FIELDS = 0, 1, 2, 3, 4, 5, 6, 7
# Columns of `uses`, per local connection. CLIENT is the direction of the client.
FLOW, POINT, START, END, CLIENT, RESETS, CLOSED, LOCAL_FIELDS = 0, 1, 2, 3, 4, 5, 6, 7
OPEN, BY_FIN, BY_RESET = 0, 1, 2


class PacketColumns(NamedTuple):
    """What is read of the packets: one element per packet."""

    point: Any
    flow: Any
    direction: Any
    flags: Any
    time_ns: Any
    raw_seq: Any
    raw_ack: Any
    payload_bytes: Any


class SynOptions(NamedTuple):
    """The options of the SYNs: one element per row, in order of packet."""

    packet: Any
    mss_bytes: Any
    wscale: Any


class LocalConnections(NamedTuple):
    """The local connections found so far, with room for more."""

    current: Any
    """The open one of each flow at each point, -1 for none."""
    ends: Any
    uses: Any


class Placed(NamedTuple):
    """What is written of each packet: its local connection, and its numbers, unwrapped, but not yet relative."""

    local: Any
    seq: Any
    ack: Any


def split_into_connections(
    packets: pd.DataFrame, options: pd.DataFrame, flows: int, point: Any, seq: Ints, ack: Ints
) -> tuple[Any, Ints, Ints]:
    """Number the local connections; fills `seq` and `ack` with unwrapped numbers, not yet relative.

    Returns the local connection of every packet (int32), `ends` of shape (2 * L, END_FIELDS) and `uses` of
    shape (L, LOCAL_FIELDS), for L local connections.
    """
    names = ("flow", "direction", "flags", "time_ns", "raw_seq", "raw_ack", "payload_bytes")
    columns = PacketColumns(point, *(packets[name].to_numpy() for name in names))
    syns = SynOptions(*(options[name].to_numpy() for name in SynOptions._fields))
    points = int(point.max(initial=0)) + 1
    # A local connection begins with the first packet of a flow at a point, or with a SYN.
    connections = _initial_connections(flows * points, min(len(packets), flows * points + len(options)))
    placed = Placed(np.empty(len(packets), dtype=np.int32), seq, ack)
    found = 0
    for start, stop in in_order_of_time(packets):
        found = split_flows(start, stop, found, flows, columns, syns, connections, placed)
    return placed.local, connections.ends[: 2 * found], connections.uses[:found]


def _initial_connections(flows: int, most: int) -> LocalConnections:
    """Room for `most` local connections on `flows` flows at points."""
    ends = np.full((2 * most, END_FIELDS), NONE, dtype=np.int64)
    ends[:, [PACKETS, FINS]] = 0
    ends[:, [MSS, WSCALE]] = -1
    uses = np.zeros((most, LOCAL_FIELDS), dtype=np.int64)
    return LocalConnections(np.full(flows, -1, dtype=np.int32), ends, uses)


def in_order_of_time(packets: pd.DataFrame) -> list[tuple[int, int]]:
    """(start, stop) rows of each input, the input that began first first (rotated captures)."""
    numbers, time_ns = packets["input"].to_numpy(), packets["time_ns"].to_numpy()
    return sorted(runs(numbers), key=lambda rows: time_ns[rows[0]])


@kernel
def unwrap(reference: int, raw: int) -> int:
    """The number congruent to the 32-bit `raw` (modulo 2**32) that is nearest to `reference`."""
    return reference + ((raw - reference + 0x80000000) & 0xFFFFFFFF) - 0x80000000


@kernel
def opens_new_connection(
    ends: Ints, mine: int, peer: int, closed: bool, answers: bool, raw: int, raw_ack: int
) -> bool:
    """Whether a SYN opens another connection, rather than belonging to the current one.

    `answers`: the SYN carries an ACK. A SYN with the known ISN is a retransmission.
    """
    isn, low, top = ends[mine, ISN], ends[mine, LOW], ends[mine, TOP]
    peer_isn = ends[peer, ISN]
    acknowledges_peer = answers and peer_isn != NONE and ((peer_isn + 1 - raw_ack) & MASK) == 0
    if isn != NONE:
        if ((isn - raw) & MASK) == 0:
            return False
        if acknowledges_peer:  # the server lost its state and answers again
            return False
        ahead = unwrap(top, raw) - top
        return bool(closed or top <= isn + 1 or ahead < -FAR_BACK or ahead > FAR_AHEAD)
    if low != NONE:  # no SYN seen: known by later packets, or by the peer's acknowledgements
        return bool(((low - raw - 1) & MASK) != 0)
    return bool(answers and peer_isn != NONE and not acknowledges_peer)


@kernel
def open_use(
    uses: Ints, number: int, flow: int, point: int, direction: int, flags: int, time_ns: int
) -> None:
    """Enter a local connection. The client is the sender of the SYN, the receiver of the SYN+ACK, or the first seen."""
    answer = (flags & SYN) != 0 and (flags & ACK) != 0
    uses[number, FLOW] = flow
    uses[number, POINT] = point
    uses[number, START] = time_ns
    uses[number, END] = time_ns
    uses[number, CLIENT] = 1 - direction if answer else direction


@kernel
def note_range(ends: Ints, end: int, first: int, top: int, trusted: bool) -> None:
    """Note that sequence numbers `first` to `top` of an end were seen.

    Those of a RST are not trusted, unless nothing else is known.
    """
    if ends[end, TOP] == NONE:
        ends[end, TOP] = top
        if trusted:
            ends[end, LOW] = first
    elif trusted:
        if top > ends[end, TOP]:
            ends[end, TOP] = top
        if ends[end, LOW] == NONE or first < ends[end, LOW]:
            ends[end, LOW] = first


@kernel
def note_syn(ends: Ints, end: int, seq: int) -> None:
    """Note an end's ISN; that of a second SYN replaces it while nothing followed the first."""
    isn = ends[end, ISN]
    if isn == NONE or ends[end, TOP] <= isn + 1:
        ends[end, ISN] = seq
        ends[end, TOP] = max(ends[end, TOP], seq + 1) if isn == NONE else seq + 1


@kernel
def note_close(ends: Ints, uses: Ints, number: int, end: int, flags: int) -> None:
    """Note a FIN or RST; the connection is closed by whichever was first: both FINs, or a RST."""
    if flags & FIN:
        ends[end, FINS] += 1
    if flags & RST:
        uses[number, RESETS] += 1
    if uses[number, CLOSED] == OPEN:
        if flags & RST:
            uses[number, CLOSED] = BY_RESET
        elif ends[2 * number, FINS] > 0 and ends[2 * number + 1, FINS] > 0:
            uses[number, CLOSED] = BY_FIN


@kernel
def is_reused(ends: Ints, uses: Ints, number: int, side: int, answers: bool, seq: int, ack: int) -> bool:
    """Whether a SYN of one side opens a new connection between the ends of connection `number`."""
    mine, peer = 2 * number + side, 2 * number + 1 - side
    closed = uses[number, RESETS] > 0 or ends[mine, FINS] > 0 or ends[peer, FINS] > 0
    return opens_new_connection(ends, mine, peer, closed, answers, seq, ack)


@kernel
def note_syn_options(ends: Ints, end: int, syns: SynOptions, option: int, row: int) -> int:
    """Note the options of the SYN in packet `row`; the first row of `syns`, from `option` on, that is not before it."""
    while option < len(syns.packet) and syns.packet[option] < row:
        option += 1
    if option < len(syns.packet) and syns.packet[option] == row:
        ends[end, MSS] = syns.mss_bytes[option]
        ends[end, WSCALE] = syns.wscale[option]
    return option


@kernel
def split_flows(
    start: int, stop: int, found: int, flows: int,
    packets: PacketColumns, syns: SynOptions, connections: LocalConnections, placed: Placed,
) -> int:  # fmt: skip
    """Place the packets start..stop-1; returns the number of local connections."""
    ends, uses, seq, ack = connections.ends, connections.uses, placed.seq, placed.ack
    option = np.searchsorted(syns.packet, start)
    for row in range(start, stop):
        at = np.uint64(row)
        slot = np.int64(packets.point[at]) * flows + packets.flow[at]
        number = np.int64(connections.current[slot])
        flag, side = np.int64(packets.flags[at]), np.int64(packets.direction[at])
        number_raw, ack_raw = np.int64(packets.raw_seq[at]), np.int64(packets.raw_ack[at])
        answers = (flag & ACK) != 0
        if number < 0 or (flag & SYN and is_reused(ends, uses, number, side, answers, number_raw, ack_raw)):
            number = np.int64(found)
            found += 1
            connections.current[slot] = number
            open_use(uses, number, packets.flow[at], packets.point[at], side, flag, packets.time_ns[at])
        placed.local[at] = number
        uses[number, END] = max(uses[number, END], packets.time_ns[at])
        mine, peer = 2 * number + side, 2 * number + 1 - side
        ends[mine, PACKETS] += 1
        seq[at] = number_raw if ends[mine, TOP] == NONE else unwrap(ends[mine, TOP], number_raw)
        if flag & SYN:
            note_syn(ends, mine, seq[at])
            option = note_syn_options(ends, mine, syns, option, row)
        length = np.int64(packets.payload_bytes[at]) + ((flag & SYN) != 0) + ((flag & FIN) != 0)
        note_range(ends, mine, seq[at], seq[at] + length, (flag & RST) == 0)
        ack[at] = -1
        if answers:
            ack[at] = ack_raw if ends[peer, TOP] == NONE else unwrap(ends[peer, TOP], ack_raw)
            note_range(ends, peer, ack[at], ack[at], (flag & RST) == 0)
        if flag & (FIN | RST):
            note_close(ends, uses, number, mine, flag)
    return found
