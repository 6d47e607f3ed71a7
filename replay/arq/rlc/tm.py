"""UMTS RLC in transparent mode (3GPP TS 25.322 11.1) as kernels: an SDU is a PDU, without header or repetition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from multitracer.compute.kernels import kernel
from multitracer.replay.arq.fields import NEVER, dtype, numbers, record, table
from multitracer.replay.arq.rlc import queue as queues
from multitracer.replay.arq.rlc.parameters import MOST_QUEUE_SDUS, check
from multitracer.replay.arq.rlc.queue import QUEUE, append_sdu, drop_waiting
from multitracer.replay.arq.stretches import above_dtype, hand_over, lose

__all__ = [
    "carries_data", "copy_frame", "expire", "gone", "next_frame", "next_timer", "note", "offer", "on_air", "receive",
    "restarted", "span", "total_delivered", "wants",
]  # fmt: skip

TM_FRAME = numbers("sdu start")
"""The SDU that is the PDU, and where it begins in the stream."""
TM_COUNTS = numbers("discard_ns sent discarded delivered delivered_octets")
"""Timer_Discard; SDUs sent, discarded and handed over, and the octets of these."""


@dataclass(frozen=True)
class TmParameters:
    """Parameters of an RLC TM entity."""

    max_sdu_bytes: int = 1600
    """Longest SDU."""
    discard_ns: int = 0
    """Timer_Discard without signalling; 0: none."""
    queue_sdus: int = 1024
    """SDUs that wait, at most."""

    def __post_init__(self) -> None:
        check("max_sdu_bytes", self.max_sdu_bytes, 1, 65_535)
        check("discard_ns", self.discard_ns, 0, 10**12)
        check("queue_sdus", self.queue_sdus, 1, MOST_QUEUE_SDUS)


TM_ENTITY = dtype([("counts", TM_COUNTS), ("queue", QUEUE), ("above", above_dtype(1, MOST_QUEUE_SDUS))])
"""An RLC TM entity, both ways."""
TmEntity: TypeAlias = Any


def tm_entity(parameters: TmParameters) -> TmEntity:
    """A new entity."""
    q, made = parameters, record(TM_ENTITY)
    made.counts.discard_ns = q.discard_ns
    queues.set_up(made.queue, q.queue_sdus, q.queue_sdus * q.max_sdu_bytes, 0, keeps_octets=False)
    return made


def tm_frames(capacity: int, parameters: Any) -> Any:
    """A table of `capacity` PDUs."""
    return table(capacity, TM_FRAME)


def tm_counters(e: TmEntity) -> dict[str, int]:
    """What an entity sent, discarded and handed over."""
    return {name: int(e.counts[name]) for name in TM_COUNTS.names[1:]}


@kernel
def offer(e: TmEntity, sdu: int, start: int, octets: int, now: int) -> int:
    """An SDU from above; 0 when there is no room for it."""
    return 1 if append_sdu(e.queue, octets, now + e.counts.discard_ns) else 0


@kernel
def wants(e: TmEntity, octets: int) -> int:
    """Whether nothing waits."""
    return 1 if e.queue.v.next >= e.queue.v.tail else 0


@kernel
def next_frame(e: TmEntity, frame: Any, now: int) -> int:
    """Send the oldest SDU waiting, whole; gives its length, 0 for none."""
    v = e.queue.v
    if v.next >= v.tail:
        return 0
    frame.sdu, frame.start = v.next, v.front
    length = e.queue.v.sdu[v.next & e.queue.v.mask].length
    _drop_first(e)
    e.counts.sent += 1
    return length


@kernel
def _drop_first(e: TmEntity) -> None:
    """The oldest SDU waiting is sent, or given up."""
    v = e.queue.v
    drop_waiting(e.queue, v.next + 1)
    v.head = v.next


@kernel
def carries_data(frame: Any) -> int:
    """Every PDU is an SDU."""
    return 1


@kernel
def on_air(e: TmEntity, frame: Any, end: int) -> None:
    """No timer runs from here."""


@kernel
def receive(e: TmEntity, frame: Any, octets: int, now: int) -> None:
    """A PDU from the air: it is the SDU."""
    e.counts.delivered += 1
    e.counts.delivered_octets += octets
    hand_over(e.above, frame.start, frame.start + octets, frame.sdu, now)


@kernel
def next_timer(e: TmEntity) -> int:
    """When Timer_Discard of the oldest SDU waiting expires; NEVER for none."""
    v = e.queue.v
    if e.counts.discard_ns == 0 or v.next >= v.tail:
        return NEVER
    return e.queue.v.sdu[v.next & e.queue.v.mask].due


@kernel
def expire(e: TmEntity, now: int) -> None:
    """SDUs whose time has come are discarded, 11.1.5."""
    v = e.queue.v
    while next_timer(e) <= now:
        octets = e.queue.v.sdu[v.next & e.queue.v.mask].length
        lose(e.above, v.front, v.front + octets, v.next)
        _drop_first(e)
        e.counts.discarded += 1


@kernel
def total_delivered(e: TmEntity) -> int:
    """Octets handed over so far."""
    return e.counts.delivered_octets


@kernel
def note(e: TmEntity, log: Any, now: int, side: int, why: int) -> None:
    """What happens to an entity is seen in its PDUs."""


@kernel
def copy_frame(frame: Any, to: Any, octets: int) -> None:
    """Copy a PDU into another."""
    to.sdu, to.start = frame.sdu, frame.start


@kernel
def span(e: TmEntity, frame: Any) -> tuple[int, int]:
    """Nothing is ever repeated."""
    return 0, 0


@kernel
def gone(frame: Any, octets: int) -> tuple[int, int]:
    """The octets of what is in the frame."""
    return frame.start, frame.start + octets


@kernel
def restarted(e: TmEntity) -> int:
    """There is no reset."""
    return -1
