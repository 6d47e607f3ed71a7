"""Two entities of each protocol against each other: event by event from Python, and as one compiled loop.

Either side keeps a window of packets full and sends more at arbitrary times; all its frames wait in one queue.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from multitracer.replay.arq.notes import DELIVERED, DROPPED, ERASED, OFFERED, RECEIVED, SENT
from multitracer.replay.arq.raw.octets import Raw
from multitracer.replay.arq.raw.parameters import RawParameters
from multitracer.replay.arq.rlp.entity import Parameters
from multitracer.replay.arq.rlp.octets import Rlp
from multitracer.replay.arq.sr.asr import AsrParameters
from multitracer.replay.arq.sr.octets import Sr
from multitracer.replay.arq.sr.parameters import SrParameters
from multitracer.replay.engine.direction import Direction, Drawn
from multitracer.replay.engine.driver import Engine, Keep
from multitracer.replay.engine.raw import RAW
from multitracer.replay.engine.rlp import RLP
from multitracer.replay.engine.source import source
from multitracer.replay.engine.sr import SR

Offers = Sequence[tuple[int, int]]
"""When (ns) side 0 or 1 is offered one more packet, in order."""
PROTOCOLS: dict[str, tuple[Any, Any, Callable[[Any], Any]]] = {
    "rlp": (RLP, Parameters(window=31, n2=1000), lambda given: Rlp(given, fill=False)),
    "sr": (SR, SrParameters(), Sr), "asr": (SR, AsrParameters(), Sr), "raw": (RAW, RawParameters(), Raw),
}  # fmt: skip
PACKET_BYTES, WINDOW, QUEUE_FRAMES = 60, 20, 200
RATES_BPS, DELAY_NS, NEVER = (64_000, 48_000), 50_000_000, 2**62


def drawn(side: int) -> Callable[[int], list[float]]:
    """A direction's uniform numbers: the k-th belongs to the k-th frame on the air."""
    generator = Random(side)
    return lambda count: [generator.random() for _ in range(count)]


def compiled(name: str, total: int, offers: Offers, loss: float, until: int) -> list[tuple[int, ...]]:
    """Every event of the compiled loop: time, side, which, octets."""
    protocol, parameters, _ = PROTOCOLS[name]
    ways = [Direction(DELAY_NS, rate_bps=rate, eager=True, queue_frames=QUEUE_FRAMES, channel=Drawn(drawn(side), loss))
            for side, rate in enumerate(RATES_BPS)]  # fmt: skip
    windows = [(side, PACKET_BYTES, 1, WINDOW, total) for side in (0, 1)]
    offered = source([(time, side, PACKET_BYTES, 2) for time, side in offers], windows)
    engine = Engine(protocol, (parameters, parameters), ways[0], ways[1], offered, Keep(log=1 << 20)).run(until)
    rows = engine.log.rows[["time_ns", "side", "event", "octets"]].tolist()
    return [row for row in rows if row[2] in (OFFERED, SENT, ERASED, RECEIVED, DELIVERED, DROPPED)]


