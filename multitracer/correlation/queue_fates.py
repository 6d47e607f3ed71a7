"""What became of the packets that the link's log never shows on the air: dropped by a queue before it, or flushed.

The queue before the link is first in, first out. A packet that a later one overtook, with no reset between, was
dropped (`DROPPED`). Where a reset lies between, the packet may have waited until the reset flushed it. The queue's own
behaviour elsewhere decides: it took packets with up to `took` others waiting, and dropped those that met `full` or
more. Where it never dropped one, nothing shows that it has a limit, and the reset has likely flushed what was waiting:
unless something speaks against its having waited, see `hardly_waited`. A reset may spare what the link was not given
yet: only what a later packet overtook is known to be gone.

A queue is taken to be limited in packets, or in the octets of their IP datagrams, its own included, and to hold nothing
that neither the capture nor the link's log shows.

All that holds only while the log of the link's sender has every frame. Where it lacks some, they may be the packet's;
and how many were waiting is not known until the link carries a packet that was sent after the hole.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from multitracer.link.coverage import Coverage

if TYPE_CHECKING:
    import pandas as pd

ON_AIR, DROPPED, FLUSHED, LIKELY_FLUSHED, UNKNOWN = range(5)
CARRIED_ELSEWHERE, NOT_LOGGED, NOT_OVERTAKEN, RESET_BETWEEN = -4, -3, -2, -1
Resets = list[tuple[int, int]]
_FOREVER = int(np.iinfo(np.int64).max)


class Fates(NamedTuple):
    """Arrays of shape (rows of segment_frames,)."""

    fate: npt.NDArray[np.int8]
    """ON_AIR, DROPPED, FLUSHED, LIKELY_FLUSHED or UNKNOWN; UNKNOWN also for packets that the sender's capture lacks."""
    overtaken_by: npt.NDArray[np.int64]
    """The row of a later packet that the link carried, or why there is none: NOT_OVERTAKEN and so on."""


def queue_fates(
    table: pd.DataFrame,
    resets_of: Callable[[int], Resets],
    coverage_of: Callable[[int], Coverage],
    padded_of: Callable[[int], npt.NDArray[np.int64]],
) -> Fates:
    """The fate of each packet of segment_frames.

    `resets_of` gives start and end (ns) of a link's resets, `coverage_of` what the log of its sender covers,
    `padded_of` when that sender padded new frames (ns, sorted), which is asked only of a link that was reset.
    """
    fates = Fates(np.full(len(table), UNKNOWN, dtype=np.int8), np.full(len(table), NOT_OVERTAKEN, dtype=np.int64))
    names = ("link", "sent_ns", "first_frame_ns", "carried_bytes", "packet_bytes", "segment")
    link, sent, first, carried, size, segment = (table[name].to_numpy() for name in names)
    # Of links side by side one carries what the other never has.
    elsewhere = (first < 0) & (segment >= 0) & np.isin(segment, segment[first >= 0])
    for number in np.unique(link):
        rows = np.flatnonzero((link == number) & (sent >= 0) & ~elsewhere)
        rows = rows[np.argsort(sent[rows], kind="stable")]
        never = (first[rows] < 0) & (carried[rows] == 0)
        resets = resets_of(int(number))
        logged = coverage_of(int(number))
        passed = overtaken_by(sent[rows], first[rows], resets)
        overtaken = passed >= 0
        overtaken[overtaken] = ~logged.covers(sent[rows][overtaken], first[rows][passed[overtaken]])
        passed[overtaken] = NOT_LOGGED
        since = np.maximum(sent[rows], turns(first[rows]))
        padded = padded_of(int(number)) if resets else _sorted(())
        gone = hardly_waited(sent[rows], first[rows], since, resets, padded)
        others = np.sort(first[(link == number) & (sent < 0) & (first >= 0)])
        packets = _Link(sent[rows], first[rows], size[rows], never, passed, since, gone, others)
        fates.fate[rows] = _of_link(packets, resets, logged)
        fates.overtaken_by[rows] = np.where(passed >= 0, rows[np.maximum(passed, 0)], passed)
    fates.fate[elsewhere], fates.overtaken_by[elsewhere] = UNKNOWN, CARRIED_ELSEWHERE
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


