"""Port reuse: splitting a flow at one observation point into connections.

A SYN with another initial sequence number (ISN) on the same port pair opens another connection. A retransmitted
SYN does not, also after a RST (RFC 5961 4.2: what answers a challenge), nor does one that the capture recorded late.
SYN+ACKs that answer one SYN belong to one connection, whatever their numbers (SYN cookies, a server that lost its
state). Until a SYN is answered, packets of the connection before it, if it was captured, are still that one's;
acknowledgements and resets of one that was not captured are stale: they have no numbers in the new connection.
docs/connections.md lists the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.arrays import runs
from multitracer.compute.kernels import inlined, kernel
from multitracer.model.schema import ACK, FIN, RST, SYN

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]

NONE = -(1 << 62)
"""Unknown sequence number; -1 cannot be used, since relative numbers may be negative."""
MASK = 0xFFFFFFFF
WINDOW = 1 << 24
"""Numbers further than that many bytes from what an end has sent are hardly in any window of its connection."""
LATE_NS = 1_000_000_000
"""A SYN is sent again after a second at the earliest (RFC 6298 2.1), and no network holds a copy of it that long."""

# Columns of `ends`, per end of a local connection (one connection on a flow at one point). SYN_STOP is the number
# behind the SYN and its data.
ISN, TOP, LOW, PACKETS, FINS, MSS, WSCALE, SYN_STOP, END_FIELDS = 0, 1, 2, 3, 4, 5, 6, 7, 8
# Columns of `uses`, per local connection. CLIENT is the direction of the client; PREVIOUS is the connection before it
# on its flow and point, or -1.
FLOW, POINT, START, END, CLIENT, CLOSED, OPENING, PREVIOUS = 0, 1, 2, 3, 4, 5, 6, 7
# Which end sent the RST that closed it, the RST's number, and the highest number of the other end before it.
RESET_BY, RESET_SEQ, RESET_ACK, LOCAL_FIELDS = 8, 9, 10, 11
OPEN, BY_FIN, BY_RESET = 0, 1, 2
# Values of OPENING: how far the handshake is, as far as it matters; it is over also when nothing is known of it.
OVER, SENT, ANSWERED, ANSWERED_ANEW = 0, 1, 2, 3
# Where a packet belongs, when that is not a local connection: to a new one; to the current one, but stale.
NEW, STALE = -1, -2


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


class Packet(NamedTuple):
    """What decides to which connection a packet belongs."""

    side: Any
    flags: Any
    seq: Any
    ack: Any
    payload_bytes: Any
    time_ns: Any


class LocalConnections(NamedTuple):
    """The local connections found so far, with room for more."""

    current: Any
    """The open one of each flow at each point, -1 for none."""
    ends: Any
    uses: Any


class Placed(NamedTuple):
    """What is written of each packet: its local connection, and its numbers, unwrapped, but not yet relative.

    A stale packet has the number NONE twice.
    """

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
    """Room for `most` local connections on `flows` flows at points; what is never written of it takes no memory."""
    ends, uses = np.empty((2 * most, END_FIELDS), dtype=np.int64), np.zeros((most, LOCAL_FIELDS), dtype=np.int64)
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
def answers_syn(ends: Ints, mine: int, peer: int, ack: int) -> bool:
    """Whether a SYN+ACK of `mine` that acknowledges `ack` answers the peer's SYN, or one that it answered before.

    It acknowledges all, a part or nothing of the data in that SYN (RFC 7413 4.2).
    """
    isn = ends[peer, ISN]
    if isn != NONE:
        return bool(1 <= (ack - isn) & MASK <= ends[peer, SYN_STOP] - isn)
    low = ends[peer, LOW]
    return bool(ends[mine, ISN] != NONE and low != NONE and ((low - ack) & MASK) == 0)


@kernel
def is_repeated(ends: Ints, uses: Ints, number: int, end: int, time_ns: int) -> bool:
    """Whether a SYN with the ISN of an end is its SYN again, and not that of the same transfer made anew (a replay)."""
    used = ends[end, TOP] > ends[end, SYN_STOP] and uses[number, CLOSED] != OPEN
    return not (used and time_ns > uses[number, END] + LATE_NS)


@kernel
def place_syn(ends: Ints, uses: Ints, number: int, packet: Packet) -> int:
    """Where a SYN belongs whose flow has the current connection `number`."""
    mine, peer = 2 * number + packet.side, 2 * number + 1 - packet.side
    isn, low, answers = ends[mine, ISN], ends[mine, LOW], (packet.flags & ACK) != 0
    if isn != NONE and ((isn - packet.seq) & MASK) == 0:
        return number if is_repeated(ends, uses, number, mine, packet.time_ns) else NEW
    if answers and answers_syn(ends, mine, peer, packet.ack):
        return number
    before: Any = np.int64(uses[number, PREVIOUS])
    its_own = 2 * before + packet.side
    if answers and before >= 0 and answers_syn(ends, its_own, its_own ^ 1, packet.ack):
        return before
    if isn != NONE:
        return NEW
    if low != NONE:  # recorded late: known by later packets, or by the peer's acknowledgements
        return number if (low - packet.seq - 1) & MASK <= packet.payload_bytes else NEW
    return STALE if answers and ends[peer, ISN] != NONE else number


@kernel
def continues(ends: Ints, number: int, packet: Packet) -> bool:
    """Whether a packet's numbers are near those of a connection: both, or exactly the one that it has."""
    mine, peer = 2 * number + packet.side, 2 * number + 1 - packet.side
    if ends[mine, TOP] == NONE:
        return False
    seq_off = abs(unwrap(ends[mine, TOP], packet.seq) - ends[mine, TOP])
    if not packet.flags & ACK or ends[peer, TOP] == NONE:
        return bool(seq_off == 0)
    return bool(seq_off < WINDOW and abs(unwrap(ends[peer, TOP], packet.ack) - ends[peer, TOP]) < WINDOW)


