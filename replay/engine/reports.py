"""What entities report, booked: stretches handed over and lost, and what that says of whole SDUs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import inlined, kernel, merged
from multitracer.replay.arq.fields import codes, numbers, record, table
from multitracer.replay.arq.notes import DELIVERED, LOST, note
from multitracer.replay.arq.stretches import clear
from multitracer.replay.engine.ledger import GONE, UNDER_WAY, at_position, conclude, post
from multitracer.replay.engine.way import place

STRETCH = numbers("time_ns side start end sdu first_ns")
"""`side` handed it over, or lost it; `time_ns` is when."""
SDU = numbers("time_ns side flow sdu octets offered_ns first_ns last_ns")
"""An SDU that `side` got whole, or (lost for good) sent: `time_ns` is when it was handed over or given up, `first_ns`
and `last_ns` when the octets came that came first and last."""
STATE = numbers("stretches sdus")
CAME, WENT = codes(2)


class Reports(NamedTuple):
    """Kept while there is room: what was handed over (CAME), and what was lost for good (WENT)."""

    state: Any
    stretches: Any
    sdus: Any


MARKS = numbers("passed user events")
"""`user` is the side that was using its way when something was missing, counted from 1; 0: none was. `events` counts
what happened: all offers, arrivals, timers, or sendings of one instant are one event."""


class Marks(NamedTuple):
    """Times (ns) in their order, those `passed` first; what B has handed over of the octets that came by each."""

    state: Any
    times: Any
    octets: Any


class Upper(NamedTuple):
    """All above the entities, and the log."""

    source: Any
    books: Any
    reports: Any
    log: Any


class Desk(NamedTuple):
    """What is needed to book what entities report: a call passes each array by itself, so the source's stay out."""

    heard: Any
    """The source's state."""
    books: Any
    reports: Any
    log: Any


def reports(stretches: int, sdus: int) -> Reports:
    """Room for `stretches` stretches and `sdus` SDUs of each kind."""
    return Reports(table(2, STATE), table((2, stretches), STRETCH), table((2, sdus), SDU))


def marks(times: Any) -> Marks:
    """Times to be passed."""
    made = np.ascontiguousarray(times, dtype=np.int64)
    return Marks(record(MARKS), made, np.zeros(len(made), dtype=np.int64))


@merged
def pass_mark(marks: Any, above: Any, delivered: int) -> int:
    """B has handed over so many octets by the next mark; how many are passed.

    What it handed over late since the mark before counts for every mark by which it had come.
    """
    passed = marks.state.passed
    for k in range(above.count.late):
        late, at = above.late[k], passed - 1
        while at >= 0 and late.first_ns <= marks.times[at]:
            marks.octets[at] += late.octets
            at -= 1
    marks.octets[passed] = delivered
    above.count.late, above.count.since = 0, marks.times[passed] + 1
    marks.state.passed = passed + 1
    return passed + 1


@merged
def collect(above: Any, desk: Desk, side: int, now: int) -> None:
    """Book what an entity reports: handed over of what the other side offered, lost of what was offered here."""
    for k in range(above.count.handed):
        row = above.handed[k]
        keep(desk.reports, CAME, row, side, now)
        if desk.books.state[1 - side].kept:
            book(desk, row.sdu, row.start, row.end, row.first_ns, side, now)
    for k in range(above.count.lost):
        row = above.lost[k]
        keep(desk.reports, WENT, row, side, now)
        if desk.books.state[side].kept:
            write_off(desk, side, row.sdu, row.start, row.end, now)
    clear(above)


@inlined
def keep(reports: Any, kind: int, stretch: Any, side: int, now: int) -> None:
    """Keep a stretch while there is room."""
    place = reports.state[kind].stretches
    if place < reports.stretches.shape[1]:
        row = reports.stretches[kind, place]
        row.time_ns, row.side, row.start, row.end = now, side, stretch.start, stretch.end
        row.sdu, row.first_ns = stretch.sdu, stretch.first_ns
        reports.state[kind].stretches = place + 1


@merged
def book(desk: Desk, sdu: int, start: int, end: int, first_ns: int, side: int, now: int) -> None:
    """Find whose octets [start, end) are; SDUs that are complete with them were delivered by `side`."""
    books, k = desk.books, 1 - side
    if books.state[k].in_order:
        books.state[k].reached = sdu
    else:
        books.state[k].came = max(books.state[k].came, sdu + 1)
    while start < end:
        number = sdu if sdu >= 0 else at_position(books, k, start)
        if number < books.state[k].settled:  # nobody's, or given up so long ago that its row is another's
            return
        row = books.rows[k, place(books.state[k], number)]
        part = min(end, row.end) - start
        row.handed += part
        row.first_ns = min(row.first_ns, first_ns)
        row.last_ns = max(row.last_ns, first_ns)
        start += part
        decide(row, desk, number, side, k, now)


@merged
def write_off(desk: Desk, side: int, sdu: int, start: int, end: int, now: int) -> None:
    """Note which SDUs lost octets [start, end) of what `side` had to send."""
    books, state = desk.books, desk.books.state[side]
    number = max(sdu, state.settled)
    while number < state.offered:
        row = books.rows[side, number & state.mask]
        if row.start >= end:
            return
        part = min(end, row.end) - max(start, row.start)
        if part > 0 and row.done == 0:
            row.lost += part
            decide(row, desk, number, side, side, now)
        number += 1


@inlined
def decide(row: Any, desk: Desk, number: int, side: int, k: int, now: int) -> None:
    """Report an SDU of kind `k` that is there whole, or that never will be."""
    became = conclude(row, desk.books.state[k].offered, now)
    if became == UNDER_WAY:
        return
    kind, event = (WENT, LOST) if became == GONE else (CAME, DELIVERED)
    if desk.heard.listens:
        post(desk.books, k, number, row.flow, became)
        desk.heard.next_ns = min(desk.heard.next_ns, now)
    keep_sdu(desk.reports, kind, row, number, side, now)
    note(desk.log, now, side, event, row.octets, number, row.flow)


@inlined
def keep_sdu(reports: Any, kind: int, sdu: Any, number: int, side: int, now: int) -> None:
    """Keep an SDU while there is room."""
    place = reports.state[kind].sdus
    if place < reports.sdus.shape[1]:
        row = reports.sdus[kind, place]
        row.time_ns, row.side, row.flow, row.sdu, row.octets = now, side, sdu.flow, number, sdu.octets
        row.offered_ns, row.first_ns, row.last_ns = sdu.offered_ns, sdu.first_ns, sdu.last_ns
        reports.state[kind].sdus = place + 1


@kernel
def end_past(desk: Desk, number: int, lost: int, sender: int, now: int) -> None:
    """A packet that `sender` put past its entity arrived at the other side, or was lost."""
    books, k = desk.books, 2 + sender
    if books.state[k].kept == 0:
        return
    row = books.rows[k, number & books.state[k].mask]
    books.state[k].came = books.state[k].offered + 1  # whatever becomes of it, nothing more will
    if lost:
        row.lost = row.octets
    else:
        row.handed, row.first_ns, row.last_ns = row.octets, now, now
    decide(row, desk, number, sender if lost else 1 - sender, k, now)
