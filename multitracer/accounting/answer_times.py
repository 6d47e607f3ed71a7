"""When acknowledgements would have come had nothing held them on their way back, by the timestamps in them.

A receiver dates each acknowledgement by its own clock (RFC 7323 3.2). One that came later after its date than others
before and after it was held between the receiver and the capture, and what it acknowledges was not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.accounting.path_rate import FAR_NS
from multitracer.accounting.sending_state import CLEAN, DATED, HEARD, Capture, Events
from multitracer.compute.kernels import inlined, kernel
from multitracer.model.schema import OPTION_TIMESTAMPS

TICKS_NS = (1_000.0, 1_000_000.0, 1e9 / 300, 4_000_000.0, 10_000_000.0)
"""Units of timestamps: Linux counts us or ms, and before 4.13 counted jiffies of 1000 to 100 in a second; others ms.

RFC 7323 5.4 allows ticks up to 1 s; those of more than 10 ms tell little of when an acknowledgement was sent.
"""
NEAR_TICK = 0.05
"""By so much, relatively, a capture may seem to count other ticks, as the last acknowledgements were held."""
LEAST_STAMPS, LEAST_TICKS = 9, 20
"""So many acknowledgements, over so many ticks, show the unit of their timestamps."""
LEAST_HELD_NS = 10_000_000
"""What is held for less is not told from clocks that hosts read, or bring forward, a little late."""
LATE_SHARE, SURE_SHARE = 1 / 2, 1 / 10
"""Where an acknowledgement may be late by more of a round trip, and not be found to be, timestamps tell nothing; and
not for sure."""


@kernel
def note_answers(capture: Capture, events: Events, state: Any, stamps: Any) -> bool:
    """Date deliveries whose acknowledgements were held as if they had not been; returns whether no others were.

    That is sure but for a time that does not matter, and if not all were held. Timestamps tell it if all have one, by a
    clock of a known unit that advances often enough. The date is the latest that it can be, and has the flag DATED: it
    is not exact. All others keep their time. `stamps` is overwritten.
    """
    count = state[HEARD]
    if count < LEAST_STAMPS or not read_stamps(capture, events, count, stamps):
        return False
    tick_ns = tick_of(events, stamps, count)
    if tick_ns == 0:
        return False
    late_ns = max(np.int64((least_step(stamps, count) + 1) * tick_ns), LEAST_HELD_NS)
    find_zeros(events, stamps, count, tick_ns)
    trip = least_trip(events, stamps, count, late_ns, False)
    if late_ns > LATE_SHARE * trip or least_trip(events, stamps, count, late_ns, True) < trip:
        return False
    for at in range(count):
        if is_held(stamps, at, late_ns):
            events.delivered_ns[at] -= stamps[at, 1] - stamps[at, 2] - late_ns
            events.delivered_flag[at] |= DATED
    return bool(late_ns <= SURE_SHARE * trip and is_even(stamps, count, late_ns))


@inlined
def read_stamps(capture: Capture, events: Events, count: int, stamps: Any) -> bool:
    """Fill column 0 of `stamps` with the ticks since the first acknowledgement; returns whether all have timestamps.

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
    """The unit (ns) that the receiver's timestamps count; 0 if it is none of the known ones, or not sure."""
    lasted, ticks = events.delivered_ns[count - 1] - events.delivered_ns[0], stamps[count - 1, 0]
    tick_ns = 0.0
    for known in TICKS_NS:
        if ticks >= LEAST_TICKS and abs(lasted - known * ticks) <= NEAR_TICK * lasted:
            tick_ns = known
    return tick_ns


@inlined
def least_step(stamps: Any, count: int) -> int:
    """The least number of ticks between two timestamps that differ: a clock may be brought forward by many at a time.

    Where acknowledgements are rarer than that, it is what they show.
    """
    least = stamps[count - 1, 0]
    for at in range(1, count):
        step = stamps[at, 0] - stamps[at - 1, 0]
        least = min(least, step) if step > 0 else least
    return int(least)


@inlined
def find_zeros(events: Events, stamps: Any, count: int, tick_ns: float) -> None:
    """Fill columns 1 and 2: at which time the clock was 0 by each acknowledgement, and by those that were not held.

    The latter is the earliest of all up to it, or of all from it on, whichever is later. So a clock that runs too fast
    or slow, stopped for a while, or was set anew is not taken for acknowledgements that are held from then on.
    """
    earliest = FAR_NS
    for at in range(count):
        stamps[at, 1] = events.delivered_ns[at] - np.int64(stamps[at, 0] * tick_ns)
        earliest = min(earliest, stamps[at, 1])
        stamps[at, 2] = earliest
    earliest = FAR_NS
    for at in range(count - 1, -1, -1):
        earliest = min(earliest, stamps[at, 1])
        stamps[at, 2] = max(stamps[at, 2], earliest)


@inlined
def is_even(stamps: Any, count: int, late_ns: int) -> bool:
    """Whether some acknowledgements were not held at either end of the transfer, by a clock that kept its pace.

    Else those from some time on, or until then, may be held, all by as much: a clock that was stopped looks the same.
    """
    earliest = latest = stamps[0, 2]
    for at in range(1, count):
        earliest, latest = min(earliest, stamps[at, 2]), max(latest, stamps[at, 2])
    return bool(latest - earliest <= late_ns)


@inlined
def is_held(stamps: Any, at: int, late_ns: int) -> bool:
    """Whether an acknowledgement came later after its date than its clock explains."""
    return stamps[at, 1] - stamps[at, 2] > late_ns


@inlined
def least_trip(events: Events, stamps: Any, count: int, late_ns: int, held: bool) -> int:
    """The least time (ns) from sending to delivery, as it is dated, of those that were held, or of all others."""
    least = FAR_NS
    for at in range(count):
        if events.delivered_flag[at] & CLEAN and is_held(stamps, at, late_ns) == held:
            came = events.delivered_ns[at] - (stamps[at, 1] - stamps[at, 2] - late_ns if held else 0)
            least = min(least, came - events.sent_ns[events.delivered_upto[at]])
    return int(least)
