"""How fast a link protocol can be at most: what its window holds, in a round trip of the link."""

from __future__ import annotations

from typing import NamedTuple

from multitracer.replay.arq.rlp.entity import OVERHEAD_BYTES
from multitracer.replay.simulate.entities import RLC_HEADER
from multitracer.replay.simulate.far_end import air_s, round_trip_s
from multitracer.replay.simulate.scenario import Scenario

MBIT = 1e6
_BITS = 8


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


def window_limits(scenario: Scenario) -> list[WindowLimit]:
    """Those of both directions; none for a protocol without a window.

    The round trip is the shortest: of full frames, with nothing in the way, answered at once.
    """
    found = (_limit(scenario, way) for way in ("down", "up"))
    return [one for one in found if one is not None]


def _limit(scenario: Scenario, way: str) -> WindowLimit | None:
    protocol = scenario.word("link.protocol")
    frames = scenario.value(f"link.{protocol}.window", way)
    if frames is None:
        return None
    octets, round_trip = _user_octets(scenario, protocol, way), round_trip_s(scenario)
    per_turn = scenario.whole("link.blocks_per_tti", way) if scenario.value("link.tti_s", way) is not None else 1
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
