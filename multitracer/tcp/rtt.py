"""Round-trip samples as tcptrace takes them, and their statistics.

An acknowledgement gives a sample when it ends exactly where a segment ended of which nothing was
ever sent twice (Karn), and when nothing below that end was sent after it: else the acknowledgement
may have waited for a repair. So a transmission makes all candidates useless that end above where it
begins, and those that stay are in order of time and of sequence number at once: a queue per end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.arrays import tally
from multitracer.compute.kernels import inlined, kernel
from multitracer.compute.threads import concurrently
from multitracer.tcp.sent_ranges import BOTTOM, END, FIRST, LENGTH, NO_NODE, VALUE, add_above, drop

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]

CANDIDATES = 5
"""The queue's place among an end's state (three columns, see `sent`)."""
MOST_CANDIDATES = 1 << 16
"""More segments than this are outstanding only where acknowledgements were not captured."""
NO_SAMPLE = -1
SHORT = 64
"""Up to so many samples are sorted where they stand; for more, calling NumPy is worth its cost."""

STATISTICS = ("min", "mean", "median", "p95", "max", "std")


def segment_round_trips(time_ns: Ints, mine: Any, seq: Ints, payload: Any, ack: Ints) -> tuple[Ints, Ints]:
    """Send times and round trips of the segments that were sent once, and not alone, as their sender saw them.

    Takes columns of the rows of one connection at one point, in the order of the capture; `mine` marks those
    that the sender sent. The acknowledgement of a lone segment may be delayed (RFC 1122 4.2.3.2).
    """
    data, acks = np.flatnonzero(mine & (payload > 0)), np.flatnonzero(~mine & (ack >= 0))
    highest = np.maximum.accumulate(ack[acks]) if len(acks) else np.empty(0, dtype=np.int64)
    end = seq[data] + payload[data]
    _, index, counts = np.unique(end, return_inverse=True, return_counts=True)
    once = counts[index] == 1
    at = np.searchsorted(highest, end)
    before = np.searchsorted(acks, data)
    alone = np.append(-1, highest)[before] >= seq[data]
    known = once & (at < len(highest)) & ~alone
    sent = time_ns[data[known]]
    return sent, time_ns[acks[at[known]]] - sent


@inlined
def withdraw(nodes: Ints, ends: Ints, end: int, first: int) -> None:
    """Note a transmission that begins at `first`: nothing above can be timed any more."""
    top = ends[end, CANDIDATES]
    while top != NO_NODE and nodes[top, END] > first:
        drop(nodes, ends, end, CANDIDATES, top)
        top = ends[end, CANDIDATES]


@inlined
def await_acknowledgement(nodes: Ints, ends: Ints, end: int, first: int, stop: int, time_ns: int) -> None:
    """Note that first..stop-1, all new, left at `time_ns`."""
    add_above(nodes, ends, end, CANDIDATES, ends[end, CANDIDATES], first, stop, time_ns)
    if ends[end, CANDIDATES + LENGTH] > MOST_CANDIDATES:
        drop(nodes, ends, end, CANDIDATES, ends[end, CANDIDATES + BOTTOM])


@inlined
def take_sample(nodes: Ints, ends: Ints, end: int, ack: int, time_ns: int) -> int:
    """The round trip in ns that an acknowledgement shows, or NO_SAMPLE; what it covers is done."""
    sample = NO_SAMPLE
    bottom = ends[end, CANDIDATES + BOTTOM]
    while bottom != NO_NODE and nodes[bottom, FIRST] < ack:
        if nodes[bottom, END] == ack:
            sample = time_ns - nodes[bottom, VALUE]
        drop(nodes, ends, end, CANDIDATES, bottom)
        bottom = ends[end, CANDIDATES + BOTTOM]
    return sample


def summarize(parts: Sequence[tuple[Ints, npt.NDArray[np.int32]]], ends: int) -> tuple[Ints, Floats]:
    """Per end, the number of samples, and in ms their STATISTICS (columns; NaN without samples).

    Each part holds samples (ns) and whose each of them is; no end has samples in two parts.
    """
    counts = np.zeros(ends, dtype=np.int64)
    for _, end in parts:
        tally(end, counts)
    starts = np.zeros(ends + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    grouped = np.empty(starts[-1], dtype=np.int64)
    concurrently(lambda part: group(*part, starts[:-1].copy(), grouped), parts)
    statistics = np.full((ends, len(STATISTICS)), np.nan)
    for long in np.flatnonzero(counts > SHORT).tolist():
        grouped[starts[long] : starts[long + 1]].sort()
    describe(grouped, starts, statistics)
    return counts, statistics / 1e6


@kernel
def group(samples: Ints, end: npt.NDArray[np.int32], place: Ints, grouped: Ints) -> None:
    """Put each end's samples together; `place` is where each end's begin, and moves on."""
    for i in range(len(samples)):
        grouped[place[end[i]]] = samples[i]
        place[end[i]] += 1


@kernel
def sort_short(values: Ints) -> None:
    """Sort a few values in place, each inserted among those before it."""
    for i in range(1, len(values)):
        value, place = values[i], i
        while place > 0 and values[place - 1] > value:
            values[place] = values[place - 1]
            place -= 1
        values[place] = value


@kernel
def describe(grouped: Ints, starts: Ints, statistics: Floats) -> None:
    """Fill the STATISTICS (ns) of every group; the standard deviation is the sample's (n - 1).

    Groups of more than SHORT samples come sorted; the others are sorted here.
    """
    for i in range(len(starts) - 1):
        count = starts[i + 1] - starts[i]
        if count == 0:
            continue
        values = grouped[starts[i] : starts[i + 1]]
        if count <= SHORT:
            sort_short(values)
        # Added up one after the other: numpy and numba each have an order of their own.
        total = 0.0
        for value in values:
            total += value
        mean = total / count
        squares = 0.0
        for value in values:
            squares += (value - mean) ** 2
        statistics[i, 0] = values[0]
        statistics[i, 1] = mean
        statistics[i, 2] = quantile(values, 0.5)
        statistics[i, 3] = quantile(values, 0.95)
        statistics[i, 4] = values[-1]
        statistics[i, 5] = np.sqrt(squares / (count - 1)) if count > 1 else 0.0


@kernel
def quantile(values: Ints, share: float) -> float:
    """The quantile of sorted values, interpolated linearly."""
    at = share * (len(values) - 1)
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (at - low) * (values[high] - values[low])
