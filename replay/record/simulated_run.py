"""A simulated run as it went: every packet of TCP with what became of it, what its ends were like, and the link's log.

The run is driven part by part; what the journal and the link's log hold is taken out after each.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from multitracer.compute import kernels
from multitracer.model.errors import UsageError
from multitracer.replay.arq import notes
from multitracer.replay.arq.notes import Log
from multitracer.replay.engine.driver import Engine
from multitracer.replay.record.kept_log import Growing
from multitracer.replay.record.known_run import Copy, Resend, Seen, State
from multitracer.replay.record.packet_fates import PacketFates
from multitracer.replay.record.tcp_packets import (
    IP_BYTES,
    MOST_WINDOW,
    TCP_BYTES,
    TIMESTAMP_BYTES,
    Flows,
    Form,
    Packet,
)
from multitracer.replay.record.tcp_truth import resends
from multitracer.replay.simulate import journal
from multitracer.replay.simulate.link_session import LinkSession, link_session
from multitracer.replay.simulate.run import setting
from multitracer.replay.simulate.scenario import Scenario
from multitracer.replay.simulate.simulation import Setting, Simulation

PART_NS = 5 * 10**9
"""So much simulated time is run, and then taken out."""
ROWS = 1 << 18
"""Room for what happens in a part; what is not used takes no memory."""
ROWS_A_FRAME = 20
"""Rows of the link's log that a frame and what it causes make at most."""
SHORT_BYTES = 40
"""The shortest packets that can fill a link: acknowledgements."""
EVENTS_A_PACKET = 4
"""A segment's sending and arrival, and its acknowledgement's."""
LONGEST_HEADERS = IP_BYTES + 60
"""An IPv4 header, and TCP's longest (RFC 9293 3.1)."""


class Row(NamedTuple):
    """A row of the journal, its fields in the order of `journal.ROW`."""

    time_ns: int
    what: int
    end: int
    number: int
    taken: int


@dataclass
class SimulatedRun:
    """What happened."""

    scenario: Scenario
    setting: Setting
    simulation: Simulation
    flows: Flows
    session: LinkSession | None = None
    """What its metrics need that the simulation does not count."""
    copies: list[Copy] = field(default_factory=list)
    """All packets, in the order in which they were sent."""
    captured: tuple[list[tuple[int, bytes]], list[tuple[int, bytes]]] = field(default_factory=lambda: ([], []))
    """What went by at the wired end and at the terminal, in its order: when, and its octets."""
    arrived: list[Copy] = field(default_factory=list)
    """Those that came to an end, in their order."""
    states: list[State] = field(default_factory=list)
    rows: Growing = field(default_factory=lambda: Growing(notes.ROW))
    """The link's log."""
    given: dict[tuple[int, int], Copy] = field(default_factory=dict)
    """The packets that each side of the link was given, by side and the SDU's number."""

    def octets_given(self, side: int, number: int) -> bytes:
        """The octets of a packet that a side of the link was given, as an SDU of this number; empty if unknown."""
        copy = self.given.get((side, number))
        return copy.segment.octets if copy else b""

    @property
    def engine(self) -> Engine:
        """The link, as it was at the end."""
        return self.simulation.engine

    @property
    def whole_bytes(self) -> int:
        """Data in a full segment."""
        return self.flows.form.payload_bytes

    @cached_property
    def link(self) -> Any:
        """The link's log in one table; to be asked for at the end."""
        return self.rows.whole()

    @cached_property
    def resends(self) -> list[Resend]:
        """All segments that were sent again, in the order in which they were; to be asked for at the end."""
        return list(resends(self))

    @property
    def sender(self) -> int:
        """The end that sends the workload's data: 0 wired, 1 terminal."""
        return 0 if self.scenario.forward == "down" else 1


def run_of(scenario: Scenario, seed: int, start_ns: int, hear: Callable[[SimulatedRun, Log], object]) -> SimulatedRun:
    """Run a seed of a scenario to its end; `hear` is told of each part of the link's log."""
    _check(scenario)
    made = setting(scenario, seed)
    kernels.choose(EVENTS_A_PACKET * _packets(scenario, made))
    simulation = Simulation(made, ROWS)
    flows = Flows(form_of(scenario, simulation), start_ns)
    run = SimulatedRun(scenario, made, simulation, flows, link_session(scenario))
    story = _Story(run)
    for _ in simulation.parts(_part_ns(scenario)):
        engine = simulation.engine
        kept = simulation.source.journal
        if max(int(kept.state.noted), int(engine.link.upper.log.state.noted)) > ROWS:
            raise UsageError("more happens in a moment of this scenario than a recording has room for")
        story.read(kept, engine.log)
        if run.session is not None:
            run.session.hear(simulation)
        hear(run, engine.log)
        engine.clear()
        kept.state.rows = kept.state.noted = 0
    return run


def _check(scenario: Scenario) -> None:
    """Raise UsageError for what the logs of a link, in which arrivals are in the order of sending, cannot say."""
    for side in ("forward", "reverse"):
        if scenario.wholes("channel.delayed_frames", side):
            raise UsageError("--record: no frame may overtake others\nLeave channel.delayed_frames out.")


