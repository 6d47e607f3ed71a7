"""How fast a link protocol can be at most: what its window holds, in a round trip of the link.

A link that has room for more than the window carries is refused, unless whoever asks for the link asks for that window.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from multitracer.model.errors import UsageError
from multitracer.replay.arq.rlp.entity import OVERHEAD_BYTES
from multitracer.replay.emulate.kernel import WAYS, KernelKeys
from multitracer.replay.simulate.entities import RLC_HEADER
from multitracer.replay.simulate.far_end import air_s, round_trip_s
from multitracer.replay.simulate.scenario import Scenario
from multitracer.replay.simulate.schema import NAMED, base_of

MBIT = 1e6
_BITS = 8
_LINK = {
    *(f"link.{name}" for name in ("protocol", "rate_bps", "delay_s", "frame_bytes", "tti_s", "blocks_per_tti")),
    *(f"emulate.schedule_{way}" for way in WAYS),
}
"""Keys that say what a link has room for in a round trip."""


class WindowLimit(NamedTuple):
    """One direction's: bit/s of user data that the window allows, and that the link has room for."""

    way: str
    frames: int
    round_trip_s: float
    window_bps: float
    link_bps: float

    @property
    def said(self) -> str:
        """That the link cannot be filled."""
        return (
            f"the link {self.way} has room for {self.link_bps / MBIT:.3g} Mbit/s, and a window of {self.frames} frames "
            f"over a round trip of {self.round_trip_s:.3g} s carries {self.window_bps / MBIT:.3g} at most"
        )

    @property
    def falls_short(self) -> bool:
        """Whether the window holds less than the link has room for."""
        return self.window_bps < self.link_bps

    @property
    def needed(self) -> int:
        """The frames of a window that fills the link."""
        return math.ceil(self.frames * self.link_bps / self.window_bps)


def check_windows(scenario: Scenario, said: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Raise UsageError where the link has room for more than its window carries, and the window was not asked for.

    A window counts as asked for where it is set together with the link: both in the scenario's file, or both in the
    `settings` over it. `said` has the keys of both.
    """
    asked = settings if _LINK & {base_of(name)[0] for name in settings} else said
    window = f"link.{scenario.word('link.protocol')}.window"
    if window in {base_of(name)[0] for name in asked}:
        return
    for limit in window_limits(scenario, KernelKeys(said)):
        if limit.falls_short:
            filled = f"Fill it with {window} = {limit.needed}"
            advice = filled if limit.needed <= NAMED[window].most else "No window fills it: make the link slower"
            raise UsageError(
                f"{window}: {limit.said}\n{advice}, or say {window} = {limit.frames} beside the link to have it so."
            )


def window_limits(scenario: Scenario, keys: KernelKeys) -> list[WindowLimit]:
    """Those of both directions; none for a protocol without a window.

    The round trip is the shortest: of full frames, with nothing in the way, answered at once. A schedule's rate is its
    mean: the millisecond with most frames says how many a slot needs room for.
    """
    found = (_limit(scenario, way, keys.schedule(way)) for way in WAYS)
    return [one for one in found if one is not None]


def _limit(scenario: Scenario, way: str, schedule: Any) -> WindowLimit | None:
    protocol = scenario.word("link.protocol")
    frames = scenario.value(f"link.{protocol}.window", way)
    if frames is None:
        return None
    octets, round_trip = _user_octets(scenario, protocol, way), round_trip_s(scenario)
    per_turn: float = scenario.whole("link.blocks_per_tti", way) if scenario.value("link.tti_s", way) is not None else 1
    if len(schedule):
        per_turn = float(schedule.mean())
    return WindowLimit(
        way, int(frames), round_trip, _BITS * frames * octets / round_trip,
        _BITS * octets * per_turn / air_s(scenario, way),
    )  # fmt: skip


def _user_octets(scenario: Scenario, protocol: str, way: str) -> int:
    """Octets of SDUs in a full frame."""
    frame = scenario.whole("link.frame_bytes", way)
    if protocol == "rlp":
        return frame - OVERHEAD_BYTES
    if protocol == "rlc-am" and scenario.flag("link.rlc-am.length_indicators", way):
        return frame - RLC_HEADER
    return min(frame, scenario.whole("tcp.segment_bytes"))
