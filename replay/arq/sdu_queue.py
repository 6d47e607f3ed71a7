"""A queue of SDUs that wait to be sent, for protocols whose frame carries one SDU."""

from __future__ import annotations

from typing import Any, NamedTuple

from multitracer.compute.kernels import kernel, merged
from multitracer.replay.arq.fields import numbers, record, table

ROOM = 4096
"""SDUs that can wait, a power of two: many times what the window of a transport protocol lets wait."""

SDU = numbers("sdu start octets")
"""Its number, the octet of the stream at which it begins, and its size."""
ENDS = numbers("first end limit")
"""SDUs taken out of the queue, and put into it; how many may wait."""


class SduQueue(NamedTuple):
    """First in, first out."""

    ends: Any
    rows: Any


def sdu_queue(limit: int = ROOM) -> SduQueue:
    """An empty queue of at most `limit` SDUs."""
    made = SduQueue(record(ENDS), table(ROOM, SDU))
    made.ends.limit = limit
    return made


@kernel
def length(queue: Any) -> int:
    """How many SDUs wait."""
    return queue.ends.end - queue.ends.first


@merged
def put(queue: Any, sdu: int, start: int, octets: int) -> int:
    """Let an SDU wait; 0 when there is no room for it."""
    ends = queue.ends
    if ends.end - ends.first >= ends.limit:
        return 0
    row = queue.rows[ends.end & (ROOM - 1)]
    row.sdu, row.start, row.octets = sdu, start, octets
    ends.end += 1
    return 1


@merged
def take(queue: Any) -> int:
    """Take out the SDU that waits longest: its row, which holds until the next is put.

    The queue begins anew when nothing is left: few rows are used that way, and stay in the processor's cache.
    """
    ends = queue.ends
    row = ends.first & (ROOM - 1)
    ends.first += 1
    if ends.first == ends.end:
        ends.first = ends.end = 0
    return row


@kernel
def offer(e: Any, sdu: int, start: int, octets: int, now: int) -> int:
    """Let an SDU wait to be sent, in the `queue` of entity `e`; 0 when there is no room for it."""
    return put(e.queue, sdu, start, octets)


@kernel
def wants(e: Any, octets: int) -> int:
    """Whether no SDU waits for the next opportunity."""
    return int(length(e.queue) == 0)
