"""Driver loops: two sides of an SR, ASR or Raw link against each other over an air of opportunities.

Events come in the order of time; at equal times arrivals before timers before sending, A before B. Control
frames take an opportunity of their own. A loop goes on where the last call ended, so that a caller can show
progress and empty the log between calls. What was still on its way at the end arrives when it goes on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.model.errors import UsageError
from multitracer.replay.arq.queues import length, tail
from multitracer.replay.arq.raw import entity as raw
from multitracer.replay.arq.raw.entity import next_frame as next_raw_frame
from multitracer.replay.arq.raw.entity import receive as receive_raw
from multitracer.replay.arq.sr import entity as sr
from multitracer.replay.arq.sr.entity import ACK_TIMER, expire, next_frame, next_timer, receive
from multitracer.replay.arq.sr.frames import MODULUS, NS, OCTETS, SDU
from multitracer.replay.arq.sr.parameters import WindowParameters
from multitracer.replay.engine.opportunities import (
    ACK_TIMEOUT,
    DELIVERED,
    FRAME,
    FRAME_NS,
    RECEIVED,
    SIDE_A,
    SIDE_B,
    TIMEOUT,
    Air,
    Log,
    Source,
    air,
    arrival,
    feed,
    land,
    launch,
    log,
    note,
    note_one,
)


class Link(NamedTuple):
    """Two sides, what is offered to each, the air from A to B and from B to A, the clock, and the log."""

    a: Any
    b: Any
    offers_a: Source
    offers_b: Source
    a_to_b: Air
    b_to_a: Air
    clock: Any
    events: Log


def link(
    parameters: WindowParameters | None, frame_ns: int, delay_ns: int, erased: tuple[Any, Any],
    offers: tuple[Source, Source], log_rows: int = 0,
) -> Link:
    """A link at rest, Raw without parameters. `erased` and `offers` are those of A and of B.

    A log of 0 rows costs nothing; `erased` has one entry for each opportunity.
    """  # fmt: skip
    sides = [sr.entity(parameters) if parameters else raw.raw_entity() for _ in range(2)]
    ways = [air(missed, frame_ns, delay_ns) for missed in erased]
    clock = np.array([frame_ns, delay_ns], dtype=np.int64)
    return Link(sides[0], sides[1], offers[0], offers[1], ways[0], ways[1], clock, log(log_rows))


def run(driven: Link, first: int, last: int) -> None:
    """Let opportunities `first` to `last` - 1 of both directions pass."""
    known = min(len(driven.a_to_b.erased), len(driven.b_to_a.erased))
    if not 0 <= first <= last <= known:
        raise UsageError(f"opportunities {first} to {last} must lie within 0 to {known}")
    (carry if isinstance(driven.a, sr.Entity) else carry_raw)(driven, first, last)


def counters(driven: Link) -> list[dict[str, int]]:
    """What A and B counted, and how it ended: SDUs never sent, and sent but not acknowledged."""
    return [_counted(driven.a), _counted(driven.b)]


def _counted(side: Any) -> dict[str, int]:
    left = {"waiting": int(length(side.waiting))}
    if isinstance(side, sr.Entity):
        left["unacknowledged"] = int(side.state[sr.VS] - side.state[sr.VA])
    names = sr.COUNTS if isinstance(side, sr.Entity) else raw.COUNTS
    return dict(zip(names, side.counts.tolist(), strict=True)) | left


def logged(driven: Link) -> Any:
    """The events noted since the last call, rows of int64 (columns: opportunities.TIME_NS and so on).

    More may have happened than there are rows: `events.noted` counts them until this call.
    """
    kept = driven.events.rows[: driven.events.noted[0]].copy()
    driven.events.rows[:] = 0
    driven.events.noted[0] = 0
    return kept


@kernel
def carry(driven: Any, first: int, last: int) -> None:
    """Let opportunities of an SR or ASR link pass, and all events up to each."""
    for i in range(first, last):
        now = i * driven.clock[FRAME_NS]
        settle(driven, now)
        feed(driven.offers_a, driven.a.waiting, now)
        feed(driven.offers_b, driven.b.waiting, now)
        if next_frame(driven.a, now, driven.a_to_b.frames.rows[tail(driven.a_to_b.frames)]):
            launch(driven.a_to_b, i, driven.clock, SIDE_A, driven.events)
        if next_frame(driven.b, now, driven.b_to_a.frames.rows[tail(driven.b_to_a.frames)]):
            launch(driven.b_to_a, i, driven.clock, SIDE_B, driven.events)


@kernel
def settle(driven: Any, now: int) -> None:
    """Let all arrivals and timers up to `now` happen, in their order."""
    while True:
        to_a, to_b = arrival(driven.b_to_a), arrival(driven.a_to_b)
        timer_a, timer_b = next_timer(driven.a), next_timer(driven.b)
        at = min(to_a, to_b, timer_a, timer_b)
        if at > now:
            return
        if to_a == at:
            arrive(driven.a, driven.b_to_a, at, SIDE_A, driven.events)
        elif to_b == at:
            arrive(driven.b, driven.a_to_b, at, SIDE_B, driven.events)
        elif timer_a == at:
            wake(driven.a, at, SIDE_A, driven.events)
        else:
            wake(driven.b, at, SIDE_B, driven.events)


@kernel
def arrive(side: Any, way: Any, now: int, name: int, events: Any) -> None:
    """Give a side the frame that arrives."""
    frame = way.frames.rows[land(way)]
    note(events, now, name, RECEIVED, frame)
    for k in range(receive(side, frame, now)):
        note_delivery(events, now, name, side.delivered[k, 0], side.delivered[k, 1])


@kernel
def note_delivery(events: Any, now: int, name: int, sdu: int, octets: int) -> None:
    """Log an SDU delivered."""
    note_one(events, now, name, DELIVERED, SDU, sdu)
    at = events.noted[0] - 1
    if at < len(events.rows):
        events.rows[at, FRAME + OCTETS] = octets


@kernel
def wake(side: Any, now: int, name: int, events: Any) -> None:
    """Expire a side's earliest timer."""
    what = expire(side, now)
    if what == ACK_TIMER:
        note_one(events, now, name, ACK_TIMEOUT, NS, 0)
    else:
        note_one(events, now, name, TIMEOUT, NS, what % MODULUS)


