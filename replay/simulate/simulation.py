"""One run of a scenario: what lies between the applications, built from its keys, and driven until they are done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from multitracer.replay.engine.direction import Direction
from multitracer.replay.engine.driver import Engine, Keep, Protocol
from multitracer.replay.simulate import repairs
from multitracer.replay.simulate.counts import counts
from multitracer.replay.simulate.framing import Framing, framing
from multitracer.replay.simulate.interface_queue import interface_queue
from multitracer.replay.simulate.journal import journal
from multitracer.replay.simulate.media import Media
from multitracer.replay.simulate.repairs import NAMES, Repairs
from multitracer.replay.simulate.transport import DOWN, UP, Transport, forget_firsts, transport
from multitracer.replay.simulate.wired import wired
from multitracer.replay.simulate.work import Work

Orders: TypeAlias = tuple[tuple[int, int], ...]
"""Times (ns) and what to do."""
PART_NS = 200 * 10**9
"""So much simulated time is run at once; before it, media's times are drawn up to its end."""
PACKETS = 64
"""Packets on the link for which there is room at first: few enough for their rows to stay in the processor's cache."""


@dataclass(frozen=True)
class Hop:
    """One direction of the wired hop."""

    rate_bps: int = 10_000_000
    delay_ns: int = 1_000_000
    queue_packets: int = 50
    queue_octets: int = 0
    """0: no limit."""
    of_host: bool = False
    """The queue is the interface queue of the host that sends: what it drops is a local drop."""


@dataclass(frozen=True)
class Setting:
    """All that a run needs; `radio`, `wired` and `media` are of the directions down and up."""

    protocol: Protocol
    link: tuple[Any, Any]
    """The parameters of the link's entities A and B."""
    radio: tuple[Direction, Direction]
    tcp: Any
    """TCP's ends."""
    work: Work
    segment_octets: int
    header_octets: int = 0
    wired: tuple[Hop, Hop] = (Hop(), Hop())
    media: tuple[Media | None, Media | None] = (None, None)
    past: bool = True
    """Media go past the link protocol."""
    framing: Framing = field(default_factory=framing)
    orders: tuple[Orders, Orders] = ((), ())
    """When A and B reset the link, or stop the other side (see `arq.orders`)."""
    one_estimator: bool = False
    """Both sides of ASR learn from the round trips of either."""
    until_ns: int = 10**15
    """When the run ends, unless the applications are done before."""
    interface: tuple[int, int] = (0, 0)
    """Packets and octets that the interface queue of the terminal's host takes; none where both are 0."""
    warmup_ns: int = 0
    """What is counted up to then is kept apart."""
    listed: tuple[bool, bool] = (False, False)
    """Whether the frames that A and B lose are listed one by one."""


@dataclass
class Simulation:
    """A run of a setting; `run` goes on to its end."""

    setting: Setting
    rows: int = 0
    """Room in the link's log, and in the journal; 0: neither is kept."""
    engine: Engine = field(init=False)
    before: Mapping[str, float] = field(init=False, default_factory=dict)
    """What was counted by the end of the warm-up."""
    repairs: Repairs | None = None
    """Of the frames that are listed as lost."""

    def __post_init__(self) -> None:
        s = self.setting
        if any(s.listed) and s.protocol.name in NAMES:
            self.repairs = Repairs(s.protocol.name, s.listed)
        hops = [(hop.rate_bps, hop.delay_ns, hop.queue_packets, hop.queue_octets) for hop in s.wired]
        source = transport(
            s.tcp, wired(hops), s.work, interface_queue(*s.interface), s.framing, segment_octets=s.segment_octets,
            header_octets=s.header_octets, past=s.past,
        )._replace(journal=journal(self.rows))  # fmt: skip
        source.state.wired_host = s.wired[DOWN].of_host
        keep = Keep(log=self.rows or (repairs.ROWS if self.repairs else 0), ledger=PACKETS)
        self.engine = Engine(s.protocol, s.link, *s.radio, source, keep)
        self._instruct()
        self.source = source.grown(self.engine.link.upper.books)

    def _instruct(self) -> None:
        """Give the link's entities what they have beside their parameters."""
        obey = self.setting.protocol.obey
        for e, orders in zip((self.engine.a, self.engine.b), self.setting.orders, strict=True):
            if orders and obey is not None:
                obey(e, orders)
        if self.setting.one_estimator:
            link = self.engine.link
            self.engine.link = link._replace(b=link.b._replace(estimate=link.a.estimate))

    @property
    def source(self) -> Transport:
        """All above the link."""
        found: Transport = self.engine.link.upper.source
        return found

    @source.setter
    def source(self, made: Transport) -> None:
        link = self.engine.link
        self.engine.link = link._replace(upper=link.upper._replace(source=made))

    def run(self) -> Simulation:
        """Run until the applications are done, or to the setting's end."""
        for _ in self.parts(repairs.part_ns(self.setting.radio) if self.repairs else PART_NS):
            if self.repairs:
                self.engine.clear()
        return self

    def parts(self, part_ns: int) -> Iterator[int]:
        """Run part by part to the same end; gives the time at the end of each."""
        if self.setting.warmup_ns:
            yield from self._go_on(0, self.setting.warmup_ns, part_ns)
            self._end_warmup()
        yield from self._go_on(self.setting.warmup_ns, self.setting.until_ns, part_ns)

    def _go_on(self, at: int, until: int, part_ns: int) -> Iterator[int]:
        while at < until and self.ended_ns is None and not self.given_up:
            at = min(at + part_ns, until)
            self._cover(at)
            self.engine.run(at)
            if self.repairs:
                self.repairs.read(self.engine.log)
            yield at

    def _end_warmup(self) -> None:
        """Keep what was counted apart, and forget what was highest and what came first."""
        source = self.source
        source.state.outstanding = source.queue.state.most = 0
        source.wired.hops["most"] = source.media["longest_ns"] = 0
        forget_firsts(source)
        self.before = counts(source, self.engine)

    def _cover(self, until: int) -> None:
        """Draw media's times up to `until`."""
        source = self.source
        for way, name in ((DOWN, "media_down"), (UP, "media_up")):
            media = self.setting.media[int(way)]
            if media is not None:
                source.media[way].octets = media.packet_octets
                times = media.times(until)
                source = source._replace(**{name: times})
                due = int(times[int(source.media[way].next)])  # nothing else may be due that would look at it
                source.state.next_ns = min(int(source.state.next_ns), due)
        self.source = source

    def counted(self, name: str) -> int:
        """What all ends of TCP counted."""
        return int(self.source.totals[name]) + int(self.source.tcp.ends[name].sum())

    @property
    def given_up(self) -> bool:
        """Whether the link protocol of either side has given up for good: nothing more will come."""
        ended = self.setting.protocol.ended
        return ended(self.engine.a) or ended(self.engine.b)

    @property
    def ended_ns(self) -> int | None:
        """When the applications were done; None if they are not."""
        finished = int(self.source.work.state.finished_ns)
        return finished if finished <= self.engine.until or finished < 2**62 else None
