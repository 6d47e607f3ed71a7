"""SR and ASR between two ends, in plain Python, with nothing of the product; see `plain_transfer`.

Multireject: a missing frame is reported by a NACK of its own, and again when a data frame comes that was sent after its
retransmission, as the number of a NACK tells that data frames echo.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from plain_transfer import MS, Clock, Hop, Timer

TICK = 10 * MS
DATA, ACK, NACK = "data", "ack", "nack"


@dataclass
class Fixed:
    """SR's timeout."""

    timeout: int

    def learn(self, sent: int, now: int) -> None:
        """Nothing."""

    def expiry(self, now: int, _pending: Iterable[int]) -> int:
        """When a timer set now runs out."""
        return now + self.timeout


@dataclass
class Adaptive:
    """ASR's timeout, policy alpha + beta, in ticks of 10 ms; srtt is kept times 8, its variation times 4."""

    alpha: int
    beta: int
    srtt: int = 8 * 110
    var: int = 0

    def learn(self, sent: int, now: int) -> None:
        """A frame last sent then is acknowledged now."""
        off = (now - sent) // TICK - (self.srtt >> 3)
        self.srtt += off
        self.var += abs(off) - (self.var >> 2)

    def expiry(self, now: int, pending: Iterable[int]) -> int:
        """As the estimate says, but before no timer that runs."""
        ticks = max(1, self.alpha * (self.srtt >> 3) + self.beta * (self.var >> 2))
        return max([now + ticks * TICK, *pending])


@dataclass
class Frame:
    """What link entities exchange: a data frame, or an ACK or NACK by itself."""

    kind: str
    number: int = -1
    packet: Any = None
    acknowledges: int | None = None
    """All numbers below it came."""
    identity: int = 0
    """A NACK's running number; in a data frame the highest that its sender has answered."""


@dataclass
class Link:
    """SR's sender and receiver at one end: multireject, ACKs delayed by 0.5 s, NACKs at once."""

    clock: Clock
    air: Hop
    timeout: Fixed | Adaptive
    deliver: Callable[[Any], None]
    header: int = 6
    window: int = 127
    delay: int = 500 * MS
    timeouts: int = 0
    again: int = 0
    nacks: int = 0
    _above: deque[tuple[int, Any]] = field(default_factory=deque)
    _next: int = 0
    _oldest: int = 0
    _kept: dict[int, tuple[int, Any]] = field(default_factory=dict)
    _sent_at: dict[int, int] = field(default_factory=dict)
    _timers: dict[int, Timer] = field(default_factory=dict)
    _answered: int = 0
    _expected: int = 0
    _seen: int = 0
    _early: dict[int, Any] = field(default_factory=dict)
    _asked: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._due = Timer(self.clock, self._acknowledge)

    def carry(self, octets: int, packet: Any) -> None:
        """A packet from above."""
        self._above.append((octets, packet))
        self.clock.at(self.clock.now, self._fill)  # after what is sent again at this instant

    def _fill(self) -> None:
        while self._above and self._next < self._oldest + self.window:
            number, self._next = self._next, self._next + 1
            self._kept[number] = self._above.popleft()
            self._timers[number] = Timer(self.clock, lambda own=number: self._run_out(own))  # type: ignore[misc]
            self._hand_down(number)

    def _hand_down(self, number: int) -> None:
        octets, packet = self._kept[number]
        acknowledges = self._expected if self._due.at is not None else None
        self._due.stop()
        self._sent_at[number] = self.clock.now
        pending = [timer.at for other, timer in self._timers.items() if other != number and timer.at is not None]
        self._timers[number].set(self.timeout.expiry(self.clock.now, pending))
        self.air.put(octets + self.header, Frame(DATA, number, packet, acknowledges, self._answered))

    def _run_out(self, number: int) -> None:
        self.timeouts += 1
        self.again += 1
        self._hand_down(number)

    def _acknowledge(self) -> None:
        self.air.put(self.header, Frame(ACK, acknowledges=self._expected))

    def take(self, frame: Frame) -> None:
        """A frame came."""
        if frame.acknowledges is not None:
            self._freed(frame.acknowledges)
        if frame.kind == NACK:
            self._answered = max(self._answered, frame.identity)
            if frame.number in self._kept:
                self.again += 1
                self._hand_down(frame.number)
        elif frame.kind == DATA:
            self._data(frame)

    def _freed(self, below: int) -> None:
        if below <= self._oldest:
            return
        self.timeout.learn(self._sent_at[below - 1], self.clock.now)
        for number in range(self._oldest, below):
            self._timers.pop(number).stop()
            del self._kept[number], self._sent_at[number]
        self._oldest = below
        self._fill()

    def _data(self, frame: Frame) -> None:
        if frame.number < self._expected:
            self._fall_due()
        elif frame.number >= self._expected + self.window:
            return
        else:
            self._early.setdefault(frame.number, frame.packet)
            self._asked.pop(frame.number, None)
        came = []
        while self._expected in self._early:
            came.append(self._early.pop(self._expected))
            self._expected += 1
        if came:
            self._fall_due()
        self._seen = max(self._seen, frame.number + 1)
        missing = [number for number in range(self._expected, self._seen) if number not in self._early]
        for number in sorted(missing, key=lambda number: self._asked.get(number, 0)):
            if frame.identity >= self._asked.get(number, 0):
                self.nacks += 1
                self._asked[number] = self.nacks
                self.air.put(self.header, Frame(NACK, number, identity=self.nacks))
        for packet in came:
            self.deliver(packet)

    def _fall_due(self) -> None:
        if self._due.at is None:
            self._due.set(self.clock.now + self.delay)
