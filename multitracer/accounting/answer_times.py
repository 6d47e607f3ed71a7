"""When acknowledgements would have come had nothing held them on their way back, by the timestamps in them.

A receiver dates each acknowledgement by its own clock (RFC 7323 3.2). One that came later after its date than others
was held between the receiver and the capture, and what it acknowledges was not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.accounting.path_rate import FAR_NS
from multitracer.accounting.sending_events import HEARD, Capture, Events
from multitracer.compute.kernels import inlined, kernel
from multitracer.model.schema import OPTION_TIMESTAMPS

TICKS_NS = (1_000.0, 1_000_000.0, 1e9 / 300, 4_000_000.0, 10_000_000.0)
"""Ticks of timestamp clocks: Linux counts us or ms, and before 4.13 counted jiffies of 1000 to 100 in a second.

RFC 7323 5.4 allows ticks up to 1 s; those of more than 10 ms tell little of when an acknowledgement was sent.
"""
NEAR_TICK = 0.05
"""By so much, relatively, a capture may seem to count other ticks, as the last acknowledgements were held."""
MOST_DRIFT = 2e-4
"""Clocks of hosts run so much too fast or slow at most; what drifts more does so because it is held longer."""
LEAST_STAMPS = 9
"""Acknowledgements with timestamps that are enough to find those that were not held: three in each third."""
HELD_SHARE = 0.005
"""Both in the first and in the last third of a transfer some are held for less than this share of it."""


@kernel
def note_answers(capture: Capture, events: Events, state: Any, stamps: Any) -> bool:
    """Date the deliveries no later than the timestamps of the acknowledgements allow; returns whether these tell.

    They do if all have one, by a clock of a known tick. An acknowledgement that was held for less than a tick keeps its
    time, another has the latest that it can have been without. `stamps` is overwritten.
    """
    count = state[HEARD]
    if count < LEAST_STAMPS or not read_stamps(capture, events, count, stamps):
        return False
    tick_ns = tick_of(events, stamps, count)
    if tick_ns == 0:
        return False
    _, least = least_held(events, stamps, 0, count, tick_ns)
    for at in range(count):
        latest = least + np.int64((stamps[at, 0] + 1) * tick_ns)
        events.delivered_ns[at] = min(events.delivered_ns[at], latest)
    return True


@inlined
def read_stamps(capture: Capture, events: Events, count: int, stamps: Any) -> bool:
    """Fill `stamps` with the ticks since the first acknowledgement, and return whether all have timestamps.

    One that was overtaken has those of what overtook it: it tells of nothing that had not been told.
    """
    first = np.int64(capture.tsval[events.delivered_row[0]])
    latest = np.int64(0)
    for at in range(count):
        row = events.delivered_row[at]
        if not capture.options[row] & OPTION_TIMESTAMPS:
            return False
        step = (np.int64(capture.tsval[row]) - first - latest) & 0xFFFFFFFF
        latest += step if step < 0x80000000 else 0
        stamps[at, 0] = latest
    return True


@inlined
def tick_of(events: Events, stamps: Any, count: int) -> float:
    """How long (ns) a tick of the receiver's clock is, drift included; 0 if it is none of the known ones.

    The acknowledgements that were held the least show it, in the first and in the last third of all.
    """
    lasted, ticks = events.delivered_ns[count - 1] - events.delivered_ns[0], stamps[count - 1, 0]
    tick_ns = 0.0
    for known in TICKS_NS:
        if abs(lasted - known * ticks) <= NEAR_TICK * lasted:
            tick_ns = known
    if tick_ns == 0:
        return 0.0
    begin, held_first = least_held(events, stamps, 0, count // 3, tick_ns)
    end, held_last = least_held(events, stamps, count - count // 3, count, tick_ns)
    more = held_last - held_first
    if abs(more) <= tick_ns:
        return tick_ns
    drift = more / (tick_ns * (stamps[end, 0] - stamps[begin, 0]))
    if abs(drift) <= MOST_DRIFT:
        return tick_ns * (1 + drift)
    return tick_ns if abs(more) <= HELD_SHARE * lasted else 0.0


@inlined
def least_held(events: Events, stamps: Any, begin: int, stop: int, tick_ns: float) -> tuple[int, int]:
    """Which of the deliveries begin..stop-1 came the soonest after its timestamp, and when that clock was at 0 then."""
    place, least = begin, FAR_NS
    for at in range(begin, stop):
        zero = events.delivered_ns[at] - np.int64(stamps[at, 0] * tick_ns)
        if zero < least:
            place, least = at, zero
    return place, least
