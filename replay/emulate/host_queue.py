"""What waits in a host's own queue until the link protocol wants more: the scenario's interface queue.

A host without one hands packets to the link protocol as they come, and they wait there.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from multitracer.replay.emulate.kernel import KernelKeys
from multitracer.replay.emulate.link import SERIALISED_STEP_NS
from multitracer.replay.simulate.loops import PROTOCOLS
from multitracer.replay.simulate.scenario import NS_PER_S, Scenario


def held_octets(scenario: Scenario, keys: KernelKeys, way: str) -> int:
    """Octets that the link is given at a time of what waits in the host that sends this way; 0 where nothing does.

    They last until the link is looked after again: what a slot carries, or what goes on the air in two steps.
    """
    side = "forward" if scenario.forward == way else "reverse"
    if not keys.queue_packets(side):
        return 0
    frame = scenario.whole("link.frame_bytes", way)
    if scenario.value("link.tti_s", way) is not None:
        return frame * scenario.whole("link.blocks_per_tti", way)
    return max(frame, round(scenario.number("link.rate_bps", way) / 8 * 2 * SERIALISED_STEP_NS / NS_PER_S))


def wants(scenario: Scenario, keys: KernelKeys) -> Callable[[Any], int]:
    """Whether an entity of the scenario's protocol has too little to fill the next opportunity."""
    machine = import_module(f"multitracer.replay.arq.{PROTOCOLS[scenario.word('link.protocol')][1]}")
    longest = keys["kernel.mtu"]
    return lambda entity: int(machine.wants(entity, longest))
