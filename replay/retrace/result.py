"""The result of a retrace: throughput of each frame size, the optimum, its plateau and gain, and intervals.

All is worked out from the octets that came through and the frames sent in each stretch of the trace. Intervals come
from a bootstrap over stretches, in blocks as long as the octets' own correlation asks for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from multitracer.replay.erasures.trace import ErasureTrace
from multitracer.replay.retrace import REPEATING, bootstrap, resonance
from multitracer.replay.retrace.models import Counts
from multitracer.replay.retrace.settings import Settings

Ints = npt.NDArray[np.int64]

PLATEAU = Fraction(99, 100)
"""Sizes that reach this share of the best throughput count as equally good."""
MINUTE_NS = 60_000_000_000
_MOST_REMARKS = 3


@dataclass(frozen=True)
class Retraced:
    """One trace at every frame size: octets that came through and frames sent, by stretch of the trace."""

    trace: ErasureTrace
    settings: Settings
    sizes: tuple[int, ...]
    starts: Ints
    """The block at which each stretch begins."""
    octets: Ints
    """Shape (sizes, stretches)."""
    frames: Ints
    """Shape (sizes, stretches)."""
    parameters: dict[str, Any]
    counts: dict[int, Counts] = field(default_factory=dict)
    """By frame size, the counters of the protocol's sender and receiver."""
    ended: dict[int, str] = field(default_factory=dict)
    """By frame size, why nothing came through, in words."""
    warnings: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """By frame size, warnings for whoever reads the result."""
    left_out: tuple[str, ...] = ()
    """Notes on frame sizes of the default that the model cannot have."""

    @cached_property
    def exact_bps(self) -> list[Fraction | None]:
        """Throughput of each size; None where not one frame fits into the trace."""
        return [
            self._ratio(int(self.octets[row].sum()), int(self.frames[row].sum()), size)
            for row, size in enumerate(self.sizes)
        ]

    def _ratio(self, octets: int, frames: int, size: int) -> Fraction | None:
        time_ns = frames * size // self.trace.block_bytes * self.trace.block_ns
        return Fraction(8_000_000_000 * octets, time_ns) if time_ns else None

    @cached_property
    def best(self) -> int:
        """The index of the best size; the smallest of several equally good."""
        return _best(self.exact_bps)

    @property
    def optimal_frame_bytes(self) -> int | None:
        """The best size; None when nothing came through at any."""
        return self.sizes[self.best] if self.exact_bps[self.best] else None

    @property
    def plateau(self) -> list[int] | None:
        """The sizes around the best that are within 1 % of it: the first and the last."""
        limit = (self.exact_bps[self.best] or 0) * PLATEAU
        if not limit:
            return None
        near = [bps is not None and bps >= limit for bps in self.exact_bps]
        low = high = self.best
        while low > 0 and near[low - 1]:
            low -= 1
        while high + 1 < len(near) and near[high + 1]:
            high += 1
        return [self.sizes[low], self.sizes[high]]

    @property
    def baseline(self) -> int:
        """The index of the size that the best one is compared with."""
        wanted = self.settings.baseline_bytes or self.trace.block_bytes
        return self.sizes.index(wanted) if wanted in self.sizes else 0

    @property
    def gain_percent(self) -> float | None:
        """By how much the best size carries more than the baseline; None when the baseline carries nothing."""
        base, best = self.exact_bps[self.baseline], self.exact_bps[self.best]
        return float(100 * (best / base - 1)) if base and best else None

    @cached_property
    def _series(self) -> list[bootstrap.Series]:
        """What each stretch adds to each size's throughput, in bit/s."""
        errors = np.add.reduceat(self.trace.erased.astype(np.int64), self.starts)[None]
        octets, frames, errors = (bootstrap.summed(table) for table in (self.octets, self.frames, errors))
        found = []
        for row, bps in enumerate(self.exact_bps):
            estimate, mean = float(bps or 0), max(frames[row].mean(), 1e-9)
            each_bps = 8e9 / (self.sizes[row] // self.trace.block_bytes * self.trace.block_ns)
            influence = (octets[row] * each_bps - estimate * frames[row]) / mean
            found.append(bootstrap.Series(estimate, influence, np.stack([errors[0] > 0, octets[row] > 0])))
        return found

    @cached_property
    def ci95_bps(self) -> list[list[float] | None]:
        """The confidence interval of each size's throughput; None without resampling, and where there can be none."""
        if not self.settings.resamples:
            return [None] * len(self.sizes)
        found = bootstrap.intervals(self._series, self.settings.resamples)
        return [bounds and [max(bounds[0], 0.0), bounds[1]] for bounds in found]

    @property
    def gain_ci95_percent(self) -> list[float] | None:
        """The confidence interval of the best size's gain."""
        base, best = self._series[self.baseline], self._series[self.best]
        if not self.settings.resamples or self.gain_percent is None:
            return None
        influence = 100 * (best.influence - best.estimate / base.estimate * base.influence) / base.estimate
        gain = bootstrap.Series(self.gain_percent, influence, best.telling & base.telling)
        return bootstrap.intervals([gain], self.settings.resamples)[0]

    @cached_property
    def optimal_ci95_bytes(self) -> list[int] | None:
        """The smallest and the largest size of which it is not certain (95 %) that the best one carries more."""
        own, best = self.ci95_bps[self.best], self._series[self.best]
        if not self.optimal_frame_bytes or not own:
            return None
        # Where intervals do not even meet, that of the difference is on one side of 0.
        near = [place for place, other in enumerate(self.ci95_bps) if other and other[1] >= own[0]]
        less = [
            bootstrap.Series(best.estimate - one.estimate, best.influence - one.influence, best.telling & one.telling)
            for one in (self._series[place] for place in near)
        ]
        bounds = bootstrap.intervals(less, self.settings.resamples)
        equal = [self.sizes[place] for place, bound in zip(near, bounds, strict=True) if bound and bound[0] <= 0]
        return [min(equal), max(equal)]

    @cached_property
    def no_interval(self) -> dict[int, str]:
        """Why a size has no interval, in words, by size; empty without resampling."""
        if not self.settings.resamples:
            return {}
        reasons = zip(self.sizes, map(bootstrap.why_none, self._series), strict=True)
        return {size: why for size, why in reasons if why and size not in self.ended}

    @property
    def remarks(self) -> list[str]:
        """Remarks on some sizes for the reader: sizes left out; at most three sentences, and how many more there
        are."""
        found = []
        found += [f"{where} nothing came through: {why}" for where, why in _by_reason(self.ended)]
        found += [f"{where} there is no interval: {why}" for where, why in _by_reason(self.no_interval)]
        found += [f"at {size} octets: {why}" for size, all_of in sorted(self.warnings.items()) for why in all_of]
        more_said = [f"and so at {len(found) - _MOST_REMARKS} more sizes"] if len(found) > _MOST_REMARKS else []
        if self.settings.model in REPEATING:
            found.insert(0, resonance.remark(self.trace.erased, self.trace.block_bytes, self.sizes))
        found = [sentence for sentence in found if sentence]
        return [*self.left_out, *found[:_MOST_REMARKS], *more_said]

    @cached_property
    def by_minute(self) -> Minutes:
        """The same octets and frames, by minute."""
        minute = self.starts * self.trace.block_ns // MINUTE_NS
        first = np.flatnonzero(np.diff(minute, prepend=-1))
        octets, frames = (np.add.reduceat(table, first, axis=1) for table in (self.octets, self.frames))
        time_ns = frames * (np.array(self.sizes)[:, None] // self.trace.block_bytes) * self.trace.block_ns
        return Minutes(octets, time_ns)


@dataclass(frozen=True)
class Minutes:
    """Octets that came through and the time they took, shape (sizes, minutes), to choose a size anew each minute.

    A frame counts for the minute in which it began.
    """

    octets: Ints
    time_ns: Ints

    @cached_property
    def bps(self) -> npt.NDArray[np.float64]:
        """Throughput, 0 where no frame began."""
        return np.divide(8e9 * self.octets, self.time_ns, out=np.zeros(self.octets.shape), where=self.time_ns > 0)

    @cached_property
    def chosen(self) -> Ints:
        """The index of each minute's best size; the minute before's where nothing came through."""
        last = np.maximum.accumulate(np.where(self.known, np.arange(len(self.known)), -1))
        return np.argmax(self.bps, axis=0)[np.maximum(last, 0)]

    @cached_property
    def known(self) -> npt.NDArray[np.bool_]:
        """Whether anything came through in each minute."""
        return np.asarray((self.octets > 0).any(axis=0))

    def throughput_of_size(self, place: int, first: int = 0) -> float | None:
        """Throughput of one size from minute `first` on."""
        return self.throughput_of_choice(np.full(self.octets.shape[1], place), first)

    def throughput_of_choice(self, places: Any, first: int = 0) -> float | None:
        """Throughput from minute `first` on, with the size `places[m]` in minute m."""
        columns = np.arange(first, self.octets.shape[1])
        time_ns = int(self.time_ns[places[first:], columns].sum())
        return 8e9 * int(self.octets[places[first:], columns].sum()) / time_ns if time_ns else None

    def gains(self) -> dict[str, float | None]:
        """The gain of choosing each minute over the best fixed size: with hindsight, and by the minute before."""
        before = np.concatenate([self.chosen[:1], self.chosen[:-1]])
        return {
            "hindsight_gain_percent": self._gain(self.chosen, 0),
            "minute_before_gain_percent": self._gain(before, 1),
        }

    def _gain(self, places: Any, first: int) -> float | None:
        if not (self.time_ns[:, :-1] > 0).all():
            return None  # frames outlast minutes: there is nothing to choose anew
        fixed = max((self.throughput_of_size(place, first) or 0.0 for place in range(len(self.octets))), default=0.0)
        chosen = self.throughput_of_choice(places, first)
        return 100 * (chosen / fixed - 1) if chosen is not None and fixed > 0 else None


def _by_reason(reasons: Mapping[int, str]) -> Iterator[tuple[str, str]]:
    """Each reason once, after the sizes that have it."""
    for why in dict.fromkeys(reasons.values()):
        sizes = sorted(size for size, other in reasons.items() if other == why)
        more = f" and {len(sizes) - 1} more sizes up to {sizes[-1]}" if len(sizes) > 1 else ""
        yield f"at {sizes[0]} octets{more}", why


def _best(values: Sequence[Fraction | None]) -> int:
    return max(range(len(values)), key=lambda at: (values[at] if values[at] is not None else -1, -at))
