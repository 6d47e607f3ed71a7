"""Offset and drift between two clocks, from the one-way delays of packets that both recorded, in both directions.

A delay measured between two clocks is the packet's own delay (propagation, serialisation, queueing) plus
the clock difference; in the two directions the difference has opposite signs. The fastest packets (the
lower envelope) met no queue. Their delay is linear in packet size (serialisation) and, with drift, in time.
What remains after both, halved between the directions, is the clock difference if propagation is symmetric.

The error bound uses the density of delays just above the envelope: where the next few are close, the
envelope is close to the true floor (Moon, Skelly, Towsley 1999, and Paxson 1998 use the same envelope
without a bound).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]

_MARGIN_PACKETS = 5
"""Number of delays above the envelope from which the margin below it is computed."""
_MISS_PROBABILITY = 0.01
"""Probability that the true floor is below the bound, for delays of uniform density above it."""
_BINS = 400
_LONE_PACKET_JITTERS = 3.0
"""A single packet is assumed to be at most this many times the usual jitter above the floor."""
_LARGEST_DRIFT = 500e-6
"""Largest frequency error of a usable clock: the tolerance that NTP corrects (RFC 5905)."""
_SLOWEST_BYTE_NS = 1e6
"""The serialisation time of a byte at 8 kbit/s."""
_LONGEST_BURST = 1024
"""Packets that are looked at together, at most."""
_HOST_NS = 50_000.0
"""Bound of the varying delay between the wire and the time stamp in a host."""
_LEAST_SIZE_RATIO = 1.5
"""Packet sizes must differ by this factor to give the serialisation time of a byte."""
_STEP_NS = 1e6
"""Smallest clock step that is detected."""
_MOST_STEPS = 8


@dataclass(frozen=True)
class OneWayDelays:
    """Packets in one direction: arrays of shape (packets,).

    `time_s` is when the near point recorded each (s), `delay_ns` its delay between the clocks (ns), `size`
    its size (bytes). `far_row` is the far point's recording order over both directions. `is_reverse` says that they
    came to the near point, so that `time_s` is when they arrived.
    """

    time_s: Floats
    delay_ns: Floats
    size: Floats
    far_row: Ints
    is_reverse: bool

    def select(self, rows: npt.NDArray[np.bool_]) -> OneWayDelays:
        """The packets in a mask."""
        return OneWayDelays(
            self.time_s[rows], self.delay_ns[rows], self.size[rows], self.far_row[rows], self.is_reverse
        )


@dataclass(frozen=True)
class Floor:
    """The lower envelope of one direction's delays over packet size, and the slopes that it allows.

    `sizes` and `delays` are the smallest delay (ns) per size. `byte_ns` is the likeliest serialisation time
    of a byte, between `least_byte_ns` and `most_byte_ns`; `error_ns` is how far the true floor may be below
    that of the smallest packets; `uncertainty_ns` grows with the uncertainty of the slope.
    """

    sizes: Floats
    delays: Floats
    byte_ns: float
    least_byte_ns: float
    most_byte_ns: float
    error_ns: float
    uncertainty_ns: float

    @property
    def least_ns(self) -> float:
        """The smallest delay of all."""
        return float(self.delays.min())

    def base(self, byte_ns: float) -> float:
        """The floor at size 0, in ns, for a serialisation time of `byte_ns` per byte."""
        return float((self.delays - byte_ns * self.sizes).min())


@dataclass(frozen=True)
class Step:
    """The far clock was set by `size_ns`, first seen in row `far_row` of the far point's records."""

    far_row: int
    size_ns: float


@dataclass(frozen=True)
class Fit:
    """The far clock minus the near clock: offset_ns at time 0, plus rate * time, plus steps.

    `error_ns` and `worst_ns` are `clock.error_s` and `clock.worst_s` of the summary, in ns.
    """

    offset_ns: float
    rate: float
    error_ns: float
    worst_ns: float
    steps: tuple[Step, ...] = ()


