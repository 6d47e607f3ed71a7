"""The log of a run: what happened to frames, SDUs and entities, in order of time.

A row's frame stands in the row of the same number of `frames`, a table of the protocol's own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from multitracer.compute.kernels import kernel
from multitracer.replay.arq.fields import codes, numbers, record, table

ROW = numbers("time_ns side event octets number what")
"""`number` is an SDU's, or a frame's flow; a protocol's own events use `number` and `what` as they like."""
OFFERED, REFUSED, SENT, ERASED, RECEIVED, DELIVERED, LOST, DROPPED, HELD = codes(9)
"""HELD: what keeps an entity from sending new data has changed; `what` has the bits FULL, a window without room, and
STOPPED, a peer that said stop. `number` is the first octet of the stream that is in no frame yet."""
FULL, STOPPED = 1, 2
OWN = 16
"""A protocol's own events begin here."""
ARRIVED, EXPIRED, SENDING = codes(3)
"""When an entity is asked what happened to it: after arrivals, after a timer, before a frame is sent."""

_STATE = numbers("rows noted")


class Log(NamedTuple):
    """A log while there is room: `state.noted` counts also what found none."""

    state: Any
    rows: Any
    frames: Any


def log(rows: int, frames: Any) -> Log:
    """An empty log; `frames` has as many rows."""
    return Log(record(_STATE), table(rows, ROW), frames)


@kernel
def note(log: Any, now: int, side: int, event: int, octets: int, number: int, what: int) -> int:
    """Write a row while there is room; its number, -1 for none."""
    place = log.state.rows
    log.state.noted += 1
    if place >= len(log.rows):
        return -1
    row = log.rows[place]
    row.time_ns, row.side, row.event, row.octets, row.number, row.what = now, side, event, octets, number, what
    log.state.rows = place + 1
    return place
