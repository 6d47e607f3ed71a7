"""The air time of a link direction's frames, divided by what their octets carried.

It is divided in proportion to the octets: link retransmissions; and in first transmissions link overhead (octets of no
packet), TCP bytes that the link had carried before, and new data. A packet's headers count as new data, also in a TCP
retransmission.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.accounting.intervals import Ints
from multitracer.link.air_time import FramesOnAir

if TYPE_CHECKING:
    from multitracer.link.packets import CarriedPacket


def enter_packets(air: FramesOnAir, packets: Sequence[CarriedPacket], before: Sequence[int | None]) -> None:
    """Enter the packets' octets; `before` is per packet the number of bytes carried before, None unknown."""
    place_of = {row: place for place, row in enumerate(air.rows.tolist())}
    for packet, resent in zip(packets, before, strict=True):
        new = np.isin(packet.rows, packet.first_transmissions)
        rows, octets = packet.rows[new], packet.octets_in_row[new].astype(np.int64)
        total = int(octets.sum())
        done = given = 0
        for row, count in zip(rows.tolist(), octets.tolist(), strict=True):
            place = place_of.get(row)
            done += count
            # Exactly `resent` octets in total, spread over the packet's frames.
            share = (resent * done // total if total else 0) - given if resent is not None else 0
            given += share
            if place is None:
                continue
            air.packet_octets[place] += count
            air.carried_before[place] += share
            air.unclear[place] += count if resent is None else 0


class SentBytes:
    """The bytes of each TCP stream that the link has sent so far, as intervals of sequence numbers."""

    def __init__(self) -> None:
        self._starts: dict[Any, list[int]] = {}
        self._ends: dict[Any, list[int]] = {}
        self._base: dict[Any, int] = {}

    def add(self, stream: Any, seq: int, size: int, *, wraps: bool) -> int:
        """Add bytes seq..seq+size-1; returns how many of them had been added before.

        With `wraps`, `seq` is the 32 bit field, else it is unwrapped.
        """
        if size <= 0:
            return 0
        base = self._base.setdefault(stream, seq)
        first = ((seq - base + (1 << 31)) & 0xFFFFFFFF) - (1 << 31) if wraps else seq - base
        last = first + size
        starts, ends = self._starts.setdefault(stream, []), self._ends.setdefault(stream, [])
        low, high = bisect_left(ends, first), bisect_right(starts, last)
        before = sum(max(0, min(ends[i], last) - max(starts[i], first)) for i in range(low, high))
        if low < high:
            first, last = min(first, starts[low]), max(last, ends[high - 1])
        starts[low:high], ends[low:high] = [first], [last]
        return before


def frame_parts(air: FramesOnAir, causes: dict[str, int]) -> tuple[Ints, Ints, Ints]:
    """(Start, end, code of the cause) of the parts of every frame with user data; the parts do not overlap."""
    first = air.data & ~air.repeat
    packet = np.minimum(air.packet_octets, air.octets)
    overhead = np.where(first, air.octets - packet, 0)
    unclear = np.where(first, np.minimum(air.unclear, packet), 0)
    again = np.where(first, np.minimum(air.carried_before, packet - unclear), 0)
    parts = (
        ("link_retransmitted", np.where(air.data & air.repeat, air.octets, 0)),
        ("link_overhead", overhead),
        ("unknown", unclear),
        ("tcp_retransmitted", again),
        ("new_data", np.where(first, packet - unclear - again, 0)),
    )
    lasts, done = air.end_ns - air.start_ns, np.zeros(len(air.rows), dtype=np.int64)
    start, end, cause = [], [], []
    for name, octets in parts:
        begin = air.start_ns + lasts * done // air.octets
        done = done + octets
        stop = air.start_ns + lasts * done // air.octets
        start.append(begin)
        end.append(stop)
        cause.append(np.full(len(begin), causes[name]))
    joined = np.concatenate(start), np.concatenate(end), np.concatenate(cause)
    keep = (joined[1] > joined[0]) & np.tile(air.data, len(parts))
    return joined[0][keep], joined[1][keep], joined[2][keep]