def fit(forward: OneWayDelays, reverse: OneWayDelays, used_s: tuple[float, float] | None = None) -> Fit | None:
    """Offset, drift and steps of the far clock.

    `forward` delays are far minus near time, `reverse` delays near minus far. Times are seconds on the near
    clock, whose origin is the instant of offset_ns. The error holds from the first packet to the last, or in all of
    `used_s`, from begin to end, of which they are a part. None without packets in both directions.
    """
    if not len(forward.time_s) or not len(reverse.time_s):
        return None
    span = _span(forward, reverse)
    steps = find_steps(forward, reverse)
    forward, reverse = _without_steps(forward, steps, -1), _without_steps(reverse, steps, 1)
    rate, uncertainty = drift(forward, reverse)
    middle = (span[0] + span[1]) / 2
    forward, reverse = _without_drift(forward, rate, middle, -1), _without_drift(reverse, rate, middle, 1)
    jitter = _LONE_PACKET_JITTERS * min(_jitter(forward), _jitter(reverse))
    wander = _unexplained_wander(forward, reverse)
    forward_floor, reverse_floor = _common_slope(floor(forward, jitter), floor(reverse, jitter))
    offset, error = _midpoint(forward_floor, reverse_floor)
    begin, end = used_s or span
    swing = min(uncertainty, _LARGEST_DRIFT) * max(middle - begin, end - middle) * 1e9
    round_trip = max(0.0, forward_floor.least_ns + reverse_floor.least_ns)
    centre = (forward_floor.least_ns - reverse_floor.least_ns) / 2
    worst = round_trip / 2 + abs(offset - centre) + swing + wander
    if forward_floor.least_ns + reverse_floor.least_ns < 0:  # a round trip cannot be negative: a clock step was missed
        worst = error = _spread(forward, reverse)
    return Fit(offset - rate * middle * 1e9, rate, min(error + swing + wander / 2, worst), worst, steps)


def _spread(forward: OneWayDelays, reverse: OneWayDelays) -> float:
    """Range of all clock differences seen (ns)."""
    seen = np.concatenate([forward.delay_ns, -reverse.delay_ns])
    return float(seen.max() - seen.min())


