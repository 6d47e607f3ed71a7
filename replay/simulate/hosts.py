"""The two hosts of a scenario: which of them sends the data, and the interface queue of each."""

from __future__ import annotations

from multitracer.replay.simulate.scenario import Scenario


def side(scenario: Scenario, way: str) -> str:
    """What the host that sends this way (down: the wired one, up: the terminal) is for TCP: forward or reverse."""
    return "forward" if scenario.forward == way else "reverse"


def interface(scenario: Scenario, way: str) -> tuple[int, int]:
    """Packets and octets that the interface queue of the host that sends this way takes; (0, 0) where it has none."""
    own = side(scenario, way)
    packets, octets = (scenario.whole(f"tcp.interface_queue_{unit}", own) for unit in ("packets", "bytes"))
    return packets, octets
