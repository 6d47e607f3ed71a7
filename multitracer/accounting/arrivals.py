"""Arrivals by the receiver's capture or a link's log, which take the place of what acknowledgements tell."""

from __future__ import annotations

from typing import Any

from multitracer.accounting.sending_state import EXACT, HEARD, SENT, UNA, Capture, Events, is_needless
from multitracer.compute.kernels import kernel

DECIDED = 0.9
"""Arrivals are read from the receiver's capture where it decides for this share of a direction's packets."""


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
