"""The Raw link: SDUs go down in order, one a frame, and what is erased stays lost.

Frames have the header of SR (`multitracer.replay.arq.sr.frames`), so that the sizes on the air are the same; nobody
reads their N(S). Source: Xylomenos & Makidis, MONET 13 (3-4), 2008, which gives the Raw link no header.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from multitracer.compute.kernels import kernel
from multitracer.replay.arq.fields import NEVER, numbers, record, table
from multitracer.replay.arq.raw.parameters import RawParameters
from multitracer.replay.arq.sdu_queue import SduQueue, length, offer, sdu_queue, take, wants
from multitracer.replay.arq.sr.frames import DATA, FRAME, MODULUS, copy_frame
from multitracer.replay.arq.stretches import Above, above, hand_over

__all__ = [
    "carries_data", "copy_frame", "expire", "gone", "next_frame", "next_timer", "note", "offer", "on_air", "receive",
    "restarted", "span", "total_delivered", "wants",
]  # fmt: skip

RULES = numbers("header_bytes")
COUNTS = numbers("delivered_sdus delivered_octets sent")
"""SDUs and octets delivered, frames sent."""


class Entity(NamedTuple):
    """One side of a Raw link."""

    rules: Any
    counts: Any
    queue: SduQueue
    above: Above


def entity(parameters: RawParameters) -> Entity:
    """A side that has sent and received nothing."""
    rules = record(RULES)
    rules.header_bytes = parameters.header_bytes
    return Entity(rules, record(COUNTS), sdu_queue(parameters.queue_sdus), above(1, 0))


def frames(capacity: int, parameters: RawParameters) -> Any:
    """Room for frames that wait or are on the air."""
    return table(capacity, FRAME)


def counters(e: Entity) -> dict[str, int]:
    """What the entity counted, and the SDUs that still wait."""
    counted = {name: int(e.counts[name]) for name in COUNTS.names}
    return {**counted, "waiting": int(length(e.queue))}


@kernel
def next_frame(e: Any, frame: Any, now: int) -> int:
    """Write the SDU that waits longest into `frame`, and return its octets on the air; 0 when there is none."""
    if length(e.queue) == 0:
        return 0
    row = e.queue.rows[take(e.queue)]
    frame.kind, frame.ns = DATA, e.counts.sent % MODULUS
    frame.has_nr = frame.nr = frame.id = 0
    frame.sdu, frame.start, frame.octets = row.sdu, row.start, row.octets
    e.counts.sent += 1
    return e.rules.header_bytes + row.octets


@kernel
def carries_data(frame: Any) -> int:
    """Every frame carries an SDU."""
    return 1


@kernel
def on_air(e: Any, frame: Any, end: int) -> None:
    """Nothing waits for a frame."""
    return


@kernel
def receive(e: Any, frame: Any, octets: int, now: int) -> None:
    """Deliver the SDU of a data frame that arrived undamaged."""
    if frame.kind == DATA:
        e.counts.delivered_sdus += 1
        e.counts.delivered_octets += frame.octets
        hand_over(e.above, frame.start, frame.start + frame.octets, frame.sdu, now)


@kernel
def next_timer(e: Any) -> int:
    """No timer ever runs."""
    return NEVER


@kernel
def expire(e: Any, now: int) -> None:
    """Nothing ever expires."""
    return


@kernel
def total_delivered(e: Any) -> int:
    """Octets handed up so far."""
    return e.counts.delivered_octets


@kernel
def note(e: Any, log: Any, now: int, side: int, why: int) -> None:
    """Nothing ever happens to the entity itself."""
    return


@kernel
def span(e: Any, frame: Any) -> tuple[int, int]:
    """Nothing is ever repeated."""
    return 0, 0


@kernel
def gone(frame: Any, octets: int) -> tuple[int, int]:
    """The octets of what is in the frame."""
    return frame.start, frame.start + frame.octets


@kernel
def restarted(e: Any) -> int:
    """There is no reset."""
    return -1
