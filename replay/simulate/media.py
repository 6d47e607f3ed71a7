"""The sources of media of a scenario, as a run has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from multitracer.replay.simulate.randomness import Stream
from multitracer.replay.simulate.scenario import Scenario
from multitracer.replay.workloads.media import Talker, Voice


@dataclass
class Media:
    """One direction's source."""

    talker: Talker
    packet_octets: int

    def times(self, until: int) -> Any:
        """When packets leave (ns), from the first on: all up to `until` and some beyond."""
        return self.talker.times(until)


def media_of(scenario: Scenario, seed: int) -> tuple[Media | None, Media | None]:
    """The sources of the directions down and up."""
    if not scenario.flag("contention.enabled"):
        return None, None
    chosen = scenario.word("contention.direction")
    packet = scenario.whole("contention.packet_bytes")
    voice = Voice(
        scenario.number("contention.rate_bps"), packet, scenario.number("contention.talk_s"),
        scenario.number("contention.silent_s"), scenario.word("contention.bursts") == "whole",
        scenario.word("contention.start") == "stationary",
    )  # fmt: skip

    def source(direction: str) -> Media | None:
        if chosen not in (direction, "both"):
            return None
        return Media(Talker(lambda part: Stream(seed, "media", direction, part), voice), packet)

    return source("down"), source("up")