@kernel
def follows_syn(ends: Ints, mine: int, peer: int, packet: Packet, room: int) -> bool:
    """Whether a packet of either end can follow the one SYN seen; the sequence numbers of its sender have `room`."""
    if ends[mine, ISN] != NONE:
        return bool((packet.seq - ends[mine, ISN]) & MASK <= ends[mine, SYN_STOP] - ends[mine, ISN] + room)
    if not packet.flags & ACK:
        return (packet.flags & RST) != 0
    return bool(1 <= (packet.ack - ends[peer, ISN]) & MASK <= ends[peer, SYN_STOP] - ends[peer, ISN] + room)


@kernel
def place_after_syn(ends: Ints, uses: Ints, number: int, packet: Packet) -> int:
    """Where a packet without SYN belongs while nothing but the SYN of one end is known of connection `number`."""
    mine, peer = 2 * number + packet.side, 2 * number + 1 - packet.side
    previous: Any = np.int64(uses[number, PREVIOUS])
    names_syn = (packet.flags & ACK) != 0 or ends[mine, ISN] != NONE
    if not (names_syn and follows_syn(ends, mine, peer, packet, 0)):
        if previous >= 0 and continues(ends, previous, packet):
            return previous
        if not follows_syn(ends, mine, peer, packet, WINDOW):
            return STALE if packet.payload_bytes == 0 and not packet.flags & FIN else NEW
    if not packet.flags & RST:
        uses[number, OPENING] = OVER  # the answer to the SYN was not captured, or is recorded late
    return number


@kernel
def note_confirmation(ends: Ints, uses: Ints, number: int, packet: Packet) -> None:
    """Note the acknowledgement that ends the handshake: it tells which of several SYN+ACKs the client took."""
    server = 2 * number + 1 - uses[number, CLIENT]
    if packet.side != uses[number, CLIENT] or packet.flags & (ACK | RST) != ACK:
        return
    taken = unwrap(ends[server, ISN], packet.ack) - 1
    if uses[number, OPENING] == ANSWERED_ANEW and abs(taken - ends[server, ISN]) > WINDOW:
        ends[server, ISN], ends[server, TOP], ends[server, SYN_STOP] = taken, taken + 1, taken + 1
    uses[number, OPENING] = OVER


