"""What retrace needs of a link protocol, and where it finds one by its name.

Each protocol carries a saturated source over given losses. Both ends run, and each direction loses what its trace
says. Timers grow with the frame: a timer that waits for an answer waits four frames longer for every frame
duration that is longer than a block's (the data, its wait for an opportunity, the answer, and its wait).
Timer_Discard does not grow: how long an SDU is of use does not depend on the link.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from multitracer.model.errors import UsageError
from multitracer.model.settings import parse_parameters
from multitracer.replay.engine.driver import Engine
from multitracer.replay.engine.driver import Protocol as Machine
from multitracer.replay.retrace import MODEL_NAMES, PROTOCOLS

Ints = npt.NDArray[np.int64]
MS = 1_000_000
Counts = dict[str, dict[str, int]]
"""The counters of sender and receiver, by name."""
ANSWERED_AFTER = 4
"""Frame durations that pass between a frame and its answer."""


@dataclass(frozen=True)
class Air:
    """The link under a protocol: which frames are lost in each direction, and how long they are."""

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
        """How long a frame is on the air, in ns."""
        return self.blocks * self.block_ns

    @property
    def delay_ns(self) -> int:
        """From a frame's first bit to its arrival, in ns."""
        return self.rtt_ns // 2 + self.longer_ns

    @property
    def longer_ns(self) -> int:
        """How much longer than a block a frame lasts."""
        return self.frame_ns - self.block_ns

    @property
    def patience_ns(self) -> int:
        """How much longer a timer waits than at frames of one block."""
        return ANSWERED_AFTER * self.longer_ns


@dataclass(frozen=True)
class Outcome:
    """The result of one run."""

    octets: Ints
    """User octets delivered, by the stretch of the trace in which the frames were sent that brought them first."""
    counts: Counts
    ended: str = ""
    """Why nothing came through, in words."""
    warnings: tuple[str, ...] = ()
    """Warnings for whoever reads the throughput."""


class Model(Protocol):
    """A link protocol."""

    @property
    def parameters(self) -> dict[str, Any]:
        """Its parameters by name, at frames of one block."""

    def check(self, air: Air) -> None:
        """Raise UsageError where it cannot have frames of that size."""

    def carry(self, air: Air, firsts: Ints) -> Outcome:
        """Run it from end to end; stretch i holds the frames `firsts[i]` to `firsts[i + 1]`."""


@dataclass(frozen=True)
class Extra:
    """A parameter of retrace's own beside the protocol's, as the documentation shows it."""

    name: str
    default: Any
    meaning: str


@dataclass(frozen=True)
class Kind:
    """A link protocol as retrace offers it: what runs under the engine, and how its parameters make a model."""

    protocol: Machine
    model: Callable[..., Model]
    defaults: Mapping[str, str] = field(default_factory=dict)
    """Parameters that retrace sets where the user does not."""
    from_frame: tuple[str, ...] = ()
    """Parameters that follow from the frame size; the user cannot set them."""
    extras: tuple[Extra, ...] = ()
    note: str = ""
    """What the documentation says of its parameters beside what each means."""

    @property
    def parameters(self) -> type[Any]:
        """The dataclass of the protocol's parameters."""
        return self.protocol.parameters

    def build(self, name: str, given: Mapping[str, str]) -> Model:
        """The model with the given parameters; raises UsageError for unknown ones and wrong values."""
        return self.model(self.parse(name, given))

    def parse(self, name: str, given: Mapping[str, str]) -> Any:
        """The protocol's parameters from text."""
        for key in given:
            if key.lower().replace("-", "_") in self.from_frame:
                raise UsageError(f"{name}: {key} follows from the frame size\nGive --frame-sizes or the block's size.")
        return parse_parameters(self.parameters, {**self.defaults, **given}, name)


def kinds() -> dict[str, Kind]:
    """Every link protocol by its name, in the order of the table."""
    return {entry.name: _kind(*entry.kind.split(".")) for entry in PROTOCOLS}


def _kind(module: str, name: str) -> Kind:
    found: Kind = getattr(import_module(f"{__package__}.{module}"), name)
    return found


def named(name: str, given: Mapping[str, str]) -> Model:
    """The model of that name with those parameters; raises UsageError for an unknown name or a wrong parameter."""
    known = kinds()
    if name not in known:
        raise UsageError(f"there is no model '{name}'\nThere are: {', '.join(MODEL_NAMES)}.")
    return known[name].build(name, given)


def stretch_octets(engine: Engine, air: Air, firsts: Ints) -> Ints:
    """Octets that B delivered, by the stretch whose frames brought them first, after this run of all opportunities."""
    begun = (firsts[1:] - 1) * air.frame_ns
    return np.diff(engine.run_through(np.minimum(begun + air.delay_ns, begun[-1])), prepend=0)


def why_nothing(octets: Ints, air: Air, resets: int = 0) -> str:
    """Why nothing came through, in words; empty when something did."""
    if octets.any():
        return ""
    if air.forth.all():
        return "every frame of the data's direction is lost"
    if air.back.all():
        return "every frame of the answers' direction is lost"
    return "the link was reset for ever, as frames were lost too often" if resets else "nothing was delivered whole"
