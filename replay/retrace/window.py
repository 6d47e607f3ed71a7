"""SR, ASR and Raw in a retrace: window protocols whose frame carries one SDU."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from multitracer.model.errors import UsageError
from multitracer.replay.arq.raw.entity import RawParameters
from multitracer.replay.arq.sr import link as sr_link
from multitracer.replay.arq.sr.asr import AsrParameters
from multitracer.replay.arq.sr.parameters import SrParameters, WindowParameters
from multitracer.replay.engine.opportunities import source
from multitracer.replay.retrace.models import MS, Air, Carried, Ints, Kind, by_stretch, why_nothing


@dataclass(frozen=True)
class Window:
    """SR, ASR, and the raw link, where a lost frame stays lost: a frame carries one SDU."""

    settings: SrParameters | AsrParameters | RawParameters

    @property
    def parameters(self) -> dict[str, Any]:
        """By name, at frames of one block."""
        return asdict(self.settings)

    def carry(self, air: Air, firsts: Ints) -> Carried:
        """The timeout grows with the frame; ASR's first one does, and then follows what it measures."""
        room = air.frame_bytes - self.settings.header_bytes
        if room < 1:
            raise UsageError(
                f"frames of {air.frame_bytes} octets have no room behind a header of {self.settings.header_bytes}"
            )
        offers = source(saturated_octets=room), source()
        link = sr_link.link(self._scaled(air), air.frame_ns, air.delay_ns, (air.forth, air.back), offers)

        def run(first: int, last: int) -> int:
            sr_link.run(link, first, last)
            return sr_link.counters(link)[1]["delivered_octets"]

        octets = by_stretch(firsts, run)
        counts = dict(zip(("sender", "receiver"), sr_link.counters(link), strict=True))
        return Carried(octets, counts, why_nothing(octets, air))

    def _scaled(self, air: Air) -> WindowParameters | None:
        longer = round(air.patience_ns / MS)
        if isinstance(self.settings, SrParameters):
            return replace(self.settings, timeout_ms=self.settings.timeout_ms + longer)
        if isinstance(self.settings, AsrParameters):
            return replace(self.settings, initial_srtt_ms=self.settings.initial_srtt_ms + longer)
        return None


KINDS = {
    "raw": Kind(RawParameters, Window),
    "sr": Kind(SrParameters, Window),
    "asr": Kind(AsrParameters, Window),
}
