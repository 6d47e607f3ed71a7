"""Links of the SR family for tests: short scenes with a readable log, and two sides in real octets."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np

from multitracer.replay.arq import notes
from multitracer.replay.arq.raw.parameters import RawParameters
from multitracer.replay.arq.sr.frames import KINDS
from multitracer.replay.arq.sr.machine import ACK_TIMEOUT, TIMEOUT
from multitracer.replay.arq.sr.parameters import MS
from multitracer.replay.engine.direction import Direction, Erased
from multitracer.replay.engine.driver import Engine, Keep
from multitracer.replay.engine.raw import RAW
from multitracer.replay.engine.source import source
from multitracer.replay.engine.sr import SR

FRAME_MS, DELAY_MS = 10, 15
EVENTS = {
    notes.SENT: "SENT", notes.RECEIVED: "RECEIVED", notes.DELIVERED: "DELIVERED", TIMEOUT: "TIMEOUT",
    ACK_TIMEOUT: "ACK_TIMEOUT",
}  # fmt: skip


def link(
    parameters: Any,
    *,
    offers: tuple[list[int], list[int]] = ([], []),
    saturated: tuple[int, int] = (0, 0),
    lost: tuple[Any, Any] = ((), ()),
) -> Engine:
    """A link at rest with opportunities each 10 ms and 15 ms of delay.

    `offers` are the times (ms) at which A and B are offered 100 octets, `lost` the erasures by opportunity.
    """
    sdus = [(at * MS, side, 100) for side in (0, 1) for at in offers[side]]
    forth, back = (Direction(DELAY_MS * MS, slot_ns=FRAME_MS * MS, channel=Erased(each)) for each in lost)
    protocol = RAW if isinstance(parameters, RawParameters) else SR
    keep = Keep(log=50_000, ledger=64)
    return Engine(protocol, (parameters, parameters), forth, back, source(sdus, saturated=saturated), keep)


def run(driven: Engine, opportunities: int) -> Engine:
    """Run until the first `opportunities` opportunities, and all that happens until the last of them, have passed."""
    return driven.run((opportunities - 1) * FRAME_MS * MS)


def scene(
    parameters: Any,
    *,
    offers: tuple[list[int], list[int]],
    lost: tuple[set[int], set[int]] = (set(), set()),
    opportunities: int = 40,
) -> Engine:
    """A link run to its end; `lost` are the erased opportunities."""
    erased = [np.isin(np.arange(opportunities), sorted(each)) for each in lost]
    return run(link(parameters, offers=offers, lost=(erased[0], erased[1])), opportunities)


def counters(driven: Engine) -> list[dict[str, int]]:
    """What A and B counted."""
    return [driven.protocol.counters(driven.a), driven.protocol.counters(driven.b)]


class Row(NamedTuple):
    """What happened, with the fate of each frame known when it is sent."""

    time_ns: int
    side: int
    event: str
    number: int
    octets: int
    frame: Any


def rows(driven: Engine) -> list[Row]:
    """The log, from the sender's view: a frame that never arrives is ERASED where it was sent."""
    log, found = driven.log, []
    under_way: tuple[deque[int], deque[int]] = (deque(), deque())
    for row, frame in zip(log.rows, log.frames, strict=True):
        event, side = int(row.event), int(row.side)
        if event in (notes.RECEIVED, notes.ERASED):
            sent = under_way[1 - side].popleft()
            if event == notes.ERASED:
                found[sent] = found[sent]._replace(event="ERASED")
        if event in EVENTS:
            if event == notes.SENT:
                under_way[side].append(len(found))
            found.append(Row(int(row.time_ns), side, EVENTS[event], int(row.number), int(row.octets), frame))
    for way, waiting in ((driven.link.forth, under_way[0]), (driven.link.back, under_way[1])):
        for place, sent in enumerate(waiting, start=int(way.state.arrived)):
            if way.air[place & int(way.state.mask)].lost:
                found[sent] = found[sent]._replace(event="ERASED")
    return found


def log_lines(driven: Engine, but: tuple[str, ...] = ("RECEIVED",)) -> list[str]:
    """The log as lines like `10 A SENT DATA 1 echo 0`, times in ms, without some events."""
    return [
        f"{row.time_ns / MS:g} {'AB'[row.side]} {row.event}{_said(row)}" for row in rows(driven) if row.event not in but
    ]


def _said(row: Row) -> str:
    if row.event == "ACK_TIMEOUT":
        return ""
    if row.event in ("DELIVERED", "TIMEOUT"):
        return f" {row.number}"
    frame = row.frame
    nr = f" nr {frame.nr}" if frame.has_nr else ""
    if KINDS[frame.kind] == "ACK":
        return f" ACK{nr}"
    return f" {KINDS[frame.kind]} {frame.ns}{nr} {'id' if KINDS[frame.kind] == 'NACK' else 'echo'} {frame.id}"


def delivered(driven: Engine) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """(SDU, octets) of all that A and that B handed up, in order."""
    found = [row for row in rows(driven) if row.event == "DELIVERED"]
    at_a, at_b = ([(row.number, row.octets) for row in found if row.side == side] for side in (0, 1))
    return at_a, at_b


class Wires:
    """Two sides in real octets; each direction is a FIFO of frames and their arrival times (ms)."""

    def __init__(self, a: Any, b: Any) -> None:
        self.sides = (a, b)
        self.flying: tuple[deque[tuple[int, bytes]], ...] = (deque(), deque())
        self.now = 0

    def send(self, side: int, erased: bool) -> bool:
        """Take a frame from a side; whether there was one."""
        frame = self.sides[side].next_frame(self.now * MS)
        if frame is not None and not erased:
            self.flying[side].append((self.now + DELAY_MS, frame))
        return frame is not None

    def step(self, until: int) -> None:
        """Let arrivals and timers up to a time (ms) happen."""
        for now in range(self.now, until + 1):
            self.now = now
            for side in (0, 1):
                while self.flying[1 - side] and self.flying[1 - side][0][0] <= self.now:
                    self.sides[side].receive(self.flying[1 - side].popleft()[1], self.now * MS)
            for each in self.sides:
                each.expire(self.now * MS)
