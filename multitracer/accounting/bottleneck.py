"""When the bottleneck of a path held octets of one direction, and when the path stood still with data in flight."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.accounting.path_rate import FAR_NS, Rates, piece_at
from multitracer.accounting.sending_state import (
    AGAIN,
    ANSWERS_COPY,
    ANSWERS_LOST,
    CLEAN,
    DATED,
    EXACT,
    HEARD,
    IS_NEEDED,
    LEAST_BUSY,
    NEEDED,
    NEW,
    ROUND_TRIP,
    SENT,
    STALLS,
    TRIPS,
    UNSURE_STALLS,
    Capture,
    Events,
    add_span,
    is_needless,
)
from multitracer.compute.kernels import inlined, kernel

DELAYED_ACK_NS = 500_000_000
"""For this long a receiver may delay an acknowledgement (RFC 9293 3.8.6.3)."""
LEAST_SINGLES = 3
"""From so many losses of a packet whose successor got through, a path is one that loses single packets."""
PERHAPS_LOST, LOST = 1, 2
"""Codes of `Events.lost`."""
STALL_TRIPS = 2
"""A path stood still when nothing arrived for more than this many round trips."""


@kernel
def mark_lost(capture: Capture, events: Events, state: Any) -> bool:
    """Fill `events.lost`: LOST is the first copy of each octet that was certainly resent because it had been lost.

    Returns whether the path loses single packets: what is lost then need not have been on the bottleneck.
    """
    count = 0
    for at in range(state[SENT]):
        events.lost[at] = 0
        if events.kind[at] == NEW:
            events.firsts[count] = at
            count += 1
    for resend in range(state[NEEDED]):
        if events.needed[resend, 2] == ANSWERS_LOST:
            continue
        low, high = 0, count
        while low < high:
            middle = (low + high) // 2
            if capture.seq[events.row[events.firsts[middle]]] <= events.needed[resend, 1]:
                low = middle + 1
            else:
                high = middle
        if low > 0:
            first = events.firsts[low - 1]
            certain = events.needed[resend, 2] == IS_NEEDED
            events.lost[first] = LOST if certain else max(events.lost[first], PERHAPS_LOST)
    singles = 0
    for place in range(count - 1):
        alone = events.lost[events.firsts[place]] == LOST and events.lost[events.firsts[place + 1]] != LOST
        singles += 1 if alone else 0
    return bool(singles >= LEAST_SINGLES)


@kernel
def find_busy(
    capture: Capture, events: Events, state: Any, least_ns: int, rates: Rates, which: int, longer_ns: int,
    loses_singles: bool, by_acknowledgement: bool, until_silence: bool, deepest_ns: int,
) -> None:  # fmt: skip
    """Fill a list of spans in which the bottleneck had octets of this direction to deliver.

    Only packets that it had for longer than `longer_ns` are looked at. A link's log tells until when the link had one,
    and how long a packet's way to it is: the spans are then as they were there. Without, all times are as seen beside
    the sender, that way earlier. Of others it tells until when it had them at least.

    A packet leaves it `least_ns` before its delivery. Where the time of its delivery is not known (it was lost, or its
    acknowledgement may have been delayed), it leaves after its time on the bottleneck behind the packet before it, but
    no later than what was sent after it; `by_acknowledgement` no earlier than that tells (`earliest_delivery`). Where
    the path `loses_singles`, as a full queue does, a lost packet behind which nothing was waiting that got through may
    have been lost before the bottleneck: it is left out, unless it would have waited for less than `deepest_ns`, and so
    have found room. Data above a hole is answered at once (RFC 5681 4.2): with `until_silence` nothing of it arrives
    after the last of these answers.
    """
    delivery, piece, stall, heard = 0, 0, 0, 0
    left, begin, end, way = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    held_until = np.int64(0)
    for at in range(state[SENT]):
        sent, row = events.sent_ns[at], events.row[at]
        given, held, logged = np.int64(-1), np.int64(-1), np.int64(-1)
        if len(capture.left_ns):
            given, held, logged = capture.given_ns[row], capture.held_ns[row], capture.left_ns[row]
        if given >= 0:
            way = max(way, given - sent)  # one for all: `given_ns` has the least of an end
        left, held_until = max(left, held_until), held - way
        if logged >= 0:
            left = max(sent, logged - way)
            begin, end = busy_until(events, which, begin, end, sent, left)
            continue
        if held_until > sent:
            begin, end = busy_until(events, which, begin, end, sent, held_until)
        while delivery < state[HEARD] and events.delivered_upto[delivery] < at:
            delivery += 1
        known = delivery < state[HEARD] and least_ns < FAR_NS
        latest = max(sent, events.delivered_ns[delivery] - least_ns) if known else FAR_NS
        exact = known and events.delivered_upto[delivery] == at and is_exact(events, delivery)
        piece = piece_at(rates, piece, max(sent, left))
        lasts = np.int64(events.wire_bytes[at] * rates.byte_ns[piece])
        if known:
            stall = stalls_until(events, stall, events.delivered_ns[delivery])
            if stall > 0 and sent < events.spans[STALLS, stall - 1, 1] - least_ns:
                # The path stood still and delivered it afterwards.
                left = max(left, events.spans[STALLS, stall - 1, 1] - least_ns - lasts)
        leaves = max(sent, left) + lasts
        if until_silence and known and waits_above_hole(events, delivery, at):
            heard = heard_by(events, state, heard, leaves + lasts + least_ns)
            if not events.delivered_flag[heard] & CLEAN:  # a hole had been seen before
                latest = max(sent, min(latest, events.delivered_ns[heard] - least_ns))
        if longer_ns > 0 and events.lost[at] and not exact:
            continue  # by an unsure rate it is not known when it left
        in_doubt = loses_singles and events.lost[at] == LOST and not exact
        if in_doubt and not (known and followed(events, delivery, leaves)) and leaves - sent >= deepest_ns:
            continue
        told = known and by_acknowledgement
        earliest = earliest_delivery(events, delivery, at) - least_ns if told else np.int64(0)
        left = max(held_until, latest if exact else max(min(leaves, latest), earliest))
        if left - sent > longer_ns:
            begin, end = busy_until(events, which, begin, end, sent, left)
    add_span(events, which, begin, end)
    for at in range(events.counts[which]):
        events.spans[which, at, 0] += way
        events.spans[which, at, 1] += way


@kernel
def is_logged(capture: Capture, events: Events, state: Any) -> bool:
    """Whether a link's log tells of any packet until when the bottleneck had it."""
    latest = np.int64(-1)
    for at in range(state[SENT] if len(capture.left_ns) else 0):
        latest = max(latest, capture.left_ns[events.row[at]])
    return bool(latest >= 0)


