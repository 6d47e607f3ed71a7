"""Segmentation and concatenation of UMTS RLC with length indicators (3GPP TS 25.322 9.2.2.8).

`fill` puts waiting SDUs into a PDU after its header; `read_indicators` finds their ends again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.replay.arq.rlc.frames import clear_octets
from multitracer.replay.arq.rlc.queue import EXACT, GIVEN_UP, SHORT, ends_at

ENDED_BEFORE, ENDED_SHORT, STARTS, PIGGYBACK, PADDING = 0, 0x7FFB, 0x7FFC, 0x7FFE, 0x7FFF
"""Length indicators with a meaning of their own, 15-bit form; the 7-bit form is their last seven bits."""
MOST_SIGNALLED = 15
"""Ends of SDUs in a PDU that N_LENGTH, of four bits, can name (9.2.2.11.8)."""


def most_ends(pdu_bytes: int, li_octets: int) -> int:
    """Length indicators for which a PDU has room."""
    return pdu_bytes // li_octets


@kernel
def _first_mark(queue: Any, sn: int, marks_start: int) -> int:
    """Note the indicator that tells of the PDU before or of a start, if there is one; gives how many, 0 or 1."""
    v = queue.v
    if v.ending:
        v.lis[0] = ENDED_SHORT if v.ending == SHORT else ENDED_BEFORE
        if v.ending != GIVEN_UP:
            ends_at(queue, v.next - 1, sn, 1)
        v.ending = 0
    elif marks_start and v.taken == 0:
        v.lis[0] = STARTS
    else:
        return 0
    return 1


@kernel
def fill(
    queue: Any, sn: int, frame: Any, head: int, size: int, li_octets: int, special_he: int, marks_start: int
) -> int:
    """Fill PDU `sn` after its `head` octets up to `size`; gives HE: 0 data, 1 indicators, 2 data ending an SDU."""
    v, data, he = queue.v, 0, 0
    frame.cut = 1 if v.ending == GIVEN_UP else 0
    alone = v.ending != 0  # the last thing in the PDU is the end of an SDU
    count = _first_mark(queue, sn, marks_start)
    frame.start, frame.jump, frame.sdu, frame.skip = v.front - v.moved, v.moved, v.next, v.taken
    room = size - head - count * li_octets
    while v.next < v.tail and count < v.most_ends and room >= li_octets:
        rest = queue.v.sdu[v.next & queue.v.mask].length - v.taken
        alone = False
        if rest > room:
            data, v.taken, room = data + room, v.taken + room, 0
            break
        data += rest
        if rest + li_octets > room:
            he = _end_without_room(queue, sn, rest == room, special_he and count == 0)
            room = 0
        else:
            v.lis[count] = data
            count, room, alone = count + 1, room - rest - li_octets, True
            ends_at(queue, v.next, sn, count)
        v.next += 1
        v.taken = v.moved = 0
    if alone:
        ends_at(queue, v.next - 1, sn + 1, 0)
    if room >= li_octets:
        v.lis[count] = PADDING
        count += 1
    _put(queue, frame, head, size, li_octets, count, data)
    return 1 if count else he


@kernel
def fill_whole(queue: Any, sn: int, frame: Any) -> int:
    """Let PDU `sn` be the next SDU, whole; gives the SDU's octets."""
    v = queue.v
    octets = queue.v.sdu[v.next & queue.v.mask].length
    frame.start, frame.sdu = v.front, v.next
    frame.jump = frame.skip = frame.cut = frame.kept = 0
    ends_at(queue, v.next, sn + 1, 0)
    v.front += octets
    v.next += 1
    return octets


@kernel
def _end_without_room(queue: Any, sn: int, exact: bool, special: bool) -> int:
    """PDU `sn` ends an SDU and has no room for its indicator: its HE tells the end (2), or the next PDU does (0)."""
    if exact and special:
        ends_at(queue, queue.v.next, sn + 1, 0)
        return 2
    queue.v.ending = EXACT if exact else SHORT
    return 0


@kernel
def _put(queue: Any, frame: Any, head: int, size: int, li_octets: int, count: int, data: int) -> None:
    """Write indicators, then (in the mode with octets) octets from the front of the queue and zeros."""
    v, at = queue.v, head
    for i in range(count):
        more = 1 if i < count - 1 else 0
        if li_octets == 1:
            frame.octets[at] = (v.lis[i] & 0x7F) << 1 | more
        else:
            frame.octets[at] = v.lis[i] >> 7
            frame.octets[at + 1] = (v.lis[i] & 0x7F) << 1 | more
        at += li_octets
    front, ring = v.front, queue.v.ring
    frame.kept = at
    if ring > 0:
        for i in range(data):
            frame.octets[at + i] = queue.octets[(front + i) % ring]
        clear_octets(frame.octets, at + data, size)
        frame.kept = size
    v.front = front + data


@kernel
def read_indicators(
    octets: Any, head: int, length: int, li_octets: int, pdu: Any, lis: Any, unacknowledged: int
) -> bool:
    """The length indicators after `head` octets, in 15-bit form; False when they contradict themselves."""
    first, most = pdu.li, length // li_octets
    at, more, count = head, 1, 0
    while more:
        if at + li_octets > length or count >= most:
            return False
        field: Any = np.int64(octets[at])
        if li_octets == 2:
            field = field << 8 | np.int64(octets[at + 1])
        more, li = field & 1, field >> 1
        lis[first + count] = li | 0x7F80 if li_octets == 1 and li >= 0x7C else li
        at += li_octets
        count += 1
    pdu.count, pdu.begin, pdu.stop, pdu.status_at = count, at, length - at, 0
    return _consistent(pdu, lis, li_octets, unacknowledged)


@kernel
def _consistent(pdu: Any, lis: Any, li_octets: int, unacknowledged: int) -> bool:
    """Check the indicators against each other and find where SDU octets stop."""
    end, data, count = 0, pdu.stop, pdu.count
    for i in range(count):
        li = lis[pdu.li + i]
        if li in (ENDED_BEFORE, ENDED_SHORT):
            if i > 0:
                return False
        elif li == STARTS:
            if i > 0 or not unacknowledged:
                return False
        elif li == PADDING or (li == PIGGYBACK and not unacknowledged):
            if i < count - 1:
                return False
            pdu.stop, pdu.count = end, count - 1
            if li == PIGGYBACK:
                pdu.status_at = pdu.begin + end
        elif li < end or li > data:  # the reserved ones are larger than any PDU
            return False
        else:
            end = li
    # 9.2.2.8: one octet after a 15-bit indicator of an end is nobody's.
    if li_octets == 2 and data - end == 1 and end > 0:
        pdu.stop = end
    return True