@kernel
def place(ends: Ints, uses: Ints, number: int, packet: Packet) -> int:
    """Where a packet belongs that has a SYN, or comes while connection `number` is opened: there, NEW or STALE."""
    if packet.flags & SYN:
        return place_syn(ends, uses, number, packet)
    if uses[number, OPENING] == SENT:
        return place_after_syn(ends, uses, number, packet)
    note_confirmation(ends, uses, number, packet)
    return number


@kernel
def open_use(ends: Ints, uses: Ints, number: int, flow: int, point: int, packet: Packet, previous: int) -> None:
    """Enter a local connection. The client is the sender of the SYN, the receiver of the SYN+ACK, or the first seen."""
    for end in range(2 * number, 2 * number + 2):
        ends[end, :] = NONE
        ends[end, PACKETS] = ends[end, FINS] = 0
        ends[end, MSS] = ends[end, WSCALE] = -1
    answer = (packet.flags & SYN) != 0 and (packet.flags & ACK) != 0
    uses[number, FLOW] = flow
    uses[number, POINT] = point
    uses[number, START] = packet.time_ns
    uses[number, END] = packet.time_ns
    uses[number, CLIENT] = 1 - packet.side if answer else packet.side
    uses[number, PREVIOUS] = previous
    if packet.flags & SYN:
        uses[number, OPENING] = ANSWERED if answer else SENT


@inlined
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
def note_syn(ends: Ints, uses: Ints, number: int, end: int, seq: int, packet: Packet) -> None:
    """Note an end's ISN; that of another SYN+ACK replaces it until the client acknowledges one, or data follow."""
    isn, opening = ends[end, ISN], uses[number, OPENING]
    if opening == SENT and (packet.flags & ACK or ends[end ^ 1, ISN] != NONE):
        uses[number, OPENING] = ANSWERED
    if isn == NONE or (seq != isn and opening >= ANSWERED and ends[end, TOP] <= ends[end, SYN_STOP]):
        if isn != NONE:
            uses[number, OPENING] = ANSWERED_ANEW
        ends[end, ISN] = seq
        ends[end, SYN_STOP] = seq + 1 + packet.payload_bytes
        ends[end, TOP] = max(ends[end, TOP], seq + 1) if isn == NONE else seq + 1


@kernel
def note_close(ends: Ints, uses: Ints, number: int, end: int, flags: int, seq: int) -> None:
    """Note a FIN or RST; the connection is closed by whichever was first: both FINs, or a RST."""
    if flags & FIN:
        ends[end, FINS] += 1
    if uses[number, CLOSED] == OPEN:
        if flags & RST:
            uses[number, CLOSED] = BY_RESET
            uses[number, RESET_BY], uses[number, RESET_SEQ] = end, seq
            uses[number, RESET_ACK] = ends[end ^ 1, TOP]
        elif ends[2 * number, FINS] > 0 and ends[2 * number + 1, FINS] > 0:
            uses[number, CLOSED] = BY_FIN


@kernel
def outlives_reset(ends: Ints, uses: Ints, number: int, end: int, packet: Packet, seq: int, ack: int) -> bool:
    """Whether a packet shows that the RST before it closed nothing: it was forged, or not taken (RFC 5961 3.2).

    The end that resets a connection sends nothing more (RFC 9293 3.10.7): its later octets, and what it acknowledges of
    later octets, are of a connection that lives. A SYN sent again opens what the RST refused.
    """
    if packet.flags & SYN:
        return bool(ends[end, TOP] <= ends[end, SYN_STOP])
    if end != uses[number, RESET_BY] or packet.flags & (ACK | RST) != ACK:
        return False
    sends_on = packet.payload_bytes > 0 and seq >= uses[number, RESET_SEQ]
    return bool(sends_on or (uses[number, RESET_ACK] != NONE and ack > uses[number, RESET_ACK]))


