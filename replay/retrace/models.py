"""The link protocols that retrace knows by name: each carries a saturated source over given losses.

Both ends run, and both directions lose what their traces say. Timers grow with the frame: what waits for an
answer waits four frames longer for every frame duration that is longer than a block's (data, wait for
an opportunity, answer, and its wait). Timer_Discard does not: how long an SDU is of use is not the link's matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from multitracer.compute.records import record
from multitracer.model.errors import UsageError
from multitracer.model.settings import parsed, value
from multitracer.replay.arq.raw.entity import RawParameters
from multitracer.replay.arq.rlc import am_entity, tm, um
from multitracer.replay.arq.rlc import link as rlc_link
from multitracer.replay.arq.rlc import parameters as rlc_parameters
from multitracer.replay.arq.rlp import entity
from multitracer.replay.arq.rlp import link as rlp_link
from multitracer.replay.arq.rlp import state as rlp_state
from multitracer.replay.arq.sr import link as sr_link
from multitracer.replay.arq.sr.asr import AsrParameters
from multitracer.replay.arq.sr.parameters import SrParameters, WindowParameters
from multitracer.replay.engine.opportunities import source

Ints = npt.NDArray[np.int64]
MS = 1_000_000
Counts = dict[str, dict[str, int]]
"""What sender and receiver counted, by name."""
ANSWERED_AFTER = 4
"""Frames between one and its answer that take longer when frames do."""


@dataclass(frozen=True)
class Air:
    """What a protocol runs over: which frames are lost each way, and how long they are."""

    forth: npt.NDArray[np.uint8]
    back: npt.NDArray[np.uint8]
    frame_bytes: int
    block_ns: int
    blocks: int
    """Blocks of a frame."""
    rtt_ns: int
    """Of the link at frames of one block."""

    def __post_init__(self) -> None:
        if self.rtt_ns < 2 * self.block_ns:
            raise UsageError(
                f"--rtt-ms {self.rtt_ns / MS:g} is below two blocks; it must be {2 * self.block_ns / MS:g} or more"
            )

    @property
    def frame_ns(self) -> int:
        """How long a frame is on the air."""
        return self.blocks * self.block_ns

    @property
    def delay_ns(self) -> int:
        """From a frame's first bit to when it has arrived."""
        return self.rtt_ns // 2 + self.longer_ns

    @property
    def longer_ns(self) -> int:
        """What a frame lasts longer than a block."""
        return self.frame_ns - self.block_ns

    @property
    def patience_ns(self) -> int:
        """What a timer waits longer for than at frames of one block."""
        return ANSWERED_AFTER * self.longer_ns


@dataclass(frozen=True)
class Carried:
    """What came through."""

    octets: Ints
    """User octets delivered in each stretch of the trace."""
    counts: Counts
    ended: str = ""
    """Why nothing came through, in words."""
    warnings: tuple[str, ...] = ()
    """What else a reader of the throughput should know."""


class Model(Protocol):
    """A link protocol."""

    @property
    def parameters(self) -> dict[str, Any]:
        """What it is set to, by name, at frames of one block."""

    def carry(self, air: Air, firsts: Ints) -> Carried:
        """Run it from end to end; stretch i holds the frames `firsts[i]` to `firsts[i + 1]`."""


def named(name: str, given: Mapping[str, str]) -> Model:
    """The model of that name with those parameters; raises UsageError for what there is not."""
    if name not in MODELS:
        raise UsageError(f"there is no model '{name}'\nThere are: ideal, {', '.join(MODELS)}.")
    return MODELS[name](given)


@dataclass(frozen=True)
class Rlp:
    """GSM RLP, both entities."""

    settings: entity.Parameters

    @property
    def parameters(self) -> dict[str, Any]:
        """By name, at frames of one block."""
        return {name: value for name, value in asdict(self.settings).items() if name != "frame_bytes"}

    def link(self, air: Air, log_rows: int = 0) -> rlp_link.Link:
        """Both ends, not yet run; T1, and T_RCVS where it is one of its own, grow with the frame."""
        base = self.settings
        own = replace(
            base, frame_bytes=air.frame_bytes, t1_ns=base.t1_ns + air.patience_ns,
            t_rcvs_ns=base.t_rcvs_ns and base.t_rcvs_ns + air.patience_ns,
        )  # fmt: skip
        return rlp_link.Link(own, own, air.frame_ns, air.delay_ns, air.forth, air.back, log_rows=log_rows)

    def carry(self, air: Air, firsts: Ints) -> Carried:
        """Run it from end to end."""
        link = self.link(air)
        octets = _by_stretch(firsts, lambda _, last: int(link.carry(last).b[rlp_state.DELIVERED]))
        counts = {"sender": link.summary(rlp_link.A), "receiver": link.summary(rlp_link.B)}
        resets = counts["sender"]["resets"] + counts["receiver"]["resets"]
        return Carried(octets, counts, _why(octets, air, resets), tuple(_rlp_warnings(link, air)))


