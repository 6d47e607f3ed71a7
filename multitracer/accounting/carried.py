"""What a path of a known rate carried when, and when data was in flight, from captured packets alone.

The path is one queue: a packet is carried after those before it, at the rate, and no later than it arrived. Octets that
never arrived are not carried; data is in flight from when it was sent until it arrives, or is acknowledged where only
the sender's capture shows that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitracer.accounting.limits import Directions
from multitracer.accounting.path_rate import Rates, piece_at
from multitracer.accounting.sending_state import MOST_HOLES, NO, VERDICTS, YES, Capture
from multitracer.compute.kernels import inlined, kernel
from multitracer.model.schema import ACK
from multitracer.tcp.scoreboard import first_above

NEW_DATA, RESENT, UNCLEAR = range(3)
"""Codes of what is carried: octets that arrived first, octets that had arrived before, and either of the two."""
DOUBTS, ACKED, SEEN, PARTS = range(4)
"""Lists of `Carried`, in `counts`: when data may have been in flight; when it was, by its acknowledgement; when it
surely was, by its arrival at the receiver's capture; and what was carried."""
END_OF_TIME = np.int64(2**62)
# State of a direction while its segments are followed: octets below UNA are acknowledged, below TOP sent. FIRST and
# AGAIN count first copies and resends; first copies below LOW, and resends below OPEN, are delivered.
UNA, TOP, FIRST, AGAIN, LOW, OPEN, NEXT_BLOCK, FIELDS = range(8)


class Fates(NamedTuple):
    """What became of each segment; an element per row of segments."""

    delivered_ns: Any
    """When it arrived or was acknowledged; -1 unknown, or never."""
    lost_bytes: Any
    """Octets that were lost with this copy: resent later, and the resend was needed."""
    seen: Any
    """Whether it arrived at the receiver's capture."""
    twice: Any
    """Whether the receiver reported it as a duplicate (DSACK)."""
    unsure: Any
    """Whether octets were resent later of which it is not known whether they had arrived."""


class Places(NamedTuple):
    """Rows of a direction: of its first copies, of its resends, and where the next undelivered first copy is."""

    first: Any
    again: Any
    next: Any


class Carried(NamedTuple):
    """Intervals, sorted and not overlapping in each list; `counts` says how many of them are in use."""

    parts: Any
    """Shape (rows, 3): start and end in ns, what was carried."""
    flights: Any
    """Shape (3, rows, 2): when data was, or may have been, in flight."""
    counts: Any


class Codes(NamedTuple):
    """Codes of causes, and of recoveries by acknowledgements and by timers."""

    new_data: int
    resent: int
    unclear: int
    held: int
    recovery: int
    doubt: int
    fast: int
    timeout: int


@kernel
def find_fates(
    directions: Directions, order: Any, capture: Capture, blocks: Any, places: Places, state: Any, fates: Fates
) -> None:
    """Fill `fates` for the data of these directions; `places` has room for the longest, `state` for FIELDS."""
    for number in range(len(directions.end)):
        sender = directions.end[number] & 1
        state[:] = 0
        for row in order[directions.begin[number] : directions.stop[number]]:
            if capture.sender[row] == sender and capture.payload_bytes[row] > 0:
                on_data(row, capture, places, state, fates)
            elif capture.sender[row] != sender and capture.flags[row] & ACK:
                on_acknowledgement(row, capture, blocks, places, state, fates)


@inlined
def end_of(row: int, capture: Capture) -> int:
    """The number after the last data octet of segment `row`."""
    return int(capture.seq[row] + capture.payload_bytes[row])


@inlined
def on_data(row: int, capture: Capture, places: Places, state: Any, fates: Fates) -> None:
    """Segment `row` was sent: note whether earlier copies of its octets were lost, and when it arrived, if seen."""
    code = capture.resend[row]
    if code >= 0 and code % VERDICTS != YES:
        note_lost_copies(row, capture, places, state, fates)
    if capture.arrival[row] >= 0 and capture.arrived[row] == 1:
        fates.delivered_ns[row], fates.seen[row] = capture.time_ns[capture.arrival[row]], True
    if end_of(row, capture) > state[TOP] or state[FIRST] == 0:
        at = state[FIRST]
        places.first[at], places.next[at] = row, at
        state[FIRST], state[TOP] = at + 1, end_of(row, capture)
    else:
        places.again[state[AGAIN]] = row
        state[AGAIN] += 1


