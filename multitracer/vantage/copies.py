"""Packets that a capture holds several times: those of a mirror port, a bridge, both sides of a router.

A copy is equal in all that a packet says of itself. That it is no second transmission is proven by the sender: each
of its packets is seen to have another IP ID (which RFC 6864 4.1 leaves to it), or its clock has moved on since (RFC
7323 5.4: what is sent again bears the time at which it is sent again), or nothing can have made it send again so soon.
Where none of these is known, the delays of all such pairs decide, or nothing does, and both packets count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.arrays import runs
from multitracer.compute.kernels import inlined, kernel
from multitracer.compute.threads import concurrently, shares
from multitracer.model.schema import ACK, FIN, OPTION_TIMESTAMPS, SYN
from multitracer.vantage.copy_delays import (
    LONGEST_NS,
    OPEN,
    PROVEN,
    REPEATED,
    STEADY_NS,
    DelayLimits,
    PacketFields,
    Pairs,
    There,
    settled,
)
from multitracer.wire.octets import hash_pair

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

REACH_RECORDS = 8192
"""A copy follows its packet within so many records; a power of two."""
_SLOTS = 16 * REACH_RECORDS
_MOST_TTL = 255


@dataclass(frozen=True)
class Copies:
    """`twice`, shape (packets,), tells which packets were there before; the counts are by (input, place).

    `undecided` counts packets with data that may be copies or not, and count as packets.
    """

    twice: Bools
    counts: dict[tuple[int, int], int]
    undecided: dict[tuple[int, int], int]


class Recent(NamedTuple):
    """The last records by hash: the newest of each slot, and for each the one before it in its slot."""

    newest: Any
    before: Any
    hashed: Any


class Senders(NamedTuple):
    """Per sender: the last new packet's IP ID and place, how many new ones, ID changes among them, their least TTL.

    And while pairs are judged the newest TSval and the row of the last packet.
    """

    last_id: Any
    last_place: Any
    packets: Any
    changes: Any
    ttl: Any
    tsval: Any
    row: Any


def find_copies(packets: pd.DataFrame, flows: int, place: Any = None, limits: DelayLimits | None = None) -> Copies:
    """Find the packets that were captured before at the same place.

    `place` tells apart what one interface saw at several places; without it, it is the interface. The packets in frames
    that a link repeated are among them, and are not counted.
    """
    place = packets["interface"].to_numpy() if place is None else place
    repeat = packets["link_repeat"].to_numpy() == 1
    if not repeat.any():
        return _find_copies(packets, flows, place, limits or DelayLimits())
    once = packets[~repeat].reset_index(drop=True)
    found = _find_copies(once, flows, place[~repeat], limits or DelayLimits())
    repeat[~repeat] = found.twice
    return replace(found, twice=repeat)


def _find_copies(packets: pd.DataFrame, flows: int, place: Any, limits: DelayLimits) -> Copies:
    others = (packets[name].to_numpy() for name in PacketFields._fields[1:])
    fields, number = PacketFields(place, *others), packets["input"].to_numpy()
    twice = np.zeros(len(packets), dtype=np.bool_)
    counts: dict[tuple[int, int], int] = {}
    undecided: dict[tuple[int, int], int] = {}
    for start, stop in runs(number):
        pairs = _judged(_equal_pairs(fields, start, stop), fields, start, stop, flows)
        for here, one in _by_place(pairs, place):
            rows, unclear = settled(one, fields, There(fields, here, slice(start, stop)), limits)
            twice[rows] = True
            key = int(number[start]), here
            counts[key], undecided[key] = counts.get(key, 0) + len(rows), undecided.get(key, 0) + unclear
    return Copies(twice, counts, undecided)


def _by_place(pairs: Pairs, place: Any) -> list[tuple[int, Pairs]]:
    if not len(pairs.after):
        return []
    here = place[pairs.after]
    if here.min() == here.max():
        return [(int(here[0]), pairs)]
    return [(int(one), Pairs(*(part[here == one] for part in pairs))) for one in np.unique(here)]


def _equal_pairs(fields: PacketFields, start: int, stop: int) -> Pairs:
    """All packets that repeat an earlier one within reach, each with the nearest one that it repeats."""
    after, before = (np.empty(stop - start, dtype=np.int32) for _ in range(2))  # unwritten pages take no memory
    parts = shares(stop - start)

    def find(part: slice) -> int:
        recent = Recent(
            np.full(_SLOTS, -1, dtype=np.int32), np.full(REACH_RECORDS, -1, dtype=np.int32),
            np.zeros(REACH_RECORDS, dtype=np.int64),
        )  # fmt: skip
        first, end = start + part.start, start + part.stop
        return int(find_equal(fields, max(start, first - REACH_RECORDS), first, end, recent, after[part], before[part]))

    found = concurrently(find, parts)
    pieces = [slice(part.start, part.start + count) for part, count in zip(parts, found, strict=True)]
    one, other = (_joined(rows, pieces) for rows in (after, before))
    return Pairs(one, other, np.zeros(len(one), dtype=np.uint8))


def _joined(rows: Any, pieces: Sequence[slice]) -> Any:
    return rows[pieces[0]] if len(pieces) == 1 else np.concatenate([rows[piece] for piece in pieces])


@inlined
def packet_hash(fields: PacketFields, row: int) -> int:
    """A hash of what differs from packet to packet."""
    checksum = np.int64(0) if fields.flags[row] & SYN else np.int64(fields.checksum[row])
    upper = checksum << 15 ^ np.int64(fields.ip_id[row]) ^ np.int64(fields.flow[row]) << 3
    return int(hash_pair(np.int64(fields.raw_seq[row]) ^ np.int64(fields.raw_ack[row]) << 1, upper))


@inlined
def equal_packets(fields: PacketFields, one: int, other: int) -> bool:
    """Whether two packets at one place are equal in all that a router leaves alone.

    Of a SYN a router may lower the maximum segment size (RFC 4459 3.2), which changes its checksum.
    """
    clamped = fields.flags[one] & SYN and fields.ttl[one] != fields.ttl[other]
    return bool(
        fields.raw_seq[one] == fields.raw_seq[other]
        and fields.raw_ack[one] == fields.raw_ack[other]
        and (clamped or fields.checksum[one] == fields.checksum[other])
        and fields.ip_id[one] == fields.ip_id[other]
        and fields.payload_bytes[one] == fields.payload_bytes[other]
        and fields.flags[one] == fields.flags[other]
        and fields.raw_window[one] == fields.raw_window[other]
        and fields.tsval[one] == fields.tsval[other]
        and fields.tsecr[one] == fields.tsecr[other]
        and fields.flow[one] == fields.flow[other]
        and fields.direction[one] == fields.direction[other]
        and fields.place[one] == fields.place[other]
    )


@kernel
def find_equal(fields: PacketFields, warm: int, start: int, stop: int, recent: Recent, after: Any, before: Any) -> int:
    """Fill `after` and `before` with the rows of equal packets, `after` from `start` on; returns their number.

    The rows from `warm` on are only remembered.
    """
    count = 0
    for row in range(warm, stop):
        hashed = packet_hash(fields, np.uint64(row))
        slot, place = np.uint64(hashed & (_SLOTS - 1)), np.uint64(row & (REACH_RECORDS - 1))
        earlier = np.int64(recent.newest[slot])
        if row >= start:
            at = earlier
            while at >= 0 and at > row - REACH_RECORDS:
                if recent.hashed[at & (REACH_RECORDS - 1)] == hashed and equal_packets(fields, at, row):
                    after[count], before[count] = row, at
                    count += 1
                    break
                at = np.int64(recent.before[at & (REACH_RECORDS - 1)])
        recent.before[place], recent.hashed[place] = earlier, hashed
        recent.newest[slot] = row
    return count


def _judged(pairs: Pairs, fields: PacketFields, start: int, stop: int, flows: int) -> Pairs:
    """The pairs with what the sender's IP IDs and timestamps say of them."""
    if len(pairs.after):
        none, zero = (np.full(2 * flows, value, dtype=np.int32) for value in (-1, 0))
        newest, row = (np.full(2 * flows, -1, dtype=np.int64) for _ in range(2))
        least = np.full(2 * flows, _MOST_TTL, dtype=np.int16)
        senders = Senders(none, none.copy(), zero, zero.copy(), least, newest, row)
        watch_ids(fields, start, stop, pairs.after, senders)
        judge(fields, start, stop, pairs.after, pairs.before, senders, pairs.verdict)
    return pairs


