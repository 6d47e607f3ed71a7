"""How two clocks stand to each other, from the delays of packets that both saw, in both directions.

A delay measured between two clocks is the packet's own (propagation, serialisation, queues) plus
the clocks' difference; there and back the difference counts with opposite signs. The fastest packets
(the lower envelope) met no queue. Their delay is a straight line in the packet's size (serialisation)
and, where the clocks drift apart, in time. What is left after both, halved between there and back,
is the difference of the clocks if propagation takes as long there as back.

The bound on the error looks at how densely delays crowd above the envelope: where the next few
stand close, the envelope is where the true floor is (Moon, Skelly, Towsley 1999; Paxson 1998 use
the same envelope without a bound).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]

_NEXT = 5
"""How many delays above the envelope tell how far below it the true floor may lie."""
_MISS = 0.01
"""The chance that the true floor lies lower than the bound, when delays thicken evenly from it."""
_BINS = 400
_FEW = 3.0
"""A lone packet is held to be at most so many times the usual jitter above the floor."""
_LARGEST_DRIFT = 500e-6
"""No usable clock is further off its rate: the limit that NTP steers within (RFC 5905)."""
_HOST_NS = 50_000.0
"""What hosts add between the wire and the time stamp, and what that wanders by."""
_TELLING = 1.5
"""Sizes that differ by less than this factor say nothing about the time a byte takes."""
_STEP_NS = 1e6
"""The smallest step of a clock that is looked for."""
_MOST_STEPS = 8


@dataclass(frozen=True)
class Way:
    """Packets one way: when the near point saw each (s), its delay between the clocks (ns), its size (bytes).

    `arrived_s` is when the packet came to where it was going, on that clock, since any instant;
    `far_row` tells the order in which the far point recorded the packets of both ways.
    """

    time_s: Floats
    delay_ns: Floats
    size: Floats
    arrived_s: Floats
    far_row: Ints

    def among(self, rows: npt.NDArray[np.bool_]) -> Way:
        """Some of the packets."""
        return Way(
            self.time_s[rows], self.delay_ns[rows], self.size[rows], self.arrived_s[rows], self.far_row[rows]
        )


@dataclass(frozen=True)
class Floor:
    """The lower envelope of one way: corners of its hull in size, and what slope they allow.

    `byte_ns` is the likeliest time a byte takes, within `least_byte_ns` and `most_byte_ns`;
    `error_ns` is how far below the smallest packets' floor the true one may be; `doubt_ns` grows
    with the doubt about the slope. `least_ns` is the smallest delay of all.
    """

    sizes: Floats
    delays: Floats
    byte_ns: float
    least_byte_ns: float
    most_byte_ns: float
    error_ns: float
    doubt_ns: float

    @property
    def least_ns(self) -> float:
        """The smallest delay of all."""
        return float(self.delays.min())

    def base(self, byte_ns: float) -> float:
        """The delay of a packet without size, when a byte takes `byte_ns`."""
        return float((self.delays - byte_ns * self.sizes).min())


@dataclass(frozen=True)
class Step:
    """A jump of the far clock by `size_ns`, first seen in row `far_row` of what the far point recorded."""

    far_row: int
    size_ns: float


@dataclass(frozen=True)
class Fit:
    """The other clock minus the first: offset_ns at time 0, plus rate * time, plus steps.

    `error_ns` and `worst_ns` are as `clock.error_s` and `clock.worst_s` of the summary.
    """

    offset_ns: float
    rate: float
    error_ns: float
    worst_ns: float
    steps: tuple[Step, ...] = ()


def fit(there: Way, back: Way) -> Fit | None:
    """Offset and drift of the far clock, from packets there (far minus near) and back (near minus far).

    Times are seconds on the near clock since any instant, that of offset_ns. None without packets
    in both directions.
    """
    if not len(there.time_s) or not len(back.time_s):
        return None
    span = _span(there, back)
    steps = find_steps(there, back)
    there, back = _stepped(there, steps, -1), _stepped(back, steps, 1)
    rate, doubt = drift(there, back)
    middle = (span[0] + span[1]) / 2
    there, back = _drifted(there, rate, middle, -1), _drifted(back, rate, middle, 1)
    jitter = _FEW * min(_jitter(there), _jitter(back))
    wander = _wander(there, back)
    ahead, behind = _agreed(floor(there, jitter), floor(back, jitter))
    offset, error = _halved(ahead, behind)
    swing = min(doubt, _LARGEST_DRIFT) * (span[1] - span[0]) / 2 * 1e9
    round_trip = max(0.0, ahead.least_ns + behind.least_ns)
    centre = (ahead.least_ns - behind.least_ns) / 2
    worst = round_trip / 2 + abs(offset - centre) + swing + wander
    if ahead.least_ns + behind.least_ns < 0:  # no round trip is negative: the clock jumped unseen
        worst = error = _spread(there, back)
    return Fit(offset - rate * middle * 1e9, rate, min(error + swing + wander / 2, worst), worst, steps)


def _spread(there: Way, back: Way) -> float:
    """How far apart all differences of the clocks seen are (ns)."""
    seen = np.concatenate([there.delay_ns, -back.delay_ns])
    return float(seen.max() - seen.min())


def _wander(there: Way, back: Way) -> float:
    """By how much the smallest round trip within any short interval exceeds both floors together (ns).

    Floors that are never reached near the same time may belong to a clock that moved in between.
    """
    start, end = _span(there, back)
    bins = max(2, min(_BINS // 4, len(there.time_s) // 4, len(back.time_s) // 4))
    least = [_by_interval(way, start, end, bins, way.delay_ns) for way in (there, back)]
    together = float((least[0] + least[1]).min())
    return together - float(least[0].min() + least[1].min()) if np.isfinite(together) else 0.0


def _halved(ahead: Floor, behind: Floor) -> tuple[float, float]:
    """(offset, its error) from both floors: propagation halved, serialisation anything that is possible."""
    offset = (ahead.base(ahead.byte_ns) - behind.base(behind.byte_ns)) / 2
    most = (ahead.base(ahead.least_byte_ns) - behind.base(behind.most_byte_ns) + behind.error_ns) / 2
    least = (ahead.base(ahead.most_byte_ns) - ahead.error_ns - behind.base(behind.least_byte_ns)) / 2
    return offset, max(most - offset, offset - least, 0.0) + _HOST_NS


def _agreed(ahead: Floor, behind: Floor) -> tuple[Floor, Floor]:
    """Both floors with the slope of the surer one, where the other's packets allow it."""
    if ahead.doubt_ns <= behind.doubt_ns:
        return ahead, _with_slope(behind, ahead.byte_ns)
    return _with_slope(ahead, behind.byte_ns), behind