class ByHand:
    """The same link from Python, entity by entity in real octets."""

    def __init__(self, name: str, total: int, offers: Offers, loss: float) -> None:
        _, parameters, made = PROTOCOLS[name]
        self.sides, self.now, self.loss = (made(parameters), made(parameters)), 0, loss
        self.offers, self.left, self.under_way = deque(offers), [total, total], [0, 0]
        self.queue, self.air = (deque[bytes](), deque[bytes]()), (deque[Any](), deque[Any]())
        self.due, self.free, self.numbers = [0, 0], [0, 0], (drawn(0), drawn(1))
        self.given, self.got = ([bytearray(), bytearray()] for _ in range(2))
        self.events: list[tuple[int, ...]] = []

    def run(self, until: int) -> ByHand:
        """Let what comes next happen: offers, arrivals, timers, sending; side 0 before side 1."""
        both = (0, 1)
        while True:
            is_open = [self.left[s] > 0 and self.under_way[s] < WINDOW for s in both]
            offer = self.now if any(is_open) else self.offers[0][0] if self.offers else NEVER
            landing = [self.air[1 - s][0][0] if self.air[1 - s] else NEVER for s in both]
            timers = [NEVER if (at := side.next_timer()) is None else at for side in self.sides]
            sending = [min(self.due[s], self.free[s] if self.queue[s] else NEVER) for s in both]
            self.now = min(offer, *landing, *timers, *sending)
            if self.now > until:
                return self
            if offer == self.now:
                self.offer()
            else:
                times, act = next((t, a) for t, a in ((landing, self.land), (timers, self.wake), (sending, self.hand_down))
                                  if self.now in t)  # fmt: skip
                for s in both:
                    if times[s] == self.now:
                        act(s)

    def note(self, side: int, event: int, octets: int) -> None:
        """Keep an event."""
        self.events.append((self.now, side, event, octets))

    def offer(self) -> None:
        """Offer what is due, and what the windows have room for."""
        while self.offers and self.offers[0][0] <= self.now:
            self.give(self.offers.popleft()[1], 2)
        for side in (0, 1):
            while self.left[side] > 0 and self.under_way[side] < WINDOW:
                self.left[side] -= 1
                self.under_way[side] += 1
                self.give(side, 1)

    def give(self, side: int, flow: int) -> None:
        """Offer a packet, which begins with its flow."""
        packet = bytes([flow]) + Random(len(self.given[side])).randbytes(PACKET_BYTES - 1)
        self.given[side] += packet
        assert self.sides[side].offer(packet, self.now)
        self.note(side, OFFERED, PACKET_BYTES)
        self.due[side] = self.now

    def land(self, side: int) -> None:
        """Let the frames arrive that do so now; whole packets come out of them."""
        air = self.air[1 - side]
        while air and air[0][0] == self.now:
            _, frame, lost = air.popleft()
            self.note(side, ERASED if lost else RECEIVED, len(frame))
            if lost:
                continue
            self.sides[side].receive(frame, self.now)
            self.due[side] = self.now
            for piece in self.sides[side].delivered():
                self.got[side] += piece.octets
                if len(self.got[side]) % PACKET_BYTES < len(piece.octets) and len(self.got[side]) >= PACKET_BYTES:
                    start = len(self.got[side]) // PACKET_BYTES * PACKET_BYTES - PACKET_BYTES
                    self.note(side, DELIVERED, PACKET_BYTES)
                    self.under_way[1 - side] -= self.got[side][start] == 1

    def wake(self, side: int) -> None:
        """Let timers take effect."""
        self.sides[side].expire(self.now)
        self.due[side] = self.now

    def hand_down(self, side: int) -> None:
        """Make frames until there are none; they wait in the queue, and go when the sender is free."""
        self.due[side] = NEVER
        while True:
            if self.free[side] <= self.now and self.queue[side]:
                frame = self.queue[side].popleft()
                self.free[side] = self.now - (-len(frame) * 8_000_000_000 // RATES_BPS[side])
                lost = self.numbers[side](1)[0] < self.loss
                self.air[side].append((self.free[side] + DELAY_NS, frame, lost))
                self.note(side, SENT, len(frame))
            made = self.sides[side].next_frame(self.now)
            if made is None:
                return
            if len(self.queue[side]) >= QUEUE_FRAMES and self.free[side] > self.now:
                self.note(side, DROPPED, len(made))
            else:
                self.queue[side].append(made)


def main() -> None:
    """Run each protocol both ways, and compare."""
    chance, second = Random(1), 10**9
    offers = sorted((chance.randrange(10 * second), chance.randrange(2)) for _ in range(40))
    for name in PROTOCOLS:
        for loss in (0.05, 0.1):
            link, events = ByHand(name, 300, offers, loss).run(120 * second), compiled(name, 300, offers, loss, 120 * second)
            whole = all(link.got[1 - side] == link.given[side] for side in (0, 1))
            print(f"{name:>8}, {loss:4.0%} lost: {len(events)} events, {'the same' if events == link.events else 'NOT the same'}"
                  f" from Python; {len(link.got[0]) + len(link.got[1])} octets came, {'all' if whole else 'not all'} of them")  # fmt: skip


if __name__ == "__main__":
    main()
