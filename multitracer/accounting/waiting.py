"""When user data waited to be sent by a link, by its sender's log and by the capture beside it.

A packet waits from its offer to the end of its last new frame. What the link never sent waits until a reset, or to the
log's end: unless something shows that it was not there, a later packet that was sent or a time in which the link could
have sent it and did not. A queue before the link dropped it then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from multitracer.accounting.intervals import Ints, union
from multitracer.link.air_time import FramesOnAir

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.correlation.segment_frames import LinkMatch


class Occupied(NamedTuple):
    """When a link's sender could not have begun to send new data."""

    start_ns: Ints
    end_ns: Ints
    log_end_ns: int
    frame_ns: int
    """What leaves the link idle for no longer than a frame may be its slots."""

    def until(self, since: int) -> int:
        """When the link could first have sent what waits since a time; the log's end if never."""
        start, end = self.start_ns, self.end_ns
        place = int(np.searchsorted(end, since, side="right"))
        free = since
        while place < len(start) and start[place] - free <= self.frame_ns:
            free = max(free, int(end[place]))
            place += 1
        return self.log_end_ns if self.log_end_ns - free <= self.frame_ns else free


def data_waiting(
    match: LinkMatch, table: pd.DataFrame | None, link: int, air: FramesOnAir, resets: Ints, unsent: Ints,
    occupied: Occupied,
) -> tuple[Ints, Ints]:  # fmt: skip
    """(Start, end) of times in which user data waited.

    A packet is at the link no sooner than the one did that took the least time from its capture to its first frame.
    `resets` are when resets of the link began; `unsent` is when each segment was captured that follows all that the
    link carried.
    """
    place_of = {row: place for place, row in enumerate(air.rows.tolist())}
    offered: dict[int, int] = {}
    start, end = list[int](), list[int]()
    if table is not None:
        own = table[(table["link"] == link) & (table["sent_ns"] >= 0) & (table["segment"] >= 0)]
        waited = own["queue_ns"][own["queue_ns"] >= 0]
        least = int(waited.min()) if len(waited) else 0
        there = own["sent_ns"] + least
        offered = dict(zip(own["segment"].tolist(), there.tolist(), strict=True))
        start, end = _never_sent(own["first_frame_ns"].to_numpy(), there.to_numpy(), int(air.end_ns.max()), resets)
        for since in (unsent + least).tolist() if len(waited) else ():
            start.append(since)
            end.append(min([occupied.until(since), *resets[resets > since].tolist()]))
    for number, (packet, row) in enumerate(zip(match.packets, match.segments.tolist(), strict=True)):
        first, last = (place_of.get(int(packet.first_transmissions[at]), -1) for at in (0, -1))
        if first < 0 or last < 0:
            continue
        start.append(min(offered.get(row, int(air.start_ns[first])), int(air.start_ns[first])))
        flushed = resets[resets >= air.end_ns[last]]
        over = int(air.end_ns[last])
        if not packet.complete and len(flushed):
            over = int(flushed[0])
        elif not packet.complete and number == len(match.packets) - 1:
            over = occupied.until(over)
        end.append(over)
    return union(start, end)


def _never_sent(first_ns: Ints, since_ns: Ints, last_ns: int, resets: Ints) -> tuple[list[int], list[int]]:
    """(Start, end) of the waits of packets, in the order offered, that the link never sent: to a reset, or to the end.

    One that a later packet overtook did not wait: a queue before the link dropped it.
    """
    start, end, following = [], [], np.iinfo(np.int64).max
    for first, since in zip(first_ns[::-1].tolist(), since_ns[::-1].tolist(), strict=True):
        if first >= 0:
            following = first
            continue
        later = resets[resets > since]
        until = int(later.min()) if len(later) else last_ns
        if following >= until > since:
            start.append(since)
            end.append(until)
    return start, end
