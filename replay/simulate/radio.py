"""The radio link of a scenario: its directions, and what loses frames on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.model.errors import UsageError
from multitracer.replay.engine.direction import Channel, Direction, Erased, RandomErasures, TwoStates
from multitracer.replay.simulate.hosts import interface
from multitracer.replay.simulate.randomness import Stream
from multitracer.replay.simulate.scenario import Scenario

SURELY = 1 - 1e-12
"""The bit error rate of times in which nothing gets through."""
DRAWS, GOOD_TIMES, BAD_TIMES, START = range(4)
"""The parts of a channel's random numbers."""


def directions(scenario: Scenario, seed: int) -> tuple[Direction, Direction]:
    """The directions down and up."""
    return tuple(_direction(scenario, seed, way) for way in ("down", "up"))  # type: ignore[return-value]


def _direction(scenario: Scenario, seed: int, way: str) -> Direction:
    timing: dict[str, Any] = {"rate_bps": round(scenario.number("link.rate_bps", way))}
    if scenario.value("link.tti_s", way) is not None:
        slot_ns, per_slot = scenario.ns("link.tti_s", way), scenario.whole("link.blocks_per_tti", way)
        timing = {"slot_ns": slot_ns, "per_slot": per_slot}
    side = "forward" if way == scenario.forward else "reverse"
    whole_slots = scenario.word("channel.unit", side) == "tti"
    if whole_slots and "slot_ns" not in timing:
        raise UsageError("channel.unit = tti needs link.tti_s: a link serialised by octets has no TTIs")
    by = scenario.all_ns("channel.extra_delay_s", side)
    late = zip(scenario.wholes("channel.delayed_frames", side), by, strict=True)
    return Direction(
        max(1, scenario.ns("link.delay_s", way)), channel=_channel(scenario, seed, way),
        queue_frames=scenario.whole("link.queue_frames", way),
        drops=way == "down" or not any(interface(scenario, way)),  # what an interface queue keeps waits there
        eager=scenario.word("link.hand_down", way) == "eager", control_first=scenario.flag("link.control_first", way),
        hits_control=scenario.word("channel.hits", side) == "all", whole_slots=whole_slots, late=tuple(late), **timing,
    )  # fmt: skip


def _channel(scenario: Scenario, seed: int, way: str) -> Channel:
    side = "forward" if way == scenario.forward else "reverse"
    model = scenario.word("channel.model", side)
    draws = Stream(seed, "channel", side, DRAWS)
    if model == "uniform":
        return RandomErasures(draws.uniform, loss_rate=scenario.number("channel.frame_loss_rate", side))
    if model == "bit-errors":
        return RandomErasures(draws.uniform, bit_error_rate=scenario.number("channel.bit_error_rate", side))
    if model in ("two-state", "gilbert"):
        return _states(scenario, seed, side, draws)
    if model == "listed":
        return listed(scenario.wholes("channel.frames", side))
    if model == "trace":
        from multitracer.replay.erasures.loading import load

        return Erased(load(str(scenario.value("channel.trace", side)))[0].erased)
    return Erased()


def _states(scenario: Scenario, seed: int, side: str, draws: Stream) -> Channel:
    good_s, bad_s = scenario.number("channel.good_s", side), scenario.number("channel.bad_s", side)
    two = scenario.word("channel.model", side) == "two-state"
    good = scenario.number("channel.good_ber", side) if two else 0.0
    bad = min(scenario.number("channel.bad_ber", side), SURELY) if two else SURELY
    if bad_s == 0:
        return RandomErasures(draws.uniform, bit_error_rate=good)
    goods, bads = Stream(seed, "channel", side, GOOD_TIMES), Stream(seed, "channel", side, BAD_TIMES)

    def sojourns(count: int) -> Any:
        times = np.stack([goods.exponential(count, good_s), bads.exponential(count, bad_s)], axis=1)
        return np.rint(times * 1e9).astype(np.int64)

    stationary = scenario.word("channel.start", side) == "stationary"
    first = Stream(seed, "channel", side, START).uniform(1)[0]
    return TwoStates(
        draws.uniform, bit_error_rate=good, bad_bit_error_rate=bad, sojourns=sojourns,
        rule=scenario.word("channel.rule", side), starts_bad=stationary and bool(first * (good_s + bad_s) < bad_s),
    )  # fmt: skip


def listed(frames: tuple[int, ...]) -> Channel:
    """A channel that loses the frames of these numbers, counted from 0 as they are put on the radio link."""
    trace = np.zeros(max(frames, default=-1) + 1, dtype=np.uint8)
    trace[list(frames)] = 1
    return Erased(trace)
