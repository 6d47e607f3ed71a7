"""What became of the packets that the link's log never shows on the air: dropped by a queue before it, or flushed.

The queue before the link is first in, first out. A packet that a later one overtook, with no reset between, was
dropped (`DROPPED`). Where a reset lies between, the packet may have waited until the reset flushed it. The queue's own
behaviour elsewhere decides: it took packets with up to `took` others waiting, and dropped those that met `full` or
more. Where it never dropped one, nothing shows that it has a limit, and the reset has likely flushed what was waiting.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

ON_AIR, DROPPED, FLUSHED, LIKELY_FLUSHED, UNKNOWN = range(5)
NOT_OVERTAKEN, RESET_BETWEEN = -2, -1
Resets = list[tuple[int, int]]


class Fates(NamedTuple):
    """Arrays of shape (rows of segment_frames,)."""

    fate: npt.NDArray[np.int8]
    """ON_AIR, DROPPED, FLUSHED, LIKELY_FLUSHED or UNKNOWN; UNKNOWN also for packets that the sender's capture lacks."""
    overtaken_by: npt.NDArray[np.int64]
    """The row of a later packet that the link carried, NOT_OVERTAKEN, or RESET_BETWEEN."""


def queue_fates(table: pd.DataFrame, resets_of: Callable[[int], Resets]) -> Fates:
    """The fate of each packet of segment_frames; `resets_of` gives start and end (ns) of a link's resets."""
    fates = Fates(np.full(len(table), UNKNOWN, dtype=np.int8), np.full(len(table), NOT_OVERTAKEN, dtype=np.int64))
    names = ("link", "sent_ns", "first_frame_ns", "carried_bytes", "packet_bytes")
    link, sent, first, carried, size = (table[name].to_numpy() for name in names)
    for number in np.unique(link):
        rows = np.flatnonzero((link == number) & (sent >= 0))
        rows = rows[np.argsort(sent[rows], kind="stable")]
        never = (first[rows] < 0) & (carried[rows] == 0)
        resets = resets_of(int(number))
        passed = overtaken_by(sent[rows], first[rows], resets)
        fates.fate[rows] = _of_link(sent[rows], first[rows], size[rows], never, passed, resets)
        fates.overtaken_by[rows] = np.where(passed >= 0, rows[np.maximum(passed, 0)], passed)
    return fates


def overtaken_by(sent: Any, first: Any, resets: Resets) -> npt.NDArray[np.int64]:
    """For each packet, in the order sent, the place of the next one that the link carried.

    RESET_BETWEEN where a reset in between may have flushed the packet; NOT_OVERTAKEN where the link carried none later.
    """
    passed = np.full(len(sent), NOT_OVERTAKEN, dtype=np.int64)
    following = -1
    # Resets of one bearer do not overlap: those begun by the next packet's first frame less those over before this one.
    until = np.searchsorted(_sorted(start for start, _ in resets), first, side="right")
    since = np.searchsorted(_sorted(end for _, end in resets), sent)
    for row in range(len(sent) - 1, -1, -1):
        if following >= 0:
            flushed = until[following] > since[row]
            passed[row] = RESET_BETWEEN if flushed else following
        if first[row] >= 0:
            following = row
    return passed


def _of_link(sent: Any, first: Any, size: Any, never: Any, passed: Any, resets: Resets) -> npt.NDArray[np.int8]:
    """The fates of one link's packets, in the order sent."""
    fate = np.where(never, UNKNOWN, ON_AIR).astype(np.int8)
    fate[never & (passed >= 0)] = DROPPED
    open_ = never & (passed < 0)
    leaves = np.where(first >= 0, first, -1)
    leaves[open_] = _next(_sorted(end for _, end in resets), sent[open_])
    # A queue may be limited in packets or in octets: only what both allow is certain.
    packets = _by_limit(sent, np.ones(len(sent), dtype=np.int64), leaves, fate, open_)
    octets = _by_limit(sent, np.maximum(size, 1).astype(np.int64), leaves, fate, open_)
    both_flushed = np.isin(packets, (FLUSHED, LIKELY_FLUSHED)) & np.isin(octets, (FLUSHED, LIKELY_FLUSHED))
    doubtful = (packets != octets) & both_flushed
    return np.where(packets == octets, packets, np.where(doubtful, LIKELY_FLUSHED, UNKNOWN)).astype(np.int8)


def _by_limit(sent: Any, size: Any, leaves: Any, fate: Any, open_: Any) -> npt.NDArray[np.int8]:
    """The fates if the queue's limit counts `size` of each packet."""
    fate, held = fate.copy(), 0
    waiting: list[tuple[int, int]] = []
    took, full = _limit(sent, size, leaves, fate, open_)
    if full is not None and took >= full:
        return fate
    for at in range(len(sent)):
        while waiting and waiting[0][0] <= sent[at]:
            held -= heapq.heappop(waiting)[1]
        if open_[at] and leaves[at] >= 0:
            if held + size[at] <= took:
                fate[at] = FLUSHED
            elif full is None:
                fate[at] = LIKELY_FLUSHED
            elif held + size[at] >= full:
                fate[at] = DROPPED
        if fate[at] in (ON_AIR, FLUSHED, LIKELY_FLUSHED) and leaves[at] > sent[at]:
            heapq.heappush(waiting, (int(leaves[at]), int(size[at])))
            held += int(size[at])
    return fate


def _sorted(times: Iterable[int]) -> npt.NDArray[np.int64]:
    return np.array(sorted(times), dtype=np.int64)


def _next(times: Any, after: Any) -> Any:
    """For each time the next of sorted `times`, -1 where there is none."""
    place = np.searchsorted(times, after)
    return np.where(place < len(times), np.append(times, -1)[place], -1)


def _limit(sent: Any, size: Any, leaves: Any, fate: Any, open_: Any) -> tuple[int, int | None]:
    """(The most that the queue held when it took a packet, that one included; the least that it would have held with
    one that it dropped, or None).

    What was sent while a packet of unknown fate may have been waiting tells neither.
    """
    took, full, unclear_until, held = 0, None, -1, 0
    waiting: list[tuple[int, int]] = []
    for at in range(len(sent)):
        while waiting and waiting[0][0] <= sent[at]:
            held -= heapq.heappop(waiting)[1]
        with_it = held + int(size[at])
        if open_[at]:
            unclear_until = max(unclear_until, int(leaves[at]) if leaves[at] >= 0 else np.iinfo(np.int64).max)
        elif fate[at] == DROPPED and sent[at] > unclear_until:
            full = with_it if full is None else min(full, with_it)
        elif fate[at] == ON_AIR:
            took = took if sent[at] <= unclear_until else max(took, with_it)
            heapq.heappush(waiting, (int(leaves[at]), int(size[at])))
            held = with_it
    return took, full
