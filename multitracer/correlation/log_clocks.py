"""Offset and drift of a link log's clock against the captures' clock, from packets that both contain.

A frame of a packet is sent after the packet was captured before the link, and a packet is captured
behind the link after its last frame arrived. So each packet bounds the difference of the clocks from
above or below. The tightest bounds leave an interval: its middle is the estimate, half its length the error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.correlation.segment_frames import LinkMatch, correlate
from multitracer.model.paths import NOWHERE, Paths
from multitracer.model.trace import Clock, ClockPiece

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]

_PPT = 10**12
_LEAST_FRAMES = 3
_LARGEST_DRIFT = 500e-6
"""The largest drift that is considered: the frequency tolerance of NTP (RFC 5905)."""
_FEW = 0.01
"""So large a share of the packets may exclude a clock that the others allow, where they allow no other."""
_ROUNDS = 60
"""Steps of a search: enough for a drift in 64 bits."""


@dataclass(frozen=True)
class _Bounds:
    """Upper (or lower) bounds of the difference of the clocks, one per packet, at `log_ns` on the log's clock."""

    log_ns: Ints
    difference_ns: Ints
    """The log's time less the capture's, widened by the capture's clock error."""

    def where(self, keep: npt.NDArray[np.bool_]) -> _Bounds:
        """Some of the bounds."""
        return _Bounds(self.log_ns[keep], self.difference_ns[keep])

    def line_points(self, begin: int, base: int) -> _Points:
        """The bounds as points: x is the time since `begin`, y the difference less `base`, both in ns."""
        return _Points((self.log_ns - begin).astype(np.float64), (self.difference_ns - base).astype(np.float64))


class _Points(NamedTuple):
    x: npt.NDArray[np.float64]
    y: npt.NDArray[np.float64]


def tie_clock(
    tables: Mapping[str, pd.DataFrame],
    segments: pd.DataFrame,
    connections: pd.DataFrame,
    paths: Paths,
    number: int,
    reference: str,
    error_ns: tuple[Sequence[int], Sequence[int]] | None = None,
) -> Clock:
    """Estimate the clock of the link log that is input `number` against the reference clock.

    `error_ns` are two bounds of how far `segments.time_ns` are from the reference clock, for each point: if both
    ways take equally long, and at worst; segments of a point with -1 are not used. If the bounds allow the
    reference clock itself, it is taken. Without packets in both the clock has no pieces.
    """
    frames = tables["frames"]
    own = frames[frames["input"].to_numpy() == number].reset_index(drop=True)
    own = own.assign(time_ns=own["recorded_ns"].to_numpy())
    points = int(segments["point"].max()) + 1 if len(segments) else 0
    found = correlate({**tables, "frames": own}, segments, connections, paths, [-1] * points)
    bounds = [np.zeros(points, dtype=np.int64)] * 2 if error_ns is None else [np.asarray(one) for one in error_ns]
    after, before = _bounds(found.links.values(), own, segments, paths, bounds[0])
    count = sum(int((match.segments >= 0).sum()) for match in found.links.values())
    if not len(after.log_ns):
        return Clock(reference, how="shares no packets with a capture")
    how = f"estimated from {count} packets found in its payload"
    if not len(before.log_ns):
        how += ", if it does not drift and the link takes a packet at once when it is idle"
        high = int(after.difference_ns.min())
        return _clock(reference, high - _frame_time(own), high, own, how)
    low, high = int(before.difference_ns.max()), int(after.difference_ns.min())
    clock = _clock_of(reference, after, before, own, how)
    latest, earliest = _bounds(found.links.values(), own, segments, paths, bounds[1])
    if not clock.pieces:
        after, before = _but_for_few(after, before)
        low, high = int(before.difference_ns.max()), int(after.difference_ns.min())
        if low <= 0 <= high:
            clock = _clock(reference, low, high, own, f"{how}, but for a few that no steady clock fits")
            latest, earliest = _but_for_few(latest, earliest)
    wider = max(int(latest.difference_ns.min()) - high, low - int(earliest.difference_ns.max()), 0)
    return clock if clock.error_s is None else replace(clock, worst_s=clock.error_s + wider / 1e9)


def _clock_of(reference: str, after: _Bounds, before: _Bounds, own: pd.DataFrame, how: str) -> Clock:
    """The reference clock itself if the bounds allow it, else a clock with drift; without pieces if they allow none."""
    low, high = int(before.difference_ns.max()), int(after.difference_ns.min())
    if low <= 0 <= high:
        return _clock(reference, low, high, own, how)
    return _clock_with_drift(reference, after, before, own, how)