@kernel
def watch_ids(fields: PacketFields, start: int, stop: int, after: Any, senders: Senders) -> None:
    """Count each sender's packets, without the repeated ones in `after`, and how often the IP ID was another one.

    The last packet's ID at another place is that packet again, not one that was sent with the same ID.
    """
    pair = 0
    for row in range(start, stop):
        if pair < len(after) and after[pair] == row:
            pair += 1
            continue
        stream = 2 * np.int64(fields.flow[row]) + np.int64(fields.direction[row])
        changed = senders.last_id[stream] != fields.ip_id[row]
        moved = senders.last_place[stream] != fields.place[row]
        senders.last_place[stream] = fields.place[row]
        senders.ttl[stream] = min(senders.ttl[stream], fields.ttl[row])
        if senders.packets[stream] and not changed and moved:
            continue
        if senders.packets[stream] and changed:
            senders.changes[stream] += 1
        senders.last_id[stream] = fields.ip_id[row]
        senders.packets[stream] += 1


@kernel
def judge(
    fields: PacketFields, start: int, stop: int, after: Any, before: Any, senders: Senders, verdict: Any
) -> None:  # fmt: skip
    """Fill `verdict` with what IP IDs, timestamps, TTL and delay say of each pair of equal packets."""
    pair = 0
    for row in range(start, stop):
        stream = 2 * np.int64(fields.flow[row]) + np.int64(fields.direction[row])
        tsval = np.int64(fields.tsval[row])
        newest = senders.tsval[stream]
        later = (newest - tsval) & 0xFFFFFFFF if newest >= 0 else np.int64(0)
        stamped = fields.options[row] & OPTION_TIMESTAMPS
        if pair < len(after) and after[pair] == row:
            delay = abs(fields.time_ns[row] - fields.time_ns[before[pair]])
            numbered = fields.ip_id[row] > 0 and 2 * senders.changes[stream] >= max(2, senders.packets[stream])
            dated = stamped and (0 < later < 0x80000000 or unprompted(fields, row, before[pair], delay, senders))
            if delay > LONGEST_NS:
                verdict[pair] = REPEATED
            elif numbered or dated or behind_router(fields, row, before[pair], senders.ttl[stream]):
                verdict[pair] = PROVEN
            else:
                verdict[pair] = OPEN
            pair += 1
        elif stamped and (newest < 0 or later >= 0x80000000):
            senders.tsval[stream] = tsval
        senders.row[stream] = row


