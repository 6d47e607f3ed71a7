"""Block-erasure traces: which blocks of a radio link were lost, how they fall into frames and bursts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from multitracer.model.errors import InputError, UsageError
from multitracer.replay.channels.models import Even
from multitracer.replay.erasures.runs import runs_of

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

BLOCK_BYTES, BLOCK_MS = 30, 20
"""A block of GSM's full-rate traffic channel (05.03 3.3): 240 bits every 20 ms."""


@dataclass(frozen=True)
class ErasureTrace:
    """One direction of a link, block by block: True where the block was lost."""

    name: str
    erased: Bools
    block_bytes: int = BLOCK_BYTES
    block_ms: float = BLOCK_MS
    link: str = ""
    """What both directions of one link share; empty where the other is not known."""
    notes: tuple[str, ...] = ()
    """What a reader of a result should know about where it came from, one sentence each."""

    def __post_init__(self) -> None:
        if not len(self.erased):
            raise InputError(self.name, "holds no block", hint="An erasure trace is made of the characters 0 and 1.")
        if not 1 <= self.block_bytes <= 65_535:
            raise UsageError(f"{self.name}: block_bytes {self.block_bytes:g} must be 1 to 65535")
        if not 0.001 <= self.block_ms <= 60_000:
            raise UsageError(f"{self.name}: block_ms {self.block_ms:g} must be 0.001 to 60000")

    @property
    def block_ns(self) -> int:
        """How long a block lasts."""
        return round(self.block_ms * 1e6)

    @property
    def minutes(self) -> float:
        """How long the trace is."""
        return len(self.erased) * self.block_ns / 60e9

    @property
    def count(self) -> int:
        """How many blocks were lost."""
        return int(np.count_nonzero(self.erased))


def frames_lost(erased: Bools, blocks: int) -> npt.NDArray[np.uint8]:
    """For each aligned group of so many blocks whether any of it was lost; what is left at the end is none."""
    groups = len(erased) // blocks
    lost: Bools = np.any(erased[: groups * blocks].reshape(groups, blocks), axis=1)
    return lost.astype(np.uint8)


def bursts(erased: Bools) -> dict[str, Any]:
    """How many runs of lost blocks there are, their mean and greatest length; null where there are none."""
    lengths = runs_of(erased).bursts
    if not len(lengths):
        return {"count": 0, "mean_blocks": None, "max_blocks": None}
    return {"count": len(lengths), "mean_blocks": float(lengths.mean()), "max_blocks": int(lengths.max())}


def spread_evenly(trace: ErasureTrace) -> ErasureTrace:
    """The same number of losses, as far from one another as can be."""
    erased = Even(trace.count / len(trace.erased)).generate(len(trace.erased))
    return replace(trace, name=even_name(trace.name), erased=erased, notes=("Its losses are spread evenly.",))


def even_name(name: str) -> str:
    """What a trace is called when its losses are spread evenly."""
    return f"{name}-even"
