"""Segmentation, concatenation and reassembly of UMTS RLC with length indicators (3GPP TS 25.322 9.2.2.8).

`fill` puts waiting SDUs into a PDU behind its header; `read_indicators` finds their ends again; a
`Reassembly` puts SDUs together from PDUs in their order. Acknowledged and unacknowledged mode share it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.compute.records import integers, record, table

UNKNOWN = -1
"""The end of an SDU that no length indicator has told yet."""

# Length indicators with a meaning of their own, 15-bit form; the 7-bit form is their last seven bits.
ENDED_BEFORE, ENDED_SHORT, STARTS, PIGGYBACK, PADDING = 0, 0x7FFB, 0x7FFC, 0x7FFE, 0x7FFF
MOST_SIGNALLED = 15
"""Ends of SDUs in a PDU that N_LENGTH, of four bits, can name (9.2.2.11.8)."""

EXACT, SHORT, GIVEN_UP = 1, 2, 3
"""What the next PDU has to tell of the one before (`ending`, 0: nothing): an SDU filled it exactly; but for an octet
that is not there; or it ended with the beginning of an SDU that was given up."""

QUEUE = integers("head", "next", "tail", "taken", "front", "back", "ending", "refused")
"""State of a queue. Numbers of SDUs count up for ever: [head, next) are sent but not acknowledged, `taken` octets of
`next` are sent, `tail` is the next to come. `front` and `back` count octets likewise."""

SDU = integers("length", "due", "end_sn", "end_n")
"""What is known of an SDU: octets; when Timer_Discard expires, ns; its end as an MRW names it: the N_LENGTH-th
indicator of PDU SN_MRW, or 0: just before that PDU."""

REASSEMBLY = integers("held", "skipping", "out_count", "out_octets", "too_long", "aside")
"""State of a reassembly: octets of an SDU begun, whether its beginning is missing, what waits to be taken away."""

META = integers("count", "start", "stop", "status_at", "he", "done")
"""What the header of a received PDU says: how many ends, where SDU octets begin and end, where a piggybacked status
begins (0: none), HE; and which of the ends have been handed over ahead of sequence (see `feed`)."""


class Queue(NamedTuple):
    """SDUs waiting to be sent or acknowledged: a ring of octets and one of what is known of each SDU."""

    v: Any
    octets: Any
    sdu: Any
    """What is known of each (SDU)."""
    lis: Any
    """Length indicators of the PDU being filled: as many as it may have, and one for padding."""


class Reassembly(NamedTuple):
    """SDUs being put together, and those that wait to be taken away: `ends` in `out`."""

    v: Any
    partial: Any
    out: Any
    ends: Any


def most_ends(pdu_bytes: int, li_octets: int) -> int:
    """Length indicators for which a PDU has room."""
    return pdu_bytes // li_octets


def queue(sdus: int, octets: int, ends: int) -> Queue:
    """An empty queue with room for so many SDUs and octets; `fill` tells so many ends of SDUs in a PDU, at most."""
    return Queue(record(QUEUE), np.zeros(octets, np.uint8), table(sdus, SDU), np.zeros(ends + 1, np.int64))


def reassembly(max_sdu_bytes: int, out_bytes: int, out_sdus: int) -> Reassembly:
    """Nothing received yet."""
    partial, out = np.zeros(max_sdu_bytes + 1, np.uint8), np.zeros(out_bytes, np.uint8)
    return Reassembly(record(REASSEMBLY), partial, out, np.zeros(out_sdus, np.int64))


@kernel
def has_room(queue: Any, length: int) -> bool:
    """Whether an SDU of `length` octets can be taken in."""
    v = queue.v
    return v.tail - v.head < len(queue.sdu) and v.back - v.front + length <= len(queue.octets)


@kernel
def append_sdu(queue: Any, sdu: Any, length: int, due: int) -> bool:
    """Append an SDU; False when there is no room."""
    v = queue.v
    if not has_room(queue, length):
        v.refused += 1
        return False
    back, size = v.back, len(queue.octets)
    for i in range(length):
        queue.octets[(back + i) % size] = sdu[i]
    _append(queue, length, due)
    return True


@kernel
def _append(queue: Any, length: int, due: int) -> None:
    v = queue.v
    at = v.tail % len(queue.sdu)
    queue.sdu[at].length, queue.sdu[at].due = length, due
    queue.sdu[at].end_sn, queue.sdu[at].end_n = UNKNOWN, 0
    v.back += length
    v.tail += 1


@kernel
def numbered_octet(number: int, position: int) -> int:
    """Octet `position` of the SDU `number` that a driver makes up: its number in eight octets, then a pattern."""
    if position < 8:
        return (number >> (8 * (7 - position))) & 0xFF
    return (number * 31 + position * 17 + (position >> 8)) & 0xFF


@kernel
def number_of(out: Any, begin: int, end: int) -> int:
    """The number at the front of a made-up SDU, -1 when it is too short for one."""
    if end - begin < 8:
        return -1
    number: Any = 0
    for i in range(8):
        number = number << 8 | np.int64(out[begin + i])
    return number


@kernel
def is_numbered(out: Any, begin: int, end: int, length: int) -> bool:
    """Whether octets [begin, end) are a made-up SDU of `length` octets, whichever its number."""
    number = number_of(out, begin, end)
    if number < 0 or end - begin != length:
        return False
    wrong = 0
    for i in range(8, length):
        wrong += out[begin + i] != numbered_octet(number, i)
    return wrong == 0


@kernel
def offer_numbered(queue: Any, number: int, length: int, due: int) -> bool:
    """Append a made-up SDU of `length` octets (8 or more); False when there is no room."""
    v = queue.v
    if not has_room(queue, length):
        v.refused += 1
        return False
    back, size = v.back, len(queue.octets)
    for i in range(length):
        queue.octets[(back + i) % size] = numbered_octet(number, i)
    _append(queue, length, due)
    return True


@kernel
def has_data(queue: Any) -> bool:
    """Whether a new PDU would have anything to say: octets, or the end of the last SDU."""
    v = queue.v
    return v.next < v.tail or v.ending in (EXACT, SHORT)


@kernel
def room_left(queue: Any, room: int, li_octets: int) -> int:
    """Octets that would be padding if all that waits went into one PDU of `room`; negative when it does not fit."""
    v = queue.v
    marks = v.tail - v.next + (1 if v.ending else 0)
    if marks >= len(queue.lis):
        return -1
    return room - (v.back - v.front) - (marks + 1) * li_octets


@kernel
def _ended(queue: Any, number: int, sn: int, n: int) -> None:
    at = number % len(queue.sdu)
    queue.sdu[at].end_sn, queue.sdu[at].end_n = sn, n


@kernel
def _first_mark(queue: Any, sn: int, marks_start: int) -> int:
    """Note the indicator that tells of the PDU before or of a start, if there is one; gives how many, 0 or 1."""
    v = queue.v
    if v.ending:
        queue.lis[0] = ENDED_SHORT if v.ending == SHORT else ENDED_BEFORE
        if v.ending != GIVEN_UP:
            _ended(queue, v.next - 1, sn, 1)
        v.ending = 0
    elif marks_start and v.taken == 0:
        queue.lis[0] = STARTS
    else:
        return 0
    return 1


@kernel
def fill(
    queue: Any, sn: int, pdu: Any, head: int, size: int, li_octets: int, special_he: int, marks_start: int
) -> int:
    """Fill PDU `sn` behind its `head` octets up to `size`; gives HE: 0 data, 1 indicators, 2 data ending an SDU."""
    v, lis, data, he = queue.v, queue.lis, 0, 0
    alone = v.ending != 0  # the last thing in the PDU is the end of an SDU
    count = _first_mark(queue, sn, marks_start)
    room = size - head - count * li_octets
    while v.next < v.tail and count < len(lis) - 1 and room >= li_octets:
        rest = queue.sdu[v.next % len(queue.sdu)].length - v.taken
        alone = False
        if rest > room:
            data, v.taken, room = data + room, v.taken + room, 0
            break
        data += rest
        if rest + li_octets > room:  # no room for its indicator: the next PDU tells the end
            if rest == room and special_he and count == 0:
                he = 2
                _ended(queue, v.next, sn + 1, 0)
            else:
                v.ending = EXACT if rest == room else SHORT
            room = 0
        else:
            lis[count] = data
            count, room, alone = count + 1, room - rest - li_octets, True
            _ended(queue, v.next, sn, count)
        v.next += 1
        v.taken = 0
    if alone:
        _ended(queue, v.next - 1, sn + 1, 0)
    if room >= li_octets:
        lis[count] = PADDING
        count += 1
    _put(queue, pdu, head, size, li_octets, count, data)
    return 1 if count else he


@kernel
def _put(queue: Any, pdu: Any, head: int, size: int, li_octets: int, count: int, data: int) -> None:
    """Write indicators, then octets from the front of the queue, then zeros."""
    at = head
    for i in range(count):
        more = 1 if i < count - 1 else 0
        if li_octets == 1:
            pdu[at] = (queue.lis[i] & 0x7F) << 1 | more
        else:
            pdu[at] = queue.lis[i] >> 7
            pdu[at + 1] = (queue.lis[i] & 0x7F) << 1 | more
        at += li_octets
    front, ring = queue.v.front, len(queue.octets)
    for i in range(data):
        pdu[at + i] = queue.octets[(front + i) % ring]
    for i in range(at + data, size):
        pdu[i] = 0
    queue.v.front += data


@kernel
def drop_waiting(queue: Any, first: int) -> None:
    """Give up what is not sent of SDUs before number `first`."""
    v = queue.v
    while v.next < first:
        v.front += queue.sdu[v.next % len(queue.sdu)].length - v.taken
        v.taken = 0
        v.next += 1


@kernel
def drop_behind_begun(queue: Any) -> None:
    """Give up the first SDU not begun; the rest of the one begun moves up to those behind."""
    v, ring = queue.v, len(queue.octets)
    begun, gone = v.next % len(queue.sdu), (v.next + 1) % len(queue.sdu)
    rest, length = queue.sdu[begun].length - v.taken, queue.sdu[gone].length
    for i in range(rest - 1, -1, -1):
        queue.octets[(v.front + length + i) % ring] = queue.octets[(v.front + i) % ring]
    moved, sdu = queue.sdu[gone], queue.sdu[begun]
    moved.length, moved.due, moved.end_sn, moved.end_n = sdu.length, sdu.due, sdu.end_sn, sdu.end_n
    v.front += length
    v.next += 1


@kernel
def read_indicators(pdu: Any, head: int, length: int, li_octets: int, meta: Any, lis: Any, unacknowledged: int) -> bool:
    """The length indicators behind `head` octets, in 15-bit form; False when they contradict themselves."""
    at, more, count = head, 1, 0
    while more:
        if at + li_octets > length or count >= len(lis):
            return False
        field = pdu[at] if li_octets == 1 else np.int64(pdu[at]) << 8 | pdu[at + 1]
        more, li = field & 1, np.int64(field) >> 1
        lis[count] = li | 0x7F80 if li_octets == 1 and li >= 0x7C else li
        at += li_octets
        count += 1
    meta.count, meta.start, meta.stop, meta.status_at = count, at, length - at, 0
    return _consistent(meta, lis, li_octets, unacknowledged)


@kernel
def _consistent(meta: Any, lis: Any, li_octets: int, unacknowledged: int) -> bool:
    """Check the indicators against each other and find where SDU octets stop."""
    end, data, count = 0, meta.stop, meta.count
    for i in range(count):
        li = lis[i]
        if li in (ENDED_BEFORE, ENDED_SHORT):
            if i > 0:
                return False
        elif li == STARTS:
            if i > 0 or not unacknowledged:
                return False
        elif li == PADDING or (li == PIGGYBACK and not unacknowledged):
            if i < count - 1:
                return False
            meta.stop, meta.count = end, count - 1
            if li == PIGGYBACK:
                meta.status_at = meta.start + end
        elif li < end or li > data:  # the reserved ones are larger than any PDU
            return False
        else:
            end = li
    # 9.2.2.8: one octet behind a 15-bit indicator of an end is nobody's.
    if li_octets == 2 and data - end == 1 and end > 0:
        meta.stop = end
    return True


@kernel
def append(r: Any, octets: Any, first: int, last: int) -> None:
    """Octets [first, last) belong to the SDU that is being put together."""
    held = r.v.held
    if r.v.skipping:
        return
    if held + last - first > len(r.partial):
        r.v.too_long += 1
        lose(r)
        return
    for i in range(last - first):
        r.partial[held + i] = octets[first + i]
    r.v.held = held + last - first


@kernel
def close(r: Any, wanted: int) -> None:
    """The SDU ends here: hand it over if it is whole and wanted."""
    v = r.v
    if wanted and not v.skipping and v.held > 0:
        hand_over(r)
    v.held, v.skipping = 0, 0


@kernel
def hand_over(r: Any) -> None:
    """Put the SDU in `partial` among those to be taken away."""
    v = r.v
    start = v.out_octets
    for i in range(v.held):
        r.out[start + i] = r.partial[i]
    v.out_octets = start + v.held
    r.ends[v.out_count] = v.out_octets
    v.out_count += 1


@kernel
def restart_aside(r: Any) -> None:
    """Begin an SDU right among those to be taken away, beside the one in sequence."""
    r.v.aside = 0


@kernel
def append_aside(r: Any, octets: Any, first: int, last: int) -> None:
    """Octets [first, last) belong to the SDU put together aside."""
    start = r.v.out_octets + r.v.aside
    for i in range(last - first):
        r.out[start + i] = octets[first + i]
    r.v.aside += last - first


@kernel
def close_aside(r: Any, surplus: int) -> bool:
    """The SDU put together aside ends, `surplus` octets ago; whether there is one."""
    size = r.v.aside - surplus
    if size <= 0:
        return False
    r.v.out_octets += size
    r.ends[r.v.out_count] = r.v.out_octets
    r.v.out_count += 1
    return True


@kernel
def lose(r: Any) -> None:
    """A PDU is missing: what is begun is lost, and so is all up to the next end of an SDU."""
    r.v.held, r.v.skipping = 0, 1


@kernel
def restart(r: Any) -> None:
    """The next octet is known to begin an SDU."""
    r.v.held, r.v.skipping = 0, 0


@kernel
def taken_away(r: Any) -> None:
    """All that was handed over has been taken."""
    r.v.out_count, r.v.out_octets = 0, 0


@kernel
def feed(r: Any, pdu: Any, meta: Any, lis: Any, he: int, skip: int, done: int) -> None:
    """Take the next PDU in sequence; its first `skip` ends, and those that are `done`, are not wanted.

    `done`: bit 0 for the first end, bit 1 for all the others.
    """
    start, at = meta.start, 0
    for i in range(meta.count):
        wanted = i >= skip and not (done >> min(i, 1)) & 1
        if lis[i] == STARTS:
            restart(r)
            continue
        if lis[i] == ENDED_SHORT:
            r.v.held = max(0, r.v.held - 1)
        elif lis[i] != ENDED_BEFORE:
            append(r, pdu, start + at, start + lis[i])
            at = lis[i]
        close(r, wanted)
    append(r, pdu, start + at, start + meta.stop)
    if he == 2:
        close(r, not (done >> min(meta.count, 1)) & 1)