def _bounds(
    matches: Iterable[LinkMatch], own: pd.DataFrame, segments: pd.DataFrame, paths: Paths, errors: Ints
) -> tuple[_Bounds, _Bounds]:
    """Upper bounds from packets captured before the link, and lower bounds from packets captured behind it."""
    after: list[tuple[int, int]] = []
    before: list[tuple[int, int]] = []
    time = own["time_ns"].to_numpy()
    connection, sender = segments["connection"].to_numpy(), segments["sender"].to_numpy()
    for match in matches:
        for packet, row in zip(match.packets, match.segments.tolist(), strict=True):
            if row < 0 or not packet.complete or packet.garbled:
                continue
            first, last = int(time[packet.rows[0]]), int(time[packet.first_transmissions].max())
            offered = paths.sender_point[connection[row], sender[row]] != NOWHERE
            came = int(paths.arrival[row]) if offered else row
            if offered:
                after.append((first if match.sender_logged else last, row))
            if came >= 0:
                before.append((last, came))
    return _as_bounds(after, segments, errors, 1), _as_bounds(before, segments, errors, -1)


def _but_for_few(after: _Bounds, before: _Bounds) -> tuple[_Bounds, _Bounds]:
    """The bounds without those that exclude offset 0, if these are few.

    Where RLP's receiver takes an old frame for a new one, the log has a packet's last frame after its delivery.
    """
    fit = after.difference_ns >= 0, before.difference_ns <= 0
    if all((~one).sum() <= _FEW * len(one) for one in fit):
        return after.where(fit[0]), before.where(fit[1])
    return after, before


def _as_bounds(pairs: list[tuple[int, int]], segments: pd.DataFrame, errors: Ints, sign: int) -> _Bounds:
    log_ns, rows = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    error = errors[segments["point"].to_numpy()[rows]]
    known = error >= 0
    difference = log_ns - segments["time_ns"].to_numpy()[rows] + sign * error
    return _Bounds(log_ns[known], difference[known])


def _clock(reference: str, low: int, high: int, own: pd.DataFrame, how: str) -> Clock:
    """A clock without drift in the middle of low..high (ns); offset 0 if the interval contains it."""
    offset, error = (low + high) // 2, (high - low + 1) // 2
    if low <= 0 <= high:
        offset, error = 0, max(high, -low)
        how = f"held to be the captures' own: {how}, it is between {low / 1e6:.1f} and {high / 1e6:.1f} ms off"
    piece = ClockPiece(int(own["recorded_ns"].min()), offset)
    return Clock(reference, offset / 1e9, 0.0, error / 1e9, error / 1e9, how, (piece,))


def _clock_with_drift(reference: str, after: _Bounds, before: _Bounds, own: pd.DataFrame, how: str) -> Clock:
    """A clock with drift: the middle of all straight lines (difference over time) within all bounds."""
    recorded = own["recorded_ns"].to_numpy()
    begin, end = int(recorded.min()), int(recorded.max())
    base = int(np.median(after.difference_ns))
    upper, lower = after.line_points(begin, base), before.line_points(begin, base)
    slopes = _slopes(upper, lower)
    if slopes is None:
        return Clock(reference, how="fits no steady clock by the packets that it shares with the captures")
    (low, high), (late_low, late_high) = (_range_at(upper, lower, slopes, at) for at in (0.0, float(end - begin)))
    first, last = (low + high) / 2, (late_low + late_high) / 2
    rate = (last - first) / max(end - begin, 1)
    error = max(high - low, late_high - late_low) / 2e9
    piece = ClockPiece(begin, base + round(first), round(rate * _PPT))
    return Clock(reference, piece.offset_ns / 1e9, rate / (1 - rate) * 1e6, error, error, how, (piece,))


def _slopes(upper: _Points, lower: _Points) -> tuple[float, float] | None:
    """Least and greatest slope of a line below all of `upper` and above all of `lower`; None if there is none."""

    def overlap(rate: float) -> float:  # width of the band of allowed lines of this slope; concave
        return float((upper.y - rate * upper.x).min() - (lower.y - rate * lower.x).max())

    best = _argmax(overlap, -_LARGEST_DRIFT, _LARGEST_DRIFT)
    if overlap(best) < 0:
        return None
    ends = []
    for outside in (-_LARGEST_DRIFT, _LARGEST_DRIFT):
        inside = best
        for _ in range(_ROUNDS if overlap(outside) < 0 else 0):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if overlap(middle) >= 0 else (inside, middle)
        ends.append(outside)
    return ends[0], ends[1]


def _range_at(upper: _Points, lower: _Points, slopes: tuple[float, float], at: float) -> tuple[float, float]:
    """The lowest and the highest value of any allowed line at time `at`."""

    def highest(rate: float) -> float:
        return float((upper.y - rate * (upper.x - at)).min())

    def lowest(rate: float) -> float:
        return -float((lower.y - rate * (lower.x - at)).max())

    return -lowest(_argmax(lowest, *slopes)), highest(_argmax(highest, *slopes))


def _argmax(concave: Callable[[float], float], low: float, high: float) -> float:
    """The argument of the maximum of a concave function, by ternary search."""
    for _ in range(_ROUNDS):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (left, high) if concave(left) < concave(right) else (low, right)
    return (low + high) / 2


def _frame_time(own: pd.DataFrame) -> int:
    """The median time in ns between frames sent; 0 if there are too few."""
    times = np.unique(own["recorded_ns"].to_numpy()[own["sent"].to_numpy()])
    return int(np.median(np.diff(times))) if len(times) >= _LEAST_FRAMES else 0