def _with_slope(one: Floor, byte_ns: float) -> Floor:
    return replace(one, byte_ns=min(max(byte_ns, one.least_byte_ns), one.most_byte_ns))


def _span(there: Way, back: Way) -> tuple[float, float]:
    times = np.concatenate([there.time_s, back.time_s])
    return float(times.min()), float(times.max())


def _stepped(way: Way, steps: tuple[Step, ...], sign: int) -> Way:
    shift = sum(
        (np.where(way.far_row >= s.far_row, s.size_ns, 0.0) for s in steps), np.zeros(len(way.time_s))
    )
    return replace(way, delay_ns=way.delay_ns + sign * shift)


def _drifted(way: Way, rate: float, middle: float, sign: int) -> Way:
    return replace(way, delay_ns=way.delay_ns + sign * rate * (way.time_s - middle) * 1e9)


# The floor of one way, as a line in the packet's size.


def floor(way: Way, jitter: float) -> Floor:
    """The lower envelope of delays in packet size; `jitter` stands in where packets are too few to tell."""
    sizes, inverse = np.unique(way.size, return_inverse=True)
    floors = np.full(len(sizes), np.inf)
    np.minimum.at(floors, inverse, way.delay_ns)
    most = _dispersion(way) if sizes[-1] > 0 else 0.0
    narrow = sizes[-1] < 2 * sizes[0]
    middle = (sizes[0] + sizes[-1]) / 2
    small = (way.size <= middle) | narrow
    error = _noise(way.among(small), 1, jitter)
    if sizes[-1] <= _TELLING * sizes[0]:
        return Floor(sizes, floors, most / 2, 0.0, most, error, np.inf)
    left, right = bridge(sizes, floors, middle)
    between = sizes[right] - sizes[left]
    slope = max(0.0, (floors[right] - floors[left]) / between)
    if narrow:
        most = min(most, slope + error / between)
        return Floor(sizes, floors, most / 2, 0.0, most, error, np.inf)
    late = _noise(_flat(way.among(~small), slope), 1, np.inf)
    doubt = (error + late) / between
    return Floor(
        sizes, floors, slope, max(0.0, slope - late / between), slope + error / between, error, doubt
    )