@kernel
def carry_raw(driven: Any, first: int, last: int) -> None:
    """Let opportunities of a Raw link pass, and all arrivals up to each."""
    for i in range(first, last):
        now = i * driven.clock[FRAME_NS]
        settle_raw(driven, now)
        feed(driven.offers_a, driven.a.waiting, now)
        feed(driven.offers_b, driven.b.waiting, now)
        if next_raw_frame(driven.a, driven.a_to_b.frames.rows[tail(driven.a_to_b.frames)]):
            launch(driven.a_to_b, i, driven.clock, SIDE_A, driven.events)
        if next_raw_frame(driven.b, driven.b_to_a.frames.rows[tail(driven.b_to_a.frames)]):
            launch(driven.b_to_a, i, driven.clock, SIDE_B, driven.events)


@kernel
def settle_raw(driven: Any, now: int) -> None:
    """Let all arrivals up to `now` happen, in their order."""
    while True:
        to_a, to_b = arrival(driven.b_to_a), arrival(driven.a_to_b)
        at = min(to_a, to_b)
        if at > now:
            return
        if to_a == at:
            arrive_raw(driven.a, driven.b_to_a, at, SIDE_A, driven.events)
        else:
            arrive_raw(driven.b, driven.a_to_b, at, SIDE_B, driven.events)


@kernel
def arrive_raw(side: Any, way: Any, now: int, name: int, events: Any) -> None:
    """Give a side of a Raw link the frame that arrives."""
    frame = way.frames.rows[land(way)]
    note(events, now, name, RECEIVED, frame)
    if receive_raw(side, frame):
        note_delivery(events, now, name, frame[SDU], frame[OCTETS])
