"""Two RLC AM entities, A and B, against each other over an air interface of opportunities.

Opportunity i of either side begins at i * frame_ns and has room for some PDUs; a PDU arrives delay_ns
later, or garbled where the caller's array says so. At equal times offers come before arrivals, these before
timers and these before sending; at A before at B. `carry` runs any stretch of opportunities and can go on later.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.compute.records import numbers
from multitracer.model.errors import UsageError
from multitracer.replay.arq.rlc.am import expire, next_frame, next_timer, receive
from multitracer.replay.arq.rlc.am_entity import (
    NEVER,
    Entity,
    entity,
)
from multitracer.replay.arq.rlc.parameters import Parameters, check, check_queue, check_windows
from multitracer.replay.arq.rlc.segmentation import (
    Reassembly,
    has_room,
    is_numbered,
    number_of,
    offer_numbered,
    taken_away,
)

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

# Columns of a PDU in the air, and of an offer.
ARRIVES, AIR_LENGTH, LOST, STORED = range(4)
OFFER_NS, OFFER_SIDE, OFFER_OCTETS = range(3)
# Cursors: the next offer; PDUs that left and reached the air, of each side; rows of the log and of the store.
NEXT_OFFER, LEFT, REACHED, LOGGED, KEPT, CURSORS = 0, 1, 3, 5, 6, 7


class Link(NamedTuple):
    """What lies between two entities; by side where there are two of it."""

    settings: Any
    cursor: Any
    tally: Any
    offers: Any
    sizes: Any
    """Octets of each SDU offered to a side, by its number."""
    delivered_ns: Any
    """When the other side handed it over, -1: not (yet)."""
    erased: Any
    """By PDU that could be sent: opportunity times PDUs of an opportunity plus place in it."""
    air: Any
    air_octets: Any
    log: Any
    store: Any
    """Octets of the PDUs in the log."""
    frame: Any


Offers = tuple[Sequence[int], Sequence[int]]


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
) -> tuple[Link, Entity, Entity]:
    """A link at rest and its entities, for `carry`.

    `offers` are (times, octets) for A and for B; `saturated_bytes` gives A SDUs of that size for ever instead.
    """
    b = b or a
    check("frame_ns", frame_ns, 1, 10**12)
    check("delay_ns", delay_ns, 0, 10**12)
    for count in per_frame:
        check("per_frame", count, 1, 1000)
    longest = min(a.max_sdu_bytes, b.max_sdu_bytes)
    if saturated_bytes:
        check("saturated_bytes", saturated_bytes, LEAST_SDU_BYTES, longest)
        check_queue(a.queue_sdus, a.queue_bytes, per_frame[0] * a.pdu_bytes, saturated_bytes)
    if a.pdu_bytes != b.pdu_bytes or a.li_octets != b.li_octets:
        raise UsageError("both sides must have the same pdu_bytes and li_bits")
    check_windows(a.tx_window, b.rx_window)
    check_windows(b.tx_window, a.rx_window)
    in_flight = (delay_ns // frame_ns + 2) * max(per_frame) + 1
    settings = np.array([frame_ns, delay_ns, *per_frame, saturated_bytes], np.int64)
    sizes = _by_side([np.asarray(each[1], np.int64) for each in offers], 0)
    made = Link(
        settings, np.zeros(CURSORS, np.int64), np.zeros((2, TALLY), np.int64), _merged(offers, longest), sizes,
        np.full(sizes.shape, -1, np.int64), _by_side([np.asarray(each, np.uint8) for each in erased], 0),
        np.zeros((2, in_flight, 4), np.int64), np.zeros((2, in_flight, a.pdu_bytes), np.uint8),
        np.zeros((log_rows, 5), np.int64), np.zeros((log_rows, a.pdu_bytes), np.uint8), np.zeros(a.pdu_bytes, np.uint8),
    )  # fmt: skip
    return made, entity(a), entity(b)


def _by_side(rows: list[Any], filling: int) -> Any:
    """Both rows in one array, the shorter filled up."""
    table = np.full((2, max(map(len, rows))), filling, rows[0].dtype)
    for side, row in enumerate(rows):
        table[side, : len(row)] = row
    return table


def _merged(offers: tuple[Offers, Offers], longest: int) -> Any:
    """The offers to both sides as rows, by time."""
    rows = []
    for side, (times, sizes) in enumerate(offers):
        if len(times) != len(sizes) or any(later < sooner for sooner, later in pairwise(times)):
            raise UsageError("offers need as many times as sizes, and times that do not fall")
        for time, size in zip(times, sizes, strict=True):
            check("an offered SDU's octets", int(size), LEAST_SDU_BYTES, longest)
            rows.append((int(time), side, int(size)))
    return np.array(sorted(rows, key=lambda row: row[0]), np.int64).reshape(-1, 3)


@kernel
def carry(link: Link, a: Entity, b: Entity, first: int, last: int) -> None:
    """Run opportunities [first, last); all that happens before each of them happens too."""
    for i in range(first, last):
        now = i * link.settings[FRAME_NS]
        settle(link, a, b, now)
        if link.settings[SATURATED_BYTES]:
            _saturate(link, a, now)
        _send(link, a, A, i, now)
        _send(link, b, B, i, now)


@kernel
def settle(link: Link, a: Entity, b: Entity, now: int) -> None:
    """Let offers, arrivals and timers up to `now` happen."""
    while True:
        offered = _next_offer(link.offers, link.cursor)
        to_a, to_b = _next_arrival(link.air, link.cursor, B), _next_arrival(link.air, link.cursor, A)
        at = min(offered, to_a, to_b, next_timer(a), next_timer(b))
        if at > now:
            return
        if offered == at:
            if link.offers[link.cursor[NEXT_OFFER], OFFER_SIDE] == A:
                _offer(link, a, A, at)
            else:
                _offer(link, b, B, at)
        elif to_a == at:
            _arrive(link, a, A, at)
        elif to_b == at:
            _arrive(link, b, B, at)
        else:
            expire(a, at)
            expire(b, at)


@kernel
def _next_offer(offers: Any, cursor: Any) -> int:
    k = cursor[NEXT_OFFER]
    return offers[k, OFFER_NS] if k < len(offers) else NEVER


@kernel
def _next_arrival(air: Any, cursor: Any, sender: int) -> int:
    """When the PDU of this side that is longest in the air arrives."""
    k = cursor[REACHED + sender]
    return air[sender, k % air.shape[1], ARRIVES] if k < cursor[LEFT + sender] else NEVER


@kernel
def _note(log: Any, cursor: Any, now: int, side: int, event: int, number: int, length: int) -> None:
    row = cursor[LOGGED]
    if row < len(log):
        log[row, LOG_TIME], log[row, LOG_SIDE], log[row, LOG_EVENT] = now, side, event
        log[row, LOG_NUMBER], log[row, LOG_LENGTH] = number, length
        cursor[LOGGED] = row + 1


@kernel
def _offer(link: Link, e: Entity, side: int, now: int) -> None:
    length = link.offers[link.cursor[NEXT_OFFER], OFFER_OCTETS]
    link.cursor[NEXT_OFFER] += 1
    _make(link, e, side, length, now)


@kernel
def _make(link: Link, e: Entity, side: int, length: int, now: int) -> None:
    number = link.tally[side, OFFERED]
    link.tally[side, OFFERED] = number + 1
    if offer_numbered(e.queue, number, length, now + e.p.discard_ns):
        _note(link.log, link.cursor, now, side, E_OFFERED, number, length)
    else:
        link.tally[side, REFUSED] += 1


@kernel
def _saturate(link: Link, e: Entity, now: int) -> None:
    """Keep A in SDUs for one opportunity."""
    length, q = link.settings[SATURATED_BYTES], e.queue
    wanted = link.settings[PER_FRAME_A] * e.p.pdu_bytes + length
    while q.v.back - q.v.front < wanted and has_room(q, length) and not e.v.ended:
        _make(link, e, A, length, now)


@kernel
def _send(link: Link, e: Entity, side: int, i: int, now: int) -> None:
    """Use opportunity `i`."""
    per_frame = link.settings[PER_FRAME_A + side]
    for k in range(per_frame):
        length = next_frame(e, now, link.frame)
        if length == 0:
            return
        place = i * per_frame + k
        _launch(link, side, length, 1 if place < link.erased.shape[1] and link.erased[side, place] else 0, now)


@kernel
def _launch(link: Link, side: int, length: int, lost: int, now: int) -> None:
    k, row = link.cursor[LEFT + side], link.cursor[KEPT]
    at = k % link.air.shape[1]
    for j in range(length):
        link.air_octets[side, at, j] = link.frame[j]
    if row < len(link.store):
        for j in range(length):
            link.store[row, j] = link.frame[j]
        link.cursor[KEPT] = row + 1
    air = link.air[side, at]
    air[ARRIVES], air[AIR_LENGTH], air[LOST], air[STORED] = now + link.settings[DELAY_NS], length, lost, row
    link.cursor[LEFT + side] = k + 1
    link.tally[side, FRAMES] += 1
    link.tally[side, ERASED] += lost
    _note(link.log, link.cursor, now, side, E_SENT, row, length)


@kernel
def _arrive(link: Link, e: Entity, side: int, now: int) -> None:
    """The oldest PDU in the air reaches `side`."""
    sender = 1 - side
    k = link.cursor[REACHED + sender]
    link.cursor[REACHED + sender] = k + 1
    at = k % link.air.shape[1]
    air = link.air[sender, at]
    length, lost = air[AIR_LENGTH], air[LOST]
    _note(link.log, link.cursor, now, side, E_ERASED if lost else E_RECEIVED, air[STORED], length)
    if not lost:
        receive(e, link.air_octets[sender, at], length, now)
        _take(link, e.r, side, now)


@kernel
def _take(link: Link, r: Reassembly, side: int, now: int) -> None:
    """Check and count the SDUs that `side` hands over."""
    begin = 0
    for k in range(r.v.out_count):
        end = r.ends[k]
        number = number_of(r.out, begin, end)
        intact = _intact(link, r.out, begin, end, number, 1 - side)
        _judge(link.tally[side], link.delivered_ns[1 - side], number, end - begin, intact, now)
        _note(link.log, link.cursor, now, side, E_DELIVERED, number, end - begin)
        begin = end
    taken_away(r)


@kernel
def _intact(link: Link, out: Any, begin: int, end: int, number: int, sender: int) -> bool:
    """Whether the octets are those of SDU `number`, all of them."""
    if number < 0 or number >= link.tally[sender, OFFERED]:
        return False
    length = link.settings[SATURATED_BYTES]
    if length == 0 or sender == B:
        length = link.sizes[sender, number]
    return is_numbered(out, begin, end, length)


@kernel
def _judge(tally: Any, delivered_ns: Any, number: int, length: int, intact: bool, now: int) -> None:
    tally[DELIVERED] += 1
    tally[DELIVERED_OCTETS] += length
    tally[DELIVERED_LAST_NS] = now
    if not intact:
        tally[GARBLED] += 1
        return
    if number < tally[LAST]:
        tally[MISORDERED] += 1
    tally[LAST] = max(tally[LAST], number + 1)
    if number < len(delivered_ns):
        if delivered_ns[number] >= 0:
            tally[REPEATED] += 1
        delivered_ns[number] = now


def tally(link: Link, e: Entity, side: int) -> dict[str, int]:
    """What was counted of a side and by its entity, by name; `resetting` and `ended` say how it stands."""
    counted = dict(zip(TALLY_NAMES, link.tally[side].tolist(), strict=True))
    by_entity = numbers(e.counts)
    return {**counted, **by_entity, "resetting": int(e.v.resetting), "ended": int(e.v.ended)}


def frame(link: Link, row: Any) -> bytes:
    """The octets of the PDU in a row of the log."""
    return link.store[row[LOG_NUMBER], : row[LOG_LENGTH]].tobytes()
