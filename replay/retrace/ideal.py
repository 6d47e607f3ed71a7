"""The original analysis: a link on which a lost frame costs its own time and nothing else.

A trace is cut into aligned groups of k blocks; a group is good when none of its blocks was lost.
No acknowledgement, no timer and no window takes part, so the result is a bound for real protocols.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from multitracer.compute.kernels import kernel

Ints = npt.NDArray[np.int64]


@kernel
def bad_groups(places: Any, size: int, groups: int, starts: Any, bad: Any) -> int:
    """How many of `groups` groups of `size` blocks contain one of the lost blocks at `places` (ascending).

    `bad[i]` counts those that begin in stretch i of the trace, which begins at block `starts[i]`.
    """
    total, end, stretch = 0, 0, 0
    last = groups * size
    for at in places:
        if at < end:
            continue
        if at >= last:
            break
        group = at // size
        end = (group + 1) * size
        while stretch + 1 < len(starts) and starts[stretch + 1] <= group * size:
            stretch += 1
        bad[stretch] += 1
        total += 1
    return total


def good_groups(erased: npt.NDArray[np.bool_], sizes: Ints, starts: Ints) -> tuple[Ints, Ints]:
    """Good groups of each size, in blocks, and all groups, by stretch: two arrays (sizes, stretches).

    A group belongs to the stretch of the trace in which it begins.
    """
    places = np.flatnonzero(erased)
    every = np.zeros((len(sizes), len(starts)), dtype=np.int64)
    bad = np.zeros_like(every)
    for row, size in enumerate(sizes.tolist()):
        groups = len(erased) // size
        # Groups that begin before block b: those numbered below b / size, rounded up.
        before = np.minimum(-(-np.append(starts, len(erased)) // size), groups)
        every[row] = np.diff(before)
        bad_groups(places, size, groups, starts, bad[row])
    return every - bad, every
