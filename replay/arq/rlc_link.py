"""Two RLC AM entities, A and B, against each other over an air interface of opportunities.

Opportunity i of either side begins at i * frame_ns and has room for some PDUs; a PDU arrives delay_ns
later, or garbled where the caller's array says so. At equal times offers come before arrivals, these before
timers and these before sending; A before B. `carry` runs any stretch of opportunities and can go on later.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from multitracer.errors import UsageError
from multitracer.kernels import kernel
from multitracer.replay.arq.rlc_am import expire, next_frame, next_timer, receive
from multitracer.replay.arq.rlc_entity import DISCARD_NS, ENDED, NEVER, PDU_BYTES, RESETTING, Entity, entity
from multitracer.replay.arq.rlc_parameters import Parameters, check
from multitracer.replay.arq.rlc_segments import (
    BACK, FRONT, OUT_COUNT, has_room, is_numbered, number_of, offer_numbered, taken_away,
)  # fmt: skip

A, B = 0, 1
LEAST_SDU_BYTES = 8
"""Every made-up SDU begins with its number in eight octets."""

# What a link is set to.
FRAME_NS, DELAY_NS, PER_FRAME_A, PER_FRAME_B, SATURATED_BYTES = range(5)

# What is counted of each side: SDUs made for it to send, those refused by its full queue; PDUs it sent, and of
# these how many came garbled; SDUs and octets that it handed over, and how many of them were garbled, out of
# order, or not the first of their number. LAST is the number it handed over last, plus 1.
(
    OFFERED, REFUSED, FRAMES, ERASED, DELIVERED, DELIVERED_OCTETS, GARBLED, MISORDERED, REPEATED, LAST,
    DELIVERED_LAST_NS, TALLY,
) = range(12)  # fmt: skip
TALLY_NAMES = (
    "offered", "refused", "frames", "erased", "delivered", "delivered_octets", "garbled", "misordered", "repeated",
    "last", "delivered_last_ns",
)  # fmt: skip

# Columns of the log. NUMBER is a row of the store for PDUs, else an SDU's number.
LOG_TIME, LOG_SIDE, LOG_EVENT, LOG_NUMBER, LOG_LENGTH = range(5)
E_OFFERED, E_SENT, E_RECEIVED, E_ERASED, E_DELIVERED = range(5)
EVENTS = ("offered", "sent", "received", "erased", "delivered")

# Columns of a PDU in the air.
ARRIVES, AIR_LENGTH, LOST, STORED = range(4)
# Cursors: offers made and PDUs that left and reached the air, of each side; rows of the log and of the store.
NEXT_OFFER, LEFT, REACHED = 0, 2, 4
LOGGED, KEPT, CURSORS = 6, 7, 8


class Side(NamedTuple):
    """One side of a link: its entity, what is offered to it, what garbles the PDUs it sends."""

    e: Entity
    tally: Any
    offer_ns: Any
    offer_octets: Any
    erased: Any
    """By PDU that could be sent: opportunity times PDUs of an opportunity plus place in it."""
    delivered_ns: Any
    """By number of the SDU offered to this side: when the other handed it over, -1: not (yet)."""
    air: Any
    air_octets: Any


class Link(NamedTuple):
    """Two sides and what is noted of them."""

    a: Side
    b: Side
    settings: Any
    cursor: Any
    log: Any
    store: Any
    """Octets of the PDUs in the log."""
    frame: Any


Offers = tuple[Iterable[int], Iterable[int]]


def link(
    a: Parameters,
    b: Parameters | None = None,
    *,
    frame_ns: int = 10_000_000,
    delay_ns: int = 50_000_000,
    per_frame: tuple[int, int] = (1, 1),
    offers: tuple[Offers, Offers] = (((), ()), ((), ())),
    saturated_bytes: int = 0,
    erased: tuple[Any, Any] = ((), ()),
    log_rows: int = 0,
) -> Link:
    """A link at rest; `offers` are (times, octets) for A and for B, `saturated_bytes` gives A SDUs for ever."""
    b = b or a
    check("frame_ns", frame_ns, 1, 10**12)
    check("delay_ns", delay_ns, 0, 10**12)
    for count in per_frame:
        check("per_frame", count, 1, 1000)
    if saturated_bytes:
        check("saturated_bytes", saturated_bytes, LEAST_SDU_BYTES, min(a.max_sdu_bytes, b.max_sdu_bytes))
    if a.pdu_bytes != b.pdu_bytes or a.li_octets != b.li_octets:
        raise UsageError("both sides must have the same pdu_bytes and li_bits")
    in_flight = delay_ns // frame_ns + 2
    sides = [
        _side(p, other, offers[i], np.asarray(erased[i], np.uint8), in_flight * per_frame[i] + 1)
        for i, (p, other) in enumerate(((a, b), (b, a)))
    ]
    settings = np.array([frame_ns, delay_ns, *per_frame, saturated_bytes], np.int64)
    log, store = np.zeros((log_rows, 5), np.int64), np.zeros((log_rows, a.pdu_bytes), np.uint8)
    return Link(*sides, settings, np.zeros(CURSORS, np.int64), log, store, np.zeros(a.pdu_bytes, np.uint8))


def _side(p: Parameters, other: Parameters, offers: Offers, erased: Any, in_flight: int) -> Side:
    times, sizes = (np.array(list(each), np.int64) for each in offers)
    if len(times) != len(sizes) or np.any(np.diff(times) < 0):
        raise UsageError("offers need as many times as sizes, and times that do not fall")
    for size in sizes:
        check("an offered SDU's octets", int(size), LEAST_SDU_BYTES, min(p.max_sdu_bytes, other.max_sdu_bytes))
    return Side(
        entity(p), np.zeros(TALLY, np.int64), times, sizes, erased, np.full(len(times), -1, np.int64),
        np.zeros((in_flight, 4), np.int64), np.zeros((in_flight, p.pdu_bytes), np.uint8),
    )  # fmt: skip


@kernel
def carry(link: Link, first: int, last: int) -> None:
    """Run opportunities [first, last); all that happens before the first of them happens too."""
    a, b = link.a, link.b
    for i in range(first, last):
        now = i * link.settings[FRAME_NS]
        _until(link, now)
        _send(link, a, A, i, now)
        _send(link, b, B, i, now)


@kernel
def finish(link: Link, now: int) -> None:
    """Let arrivals and timers up to `now` happen, without sending."""
    _until(link, now)


@kernel
def _until(link: Link, now: int) -> None:
    a, b = link.a, link.b
    while True:
        offered = min(_next_offer(link, a, A), _next_offer(link, b, B))
        arrived = min(_next_arrival(link, a, A), _next_arrival(link, b, B))
        woken = min(next_timer(a.e), next_timer(b.e))
        at = min(offered, arrived, woken)
        if at > now:
            return
        if offered == at:
            _offer(link, a, A, at)
            _offer(link, b, B, at)
        elif arrived == at:
            if _next_arrival(link, b, B) == at:
                _arrive(link, b, a, B, at)
            if _next_arrival(link, a, A) == at:
                _arrive(link, a, b, A, at)
        else:
            expire(a.e, at)
            expire(b.e, at)


@kernel
def _next_offer(link: Link, side: Side, which: int) -> int:
    k = link.cursor[NEXT_OFFER + which]
    return side.offer_ns[k] if k < len(side.offer_ns) else NEVER


@kernel
def _next_arrival(link: Link, side: Side, which: int) -> int:
    """When the PDU of this side that is longest in the air arrives."""
    k = link.cursor[REACHED + which]
    return side.air[k % len(side.air), ARRIVES] if k < link.cursor[LEFT + which] else NEVER


@kernel
def _note(link: Link, now: int, which: int, event: int, number: int, length: int) -> None:
    row = link.cursor[LOGGED]
    if row < len(link.log):
        link.log[row, LOG_TIME], link.log[row, LOG_SIDE], link.log[row, LOG_EVENT] = now, which, event
        link.log[row, LOG_NUMBER], link.log[row, LOG_LENGTH] = number, length
        link.cursor[LOGGED] = row + 1


@kernel
def _offer(link: Link, side: Side, which: int, now: int) -> None:
    while _next_offer(link, side, which) <= now:
        k = link.cursor[NEXT_OFFER + which]
        link.cursor[NEXT_OFFER + which] = k + 1
        _make(link, side, which, side.offer_octets[k], now)


@kernel
def _make(link: Link, side: Side, which: int, length: int, now: int) -> None:
    number = side.tally[OFFERED]
    side.tally[OFFERED] = number + 1
    if offer_numbered(side.e.queue, number, length, now + side.e.p[DISCARD_NS]):
        _note(link, now, which, E_OFFERED, number, length)
    else:
        side.tally[REFUSED] += 1


@kernel
def _saturate(link: Link, side: Side, wanted: int, now: int) -> None:
    """Keep `wanted` octets waiting."""
    length = link.settings[SATURATED_BYTES]
    q = side.e.queue
    while q.v[BACK] - q.v[FRONT] < wanted and has_room(q, length) and not side.e.v[ENDED]:
        _make(link, side, A, length, now)


@kernel
def _send(link: Link, side: Side, which: int, i: int, now: int) -> None:
    """Use opportunity `i`."""
    per_frame = link.settings[PER_FRAME_A + which]
    if which == A and link.settings[SATURATED_BYTES]:
        _saturate(link, side, per_frame * side.e.p[PDU_BYTES] + link.settings[SATURATED_BYTES], now)
    for k in range(per_frame):
        length = next_frame(side.e, now, link.frame)
        if length == 0:
            return
        place = i * per_frame + k
        lost = 1 if place < len(side.erased) and side.erased[place] else 0
        _launch(link, side, which, length, lost, now)


@kernel
def _launch(link: Link, side: Side, which: int, length: int, lost: int, now: int) -> None:
    k = link.cursor[LEFT + which]
    at = k % len(side.air)
    for j in range(length):
        side.air_octets[at, j] = link.frame[j]
    row = link.cursor[KEPT]
    if row < len(link.store):
        for j in range(length):
            link.store[row, j] = link.frame[j]
        link.cursor[KEPT] = row + 1
    side.air[at, ARRIVES], side.air[at, AIR_LENGTH] = now + link.settings[DELAY_NS], length
    side.air[at, LOST], side.air[at, STORED] = lost, row
    link.cursor[LEFT + which] = k + 1
    side.tally[FRAMES] += 1
    side.tally[ERASED] += lost
    _note(link, now, which, E_SENT, row, length)


@kernel
def _arrive(link: Link, side: Side, other: Side, which: int, now: int) -> None:
    """The oldest PDU of `side` in the air reaches `other`."""
    k = link.cursor[REACHED + which]
    link.cursor[REACHED + which] = k + 1
    at = k % len(side.air)
    length, lost = side.air[at, AIR_LENGTH], side.air[at, LOST]
    _note(link, now, 1 - which, E_ERASED if lost else E_RECEIVED, side.air[at, STORED], length)
    if not lost:
        receive(other.e, side.air_octets[at], length, now)
        _take(link, side, other, 1 - which, now)


@kernel
def _take(link: Link, side: Side, other: Side, which: int, now: int) -> None:
    """Check and count the SDUs of `side` that `other` hands over."""
    r, begin = other.e.r, 0
    for k in range(r.v[OUT_COUNT]):
        end = r.ends[k]
        number = number_of(r.out, begin, end)
        _judge(side, other, number, end - begin, _intact(link, side, r.out, begin, end, number), now)
        _note(link, now, which, E_DELIVERED, number, end - begin)
        begin = end
    taken_away(r)


@kernel
def _intact(link: Link, side: Side, out: Any, begin: int, end: int, number: int) -> bool:
    """Whether the octets are those of SDU `number`, all of them."""
    if number < 0 or number >= side.tally[OFFERED]:
        return False
    saturated = link.settings[SATURATED_BYTES]
    length = side.offer_octets[number] if number < len(side.offer_octets) else saturated
    return is_numbered(out, begin, end, length)


@kernel
def _judge(side: Side, other: Side, number: int, length: int, intact: bool, now: int) -> None:
    tally = other.tally
    tally[DELIVERED] += 1
    tally[DELIVERED_OCTETS] += length
    tally[DELIVERED_LAST_NS] = now
    if not intact:
        tally[GARBLED] += 1
        return
    if number < tally[LAST]:
        tally[MISORDERED] += 1
    tally[LAST] = max(tally[LAST], number + 1)
    if number < len(side.delivered_ns):
        if side.delivered_ns[number] >= 0:
            tally[REPEATED] += 1
        side.delivered_ns[number] = now


def tally(side: Side) -> dict[str, int]:
    """What was counted of a side, by name; `ended` says how its link stands."""
    counted = dict(zip(TALLY_NAMES, side.tally.tolist(), strict=True))
    return {**counted, "resetting": int(side.e.v[RESETTING]), "ended": int(side.e.v[ENDED])}


def frame(link: Link, row: Any) -> bytes:
    """The octets of the PDU in a row of the log."""
    return link.store[row[LOG_NUMBER], : row[LOG_LENGTH]].tobytes()