@kernel
def find_least_busy(events: Events, state: Any, least_ns: int, byte_ns: float, loses_singles: bool) -> None:
    """Fill the spans in which the bottleneck was busy at least, if an octet takes it `byte_ns` or longer.

    A packet leaves it then after its own time behind the packet before it, or later, but `least_ns` before its
    delivery. What is lost is looked at as in `find_busy`.
    """
    delivery, left, begin, end = 0, np.int64(0), np.int64(0), np.int64(0)
    for at in range(state[SENT]):
        while delivery < state[HEARD] and events.delivered_upto[delivery] < at:
            delivery += 1
        if delivery == state[HEARD]:
            break
        sent = events.sent_ns[at]
        leaves = max(sent, left) + np.int64(events.wire_bytes[at] * byte_ns)
        in_doubt = loses_singles and events.lost[at] == LOST and events.delivered_upto[delivery] != at
        if not in_doubt or followed(events, delivery, leaves):
            left = max(sent, min(leaves, events.delivered_ns[delivery] - least_ns))
            begin, end = busy_until(events, LEAST_BUSY, begin, end, sent, left)
    add_span(events, LEAST_BUSY, begin, end)


@kernel
def deepest_queue(events: Events, state: Any, least_ns: int, rates: Rates) -> int:
    """The longest that a packet waited for the bottleneck, and got through (ns); 0 unknown.

    A queue that drops what it has no room for has at least so much in it then.
    """
    deepest, piece = np.int64(0), 0
    for at in range(state[HEARD]):
        piece = piece_at(rates, piece, events.delivered_ns[at])
        if least_ns < FAR_NS and is_exact(events, at):
            sent = events.delivered_upto[at]
            lasts = np.int64(events.wire_bytes[sent] * rates.byte_ns[piece])
            deepest = max(deepest, events.delivered_ns[at] - events.sent_ns[sent] - least_ns - lasts)
    return int(deepest)


@inlined
def is_exact(events: Events, delivery: int) -> bool:
    """Whether it is certain which copy was delivered, and its time is that of its arrival, but for the way back."""
    return events.delivered_flag[delivery] & (EXACT | DATED) == EXACT


@inlined
def busy_until(events: Events, which: int, begin: int, end: int, sent: int, left: int) -> tuple[int, int]:
    """The span begin..end goes on with a packet that the bottleneck had from `sent` to `left`, or a new one begins."""
    if sent > end:
        add_span(events, which, begin, end)
        begin = sent
    return begin, max(end, left)


@inlined
def earliest_delivery(events: Events, delivery: int, at: int) -> int:
    """Since when sent row `at` may have been delivered, by the acknowledgement that tells of it first; 0 unknown.

    A receiver delays it for DELAYED_ACK_NS at most, and then acknowledges all that has come: what the one before did
    not cover came after it. That holds if no acknowledgement was held on its way back. A resend need not be the copy
    that was acknowledged, but then the other one was on its way for even longer.
    """
    flag = events.delivered_flag[delivery]
    told = flag & CLEAN or (events.kind[at] == AGAIN and not flag & ANSWERS_COPY)
    if events.delivered_upto[delivery] != at or not told:
        return 0
    before = events.delivered_ns[delivery - 1] if delivery > 0 else np.int64(0)
    return int(max(events.delivered_ns[delivery] - DELAYED_ACK_NS, before))


