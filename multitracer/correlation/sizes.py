"""Carried packets matched to captured segments by their sizes alone, for logs without payload.

A link sends packets in order, and when it is idle it sends the next at once. So between two such instants
it carried the segments that were offered between them, except those that were dropped. A packet is matched
if the sizes of all packets leave one segment for it; if they fit no segments, no packet is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from multitracer.correlation.candidates import Fields

NONE = -1
OVERHEADS = (0, 1, 2, 3)
"""Octets before each IP packet: PDCP headers (25.323 8.2, 36.323 6.2, 38.323 6.2), or none."""
_IDLE_FRAMES = 2.5
"""A link that starts no new frame for this many frame times was idle, or stopped by flow control."""


class SizedPacket(NamedTuple):
    """A carried packet without octets: its size, times of its first and last first-transmitted frame, epoch."""

    size: int
    first_ns: int
    last_new_ns: int
    epoch: int


def match_sizes(packets: Sequence[SizedPacket], fields: Fields, frame_ns: int) -> list[int]:
    """For each packet, in the order of transmission, the index in `fields` of its segment, or -1.

    `fields` are the segments offered to this link direction at one point, ordered by time; `frame_ns`
    is the time between frames.
    """
    tries = [_matched(packets, fields, frame_ns, overhead) for overhead in OVERHEADS]
    return max(tries, key=lambda chosen: sum(place >= 0 for place in chosen), default=[])


def _matched(packets: Sequence[SizedPacket], fields: Fields, frame_ns: int, overhead: int) -> list[int]:
    chosen = [NONE] * len(packets)
    offered = [size + overhead for size in fields.wire_bytes]
    stretches = _stretches(packets, fields, offered, frame_ns)
    for (begin, place), (end, limit) in pairwise(stretches):
        chosen[begin:end] = _certain(packets[begin:end], fields, offered, place, limit)
    return chosen


def _stretches(
    packets: Sequence[SizedPacket], fields: Fields, offered: list[int], frame_ns: int
) -> list[tuple[int, int]]:
    """(Packet, place) where the idle link sent a segment at once; and, last, the end of both lists."""
    found = []
    busy_until = NONE
    for number, packet in enumerate(packets):
        place = bisect_right(fields.time_ns, busy_until) if busy_until >= 0 else 0
        if place < len(offered) and packet.first_ns - busy_until > _IDLE_FRAMES * frame_ns:
            if busy_until < 0:  # the log may begin after the capture
                place = _just_before(fields, packet.first_ns, frame_ns)
            slack = fields.error_ns[place] + _IDLE_FRAMES * frame_ns
            waited = packet.first_ns - fields.time_ns[place]
            if offered[place] == packet.size and -fields.error_ns[place] <= waited <= slack:
                found.append((number, place))
        busy_until = max(busy_until, packet.last_new_ns)
    if found:
        found.append((len(packets), max(found[-1][1], bisect_right(fields.time_ns, busy_until))))
    return found


def _just_before(fields: Fields, first_ns: int, frame_ns: int) -> int:
    return min(bisect_right(fields.time_ns, first_ns - _IDLE_FRAMES * frame_ns), len(fields.row) - 1)


def _certain(packets: Sequence[SizedPacket], fields: Fields, offered: list[int], place: int, limit: int) -> list[int]:
    """The place of each packet if its earliest and latest fit agree, so that no drop can change it; else -1."""
    cut = [_cut_off(packets, number) for number in range(len(packets))]

    def fits(number: int, at: int) -> bool:
        packet = packets[number]
        same = packet.size < offered[at] if cut[number] and packet.size != offered[at] else packet.size == offered[at]
        return same and fields.time_ns[at] - fields.error_ns[at] <= packet.first_ns

    earliest: list[int] = []
    at = place
    for number in range(len(packets)):
        while at < limit and not fits(number, at):
            at += 1
        if at == limit:
            return [NONE] * len(packets)
        earliest.append(at)
        at += 1
    at, latest = limit - 1, []
    for number in reversed(range(len(packets))):
        while not fits(number, at):
            at -= 1
        latest.append(at)
        at -= 1
    return [one if one == other else NONE for one, other in zip(earliest, reversed(latest), strict=True)]


def _cut_off(packets: Sequence[SizedPacket], number: int) -> bool:
    """Whether a reset followed the packet: it may have been cut off, and the segment longer."""
    return number + 1 < len(packets) and packets[number + 1].epoch != packets[number].epoch
