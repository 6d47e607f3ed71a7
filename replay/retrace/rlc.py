"""UMTS RLC in a retrace: acknowledged, unacknowledged and transparent mode; a frame is a PDU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from multitracer.model.errors import UsageError
from multitracer.model.settings import value
from multitracer.replay.arq.rlc import tm, um
from multitracer.replay.arq.rlc.parameters import Parameters, check, check_queue
from multitracer.replay.arq.rlc.reassembly import HANDED_OVER
from multitracer.replay.engine.direction import Direction, Erased
from multitracer.replay.engine.driver import A, B, Engine, Keep, Protocol
from multitracer.replay.engine.rlc import RLC_AM, RLC_TM, RLC_UM
from multitracer.replay.engine.source import source
from multitracer.replay.retrace.models import Air, Extra, Ints, Kind, Model, Outcome, stretch_octets, why_nothing

SDU_BYTES = 1500
"""An IP packet of a saturated source."""
LONGEST_SDU_BYTES = 65_535
"""What an entity can be set to at most; in transparent mode a queue of such SDUs has room for longer ones."""
LEAST_SDU_BYTES = 8
"""Every made-up SDU begins with its number in eight octets."""


@dataclass(frozen=True)
class Acknowledged:
    """UMTS RLC in acknowledged mode, both entities: a frame is a PDU."""

    settings: Parameters
    sdu_bytes: int

    def __post_init__(self) -> None:
        _check_sdu(self.sdu_bytes, self.settings.max_sdu_bytes)
        if not self.settings.length_indicators:
            raise UsageError("length_indicators must be yes: SDUs are not cut to the size of a frame without them")

    @property
    def parameters(self) -> dict[str, Any]:
        """By name, at frames of one block."""
        own = {name: value for name, value in asdict(self.settings).items() if name != "pdu_bytes"}
        return {**own, "sdu_bytes": self.sdu_bytes}

    def check(self, air: Air) -> None:
        """Raise UsageError where it cannot have frames of that size."""
        self._scaled(air)

    def _scaled(self, air: Air) -> Parameters:
        """Every timer that runs grows with the frame, but Timer_Discard."""
        base = self.settings
        timers = {name: getattr(base, name) + air.patience_ns for name in _TIMERS if getattr(base, name)}
        own = replace(base, pdu_bytes=air.frame_bytes, tti_ns=air.frame_ns, **timers)
        check_queue(own.queue_sdus, own.queue_bytes, own.pdu_bytes, self.sdu_bytes)
        return own

    def engine(self, air: Air, log_rows: int = 0, protocol: Protocol = RLC_AM) -> Engine:
        """Both ends, not yet run."""
        own = self._scaled(air)
        forth, back = (Direction(air.delay_ns, air.frame_ns, channel=Erased(lost)) for lost in (air.forth, air.back))
        endless = source(saturated=(self.sdu_bytes, 0))
        return Engine(protocol, (own, own), forth, back, endless, Keep(log=log_rows))

    def carry(self, air: Air, firsts: Ints) -> Outcome:
        """Run it from end to end."""
        engine = self.engine(air)
        octets = stretch_octets(engine, air, firsts)
        counts = {"sender": tally(engine, A), "receiver": tally(engine, B)}
        return Outcome(octets, counts, why_nothing(octets, air), tuple(_am_warnings(counts["sender"])))


def _am_warnings(sender: Mapping[str, int]) -> Iterator[str]:
    """What became of resets that found no answer, in words."""
    times = sender["reestablished"]
    if times:
        often = "once" if times == 1 else f"{times} times"
        yield f"the link was re-established {often}: MaxRST RESETs found no answer"
    if sender["ended"]:
        yield "the link was given up: MaxRST RESETs found no answer"


def tally(engine: Engine, side: int) -> dict[str, int]:
    """What was counted of a side: SDUs offered, PDUs sent and erased, and what its entity counted."""
    way, e = (engine.link.forth, engine.a) if side == A else (engine.link.back, engine.b)
    counted = engine.protocol.counters(e)
    offered = {"offered": int(e.queue.v.tail), "refused": int(e.queue.v.refused)}
    frames = {"frames": int(way.state.sent), "erased": int(way.state.erased)}
    handed = {name: counted.pop(name) for name in HANDED_OVER}
    return {**offered, **frames, **_with_repeated(handed), **counted}


def _with_repeated(handed: dict[str, int]) -> dict[str, int]:
    """The counts with `repeated`, the SDUs handed over again, which is always 0 and kept for readers of earlier files.

    The receiver drops repeated PDUs by their numbers.
    """
    found: dict[str, int] = {}
    for name, count in handed.items():
        found[name] = count
        if name == "misordered":
            found["repeated"] = 0
    return found


_TIMERS = (
    "poll_ns", "poll_periodic_ns", "poll_prohibit_ns", "status_periodic_ns", "status_prohibit_ns", "epc_ns", "mrw_ns",
    "rst_ns", "resend_guard_ns",
)  # fmt: skip


_AT_ONCE_NS = 1
"""Without answers the delay says nothing: what an opportunity carried counts there."""


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

    def check(self, air: Air) -> None:
        """Raise UsageError where it cannot have frames of that size."""
        self._sized(air)

    def _sized(self, air: Air) -> um.UmParameters:
        own = replace(self.settings, pdu_bytes=air.frame_bytes)
        check_queue(own.queue_sdus, own.queue_bytes, own.pdu_bytes, self.sdu_bytes)
        return own

    def carry(self, air: Air, firsts: Ints) -> Outcome:
        """One entity sends, the other reassembles."""
        own = self._sized(air)
        engine, octets = _one_way(RLC_UM, own, self.sdu_bytes, air, firsts)
        sender = {"offered": int(engine.a.queue.v.tail), "discarded": int(engine.a.counts.discarded)}
        counted = um.um_counters(engine.b)
        received = {name: counted[name] for name in ("delivered", "delivered_octets", "wrong")}
        counts = {"sender": sender, "receiver": received}
        return Outcome(octets, counts, why_nothing(octets, air))


@dataclass(frozen=True)
class Transparent:
    """UMTS RLC in transparent mode: an SDU is a PDU."""

    settings: tm.TmParameters

    @property
    def parameters(self) -> dict[str, Any]:
        """None that has an effect."""
        return {}

    def check(self, air: Air) -> None:
        """Raise UsageError where it cannot have frames of that size."""
        check("frame_bytes", air.frame_bytes, 1, self.settings.queue_sdus * self.settings.max_sdu_bytes)

    def carry(self, air: Air, firsts: Ints) -> Outcome:
        """One entity sends SDUs of a frame's size, the other hands over what was not lost."""
        self.check(air)
        own = self.settings
        engine, octets = _one_way(RLC_TM, own, air.frame_bytes, air, firsts)
        sender = {"sent": int(engine.a.counts.sent)}
        receiver = {"delivered": int(engine.b.counts.delivered)}
        return Outcome(octets, {"sender": sender, "receiver": receiver}, why_nothing(octets, air))


