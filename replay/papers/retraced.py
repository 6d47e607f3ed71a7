"""Runs of the tool `retrace`: erasure traces of a scenario's channel, and the frame size that is best on each."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from multitracer.model.errors import UsageError
from multitracer.replay.engine.direction import Direction, TwoStates
from multitracer.replay.erasures.trace import ErasureTrace, spread_evenly
from multitracer.replay.retrace.settings import Settings
from multitracer.replay.retrace.throughput import retrace
from multitracer.replay.simulate.radio import directions
from multitracer.replay.simulate.scenario import Scenario


def retraced(scenario: Scenario, seed: int) -> dict[str, int | None]:
    """The best frame on a trace as long as workload.seconds, and on its even twin: of 1 to 50 blocks, none resent."""
    trace = trace_of(scenario, seed)
    settings = Settings(overhead=scenario.whole("link.header_bytes", scenario.forward), resamples=0)
    found = retrace([trace, spread_evenly(trace)], settings)
    return dict(zip(
        ("optimal_frame_bytes", "even_optimal_frame_bytes"), (one.optimal_frame_bytes for one in found), strict=True,
    ))  # fmt: skip


def trace_of(scenario: Scenario, seed: int) -> ErasureTrace:
    """Which blocks the channel of the workload's direction loses: those that touch a bad time."""
    way, until_ns = scenario.forward, scenario.ns("workload.seconds")
    slot_ns = scenario.ns("link.tti_s", way)
    down, up = directions(scenario, seed)
    times = _bad_times(down if way == "down" else up, until_ns)
    erased = _touched(times, slot_ns, until_ns)
    return ErasureTrace(scenario.name, erased, scenario.whole("link.frame_bytes", way), slot_ns / 1e6)


def _bad_times(found: Direction, until_ns: int) -> npt.NDArray[np.int64]:
    """When the channel turns bad and good again, by turns, up to a time at least (ns)."""
    channel = found.channel
    if not isinstance(channel, TwoStates) or channel.rule != "touch":
        raise UsageError("channel.model = gilbert with channel.rule = touch is all that makes a trace of blocks")
    parts, end = [np.zeros(0, np.int64)], 0
    while end <= until_ns:
        lengths = np.array(channel.sojourns(channel.block), np.int64)
        if not end and channel.starts_bad:
            lengths[0, 0] = 0
        parts.append(end + np.cumsum(lengths.ravel()))
        end = int(parts[-1][-1])
    return np.concatenate(parts)


def _touched(times: npt.NDArray[np.int64], slot_ns: int, until_ns: int) -> npt.NDArray[np.bool_]:
    """Which slots meet a bad time [times[0], times[1]), [times[2], times[3]) and so on."""
    count = until_ns // slot_ns
    firsts = np.minimum(times[0::2] // slot_ns, count)
    ends = np.minimum(-(-times[1::2] // slot_ns), count)
    changes = np.zeros(count + 1, np.int64)
    np.add.at(changes, firsts, 1)
    np.add.at(changes, ends, -1)
    return np.cumsum(changes[:count]) > 0
