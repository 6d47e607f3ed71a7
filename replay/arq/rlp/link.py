"""Two RLP entities, A and B, and the air between them: one frame each way in every opportunity.

Opportunity i begins at i * frame_ns in both directions; a frame sent then arrives delay_ns later,
unless its place in the erasure trace says that it does not. Events happen in order of time; at
equal times arrivals come before timers, timers before sending, and A before B.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.model.errors import UsageError
from multitracer.replay.arq.rlp import state
from multitracer.replay.arq.rlp.entity import Parameters, counters, entity
from multitracer.replay.arq.rlp.machine import expire, next_frame, receive
from multitracer.replay.arq.rlp.state import (
    DELIVERED,
    EXPECTED,
    FLUSHED,
    NEXT,
    OFFERED,
    RESETS,
    RESETS_SEEN,
    T_RCVS,
    XOFFS,
    XONS,
    T,
)

A, B = 0, 1
SENT, RECEIVED, ERASED, RESET, FLUSH, XOFF, XON = range(7)
"""What a row of the log tells. The last four befall one side; of FLUSH, HEADER is how many octets of the stream were
lost to the sender, and POSITION is where it goes on."""
TIME, SIDE, EVENT, HEADER, POSITION = range(5)
"""Columns of the log; HEADER is the word described in `rlp_state`."""
START, END = 2, 3
"""Columns of the deliveries after TIME and SIDE (which delivered): the stretch of the stream that came.

Stretches follow one another without a gap, but for what a reset flushed.
"""

# What the loop knows besides: fixed numbers, then places that it moves on.
FRAME_NS, DELAY_NS, LAG, MASK, LOG_ROWS, DELIVERIES, OFFERS_A, OFFERS_B, NOTED = range(9)
_NOTES = 4


@kernel
def take(e: Any, offers: Any, at: int, until: int) -> int:
    """Give an entity what was offered until a time; the offer from which to go on."""
    while at < len(offers) and offers[at, 0] <= until:
        e[OFFERED] += offers[at, 1]
        at += 1
    return at


@kernel
def wake(e: Any, until: int) -> None:
    """Run an entity's timers until a time, each at its own."""
    while e[T] <= until or e[T_RCVS] <= until:
        expire(e, min(e[T], e[T_RCVS]))


@kernel
def note(log: Any, places: Any, time: int, side: int, event: int, header: int, position: int) -> None:
    """Write a row of the log while there is room."""
    row = places[LOG_ROWS]
    if row < len(log):
        log[row, TIME], log[row, SIDE], log[row, EVENT] = time, side, event
        log[row, HEADER], log[row, POSITION] = header, position
        places[LOG_ROWS] = row + 1


@kernel
def note_events(e: Any, log: Any, places: Any, time: int, side: int) -> None:
    """Write what has happened to an entity since the last look: resets, flushes, XOFF and XON."""
    base = NOTED + _NOTES * side
    resets = e[RESETS] + e[RESETS_SEEN]
    if resets != places[base]:
        note(log, places, time, side, RESET, 0, 0)
        note(log, places, time, side, FLUSH, e[FLUSHED] - places[base + 1], e[NEXT])
        places[base], places[base + 1] = resets, e[FLUSHED]
    if e[XOFFS] != places[base + 2]:
        note(log, places, time, side, XOFF, 0, 0)
        places[base + 2] = e[XOFFS]
    if e[XONS] != places[base + 3]:
        note(log, places, time, side, XON, 0, 0)
        places[base + 3] = e[XONS]


@kernel
def arrive(
    e: Any, air: Any, at: int, erased: int, now: int, side: int, places: Any, log: Any, deliveries: Any
) -> None:
    """The frame that was sent in opportunity `at` reaches `side`, or does not."""
    place = 2 * (at & places[MASK])
    header, position = air[place], air[place + 1]
    if len(log) > 0:
        note(log, places, now, side, ERASED if erased else RECEIVED, header, position)
    if erased:
        return
    before = e[DELIVERED]
    receive(e, header, position, now)
    if e[DELIVERED] != before and places[DELIVERIES] < len(deliveries):
        row = places[DELIVERIES]
        deliveries[row, TIME], deliveries[row, SIDE] = now, side
        deliveries[row, START], deliveries[row, END] = e[EXPECTED] - (e[DELIVERED] - before), e[EXPECTED]
        places[DELIVERIES] = row + 1


@kernel
def send(e: Any, air: Any, at: int, now: int, side: int, places: Any, log: Any) -> None:
    """Put the frame of opportunity `at` on the air."""
    header, position = next_frame(e, now)
    place = 2 * (at & places[MASK])
    air[place], air[place + 1] = header, position
    if len(log) > 0:
        note_events(e, log, places, now, side)
        note(log, places, now, side, SENT, header, position)


