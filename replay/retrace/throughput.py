"""Retrace: what throughput a link would have had at every frame size, given which blocks it lost.

A model carries a saturated source over the trace, frame by frame, and counts the octets that came
through in each stretch of it. Everything else here is arithmetic over those counts: the optimum, its
plateau and gain, intervals by bootstrap over stretches, and what a size chosen anew each minute gains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from multitracer.compute import kernels
from multitracer.model.errors import UsageError
from multitracer.replay.erasures.trace import ErasureTrace, bursts, frames_lost
from multitracer.replay.retrace import bootstrap, models
from multitracer.replay.retrace.ideal import good_groups

Ints = npt.NDArray[np.int64]
Progress = Callable[[str, float], None]

LARGEST_BLOCKS = 50
"""Frames of up to so many blocks are tried when nothing else is asked for."""
PLATEAU = Fraction(99, 100)
"""Sizes that reach this share of the best throughput are as good."""
MINUTE_NS = 60_000_000_000
_PARTS = (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60, 120, 300, 600)
_WANTED_STRETCHES = 60
_SAID = 3


@dataclass(frozen=True)
class Settings:
    """What is asked for."""

    model: str = "ideal"
    frame_bytes: tuple[int, ...] = ()
    """None: 1 to 50 blocks."""
    overhead: int = 6
    """Octets of a frame that carry no user data, of the ideal model: 24.022's header and check, and L2R's status."""
    rtt_ms: float = 400.0
    """Of the link at frames of one block."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Of the model, by name."""
    resamples: int = 1000
    baseline_bytes: int | None = None
    """None: one block."""
    jobs: int = 1

    def sizes(self, trace: ErasureTrace) -> tuple[int, ...]:
        """The frame sizes in octets; raises UsageError for those that the trace's blocks cannot make."""
        block = trace.block_bytes
        sizes = self.frame_bytes or tuple(range(block, LARGEST_BLOCKS * block + 1, block))
        for size in sizes:
            if size <= 0 or size % block:
                raise UsageError(f"frame size {size} is no multiple of {trace.name}'s block of {block} octets")
            if self.model == "ideal" and size < self.overhead:
                raise UsageError(f"frame size {size} is below the overhead of {self.overhead} octets")
        if self.baseline_bytes is not None and self.baseline_bytes not in sizes:
            raise UsageError(f"the baseline of {self.baseline_bytes} octets is none of the frame sizes")
        if min(sizes) // block > len(trace.erased):
            raise UsageError(
                f"{trace.name} is shorter than one frame: {len(trace.erased)} blocks of {block} octets, "
                f"and the smallest frame has {min(sizes)}"
            )
        return tuple(sorted(set(sizes)))