def turns(first: Any) -> npt.NDArray[np.int64]:
    """When all that was sent before each packet, and that the link carried, was on the air; -1 where nothing was."""
    return np.maximum.accumulate(np.append(-1, first))[:-1]


def followed(first: Any) -> npt.NDArray[np.int64]:
    """When the link sent the first frame of the next packet after each that it carried; _FOREVER for none."""
    carried = np.flatnonzero(first >= 0)
    return np.append(first[carried], _FOREVER)[np.searchsorted(carried, np.arange(len(first)), side="right")]


def hardly_waited(sent: Any, first: Any, since: Any, resets: Resets, padded: Any) -> npt.NDArray[np.bool_]:
    """Which packets, in the order sent, were hardly waiting any more at any reset before the link carried a later one.

    One sent before outlasted the reset, or the link padded a frame when the packet had had as much time as the one
    before took to the air. That proves no drop: a packet that is sent again may be matched in its own place, and frames
    may be made ahead of the air. `since` is that of `_Link`.
    """
    carried = np.flatnonzero(first >= 0)
    before = np.append(-1, carried)[np.searchsorted(carried, np.arange(len(first)))]
    due = np.where(before >= 0, first[before] + sent - sent[before], _FOREVER)
    starts, ends = _sorted(start for start, _ in resets), _sorted(end for _, end in resets)
    over = np.searchsorted(ends, since)
    until = np.minimum(followed(first), np.append(padded, _FOREVER)[np.searchsorted(padded, due)])
    return np.asarray(np.searchsorted(starts, until, side="right") <= over)


class _Link(NamedTuple):
    """One link's packets, in the order sent."""

    sent: Any
    first: Any
    size: Any
    never: Any
    """Whether none of its octets was on the air, by the log."""
    passed: Any
    since: Any
    """When it was sent, and all that the link carried of what was sent before it was on the air."""
    gone: Any
    """Whether it was hardly waiting at any reset."""
    others: Any
    """When the first frames were sent of packets that the sender's capture lacks, sorted."""


class _Queue(NamedTuple):
    """What is known of each packet, in the order sent, before the queue's limit is."""

    sent: Any
    leaves: Any
    """When its first frame was sent, or the first reset began that may have flushed it; -1 for never."""
    latest: Any
    """When its first frame was sent, or that of the next packet that the link carried: it waited no longer."""
    fate: Any
    open_: Any
    """Whether it may have waited, or have been dropped."""
    judged: Any
    """Whether it was flushed, if it was taken: a later packet overtook it, until when the log has all frames."""
    known: Any
    """Whether it is known how many were waiting when it was sent."""


def _of_link(link: _Link, resets: Resets, logged: Coverage) -> npt.NDArray[np.int8]:
    """The fates of one link's packets."""
    fate = np.where(link.never, UNKNOWN, ON_AIR).astype(np.int8)
    fate[link.never & (link.passed >= 0)] = DROPPED
    open_ = link.never & (link.passed < 0)
    ends = _sorted(end for _, end in resets)
    begins = np.append(_sorted(start for start, _ in resets), -1)[np.searchsorted(ends, link.since)]
    leaves = np.where(open_, begins, link.first)
    latest = np.where(link.first >= 0, link.first, followed(link.first))
    # What no later packet overtook may have outlived the reset.
    judged = open_ & ~link.gone & (link.passed == RESET_BETWEEN) & logged.covers(link.sent, latest)
    queue = _Queue(link.sent, leaves, latest, fate, open_, judged, _queue_known(link, latest, logged))
    # A queue may be limited in packets or in octets: only what both allow is certain.
    packets = _by_limit(queue, np.ones(len(fate), dtype=np.int64))
    octets = _by_limit(queue, np.maximum(link.size, 1).astype(np.int64))
    both_flushed = np.isin(packets, (FLUSHED, LIKELY_FLUSHED)) & np.isin(octets, (FLUSHED, LIKELY_FLUSHED))
    return np.where(packets == octets, packets, np.where(both_flushed, LIKELY_FLUSHED, UNKNOWN)).astype(np.int8)


