"""What the end where a link's data come does to the sender (XON, XOFF), and when the sender is told to reset."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from multitracer.model.errors import UsageError
from multitracer.replay.arq.orders import GO, RESET, STOP
from multitracer.replay.arq.rlp.entity import OVERHEAD_BYTES
from multitracer.replay.simulate.scenario import Scenario
from multitracer.replay.simulate.simulation import Orders

NS = 1_000_000_000


def round_trip_s(scenario: Scenario) -> float:
    """From the first bit of a full frame to the answer's last, with nothing in the way: of frames as long as that."""
    return sum(scenario.number("link.delay_s", way) + air_s(scenario, way) for way in ("down", "up"))


def air_s(scenario: Scenario, way: str) -> float:
    """How long a full frame is on the air."""
    if scenario.value("link.tti_s", way) is not None:
        return scenario.number("link.tti_s", way)
    octets = scenario.whole("link.frame_bytes", way) + (scenario.value("link.header_bytes", way) or 0)
    return 8 * octets / scenario.number("link.rate_bps", way)


def far_buffer(scenario: Scenario, way: str) -> dict[str, Any]:
    """The buffer behind the end where the other direction's data come: full when they stop, empty when they go on.

    XON goes when what is left lasts for the link's round trip, and XOFF when what will still come in one fits. So a gap
    lasts as long as the whole buffer takes to be emptied. `far_*` of a direction are of the end where its data come.
    """
    other = "up" if way == "down" else "down"
    octets, drain = (scenario.value(f"link.far_{name}", other) for name in ("buffer_bytes", "drain_bps"))
    if (octets is None) != (drain is None):
        raise UsageError("link.far_buffer_bytes and link.far_drain_bps need each other")
    if octets is None or not _is_meant(scenario, "far_buffer_bytes", other):
        return {}
    round_trip, room = round_trip_s(scenario), scenario.whole("link.frame_bytes", other) - OVERHEAD_BYTES
    low = math.ceil(drain / 8 * round_trip)
    high = octets - math.ceil(max(0.0, room / air_s(scenario, other) - drain / 8) * round_trip)
    if high <= low:
        raise UsageError(
            f"link.far_buffer_bytes = {octets} has no room for what comes in a round trip of the link "
            f"({round_trip:g} s)\nMake it {octets + low - high + 1} or more."
        )
    return {"drain_bytes_per_s": round(drain / 8), "xon_bytes": low, "xoff_bytes": high}


def orders(scenario: Scenario) -> tuple[Orders, Orders]:
    """What A and B are told to do: the sender of a direction's data to reset, the end where they come to stop it."""
    told: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
    for sender, way in enumerate(("down", "up")):
        if _is_meant(scenario, "reset_at_s", way):
            told[sender].extend((at, int(RESET)) for at in scenario.all_ns("link.reset_at_s", way))
        if _is_meant(scenario, "stop_at_s", way):
            for begin, end in _stops(scenario, way):
                told[1 - sender].extend(((begin, int(STOP)), (end, int(GO))))
    return tuple(told[0]), tuple(told[1])


def _is_meant(scenario: Scenario, key: str, way: str) -> bool:
    """Whether a key of a sender's concerns this direction: that of the workload's data, or the one it is said for."""
    return way == scenario.forward or f"link.{way}.{key}" in scenario


def _stops(scenario: Scenario, way: str) -> list[tuple[int, int]]:
    """When the sender of a direction is stopped, and let go on."""
    times = sorted(zip(scenario.all_ns("link.stop_at_s", way), scenario.all_ns("link.stop_s", way), strict=True))
    found = [(at, at + lasts) for at, lasts in times]
    for (_, end), (begin, _) in pairwise(found):
        if begin < end:
            raise UsageError(f"link.stop_at_s: the stop at {begin / NS:g} s begins before the one before it ends")
    if found and scenario.value("link.far_buffer_bytes", way) is not None:
        raise UsageError("link.stop_at_s and link.far_buffer_bytes both stop the sender; give one of them")
    return found