@kernel
def note_syn_options(ends: Ints, end: int, syns: SynOptions, option: int, row: int) -> int:
    """Note the options of the SYN in packet `row`; the first row of `syns`, from `option` on, that is not before it."""
    while option < len(syns.packet) and syns.packet[option] < row:
        option += 1
    if option < len(syns.packet) and syns.packet[option] == row:
        ends[end, MSS] = syns.mss_bytes[option]
        ends[end, WSCALE] = syns.wscale[option]
    return option


@inlined
def note_numbers(connections: LocalConnections, number: int, packet: Packet, seq: Ints, ack: Ints, at: int) -> None:
    """Unwrap a packet's numbers, and note what they tell of both ends of its connection."""
    ends, uses = connections.ends, connections.uses
    mine, peer = np.uint64(2 * number + packet.side), np.uint64(2 * number + 1 - packet.side)
    trusted = (packet.flags & RST) == 0
    seq[at] = packet.seq if ends[mine, TOP] == NONE else unwrap(ends[mine, TOP], packet.seq)
    if packet.flags & SYN:
        note_syn(ends, uses, number, mine, seq[at], packet)
    length = packet.payload_bytes + ((packet.flags & SYN) != 0) + ((packet.flags & FIN) != 0)
    note_range(ends, mine, seq[at], seq[at] + length, trusted)
    ack[at] = -1
    if packet.flags & ACK:
        ack[at] = packet.ack if ends[peer, TOP] == NONE else unwrap(ends[peer, TOP], packet.ack)
        note_range(ends, peer, ack[at], ack[at], trusted)
    if uses[number, CLOSED] == BY_RESET and outlives_reset(ends, uses, number, mine, packet, seq[at], ack[at]):
        uses[number, CLOSED] = OPEN
    if packet.flags & (FIN | RST):
        note_close(ends, uses, number, mine, packet.flags, seq[at])


@kernel
def split_flows(
    start: int, stop: int, found: int, flows: int,
    packets: PacketColumns, syns: SynOptions, connections: LocalConnections, placed: Placed,
) -> int:  # fmt: skip
    """Place the packets start..stop-1; returns the number of local connections."""
    ends, uses = connections.ends, connections.uses
    option = np.searchsorted(syns.packet, start)
    for row in range(start, stop):
        at = np.uint64(row)
        slot = np.uint64(np.int64(packets.point[at]) * flows + packets.flow[at])
        current = np.int64(connections.current[slot])
        packet = Packet(
            np.int64(packets.direction[at]), np.int64(packets.flags[at]), np.int64(packets.raw_seq[at]),
            np.int64(packets.raw_ack[at]), np.int64(packets.payload_bytes[at]), packets.time_ns[at],
        )  # fmt: skip
        number = current
        if current >= 0 and (packet.flags & SYN or uses[np.uint64(current), OPENING] != OVER):
            number = np.int64(place(ends, uses, current, packet))
        if number == NEW:
            number = np.int64(found)
            found += 1
            open_use(ends, uses, number, packets.flow[at], packets.point[at], packet, current)
        stale = number == STALE
        number = current if stale else number
        mine = np.uint64(number)
        if number > current or (uses[mine, OPENING] == SENT and uses[np.uint64(current), OPENING] != SENT):
            connections.current[slot] = number
        placed.local[at] = number
        uses[mine, END] = max(uses[mine, END], packet.time_ns)
        ends[np.uint64(2 * number + packet.side), PACKETS] += 1
        if packet.flags & SYN:
            option = note_syn_options(ends, 2 * number + packet.side, syns, option, row)
        if stale:
            placed.seq[at] = placed.ack[at] = NONE
        else:
            note_numbers(connections, number, packet, placed.seq, placed.ack, at)
    return found