def _queue_known(link: _Link, latest: Any, logged: Coverage) -> npt.NDArray[np.bool_]:
    """Whether no packet may have been waiting, when each was sent, that was sent while the log had a hole, or that the
    sender's capture lacks.

    The first that is on the air of those sent after the hole has all of these before it. What the capture lacks was
    waiting before a packet if it was on the air after that was sent, and before that left.
    """
    known = link.sent <= logged.end_ns
    known &= np.searchsorted(link.others, link.sent) == np.searchsorted(link.others, latest)
    starts, stops = np.append(logged.start_ns, -_FOREVER), np.append(logged.stop_ns, logged.begin_ns)
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        later = np.flatnonzero((link.sent >= stop) & (link.first >= 0))
        known &= (link.sent < start) | (link.sent >= (link.first[later[0]] if len(later) else _FOREVER))
    return known


def _by_limit(queue: _Queue, size: Any) -> npt.NDArray[np.int8]:
    """The fates if the queue's limit counts `size` of each packet."""
    fate, sent = queue.fate.copy(), queue.sent
    took, full = _limit(queue, size)
    if full is not None and took >= full:
        return fate
    surely, perhaps = _Waiting(), _Waiting()
    for at in range(len(sent)):
        held, most = surely.held(sent[at]), perhaps.held(sent[at])
        if queue.judged[at] and queue.known[at]:
            if most + size[at] <= took:
                fate[at] = FLUSHED
            elif full is None:
                fate[at] = LIKELY_FLUSHED
            elif held + size[at] >= full:
                fate[at] = DROPPED
        if fate[at] in (ON_AIR, FLUSHED):
            surely.add(queue.leaves[at], size[at])
        if fate[at] != DROPPED:
            perhaps.add(queue.latest[at], size[at])
    return fate


class _Waiting:
    """What waits in a queue, as time passes."""

    def __init__(self) -> None:
        self._leaving: list[tuple[int, int]] = []
        self._held = 0

    def held(self, now: int) -> int:
        """How much is waiting still."""
        while self._leaving and self._leaving[0][0] <= now:
            self._held -= heapq.heappop(self._leaving)[1]
        return self._held

    def add(self, leaves: int, size: int) -> None:
        """Let something wait until then."""
        heapq.heappush(self._leaving, (int(leaves), int(size)))
        self._held += int(size)


def _sorted(times: Iterable[int]) -> npt.NDArray[np.int64]:
    return np.array(sorted(times), dtype=np.int64)


def _limit(queue: _Queue, size: Any) -> tuple[int, int | None]:
    """(The most that the queue held when it took a packet, that one included; the least that it would have held with
    one that it dropped, or None).

    What was sent while a packet of unknown fate may have been waiting tells neither.
    """
    took, full, unclear_until, waiting = 0, None, -1, _Waiting()
    sent, leaves, fate = queue.sent, queue.leaves, queue.fate
    for at in range(len(sent)):
        with_it = waiting.held(sent[at]) + int(size[at])
        if queue.open_[at]:
            unclear_until = max(unclear_until, int(queue.latest[at]))
        clear = queue.known[at] and sent[at] > unclear_until
        if fate[at] == DROPPED and clear:
            full = with_it if full is None else min(full, with_it)
        elif fate[at] == ON_AIR:
            took = max(took, with_it) if clear else took
            waiting.add(leaves[at], size[at])
    return took, full
