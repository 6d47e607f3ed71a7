"""SDUs that wait to be sent or acknowledged, in all modes of UMTS RLC."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.replay.arq.fields import dtype, numbers
from multitracer.replay.arq.rlc.parameters import LARGEST_PDU_BYTES, MOST_QUEUE_SDUS
from multitracer.replay.arq.stretches import lose

EXACT, SHORT, GIVEN_UP = 1, 2, 3
"""What the next PDU has to tell of the one before (`ending`, 0: nothing): an SDU filled it exactly; but for an octet
that is not there; or it ended with the beginning of an SDU that was given up."""
MOST_KEPT_BYTES = 1 << 24
"""Octets that may wait in the mode with octets."""
UNKNOWN = -1
"""`end_sn` of an SDU whose end no length indicator has named yet: its last octet is not in a PDU."""

SDU = numbers("length due end_sn end_n")
"""What is known of an SDU: octets; when Timer_Discard expires, ns; its end as an MRW names it: the N_LENGTH-th
indicator of PDU SN_MRW, or 0: just before that PDU."""

STATE = dtype(
    [
        *((name, np.int64) for name in (
            "head", "next", "tail", "taken", "front", "back", "ending", "moved", "refused", "most_ends",
            "octets", "sdus", "waits", "ring", "mask",
        )),
        ("sdu", SDU, (MOST_QUEUE_SDUS,)),
        ("lis", np.int64, (LARGEST_PDU_BYTES // 2 + 2,)),
    ]
)  # fmt: skip
"""State of a queue.

Numbers of SDUs count up for ever: [head, next) are sent but not acknowledged, `taken` octets of `next` are sent, `tail`
is the next to come. `front` and `back` count octets likewise: positions in the stream of all SDUs. What is left of the
SDU begun is `moved` octets before `front`: SDUs after it have been dropped. `octets` octets may wait, of `sdus` SDUs
at most, those sent included, and of `waits` SDUs not sent whole; `ring` octets are kept, 0 in the mode without octets.
`sdu`: a ring of what is known of each SDU, as large as it can be set: what is not used takes no memory. SDU `number` is
at `number & mask`: a division is slow, and much code where the compiler vectorises it. `lis`: length indicators of the
PDU being filled, `most_ends` of them and one for padding.
"""

QUEUE = dtype([("v", STATE), ("octets", np.uint8, (MOST_KEPT_BYTES,))])
"""A queue, and in the mode with octets a ring of them."""


def set_up(queue: Any, sdus: int, octets: int, ends: int, keeps_octets: bool, waits: int = 0) -> None:
    """Give an empty queue room for `sdus` SDUs of `octets` octets in all, `waits` of them (0: all) not sent whole.

    `fill` puts at most `ends` ends in a PDU.
    """
    v = queue.v
    v.most_ends, v.octets, v.sdus, v.waits, v.ring = ends, octets, sdus, waits or sdus, 0
    v.mask = (1 << (sdus - 1).bit_length()) - 1
    if keeps_octets:
        v.ring = v.octets = min(octets, MOST_KEPT_BYTES)


@kernel
def has_room(queue: Any, length: int) -> bool:
    """Whether an SDU of `length` octets can be taken in."""
    v = queue.v
    return v.tail - v.head < v.sdus and v.tail - v.next < v.waits and v.back - v.front + length <= v.octets


@kernel
def append_sdu(queue: Any, length: int, due: int) -> bool:
    """Append an SDU, whose octets are its number and a pattern; False when there is no room."""
    v = queue.v
    if not has_room(queue, length):
        v.refused += 1
        return False
    number, back, ring = v.tail, v.back, queue.v.ring
    if ring > 0:
        for i in range(length):
            queue.octets[(back + i) % ring] = numbered_octet(number, i)
    sdu = queue.v.sdu[number & queue.v.mask]
    sdu.length, sdu.due, sdu.end_sn, sdu.end_n = length, due, UNKNOWN, 0
    v.back = back + length
    v.tail = number + 1
    return True


@kernel
def numbered_octet(number: int, position: int) -> int:
    """Octet `position` of SDU `number` where no others are given: its number in eight octets, then a pattern."""
    if position < 8:
        return (number >> (8 * (7 - position))) & 0xFF
    return (number * 31 + position * 17 + (position >> 8)) & 0xFF


@kernel
def has_data(queue: Any) -> bool:
    """Whether a new PDU would have anything to say: octets, or the end of the last SDU."""
    v = queue.v
    return v.next < v.tail or v.ending == EXACT or v.ending == SHORT


@kernel
def room_left(queue: Any, room: int, li_octets: int) -> int:
    """Octets that would be padding if all that waits went into one PDU of `room`; negative when it does not fit."""
    v = queue.v
    marks = v.tail - v.next + (1 if v.ending else 0)
    if marks > v.most_ends:
        return -1
    return room - (v.back - v.front) - (marks + 1) * li_octets


@kernel
def ends_at(queue: Any, number: int, sn: int, n: int) -> None:
    """Note where an SDU ends, as an MRW names it."""
    sdu = queue.v.sdu[number & queue.v.mask]
    sdu.end_sn, sdu.end_n = sn, n


@kernel
def drop_waiting(queue: Any, first: int) -> None:
    """Give up what is not sent of SDUs before number `first`."""
    v = queue.v
    while v.next < first:
        v.front += queue.v.sdu[v.next & queue.v.mask].length - v.taken
        v.taken = v.moved = 0
        v.next += 1


@kernel
def drop_after_begun(queue: Any) -> None:
    """Give up the first SDU not begun; the rest of the one begun moves up to those after it."""
    v, ring = queue.v, queue.v.ring
    begun, gone = queue.v.sdu[v.next & queue.v.mask], queue.v.sdu[(v.next + 1) & queue.v.mask]
    rest, length = begun.length - v.taken, gone.length
    if ring > 0:
        for i in range(rest - 1, -1, -1):
            queue.octets[(v.front + length + i) % ring] = queue.octets[(v.front + i) % ring]
    gone.length, gone.due, gone.end_sn, gone.end_n = begun.length, begun.due, begun.end_sn, begun.end_n
    v.front += length
    v.moved += length
    v.next += 1


@kernel
def report_lost(queue: Any, above: Any, first: int, last: int) -> None:
    """Report SDUs `first` to `last` - 1 as given up: none of them was before."""
    if above.count.wanted == 0 or first >= last:
        return
    v = queue.v
    end, number = v.back, v.tail
    while number > first:
        number -= 1
        start = end - queue.v.sdu[number & queue.v.mask].length
        if number < last:
            lose(above, start, end, number)
        end = start