@inlined
def waits_above_hole(events: Events, delivery: int, at: int) -> bool:
    """Whether sent row `at` was not acknowledged before something sent again was, and may have been lost or not."""
    sent_again = events.kind[events.delivered_upto[delivery]] == AGAIN or not events.delivered_flag[delivery] & CLEAN
    return events.lost[at] != LOST and events.kind[at] == NEW and sent_again


@inlined
def heard_by(events: Events, state: Any, heard: int, now: int) -> int:
    """The index of the latest acknowledgement by a time, searched from index `heard` on."""
    while heard + 1 < state[HEARD] and events.delivered_ns[heard + 1] <= now:
        heard += 1
    return heard


@inlined
def stalls_until(events: Events, stall: int, time_ns: int) -> int:
    """How many stalls of the path were over by a time, counted on from `stall`."""
    while stall < events.counts[STALLS] and events.spans[STALLS, stall, 1] <= time_ns:
        stall += 1
    return stall


@inlined
def followed(events: Events, delivery: int, leaves: int) -> bool:
    """Whether what was delivered, and not lost before, had been sent by the time at which a lost packet leaves."""
    upto = events.delivered_upto[delivery]
    return events.lost[upto] != LOST and events.sent_ns[upto] <= leaves


@inlined
def trip_before(events: Events, state: Any, at: int, now: int) -> int:
    """The index of the latest round trip measured by `now`, searched from index `at` on; -1 none."""
    while at + 1 < state[TRIPS] and events.trip_ns[at + 1, 0] <= now:
        at += 1
    return at


@kernel
def find_stalls(events: Events, state: Any, by_acknowledgement: bool) -> None:
    """Fill the spans in which data was in flight, none of it was to be resent, and nothing arrived for too long."""
    place, trip, first, top, read = -1, np.int64(-1), 0, np.int64(0), 0
    latest = np.int64(0)
    for at in range(state[HEARD]):
        now, upto = events.delivered_ns[at], events.delivered_upto[at]
        if first < state[SENT]:
            begin = max(latest, events.sent_ns[first])
            if not by_acknowledgement:
                place = trip_before(events, state, place, begin)
                trip = events.trip_ns[place, 1] if place >= 0 else np.int64(-1)
            if trip >= 0 and now - begin > longest_wait(trip, by_acknowledgement):
                read, top = top_at(events, state, read, top, now)
                certain = events.delivered_flag[at] & ANSWERS_COPY == 0
                note_stall(begin, now, top, certain, events, state, by_acknowledgement)
        first = next_in_flight(events, state, max(first, upto + 1))
        latest = max(latest, now)
        if by_acknowledgement and events.delivered_flag[at] & ROUND_TRIP and events.kind[upto] == NEW:
            trip = now - events.sent_ns[upto]


@inlined
def next_in_flight(events: Events, state: Any, first: int) -> int:
    """The first sent row from `first` on that is in flight: the octets of needless resends arrive by earlier ones."""
    while first < state[SENT] and is_needless(events.resend[first]):
        first += 1
    return first


@inlined
def longest_wait(trip: int, by_acknowledgement: bool) -> int:
    """How long nothing may arrive, or be acknowledged, on a path that does not stand still."""
    wait = STALL_TRIPS * trip
    return max(wait, trip + DELAYED_ACK_NS) if by_acknowledgement else wait


@inlined
def top_at(events: Events, state: Any, read: int, top: int, now: int) -> tuple[int, int]:
    """Read sent rows from `read` on up to a time; returns the next row, and the end of all data sent by then."""
    while read < state[SENT] and events.sent_ns[read] <= now:
        if events.kind[read] == NEW:
            top = events.stop[read]
        read += 1
    return read, top


@kernel
def note_stall(
    begin: int, end: int, top: int, certain: bool, events: Events, state: Any, by_acknowledgement: bool
) -> None:  # fmt: skip
    """The path may have stood still from begin to end, when octets up to `top` had been sent: look what was resent.

    It did not where data was lost meanwhile; nor where only acknowledgements were, if they stand for arrivals.
    """
    at = first_needed(events, state, begin)
    while at < state[NEEDED] and (events.needed[at, 0] <= end or events.needed[at, 1] < top):
        arrived = events.needed[at, 2] == ANSWERS_LOST and not by_acknowledgement
        if events.needed[at, 1] < top and not arrived:
            if events.needed[at, 2]:
                return
            certain = False
        at += 1
    add_span(events, STALLS if certain else UNSURE_STALLS, begin, end)


@inlined
def first_needed(events: Events, state: Any, begin: int) -> int:
    """The index of the first needed resend at or after a time."""
    low, high = 0, state[NEEDED]
    while low < high:
        middle = (low + high) // 2
        if events.needed[middle, 0] < begin:
            low = middle + 1
        else:
            high = middle
    return low