@kernel
def carry(
    a: Any, b: Any, air_a: Any, air_b: Any, erased_a: Any, erased_b: Any, offers_a: Any, offers_b: Any,
    places: Any, log: Any, deliveries: Any, first: int, last: int,
) -> None:  # fmt: skip
    """Opportunities [first, last); goes on where an earlier call ended."""
    frame_ns, delay_ns, lag, logging = places[FRAME_NS], places[DELAY_NS], places[LAG], len(log) > 0
    for i in range(first, last):
        now, sent = i * frame_ns, i - lag
        if sent >= 0:
            time = sent * frame_ns + delay_ns
            places[OFFERS_A] = take(a, offers_a, places[OFFERS_A], time)
            places[OFFERS_B] = take(b, offers_b, places[OFFERS_B], time)
            wake(a, time - 1)
            wake(b, time - 1)
            arrive(a, air_b, sent, erased_b[sent], time, A, places, log, deliveries)
            arrive(b, air_a, sent, erased_a[sent], time, B, places, log, deliveries)
            if logging:
                note_events(a, log, places, time, A)
                note_events(b, log, places, time, B)
        places[OFFERS_A] = take(a, offers_a, places[OFFERS_A], now)
        places[OFFERS_B] = take(b, offers_b, places[OFFERS_B], now)
        wake(a, now)
        wake(b, now)
        send(a, air_a, i, now, A, places, log)
        send(b, air_b, i, now, B, places, log)


def offers_of(times_ns: Any, octets: Any) -> Any:
    """Offers as the loop takes them: rows of time and octets, in order of time."""
    offers = np.stack([np.asarray(times_ns, dtype=np.int64), np.asarray(octets, dtype=np.int64)], axis=1)
    if len(offers) and ((np.diff(offers[:, 0]) < 0).any() or (offers[:, 1] < 0).any()):
        raise UsageError("offers must be in order of time, of 0 octets or more each")
    return np.ascontiguousarray(offers)


@dataclass
class Link:
    """Two entities and the air between them; `carry` runs it, part by part or at once.

    erased_a, erased_b: erasures (1) of what A and what B sends, one an opportunity.
    offers_a, offers_b: `offers_of` times and octets; None is a source that always has more.
    log_rows, delivery_rows: how many rows to keep of the log and of the deliveries (TIME, SIDE, START, END).
    """

    parameters_a: Parameters
    parameters_b: Parameters
    frame_ns: int
    delay_ns: int
    erased_a: Any
    erased_b: Any
    offers_a: Any = None
    offers_b: Any = field(default_factory=lambda: offers_of([], []))
    log_rows: int = 0
    delivery_rows: int = 0

    def __post_init__(self) -> None:
        if self.frame_ns < 1 or self.delay_ns < 1:
            raise UsageError(f"frame_ns {self.frame_ns} and delay_ns {self.delay_ns} must be above 0")
        if self.parameters_a.frame_bytes != self.parameters_b.frame_bytes:
            raise UsageError("both entities must use frames of the same size")
        self.erased_a, self.erased_b = (np.ascontiguousarray(e, dtype=np.uint8) for e in (self.erased_a, self.erased_b))
        if len(self.erased_a) != len(self.erased_b):
            raise UsageError(f"erasure traces of {len(self.erased_a)} and {len(self.erased_b)} opportunities")
        self.a, self.b = entity(self.parameters_a), entity(self.parameters_b)
        for e, offers in ((self.a, self.offers_a), (self.b, self.offers_b)):
            e[OFFERED] = state.UNLIMITED if offers is None else 0
        lag = -(-self.delay_ns // self.frame_ns)
        size = 1 << int(lag).bit_length()
        self.air_a, self.air_b = np.zeros(2 * size, np.int64), np.zeros(2 * size, np.int64)
        self.places = np.zeros(NOTED + 2 * _NOTES, dtype=np.int64)
        self.places[:LOG_ROWS] = self.frame_ns, self.delay_ns, lag, size - 1
        self._log = np.zeros((self.log_rows, POSITION + 1), dtype=np.int64)
        self._deliveries = np.zeros((self.delivery_rows, END + 1), dtype=np.int64)
        self.done = 0

    def carry(self, last: int | None = None) -> Link:
        """Run the opportunities up to `last` (all there are when None) that have not been run."""
        last = len(self.erased_a) if last is None else min(last, len(self.erased_a))
        nothing = offers_of([], [])
        carry(
            self.a, self.b, self.air_a, self.air_b, self.erased_a, self.erased_b,
            nothing if self.offers_a is None else self.offers_a, nothing if self.offers_b is None else self.offers_b,
            self.places, self._log, self._deliveries, self.done, last,
        )  # fmt: skip
        self.done = max(self.done, last)
        return self

    @property
    def log(self) -> Any:
        """The rows of the log so far."""
        return self._log[: self.places[LOG_ROWS]]

    @property
    def deliveries(self) -> Any:
        """What was delivered when, so far: TIME, SIDE, and START and END in the stream."""
        return self._deliveries[: self.places[DELIVERIES]]

    def summary(self, side: int = B) -> dict[str, int]:
        """The counters of an entity, and `state` (rlp_state.ABM and following): how it ended."""
        e = self.b if side == B else self.a
        return {**counters(e), "state": int(e[state.STATE])}

    def flushed(self, side: int) -> list[tuple[int, int]]:
        """Stretches (start, end) of the stream that a side lost in resets, as far as the log was kept.

        Characters that had arrived before, unacknowledged, are among them.
        """
        rows = self.log[(self.log[:, SIDE] == side) & (self.log[:, EVENT] == FLUSH)].tolist()
        return [(row[POSITION] - row[HEADER], row[POSITION]) for row in rows if row[HEADER]]

    def throughput_bytes_per_s(self, side: int = B) -> float:
        """Octets that a side delivered over the time of all opportunities run."""
        e = self.b if side == B else self.a
        return float(e[DELIVERED]) * 1e9 / (self.done * self.frame_ns) if self.done else 0.0
