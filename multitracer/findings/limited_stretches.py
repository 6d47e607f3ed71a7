"""Stretches of time in which one cause limited one end, put together where they follow one another closely."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

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
    found = observed.limits.stretches
    mine = np.flatnonzero(found.cause == LIMITS.index(cause))
    end, start, stop = found.end[mine], found.start_ns[mine], found.stop_ns[mine]
    for group in np.split(np.arange(len(mine)), np.flatnonzero(np.diff(end)) + 1):
        if len(group):
            direction = observed.direction(*divmod(int(end[group[0]]), 2))
            if direction is not None and direction.least_rtt_ns > 0:
                gap_ns = group_rtts * direction.least_rtt_ns
                yield from _grouped(observed, direction, start[group], stop[group], gap_ns)


def _grouped(observed: Observations, direction: Direction, start: Any, stop: Any, gap_ns: float) -> Iterator[Limited]:
    unseen, rtt = _unseen(observed, direction), direction.least_rtt_ns
    for part in np.split(np.arange(len(start)), np.flatnonzero(start[1:] - stop[:-1] > gap_ns) + 1):
        begin, end = int(start[part[0]]), int(stop[part[-1]])
        hole = bool(((unseen >= begin) & (unseen <= end + rtt)).any())
        yield Limited(direction, begin, end, int((stop[part] - start[part]).sum()), rtt, len(part), hole)


def _unseen(observed: Observations, direction: Direction) -> Any:
    """When an end was sent acknowledgements of data that the capture beside it lacks."""
    marked = rows_with(observed.column("marks"), MARKS["acks_unseen"])
    if not len(marked):
        return marked
    mine = (observed.column("connection")[marked] == direction.connection) & (
        observed.column("sender")[marked] != direction.sender
    )
    return observed.column("time_ns")[marked[mine]]


def finding(observed: Observations, kind: str, layer: str, one: Limited, what: str) -> Finding:
    """A finding of a kind; `what` says what was seen. Undecided where the capture lost records there."""
    seconds = one.cost_ns / (1000 * MS)
    times = f"in {one.pieces} stretches " if one.pieces > 1 else ""
    because = f"{what}: {times}it cost {seconds:.2f} s ({one.cost_ns / one.rtt_ns:.0f} round trips)"
    if one.hole:
        because = f"undecided, because the capture lost records here; it looks as if {because}"
    name = observed.connections[("client", "server")[one.direction.sender]].iat[one.direction.connection]
    evidence = {"limited_s": seconds, "count": one.pieces, "round_trip_ms": one.rtt_ns / MS, "sender": str(name)}
    return Finding(
        kind, layer, one.direction.connection, one.start_ns, one.stop_ns, "undecided" if one.hole else "confirmed",
        because, evidence,
    )  # fmt: skip
