"""Adds up, for one direction, how long each cause limited it: each instant has the first cause that applies."""

from __future__ import annotations

from typing import Any

from multitracer.accounting.sending_events import (
    CAUSES,
    CODES,
    FAST,
    FIRST_NS,
    LAST_ACKED_NS,
    LISTS,
    RATE,
    STALL,
    TIMEOUT,
    UNKNOWN,
    Events,
)
from multitracer.compute.kernels import kernel

CAUSE_OF = (UNKNOWN, STALL, RATE, TIMEOUT, UNKNOWN, FAST)
"""The cause of each list of spans, in order of precedence."""


@kernel
def add_up(events: Events, state: Any, pointers: Any, spent: Any) -> None:
    """Fill `spent` with the ns that each cause took from the first data octet to its last acknowledgement."""
    spent[:] = 0
    pointers[:] = 0
    for at in range(state[CAUSES]):
        start, end = state[FIRST_NS] + events.causes[at] // CODES, state[LAST_ACKED_NS]
        if at + 1 < state[CAUSES]:
            end = min(end, state[FIRST_NS] + events.causes[at + 1] // CODES)
        if end > start:
            spend(start, end, events.causes[at] % CODES, events, pointers, spent)


@kernel
def spend(start: int, end: int, otherwise: int, events: Events, pointers: Any, spent: Any) -> None:
    """Add up the time from start to end: in a span its cause, else `otherwise`; `pointers` are into the spans."""
    now = start
    while now < end:
        stop, cause = end, otherwise
        for which in range(LISTS - 1, -1, -1):
            at = pointers[which]
            while at < events.counts[which] and events.spans[which, at, 1] <= now:
                at += 1
            pointers[which] = at
            if at < events.counts[which]:
                begins = events.spans[which, at, 0] > now
                stop = min(stop, events.spans[which, at, 0] if begins else events.spans[which, at, 1])
                cause = cause if begins else CAUSE_OF[which]
        spent[cause] += stop - now
        now = stop