def _unexplained_wander(forward: OneWayDelays, reverse: OneWayDelays) -> float:
    """How much the smallest round trip within any short interval exceeds the sum of both floors (ns).

    Floors that are never reached at about the same time may come from a clock that moved in between.
    """
    start, end = _span(forward, reverse)
    bins = max(2, min(_BINS // 4, len(forward.time_s) // 4, len(reverse.time_s) // 4))
    lowest = [_by_interval(packets, start, end, bins, packets.delay_ns) for packets in (forward, reverse)]
    together = float((lowest[0] + lowest[1]).min())
    return together - float(lowest[0].min() + lowest[1].min()) if np.isfinite(together) else 0.0


def _midpoint(forward: Floor, reverse: Floor) -> tuple[float, float]:
    """(offset, error) from both floors: propagation symmetric, serialisation anywhere in its range."""
    offset = (forward.base(forward.byte_ns) - reverse.base(reverse.byte_ns)) / 2
    highest = (forward.base(forward.least_byte_ns) - reverse.base(reverse.most_byte_ns) + reverse.error_ns) / 2
    lowest = (forward.base(forward.most_byte_ns) - forward.error_ns - reverse.base(reverse.least_byte_ns)) / 2
    return offset, max(highest - offset, offset - lowest, 0.0) + _HOST_NS


def _common_slope(forward: Floor, reverse: Floor) -> tuple[Floor, Floor]:
    """Both floors with the slope of the more certain one, as far as the other's range allows."""
    if forward.uncertainty_ns <= reverse.uncertainty_ns:
        return forward, _with_slope(reverse, forward.byte_ns)
    return _with_slope(forward, reverse.byte_ns), reverse


def _with_slope(one: Floor, byte_ns: float) -> Floor:
    return replace(one, byte_ns=min(max(byte_ns, one.least_byte_ns), one.most_byte_ns))


def _span(forward: OneWayDelays, reverse: OneWayDelays) -> tuple[float, float]:
    times = np.concatenate([forward.time_s, reverse.time_s])
    return float(times.min()), float(times.max())


def _without_steps(packets: OneWayDelays, steps: tuple[Step, ...], sign: int) -> OneWayDelays:
    shift = sum((np.where(packets.far_row >= s.far_row, s.size_ns, 0.0) for s in steps), np.zeros(len(packets.time_s)))
    return replace(packets, delay_ns=packets.delay_ns + sign * shift)


def _without_drift(packets: OneWayDelays, rate: float, middle: float, sign: int) -> OneWayDelays:
    return replace(packets, delay_ns=packets.delay_ns + sign * rate * (packets.time_s - middle) * 1e9)


# The floor of one direction, as a line over packet size.


def floor(packets: OneWayDelays, jitter: float) -> Floor:
    """The lower envelope of delays over packet size; `jitter` (ns) is the error where packets are too few."""
    sizes, inverse = np.unique(packets.size, return_inverse=True)
    floors = np.full(len(sizes), np.inf)
    np.minimum.at(floors, inverse, packets.delay_ns)
    narrow = sizes[-1] < 2 * sizes[0]
    middle = (sizes[0] + sizes[-1]) / 2
    small = (packets.size <= middle) | narrow
    error = _floor_error(packets.select(small), 1, jitter)
    highest = _dispersion(packets, error) if sizes[-1] > 0 else 0.0
    if sizes[-1] <= _LEAST_SIZE_RATIO * sizes[0]:
        return Floor(sizes, floors, highest / 2, 0.0, highest, error, np.inf)
    left, right = bridge(sizes, floors, middle)
    # Where a repair held up all of the few small packets, they tell nothing.
    held_up = np.count_nonzero(small) <= _MARGIN_PACKETS and floors[left] - floors[right] > error
    if held_up and not narrow:
        return floor(packets.select(~small), jitter)
    between = sizes[right] - sizes[left]
    slope = max(0.0, (floors[right] - floors[left]) / between)
    if narrow:
        highest = highest if held_up else min(highest, slope + error / between)
        return Floor(sizes, floors, highest / 2, 0.0, highest, error, np.inf)
    late = _floor_error(_without_serialisation(packets.select(~small), slope), 1, np.inf)
    uncertainty = (error + late) / between
    return Floor(sizes, floors, slope, max(0.0, slope - late / between), slope + error / between, error, uncertainty)


def _without_serialisation(packets: OneWayDelays, byte_ns: float) -> OneWayDelays:
    return replace(packets, delay_ns=packets.delay_ns - byte_ns * packets.size)


def _floor_error(packets: OneWayDelays, used: int, unknown: float) -> float:
    """How far below these packets' floor the true one may be (ns); at most `unknown` when they are few."""
    ordered = _interval_minima(packets, packets.delay_ns)
    found = margin(ordered, used)
    return found if len(ordered) > used + _MARGIN_PACKETS else min(found, unknown) if len(ordered) > used else unknown


def _commonest(packets: OneWayDelays) -> OneWayDelays:
    """The packets of the most frequent size."""
    sizes, counts = np.unique(packets.size, return_counts=True)
    return packets.select(packets.size == sizes[np.argmax(counts)])


def _jitter(packets: OneWayDelays) -> float:
    """Median height of packets of the most frequent size above their floor (ns)."""
    delays = _commonest(packets).delay_ns
    return float(np.median(delays) - delays.min()) if len(delays) > 2 else np.inf


def _dispersion(packets: OneWayDelays, error: float) -> float:
    """Upper bound of the serialisation time of a byte (ns): the least that any burst of packets allows.

    When the last packet of a burst arrives, the link has sent all their bytes since the first one was offered, less
    the propagation; that holds also where it delivered them late and at once. The fastest packet's delay stands for
    propagation and its own bytes; it may be up to `error` (ns) too long. With fewer than three packets 1 ms per byte.
    """
    if len(packets.time_s) < 3:
        return _SLOWEST_BYTE_NS
    fastest, largest = int(np.argmin(packets.delay_ns)), packets.size.max()
    sent = packets.time_s * 1e9 - (packets.delay_ns if packets.is_reverse else 0.0)
    order = np.argsort(sent, kind="stable")
    sent, sizes = sent[order], np.cumsum(np.r_[0.0, packets.size[order]])
    latest, length, bound = sent + packets.delay_ns[order], 1, _SLOWEST_BYTE_NS
    while 2 * length <= min(len(sent), _LONGEST_BURST):
        latest, length = np.maximum(latest[:-length], latest[length:]), 2 * length
        bytes_sent = sizes[length:] - sizes[:-length] - packets.size[fastest]
        took = latest - sent[: len(latest)] - packets.delay_ns[fastest] + error
        enough = bytes_sent >= largest  # a few bytes more may fit into the frames of the fastest packet
        bound = min(bound, float((took[enough] / bytes_sent[enough]).min(initial=bound)))
    return bound


def _interval_minima(packets: OneWayDelays, above: Floats) -> Floats:
    """The smallest of `above` in each of many short intervals, sorted: nearly independent samples."""
    if not len(above):
        return above
    lowest = _by_interval(packets, float(packets.time_s.min()), float(packets.time_s.max()), _BINS, above)
    return np.sort(lowest[np.isfinite(lowest)])


def _by_interval(packets: OneWayDelays, start: float, end: float, bins: int, values: Floats) -> Floats:
    """The smallest value in each of `bins` equal intervals, inf for an empty one."""
    interval = np.clip(((packets.time_s - start) / max(end - start, 1e-9) * bins).astype(np.int64), 0, bins - 1)
    lowest = np.full(bins, np.inf)
    np.minimum.at(lowest, interval, values)
    return lowest


def margin(ordered: Floats, used: int) -> float:
    """How far below the smallest of the ordered delays the true floor may be (ns).

    `used` of them define the envelope. For delays of uniform density above a floor, the probability that
    the floor is further below the smallest than c times the height of the k-th above it is (1 + c) ** -k.
    """
    further = min(_MARGIN_PACKETS, len(ordered) - used)
    if further < 1:
        return float(ordered[-1] - ordered[0]) if len(ordered) > 1 else 0.0
    height = float(ordered[used + further - 1] - ordered[0])
    return float(height * (_MISS_PROBABILITY ** (-1 / further) - 1))


def lower_hull(x: Floats, y: Floats) -> list[int]:
    """Indices of the corners of the lower convex hull; `x` ascending."""
    hull: list[int] = []
    for i in range(len(x)):
        while len(hull) > 1:
            a, b = hull[-2], hull[-1]
            if (y[b] - y[a]) * (x[i] - x[a]) < (y[i] - y[a]) * (x[b] - x[a]):
                break
            hull.pop()
        hull.append(i)
    return hull


def bridge(x: Floats, y: Floats, at: float) -> tuple[int, int]:
    """The two neighbouring corners of the lower hull around `at`."""
    hull = lower_hull(x, y)
    right = int(np.clip(np.searchsorted(x[hull], at), 1, len(hull) - 1))
    return hull[right - 1], hull[right]


# Drift: the slope of the envelope in time.


def drift(forward: OneWayDelays, reverse: OneWayDelays) -> tuple[float, float]:
    """(rate of the far clock against the near one minus 1, its uncertainty); 0 when not significant."""
    best = (0.0, np.inf)
    for packets, sign in ((forward, 1), (reverse, -1)):
        slope, uncertainty = _slope(packets)
        if uncertainty < best[1]:
            best = sign * slope, uncertainty
    rate, uncertainty = best
    if abs(rate) <= uncertainty or abs(rate) > _LARGEST_DRIFT:
        return 0.0, uncertainty
    return rate, uncertainty


def _slope(packets: OneWayDelays) -> tuple[float, float]:
    """Slope over time of the envelope of the most frequent packet size, and its uncertainty."""
    same = _commonest(packets)
    start, end = float(same.time_s.min()), float(same.time_s.max())
    if len(same.time_s) < 10 or end <= start:
        return 0.0, np.inf
    time, lowest = _bin_floors(same, start, end, min(_BINS, len(same.time_s) // 3))
    left, right = bridge(time, lowest, (start + end) / 2)
    slope = (lowest[right] - lowest[left]) / (time[right] - time[left])
    above = np.sort(lowest - lowest[left] - slope * (time - time[left]))
    return slope / 1e9, 2 * (margin(above, 2) + _HOST_NS) / (time[right] - time[left]) / 1e9


def _bin_floors(packets: OneWayDelays, start: float, end: float, bins: int) -> tuple[Floats, Floats]:
    """Time and delay of the fastest packet of each interval."""
    interval = np.minimum(((packets.time_s - start) / (end - start) * bins).astype(np.int64), bins - 1)
    order = np.lexsort((packets.delay_ns, interval))
    first = order[np.r_[True, np.diff(interval[order]) > 0]]
    by_time = first[np.argsort(packets.time_s[first], kind="stable")]
    return packets.time_s[by_time], packets.delay_ns[by_time]


# Steps: the floors of the two directions jump by the same amount with opposite signs.


def find_steps(forward: OneWayDelays, reverse: OneWayDelays) -> tuple[Step, ...]:
    """Steps of the far clock, in the order of the far point's records."""
    steps: list[Step] = []
    while len(steps) < _MOST_STEPS:
        found = _largest_step(_without_steps(forward, tuple(steps), -1), _without_steps(reverse, tuple(steps), 1))
        if found is None:
            break
        steps.append(found)
    return tuple(sorted(steps, key=lambda step: step.far_row))


def _largest_step(forward: OneWayDelays, reverse: OneWayDelays) -> Step | None:
    bins = min(_BINS // 4, len(forward.far_row) // 4, len(reverse.far_row) // 4)
    if bins < 6:
        return None
    rows = np.sort(np.concatenate([forward.far_row, reverse.far_row]))
    edges = rows[np.linspace(0, len(rows) - 1, bins + 1).astype(np.int64)]
    jumps = [_jumps(packets, edges) for packets in (forward, reverse)]
    size, mismatch = (jumps[0] - jumps[1]) / 2, np.abs(jumps[0] + jumps[1])
    known = np.isfinite(size)
    if not known.any():
        return None
    usual = float(np.median(np.abs(size[known])))
    large = known & (np.abs(size) > np.maximum(_STEP_NS, 4 * usual + 4 * mismatch))
    if not large.any():
        return None
    at = int(np.argmax(np.where(large, np.abs(size), -1.0)))
    return _step_at(forward, reverse, int(edges[at]), int(edges[at + 3]), float(size[at]))


def _jumps(packets: OneWayDelays, edges: Ints) -> Floats:
    """Difference of the floor after and before each inner stretch (ns); NaN where unknown."""
    same = _commonest(packets)
    bins = len(edges) - 1
    interval = np.clip(np.searchsorted(edges, same.far_row, side="right") - 1, 0, bins - 1)
    lowest = np.full(bins, np.inf)
    np.minimum.at(lowest, interval, same.delay_ns)
    wide = max(2, bins // 10)
    # The stretch itself is left out: it may have packets from before and after a step.
    after = np.array([lowest[i + 1 : i + 1 + wide].min() for i in range(1, bins - 1)])
    before = np.array([lowest[max(0, i - wide) : i].min() for i in range(1, bins - 1)])
    known = np.isfinite(after) & np.isfinite(before)
    return np.where(known, np.where(known, after, 0) - np.where(known, before, 0), np.nan)


def _step_at(forward: OneWayDelays, reverse: OneWayDelays, start: int, end: int, size: float) -> Step:
    """The step, located at a row between `start` and `end`.

    The best row has most packets of the old level before it and of the new level after it.
    """
    rows, scores = [], []
    for packets, sign in ((forward, 1), (reverse, -1)):
        near = packets.select((packets.far_row >= start) & (packets.far_row <= end))
        if not len(near.far_row):
            continue
        signed = sign * near.delay_ns
        middle = (signed.min() + signed.max()) / 2
        rows.append(near.far_row)
        scores.append(np.where((signed > middle) == (size > 0), 1.0, -1.0))
    row, score = np.concatenate(rows), np.concatenate(scores)
    order = np.argsort(row, kind="stable")
    score_before = np.r_[0.0, np.cumsum(score[order])]
    best = int(np.argmin(score_before))
    return Step(int(row[order][min(best, len(row) - 1)]), size)
