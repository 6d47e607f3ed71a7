"""Block-erasure traces: which blocks of a radio link were lost, and which frames and bursts that makes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from multitracer.model.errors import InputError, UsageError
from multitracer.replay.erasures.run_lengths import runs_of

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

BLOCK_BYTES, BLOCK_MS = 30, 20
"""A block of GSM's full-rate traffic channel (05.03 3.3): 240 bits every 20 ms."""


LONGEST_BLOCK_MS = 3_000_000
"""50 blocks of a minute: the frames of a recorded run are the blocks of its trace."""


@dataclass(frozen=True)
class ErasureTrace:
    """One direction of a link, block by block: True where the block was lost."""

    name: str
    erased: Bools
    block_bytes: int = BLOCK_BYTES
    block_ms: float | None = BLOCK_MS
    """None where a log does not tell it."""
    link: str = ""
    """The same for both directions of one link; empty where only one is known."""
    notes: tuple[str, ...] = ()
    """How the trace was obtained, as far as a reader of a result must know it; one sentence each."""

    def __post_init__(self) -> None:
        if not len(self.erased):
            raise InputError(self.name, "holds no block", hint="An erasure trace is made of the characters 0 and 1.")
        if not 1 <= self.block_bytes <= 65_535:
            raise UsageError(f"{self.name}: block_bytes {self.block_bytes:g} must be 1 to 65535")
        if self.block_ms is not None and not 0.001 <= self.block_ms <= LONGEST_BLOCK_MS:
            raise UsageError(f"{self.name}: block_ms {self.block_ms:g} must be 0.001 to {LONGEST_BLOCK_MS}")

    @property
    def known_ms(self) -> float:
        """How long a block lasts; raises InputError where that is unknown."""
        if self.block_ms is None:
            hint = "Say it: `retrace --block-ms MS`, or `# block_ms: MS` in the extracted trace."
            raise InputError(self.name, "does not tell how long a block lasts", hint=hint)
        return self.block_ms

    @property
    def block_ns(self) -> int:
        """How long a block lasts; raises InputError where that is unknown."""
        return round(self.known_ms * 1e6)

    @property
    def minutes(self) -> float:
        """How long the trace is."""
        return len(self.erased) * self.block_ns / 60e9

    @property
    def count(self) -> int:
        """How many blocks were lost."""
        return int(np.count_nonzero(self.erased))


def frames_lost(erased: Bools, blocks: int) -> npt.NDArray[np.uint8]:
    """Whether any block was lost, for each aligned group of `blocks`; an incomplete group at the end is left out."""
    groups = len(erased) // blocks
    lost: Bools = np.any(erased[: groups * blocks].reshape(groups, blocks), axis=1)
    return lost.astype(np.uint8)


def bursts(erased: Bools) -> dict[str, Any]:
    """How many runs of lost blocks there are, their mean and greatest length; null where there are none."""
    lengths = runs_of(erased).bursts
    if not len(lengths):
        return {"count": 0, "mean_blocks": None, "max_blocks": None}
    return {"count": len(lengths), "mean_blocks": float(lengths.mean()), "max_blocks": int(lengths.max())}


def evenly_spaced(errors: int, count: int) -> Bools:
    """A trace of `count` blocks with errors equally far apart: error j is block floor((j + 1/2) count / errors)."""
    erased = np.zeros(count, dtype=np.bool_)
    erased[(2 * np.arange(errors) + 1) * count // (2 * max(errors, 1))] = True
    return erased


def spread_evenly(trace: ErasureTrace) -> ErasureTrace:
    """The same number of losses, as far apart as possible."""
    erased = evenly_spaced(trace.count, len(trace.erased))
    return replace(trace, name=even_name(trace.name), erased=erased, notes=("Its losses are spread evenly.",))


def ms_text(time_ns: int) -> str:
    """A duration in ms as a header has it: exact, without an exponent."""
    return f"{time_ns // 1_000_000}.{time_ns % 1_000_000:06d}".rstrip("0").rstrip(".")


def even_name(name: str) -> str:
    """What a trace is called when its losses are spread evenly."""
    return f"{name}-even"


def positive(name: str, value: float) -> None:
    """Raise UsageError unless a value is above 0 and finite."""
    if not 0 < value < math.inf:
        raise UsageError(f"{name} is {value}; it must be above 0")
