"""One run of a scenario: what lies between the applications, built from its keys, and driven until they are done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from multitracer.replay.engine.direction import Direction
from multitracer.replay.engine.driver import Engine, Keep, Protocol
from multitracer.replay.simulate.journal import journal
from multitracer.replay.simulate.media import Media
from multitracer.replay.simulate.transport import DOWN, UP, Transport, transport
from multitracer.replay.simulate.wired import wired
from multitracer.replay.simulate.work import Work

PART_NS = 200 * 10**9
"""So much simulated time is run at once; before it, media's times are drawn up to its end."""
PACKETS = 4096
"""Packets on the link for which there is room at first."""


@dataclass(frozen=True)
class Hop:
    """One direction of the wired hop."""

    rate_bps: int = 10_000_000
    delay_ns: int = 1_000_000
    queue_packets: int = 50


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
    until_ns: int = 10**15
    """When the run ends, unless the applications are done before."""


@dataclass
class Simulation:
    """A run of a setting; `run` goes on to its end."""

    setting: Setting
    rows: int = 0
    """Room in the link's log, and in the journal; 0: neither is kept."""
    engine: Engine = field(init=False)

    def __post_init__(self) -> None:
        s = self.setting
        source = transport(
            s.tcp, wired([(hop.rate_bps, hop.delay_ns, hop.queue_packets) for hop in s.wired]), s.work,
            journal(self.rows), segment_octets=s.segment_octets, header_octets=s.header_octets, past=s.past,
        )  # fmt: skip
        self.engine = Engine(s.protocol, s.link, *s.radio, source, Keep(log=self.rows, ledger=PACKETS))
        self.source = source.grown(self.engine.link.upper.books)

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
        for _ in self.parts(PART_NS):
            pass
        return self

    def parts(self, part_ns: int) -> Iterator[int]:
        """Run part by part to the same end; gives the time at the end of each."""
        at = 0
        while at < self.setting.until_ns and self.ended_ns is None:
            at = min(at + part_ns, self.setting.until_ns)
            self._cover(at)
            self.engine.run(at)
            yield at

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
    def ended_ns(self) -> int | None:
        """When the applications were done; None if they are not."""
        finished = int(self.source.work.state.finished_ns)
        return finished if finished <= self.engine.until or finished < 2**62 else None
