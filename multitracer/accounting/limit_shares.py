"""Adds up, for one direction, how long each cause limited it: each instant has the first cause that applies."""

from __future__ import annotations

from typing import Any, NamedTuple

from multitracer.accounting.sending_state import (
    APPLICATION,
    CAUSES,
    CODES,
    FAST,
    FIRST_NS,
    LAST_ACKED_NS,
    LISTS,
    RATE,
    RECEIVER_WINDOW,
    STALL,
    TIMEOUT,
    UNKNOWN,
    Events,
)
from multitracer.compute.kernels import inlined, kernel

CAUSE_OF = (UNKNOWN, STALL, RATE, RATE, UNKNOWN, TIMEOUT, UNKNOWN, FAST)
"""The cause of each list of spans, in order of precedence."""
# Columns of `Ledger.current`: the stretch in progress, of which end, how long it must be to be kept; how many are.
CAUSE, START, STOP, END, LEAST_NS, KEPT, CURRENT = range(7)


class Ledger(NamedTuple):
    """What is added up of a direction, and the stretches kept of all directions."""

    pointers: Any
    """Into each list of spans."""
    spent: Any
    """The ns that each cause took."""
    current: Any
    kept: Any
    """Stretches, shape (rows, 4): end, cause, start and stop in ns."""


@kernel
def add_up(end: int, least_ns: int, events: Events, state: Any, ledger: Ledger) -> None:
    """Fill `spent` with the ns that each cause took from the first data octet of an end to its last acknowledgement.

    Stretches longer than `least_ns` of causes that make findings are appended to `kept`; 0: none.
    """
    ledger.spent[:] = 0
    ledger.pointers[:] = 0
    ledger.current[END], ledger.current[LEAST_NS], ledger.current[CAUSE] = end, least_ns, -1
    for at in range(state[CAUSES]):
        start, stop = state[FIRST_NS] + events.causes[at] // CODES, state[LAST_ACKED_NS]
        if at + 1 < state[CAUSES]:
            stop = min(stop, state[FIRST_NS] + events.causes[at + 1] // CODES)
        if stop > start:
            spend(start, stop, events.causes[at] % CODES, events, ledger)
    keep(ledger)


@inlined
def spend(start: int, end: int, otherwise: int, events: Events, ledger: Ledger) -> None:
    """Add up the time from start to end: in a span its cause, else `otherwise`."""
    now, pointers = start, ledger.pointers
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
        ledger.spent[cause] += stop - now
        if cause != ledger.current[CAUSE]:
            keep(ledger)
            ledger.current[CAUSE], ledger.current[START] = cause, now
        ledger.current[STOP] = now = stop


@inlined
def keep(ledger: Ledger) -> None:
    """The stretch in progress ends: keep it if it may make a finding."""
    current, at = ledger.current, ledger.current[KEPT]
    cause, lasted = current[CAUSE], current[STOP] - current[START]
    wanted = cause in (APPLICATION, RECEIVER_WINDOW, STALL) and 0 < current[LEAST_NS] < lasted
    if wanted and at < len(ledger.kept):
        ledger.kept[at, 0], ledger.kept[at, 1] = current[END], cause
        ledger.kept[at, 2], ledger.kept[at, 3] = current[START], current[STOP]
        current[KEPT] = at + 1
    current[CAUSE] = -1