def _one_way(protocol: Protocol, own: Any, sdu_bytes: int, air: Air, firsts: Ints) -> tuple[Engine, Ints]:
    """A run in which A sends SDUs without end and nothing is answered, and the octets that B delivered by stretch."""
    forth, back = (Direction(_AT_ONCE_NS, air.frame_ns, channel=Erased(lost)) for lost in (air.forth, ()))
    engine = Engine(protocol, (own, own), forth, back, source(saturated=(sdu_bytes, 0)))
    return engine, np.diff(engine.run_through((firsts[1:] - 1) * air.frame_ns + _AT_ONCE_NS), prepend=0)


def _check_sdu(size: int, longest: int) -> None:
    if size > longest:
        raise UsageError(f"sdu_bytes {size} must be {LEAST_SDU_BYTES} to max_sdu_bytes, which is {longest}")


def _with_sdu(given: Mapping[str, str]) -> tuple[dict[str, str], int]:
    """The parameters without `sdu_bytes`, and that; the longest SDU is that long where nothing else is said."""
    rest, text = {}, str(SDU_BYTES)
    for key, said in given.items():
        if key.lower().replace("-", "_") == "sdu_bytes":
            text = said
        else:
            rest[key] = said
    size = int(value("sdu_bytes", text, int))
    if not LEAST_SDU_BYTES <= size <= LONGEST_SDU_BYTES:
        raise UsageError(f"sdu_bytes {size} must be {LEAST_SDU_BYTES} to {LONGEST_SDU_BYTES}")
    longest = max(size, Parameters.max_sdu_bytes)
    return {"max_sdu_bytes": str(longest), **rest}, size


class SduKind(Kind):
    """A protocol that cuts SDUs into frames, and so has the size of the SDUs that are offered as a parameter."""

    def build(self, name: str, given: Mapping[str, str]) -> Model:
        """The model with the given parameters, `sdu_bytes` among them."""
        rest, size = _with_sdu(given)
        return self.model(self.parse(name, rest), size)


class TransparentKind(Kind):
    """Transparent mode, whose parameters have no effect where SDUs are as long as frames and none waits."""

    def parse(self, name: str, given: Mapping[str, str]) -> tm.TmParameters:
        """The entity's parameters; raises UsageError if any is given."""
        for key in given:
            raise UsageError(f"{name} has no parameter '{key}'\nIt has none.")
        return tm.TmParameters(max_sdu_bytes=LONGEST_SDU_BYTES)


_SDU = (Extra("sdu_bytes", SDU_BYTES, "Octets of the packets that are offered."),)
AM_KIND = SduKind(
    RLC_AM,
    Acknowledged,
    # A source that never ends has no last PDU to poll in: the timer must run by itself. And a link that gave up for
    # good after one long outage would say nothing of the frame size.
    {"poll_when_unacknowledged": "yes", "after_max_rst": "reestablish"},
    ("pdu_bytes", "tti_ns", "tti_ms", "pdus_per_tti"),
    _SDU,
)
UM_KIND = SduKind(RLC_UM, Unacknowledged, {}, ("pdu_bytes",), _SDU)
TM_KIND = TransparentKind(
    RLC_TM, Transparent, from_frame=("max_sdu_bytes", "discard_ns", "queue_sdus"),
    note="`retrace` has none to set: an SDU is as long as a frame, and none waits for the next one.",
)  # fmt: skip
