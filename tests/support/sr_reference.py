"""Selective repeat and its adaptive timeout in plain Python, by their description: to compare the protocol with.

Frames have numbers without end here, and every search is a search. Times are in ns; both ends are run against each
other over a link that is serialised by octets, as the engine does it: at one instant what is offered comes first, then
what arrives, timers, and what is sent; A before B.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field, replace
from typing import Any

from multitracer.replay.arq.sr.asr import AsrParameters
from multitracer.replay.arq.sr.parameters import MS, SrParameters, WindowParameters

A, B = 0, 1
Event = tuple[Any, ...]
"""Time, side, what happened, and of what."""


@dataclass
class Frame:
    """What is on the air; `nr` is None without an ACK."""

    kind: str
    ns: int = 0
    nr: int | None = None
    id: int = 0
    sdu: int = -1
    octets: int = 0
    size: int = 0

    @property
    def line(self) -> tuple[Any, ...]:
        """The frame with the numbers that are on the air."""
        return self.kind, self.ns % 256, self.nr is not None, (self.nr or 0) % 256, self.id % 256, self.size


class Timeout:
    """A constant timeout (ns)."""

    def __init__(self, p: SrParameters) -> None:
        self.rtxto = p.timeout_ms * MS

    def learn(self, sample: int) -> None:
        """Nothing is learnt."""


class IntegerTimeout:
    """TCP's integer arithmetic in ticks."""

    def __init__(self, p: AsrParameters) -> None:
        self.p, self.srtt8, self.var4 = p, 8 * (p.initial_srtt_ms // p.tick_ms), 0

    def learn(self, sample: int) -> None:
        """A sample of so many ns."""
        ticks = sample // (self.p.tick_ms * MS)
        error = ticks - self.srtt8 // 8
        self.srtt8 += error
        if self.p.var_uses_new_srtt:
            error = ticks - self.srtt8 // 8
        self.var4 += abs(error) - self.var4 // 4

    @property
    def rtxto(self) -> int:
        """The timeout (ns)."""
        ticks = int(self.p.alpha * (self.srtt8 // 8) + self.p.beta * (self.var4 // 4))
        least = max(self.p.tick_ms, self.p.min_timeout_ms) * MS
        timeout = max(ticks * self.p.tick_ms * MS, least)
        return min(timeout, self.p.max_timeout_ms * MS) if self.p.max_timeout_ms else timeout


class FloatTimeout:
    """The equations as they are printed, in floating point."""

    def __init__(self, p: AsrParameters) -> None:
        self.p, self.srtt, self.var = p, float(p.initial_srtt_ms * MS), 0.0

    def learn(self, sample: int) -> None:
        """A sample of so many ns."""
        before = self.srtt
        self.srtt = 0.875 * self.srtt + 0.125 * sample
        about = self.srtt if self.p.var_uses_new_srtt else before
        self.var = 0.75 * self.var + 0.25 * abs(about - sample)

    @property
    def rtxto(self) -> int:
        """The timeout (ns)."""
        timeout = max(self.p.alpha * self.srtt + self.p.beta * self.var, self.p.min_timeout_ms * MS, 1)
        return round(min(timeout, self.p.max_timeout_ms * MS) if self.p.max_timeout_ms else timeout)


def timeout(p: WindowParameters) -> Any:
    """What says how long a frame's timer runs."""
    if isinstance(p, SrParameters):
        return Timeout(p)
    assert isinstance(p, AsrParameters)
    return FloatTimeout(p) if p.arithmetic == "float" else IntegerTimeout(p)


class Side:
    """One end."""

    def __init__(self, p: WindowParameters, clock: Any) -> None:
        self.p, self.clock, self.adaptive = p, clock, isinstance(p, AsrParameters)
        self.queue: deque[tuple[int, int]] = deque()
        self.va = self.vs = self.vr = self.vh = 0
        self.sent: dict[int, dict[str, int]] = {}
        self.timers: dict[int, int] = {}
        self.resends: list[int] = []
        self.here: dict[int, Frame] = {}
        self.nacks_due: list[int] = []
        self.nacked: dict[int, tuple[int, int]] = {}
        """Missing frames that were reported: by which NACK, and when; in the order of reporting."""
        self.ids = self.echo = 0
        self.ack_at: int | None = None
        self.ack_due = False
        self.happened: list[tuple[Any, ...]] = []

    def next_frame(self, now: int) -> Frame | None:
        """NACKs, then an ACK that is due, then what is to be sent again, then what is new."""
        if self.nacks_due and not (self.p.nack == "one-outstanding" and self.nacked):
            n = self.nacks_due.pop(0)
            self.ids += 1
            self.nacked[n] = self.ids, now
            return Frame("NACK", n, None, self.ids, size=self.p.control_bytes)
        fresh = bool(self.queue) and self.vs - self.va < self.p.window
        if self.ack_due and not (self.p.piggyback == "late" and (self.resends or fresh)):
            return Frame("ACK", 0, self.acked(), size=self.p.control_bytes)
        if self.resends:
            return self.data(self.resends.pop(0), now)
        if not fresh:
            return None
        sdu, octets = self.queue.popleft()
        self.sent[self.vs] = {"sdu": sdu, "octets": octets, "sendings": 0, "answers": 0}
        self.vs += 1
        return self.data(self.vs - 1, now)

    def acked(self) -> int:
        """The number of the next frame expected; with it no ACK is owed any more."""
        self.ack_at, self.ack_due = None, False
        return self.vr

    def data(self, n: int, now: int) -> Frame:
        """Send frame `n`, without its SDU once that was sent as often as it may."""
        row = self.sent[n]
        if row["answers"]:
            self.echo, row["answers"] = row["answers"], 0
        if row["sendings"] == self.p.max_retransmissions + 1 and self.p.max_retransmissions >= 0:
            self.happened.append(("LOST", row["sdu"], row["octets"]))
            row["octets"] = 0
        takes_ack = self.ack_due or (self.ack_at is not None and self.p.piggyback == "due")
        row["sendings"] += 1
        row["sent"] = now
        if self.p.timer_starts == "hand-down":
            self.start_timer(n, now)
        kind = "DATA" if row["octets"] else "SKIP"
        size = self.p.header_bytes + row["octets"] if row["octets"] else self.p.control_bytes
        return Frame(kind, n, self.acked() if takes_ack else None, self.echo, row["sdu"], row["octets"], size)

    def left(self, frame: Frame, end: int) -> None:
        """A frame has been sent at `end`; one that was asked for meanwhile will be sent again at once."""
        if self.p.timer_starts == "sent" and frame.kind in ("DATA", "SKIP") and self.va <= frame.ns < self.vs:
            self.sent[frame.ns]["sent"] = end
            if frame.ns not in self.resends:
                self.start_timer(frame.ns, end)

    def start_timer(self, n: int, now: int) -> None:
        """No timer expires before one that was set earlier."""
        self.timers.pop(n, None)
        self.timers[n] = max([now + self.clock.rtxto, *self.timers.values()])

    def receive(self, frame: Frame, now: int) -> None:
        """Take in a frame that arrived undamaged."""
        if frame.nr is not None:
            self.acknowledge(frame.nr, now)
        if frame.kind == "NACK" and self.va <= frame.ns < self.vs:
            self.sent[frame.ns]["answers"] = frame.id
            self.timers.pop(frame.ns, None)
            self.resends = [n for n in self.resends if n != frame.ns] + [frame.ns]
        elif frame.kind in ("DATA", "SKIP"):
            self.accept(frame, now)
            self.report_again(frame, now)

    def acknowledge(self, nr: int, now: int) -> None:
        """The highest frame acknowledged for the first time gives a sample."""
        if not self.va < nr <= self.vs:
            return
        last = self.sent[nr - 1]
        if self.adaptive and not (self.p.karn and last["sendings"] > 1):  # type: ignore[attr-defined]
            self.clock.learn(now - last["sent"])
        for n in range(self.va, nr):
            del self.sent[n]
            self.timers.pop(n, None)
        self.resends = [n for n in self.resends if n >= nr]
        self.va = nr

    def accept(self, frame: Frame, now: int) -> None:
        """Keep a frame, have the gap before it reported, and hand over what is in sequence."""
        n = frame.ns
        if n < self.vr:
            return self.owe_ack(now)
        if n in self.here:
            return None
        self.here[n] = frame
        self.nacks_due = [m for m in self.nacks_due if m != n] + list(range(self.vh, n))
        self.nacked.pop(n, None)
        self.vh = max(self.vh, n + 1)
        first = self.vr
        while self.vr in self.here:
            came = self.here.pop(self.vr)
            if came.octets:
                self.happened.append(("DELIVERED", came.sdu, came.octets))
            self.vr += 1
        if self.vr > first:
            self.owe_ack(now)
        return None

    def owe_ack(self, now: int) -> None:
        """An ACK falls due to be made, unless one is."""
        if self.ack_at is None and not self.ack_due:
            self.ack_at = now + self.p.ack_delay_ms * MS

    def report_again(self, frame: Frame, now: int) -> None:
        """What is still missing is NACKed again by the rule chosen."""
        rule = self.p.renack if self.p.nack == "multireject" else "none"
        wait = self.p.renack_ms * MS
        for n, (identifier, at) in list(self.nacked.items()):
            if rule == "every" or (rule == "echo" and identifier <= frame.id) or (rule == "rtt" and at <= now - wait):
                del self.nacked[n]
                self.nacks_due.append(n)

    def next_timer(self) -> int | None:
        """When the next timer expires."""
        return min([*self.timers.values(), *([self.ack_at] if self.ack_at is not None else [])], default=None)

    def expire(self, now: int) -> None:
        """Let all timers expire that are due."""
        if self.ack_at is not None and self.ack_at <= now:
            self.ack_at, self.ack_due = None, True
        due = [n for n, at in self.timers.items() if at <= now]  # as they were started: none expires out of that order
        for n in due:
            del self.timers[n]
        self.resends += due


@dataclass
class Air:
    """One direction: what waits below an end, and what is on the air."""

    rate_bps: int
    delay_ns: int
    lost: frozenset[int]
    eager: bool
    limit: int
    control_first: bool
    waiting: list[Frame] = field(default_factory=list)
    flying: list[tuple[int, Frame, bool]] = field(default_factory=list)
    free: int = 0
    sent: int = 0


class Reference:
    """Both ends, and the link; `events` is all that happened, in order."""

    def __init__(self, p: WindowParameters, airs: tuple[Air, Air], offers: list[tuple[int, int, int]]) -> None:
        clocks = timeout(p), timeout(p)
        self.sides, self.airs = (Side(p, clocks[A]), Side(p, clocks[B])), airs
        ordered = sorted(offers, key=lambda offer: offer[:2])
        self.offers = [(at, number, side, octets) for number, (at, side, octets) in enumerate(ordered)]
        heapq.heapify(self.offers)
        self.numbers = [0, 0]
        self.events: list[Event] = []
        self.came: set[tuple[int, int]] = set()

    def share_estimator(self) -> Reference:
        """One estimator for both directions."""
        self.sides[B].clock = self.sides[A].clock
        return self

    def run(self, until: int) -> list[Event]:
        """Let everything happen up to a time."""
        while (now := self.next_time()) is not None and now <= until:
            self.offer(now)
            for side in (A, B):
                self.arrive(side, now)
            for side in (A, B):
                due = self.sides[side].next_timer()
                if due is not None and due <= now:
                    self.sides[side].expire(now)
            for side in (A, B):
                self.send(side, now)
        return self.events

    def next_time(self) -> int | None:
        """When something is to happen next."""
        times = [self.offers[0][0]] if self.offers else []
        for side, air in zip(self.sides, self.airs, strict=True):
            times += [air.flying[0][0]] if air.flying else []
            times += [air.free] if air.waiting else []
            due = side.next_timer()
            times += [] if due is None else [due]
        times += [air.free for air in self.airs if not air.eager and air.free > self.now]
        return min((at for at in times if at >= self.now), default=None)

    @property
    def now(self) -> int:
        """The time of the last event."""
        return self._now

    _now = -1

    def note(self, side: int, what: str, *of: Any) -> None:
        """Write down an event."""
        self.events.append((self._now, side, what, *of))

    def offer(self, now: int) -> None:
        """Take in the SDUs that are due."""
        self._now = now
        while self.offers and self.offers[0][0] <= now:
            _, _, side, octets = heapq.heappop(self.offers)
            self.sides[side].queue.append((self.numbers[side], octets))
            self.numbers[side] += 1

    def arrive(self, side: int, now: int) -> None:
        """Let arrive at a side what the other one sent."""
        air = self.airs[1 - side]
        while air.flying and air.flying[0][0] <= now:
            _, frame, lost = air.flying.pop(0)
            self.note(side, "ERASED" if lost else "RECEIVED", *frame.line)
            if not lost:
                self.sides[side].receive(frame, now)
                self.tell(side)

    def tell(self, side: int) -> None:
        """Note what an end handed over, or gave up of what had not come."""
        for what, *of in self.sides[side].happened:
            if what == "DELIVERED":
                self.came.add((1 - side, of[0]))
            if what == "DELIVERED" or (side, of[0]) not in self.came:
                self.note(side, what, *of)
        self.sides[side].happened.clear()

    def send(self, side: int, now: int) -> None:
        """Make what can be made, and send what can be sent."""
        air, own = self.airs[side], self.sides[side]
        while True:
            if air.waiting and air.free <= now:
                self.put_on_air(side, now)
            elif air.eager or air.free <= now:
                frame = own.next_frame(now)
                self.tell(side)
                if frame is None:
                    return
                self.hand_down(side, frame, now)
            else:
                return

    def hand_down(self, side: int, frame: Frame, now: int) -> None:
        """Let a frame wait, or drop it; a control frame may pass the others."""
        air = self.airs[side]
        if air.limit and len(air.waiting) >= air.limit:
            self.note(side, "DROPPED", frame.size)
            self.sides[side].left(frame, now)
            return
        at = len(air.waiting)
        if air.control_first and frame.kind != "DATA":
            while at and air.waiting[at - 1].kind == "DATA":
                at -= 1
        air.waiting.insert(at, replace(frame))

    def put_on_air(self, side: int, now: int) -> None:
        """Send the frame that waits first."""
        air = self.airs[side]
        frame = air.waiting.pop(0)
        air.free = now - (-frame.size * 8 * 10**9 // air.rate_bps)
        air.flying.append((air.free + air.delay_ns, frame, air.sent in air.lost))
        air.sent += 1
        self.note(side, "SENT", *frame.line)
        self.sides[side].left(frame, air.free)
