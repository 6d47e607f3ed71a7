"""GSM RLP in a retrace: both entities, with timers that grow with the frame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from multitracer.replay.arq.rlp import entity
from multitracer.replay.arq.rlp.state import FAILED
from multitracer.replay.engine.direction import Direction, Erased
from multitracer.replay.engine.driver import Engine, Keep
from multitracer.replay.engine.rlp import RLP
from multitracer.replay.engine.source import source
from multitracer.replay.retrace.models import MS, Air, Ints, Kind, Outcome, stretch_octets, why_nothing


@dataclass(frozen=True)
class Rlp:
    """GSM RLP, both entities."""

    settings: entity.Parameters

    @property
    def parameters(self) -> dict[str, Any]:
        """By name, at frames of one block."""
        return {name: value for name, value in asdict(self.settings).items() if name != "frame_bytes"}

    def check(self, air: Air) -> None:
        """Raise UsageError where it cannot have frames of that size."""
        self._scaled(air)

    def _scaled(self, air: Air) -> entity.Parameters:
        """T1, and T_RCVS where it is one of its own, grow with the frame.

        With a source that never ends, a reset drops what was sent only, whatever `flush_queue` says: how much waits
        to be sent is then the engine's choice, and would be counted as lost.
        """
        base = self.settings
        return replace(
            base, frame_bytes=air.frame_bytes, t1_ns=base.t1_ns + air.patience_ns,
            t_rcvs_ns=base.t_rcvs_ns and base.t_rcvs_ns + air.patience_ns, flush_queue=False,
        )  # fmt: skip

    def engine(self, air: Air, log_rows: int = 0) -> Engine:
        """Both ends, not yet run."""
        own = self._scaled(air)
        forth, back = (Direction(air.delay_ns, air.frame_ns, channel=Erased(lost)) for lost in (air.forth, air.back))
        return Engine(RLP, (own, own), forth, back, source(saturated=(own.room, 0)), Keep(log=log_rows))

    def carry(self, air: Air, firsts: Ints) -> Outcome:
        """Run it from end to end."""
        engine = self.engine(air)
        octets = stretch_octets(engine, air, firsts)
        counts = {"sender": _counted(engine.a), "receiver": _counted(engine.b)}
        resets = counts["sender"]["resets"] + counts["receiver"]["resets"]
        return Outcome(octets, counts, why_nothing(octets, air, resets), tuple(_rlp_warnings(engine, air)))


def _counted(e: Any) -> dict[str, int]:
    """What an entity counted, and how it ended."""
    return {**entity.counters(e), "state": int(e.state)}


def _rlp_warnings(engine: Engine, air: Air) -> Iterator[str]:
    """What went wrong on the way, in words."""
    if FAILED in (engine.a.state, engine.b.state):
        yield "the link was given up: SABM found no answer"
    wrong = int(engine.b.misdelivered)
    if wrong:
        own = engine.parameters[0]
        round_trip = 2 * air.delay_ns
        short = f"; T1 of {own.t1_ns / MS:g} ms is not above the round trip" if own.t1_ns <= round_trip else ""
        yield (
            f"{wrong} times a frame was taken for another, and data was lost: numbers modulo 62 are ambiguous with "
            f"SREJ and a window of {own.window}{short}"
        )


# A link that gave up for good after one long outage would say nothing of the frame size.
RLP_KIND = Kind(RLP, Rlp, {"persistent": "yes"}, ("frame_bytes",))
