"""Arrivals by the receiver's capture or a link's log, which take the place of what acknowledgements tell."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.accounting.sending_events import EXACT, HEARD, SENT, UNA, Capture, Events, is_needless
from multitracer.compute.kernels import inlined, kernel

DECIDED = 0.9
"""Arrivals are read from the receiver's capture where it decides for this share of a direction's packets."""
TICKS_NS = (1_000_000, 2_000_000, 4_000_000, 10_000_000, 100_000_000, 500_000_000, 1_000_000_000)
"""How often stacks count up their timestamps: of all that RFC 7323 5.4 allows, 1 ms to 1 s, the usual ones."""
LIKE_TICK = 0.1
"""A clock has a usual tick if it is so near to it, relatively: what was held first or last shifts what is measured."""


@kernel
def decides(capture: Capture, events: Events, state: Any) -> bool:
    """Whether the receiver's capture decides for nearly all packets if they arrived.

    Those are left out of which no arrival is missed: resends of what had arrived, and what was never acknowledged. A
    capture that ends with the transfer cannot tell of either whether it was still on its way.
    """
    decided, counted = 0, 0
    for at in range(state[SENT]):
        row = events.row[at]
        if capture.arrived[row] >= 0:
            decided, counted = decided + 1, counted + 1
        elif not is_needless(capture.resend[row]) and capture.seq[row] < state[UNA]:
            counted += 1
    return bool(decided >= DECIDED * counted)


@kernel
def note_arrivals(capture: Capture, events: Events, state: Any) -> bool:
    """Replace the deliveries by the arrivals in the receiver's capture, where it decides for nearly all packets.

    Returns whether it does. A packet that was overtaken had left the bottleneck, which keeps their order, before what
    overtook it: it counts as delivered then.
    """
    if not decides(capture, events, state):
        return False
    count = 0
    for at in range(state[SENT]):
        came = capture.came_ns[events.row[at]]
        if came >= 0 and capture.arrived[events.row[at]] == 1:
            events.delivered_ns[count], events.delivered_upto[count] = came, at
            events.delivered_flag[count] = EXACT
            count += 1
    for at in range(count - 2, -1, -1):
        events.delivered_ns[at] = min(events.delivered_ns[at], events.delivered_ns[at + 1])
    state[HEARD] = count
    return True


@kernel
def date_back(capture: Capture, events: Events, state: Any, trip_ns: int) -> None:
    """Date acknowledgements back that were held on their way for longer than a round trip.

    What they acknowledge had arrived when they were sent: so long after the one before as the receiver's timestamps say
    (RFC 7323 3.2), but for a tick. Nothing is told by a clock whose tick is not known.
    """
    tick = tick_of_peer(capture, events, state)
    if tick == 0 or trip_ns <= 0:
        return
    before = -1
    for at in range(state[HEARD]):
        row = events.delivered_row[at]
        if capture.tsval[row] == 0:
            continue
        held = np.int64(0)
        if before >= 0:
            apart = capture.time_ns[row] - capture.time_ns[before]
            held = apart - (ticks_between(capture, before, row) + 1) * tick
        if held > trip_ns:
            earliest = events.delivered_ns[at - 1] if at > 0 else np.int64(0)
            events.delivered_ns[at] = max(events.delivered_ns[at] - held, earliest)
        else:
            before = row


@inlined
def ticks_between(capture: Capture, first: int, last: int) -> int:
    """By how much the timestamp of one segment is above that of another, of the same sender."""
    later = (np.int64(capture.tsval[last]) - np.int64(capture.tsval[first])) & 0xFFFFFFFF
    return int(later if later < 0x80000000 else later - 0x100000000)


@kernel
def tick_of_peer(capture: Capture, events: Events, state: Any) -> int:
    """How often the receiver counts up its timestamps, in ns, by its first and its last acknowledgement; 0 unknown."""
    first, last = 0, state[HEARD] - 1
    while first < last and capture.tsval[events.delivered_row[first]] == 0:
        first += 1
    while last > first and capture.tsval[events.delivered_row[last]] == 0:
        last -= 1
    if first >= last:
        return 0
    one, other = events.delivered_row[first], events.delivered_row[last]
    ticks, lasted = ticks_between(capture, one, other), capture.time_ns[other] - capture.time_ns[one]
    for tick in TICKS_NS:
        if ticks > 0 and abs(lasted - ticks * tick) <= LIKE_TICK * ticks * tick:
            return int(tick)
    return 0
