"""Segmentation, concatenation and reassembly of UMTS RLC with length indicators (3GPP TS 25.322 9.2.2.8).

`fill` puts waiting SDUs into a PDU behind its header; `read_indicators` finds their ends again; a
`Reassembly` puts SDUs together from PDUs in their order. Acknowledged and unacknowledged mode share it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import kernel

UNKNOWN = -1
"""The end of an SDU that no length indicator has told yet."""

# Length indicators with a meaning of their own, 15-bit form; the 7-bit form is their last seven bits.
ENDED_BEFORE, ENDED_SHORT, STARTS, PIGGYBACK, PADDING = 0, 0x7FFB, 0x7FFC, 0x7FFE, 0x7FFF
MOST_SIGNALLED = 15
"""Ends of SDUs in a PDU that N_LENGTH, of four bits, can name (9.2.2.11.8)."""

# State of a queue. Numbers of SDUs count up for ever: [HEAD, NEXT) are sent but not acknowledged, TAKEN octets
# of NEXT are sent, TAIL is the next to come. FRONT and BACK count octets likewise.
HEAD, NEXT, TAIL, TAKEN, FRONT, BACK, ENDING, REFUSED = range(8)
# What the next PDU has to tell of the one before (ENDING, 0: nothing): an SDU filled it exactly; but for an octet that
# is not there; or it ended with the beginning of an SDU that was given up.
EXACT, SHORT, GIVEN_UP = 1, 2, 3
# State of a reassembly: octets of an SDU begun, whether its beginning is missing, what waits to be taken away.
HELD, SKIPPING, OUT_COUNT, OUT_OCTETS, TOO_LONG, ASIDE = range(6)
# What `read_indicators` says: how many, where SDU octets begin and end, where a piggybacked status begins (0: none).
COUNT, START, STOP, STATUS_AT = range(4)


# Columns of what is known of an SDU: octets; when Timer_Discard expires, ns; its end as an MRW names it: the
# N_LENGTH-th indicator of PDU SN_MRW, or 0: just before that PDU.
LENGTH, DUE, END_SN, END_N = range(4)


class Queue(NamedTuple):
    """SDUs waiting to be sent or acknowledged: a ring of octets and one of what is known of each SDU."""

    v: Any
    octets: Any
    sdu: Any
    """What is known of each SDU, by the columns LENGTH to END_N."""
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
    known, lis = np.zeros((sdus, 4), np.int64), np.zeros(ends + 1, np.int64)
    return Queue(np.zeros(8, np.int64), np.zeros(octets, np.uint8), known, lis)


def reassembly(max_sdu_bytes: int, out_bytes: int, out_sdus: int) -> Reassembly:
    """Nothing received yet."""
    partial, out = np.zeros(max_sdu_bytes + 1, np.uint8), np.zeros(out_bytes, np.uint8)
    return Reassembly(np.zeros(6, np.int64), partial, out, np.zeros(out_sdus, np.int64))


@kernel
def has_room(queue: Any, length: int) -> bool:
    """Whether an SDU of `length` octets can be taken in."""
    v = queue.v
    return v[TAIL] - v[HEAD] < len(queue.sdu) and v[BACK] - v[FRONT] + length <= len(queue.octets)


@kernel
def append_sdu(queue: Any, sdu: Any, length: int, due: int) -> bool:
    """Append an SDU; False when there is no room."""
    v = queue.v
    if not has_room(queue, length):
        v[REFUSED] += 1
        return False
    back, size = v[BACK], len(queue.octets)
    for i in range(length):
        queue.octets[(back + i) % size] = sdu[i]
    _append(queue, length, due)
    return True


@kernel
def _append(queue: Any, length: int, due: int) -> None:
    v = queue.v
    at = v[TAIL] % len(queue.sdu)
    queue.sdu[at, LENGTH], queue.sdu[at, DUE] = length, due
    queue.sdu[at, END_SN], queue.sdu[at, END_N] = UNKNOWN, 0
    v[BACK] += length
    v[TAIL] += 1


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
        v[REFUSED] += 1
        return False
    back, size = v[BACK], len(queue.octets)
    for i in range(length):
        queue.octets[(back + i) % size] = numbered_octet(number, i)
    _append(queue, length, due)
    return True


@kernel
def has_data(queue: Any) -> bool:
    """Whether a new PDU would have anything to say: octets, or the end of the last SDU."""
    v = queue.v
    return v[NEXT] < v[TAIL] or v[ENDING] in (EXACT, SHORT)


@kernel
def room_left(queue: Any, room: int, li_octets: int) -> int:
    """Octets that would be padding if all that waits went into one PDU of `room`; negative when it does not fit."""
    v = queue.v
    marks = v[TAIL] - v[NEXT] + (1 if v[ENDING] else 0)
    if marks >= len(queue.lis):
        return -1
    return room - (v[BACK] - v[FRONT]) - (marks + 1) * li_octets


@kernel
def _ended(queue: Any, number: int, sn: int, n: int) -> None:
    at = number % len(queue.sdu)
    queue.sdu[at, END_SN], queue.sdu[at, END_N] = sn, n


@kernel
def _first_mark(queue: Any, sn: int, marks_start: int) -> int:
    """Note the indicator that tells of the PDU before or of a start, if there is one; gives how many, 0 or 1."""
    v = queue.v
    if v[ENDING]:
        queue.lis[0] = ENDED_SHORT if v[ENDING] == SHORT else ENDED_BEFORE
        if v[ENDING] != GIVEN_UP:
            _ended(queue, v[NEXT] - 1, sn, 1)
        v[ENDING] = 0
    elif marks_start and v[TAKEN] == 0:
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
    alone = v[ENDING] != 0  # the last thing in the PDU is the end of an SDU
    count = _first_mark(queue, sn, marks_start)
    room = size - head - count * li_octets
    while v[NEXT] < v[TAIL] and count < len(lis) - 1 and room >= li_octets:
        rest = queue.sdu[v[NEXT] % len(queue.sdu), LENGTH] - v[TAKEN]
        alone = False
        if rest > room:
            data, v[TAKEN], room = data + room, v[TAKEN] + room, 0
            break
        data += rest
        if rest + li_octets > room:  # no room for its indicator: the next PDU tells the end
            if rest == room and special_he and count == 0:
                he = 2
                _ended(queue, v[NEXT], sn + 1, 0)
            else:
                v[ENDING] = EXACT if rest == room else SHORT
            room = 0
        else:
            lis[count] = data
            count, room, alone = count + 1, room - rest - li_octets, True
            _ended(queue, v[NEXT], sn, count)
        v[NEXT] += 1
        v[TAKEN] = 0
    if alone:
        _ended(queue, v[NEXT] - 1, sn + 1, 0)
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
    front, ring = queue.v[FRONT], len(queue.octets)
    for i in range(data):
        pdu[at + i] = queue.octets[(front + i) % ring]
    for i in range(at + data, size):
        pdu[i] = 0
    queue.v[FRONT] += data


@kernel
def drop_waiting(queue: Any, first: int) -> None:
    """Give up what is not sent of SDUs before number `first`."""
    v = queue.v
    while v[NEXT] < first:
        v[FRONT] += queue.sdu[v[NEXT] % len(queue.sdu), LENGTH] - v[TAKEN]
        v[TAKEN] = 0
        v[NEXT] += 1


@kernel
def drop_behind_begun(queue: Any) -> None:
    """Give up the first SDU not begun; the rest of the one begun moves up to those behind."""
    v, ring = queue.v, len(queue.octets)
    begun, gone = v[NEXT] % len(queue.sdu), (v[NEXT] + 1) % len(queue.sdu)
    rest, length = queue.sdu[begun, LENGTH] - v[TAKEN], queue.sdu[gone, LENGTH]
    for i in range(rest - 1, -1, -1):
        queue.octets[(v[FRONT] + length + i) % ring] = queue.octets[(v[FRONT] + i) % ring]
    for i in range(queue.sdu.shape[1]):
        queue.sdu[gone, i] = queue.sdu[begun, i]
    v[FRONT] += length
    v[NEXT] += 1


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
    meta[COUNT], meta[START], meta[STOP], meta[STATUS_AT] = count, at, length - at, 0
    return _consistent(meta, lis, li_octets, unacknowledged)


@kernel
def _consistent(meta: Any, lis: Any, li_octets: int, unacknowledged: int) -> bool:
    """Check the indicators against each other and find where SDU octets stop."""
    end, data, count = 0, meta[STOP], meta[COUNT]
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
            meta[STOP], meta[COUNT] = end, count - 1
            if li == PIGGYBACK:
                meta[STATUS_AT] = meta[START] + end
        elif li < end or li > data:  # the reserved ones are larger than any PDU
            return False
        else:
            end = li
    # 9.2.2.8: one octet behind a 15-bit indicator of an end is nobody's.
    if li_octets == 2 and data - end == 1 and end > 0:
        meta[STOP] = end
    return True


@kernel
def append(r: Any, octets: Any, first: int, last: int) -> None:
    """Octets [first, last) belong to the SDU that is being put together."""
    held = r.v[HELD]
    if r.v[SKIPPING]:
        return
    if held + last - first > len(r.partial):
        r.v[TOO_LONG] += 1
        lose(r)
        return
    for i in range(last - first):
        r.partial[held + i] = octets[first + i]
    r.v[HELD] = held + last - first


@kernel
def close(r: Any, wanted: int) -> None:
    """The SDU ends here: hand it over if it is whole and wanted."""
    v = r.v
    if wanted and not v[SKIPPING] and v[HELD] > 0:
        hand_over(r)
    v[HELD], v[SKIPPING] = 0, 0


@kernel
def hand_over(r: Any) -> None:
    """Put the SDU in `partial` among those to be taken away."""
    v = r.v
    start = v[OUT_OCTETS]
    for i in range(v[HELD]):
        r.out[start + i] = r.partial[i]
    v[OUT_OCTETS] = start + v[HELD]
    r.ends[v[OUT_COUNT]] = v[OUT_OCTETS]
    v[OUT_COUNT] += 1


@kernel
def restart_aside(r: Any) -> None:
    """Begin an SDU right among those to be taken away, beside the one in sequence."""
    r.v[ASIDE] = 0


@kernel
def append_aside(r: Any, octets: Any, first: int, last: int) -> None:
    """Octets [first, last) belong to the SDU put together aside."""
    start = r.v[OUT_OCTETS] + r.v[ASIDE]
    for i in range(last - first):
        r.out[start + i] = octets[first + i]
    r.v[ASIDE] += last - first


@kernel
def close_aside(r: Any, surplus: int) -> bool:
    """The SDU put together aside ends, `surplus` octets ago; whether there is one."""
    size = r.v[ASIDE] - surplus
    if size <= 0:
        return False
    r.v[OUT_OCTETS] += size
    r.ends[r.v[OUT_COUNT]] = r.v[OUT_OCTETS]
    r.v[OUT_COUNT] += 1
    return True


@kernel
def lose(r: Any) -> None:
    """A PDU is missing: what is begun is lost, and so is all up to the next end of an SDU."""
    r.v[HELD], r.v[SKIPPING] = 0, 1


@kernel
def restart(r: Any) -> None:
    """The next octet is known to begin an SDU."""
    r.v[HELD], r.v[SKIPPING] = 0, 0


@kernel
def taken_away(r: Any) -> None:
    """All that was handed over has been taken."""
    r.v[OUT_COUNT], r.v[OUT_OCTETS] = 0, 0


@kernel
def feed(r: Any, pdu: Any, meta: Any, lis: Any, he: int, skip: int, done: int) -> None:
    """Take the next PDU in sequence; its first `skip` ends, and those that are `done`, are not wanted.

    `done`: bit 0 for the first end, bit 1 for all the others.
    """
    start, at = meta[START], 0
    for i in range(meta[COUNT]):
        wanted = i >= skip and not (done >> min(i, 1)) & 1
        if lis[i] == STARTS:
            restart(r)
            continue
        if lis[i] == ENDED_SHORT:
            r.v[HELD] = max(0, r.v[HELD] - 1)
        elif lis[i] != ENDED_BEFORE:
            append(r, pdu, start + at, start + lis[i])
            at = lis[i]
        close(r, wanted)
    append(r, pdu, start + at, start + meta[STOP])
    if he == 2:
        close(r, not (done >> min(meta[COUNT], 1)) & 1)