def _flat(way: Way, byte_ns: float) -> Way:
    return replace(way, delay_ns=way.delay_ns - byte_ns * way.size)


def _noise(way: Way, used: int, unknown: float) -> float:
    """How far below these packets' floor the true one may be; at most `unknown` when they are few."""
    ordered = _thinned(way, way.delay_ns)
    found = margin(ordered, used)
    return found if len(ordered) > used + _NEXT else min(found, unknown) if len(ordered) > used else unknown


def _commonest(way: Way) -> Way:
    """The packets of the commonest size."""
    sizes, counts = np.unique(way.size, return_counts=True)
    return way.among(way.size == sizes[np.argmax(counts)])


def _jitter(way: Way) -> float:
    """How far packets of the commonest size usually are above their floor."""
    delays = _commonest(way).delay_ns
    return float(np.median(delays) - delays.min()) if len(delays) > 2 else np.inf


def _dispersion(way: Way) -> float:
    """At most how long a byte takes (ns): packets leave a link no closer than it carries them.

    Without three packets to compare, a byte is held to take no more than 1 ms, as at 8 kbit/s.
    """
    if len(way.time_s) < 3:
        return 1e6
    order = np.argsort(way.arrived_s, kind="stable")
    gaps = np.diff(way.arrived_s[order]) * 1e9
    rates = gaps[gaps > 0] / way.size[order][1:][gaps > 0]
    return float(np.quantile(rates, 0.25)) if len(rates) else 1e6


def _thinned(way: Way, above: Floats) -> Floats:
    """The smallest of `above` in each of many short intervals: what is left is nearly independent."""
    if not len(above):
        return above
    least = _by_interval(way, float(way.time_s.min()), float(way.time_s.max()), _BINS, above)
    return np.sort(least[np.isfinite(least)])


def _by_interval(way: Way, start: float, end: float, bins: int, values: Floats) -> Floats:
    """The smallest value in each of `bins` equal intervals, inf where there is none."""
    place = np.clip(((way.time_s - start) / max(end - start, 1e-9) * bins).astype(np.int64), 0, bins - 1)
    least = np.full(bins, np.inf)
    np.minimum.at(least, place, values)
    return least


def margin(ordered: Floats, used: int) -> float:
    """How far below the smallest of the ordered delays the true floor may lie.

    `used` of them define the envelope. Delays that thicken evenly from a floor keep the same mean
    distance d; that the floor is further below than the k-th is above then has probability
    (1 + c) ** -k for c times the k-th's height.
    """
    further = min(_NEXT, len(ordered) - used)
    if further < 1:
        return float(ordered[-1] - ordered[0]) if len(ordered) > 1 else 0.0
    height = float(ordered[used + further - 1] - ordered[0])
    return float(height * (_MISS ** (-1 / further) - 1))


def lower_hull(x: Floats, y: Floats) -> list[int]:
    """Indices of the corners of the lower convex hull; x ascending."""
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
    """The two corners of the lower hull on either side of `at`."""
    hull = lower_hull(x, y)
    right = int(np.clip(np.searchsorted(x[hull], at), 1, len(hull) - 1))
    return hull[right - 1], hull[right]


# Drift: the slope of the envelope in time.


def drift(there: Way, back: Way) -> tuple[float, float]:
    """(rate of the far clock against the near one minus 1, its doubt); 0 when it cannot be told from 0."""
    best = (0.0, np.inf)
    for way, sign in ((there, 1), (back, -1)):
        slope, doubt = _slope(way)
        if doubt < best[1]:
            best = sign * slope, doubt
    rate, doubt = best
    if abs(rate) <= doubt or abs(rate) > _LARGEST_DRIFT:
        return 0.0, doubt
    return rate, doubt


