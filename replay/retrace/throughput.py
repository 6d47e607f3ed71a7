"""Retrace: the throughput that a link would have had at every frame size, given which blocks it lost.

A model carries a saturated source over the trace, frame by frame. Counted are the frames sent and the octets that
came through in each stretch of the trace; `result` draws its conclusions from these counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from multitracer.compute import kernels
from multitracer.model.errors import UsageError
from multitracer.replay.erasures.trace import ErasureTrace, frames_lost
from multitracer.replay.retrace import IDEAL, models
from multitracer.replay.retrace.ideal import good_groups
from multitracer.replay.retrace.result import MINUTE_NS, Retraced
from multitracer.replay.retrace.settings import LARGEST_BLOCKS, Settings, note

Ints = npt.NDArray[np.int64]
Progress = Callable[[str, float], None]

_PARTS = (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60, 120, 300, 600)
"""The numbers of equal stretches into which a minute can be cut."""
_WANTED_STRETCHES = 60


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

        def report(share: float, name: str = trace.name, place: int = place) -> None:
            if progress:
                progress(name, (place + share) / len(traces))

        found.append(_one(trace, settings, reverse.get(trace.name, trace), report))
    return found


def stretches(trace: ErasureTrace) -> Ints:
    """Where stretches begin: equal parts of a minute, long enough for many frames, short enough to be many."""
    parts = next((p for p in _PARTS if p * trace.minutes >= _WANTED_STRETCHES), _PARTS[-1])
    least_ns = 4 * LARGEST_BLOCKS * trace.block_ns
    while parts > 1 and parts * least_ns > MINUTE_NS:
        parts = _PARTS[_PARTS.index(parts) - 1]
    length = MINUTE_NS // parts
    ends = -(-np.arange(0, len(trace.erased) * trace.block_ns, length, dtype=np.int64) // trace.block_ns)
    return np.unique(ends[ends < len(trace.erased)])


def _one(trace: ErasureTrace, settings: Settings, other: ErasureTrace, report: Callable[[float], None]) -> Retraced:
    sizes, starts = settings.sizes(trace), stretches(trace)
    if settings.model == IDEAL:
        if settings.parameters:
            raise UsageError("the ideal model has no parameters for --set; its overhead is --overhead")
        blocks = np.array(sizes) // trace.block_bytes
        good, frames = good_groups(trace.erased, blocks, starts)
        octets = good * (np.array(sizes)[:, None] - settings.overhead)
        ended = _why_nothing(trace, sizes, good, frames)
        parameters = {"overhead_bytes": settings.overhead}
        left_out = settings.left_out(trace)
        return Retraced(trace, settings, sizes, starts, octets, frames, parameters, ended=ended, left_out=left_out)
    model = models.named(settings.model, settings.parameters)
    return _simulated(trace, settings, other, model, report)


def _work(trace: ErasureTrace, settings: Settings) -> int:
    """How many steps the loops take in all."""
    sizes = settings.sizes(trace)
    if settings.model == IDEAL:
        return trace.count * len(sizes)
    return sum(len(trace.erased) * trace.block_bytes // size for size in sizes)


def _why_nothing(trace: ErasureTrace, sizes: Sequence[int], good: Ints, frames: Ints) -> dict[int, str]:
    """The reason, for each size at which frames were sent and none came through."""
    why = "every block is lost" if trace.erased.all() else "every frame holds a lost block"
    return {size: why for row, size in enumerate(sizes) if frames[row].any() and not good[row].any()}


def _simulated(
    trace: ErasureTrace, settings: Settings, other: ErasureTrace, model: models.Model, report: Callable[[float], None]
) -> Retraced:
    """A protocol over the trace at each size; sizes share no data, so each can have its own thread."""
    sizes, left_out = _possible(trace, settings, model)
    starts = stretches(trace)
    frames = np.zeros((len(sizes), len(starts)), dtype=np.int64)
    finished = itertools.count(1)

    def run(place: int) -> models.Outcome:
        air = air_of(trace, other, sizes[place], settings.rtt_ms)
        firsts = np.minimum(-(-np.append(starts, len(trace.erased)) // air.blocks), len(air.forth))
        frames[place] = np.diff(firsts)
        carried = model.carry(air, firsts)
        report(next(finished) / len(sizes))
        return carried

    with ThreadPoolExecutor(settings.jobs) as pool:
        by_size = dict(zip(sizes, pool.map(run, range(len(sizes))), strict=True))
    octets = np.array([carried.octets for carried in by_size.values()], dtype=np.int64).reshape(frames.shape)
    counts = {size: carried.counts for size, carried in by_size.items()}
    ended = {size: carried.ended for size, carried in by_size.items() if carried.ended}
    warnings = {size: carried.warnings for size, carried in by_size.items() if carried.warnings}
    return Retraced(trace, settings, sizes, starts, octets, frames, model.parameters, counts, ended, warnings, left_out)


def _possible(
    trace: ErasureTrace, settings: Settings, model: models.Model
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The sizes without those of the default that the protocol cannot have, and a note on each range left out.

    A size that was asked for, and a default of which none is possible, fail when they are run.
    """
    sizes = settings.sizes(trace)
    if settings.frame_bytes:
        return sizes, ()
    refused = {size: why for size in sizes if (why := _refusal(trace, settings, model, size))}
    if len(refused) == len(sizes):
        return sizes, ()
    ranges = [list(run) for out, run in itertools.groupby(sizes, key=refused.__contains__) if out]
    notes = tuple(note(run[0], run[-1], refused[run[0]]) for run in ranges)
    return tuple(size for size in sizes if size not in refused), notes


def _refusal(trace: ErasureTrace, settings: Settings, model: models.Model, size: int) -> str:
    """Why a protocol cannot have frames of a size; empty when it can."""
    nothing = np.zeros(0, dtype=np.uint8)
    blocks = size // trace.block_bytes
    air = models.Air(nothing, nothing, size, trace.block_ns, blocks, round(settings.rtt_ms * 1e6))
    try:
        model.check(air)
    except UsageError as error:
        return str(error)
    return ""


def _beside(trace: ErasureTrace, other: ErasureTrace) -> Any:
    """The other direction's losses at the times of this one's blocks; a shorter trace is repeated."""
    count = len(trace.erased)
    if other.block_ns == trace.block_ns and len(other.erased) >= count:
        return other.erased[:count]
    at = np.arange(count, dtype=np.int64) * trace.block_ns // other.block_ns
    return other.erased[at % len(other.erased)]


def air_of(trace: ErasureTrace, other: ErasureTrace, size: int, rtt_ms: float) -> models.Air:
    """The link under a protocol at a frame size."""
    blocks = size // trace.block_bytes
    forth, back = (frames_lost(lost, blocks) for lost in (trace.erased, _beside(trace, other)))
    return models.Air(forth, back, size, trace.block_ns, blocks, round(rtt_ms * 1e6))