@kernel
def on_acknowledgement(row: int, capture: Capture, blocks: Any, places: Places, state: Any, fates: Fates) -> None:
    """Segment `row` acknowledges: what it covers and had been sent is delivered by now."""
    state[UNA] = max(state[UNA], capture.ack[row])
    now = capture.time_ns[row]
    while state[LOW] < state[FIRST] and end_of(places.first[state[LOW]], capture) <= state[UNA]:
        deliver(places.first[state[LOW]], now, fates)
        places.next[state[LOW]] = state[LOW] + 1
        state[LOW] += 1
    first = first_above(blocks[0], blocks.shape[1], row - 1, state[NEXT_BLOCK])
    at = first
    while at < blocks.shape[1] and blocks[0, at] == row:
        if blocks[3, at]:
            note_duplicate(blocks[1, at], blocks[2, at], capture, places, state, fates)
        else:
            deliver_block(blocks[1, at], blocks[2, at], now, capture, places, state, fates)
        at += 1
    state[NEXT_BLOCK] = at
    deliver_resends(blocks[:, first:at], now, capture, places, state, fates)


@inlined
def deliver(row: int, now: int, fates: Fates) -> None:
    """Segment `row` was delivered by now, if that is not known already."""
    if fates.delivered_ns[row] < 0:
        fates.delivered_ns[row] = now


@inlined
def undelivered(at: int, places: Places, state: Any) -> int:
    """The first place from `at` on whose first copy is not known to be delivered; paths to it are made shorter."""
    found = at
    while found < state[FIRST] and places.next[found] != found:
        found = places.next[found]
    while at < found:
        at, places.next[at] = places.next[at], found
    return found


@kernel
def deliver_block(left: int, right: int, now: int, capture: Capture, places: Places, state: Any, fates: Fates) -> None:
    """Octets left..right-1 are selectively acknowledged: so are the first copies that they hold."""
    at = undelivered(first_copy(left + 1, state[FIRST], capture, places), places, state)
    while at < state[FIRST] and end_of(places.first[at], capture) <= right:
        if capture.seq[places.first[at]] >= left:
            deliver(places.first[at], now, fates)
            places.next[at] = at + 1
        at = undelivered(at + 1, places, state)


