"""A link between two hosts in real time: their packets go through the engine as time goes on.

The engine is driven up to now at every slot, and whenever a frame arrives. A slot that is late, as the system woke this
process late, is done in model time: what the model does is the same, and only its packets are handed over later than it
says. By how much is kept for each slot and for each packet.
"""

from __future__ import annotations

import os
import selectors
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from multitracer.recorder.tracefs import now_on_both_clocks
from multitracer.replay.arq import notes
from multitracer.replay.arq.fields import NEVER, numbers, table
from multitracer.replay.emulate.line import Bare, Line
from multitracer.replay.engine.driver import Engine, Keep, Protocol
from multitracer.replay.engine.source import OFFER, Source, plan, source
from multitracer.replay.record.kept_log import Growing, KeptLog
from multitracer.replay.simulate.simulation import Orders

MOST_PACKETS = 1 << 20
"""That can be offered in a run: their offers take 40 octets each."""
LOG_ROWS = 1 << 16
"""Of what happens between two turns of the loop."""
KEPT_ROWS = 1 << 10
"""The engine's log moves to the kept one after so many rows: moving it at every turn takes a third of the turn, moving
many more at once makes a slot late."""
LEDGER = 1 << 12
SERIALISED_STEP_NS = SCHEDULED_NS = 1_000_000
"""How often a link without slots is looked after, and the slots of schedules."""
POLL_NS = 400_000
"""So long before a slot the process no longer sleeps: sleeping ends some 0.1 to 0.2 ms late."""
REHEARSE_NS, SHORT_SLOT_NS = 1_000_000, 10_000_000
"""So long before a slot the model runs without anything to do, unless slots are shorter than that: its code and data
are then in the processor's caches, and a packet is handed over 0.3 ms after its slot instead of 0.4."""
LARGEST_PACKET = 65_535
PACKETS_A_TURN = 64
_OF_PACKETS = np.isin(np.arange(notes.OWN + 1), (notes.OFFERED, notes.REFUSED, notes.LOST, notes.DELIVERED))
"""Of each event, whether it says what becomes of a packet; the last stands for all of a protocol's own."""

SLOT = numbers("due_ns late_ns batch")
"""When a slot was due, by how much later it was done, and the number of those that were done together."""


@dataclass(slots=True)
class Packet:
    """A packet of IP on its way over the link; times in ns from the link's start, None: never."""

    side: int
    octets: bytes
    given_ns: int
    on_link: bytes
    """Its octets there, with all that frames them."""
    number: int = -1
    """Of the SDU that it is; -1 where the link had no room for it."""
    delivered_ns: int | None = None
    lost_ns: int | None = None
    """When the link delivered it, or gave it up or refused it."""
    damaged: bool = False
    """What came was not the same packet: its compressed header was rebuilt wrong."""
    handed_ns: int | None = None
    """When its host was given it; None where its device had no room, or its header could not be rebuilt."""
    late_ns: int = 0
    """By how much that was later than from a link in time: when it came, or hosts had taken in what was before it."""


