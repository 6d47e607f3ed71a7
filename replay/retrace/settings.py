"""What is asked of a retrace: the model, the frame sizes, and how the results are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from multitracer.model.errors import UsageError
from multitracer.replay.erasures.trace import ErasureTrace
from multitracer.replay.retrace import IDEAL

LARGEST_BLOCKS = 50
"""Unless frame sizes are named, frames of 1 to 50 blocks are tried."""


@dataclass(frozen=True)
class Settings:
    """What a user asks for."""

    model: str = "ideal"
    frame_bytes: tuple[int, ...] = ()
    """Empty: 1 to 50 blocks."""
    overhead: int = 6
    """Octets of a frame without user data, in the ideal model: 24.022's header and check, and L2R's status."""
    rtt_ms: float = 400.0
    """The link's round trip at frames of one block."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """The model's parameters, by name."""
    resamples: int = 1000
    baseline_bytes: int | None = None
    """None: one block."""
    jobs: int = 1

    def sizes(self, trace: ErasureTrace) -> tuple[int, ...]:
        """The frame sizes in octets; raises UsageError for a size that is no multiple of the trace's block."""
        block = trace.block_bytes
        sizes = self.frame_bytes or self._default(block)
        for size in sizes:
            if size <= 0 or size % block:
                raise UsageError(f"frame size {size} is no multiple of {trace.name}'s block of {block} octets")
            if self.model == IDEAL and size < self.overhead:
                raise UsageError(f"frame size {size} is below the overhead of {self.overhead} octets")
        if self.baseline_bytes is not None and self.baseline_bytes not in sizes:
            raise UsageError(f"the baseline of {self.baseline_bytes} octets is none of the frame sizes")
        if min(sizes) // block > len(trace.erased):
            raise UsageError(
                f"{trace.name} is shorter than one frame: {len(trace.erased)} blocks of {block} octets, "
                f"and the smallest frame has {min(sizes)}"
            )
        return tuple(sorted(set(sizes)))

    def _default(self, block: int) -> tuple[int, ...]:
        """1 to 50 blocks, without those that the ideal model's overhead fills, unless it fills all."""
        sizes = tuple(range(block, LARGEST_BLOCKS * block + 1, block))
        least = self.overhead if self.model == IDEAL else 0
        return tuple(size for size in sizes if size > least) or sizes

    def left_out(self, trace: ErasureTrace) -> tuple[str, ...]:
        """A note on the default sizes that are none of `sizes`."""
        first = min(self.sizes(trace)) // trace.block_bytes - 1
        if self.frame_bytes or not first:
            return ()
        return (note(trace.block_bytes, first * trace.block_bytes, f"the overhead of {self.overhead} fills them"),)


def note(first: int, last: int, why: str) -> str:
    """The note that default sizes are left out."""
    return f"frames of {first}{f' to {last}' if last > first else ''} octets are left out: {why}"