@inlined
def first_copy(octet: int, count: int, capture: Capture, places: Places) -> int:
    """The place of the first of `count` first copies that reaches `octet`, so that its end is not below that."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if end_of(places.first[middle], capture) < octet:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def note_duplicate(left: int, right: int, capture: Capture, places: Places, state: Any, fates: Fates) -> None:
    """Octets left..right-1 arrived twice: with the first resend of them of which that is not known yet."""
    for at in range(max(0, state[AGAIN] - MOST_HOLES), state[AGAIN]):
        row = places.again[at]
        if capture.seq[row] < right and left < end_of(row, capture) and not fates.twice[row]:
            fates.twice[row] = True
            return


@kernel
def deliver_resends(blocks: Any, now: int, capture: Capture, places: Places, state: Any, fates: Fates) -> None:
    """Resends that are acknowledged by now, also selectively, are delivered."""
    while state[OPEN] < state[AGAIN] and fates.delivered_ns[places.again[state[OPEN]]] >= 0:
        state[OPEN] += 1
    for at in range(max(state[OPEN], state[AGAIN] - MOST_HOLES), state[AGAIN]):
        row = places.again[at]
        covered = end_of(row, capture) <= state[UNA]
        for block in range(blocks.shape[1]):
            inside = blocks[1, block] <= capture.seq[row] and end_of(row, capture) <= blocks[2, block]
            covered = covered or (inside and not blocks[3, block])
        if covered:
            deliver(row, now, fates)


@kernel
def note_lost_copies(row: int, capture: Capture, places: Places, state: Any, fates: Fates) -> None:
    """Segment `row` was resent, perhaps needed: its octets in the first copies, and in recent resends, were lost."""
    at = first_copy(capture.seq[row] + 1, state[FIRST], capture, places)
    while at < state[FIRST] and capture.seq[places.first[at]] < end_of(row, capture):
        note_lost_copy(places.first[at], row, capture, fates)
        at += 1
    for at in range(state[AGAIN] - 1, max(-1, state[AGAIN] - 1 - MOST_HOLES), -1):
        note_lost_copy(places.again[at], row, capture, fates)


@inlined
def note_lost_copy(copy: int, row: int, capture: Capture, fates: Fates) -> None:
    """Octets of segment `copy` were sent again in segment `row`."""
    begin = max(capture.seq[copy], capture.seq[row])
    end = min(end_of(copy, capture), end_of(row, capture))
    if end > begin and capture.resend[row] % VERDICTS == NO:
        fates.lost_bytes[copy] = min(fates.lost_bytes[copy] + end - begin, capture.payload_bytes[copy])
    elif end > begin:
        fates.unsure[copy] = True


@kernel
def carry(mine: Any, capture: Capture, fates: Fates, rates: Rates, carried: Carried) -> None:
    """Fill `carried` from the packets of one host, whose rows `mine` are in order of sending."""
    now, free, piece = np.int64(0), np.int64(0), 0
    for row in mine:
        now = max(now, capture.time_ns[row])
        gone, arrives = fates.lost_bytes[row], fates.delivered_ns[row]
        payload, code = np.int64(capture.payload_bytes[row]), capture.resend[row]
        if capture.arrived[row] == 0 or (payload > 0 and gone >= payload):
            continue
        begin = max(now, free)
        piece = piece_at(rates, piece, begin)
        end = begin + np.int64(np.rint((capture.wire_bytes[row] - gone) * rates.byte_ns[piece]))
        if arrives >= 0:
            end = min(end, max(now, arrives))
        if end > begin:
            free = end
            twice = fates.seen[row] or fates.twice[row]
            add_part(begin, end, what_of(code, twice), payload / max(1, capture.wire_bytes[row]), carried)
        if payload > 0 and gone == 0 and (code < 0 or code % VERDICTS != YES):
            which = certainty(code, arrives >= 0, row, fates)
            add_flight(now, arrives if arrives >= 0 else END_OF_TIME, which, carried)


@inlined
def certainty(code: int, arrives: bool, row: int, fates: Fates) -> int:
    """The list for the flight of segment `row`; a needed resend that was acknowledged is as sure as what was seen."""
    if fates.seen[row] or (arrives and code >= 0 and code % VERDICTS == NO):
        return SEEN
    return DOUBTS if fates.unsure[row] or not arrives else ACKED


@inlined
def what_of(code: int, twice: bool) -> int:
    """What the octets of a packet were, by the verdict of its retransmission; `twice`: a needless one arrived."""
    if code < 0 or code % VERDICTS == NO:
        return NEW_DATA
    return RESENT if code % VERDICTS == YES and twice else UNCLEAR


@inlined
def add_part(begin: int, end: int, what: int, share: float, carried: Carried) -> None:
    """A packet was carried, of which `share` are data octets; the headers of one that was resent count as new data."""
    middle = end - np.int64((end - begin) * share)
    append_part(begin, middle, NEW_DATA, carried)
    append_part(middle, end, what, carried)


@kernel
def append_part(begin: int, end: int, what: int, carried: Carried) -> None:
    """Append an interval to `parts`, or make the last one longer."""
    at = carried.counts[PARTS]
    if at > 0 and carried.parts[at - 1, 1] == begin and carried.parts[at - 1, 2] == what:
        carried.parts[at - 1, 1] = end
    elif end > begin:
        carried.parts[at, 0], carried.parts[at, 1], carried.parts[at, 2] = begin, end, what
        carried.counts[PARTS] = at + 1


@kernel
def add_flight(begin: int, end: int, which: int, carried: Carried) -> None:
    """Data was in flight, perhaps: append an interval to a list, which holds their union."""
    at, spans = carried.counts[which], carried.flights
    if end > begin and at > 0 and spans[which, at - 1, 1] >= begin:
        spans[which, at - 1, 1] = max(spans[which, at - 1, 1], end)
    elif end > begin:
        spans[which, at, 0], spans[which, at, 1] = begin, end
        carried.counts[which] = at + 1


@kernel
def decide(start: Any, end: Any, base: Any, carried: Carried, codes: Codes, pointers: Any, decided: Any) -> int:
    """Fill `decided` with (start, end, code) of the session's intervals, adjoining ones differ; returns their number.

    `base` is the code of each interval of the session without data in flight, or one of `codes` for a recovery.
    """
    count = 0
    pointers[:] = 0
    for at in range(len(start)):
        now = start[at]
        while now < end[at]:
            stop, inside = state_at(now, end[at], carried, pointers)
            code = code_of(base[at], inside, carried.parts[pointers[PARTS], 2], codes)
            if count > 0 and decided[count - 1, 2] == code:
                decided[count - 1, 1] = stop
            else:
                decided[count, 0], decided[count, 1], decided[count, 2] = now, stop, code
                count += 1
            now = stop
    return count


@inlined
def state_at(now: int, end: int, carried: Carried, pointers: Any) -> tuple[int, int]:
    """Until when (at most `end`) nothing changes in the lists, and which of them have an interval now, as bits."""
    stop, inside = end, 0
    for which in range(PARTS + 1):
        spans = carried.parts[:, :2] if which == PARTS else carried.flights[which]
        at = pointers[which]
        while at < carried.counts[which] and spans[at, 1] <= now:
            at += 1
        pointers[which] = at
        if at < carried.counts[which]:
            begins = spans[at, 0] > now
            stop = min(stop, spans[at, 0] if begins else spans[at, 1])
            inside |= 0 if begins else 1 << which
    return stop, inside


@inlined
def code_of(base: int, inside: int, what: int, codes: Codes) -> int:
    """The cause of an instant: what is carried, else what holds or limits it, the surest first."""
    if inside & 1 << PARTS:
        return codes.resent if what == RESENT else codes.unclear if what == UNCLEAR else codes.new_data
    if inside & 1 << SEEN:
        return codes.held
    if base == codes.timeout:
        return codes.recovery
    if inside & 1 << ACKED:
        return codes.held
    if base == codes.fast:
        return codes.recovery
    return codes.doubt if inside & 1 << DOUBTS else base