def _slope(way: Way) -> tuple[float, float]:
    """Slope in time of the envelope of the packets of the commonest size, and its doubt."""
    same = _commonest(way)
    start, end = float(same.time_s.min()), float(same.time_s.max())
    if len(same.time_s) < 10 or end <= start:
        return 0.0, np.inf
    time, least = _bin_floors(same, start, end, min(_BINS, len(same.time_s) // 3))
    left, right = bridge(time, least, (start + end) / 2)
    slope = (least[right] - least[left]) / (time[right] - time[left])
    above = np.sort(least - least[left] - slope * (time - time[left]))
    return slope / 1e9, 2 * (margin(above, 2) + _HOST_NS) / (time[right] - time[left]) / 1e9


def _bin_floors(way: Way, start: float, end: float, bins: int) -> tuple[Floats, Floats]:
    """The fastest packet of each interval: when, and its delay."""
    place = np.minimum(((way.time_s - start) / (end - start) * bins).astype(np.int64), bins - 1)
    order = np.lexsort((way.delay_ns, place))
    first = order[np.r_[True, np.diff(place[order]) > 0]]
    by_time = first[np.argsort(way.time_s[first], kind="stable")]
    return way.time_s[by_time], way.delay_ns[by_time]


# Steps: the floors there and back jump by the same amount in opposite directions.


def find_steps(there: Way, back: Way) -> tuple[Step, ...]:
    """Jumps of the far clock, in the order in which its point recorded them."""
    steps: list[Step] = []
    while len(steps) < _MOST_STEPS:
        found = _largest_step(_stepped(there, tuple(steps), -1), _stepped(back, tuple(steps), 1))
        if found is None:
            break
        steps.append(found)
    return tuple(sorted(steps, key=lambda step: step.far_row))


def _largest_step(there: Way, back: Way) -> Step | None:
    bins = min(_BINS // 4, len(there.far_row) // 4, len(back.far_row) // 4)
    if bins < 6:
        return None
    rows = np.sort(np.concatenate([there.far_row, back.far_row]))
    edges = rows[np.linspace(0, len(rows) - 1, bins + 1).astype(np.int64)]
    jumps = [_jumps(way, edges) for way in (there, back)]
    size, change = (jumps[0] - jumps[1]) / 2, np.abs(jumps[0] + jumps[1])
    known = np.isfinite(size)
    if not known.any():
        return None
    usual = float(np.median(np.abs(size[known])))
    large = known & (np.abs(size) > np.maximum(_STEP_NS, 4 * usual + 4 * change))
    if not large.any():
        return None
    at = int(np.argmax(np.where(large, np.abs(size), -1.0)))
    return _exactly(there, back, int(edges[at]), int(edges[at + 3]), float(size[at]))


def _jumps(way: Way, edges: Ints) -> Floats:
    """By how much the floor of the stretches after each inner stretch differs from before it."""
    same = _commonest(way)
    bins = len(edges) - 1
    place = np.clip(np.searchsorted(edges, same.far_row, side="right") - 1, 0, bins - 1)
    least = np.full(bins, np.inf)
    np.minimum.at(least, place, same.delay_ns)
    wide = max(2, bins // 10)
    # The stretch itself is left out: it may hold packets from before and from after a step.
    after = np.array([least[i + 1 : i + 1 + wide].min() for i in range(1, bins - 1)])
    before = np.array([least[max(0, i - wide) : i].min() for i in range(1, bins - 1)])
    known = np.isfinite(after) & np.isfinite(before)
    return np.where(known, np.where(known, after, 0) - np.where(known, before, 0), np.nan)


def _exactly(there: Way, back: Way, start: int, end: int, size: float) -> Step:
    """In which row between `start` and `end` the step is first seen.

    The best place has the most packets of the old level before it and of the new one after it.
    """
    rows, scores = [], []
    for way, sign in ((there, 1), (back, -1)):
        near = way.among((way.far_row >= start) & (way.far_row <= end))
        if not len(near.far_row):
            continue
        signed = sign * near.delay_ns
        middle = (signed.min() + signed.max()) / 2
        rows.append(near.far_row)
        scores.append(np.where((signed > middle) == (size > 0), 1.0, -1.0))
    row, score = np.concatenate(rows), np.concatenate(scores)
    order = np.argsort(row, kind="stable")
    lost = np.r_[0.0, np.cumsum(score[order])]
    best = int(np.argmin(lost))
    return Step(int(row[order][min(best, len(row) - 1)]), size)
