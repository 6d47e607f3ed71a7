"""The path of ns-2 runs: server, wired hop, radio hop of 64 kbit/s and 50 ms with listed frames lost, client."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from multitracer.replay.arq.fields import NEVER
from multitracer.replay.tcp.ns2 import machine
from multitracer.replay.tcp.ns2.parameters import Parameters
from multitracer.replay.tcp.ns2.state import Tcp, tcp

MS = 1_000_000
SERVER, CLIENT = 0, 1
HELD = 49
"""Packets that wait for a hop, beside the one on it: ns-2's queues with a limit of 50 are full with the fiftieth."""
WIRED = {"10M1": (10_000_000, 1 * MS), "2M50": (2_000_000, 50 * MS)}
"""Bits a second and delay (ns) of the wired hop."""
RADIO = (64_000, 50 * MS)


@dataclass
class Hop:
    """One direction of a hop: a first-in-first-out queue and a line; `lost` are numbers of frames sent, from 0 on."""

    rate_bps: int
    delay_ns: int
    lost: Collection[int] = ()
    sent: int = 0
    ends: list[int] = field(default_factory=list)

    def carry(self, octets: int, now: int) -> int | None:
        """When a packet arrives; None if it never does. A lost frame has taken its time on the line."""
        self.ends = [end for end in self.ends if end > now]
        if len(self.ends) > HELD:  # one of them is on the line
            return None
        end = max([now, *self.ends]) + octets * 8_000_000_000 // self.rate_bps
        self.ends.append(end)
        self.sent += 1
        return None if self.sent - 1 in self.lost else end + self.delay_ns


class Passed(NamedTuple):
    """A packet that arrived at an end, and what the end had then."""

    time_ns: int
    end: int
    packet: Any
    delivered: int


class Path:
    """A connection between a server and a client; `run` yields what arrives."""

    def __init__(
        self, parameters: Parameters, wired: str = "10M1", lost: tuple[Collection[int], Collection[int]] = ((), ())
    ) -> None:
        self.tcp: Tcp = tcp((parameters, parameters), 1)
        self.hops = {
            SERVER: [Hop(*WIRED[wired]), Hop(*RADIO, lost[0])],
            CLIENT: [Hop(*RADIO, lost[1]), Hop(*WIRED[wired])],
        }
        self.now = self._events_made = 0
        self.ties = 0
        """Arrivals at the instant of a timer: which comes first is chance in ns-2, whose times are doubles."""
        self._events: list[tuple[int, int, int, int, Any]] = []
        self.start()

    def start(self) -> None:
        """Make both ends anew."""
        for k in (SERVER, CLIENT):
            machine.start(self.tcp, k, 0, 0)

    def write(self, k: int, segments: int, last_octets: int) -> None:
        """Let an application send."""
        machine.write(self.tcp, k, segments, last_octets, self.now)
        self._post()

    def run(self, until_ns: int = NEVER) -> Iterator[Passed]:
        """Let everything happen until then, timers of idle senders included."""
        while (now := min(self._next_event(), *(int(e.timer_ns) for e in self.tcp.ends))) < until_ns:
            self.now = now
            if self._next_event() > now:
                for k in (SERVER, CLIENT):
                    if self.tcp.ends[k].timer_ns <= now:
                        machine.expire(self.tcp, k, now)
                self._post()
                continue
            _, _, k, hop, packet = heapq.heappop(self._events)
            if hop < len(self.hops[k]):
                self._send(k, hop, packet)
                continue
            self.ties += self.tcp.ends[1 - k].timer_ns == now
            machine.receive(self.tcp, 1 - k, packet, now)
            self._post()
            yield Passed(now, 1 - k, packet, int(self.tcp.ends[1 - k].delivered))

    def finish(self, k: int, segments: int) -> int:
        """Run until the end's data are acknowledged; when they were."""
        return next(each.time_ns for each in self.run() if self.tcp.ends[k].acked == segments)

    def _next_event(self) -> int:
        return self._events[0][0] if self._events else NEVER

    def _post(self) -> None:
        """Send what the ends have put into their box."""
        box = self.tcp.out
        for row in box.rows[: box.state.packets]:
            self._send(int(row.end), 0, row.copy())
        box.state.packets = 0

    def _send(self, k: int, hop: int, packet: Any) -> None:
        at = self.hops[k][hop].carry(int(packet.octets), self.now)
        if at is not None:
            self._events_made += 1
            heapq.heappush(self._events, (at, self._events_made, k, hop + 1, packet))
