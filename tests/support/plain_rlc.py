"""RLC in acknowledged mode between two ends, in plain Python, with nothing of the product; see `plain_transfer`.

Of 25.322 what the papers use: an SDU is a PDU, in sequence, reports with a BITMAP, polls by a timer that the first
unacknowledged PDU starts too, by the window, and with the last PDU sent again; a PDU sent MaxDAT - 1 times is given
up, and all below with it, by an MRW.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from plain_transfer import MS, Clock, Hop, Timer


@dataclass(frozen=True)
class Rules:
    """The parameters of the papers' RLC, for Uniform losses."""

    max_dat: int = 4
    header: int = 2
    window: int = 128
    poll: int = 200 * MS
    poll_prohibit: int = 100 * MS
    poll_window_percent: int = 70
    poll_last_again: bool = False
    status_periodic: int = 400 * MS
    status_prohibit: int = 0
    mrw: int = 500 * MS
    resends_last: bool = True
    """A poll with nothing left to send sends the last PDU again, counted; else it is dropped."""


UNIFORM = Rules()
TWO_STATE = Rules(
    max_dat=3, poll_window_percent=80, poll_last_again=True, status_periodic=500 * MS, status_prohibit=90 * MS,
    mrw=110 * MS,
)  # fmt: skip


@dataclass
class Amd:
    """A data PDU."""

    number: int
    packet: Any
    polls: bool


@dataclass
class Status:
    """A STATUS PDU."""

    move_to: int | None = None
    """MRW: the first number that the receiver is to wait for."""
    moved_to: int | None = None
    """MRW_ACK."""
    report: tuple[int, list[int]] | None = None
    """All below the first came, but for those listed."""