@kernel
def behind_router(fields: PacketFields, row: int, before: int, least: int) -> bool:
    """Whether a packet has passed one router more than any that its sender sent once: `least` is their TTL."""
    return bool(fields.ttl[row] == fields.ttl[before] - 1 and fields.ttl[before] <= least)


@kernel
def unprompted(fields: PacketFields, row: int, before: int, delay: int, senders: Senders) -> bool:
    """Whether nothing can have made the sender repeat a packet, with the same timestamp, so soon.

    What is sent again bears the time of that, so it was sent within a tick; what TCP resends so soon a packet of the
    peer has prompted. The shortest timer (a probe's, two ticks of the kernel's clock of 1 ms) is longer, and nothing
    else repeats a SYN without ACK. Acknowledgements are repeated without a reason that is seen.
    """
    if delay > STEADY_NS:
        return False
    if fields.flags[row] & (SYN | ACK) == SYN:
        return True
    carries = fields.payload_bytes[row] > 0 or fields.flags[row] & (SYN | FIN)
    return bool(carries and peer_was_silent(fields, row, before, senders))


@kernel
def peer_was_silent(fields: PacketFields, row: int, before: int, senders: Senders) -> bool:
    """Whether the peer sent nothing between two equal packets, by a capture that hears it.

    One does if it holds, from before the first of them, what these echo or later: the newest that their sender had
    received (RFC 7323 4.3). A port of a tap that records one direction holds nothing of the peer.
    """
    peer = 2 * np.int64(fields.flow[row]) + 1 - np.int64(fields.direction[row])
    heard = senders.tsval[peer] >= 0 and (senders.tsval[peer] - np.int64(fields.tsecr[row])) & 0xFFFFFFFF < 0x80000000
    return bool(heard and senders.row[peer] < before)
