"""Scripts of a sender that sends anything again at any time, over a path that loses and holds packets in order.

The receiver acknowledges as RFC 5681 has it, with SACK (RFC 2018) and DSACK (RFC 2883) or without.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from sending import Block, Segment, ack, again, data, syn_ack

PACKET = 1_460
WAY_MS, DELAYED_MS = 50.0, 40.0
MOST_BLOCKS = 3
"""Beside timestamps."""


@dataclass
class Receiver:
    """What came, by number of the packet, and what it says."""

    sack: bool
    dsack: bool
    delays: bool
    have: set[int] = field(default_factory=lambda: {0})
    recent: list[int] = field(default_factory=list)
    """Packets above a hole, the latest first."""
    due_ms: float | None = None
    """When the acknowledgement that is held back is sent."""

    def until(self, ms: float) -> list[tuple[float, Segment]]:
        """What it sends by then of itself."""
        if self.due_ms is None or self.due_ms >= ms:
            return []
        due, self.due_ms = self.due_ms, None
        return [(due, self.said())]

    def take(self, ms: float, packet: int) -> list[tuple[float, Segment]]:
        """A packet comes; what is sent because of it."""
        edge, twice = self.edge, packet in self.have
        filled = any(other > packet for other in self.have)
        self.have.add(packet)
        self.recent = [other for other in (packet, *self.recent) if other > self.edge]
        if self.delays and packet == edge and not filled and self.due_ms is None:
            self.due_ms = ms + DELAYED_MS
            return []
        self.due_ms = None
        return [(ms, self.said(octets(packet, packet + 1) if twice and self.dsack else None))]

    @property
    def edge(self) -> int:
        """The first packet that it lacks."""
        return next(number for number in range(len(self.have) + 1) if number not in self.have)

    def said(self, dsack: Block | None = None) -> Segment:
        """The acknowledgement that it would send now; with a block of a duplicate there is room for one less."""
        blocks: list[Block] = []
        for packet in self.recent if self.sack else ():
            block = octets(self._end(packet, -1), self._end(packet, 1) + 1)
            if block not in blocks:
                blocks.append(block)
        return ack(0, octets(0, self.edge)[1], *blocks[: MOST_BLOCKS - (dsack is not None)], dsack=dsack)

    def _end(self, packet: int, step: int) -> int:
        while packet + step in self.have:
            packet += step
        return packet


def octets(first: int, stop: int) -> Block:
    """The sequence numbers of packets first..stop-1."""
    return 1 + PACKET * first, 1 + PACKET * stop


def script_of(random: Random) -> tuple[list[Segment], list[bool]]:
    """A script as its sender's capture shows it, and of each resend whether all of it came by earlier copies."""
    sack = random.random() < 0.5
    receiver = Receiver(sack, sack and random.random() < 0.5, delays=random.random() < 0.5)
    sent, needless, arrivals = sent_over(random, longest=random.choice([1, 3]))
    answers = [answer for ms, packet in arrivals for answer in (*receiver.until(ms), *receiver.take(ms, packet))]
    answers += receiver.until(float("inf"))
    heard, free, lost = [], 0.0, random.choice([0.0, 0.3])
    for ms, answer in answers:
        if random.random() >= lost:
            free = max(free + 0.01, ms + WAY_MS + 0.005)
            heard.append(answer._replace(ms=free))
    first_trip = [syn_ack(-1, sack=sack), data(0, *octets(0, 1)), ack(100, octets(0, 1)[1])]
    return first_trip + sorted([*sent, *heard], key=lambda segment: segment.ms), needless


def sent_over(random: Random, longest: int) -> tuple[list[Segment], list[bool], list[tuple[float, int]]]:
    """What is sent, of each resend whether it is needless, and when which packet arrives.

    Records are of up to `longest` packets. A resend is of any packets, or of those that follow the one before.
    """
    sent, needless, arrivals, came = [], [], [], {0}
    now, new, free, again_at, flight = 200.0, 1, 0.0, 1, random.randint(2, 12)
    for number in range(random.randint(4, 25)):
        now += random.choice([1, 1, 5] if number < flight else [1, 1, 10, 60, 150, 300])
        size = random.randint(1, longest)
        start, stop = new, new + size
        if number >= flight and random.random() < 0.8:
            again_at = random.randint(0, new - 1) if random.random() < 0.3 else again_at
            start, stop = again_at, min(new, again_at + size)
            again_at = min(stop, new - 1) if random.random() < 0.7 else start
            needless.append(came.issuperset(range(start, stop)))
        sent.append((data if stop > new else again)(now, *octets(start, stop)))
        new, lost, held = max(new, stop), random.choice([0.1, 0.5, 0.8]), random.choice([0, 0, 0, 100, 300, 600])
        for packet in range(start, stop):
            if random.random() >= lost:
                free = max(free + 0.01, now + WAY_MS + held)
                arrivals.append((free, packet))
                came.add(packet)
    return sent, needless, arrivals
