"""UMTS RLC in a retrace: acknowledged, unacknowledged and transparent mode; a frame is a PDU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from multitracer.model.errors import UsageError
from multitracer.model.settings import value
from multitracer.replay.arq.rlc import am_entity, tm, um
from multitracer.replay.arq.rlc import link as rlc_link
from multitracer.replay.arq.rlc import parameters as rlc_parameters
from multitracer.replay.retrace.models import Air, Carried, Extra, Ints, Kind, Model, by_stretch, why_nothing

SDU_BYTES = 1500
"""An IP packet of a saturated source."""


@dataclass(frozen=True)
class Acknowledged:
    """UMTS RLC in acknowledged mode, both entities: a frame is a PDU."""

    settings: rlc_parameters.Parameters
    sdu_bytes: int

    def __post_init__(self) -> None:
        _check_sdu(self.sdu_bytes, self.settings.max_sdu_bytes)

    @property
    def parameters(self) -> dict[str, Any]:
        """By name, at frames of one block."""
        own = {name: value for name, value in asdict(self.settings).items() if name != "pdu_bytes"}
        return {**own, "sdu_bytes": self.sdu_bytes}

    def link(self, air: Air, log_rows: int = 0) -> tuple[rlc_link.Link, am_entity.Entity, am_entity.Entity]:
        """Both ends, not yet run; every timer that runs grows with the frame, but Timer_Discard."""
        base = self.settings
        timers = {name: getattr(base, name) + air.patience_ns for name in _TIMERS if getattr(base, name)}
        own = replace(base, pdu_bytes=air.frame_bytes, tti_ns=air.frame_ns, **timers)
        return rlc_link.link(
            own, frame_ns=air.frame_ns, delay_ns=air.delay_ns, saturated_bytes=self.sdu_bytes,
            erased=(air.forth, air.back), log_rows=log_rows,
        )  # fmt: skip

    def carry(self, air: Air, firsts: Ints) -> Carried:
        """Run it from end to end."""
        link, a, b = self.link(air)

        def run(first: int, last: int) -> int:
            rlc_link.carry(link, a, b, first, last)
            return int(link.tally[rlc_link.B, rlc_link.DELIVERED_OCTETS])

        octets = by_stretch(firsts, run)
        counts = {"sender": rlc_link.tally(link, a, rlc_link.A), "receiver": rlc_link.tally(link, b, rlc_link.B)}
        over = ("the link was given up: MaxRST RESETs found no answer",) if counts["sender"]["ended"] else ()
        return Carried(octets, counts, why_nothing(octets, air), over)


_TIMERS = (
    "poll_ns", "poll_periodic_ns", "poll_prohibit_ns", "status_periodic_ns", "status_prohibit_ns", "epc_ns", "mrw_ns",
    "rst_ns",
)  # fmt: skip


@dataclass(frozen=True)
class Unacknowledged:
    """UMTS RLC in unacknowledged mode: an SDU of which a PDU is lost is lost."""

    settings: um.UmParameters
    sdu_bytes: int

    def __post_init__(self) -> None:
        _check_sdu(self.sdu_bytes, self.settings.max_sdu_bytes)

    @property
    def parameters(self) -> dict[str, Any]:
        """By name."""
        own = {name: value for name, value in asdict(self.settings).items() if name != "pdu_bytes"}
        return {**own, "sdu_bytes": self.sdu_bytes}

    def carry(self, air: Air, firsts: Ints) -> Carried:
        """One entity sends, the other reassembles."""
        own = replace(self.settings, pdu_bytes=air.frame_bytes)
        rlc_parameters.check_queue(own.queue_sdus, own.queue_bytes, own.pdu_bytes, self.sdu_bytes)
        a, b = um.um_entity(own), um.um_entity(own)
        tally, frame = np.zeros(4, dtype=np.int64), np.zeros(air.frame_bytes, dtype=np.uint8)

        def run(first: int, last: int) -> int:
            um.um_carry(a, b, tally, self.sdu_bytes, air.frame_ns, air.forth, frame, first, last)
            return int(tally[um.UM_OCTETS])

        octets = by_stretch(firsts, run)
        offered, *received = tally.tolist()
        names = ("delivered", "delivered_octets", "wrong")
        sender = {"offered": offered, "discarded": int(a.counts[um.UM_DISCARDED])}
        counts = {"sender": sender, "receiver": dict(zip(names, received, strict=True))}
        return Carried(octets, counts, why_nothing(octets, air))


@dataclass(frozen=True)
class NoParameters:
    """Transparent mode has none."""


@dataclass(frozen=True)
class Transparent:
    """UMTS RLC in transparent mode: an SDU is a PDU."""

    settings: NoParameters

    @property
    def parameters(self) -> dict[str, Any]:
        """None."""
        return {}

    def carry(self, air: Air, firsts: Ints) -> Carried:
        """What was not lost came through."""
        parts = [tm.tm_carry(air.forth, first, last) for first, last in pairwise(firsts.tolist())]
        octets = np.array(parts, dtype=np.int64) * air.frame_bytes
        counts = {"sender": {"sent": int(firsts[-1])}, "receiver": {"delivered": sum(parts)}}
        return Carried(octets, counts, why_nothing(octets, air))


def _check_sdu(size: int, longest: int) -> None:
    if size > longest:
        raise UsageError(f"sdu_bytes {size} must be {rlc_link.LEAST_SDU_BYTES} to max_sdu_bytes, which is {longest}")


def _with_sdu(given: Mapping[str, str]) -> tuple[dict[str, str], int]:
    """The parameters without `sdu_bytes`, and that; the longest SDU is that long where nothing else is said."""
    rest, text = {}, str(SDU_BYTES)
    for key, said in given.items():
        if key.lower().replace("-", "_") == "sdu_bytes":
            text = said
        else:
            rest[key] = said
    size = int(value("sdu_bytes", text, int))
    if not rlc_link.LEAST_SDU_BYTES <= size <= 65_535:
        raise UsageError(f"sdu_bytes {size} must be {rlc_link.LEAST_SDU_BYTES} to 65535")
    longest = max(size, rlc_parameters.Parameters.max_sdu_bytes)
    return {"max_sdu_bytes": str(longest), **rest}, size


class SduKind(Kind):
    """A protocol that cuts SDUs into frames, and so has the size of the SDUs that are offered as a parameter."""

    def build(self, name: str, given: Mapping[str, str]) -> Model:
        """The model with the given parameters, `sdu_bytes` among them."""
        rest, size = _with_sdu(given)
        return self.model(self.parsed(name, rest), size)


_SDU = (Extra("sdu_bytes", SDU_BYTES, "Octets of the packets that are offered."),)
KINDS = {
    "rlc-am": SduKind(
        rlc_parameters.Parameters,
        Acknowledged,
        # A source that never ends has no last PDU to poll in: the timer must run by itself.
        {"poll_when_unacknowledged": "yes"},
        ("pdu_bytes", "tti_ns", "tti_ms", "pdus_per_tti"),
        _SDU,
    ),
    "rlc-um": SduKind(um.UmParameters, Unacknowledged, {}, ("pdu_bytes",), _SDU),
    "rlc-tm": Kind(NoParameters, Transparent),
}
