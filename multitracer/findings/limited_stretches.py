"""Stretches of time in which one cause limited one end, put together where they follow one another closely."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from multitracer.compute.arrays import rows_with
from multitracer.findings.finding import Finding
from multitracer.findings.observations import MS, Direction, Observations
from multitracer.model.limits import LIMITS
from multitracer.model.schema import MARKS


class Limited(NamedTuple):
    """A time in which one cause limited one end again and again, with gaps of about a round trip at most."""

    direction: Direction
    start_ns: int
    stop_ns: int
    cost_ns: int
    """How long the cause applied."""
    rtt_ns: int
    pieces: int
    hole: bool
    """The capture lost records that this might rest on."""


def limited(observed: Observations, cause: str, *, group_rtts: float) -> Iterator[Limited]:
    """The stretches of a cause, of every end with a known round trip; gaps up to `group_rtts` do not divide them."""
    assert observed.limits is not None  # by NEEDS
    found, unseen = observed.limits.stretches, _unseen(observed)
    rtt_of = {2 * one.connection + one.sender: one.least_rtt_ns for one in observed.directions}
    mine = np.flatnonzero(found.cause == LIMITS.index(cause))
    if not len(mine):
        return
    end, start, stop = found.end[mine], found.start_ns[mine], found.stop_ns[mine]
    rtt = np.array([rtt_of.get(one, 0) for one in end.tolist()], dtype=np.int64)
    cut = np.ones(len(mine), dtype=np.bool_)
    cut[1:] = (end[1:] != end[:-1]) | (start[1:] - stop[:-1] > group_rtts * rtt[1:])
    first = np.flatnonzero(cut)
    last = np.append(first[1:], len(mine)) - 1
    cost = np.add.reduceat(stop - start, first)
    columns = (end[first], start[first], stop[last], cost, rtt[first], last - first + 1)
    for number, begin, finish, spent, trip, pieces in zip(*(column.tolist() for column in columns), strict=True):
        direction = observed.direction(*divmod(number, 2))
        if direction is not None and trip > 0:
            hole = number in unseen and any(begin <= time <= finish + trip for time in unseen[number])
            # A record that is missing moves an end of a stretch by up to a round trip.
            hole = hole or (spent <= 2 * trip and observed.incomplete(direction))
            yield Limited(direction, begin, finish, spent, trip, pieces, hole)


def _unseen(observed: Observations) -> dict[int, list[int]]:
    """When each end was sent acknowledgements of data that the capture beside it lacks."""
    marked = rows_with(observed.column("marks"), MARKS["acks_unseen"])
    connection, sender, time = (observed.column(name)[marked] for name in ("connection", "sender", "time_ns"))
    found: dict[int, list[int]] = {}
    for end, when in zip((2 * connection.astype(np.int64) + 1 - sender).tolist(), time.tolist(), strict=True):
        found.setdefault(end, []).append(when)
    return found


class Doubt(NamedTuple):
    """Why a finding is not confirmed."""

    verdict: str
    because: str


def finding(kind: str, layer: str, one: Limited, what: str, doubt: Doubt | None = None, **evidence: float) -> Finding:
    """A finding of a kind; `what` says what was seen. Undecided where the capture lost records there."""
    seconds = one.cost_ns / 1e9
    times = f"in {one.pieces} stretches " if one.pieces > 1 else ""
    because = f"{what}: {times}it cost {seconds:.2f} s ({one.cost_ns / one.rtt_ns:.1f} round trips)"
    doubt = _RECORDS_LOST if one.hole else doubt
    if doubt:
        because = f"{doubt.because}; it looks as if {because}"
    connection, sender = one.direction.connection, ("client", "server")[one.direction.sender]
    return Finding(
        kind, layer, connection, one.start_ns, one.stop_ns, doubt.verdict if doubt else "confirmed", because,
        {"limited_s": seconds, "count": one.pieces, "round_trip_ms": one.rtt_ns / MS, "sender": sender, **evidence},
    )  # fmt: skip


_RECORDS_LOST = Doubt("undecided", "undecided, because the capture lost records here")