def _packets(scenario: Scenario, made: Setting) -> int:
    """About how many segments are sent: what there is, or what the link can carry in the time."""
    objects = made.work.objects
    room = scenario.number("link.rate_bps", scenario.forward) * made.until_ns / 8e9
    octets = min(int(objects["reply"].sum() + objects["request"].sum()), room)
    return int(octets) // (made.segment_octets - made.header_octets)


def _part_ns(scenario: Scenario) -> int:
    """So much time that all that happens in it has room."""
    fastest = max(_frames_a_second(scenario, way) for way in ("down", "up"))
    return max(1, min(PART_NS, round(1e9 * ROWS / (ROWS_A_FRAME * fastest))))


def _frames_a_second(scenario: Scenario, way: str) -> float:
    if scenario.value("link.tti_s", way) is not None:
        return scenario.whole("link.blocks_per_tti", way) / scenario.number("link.tti_s", way)
    return scenario.number("link.rate_bps", way) / (8 * min(scenario.whole("link.frame_bytes", way), SHORT_BYTES))


def form_of(scenario: Scenario, simulation: Simulation) -> Form:
    """What the packets of a run are like; UsageError where segments have no room for headers and data."""
    rules, whole = simulation.source.tcp.rules, scenario.whole("tcp.segment_bytes")
    stamps = "timestamps" in rules.dtype.names and bool(rules["timestamps"].all())
    least = IP_BYTES + TCP_BYTES + TIMESTAMP_BYTES * stamps
    header = max(least, min(scenario.whole("tcp.header_bytes") // 4 * 4, LONGEST_HEADERS))
    if whole <= header:
        raise UsageError(
            f"--record: tcp.segment_bytes = {whole} has no room for data behind {header} octets of headers\n"
            f"Give {header + 1} at least."
        )
    payload = whole - header
    windows = [int(rules[side].window) * payload for side in (0, 1)]
    opens = scenario.flag("tcp.syn")
    if not opens and max(windows) > MOST_WINDOW:
        raise UsageError(
            f"--record: without SYNs no window above {MOST_WINDOW} octets can be advertised; this is {max(windows)}\n"
            "Set tcp.syn = true, or a smaller tcp.window_segments."
        )
    one_way = scenario.value("tcp.model") == "ns-2"
    return Form(payload, header, one_way, opens, bool(rules["sack"].all()), stamps, (windows[0], windows[1]))


class _Story:
    """Reads journals and logs part by part."""

    def __init__(self, run: SimulatedRun) -> None:
        self.run = run
        self._events, self._current = 0, dict[int, int]()
        self._sent: dict[tuple[int, ...], deque[Copy]] = defaultdict(deque)
        self._fates = PacketFates(run, rlp=run.scenario.word("link.protocol") == "rlp")

    def read(self, kept: journal.Journal, log: Log) -> None:
        """The next part."""
        count = int(kept.state.rows)
        for row, packet, seen in zip(*(table[:count].tolist() for table in kept[1:]), strict=True):
            self._take(Row(*row), Packet(*packet), Seen(*seen))
        self.run.rows.append(log.rows)
        self._fates.take(log.rows)

    def _take(self, row: Row, packet: Packet, seen: Seen) -> None:
        if row.what == journal.EXPIRED:
            self._events += 1
            self._current[row.end] = self._events
        elif row.what == journal.SENT:
            self._send(row, packet, seen)
        elif row.what in (journal.CAME, journal.LATE):
            self._come(row, packet, seen)
        elif row.what == journal.DROPPED:
            waiting = self._sent[_key(packet)]
            next(one for one in waiting if one.came_ns is None and one.dropped_ns is None).dropped_ns = row.time_ns
        else:
            copy = next(one for one in self._sent[_key(packet)] if one.given_ns is None and one.dropped_ns is None)
            copy.given_ns, copy.number, copy.refused = row.time_ns, row.number, not row.taken
            self.run.given[row.end, row.number] = copy

    def _send(self, row: Row, packet: Packet, seen: Seen) -> None:
        copy = Copy(packet, self.run.flows.segment(packet), row.time_ns, self._event_of(row))
        self._sent[_key(packet)].append(copy)
        self.run.copies.append(copy)
        self.run.captured[packet.end].append((row.time_ns, copy.segment.octets))
        self.run.states.append(State(row.time_ns, copy.segment.flow, row.end & 1, copy.event, None, seen))

    def _come(self, row: Row, packet: Packet, seen: Seen) -> None:
        waiting = self._sent[_key(packet)]
        copy = next(one for one in waiting if one.came_ns is None and one.dropped_ns is None)
        copy.came_ns, copy.taken, copy.late = row.time_ns, row.what == journal.CAME, row.what == journal.LATE
        self.run.arrived.append(copy)
        self.run.captured[1 - packet.end].append((row.time_ns, copy.segment.octets))
        if copy.taken:
            self.run.flows.came(packet)
            self._events += 1
            self._current[row.end] = self._events
            flow = copy.segment.flow
            self.run.states.append(State(row.time_ns, flow, row.end & 1, self._events, copy, seen))

    def _event_of(self, row: Row) -> int:
        """The event at the end that let it send now."""
        return self._current.get(row.end, 0)


def _key(packet: Packet) -> tuple[int, ...]:
    """What tells packets apart, but for those of one instant that are the same."""
    return packet.connection, packet.end, packet.bits, packet.seq, packet.sending, packet.ack, packet.sent_ns
