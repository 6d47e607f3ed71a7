"""SR, ASR and Raw in a retrace: protocols whose frame carries one SDU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from multitracer.model.errors import UsageError
from multitracer.replay.arq.raw.parameters import RawParameters
from multitracer.replay.arq.sr.asr import AsrParameters
from multitracer.replay.arq.sr.parameters import SrParameters
from multitracer.replay.engine.direction import Direction, Erased
from multitracer.replay.engine.driver import Engine, Protocol
from multitracer.replay.engine.raw import RAW
from multitracer.replay.engine.source import source
from multitracer.replay.engine.sr import ASR, SR
from multitracer.replay.retrace.models import MS, Air, Ints, Kind, Outcome, stretch_octets, why_nothing

_RUN_AWAY = 2
WindowSettings = SrParameters | AsrParameters | RawParameters


@dataclass(frozen=True)
class Window:
    """SR, ASR, and the raw link, where a lost frame stays lost: a frame carries one SDU."""

    settings: WindowSettings

    @property
    def parameters(self) -> dict[str, Any]:
        """By name, at frames of one block."""
        return asdict(self.settings)

    def check(self, air: Air) -> None:
        """Raise UsageError where a frame has no room behind its header."""
        if air.frame_bytes <= self.settings.header_bytes:
            raise UsageError(
                f"frames of {air.frame_bytes} octets have no room behind a header of {self.settings.header_bytes}"
            )

    def carry(self, air: Air, firsts: Ints) -> Outcome:
        """Run it from end to end: A sends frames without end, B only answers."""
        self.check(air)
        room = air.frame_bytes - self.settings.header_bytes
        own = self._scaled(air)
        protocol: Protocol = RAW if isinstance(own, RawParameters) else SR
        forth, back = (
            Direction(air.delay_ns, slot_ns=air.frame_ns, channel=Erased(lost)) for lost in (air.forth, air.back)
        )
        engine = Engine(protocol, (own, own), forth, back, source(saturated=(room, 0)))
        octets = stretch_octets(engine, air, firsts)
        counts = {"sender": protocol.counters(engine.a), "receiver": protocol.counters(engine.b)}
        warnings: tuple[str, ...] = ()
        if isinstance(own, AsrParameters):
            largest_ns = int(engine.a.estimate.largest_ns)
            counts["sender"]["largest_timeout_ms"] = largest_ns // MS
            warnings = tuple(_asr_warnings(own, largest_ns))
        return Outcome(octets, counts, why_nothing(octets, air), warnings)

    def _scaled(self, air: Air) -> WindowSettings:
        """The timeout grows with the frame; of ASR's only the first, since it then follows what it measures."""
        longer = air.patience_ns / MS
        if isinstance(self.settings, RawParameters):
            return self.settings
        own = replace(self.settings, renack_ms=self.settings.renack_ms + longer)
        if isinstance(own, SrParameters):
            return replace(own, timeout_ms=own.timeout_ms + longer)
        return replace(own, initial_srtt_ms=own.initial_srtt_ms + longer)


def _asr_warnings(own: AsrParameters, largest_ns: int) -> Iterator[str]:
    """Say that the timeout ran away: far above what the policy makes of a round trip that varies by all of itself."""
    if largest_ns > _RUN_AWAY * (own.alpha + own.beta) * own.initial_srtt_ms * MS:
        yield (
            f"the timeout ran away, to {largest_ns / 1e9:.0f} s: ACKs that waited for a repair by timeout counted as "
            "round trips; max_timeout_ms limits it"
        )


RAW_KIND = Kind(RAW, Window)
SR_KIND = Kind(SR, Window)
ASR_KIND = Kind(ASR, Window)
