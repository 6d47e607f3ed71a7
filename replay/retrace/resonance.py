"""Frame sizes in step with losses that are evenly spaced, where chance decides what a protocol carries.

Where nearly every m-th frame is lost, a frame sent again a fixed time later meets a loss each time, or never.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

_NEAR = 0.02
"""So near, relative, the losses' spacing is to a number of frames: many losses in turn meet frames at like places."""
_LEAST_LOSSES = 10
_MOST_SIZES = 5


def spacing_blocks(erased: Any) -> float | None:
    """How far apart the losses are, in blocks; None where they are not evenly spaced, or too few to tell."""
    gaps = np.diff(np.flatnonzero(erased))
    if len(gaps) < _LEAST_LOSSES or gaps.max() - gaps.min() > 1 or gaps.min() < 2:
        return None
    return float(gaps.mean())


def in_step(spacing: float, blocks: int) -> bool:
    """Whether the losses' spacing is nearly a whole number of frames of so many blocks, 2 or more."""
    frames = round(spacing / blocks)
    return blocks > 1 and frames >= 1 and abs(spacing / blocks - frames) <= _NEAR * frames


def remark(erased: Any, block_bytes: int, sizes: Sequence[int]) -> str:
    """What to say of sizes in step with the losses; empty where there are none."""
    spacing = spacing_blocks(erased)
    found = [size for size in sizes if spacing and in_step(spacing, size // block_bytes)]
    if spacing is None or not found:
        return ""
    named = ", ".join(map(str, found[:_MOST_SIZES])) + (" and more" if len(found) > _MOST_SIZES else "")
    return (
        f"a loss comes every {spacing:.1f} blocks, in step with frames of {named} octets: "
        "frames sent again meet a loss each time, or never"
    )
