"""The link protocols that retrace knows by name, each over one direction's losses and the other's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from multitracer.errors import UsageError

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Air:
    """What the protocol runs over: which frames are lost each way, and how long they are."""

    forth: npt.NDArray[np.uint8]
    back: npt.NDArray[np.uint8]
    frame_bytes: int
    block_ns: int
    blocks: int
    """Blocks of a frame."""

    @property
    def frame_ns(self) -> int:
        """How long a frame is on the air."""
        return self.blocks * self.block_ns


@dataclass(frozen=True)
class Carried:
    """What came through."""

    octets: Ints
    """User octets delivered in each stretch of the trace."""
    counts: dict[str, int]
    ended: str = ""
    """Why nothing more could come through, in words."""


class Model(Protocol):
    """A link protocol with its parameters."""

    parameters: dict[str, Any]

    def carry(self, air: Air, firsts: Ints) -> Carried:
        """Run it from end to end; stretch i holds the frames `firsts[i]` to `firsts[i + 1]`."""


MODELS: dict[str, Callable[[Mapping[str, str], float], Model]] = {}
NAMES = ("ideal", *MODELS)


def named(name: str, parameters: Mapping[str, str], rtt_ms: float) -> Model:
    """The model of that name; raises UsageError for names and parameters that there are not."""
    if name not in MODELS:
        raise UsageError(f"there is no model '{name}'\nThere are: {', '.join(NAMES)}.")
    return MODELS[name](parameters, rtt_ms)
