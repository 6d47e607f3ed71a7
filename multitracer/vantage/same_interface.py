"""Two files of one interface: they hold the same packets at the same times."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.vantage.fingerprints import match_copies
from multitracer.vantage.sources import Source

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]

_SAMPLE = 512
"""Packets of the second file that are looked for in the first, before all are."""
_MARGIN_NS = 1_000_000
_APART_NS = 2_000
"""Two files are of one interface when their times differ by less in both directions."""


def also_in(packets: pd.DataFrame, first: Source, second: Source) -> Ints | None:
    """Rows of `second` that `first` holds too, when both recorded one interface; else None."""
    start, stop = max(first.first_ns, second.first_ns), min(first.last_ns, second.last_ns)
    if first.number == second.number or stop <= start:
        return None
    time = packets["time_ns"].to_numpy()
    span = (stop - start) // 4
    ours = _within(time, first, start - _MARGIN_NS, min(stop, start + span) + _MARGIN_NS)[: 4 * _SAMPLE]
    theirs = _within(time, second, start, min(stop, start + span))[:_SAMPLE]
    if not _same_times(packets, ours, theirs):
        return None
    ours, theirs = first.row_numbers, _within(time, second, first.first_ns - _MARGIN_NS, first.last_ns + _MARGIN_NS)
    mine, other = match_copies(packets.take(ours), packets.take(theirs))
    if len(mine) < 0.9 * min(len(theirs), len(_within(time, first, start, stop))):
        return None
    return theirs[other]


def _within(time: Ints, source: Source, start: int, stop: int) -> Ints:
    times = time[source.rows]
    return source.row_numbers[(times >= start) & (times <= stop)]


def _same_times(packets: pd.DataFrame, ours: Ints, theirs: Ints) -> bool:
    """Whether nearly all of `theirs` are among `ours`, with no delay in either direction."""
    some, others = packets.take(ours), packets.take(theirs)
    mine, other = match_copies(some, others)
    if len(other) < max(2, 0.8 * len(theirs)):
        return False
    delay = others["time_ns"].to_numpy()[other] - some["time_ns"].to_numpy()[mine]
    direction = others["direction"].to_numpy()[other]
    floors = [np.median(delay[direction == way]) for way in (0, 1) if (direction == way).any()]
    # Both directions must be near 0: a clock difference or a path in between would show in one of them.
    return bool(max(map(abs, floors)) < _APART_NS)