@dataclass(frozen=True)
class Retraced:
    """One trace at every frame size: octets that came through and frames that went, by stretch of the trace."""

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
    counts: dict[int, models.Counts] = field(default_factory=dict)
    """By frame size, what the protocol's sender and receiver counted."""
    ended: dict[int, str] = field(default_factory=dict)
    """By frame size, why nothing came through, in words."""
    warnings: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """By frame size, what else a reader should know."""

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
        """The place of the best size; the smallest of several."""
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
        """The place of the size that the best is compared with."""
        wanted = self.settings.baseline_bytes or self.trace.block_bytes
        return self.sizes.index(wanted) if wanted in self.sizes else 0

    @property
    def gain_percent(self) -> float | None:
        """What the best size carries more than the baseline; None when the baseline carries nothing."""
        base, best = self.exact_bps[self.baseline], self.exact_bps[self.best]
        return float(100 * (best / base - 1)) if base and best else None

    @cached_property
    def block_stretches(self) -> int:
        """Stretches that are drawn together."""
        return bootstrap.block_stretches(np.add.reduceat(self.trace.erased.astype(np.int64), self.starts))

    @property
    def independent_blocks(self) -> float:
        """How many such blocks the trace has."""
        return len(self.starts) / self.block_stretches

    @cached_property
    def resampled_bps(self) -> npt.NDArray[np.float64] | None:
        """Throughput of each size in each resample.

        None without resampling, of a trace too short to tell, and of one without losses: how bursty those
        would be is not known.
        """
        block = self.block_stretches
        if not self.settings.resamples or not self.trace.count or self.independent_blocks < bootstrap.LEAST_BLOCKS:
            return None
        drawn = bootstrap.weights(len(self.starts), block, self.settings.resamples)
        per_frame = np.array([8e9 / (size // self.trace.block_bytes * self.trace.block_ns) for size in self.sizes])
        return bootstrap.ratios(self.octets * per_frame[:, None], self.frames, drawn)

    @property
    def gain_ci95_percent(self) -> list[float] | None:
        """The interval of the gain of the size that is best here."""
        if self.resampled_bps is None or self.gain_percent is None:
            return None
        base = self.resampled_bps[self.baseline]
        ratio = np.divide(self.resampled_bps[self.best], base, out=np.full_like(base, np.nan), where=base > 0)
        return bootstrap.interval(100 * (ratio - 1), self.independent_blocks)

    @property
    def ci95_bps(self) -> list[list[float] | None]:
        """The interval of each size's throughput."""
        if self.resampled_bps is None:
            return [None] * len(self.sizes)
        return [bootstrap.interval(row, self.independent_blocks) for row in self.resampled_bps]

    @property
    def said(self) -> list[str]:
        """What a reader should know of some sizes, in words; at most three sentences and how many more there are."""
        found = []
        for why in dict.fromkeys(self.ended.values()):
            sizes = sorted(size for size, other in self.ended.items() if other == why)
            more = f" and {len(sizes) - 1} more sizes up to {sizes[-1]}" if len(sizes) > 1 else ""
            found.append(f"at {sizes[0]} octets{more} nothing came through: {why}")
        found += [f"at {size} octets: {why}" for size, all_of in sorted(self.warnings.items()) for why in all_of]
        more_said = [f"and so at {len(found) - _SAID} more sizes"] if len(found) > _SAID else []
        return found[:_SAID] + more_said

    @cached_property
    def by_minute(self) -> Minutes:
        """The same by minute."""
        minute = self.starts * self.trace.block_ns // MINUTE_NS
        first = np.flatnonzero(np.diff(minute, prepend=-1))
        octets, frames = (np.add.reduceat(table, first, axis=1) for table in (self.octets, self.frames))
        time_ns = frames * (np.array(self.sizes)[:, None] // self.trace.block_bytes) * self.trace.block_ns
        return Minutes(octets, time_ns)


@dataclass(frozen=True)
class Minutes:
    """Octets that came through and time it took, shape (sizes, minutes): a size chosen anew each minute.

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
        """The place of each minute's best size, the smallest of several; where nothing came through, as before."""
        last = np.maximum.accumulate(np.where(self.known, np.arange(len(self.known)), -1))
        return np.argmax(self.bps, axis=0)[np.maximum(last, 0)]

    @cached_property
    def known(self) -> npt.NDArray[np.bool_]:
        """Whether anything came through in each minute."""
        return np.asarray((self.octets > 0).any(axis=0))

    def fixed(self, place: int, first: int = 0) -> float | None:
        """Throughput of one size from minute `first` on."""
        return self.following(np.full(self.octets.shape[1], place), first)

    def following(self, places: Any, first: int = 0) -> float | None:
        """Throughput of a size of its own in each minute from `first` on."""
        columns = np.arange(first, self.octets.shape[1])
        time_ns = int(self.time_ns[places[first:], columns].sum())
        return 8e9 * int(self.octets[places[first:], columns].sum()) / time_ns if time_ns else None

    def gains(self) -> dict[str, float | None]:
        """What choosing gains over the best fixed size: with hindsight, and by the minute before."""
        before = np.concatenate([self.chosen[:1], self.chosen[:-1]])
        return {
            "hindsight_gain_percent": self._gain(self.chosen, 0),
            "minute_before_gain_percent": self._gain(before, 1),
        }

    def _gain(self, places: Any, first: int) -> float | None:
        if not (self.time_ns[:, :-1] > 0).all():
            return None  # frames outlast minutes: there is nothing to choose anew
        fixed = max((self.fixed(place, first) or 0.0 for place in range(len(self.octets))), default=0.0)
        chosen = self.following(places, first)
        return 100 * (chosen / fixed - 1) if chosen is not None and fixed > 0 else None


def retrace(
    traces: Sequence[ErasureTrace],
    settings: Settings | None = None,
    reverse: Mapping[str, ErasureTrace] | None = None,
    progress: Progress | None = None,
) -> list[Retraced]:
    """Every trace at every frame size; `reverse` is the other direction of a trace, by name (else the same trace)."""
    settings, reverse = settings or Settings(), reverse or {}
    kernels.choose(sum(_work(trace, settings) for trace in traces))
    found = []
    for place, trace in enumerate(traces):

        def told(share: float, name: str = trace.name, place: int = place) -> None:
            if progress:
                progress(name, (place + share) / len(traces))

        found.append(_one(trace, settings, reverse.get(trace.name, trace), told))
    return found


def document(found: Sequence[Retraced]) -> dict[str, Any]:
    """retrace.json."""
    return {"traces": [_row(one) for one in found]}


def stretches(trace: ErasureTrace) -> Ints:
    """Where stretches begin: equal parts of a minute, so long that each holds many frames, and enough of them."""
    parts = next((p for p in _PARTS if p * trace.minutes >= _WANTED_STRETCHES), _PARTS[-1])
    least_ns = 4 * LARGEST_BLOCKS * trace.block_ns
    while parts > 1 and parts * least_ns > MINUTE_NS:
        parts = _PARTS[_PARTS.index(parts) - 1]
    length = MINUTE_NS // parts
    ends = -(-np.arange(0, len(trace.erased) * trace.block_ns, length, dtype=np.int64) // trace.block_ns)
    return np.unique(ends[ends < len(trace.erased)])


def _one(trace: ErasureTrace, settings: Settings, other: ErasureTrace, told: Callable[[float], None]) -> Retraced:
    sizes, starts = settings.sizes(trace), stretches(trace)
    if settings.model == "ideal":
        if settings.parameters:
            raise UsageError("the ideal model has no parameters for --set; its overhead is --overhead")
        blocks = np.array(sizes) // trace.block_bytes
        good, frames = good_groups(trace.erased, blocks, starts)
        octets = good * (np.array(sizes)[:, None] - settings.overhead)
        ended = _why_nothing(trace, sizes, good, frames)
        parameters = {"overhead_bytes": settings.overhead}
        return Retraced(trace, settings, sizes, starts, octets, frames, parameters, ended=ended)
    model = models.named(settings.model, settings.parameters)
    return _simulated(trace, settings, other, model, told)


def _work(trace: ErasureTrace, settings: Settings) -> int:
    """Steps of the loops, in all."""
    sizes = settings.sizes(trace)
    if settings.model == "ideal":
        return trace.count * len(sizes)
    return sum(len(trace.erased) * trace.block_bytes // size for size in sizes)


def _why_nothing(trace: ErasureTrace, sizes: Sequence[int], good: Ints, frames: Ints) -> dict[int, str]:
    """Of each size at which frames went and none came through, why."""
    why = "every block is lost" if trace.erased.all() else "every frame holds a lost block"
    return {size: why for row, size in enumerate(sizes) if frames[row].any() and not good[row].any()}


def _simulated(
    trace: ErasureTrace, settings: Settings, other: ErasureTrace, model: models.Model, told: Callable[[float], None]
) -> Retraced:
    """A real protocol over the trace, at each size; the sizes share nothing, so threads run them."""
    sizes, starts = settings.sizes(trace), stretches(trace)
    octets = np.zeros((len(sizes), len(starts)), dtype=np.int64)
    frames = np.zeros_like(octets)
    counts: dict[int, models.Counts] = {}
    ended: dict[int, str] = {}
    warnings: dict[int, tuple[str, ...]] = {}

    def run(place: int) -> None:
        size = sizes[place]
        air = air_of(trace, other, size, settings.rtt_ms)
        firsts = np.minimum(-(-np.append(starts, len(trace.erased)) // air.blocks), len(air.forth))
        carried = model.carry(air, firsts)
        octets[place], frames[place] = carried.octets, np.diff(firsts)
        counts[size] = carried.counts
        if carried.ended:
            ended[size] = carried.ended
        if carried.warnings:
            warnings[size] = carried.warnings
        told(len(counts) / len(sizes))

    with ThreadPoolExecutor(settings.jobs) as pool:
        list(pool.map(run, range(len(sizes))))
    return Retraced(trace, settings, sizes, starts, octets, frames, model.parameters, counts, ended, warnings)


def air_of(trace: ErasureTrace, other: ErasureTrace, size: int, rtt_ms: float) -> models.Air:
    """What a protocol runs over at a frame size.

    The other direction is read at the times of this one's blocks, and beyond its end begins anew.
    """
    blocks = size // trace.block_bytes
    at = np.arange(len(trace.erased), dtype=np.int64) * trace.block_ns // other.block_ns
    forth, back = (frames_lost(lost, blocks) for lost in (trace.erased, other.erased[at % len(other.erased)]))
    return models.Air(forth, back, size, trace.block_ns, blocks, round(rtt_ms * 1e6))


def _best(values: Sequence[Fraction | None]) -> int:
    return max(range(len(values)), key=lambda at: (values[at] if values[at] is not None else -1, -at))


def _row(one: Retraced) -> dict[str, Any]:
    trace = one.trace
    bps = [None if exact is None else float(exact) for exact in one.exact_bps]
    return {
        "name": trace.name,
        "blocks": len(trace.erased),
        "block_bytes": trace.block_bytes,
        "block_ms": trace.block_ms,
        "minutes": trace.minutes,
        "erased": trace.count,
        "error_rate": trace.count / len(trace.erased),
        "bursts": bursts(trace.erased),
        "model": one.settings.model,
        "parameters": one.parameters,
        "throughput_bps": dict(zip(map(str, one.sizes), bps, strict=True)),
        "ci95_bps": dict(zip(map(str, one.sizes), one.ci95_bps, strict=True)),
        "optimal_frame_bytes": one.optimal_frame_bytes,
        "plateau_frame_bytes": one.plateau,
        "gain_percent": one.gain_percent,
        "gain_ci95_percent": one.gain_ci95_percent,
        "baseline_frame_bytes": one.sizes[one.baseline],
        "each_minute": {
            "optimal_frame_bytes": [
                one.sizes[place] if known else None
                for place, known in zip(one.by_minute.chosen, one.by_minute.known, strict=True)
            ],
            **one.by_minute.gains(),
        },
        "counts": {str(size): found for size, found in sorted(one.counts.items())},
        "warnings": {str(size): list(said) for size, said in sorted(one.warnings.items())},
        "ended": {str(size): why for size, why in sorted(one.ended.items())},
        "notes": list(trace.notes),
    }
