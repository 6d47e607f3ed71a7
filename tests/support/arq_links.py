"""Links of the SR family for tests: short scenes with a readable log, and two sides in real octets."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from multitracer.replay.arq.sr import link
from multitracer.replay.arq.sr.frames import HAS_NR, ID, KIND, KINDS, NR, NS, OCTETS, SDU
from multitracer.replay.arq.sr.parameters import MS
from multitracer.replay.engine import opportunities
from multitracer.replay.engine.opportunities import EVENT, FRAME, SIDE, TIME_NS, source

FRAME_MS, DELAY_MS = 10, 15


def scene(
    parameters: Any,
    *,
    offers: tuple[list[int], list[int]],
    lost: tuple[set[int], set[int]] = (set(), set()),
    opportunities: int = 40,
) -> link.Link:
    """A link with opportunities each 10 ms and 15 ms of delay, run to its end.

    `offers` are the times (ms) at which A and B are offered 100 octets, `lost` their erased opportunities.
    """
    erased = [np.isin(np.arange(opportunities), sorted(each)) for each in lost]
    sources = [source([at * MS for at in times], [100] * len(times)) for times in offers]
    driven = link.link(
        parameters, FRAME_MS * MS, DELAY_MS * MS, (erased[0], erased[1]), (sources[0], sources[1]), 10_000
    )
    link.run(driven, 0, opportunities)
    return driven


def told(driven: link.Link, but: tuple[str, ...] = ("RECEIVED",)) -> list[str]:
    """The log as lines like `10 A SENT DATA 1 echo 0`, times in ms, without some events."""
    lines = [
        (opportunities.EVENTS[row[EVENT]], f"{row[TIME_NS] / MS:g} {'AB'[row[SIDE]]}", row[FRAME:])
        for row in link.logged(driven)
    ]
    return [f"{when} {event}{_said(event, frame)}" for event, when, frame in lines if event not in but]


def _said(event: str, frame: Any) -> str:
    if event == "ACK_TIMEOUT":
        return ""
    if event == "DELIVERED":
        return f" {frame[SDU]}"
    if event == "TIMEOUT":
        return f" {frame[NS]}"
    nr = f" nr {frame[NR]}" if frame[HAS_NR] else ""
    if KINDS[frame[KIND]] == "ACK":
        return f" ACK{nr}"
    return f" {KINDS[frame[KIND]]} {frame[NS]}{nr} {'id' if KINDS[frame[KIND]] == 'NACK' else 'echo'} {frame[ID]}"


def delivered(driven: link.Link) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """(SDU, octets) of all that A and that B handed up, in order."""
    rows = link.logged(driven)
    found = [rows[(rows[:, EVENT] == opportunities.DELIVERED) & (rows[:, SIDE] == side)] for side in (0, 1)]
    pairs = [[(int(row[FRAME + SDU]), int(row[FRAME + OCTETS])) for row in each] for each in found]
    return pairs[0], pairs[1]


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
