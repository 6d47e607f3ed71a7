"""Two entities of a protocol against each other, driven in parts: `Engine(...).run(until)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from multitracer.model.errors import UsageError
from multitracer.replay.arq.notes import Log, log
from multitracer.replay.engine import ledger, way
from multitracer.replay.engine.direction import Direction
from multitracer.replay.engine.loop import A, B, Link, Run
from multitracer.replay.engine.reports import CAME, WENT, Upper, marks, reports
from multitracer.replay.engine.source import source
from multitracer.replay.engine.way import AIR_FULL, DONE, NUMBERS_USED, STOPPED, Way

__all__ = ["A", "B", "Engine", "Keep", "Protocol"]


@dataclass(frozen=True)
class Protocol:
    """What the engine needs of a protocol."""

    name: str
    parameters: type[Any]
    """The dataclass of what can be chosen about an entity."""
    octets: Callable[[Any], Any]
    """One end in octets with these parameters, for Python; it sends nothing where it has nothing to say."""
    entity: Callable[[Any], Any]
    """An entity of these parameters."""
    frames: Callable[[int, Any], Any]
    """A table for a number of frames of entities with these parameters."""
    run: Run
    """Its loop, made by `loop.bind`."""
    counters: Callable[[Any], dict[str, int]]
    """What an entity counted, by name."""
    frame_bytes: Callable[[Any], int] = lambda _: 0
    """The size of full frames by these parameters, where they have one size."""
    check: Callable[[Any, Any], None] = lambda *_: None
    """Raises UsageError for parameters of A and B that do not go together."""
    in_order: bool = False
    """Whether what was offered before something that came never comes after it, unless the air makes a frame late."""
    repeats: bool = True
    """Whether it sends again what was lost."""
    obey: Callable[[Any, Iterable[tuple[int, int]]], None] | None = None
    """Gives an entity orders (see `arq.orders`); None where it has no resets."""
    ended: Callable[[Any], bool] = lambda _: False
    """Whether an entity has given up the link for good."""


@dataclass(frozen=True)
class Keep:
    """How much is kept of a run: rows of the log, stretches and SDUs reported, SDUs under way (0: none)."""

    log: int = 0
    stretches: int = 0
    sdus: int = 0
    ledger: int = 0


class Engine:
    """A link of two entities, A and B; `run` goes on where it ended."""

    def __init__(
        self, protocol: Protocol, parameters: tuple[Any, Any], forth: Direction, back: Direction,
        offered: Any = None, keep: Keep | None = None,
    ) -> None:  # fmt: skip
        protocol.check(*parameters)
        self.protocol, self.parameters, self.directions = protocol, parameters, (forth, back)
        keep = keep or Keep()
        offered = offered or source()
        endless = int(offered.state.saturated_a), int(offered.state.saturated_b)
        if any(d.eager and d.queue_frames == 0 and s for d, s in zip((forth, back), endless, strict=True)):
            raise UsageError("a source that never ends needs a queue of limited length below an eager entity")
        kept = max(keep.ledger, keep.sdus, int(offered.state.listens))
        kept_log = log(keep.log, self._frames(keep.log))
        self.link = Link(
            protocol.entity(parameters[0]), protocol.entity(parameters[1]),
            forth.way(0, self._frames), back.way(1, self._frames),
            Upper(offered, ledger.ledgers(kept), reports(keep.stretches, keep.sdus), kept_log),
        )  # fmt: skip
        self.until = -1
        """What happens up to this time (ns) has happened."""
        self.events = 0
        """How much that was (see `reports.MARKS`)."""
        for e in (self.a, self.b):
            e.above.count.wanted = int(keep.stretches > 0 or kept > 0)
        in_order = [protocol.in_order and not direction.late for direction in (forth, back)]
        self.link.upper.books.state["in_order"][:2] = in_order

    def _frames(self, capacity: int) -> Any:
        return self.protocol.frames(capacity, self.parameters[0])

    def run(self, until: int) -> Engine:
        """Let everything happen up to a time (ns), that instant included."""
        self.run_through([until])
        return self

    def run_through(self, untils: Any) -> Any:
        """The same up to each of several times (ns), the last of them the end.

        Of the octets that B has handed over by the end: how many had come by each time.
        """
        passing = marks(untils)
        ways = zip(self.directions, (self.link.forth, self.link.back), strict=True)
        forth, back = (direction.channel.cover(made, int(untils[-1])) for direction, made in ways)
        self.link = self.link._replace(forth=forth, back=back)
        while (short := self.protocol.run(self.link, passing)) not in (DONE, STOPPED):
            self._provide(int(short))
        self.until = int(untils[-1])
        self.events += int(passing.state.events)
        return passing.octets

    def _provide(self, short: int) -> None:
        """More room for frames or SDUs, or more of the channel's numbers, wherever they have run out."""
        link = self.link
        if short == AIR_FULL:
            link = link._replace(forth=self._roomier(link.forth), back=self._roomier(link.back))
        elif short == NUMBERS_USED:
            forth, back = (d.channel.go_on(w) for d, w in zip(self.directions, (link.forth, link.back), strict=True))
            link = link._replace(forth=forth, back=back)
        else:
            books = ledger.grown(link.upper.books)
            link = link._replace(upper=link.upper._replace(books=books, source=link.upper.source.grown(books)))
        self.link = link

    def _roomier(self, made: Way) -> Way:
        """The way with a longer ring, if more than half of its own is in use."""
        if 2 * int(made.state.made - made.state.arrived) <= len(made.air):
            return made
        return way.grown(made, self._frames(2 * len(made.air)))

    @property
    def a(self) -> Any:
        """Entity A."""
        return self.link.a

    @property
    def b(self) -> Any:
        """Entity B."""
        return self.link.b

    @property
    def log(self) -> Log:
        """The log so far: its rows, and their frames."""
        kept = self.link.upper.log
        rows = int(kept.state.rows)
        return kept._replace(rows=kept.rows[:rows], frames=kept.frames[:rows])

    @property
    def handed(self) -> Any:
        """Stretches handed over so far."""
        return self._so_far("stretches", CAME)

    @property
    def lost(self) -> Any:
        """Stretches given up by their senders so far."""
        return self._so_far("stretches", WENT)

    @property
    def sdus(self) -> Any:
        """SDUs that came whole so far."""
        return self._so_far("sdus", CAME)

    @property
    def gone(self) -> Any:
        """SDUs that will never come, so far."""
        return self._so_far("sdus", WENT)

    def _so_far(self, name: str, kind: int) -> Any:
        kept = self.link.upper.reports
        return getattr(kept, name)[kind, : int(kept.state[kind][name])]

    def clear(self) -> None:
        """Forget what the log and the reports hold."""
        upper = self.link.upper
        upper.log.state.rows = upper.log.state.noted = 0
        upper.reports.state["stretches"] = upper.reports.state["sdus"] = 0
