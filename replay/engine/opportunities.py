"""What a driver loop over transmission opportunities needs: sources, the air, erasures, and a log.

Opportunity i of either direction begins at i * frame_ns; a frame sent in it arrives delay_ns later, unless it is
erased. Whatever waits for an opportunity is given to the sending side when one comes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.model.errors import UsageError
from multitracer.replay.arq.queues import NEVER, PUT, TAKEN, Ring, head, length, offer, ring, tail
from multitracer.replay.arq.sr.frames import FIELDS

ARRIVES_NS = FIELDS
"""The column behind a frame's fields while it is on the air."""

NEXT_SDU, SATURATED_OCTETS = range(2)
"""Columns of a source's state: the SDU offered next, and the size of SDUs that never run out (0: they do)."""

FRAME_NS, DELAY_NS = range(2)
SIDE_A, SIDE_B = range(2)

SENT, ERASED, RECEIVED, DELIVERED, TIMEOUT, ACK_TIMEOUT = range(6)
"""Events of the log: a frame sent, one sent that never arrives, one received; an SDU delivered; a frame's
timer and the ACK timer expired."""
EVENTS = ("SENT", "ERASED", "RECEIVED", "DELIVERED", "TIMEOUT", "ACK_TIMEOUT")

TIME_NS, SIDE, EVENT, FRAME = range(4)
"""Columns of the log; a frame's fields begin at FRAME. DELIVERED has only SDU and OCTETS, TIMEOUT only N(S)."""


class Source(NamedTuple):
    """SDUs offered to a side: when (ns, ascending) and how large; SDU k is row k."""

    time_ns: Any
    octets: Any
    state: Any


class Log(NamedTuple):
    """Events in order; `noted` counts them all, also those for which there was no row."""

    rows: Any
    noted: Any


class Air(NamedTuple):
    """One direction: frames on their way, and which opportunities are erased (uint8)."""

    frames: Ring
    erased: Any


def source(time_ns: Any = (), octets: Any = (), saturated_octets: int = 0) -> Source:
    """SDUs at given times, or one of `saturated_octets` whenever one can be sent."""
    times, sizes = np.array(time_ns, dtype=np.int64), np.array(octets, dtype=np.int64)
    if len(times) != len(sizes) or (np.diff(times) < 0).any():
        raise UsageError(f"{len(times)} times and {len(sizes)} sizes of SDUs: there must be as many, in order of time")
    if (sizes < 1).any() or saturated_octets < 0:
        raise UsageError("an SDU must have 1 octet or more")
    return Source(times, sizes, np.array([0, saturated_octets], dtype=np.int64))


def air(erased: Any, frame_ns: int, delay_ns: int) -> Air:
    """An empty direction with these erasures, one for each opportunity."""
    if frame_ns < 1 or delay_ns < 1:
        raise UsageError(f"frame_ns {frame_ns} and delay_ns {delay_ns} must be 1 or more")
    return Air(ring(delay_ns // frame_ns + 2, FIELDS + 1), np.array(erased, dtype=np.uint8))


def log(rows: int) -> Log:
    """An empty log with so many rows."""
    return Log(np.zeros((rows, FRAME + FIELDS), dtype=np.int64), np.zeros(1, dtype=np.int64))


@kernel
def feed(offers: Any, waiting: Any, now: int) -> None:
    """Offer a side what its source has at `now`, as far as there is room."""
    state = offers.state
    if state[SATURATED_OCTETS]:
        if length(waiting) == 0:
            offer(waiting, state[NEXT_SDU], state[SATURATED_OCTETS])
            state[NEXT_SDU] += 1
        return
    while state[NEXT_SDU] < len(offers.time_ns) and offers.time_ns[state[NEXT_SDU]] <= now:
        if not offer(waiting, state[NEXT_SDU], offers.octets[state[NEXT_SDU]]):
            return
        state[NEXT_SDU] += 1


@kernel
def launch(way: Any, i: int, clock: Any, side: int, events: Any) -> None:
    """Send the frame that was written into the tail row of the air in opportunity i."""
    now = i * clock[FRAME_NS]
    frame = way.frames.rows[tail(way.frames)]
    if way.erased[i]:
        note(events, now, side, ERASED, frame)
        return
    note(events, now, side, SENT, frame)
    frame[ARRIVES_NS] = now + clock[DELAY_NS]
    way.frames.ends[PUT] += 1


@kernel
def arrival(way: Any) -> int:
    """When (ns) the next frame arrives; NEVER when none is on its way."""
    if length(way.frames) == 0:
        return NEVER
    return way.frames.rows[head(way.frames), ARRIVES_NS]


@kernel
def land(way: Any) -> int:
    """Take the frame that arrives next off the air: its row, which holds until the next frame is sent."""
    row = head(way.frames)
    way.frames.ends[TAKEN] += 1
    return row


@kernel
def note(events: Any, now: int, side: int, event: int, frame: Any) -> None:
    """Log what happened to a frame."""
    if events.noted[0] < len(events.rows):
        row = events.rows[events.noted[0]]
        row[TIME_NS] = now
        row[SIDE] = side
        row[EVENT] = event
        for field in range(FIELDS):
            row[FRAME + field] = frame[field]
    events.noted[0] += 1


@kernel
def note_one(events: Any, now: int, side: int, event: int, field: int, value: int) -> None:
    """Log what has one field of a frame only."""
    if events.noted[0] < len(events.rows):
        row = events.rows[events.noted[0]]
        row[TIME_NS] = now
        row[SIDE] = side
        row[EVENT] = event
        row[FRAME + field] = value
    events.noted[0] += 1
