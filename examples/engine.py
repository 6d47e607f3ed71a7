"""Two entities of each protocol against each other: event by event from Python, and as one compiled loop."""

from collections import deque
from random import Random

from multitracer.replay.arq.notes import DELIVERED, ERASED, OFFERED, RECEIVED, SENT
from multitracer.replay.engine.direction import Direction, RandomErasures
from multitracer.replay.engine.driver import Engine, Keep
from multitracer.replay.engine.protocols import PROTOCOLS
from multitracer.replay.engine.source import source

PACKET_BYTES, WINDOW, RATES_BPS, DELAY_NS, NEVER, SIDES = 60, 20, (64_000, 48_000), 50_000_000, 2**62, (0, 1)

PATIENT = {"rlp": {"window": 31, "n2": 1000}, "rlc-am": {"max_dat": 255}}
"""Parameters by which no loss of the air ends in a reset, which loses packets."""


def drawn(side):
    """A direction's uniform numbers: the k-th belongs to the k-th frame on the air."""
    generator = Random(side)
    return lambda count: [generator.random() for _ in range(count)]


def compiled(name, settings, total, offers, loss, until):
    """Events of the compiled loop: windows of packets both ways, and packets offered at times; one queue a side."""
    known = PROTOCOLS[name]
    channels = [RandomErasures(drawn(k), loss) for k in SIDES]
    ways = [Direction(DELAY_NS, rate_bps=RATES_BPS[k], eager=True, channel=channels[k]) for k in SIDES]
    offered = source([(time, side, PACKET_BYTES, 2) for time, side in offers],
                     [(side, PACKET_BYTES, 1, WINDOW, total) for side in SIDES])  # fmt: skip
    engine = Engine(known.protocol, [known.parameters(**settings)] * 2, *ways, offered, Keep(log=1 << 20)).run(until)
    rows = engine.log.rows[["time_ns", "side", "event", "octets"]].tolist()
    return [row for row in rows if row[2] in (OFFERED, SENT, ERASED, RECEIVED, DELIVERED)]


class ByHand:
    """The same link from Python, in real octets: whatever comes next is done, for side 0 before side 1."""

    def __init__(self, name, settings, total, offers, loss):
        known = PROTOCOLS[name]
        self.ends = [known.octets(known.parameters(**settings)) for _ in SIDES]
        self.now, self.loss, self.events, self.offers, self.left = 0, loss, [], deque(offers), [total, total]
        self.numbers, self.due, self.free, self.under_way = [drawn(0), drawn(1)], [0, 0], [0, 0], [0, 0]
        self.queue, self.air, self.given, self.got = ([kind(), kind()] for kind in (deque, deque, bytearray, bytearray))

    def run(self, until):
        """Let everything happen up to a time."""
        while True:
            is_open = [self.left[k] > 0 and self.under_way[k] < WINDOW for k in SIDES]
            offer = self.now if any(is_open) else self.offers[0][0] if self.offers else NEVER
            landing = [self.air[1 - k][0][0] if self.air[1 - k] else NEVER for k in SIDES]
            timers = [NEVER if (at := end.next_timer()) is None else at for end in self.ends]
            sending = [min(self.due[k], self.free[k] if self.queue[k] else NEVER) for k in SIDES]
            self.now = min(offer, *landing, *timers, *sending)
            if self.now > until:
                return self
            steps = ([offer] * 2, self.offer), (landing, self.land), (timers, self.wake), (sending, self.hand_down)
            times, step = next((times, step) for times, step in steps if self.now in times)
            for side in SIDES:
                if times[side] == self.now:
                    step(side)

    def note(self, side, event, octets):
        """Keep an event; an offer or a frame received may give the side something to send."""
        self.events.append((self.now, side, event, octets))
        self.due[side] = self.now if event in (OFFERED, RECEIVED) else self.due[side]

    def offer(self, side):
        """Offer what is due, and what the side's window has room for."""
        while side == 0 and self.offers and self.offers[0][0] <= self.now:
            self.give(self.offers.popleft()[1], 2)
        while self.left[side] > 0 and self.under_way[side] < WINDOW:
            self.left[side] -= 1
            self.under_way[side] += 1
            self.give(side, 1)

    def give(self, side, flow):
        """Offer a packet, which begins with its flow."""
        self.given[side] += bytes([flow]) + Random(len(self.given[side])).randbytes(PACKET_BYTES - 1)
        self.ends[side].offer(bytes(self.given[side][-PACKET_BYTES:]), self.now)
        self.note(side, OFFERED, PACKET_BYTES)

    def land(self, side):
        """Let a frame arrive, if it does; whole packets come out."""
        _, frame, lost = self.air[1 - side].popleft()
        self.note(side, ERASED if lost else RECEIVED, len(frame))
        if not lost:
            self.ends[side].receive(frame, self.now)
        for piece in self.ends[side].delivered():
            self.got[side] += piece.octets
            count = len(self.got[side])
            for packet in range((count - len(piece.octets)) // PACKET_BYTES, count // PACKET_BYTES):
                self.note(side, DELIVERED, PACKET_BYTES)
                self.under_way[1 - side] -= self.got[side][packet * PACKET_BYTES] == 1

    def wake(self, side):
        """Let timers take effect."""
        self.ends[side].expire(self.now)
        self.due[side] = self.now

    def hand_down(self, side):
        """Make frames until there are none; they wait in the queue, and go when the sender is free."""
        self.due[side], made = NEVER, b""
        while made is not None:
            if self.free[side] <= self.now and self.queue[side]:
                frame = self.queue[side].popleft()
                self.note(side, SENT, len(frame))
                self.free[side] = self.now - (-len(frame) * 8_000_000_000 // RATES_BPS[side])
                self.air[side].append((self.free[side] + DELAY_NS, frame, self.numbers[side](1)[0] < self.loss))
            made = self.ends[side].next_frame(self.now)
            self.queue[side].extend([made] if made is not None else [])


if __name__ == "__main__":
    offers = sorted((Random(k).randrange(10**10), k % 2) for k in range(40))
    for name in PROTOCOLS:
        settings = PATIENT.get(name, {})
        for loss in (0.05, 0.1):
            hand = ByHand(name, settings, 300, offers, loss).run(100 * 10**9)
            same = compiled(name, settings, 300, offers, loss, 100 * 10**9) == hand.events
            whole = all(hand.got[1 - side] == hand.given[side] for side in SIDES)
            print(f"{name:>6}, {loss:4.0%} lost: {len(hand.events)} events, {'equal' if same else 'NOT equal'}, "
                  f"{'all' if whole else 'not all'} octets delivered")  # fmt: skip