@dataclass
class RealTimeLink:
    """A link between the devices of two hosts."""

    protocol: Protocol
    parameters: tuple[Any, Any]
    radio: tuple[Any, Any]
    devices: tuple[int, int]
    line: Line = field(default_factory=Bare)
    """What packets are on the link."""
    orders: tuple[Orders, Orders] = ((), ())
    """When either side resets the link, or stops the other one."""
    held: tuple[int, int] = (0, 0)
    """Octets given at a time of what waits in a host's device until the link wants more; 0: all goes on at once."""
    wants: Callable[[Any], int] = lambda _: 1
    """Whether a side's entity does, and has room for another packet."""
    schedules: tuple[Any, Any] = ((), ())
    """How many frames each millisecond of a direction carries, from its end on anew; empty: as many in each slot."""
    one_estimator: bool = False
    """Both sides of ASR learn from the round trips of either."""
    packets: list[Packet] = field(default_factory=list)
    """All packets, in the order in which they came."""
    given: dict[tuple[int, int], Packet] = field(default_factory=dict)
    """Those that the link took, by side and the SDU's number."""
    log: KeptLog = field(default_factory=lambda: KeptLog(frames=True))
    slots: Growing = field(default_factory=lambda: Growing(SLOT))
    under_way: int = 0
    """Packets of which it is not known yet what becomes of them."""
    start_mono_ns: int = 0
    """When it began, on the kernel's clock, and on that of captures."""
    start_ns: int = 0

    def __post_init__(self) -> None:
        made = source()
        offers = table(MOST_PACKETS, OFFER)
        offers["time_ns"] = NEVER
        self._offered, self._heard, self._made = 0, 0, Source(made.state, offers, made.windows)
        self.engine = Engine(
            self.protocol, self.parameters, *self.radio, self._made, Keep(log=LOG_ROWS, sdus=1, ledger=LEDGER)
        )
        for entity, orders in zip((self.engine.a, self.engine.b), self.orders, strict=True):
            if orders and self.protocol.obey is not None:
                self.protocol.obey(entity, orders)
        if self.one_estimator:
            made_link = self.engine.link
            self.engine.link = made_link._replace(b=made_link.b._replace(estimate=made_link.a.estimate))
        self._waiting: tuple[deque[Packet], deque[Packet]] = (deque(), deque())
        self._undecided: tuple[deque[Packet], deque[Packet]] = (deque(), deque())
        self._free_ns = 0
        self.step_ns = min((radio.slot_ns for radio in self.radio if radio.slot_ns), default=SERIALISED_STEP_NS)

    def run(self, until: Callable[[], bool]) -> None:
        """Carry packets until the condition holds, which is asked once a slot."""
        # Not epoll, which sleeps for whole milliseconds.
        with selectors.SelectSelector() as selector:
            for side, device in enumerate(self.devices):
                if not self.held[side]:
                    selector.register(device, selectors.EVENT_READ, side)
            began = now_on_both_clocks()
            self.start_mono_ns, self.start_ns = began["mono_ns"], began["real_ns"]
            batch = due = 0
            while not until():
                batch, due = batch + 1, due + self.step_ns
                self._wait_with_arrivals(selector, due)
                due = self._turn(due, batch)
                self._fill()
            self._keep_log()

    def _now(self) -> int:
        return time.monotonic_ns() - self.start_mono_ns

    def _wait_with_arrivals(self, selector: selectors.BaseSelector, due: int) -> None:
        """Take in packets, and hand over what frames bring, until a slot is due."""
        while (arrival := self._next_arrival()) < due:
            self._wait(selector, arrival)
            self._run_between_slots(due)
        self._wait(selector, due)

    def _next_arrival(self) -> int:
        """When the next frame of those that are on the air arrives."""
        return int(min(self.engine.link.forth.state.arrives_ns, self.engine.link.back.state.arrives_ns))

    def _run_between_slots(self, due: int) -> None:
        """Let everything happen up to now that comes before the next slot."""
        self.engine.run(min(self._now(), due - 1))
        self._hear()

    def _wait(self, selector: selectors.BaseSelector, due: int) -> None:
        """Take in packets until something is due."""
        if self.step_ns >= SHORT_SLOT_NS and due - self._now() > REHEARSE_NS:
            self._take_until(selector, due - REHEARSE_NS)
            self._run_between_slots(due)
        self._take_until(selector, due)

    def _take_until(self, selector: selectors.BaseSelector, end: int) -> None:
        while (left := end - self._now()) > 0:
            for key, _ in selector.select(max(0, left - POLL_NS) / 1e9):
                self._take(key.data)

    def _take(self, side: int) -> None:
        """Offer what a host has sent."""
        with suppress(BlockingIOError):
            for _ in range(PACKETS_A_TURN):
                self._offer(side, os.read(self.devices[side], LARGEST_PACKET))

    def _fill(self) -> None:
        """Take what the link wants of what waits in hosts' devices."""
        for side, entity in enumerate((self.engine.a, self.engine.b)):
            room = self.held[side] if self.held[side] and self.wants(entity) else 0
            with suppress(BlockingIOError):
                while room > 0:
                    octets = os.read(self.devices[side], LARGEST_PACKET)
                    self._offer(side, octets)
                    room -= len(octets)

    def _offer(self, side: int, octets: bytes) -> None:
        packet = Packet(side, octets, self._now(), self.line.put(side, octets))
        row = self._made.offers[self._offered]
        row["side"], row["octets"], row["time_ns"] = side, len(packet.on_link), packet.given_ns
        self._offered += 1
        self.under_way += 1
        self._waiting[side].append(packet)
        self.packets.append(packet)
        plan(self._made, self.engine.until)

    def _turn(self, due: int, batch: int) -> int:
        """Let everything happen that was due by now; returns when the last slot was that is done so."""
        now = self._now()
        slots = range(due, now + 1, self.step_ns)
        if any(map(len, self.schedules)):
            for slot in slots:
                self._run_slot(slot)
        self.engine.run(now)
        self._hear()
        self.slots.append([(slot, now - slot, batch) for slot in slots])
        return slots[-1]

    def _hear(self) -> None:
        """Read what the log has that was not read yet."""
        rows = self.engine.log.rows
        if len(rows) > self._heard:
            self._deliver(rows[self._heard :])
            self._heard = len(rows)
        if len(rows) > KEPT_ROWS:
            self._keep_log()

    def _keep_log(self) -> None:
        """Put the engine's log to the one that is kept, and begin a new one."""
        self.log.append(self.engine.log)
        self.engine.clear()
        self._heard = 0

    def _run_slot(self, slot: int) -> None:
        """Let everything happen up to a slot, which carries as many frames as the schedules say."""
        for way, schedule in zip((self.engine.link.forth, self.engine.link.back), self.schedules, strict=True):
            if len(schedule):
                way.state.per_slot = schedule[slot // SCHEDULED_NS % len(schedule)]
        self.engine.run(slot)

    def _deliver(self, rows: Any) -> None:
        """Note what became of packets, and hand over those that came."""
        of_packets = _OF_PACKETS[np.minimum(rows["event"], notes.OWN)]
        for time_ns, side, event, _, number, _ in rows[of_packets].tolist():
            self._note(time_ns, side, event, number)

    def _note(self, time_ns: int, side: int, event: int, number: int) -> None:
        """What became of packets."""
        if event == notes.OFFERED:
            packet = self._waiting[side].popleft()
            packet.number = number
            self.given[side, number] = packet
            self._undecided[side].append(packet)
        elif event == notes.REFUSED:
            self._end(self._waiting[side].popleft()).lost_ns = time_ns
        elif event == notes.LOST:
            self._end(self.given[side, number]).lost_ns = time_ns
        elif event == notes.DELIVERED:
            packet = self.given[1 - side, number]
            is_late = packet.lost_ns is not None
            self._end(packet)
            packet.delivered_ns, packet.lost_ns = time_ns, None
            if not self.protocol.repeats and not is_late:
                self._lose_before(packet, time_ns)
            self._hand_over(side, packet)

    def _hand_over(self, side: int, packet: Packet) -> None:
        """Give a host what came for it; the kernel drops what its device has no room for."""
        came = self.line.take(1 - side, packet.on_link)
        packet.damaged = came != packet.octets
        if came is not None:
            with suppress(BlockingIOError):
                handed = self._now()
                os.write(self.devices[side], came)  # returns when the host's TCP has taken it in
                self._note_lateness(packet, handed, self._now())

    def _note_lateness(self, packet: Packet, handed: int, taken: int) -> None:
        """By how much a packet was late, against a link that is never late between hosts that take as long as these."""
        in_time = max(packet.delivered_ns or 0, self._free_ns)
        packet.handed_ns, packet.late_ns = handed, handed - in_time
        self._free_ns = in_time + taken - handed

    def _lose_before(self, packet: Packet, time_ns: int) -> None:
        """What was given before a packet that came is lost where nothing is repeated, unless the air made it late."""
        while (before := self._undecided[packet.side].popleft()) is not packet:
            if before.lost_ns is None:
                self._end(before).lost_ns = time_ns

    def _end(self, packet: Packet) -> Packet:
        """Count a packet as no longer under way; one that was given up may come after all."""
        self.under_way -= packet.lost_ns is None
        return packet