@dataclass
class Rlc:
    """One end: the sender of its own PDUs, the receiver of the other's."""

    clock: Clock
    air: Hop
    deliver: Callable[[Any], None]
    rules: Rules
    timeouts: int = 0
    again: int = 0
    discarded: int = 0
    _above: deque[tuple[int, Any]] = field(default_factory=deque)
    _next: int = 0
    _oldest: int = 0
    _kept: dict[int, tuple[int, Any]] = field(default_factory=dict)
    _times: dict[int, int] = field(default_factory=dict)
    _nacked: set[int] = field(default_factory=set)
    _floor: int = 0
    """What is below it is given up, if not acknowledged."""
    _moving: int | None = None
    _move_due: bool = False
    _move_sent: bool = False
    _poll_wanted: bool = False
    _poll_delayed: bool = False
    _polled_up_to: int = 0
    _expected: int = 0
    _seen: int = 0
    _early: dict[int, Any] = field(default_factory=dict)
    _report_wanted: bool = False
    _report_delayed: bool = False
    _moved_due: bool = False

    def __post_init__(self) -> None:
        self._poll = Timer(self.clock, self._poll_expired)
        self._poll_prohibit = Timer(self.clock, self._poll_allowed)
        self._mrw = Timer(self.clock, self._mrw_expired)
        self._status_prohibit = Timer(self.clock, self._status_allowed)
        self._status_periodic = Timer(self.clock, self._status_again)
        self._status_periodic.set(self.rules.status_periodic)

    # What wakes it.

    def carry(self, octets: int, packet: Any) -> None:
        """A packet from above."""
        self._above.append((octets, packet))
        self._soon()

    def take(self, frame: Amd | Status) -> None:
        """A PDU came."""
        if isinstance(frame, Amd):
            self._data(frame)
        else:
            self._status(frame)
        self._soon()

    def _soon(self) -> None:
        """Send what there is, after all else that happens at this instant."""
        self.clock.at(self.clock.now, self._send)

    def _poll_expired(self) -> None:
        if self._poll_prohibit.at == self.clock.now:
            self._poll_prohibit.stop()
            self._poll_allowed()
        if self._oldest < self._next:
            self.timeouts += 1
            self._trigger_poll()
            self._soon()

    def _poll_allowed(self) -> None:
        self._poll_wanted |= self._poll_delayed
        self._poll_delayed = False
        self._soon()

    def _mrw_expired(self) -> None:
        self._move_due = True
        self._soon()

    def _status_allowed(self) -> None:
        self._report_wanted |= self._report_delayed
        self._report_delayed = False
        self._soon()

    def _status_again(self) -> None:
        self._status_periodic.set(self.clock.now + self.rules.status_periodic)
        if self._status_prohibit.at == self.clock.now:
            self._status_prohibit.stop()
            self._status_allowed()
        self._trigger_report()
        self._soon()

    # Sending: STATUS before PDUs sent again before new ones before one that only carries a poll.

    def _send(self) -> None:
        while self._send_one():
            pass

    def _send_one(self) -> bool:
        if self._move_due or self._moved_due or self._report_wanted:
            self._send_status()
            return True
        may_send_new = bool(self._above) and self._next < self._oldest + self.rules.window
        if self._nacked:
            self._send_again(min(self._nacked))
        elif may_send_new:
            self._send_new()
        elif self._poll_wanted:
            last = self._next - 1
            if last < max(self._oldest, self._floor) or not self.rules.resends_last:
                self._poll_wanted = False
            else:
                self._send_again(last)
        else:
            return False
        return True

    def _send_new(self) -> None:
        number = self._next
        self._kept[number], self._times[number] = self._above.popleft(), 0
        wanted = self._window_used()
        self._next += 1
        self._hand_down(number, wanted)

    def _window_used(self) -> bool:
        return (self._next + 1 - self._oldest) * 100 >= self.rules.poll_window_percent * self.rules.window

    def _send_again(self, number: int) -> None:
        if self._times[number] + 1 >= self.rules.max_dat:
            self._discard(number)
            return
        asked = number in self._nacked
        self._nacked.discard(number)
        self.again += 1
        last = asked and not self._nacked and self.rules.poll_last_again
        self._hand_down(number, self._window_used() or last)

    def _hand_down(self, number: int, wanted: bool) -> None:
        self._times[number] += 1
        if wanted or self._poll_wanted:
            self._poll_wanted = False
            self._trigger_poll()
        polls, self._poll_wanted = self._poll_wanted, False
        if polls:
            self._poll_prohibit.set(self.clock.now + self.rules.poll_prohibit)
        if polls or self._poll.at is None:
            self._start_poll()
        octets, packet = self._kept[number]
        self.air.put(octets + self.rules.header, Amd(number, packet, polls))

    def _start_poll(self) -> None:
        self._polled_up_to = self._next
        self._poll.set(self.clock.now + self.rules.poll)

    def _trigger_poll(self) -> None:
        if self._poll_prohibit.at is None:
            self._poll_wanted = True
        else:
            self._poll_delayed = True

    def _discard(self, number: int) -> None:
        self.discarded += number + 1 - max(self._floor, self._oldest)
        self._floor = number + 1
        self._nacked = {other for other in self._nacked if other > number}
        if self._moving is None:
            self._move()

    def _move(self) -> None:
        self._moving, self._move_due, self._move_sent = self._floor, True, False

    def _send_status(self) -> None:
        made, bits = Status(), 4
        if self._move_due:
            made.move_to, bits = self._moving, bits + 24
            self._move_due, self._move_sent = False, True
            self._mrw.set(self.clock.now + self.rules.mrw)
        if self._moved_due:
            made.moved_to, bits, self._moved_due = self._expected, bits + 20, False
        if self._report_wanted:
            missing = [number for number in range(self._expected, self._seen) if number not in self._early]
            made.report = self._expected, missing
            bitmap = 20 + 8 * -(-(self._seen - missing[0]) // 8) if missing else 0
            bits += bitmap + 16
            self._report_wanted = False
            if self.rules.status_prohibit:
                self._status_prohibit.set(self.clock.now + self.rules.status_prohibit)
        else:
            bits += 4
        self.air.put(-(-bits // 8), made)

    # Receiving.

    def _status(self, frame: Status) -> None:
        if frame.move_to is not None:
            self._moved(frame.move_to)
        if frame.report is not None:
            self._report(*frame.report)
        moved = frame.moved_to
        if moved is not None and self._moving is not None and self._move_sent and moved >= self._moving:
            self._acknowledged(moved)
            self._end_move()

    def _report(self, below: int, missing: list[int]) -> None:
        asked = [number for number in missing if number >= max(self._oldest, self._floor)]
        self._nacked |= set(asked)
        self._acknowledged(below)
        if self._moving is not None and self._oldest > self._moving:
            self._end_move()
        if self._oldest >= self._polled_up_to or self._polled_up_to - 1 in missing:
            self._poll.stop()
            if self._oldest < self._next:
                self._start_poll()

    def _acknowledged(self, below: int) -> None:
        for number in range(self._oldest, below):
            del self._kept[number], self._times[number]
            self._nacked.discard(number)
        self._oldest = max(self._oldest, below)

    def _end_move(self) -> None:
        self._mrw.stop()
        self._moving, self._move_due = None, False
        if self._floor > self._oldest:
            self._move()

    def _moved(self, to: int) -> None:
        for number in range(self._expected, to):
            if number in self._early:
                self.deliver(self._early.pop(number))
        self._expected, self._seen = max(self._expected, to), max(self._seen, to)
        self._advance()
        self._moved_due = True

    def _data(self, frame: Amd) -> None:
        number = frame.number
        gap = number > self._seen
        if self._expected <= number < self._expected + self.rules.window and number not in self._early:
            self._early[number] = frame.packet
            self._seen = max(self._seen, number + 1)
            self._advance()
            if gap:
                self._trigger_report()
        if frame.polls:
            self._trigger_report()

    def _advance(self) -> None:
        while self._expected in self._early:
            packet = self._early.pop(self._expected)
            self._expected += 1
            self.deliver(packet)

    def _trigger_report(self) -> None:
        if self._status_prohibit.at is None:
            self._report_wanted = True
        else:
            self._report_delayed = True
