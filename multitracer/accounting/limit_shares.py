"""Adds up, for one direction, how long each cause limited it: each instant has the first cause that applies."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.accounting.sending_events import (
    APPLICATION,
    FAST,
    FIRST_NS,
    LAST_ACKED_NS,
    LISTS,
    NEW,
    RATE,
    RECEIVER_WINDOW,
    RELEASED,
    SENDER_WINDOW,
    SENT,
    STALL,
    TIMEOUT,
    UNKNOWN,
    Capture,
    Events,
)
from multitracer.compute.kernels import inlined, kernel
from multitracer.model.schema import ACK, SYN

CAUSE_OF = (UNKNOWN, STALL, RATE, TIMEOUT, UNKNOWN, FAST)
"""The cause of each list of spans, in order of precedence."""

# Fields of a walk: numbers as in the state of a direction; READ is the next sent row, AHEAD the next with new data;
# DONE is up to when time was added up, CAUSE what limits from then on if no span says otherwise. A pointer into each
# list of spans follows.
UNA, TOP, EDGE, READ, AHEAD, DONE, CAUSE, POINTERS = range(8)
WALK_FIELDS = POINTERS + LISTS


@kernel
def add_up(rows: Any, direction: int, capture: Capture, events: Events, state: Any, walk: Any, spent: Any) -> None:
    """Fill `spent` with the ns that each cause took from the first data octet to its last acknowledgement."""
    spent[:] = 0
    walk[:] = 0
    walk[EDGE], walk[DONE], walk[CAUSE] = -1, state[FIRST_NS], APPLICATION
    for row in rows:
        now = min(max(capture.time_ns[row], walk[DONE]), state[LAST_ACKED_NS])
        if capture.sender[row] != direction:
            if not capture.flags[row] & ACK:
                continue
            read_acknowledgement(row, capture, walk)
        elif walk[READ] < state[SENT] and row == events.row[walk[READ]]:
            read_data(row, capture, events, walk)
        else:
            continue
        cause = limiting(capture, events, state, walk)
        if cause != walk[CAUSE]:
            spend(now, events, walk, spent)
            walk[CAUSE] = cause
    spend(state[LAST_ACKED_NS], events, walk, spent)


@inlined
def read_acknowledgement(row: int, capture: Capture, walk: Any) -> None:
    """Note what segment `row` acknowledges and which window it advertises."""
    number, window = capture.ack[row], np.int64(capture.window_bytes[row])
    if number >= walk[UNA]:
        walk[EDGE] = -1 if window < 0 else number + window
        walk[UNA] = number


@inlined
def read_data(row: int, capture: Capture, events: Events, walk: Any) -> None:
    """Note what segment `row` sent."""
    if events.flag[walk[READ]] & NEW:
        start = capture.seq[row] + (1 if capture.flags[row] & SYN else 0)
        walk[UNA] = start if walk[TOP] == 0 else walk[UNA]
        walk[TOP] = start + capture.payload_bytes[row]
    walk[READ] += 1


@inlined
def limiting(capture: Capture, events: Events, state: Any, walk: Any) -> int:
    """What limits the sender while the path is idle and nothing is repaired."""
    walk[AHEAD] = max(walk[AHEAD], walk[READ])
    while walk[AHEAD] < state[SENT] and not events.flag[walk[AHEAD]] & NEW:
        walk[AHEAD] += 1
    if walk[AHEAD] == state[SENT]:
        return APPLICATION  # waiting for the last acknowledgements
    if walk[EDGE] >= 0 and walk[TOP] + capture.payload_bytes[events.row[walk[AHEAD]]] > walk[EDGE]:
        return RECEIVER_WINDOW
    if walk[UNA] >= walk[TOP]:
        return APPLICATION
    if walk[EDGE] < 0:
        return UNKNOWN
    return SENDER_WINDOW if events.flag[walk[AHEAD]] & RELEASED else APPLICATION


@kernel
def spend(until: int, events: Events, walk: Any, spent: Any) -> None:
    """Add up the time until `until`: in a span its cause, else the cause of the walk."""
    while walk[DONE] < until:
        now, stop, cause = walk[DONE], until, walk[CAUSE]
        for which in range(LISTS - 1, -1, -1):
            at = walk[POINTERS + which]
            while at < events.counts[which] and events.spans[which, at, 1] <= now:
                at += 1
            walk[POINTERS + which] = at
            if at == events.counts[which]:
                continue
            begin, end = events.spans[which, at, 0], events.spans[which, at, 1]
            if begin <= now:
                cause = CAUSE_OF[which]
                stop = min(stop, end)
            else:
                stop = min(stop, begin)
        spent[cause] += stop - now
        walk[DONE] = stop
