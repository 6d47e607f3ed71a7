"""Round-trip samples as tcptrace takes them, and their statistics.

An acknowledgement gives a sample when its number is the end of a segment of which no byte was retransmitted
(Karn's algorithm), and no segment below that end was sent after it; otherwise the acknowledgement may have
waited for a retransmission to fill a hole. A transmission therefore invalidates all candidates that end
above its start, and the remaining ones are in order of both time and sequence number: a queue per end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.arrays import bounded_difference, tally
from multitracer.compute.kernels import inlined, kernel
from multitracer.compute.threads import concurrently, halves
from multitracer.tcp.sent_ranges import BOTTOM, END, FIRST, LENGTH, NO_NODE, VALUE, drop_node, insert_above

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]

CANDIDATES = 5
"""First of the three columns of an end's state that hold the queue (see `sent_ranges`)."""
MOST_CANDIDATES = 1 << 16
"""Limit of a queue: more segments are outstanding only where acknowledgements were not captured."""
NO_SAMPLE = -1
SHORT = 64
"""Up to this many samples, insertion sort; above it NumPy's sort is faster in spite of the call."""

STATISTICS = ("min", "mean", "median", "p95", "max", "std")


def segment_round_trips(time_ns: Ints, mine: Any, seq: Ints, payload: Any, ack: Ints) -> tuple[Ints, Ints]:
    """Send times and round trips (int64 ns) of segments that were sent once, while other data was outstanding.

    Takes columns of the rows of one connection at one point, in capture order; `mine` marks those of the
    data sender. A segment sent with nothing outstanding is left out, since its acknowledgement may be
    delayed (RFC 1122 4.2.3.2).
    """
    data, acks = np.flatnonzero(mine & (payload > 0)), np.flatnonzero(~mine & (ack >= 0))
    highest = np.maximum.accumulate(ack[acks]) if len(acks) else np.empty(0, dtype=np.int64)
    end = seq[data] + payload[data]
    _, end_index, counts = np.unique(end, return_inverse=True, return_counts=True)
    once = counts[end_index] == 1
    at = np.searchsorted(highest, end)
    before = np.searchsorted(acks, data)
    alone = np.append(-1, highest)[before] >= seq[data]
    known = once & (at < len(highest)) & ~alone
    sent = time_ns[data[known]]
    return sent, time_ns[acks[at[known]]] - sent


@inlined
def invalidate_candidates(nodes: Ints, ends: Ints, end: int, first: int) -> None:
    """Note a transmission from `first` on: candidates that end above it give no sample any more."""
    top = ends[end, CANDIDATES]
    while top != NO_NODE and nodes[top, END] > first:
        drop_node(nodes, ends, end, CANDIDATES, top)
        top = ends[end, CANDIDATES]


@inlined
def add_candidate(nodes: Ints, ends: Ints, end: int, first: int, stop: int, time_ns: int) -> None:
    """Note that first..stop-1, all new, were sent at `time_ns`."""
    insert_above(nodes, ends, end, CANDIDATES, ends[end, CANDIDATES], first, stop, time_ns)
    if ends[end, CANDIDATES + LENGTH] > MOST_CANDIDATES:
        drop_node(nodes, ends, end, CANDIDATES, ends[end, CANDIDATES + BOTTOM])


@inlined
def take_sample(nodes: Ints, ends: Ints, end: int, ack: int, time_ns: int) -> int:
    """The round trip (ns) that an acknowledgement gives, or NO_SAMPLE; removes the candidates that it covers."""
    sample = NO_SAMPLE
    bottom = ends[end, CANDIDATES + BOTTOM]
    while bottom != NO_NODE and nodes[bottom, FIRST] < ack:
        if nodes[bottom, END] == ack:
            sample = bounded_difference(time_ns, nodes[bottom, VALUE])
        drop_node(nodes, ends, end, CANDIDATES, bottom)
        bottom = ends[end, CANDIDATES + BOTTOM]
    return sample


def summarize(parts: Sequence[tuple[Ints, npt.NDArray[np.int32]]], ends: int) -> tuple[Ints, Floats]:
    """Number of samples per end, shape (ends,), and STATISTICS in ms, shape (ends, 6); NaN without samples.

    Each part has samples (ns) and the end of each; no end has samples in two parts.
    """
    counts = np.zeros(ends, dtype=np.int64)
    for _, end in parts:
        tally(end, counts)
    starts = np.zeros(ends + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    grouped = np.empty(starts[-1], dtype=np.int64)
    concurrently(lambda part: group_samples(*part, starts[:-1].copy(), grouped), parts)
    statistics = np.full((ends, len(STATISTICS)), np.nan)

    def fill(some: slice) -> None:
        for long in (some.start + np.flatnonzero(counts[some] > SHORT)).tolist():
            grouped[starts[long] : starts[long + 1]].sort()
        fill_statistics(grouped, starts[some.start : some.stop + 1], statistics[some])

    concurrently(fill, halves(counts))
    return counts, statistics / 1e6


@kernel
def group_samples(samples: Ints, end: npt.NDArray[np.int32], position: Ints, grouped: Ints) -> None:
    """Write each end's samples consecutively; `position` is the next free place per end, and advances."""
    for i in range(len(samples)):
        grouped[position[end[i]]] = samples[i]
        position[end[i]] += 1


@kernel
def sort_short(values: Ints) -> None:
    """Insertion sort, in place, for a few values."""
    for i in range(1, len(values)):
        value, position = values[i], i
        while position > 0 and values[position - 1] > value:
            values[position] = values[position - 1]
            position -= 1
        values[position] = value


@kernel
def fill_statistics(grouped: Ints, starts: Ints, statistics: Floats) -> None:
    """Fill the STATISTICS (ns) of every group; the standard deviation is that of a sample (n - 1).

    Groups of more than SHORT samples must be sorted; the others are sorted here.
    """
    for i in range(len(starts) - 1):
        count = starts[i + 1] - starts[i]
        if count == 0:
            continue
        values = grouped[starts[i] : starts[i + 1]]
        if count <= SHORT:
            sort_short(values)
        # Added in order: NumPy's and numba's sums differ in their order, and so in the last bits.
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
    """The quantile of sorted values, with linear interpolation."""
    at = share * (len(values) - 1)
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (at - low) * (values[high] - values[low])
