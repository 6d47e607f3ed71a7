"""A file transfer by ns-2's one-way Reno over a wired hop and a radio link with a link protocol, in plain Python.

Written from descriptions, with nothing of the product: events in a list, hops that are FIFOs, a TCP sender, its sink,
and an end of a link protocol (`plain_sr`, `plain_rlc`) at either side of the radio. Times are ns. Frames that the radio
loses are listed by their number on the air, 0 the first; media packets by the time at which their server sends them.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

MS = 1_000_000
S = 1000 * MS
TICK = 10 * MS
ROOM = 50
RADIO, LINK_TIMER, REST = range(3)
DATA, ACK, TALK = "data", "ack", "talk"
"""What packets are; a packet is that and its number, of media the time at which it was sent."""


class Clock:
    """What happens next; of what happens at once the lower rank comes first, else what was planned first.

    Ranks: what the radio brings, the link's timers, the rest; so a frame is not sent again at the very instant at which
    its ACK comes, and what is sent again goes before new data.
    """

    def __init__(self) -> None:
        self.now, self._made = 0, 0
        self._events: list[tuple[int, int, int, Callable[[], None]]] = []

    def at(self, time: int, what: Callable[[], None], rank: int = REST) -> None:
        """Do this then."""
        self._made += 1
        heapq.heappush(self._events, (time, rank, self._made, what))

    def run(self, done: Callable[[], bool]) -> None:
        """Go on until it is done."""
        while not done():
            self.now, _, _, what = heapq.heappop(self._events)
            what()


class Timer:
    """A timer that can be set anew and stopped."""

    def __init__(self, clock: Clock, expired: Callable[[], None], rank: int = LINK_TIMER) -> None:
        self._clock, self._expired, self._rank = clock, expired, rank
        self.at: int | None = None
        self._turn = 0

    def set(self, at: int) -> None:
        """Expire then, and not as set before."""
        self.at, self._turn = at, self._turn + 1
        turn = self._turn
        self._clock.at(at, lambda: self._expire(turn), self._rank)

    def stop(self) -> None:
        """Do not expire."""
        self.at, self._turn = None, self._turn + 1

    def _expire(self, turn: int) -> None:
        if turn == self._turn:
            self.at = None
            self._expired()


class Hop:
    """A FIFO with room for 50 beside the one on the air; what is lost has had its air time."""

    def __init__(self, clock: Clock, rate: int, delay: int, rank: int = REST, lost: Iterable[int] = ()) -> None:
        self._clock, self._rate, self._delay, self._rank, self._lost = clock, rate, delay, rank, frozenset(lost)
        self._waiting: deque[tuple[int, Any]] = deque()
        self._busy = False
        self.sent = self.drops = 0
        self.deliver: Callable[[Any], None]

    def put(self, octets: int, what: Any) -> None:
        """Send this, now or when its turn comes."""
        if self._busy and len(self._waiting) == ROOM:
            self.drops += 1
            return
        self._waiting.append((octets, what))
        if not self._busy:
            self._next()

    def _next(self) -> None:
        self._busy = bool(self._waiting)
        if not self._busy:
            return
        octets, what = self._waiting.popleft()
        ends = self._clock.now + 8 * octets * S // self._rate
        if self.sent not in self._lost:
            self._clock.at(ends + self._delay, lambda: self.deliver(what), self._rank)
        self.sent += 1
        self._clock.at(ends, self._next)


class Reno:
    """ns-2's one-way sender: packet 0 is the SYN, 1 to `last` are the file."""

    def __init__(self, clock: Clock, last: int, send: Callable[[int], None], window: int = 20) -> None:
        self._clock, self._last, self._send, self._window = clock, last, send, window
        self._timer = Timer(clock, self._timeout, REST)
        self._next, self._una, self._highest = 0, 0, -1
        self._cwnd, self._ssthresh, self._dupacks, self._inflated = 1.0, window, 0, 0
        self._recover, self._fast_last, self._syn_timeouts = 0, False, 0
        self._timed: int | None = None
        self._timed_at = 0
        self._srtt = self._rttvar = 0
        self._rtx_ticks, self._backoff = 300, 1
        self.sent = self.again = self.timeouts = 0
        self.ended: int | None = None

    def start(self) -> None:
        """Send the SYN."""
        self._output(0)
        self._next = 1

    def _output(self, packet: int) -> None:
        self.sent += 1
        self.again += packet <= self._highest
        if packet > self._highest:
            self._highest = packet
            if self._timed is None:
                self._timed, self._timed_at = packet, self._clock.now
        if self._timer.at is None:
            self._set_timer()
        self._send(packet)

    def _set_timer(self) -> None:
        rto = min(max(self._rtx_ticks * TICK, S) * self._backoff, 60 * S)
        self._timer.set(self._clock.now + max(rto, 2 * TICK))

    def _send_much(self, window: int) -> None:
        while self._next <= min(self._last, self._una - 1 + window):
            packet, self._next = self._next, self._next + 1
            self._output(packet)

    def _may_send(self) -> int:
        return min(int(self._cwnd) + self._inflated, self._window)

    def acknowledged(self, packet: int) -> None:
        """The sink has everything up to this packet."""
        if packet >= self._una:
            self._new(packet)
        elif packet == self._una - 1:
            self._duplicate()

    def _new(self, packet: int) -> None:
        self._inflated, self._dupacks, self._fast_last = 0, 0, False
        first = self._una == 0
        self._una = packet + 1
        self._next = max(self._next, self._una)
        if self._timed is not None and packet >= self._timed:
            self._sample(self._clock.now // TICK - self._timed_at // TICK)
            self._timed, self._backoff = None, 1
        if first:
            self._cwnd = 1.0 if self._syn_timeouts else 2.0
        else:
            self._cwnd += 1 if self._cwnd < self._ssthresh else 1 / self._cwnd
        if self._highest >= self._una or self._next > self._una:
            self._set_timer()
        else:
            self._timer.stop()
        if packet == self._last:
            self.ended = self._clock.now
        self._send_much(self._may_send())

    def _duplicate(self) -> None:
        if self._highest < self._una:
            return
        self._dupacks += 1
        if self._dupacks < 3:
            if self._next <= min(self._last, self._una - 1 + min(self._window, int(self._cwnd) + self._dupacks)):
                packet, self._next = self._next, self._next + 1
                self._output(packet)
            return
        if self._dupacks == 3:
            if self._una - 1 > self._recover or self._fast_last or self._una == 1:
                self._recover, self._fast_last, self._inflated = self._highest, True, 0
                half = self._half()
                self._cwnd, self._ssthresh = half, max(2, int(half))
                self._timed, self._inflated = None, 3
                self._set_timer()
                self._output(self._una)
        elif self._fast_last:
            self._inflated += 1
        self._send_much(self._may_send())

    def _half(self) -> float:
        return min(self._cwnd + self._inflated, self._window) / 2

    def _timeout(self) -> None:
        self.timeouts += 1
        self._syn_timeouts += self._una == 0
        self._inflated = self._dupacks = 0
        half = self._half()
        self._ssthresh, self._cwnd = max(2, int(half)), 1.0
        self._recover, self._fast_last = self._highest, False
        self._timed = None
        if self._backoff * max(self._rtx_ticks * TICK, S) < 60 * S or self._backoff < 64:
            self._backoff *= 2
        if self._backoff > 8:
            self._rttvar += self._srtt >> 3
            self._srtt = 0
        self._next = self._una
        self._send_much(self._may_send())

    def _sample(self, ticks: int) -> None:
        ticks = max(ticks, 1)
        if not self._srtt:
            self._srtt, self._rttvar = 8 * ticks, 2 * ticks
        else:
            off = ticks - (self._srtt >> 3)
            self._srtt = max(self._srtt + off, 1)
            self._rttvar = max(self._rttvar + abs(off) - (self._rttvar >> 2), 1)
        self._rtx_ticks = (8 * self._rttvar + self._srtt) >> 3


class Sink:
    """ns-2's sink: an acknowledgement of all that came in order for each packet."""

    def __init__(self, send: Callable[[int], None]) -> None:
        self._send, self._next, self._early = send, 0, set[int]()

    def take(self, packet: int) -> None:
        """A packet came."""
        self._early.add(packet)
        while self._next in self._early:
            self._early.remove(self._next)
            self._next += 1
        self._send(self._next - 1)


class End(Protocol):
    """One end of a link protocol."""

    timeouts: int
    again: int

    def carry(self, octets: int, packet: Any) -> None:
        """A packet from above."""

    def take(self, frame: Any) -> None:
        """A frame that came."""


@dataclass
class Found:
    """What a transfer came to."""

    ended: int
    sent: int
    """Packets that TCP sent, those sent again among them."""
    again: int
    timeouts: int
    ends: tuple[End, End]
    """Of the link, the one that sends the file first."""
    frames: tuple[int, int]
    """Put on the air, down and up."""
    drops: int
    media: list[int]
    """How long each media packet that came was under way."""


def transfer(
    packets: int, end: Callable[[Clock, Hop, Callable[[Any], None]], End], *, down: Iterable[int] = (),
    up: Iterable[int] = (), media: Iterable[int] = (), wired: tuple[int, int] = (10_000_000, MS), window: int = 20,
) -> Found:  # fmt: skip
    """Send a file; frames of these numbers are lost, media packets are sent at these times."""
    clock = Clock()
    to_access, to_server = Hop(clock, *wired), Hop(clock, *wired)
    airs = [Hop(clock, 64_000, 50 * MS, RADIO, lost) for lost in (down, up)]
    sender = Reno(clock, packets, lambda number: to_access.put(250 if number else 40, (DATA, number)), window)
    sink = Sink(lambda number: far.carry(40, (ACK, number)))
    near = end(clock, airs[0], lambda packet: to_server.put(40, packet))
    far = end(clock, airs[1], lambda packet: sink.take(packet[1]))
    delays: list[int] = []

    def arrive(packet: tuple[str, int]) -> None:
        if packet[0] == TALK:
            airs[0].put(250, packet)
        else:
            near.carry(250 if packet[1] else 40, packet)

    def land(what: Any) -> None:
        if isinstance(what, tuple):
            delays.append(clock.now - what[1])
        else:
            far.take(what)

    to_access.deliver, airs[0].deliver, airs[1].deliver = arrive, land, near.take
    to_server.deliver = lambda packet: sender.acknowledged(packet[1])
    for time in media:
        clock.at(time, lambda time=time: to_access.put(250, (TALK, time)))  # type: ignore[misc]
    clock.at(0, sender.start)
    clock.run(lambda: sender.ended is not None)
    return Found(
        clock.now, sender.sent, sender.again, sender.timeouts, (near, far), (airs[0].sent, airs[1].sent),
        airs[0].drops + airs[1].drops, delays,
    )  # fmt: skip
