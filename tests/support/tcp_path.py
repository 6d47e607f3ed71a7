"""Two ends of a model of TCP on a path in plain Python: every packet that was sent, in order, and what arrived."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any, NamedTuple

from multitracer.replay.arq.fields import record
from multitracer.replay.tcp.packets import ACK, DATA, FIN, PACKET, SYN

MS = 1_000_000
FLAGS = ((SYN, "SYN"), (DATA, "DATA"), (FIN, "FIN"))


class Sent(NamedTuple):
    """A packet, when and by which end it was sent, and its place among that end's packets."""

    time_ms: float
    end: int
    number: int
    kind: str
    seq: int
    sending: int
    ack: int
    limit: int
    octets: int
    blocks: tuple[tuple[int, int], ...]
    echo_ms: float


def sent(packet: Any, number: int) -> Sent:
    """A packet of the box as a test reads it."""
    kind = " ".join(name for flag, name in FLAGS if int(packet.bits) & flag) or "ACK"
    blocks = tuple((int(packet.left[at]), int(packet.right[at])) for at in range(int(packet.blocks)))
    return Sent(
        packet.sent_ns / MS, int(packet.end), number, kind, int(packet.seq), int(packet.sending), int(packet.ack),
        int(packet.limit), int(packet.octets), blocks, packet.echo_ns / MS,
    )  # fmt: skip


class Path:
    """Ends 0 and 1, `delay_ms` apart; each direction carries a packet every `gap_ms`.

    `delay_of` tells how much later than others a packet arrives, in ms; None loses it.
    """

    def __init__(self, machine: Any, tcp: Any, delay_ms: float = 50, gap_ms: float = 0) -> None:
        self.machine, self.tcp = machine, tcp
        self.delay, self.gap = round(delay_ms * MS), round(gap_ms * MS)
        self.delay_of: Callable[[Sent], float | None] = lambda _: 0
        self.log: list[Sent] = []
        self.arrivals: list[tuple[float, int, int]] = []
        self.now = 0
        self._free = [0, 0]
        self._counts = [0, 0]
        self._events: list[tuple[int, int, str, tuple[Any, ...]]] = []
        self._order = 0
        for k in (0, 1):
            machine.start(tcp, k, 0, 0)

    @property
    def ends(self) -> tuple[Any, Any]:
        """Both ends."""
        return self.tcp.ends[0], self.tcp.ends[1]

    def lose(self, *which: tuple[int, int]) -> None:
        """Lose data segments of end 0 by number and sending."""
        self.delay_of = lambda packet: None if packet.end == 0 and (packet.seq, packet.sending) in which else 0

    def at(self, time_ms: float, call: str, *arguments: Any) -> None:
        """Call a kernel at some time with these arguments after `tcp`, and the time after them."""
        self._push(round(time_ms * MS), call, arguments)

    def write(self, segments: int, time_ms: float = 0, k: int = 0, last: int = 250) -> Path:
        """Let an end write; gives the path."""
        self.at(time_ms, "write", k, segments, last)
        return self

    def run(self, until_ms: float = 1e7, steps: int = 100_000) -> Path:
        """Let everything happen until a time, or until nothing more would; gives the path."""
        until = round(until_ms * MS)
        for _ in range(steps):
            timers = [(int(end.timer_ns), k) for k, end in enumerate(self.ends)]
            due, k = min(timers)
            at = self._events[0][0] if self._events else 2**62
            if min(at, due) > until:
                self.now = until
                return self
            self.now = min(at, due)
            if at <= due:
                _, _, call, arguments = heapq.heappop(self._events)
                getattr(self.machine, call)(self.tcp, *arguments, self.now)
            else:
                assert due >= 0
                self.machine.expire(self.tcp, k, self.now)
            self._carry()
        raise AssertionError(f"still busy after {steps} steps, at {self.now / MS} ms")

    def times(self, end: int = 0, kind: str = "DATA") -> list[tuple[float, int]]:
        """When an end sent its packets of a kind, in ms, and their numbers (of ACKs: the number acknowledged)."""
        return [
            (packet.time_ms, packet.ack if kind == "ACK" else packet.seq)
            for packet in self.log if packet.end == end and packet.kind == kind
        ]  # fmt: skip

    def resent(self, end: int = 0) -> list[tuple[float, int]]:
        """When an end sent data again, in ms, and the numbers."""
        return [(packet.time_ms, packet.seq) for packet in self.log if packet.end == end and packet.sending > 0]

    def _push(self, time: int, call: str, arguments: tuple[Any, ...]) -> None:
        self._order += 1
        heapq.heappush(self._events, (time, self._order, call, arguments))

    def _carry(self) -> None:
        """Put what was sent on its way."""
        for row in self.tcp.out.rows[: int(self.tcp.out.state.packets)]:
            packet = row.copy()
            told = sent(packet, self._counts[int(packet.end)])
            self._counts[told.end] += 1
            self.log.append(told)
            later = self.delay_of(told)
            self._free[told.end] = max(self._free[told.end], self.now) + self.gap
            if later is not None:
                self._push(self._free[told.end] + self.delay + round(later * MS), "receive", (1 - told.end, packet))
        self.tcp.out.state.packets = 0


class Scripted:
    """End 0 alone, connected without SYNs: a test writes every packet that it gets, and reads what it sends."""

    def __init__(self, model: Any, parameters: Any, segments: int = 100) -> None:
        self.machine = model.machine
        self.tcp = model.state.tcp((parameters, parameters), 1)
        self.machine.start(self.tcp, 0, 0, 0)
        self.machine.write(self.tcp, 0, segments, parameters.segment_bytes, 0)
        self.first = self._sent()

    @property
    def end(self) -> Any:
        """The end's state."""
        return self.tcp.ends[0]

    def ack(
        self, ack: int, *blocks: tuple[int, int], at_ms: float = 100, echo_ms: float = 0, more: int = 0
    ) -> list[int]:
        """Let an ACK arrive, with a window that is `more` segments larger; gives the numbers of the data sent then."""
        packet = record(PACKET)
        packet.end, packet.bits, packet.seq, packet.ack = 1, ACK, 1, ack
        packet.limit = ack + int(self.tcp.rules[0].window) + more
        packet.sent_ns, packet.echo_ns, packet.blocks = round(at_ms * MS), round(echo_ms * MS), len(blocks)
        for at, (left, right) in enumerate(blocks):
            packet.left[at], packet.right[at] = left, right
        return self.take(packet, at_ms)

    def take(self, packet: Any, at_ms: float) -> list[int]:
        """Let a packet arrive; gives the numbers of the data sent then."""
        self.machine.receive(self.tcp, 0, packet, round(at_ms * MS))
        return [each.seq for each in self._sent() if each.kind == "DATA"]

    def data(self, seq: int, at_ms: float) -> list[Sent]:
        """Let a data segment arrive; gives the packets sent then."""
        packet = record(PACKET)
        packet.end, packet.bits, packet.seq, packet.ack = 1, DATA | ACK, seq, 1
        packet.sent_ns, packet.limit = round(at_ms * MS), 1 + int(self.tcp.rules[0].window)
        self.machine.receive(self.tcp, 0, packet, round(at_ms * MS))
        return self._sent()

    def expire(self) -> list[Sent]:
        """Let the next timer run out; gives the packets sent then."""
        self.machine.expire(self.tcp, 0, int(self.end.timer_ns))
        return self._sent()

    def _sent(self) -> list[Sent]:
        """Empty the box."""
        out = self.tcp.out
        told = [sent(row, at) for at, row in enumerate(out.rows[: int(out.state.packets)])]
        out.state.packets = 0
        return told