def _rlp_warnings(link: rlp_link.Link, air: Air) -> Iterator[str]:
    """What went wrong on the way, in words."""
    if rlp_state.FAILED in (link.summary(rlp_link.A)["state"], link.summary(rlp_link.B)["state"]):
        yield "the link was given up: SABM found no answer"
    wrong = link.summary(rlp_link.B)["misdelivered"]
    if wrong:
        own = link.parameters_a
        round_trip = 2 * air.delay_ns
        short = f"; T1 of {own.t1_ns / MS:g} ms is not above the round trip" if own.t1_ns <= round_trip else ""
        yield (
            f"{wrong} times a frame was taken for another, and data was lost: numbers modulo 62 are ambiguous with "
            f"SREJ and a window of {own.window}{short}"
        )


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

        octets = _by_stretch(firsts, run)
        counts = dict(zip(("sender", "receiver"), sr_link.counters(link), strict=True))
        return Carried(octets, counts, _why(octets, air))

    def _scaled(self, air: Air) -> WindowParameters | None:
        longer = round(air.patience_ns / MS)
        if isinstance(self.settings, SrParameters):
            return replace(self.settings, timeout_ms=self.settings.timeout_ms + longer)
        if isinstance(self.settings, AsrParameters):
            return replace(self.settings, initial_srtt_ms=self.settings.initial_srtt_ms + longer)
        return None


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

        octets = _by_stretch(firsts, run)
        counts = {"sender": rlc_link.tally(link, a, rlc_link.A), "receiver": rlc_link.tally(link, b, rlc_link.B)}
        over = ("the link was given up: MaxRST RESETs found no answer",) if counts["sender"]["ended"] else ()
        return Carried(octets, counts, _why(octets, air), over)


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
        tally, frame = record(um.UM_TALLY), np.zeros(air.frame_bytes, dtype=np.uint8)

        def run(first: int, last: int) -> int:
            um.um_carry(a, b, tally, self.sdu_bytes, air.frame_ns, air.forth, frame, first, last)
            return int(tally.octets)

        octets = _by_stretch(firsts, run)
        offered, *received = tally.item()
        names = ("delivered", "delivered_octets", "wrong")
        sender = {"offered": offered, "discarded": int(a.counts.discarded)}
        counts = {"sender": sender, "receiver": dict(zip(names, received, strict=True))}
        return Carried(octets, counts, _why(octets, air))


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
        return Carried(octets, counts, _why(octets, air))


def _by_stretch(firsts: Ints, run: Callable[[int, int], int]) -> Ints:
    """Octets delivered in each stretch; `run(first, last)` carries on and gives all delivered so far."""
    bounds = firsts.tolist()
    so_far = [0, *(run(first, last) for first, last in pairwise(bounds))]
    return np.array([after - before for before, after in pairwise(so_far)], dtype=np.int64)


def _why(octets: Ints, air: Air, resets: int = 0) -> str:
    """Why nothing came through, in words; empty when something did."""
    if octets.any():
        return ""
    if air.forth.all():
        return "every frame of the data's direction is lost"
    if air.back.all():
        return "every frame of the answers' direction is lost"
    return "the link was reset for ever, as frames were lost too often" if resets else "nothing was delivered whole"


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


def _rlc_am(given: Mapping[str, str]) -> Model:
    rest, size = _with_sdu(given)
    return Acknowledged(_parsed("rlc-am", rest), size)


def _rlc_um(given: Mapping[str, str]) -> Model:
    rest, size = _with_sdu(given)
    return Unacknowledged(_parsed("rlc-um", rest), size)


def _parsed(name: str, given: Mapping[str, str]) -> Any:
    for key in given:
        if key.lower().replace("-", "_") in DECIDED[name]:
            raise UsageError(f"{name}: {key} follows from the frame size\nGive --frame-sizes or the block's size.")
    return parsed(PARAMETERS[name], {**RETRACE_DEFAULTS.get(name, {}), **given}, name)


SDU_BYTES = 1500
"""An IP packet of a saturated source."""
PARAMETERS: dict[str, type[Any]] = {
    "raw": RawParameters, "rlp": entity.Parameters, "rlc-am": rlc_parameters.Parameters, "rlc-um": um.UmParameters,
    "rlc-tm": NoParameters, "sr": SrParameters, "asr": AsrParameters,
}  # fmt: skip
RETRACE_DEFAULTS: dict[str, dict[str, str]] = {
    # A link that gave up for good after one long outage would say nothing of the frame size.
    "rlp": {"persistent": "yes"},
    # A source that never ends has no last PDU to poll in: the timer must run by itself.
    "rlc-am": {"poll_when_unacknowledged": "yes"},
}
DECIDED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("raw", "rlc-tm", "sr", "asr"), ()),
    "rlp": ("frame_bytes",), "rlc-am": ("pdu_bytes", "tti_ns", "tti_ms", "pdus_per_tti"), "rlc-um": ("pdu_bytes",),
}  # fmt: skip
"""What retrace sets itself, by the frame."""
MODELS: dict[str, Callable[[Mapping[str, str]], Model]] = {
    "raw": lambda given: Window(_parsed("raw", given)),
    "rlp": lambda given: Rlp(_parsed("rlp", given)),
    "rlc-am": _rlc_am,
    "rlc-um": _rlc_um,
    "rlc-tm": lambda given: Transparent(_parsed("rlc-tm", given)),
    "sr": lambda given: Window(_parsed("sr", given)),
    "asr": lambda given: Window(_parsed("asr", given)),
}
