"""What becomes of data that TCP sends again: whether an earlier copy came by itself, and what the link did with it.

Copies of a segment are numbered from 0, in the order in which TCP sent them. A set of them is a number, a bit each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import inlined, kernel, merged
from multitracer.replay.arq.fields import NEVER, numbers, table
from multitracer.replay.engine.ledger import GONE
from multitracer.replay.engine.protocol import gone, span
from multitracer.replay.engine.way import ring_place
from multitracer.replay.tcp.packets import DATA

SEGMENT = numbers("connection seq came open timed competed")
"""A segment: the first of its copies that has come (NEVER: none); of the copies sent again those that none before has
come for, those among them that a timer sent, and those that competed with the link."""
COPY = numbers("again repeated")
"""A packet on the link: later copies that TCP sent when the link had sent this one, and had neither delivered it nor
given it up; and those of them after which the link repeated a frame of it."""
LAST_BIT = 61
"""Copies from this one on share a bit: a minute apart at the end, they take an hour."""


class Resends(NamedTuple):
    """Of each end a ring of segments, as long as TCP's own; of each side a ring of packets, as long as the ledgers."""

    segments: Any
    copies: Any


def resends(ends: int, slots: int) -> Resends:
    """Nothing sent yet."""
    return Resends(table((ends, slots), SEGMENT), table((2, 1), COPY))


def forget(old: Resends) -> None:
    """Nothing that was sent so far is counted any more."""
    for name in ("open", "timed"):
        old.segments[name] = 0
    for name in COPY.names:
        old.copies[name] = 0


@merged
def begin(resends: Resends, k: int, packet: Any) -> None:
    """A segment is sent for the first time."""
    row = resends.segments[np.uint64(k), ring_place(resends.segments.shape[1], packet.seq)]
    row.connection, row.seq, row.came = packet.connection, packet.seq, NEVER
    row.open = row.timed = row.competed = 0


@inlined
def is_of(row: Any, packet: Any) -> bool:
    """Whether a ring's row is still that of a packet's segment."""
    return row.seq == packet.seq and row.connection == packet.connection


@inlined
def bit_of(packet: Any) -> int:
    """The number of a packet's bit."""
    return min(packet.sending, LAST_BIT)


@kernel
def members(copies: int) -> int:
    """How many copies are in a set."""
    count = 0
    while copies:
        copies &= copies - 1
        count += 1
    return count


@merged
def send_again(resends: Resends, totals: Any, k: int, packet: Any, timed: int) -> None:
    """TCP sends a segment again, because its timer ran out (`timed`) or for another reason."""
    row = resends.segments[np.uint64(k), ring_place(resends.segments.shape[1], packet.seq)]
    if not is_of(row, packet):
        return
    totals.resent += 1
    if row.came < packet.sending:
        totals.needless += 1
        totals.spurious_timeouts += timed
    else:
        row.open |= 1 << bit_of(packet)
        row.timed |= timed << bit_of(packet)


@merged
def look_on_link(resends: Resends, books: Any, air: Any, packet: Any, reached: int, gone: int) -> tuple[int, int]:
    """Whether the link has an earlier copy of a packet, and how many of those that it has sent are now watched.

    The octets of the side's stream before `reached` have been on the air, those before `gone` will not come any more.
    """
    side, held, watched = packet.end, 0, 0
    state = books.state[side]
    for number in range(state.settled, state.offered):
        at = number & state.mask
        other, row = air[side, at], books.rows[side, at]
        is_earlier = other.bits & DATA != 0 and other.sending < packet.sending and is_of(other, packet)
        if row.done or row.end <= gone or not is_earlier:
            continue
        held = 1
        if row.start < reached:
            copy = resends.copies[side, at]
            watched += int(copy.again == 0)
            copy.again |= 1 << bit_of(packet)
    return held, watched


@merged
def repeat(resends: Resends, books: Any, side: int, first: int, end: int) -> None:
    """The link of a side repeats a frame with octets [first, end) of the side's stream."""
    state = books.state[side]
    number = state.settled
    while number < state.offered and books.rows[side, number & state.mask].start < end:
        row, copy = books.rows[side, number & state.mask], resends.copies[side, number & state.mask]
        if row.done == 0 and row.end > first:
            copy.repeated |= copy.again
        number += 1


@merged
def end_of_packets(books: Any, side: int, first: int, end: int) -> int:
    """Where the last packet ends that has some of the octets [first, end) of a side's stream."""
    found, state = end, books.state[side]
    number = state.settled
    while number < state.offered and books.rows[side, number & state.mask].start < end:
        row = books.rows[side, number & state.mask]
        if row.end > first:
            found = max(found, row.end)
        number += 1
    return int(found)


@merged
def is_watched(resends: Resends, ended: Any) -> bool:
    """Whether a packet that ended on the link was watched."""
    return ended.kind < 2 and resends.copies[ended.kind & 1, ended.number & (resends.copies.shape[1] - 1)].again != 0


@merged
def end_watch(resends: Resends, totals: Any, k: int, ended: Any, packet: Any) -> None:
    """A watched packet ended on the link: where it came after a repeat, TCP competed with the link."""
    copy = resends.copies[ended.kind & 1, ended.number & (resends.copies.shape[1] - 1)]
    row = resends.segments[np.uint64(k), ring_place(resends.segments.shape[1], packet.seq)]
    if ended.became != GONE and is_of(row, packet):
        totals.competing += members(copy.repeated & ~row.competed)
        row.competed |= copy.repeated
    copy.again = copy.repeated = 0


@merged
def come(resends: Resends, totals: Any, k: int, packet: Any) -> None:
    """A packet of end `k` comes to the other end."""
    if packet.bits & DATA:
        row = resends.segments[np.uint64(k), ring_place(resends.segments.shape[1], packet.seq)]
        if packet.sending < row.came and is_of(row, packet):
            row.came = packet.sending
            if row.open:
                settle(row, totals, 2 << bit_of(packet))


@merged
def settle(row: Any, totals: Any, above: int) -> None:
    """Copies whose bits are `above` or higher were needless."""
    totals.needless += members(row.open & -above)
    totals.spurious_timeouts += members(row.timed & -above)
    row.open &= above - 1
    row.timed &= above - 1


def data_sent(e: Any, way: Any, upper: Any, at: int) -> None:
    """An entity's frame with data goes on the air: it goes on in its stream, or repeats."""
    first, end = span(e, way.frames[way.air[at].place])
    traffic = upper.source.traffic[np.uint64(way.state.side)]
    if first >= traffic.on_air:
        traffic.on_air = end
    elif upper.source.state.watched > 0:
        repeat(upper.source.resends, upper.books, way.state.side, first, end)


def data_lost(way: Any, upper: Any, at: int) -> None:
    """An entity's frame was lost: where it is never repeated, its packets will not come any more."""
    row, side = way.air[at], way.state.side
    first, end = gone(way.frames[row.place], row.octets)
    if end > first:
        traffic = upper.source.traffic[side]
        traffic.gone = max(traffic.gone, end_of_packets(upper.books, side, first, end))
