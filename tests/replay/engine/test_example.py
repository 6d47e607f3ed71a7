"""The example of the engine: entities driven event by event from Python, and by the compiled loop."""

from __future__ import annotations

import importlib.util
from random import Random
from typing import Any

import pytest
from repository import ROOT

from multitracer.replay.retrace import PROTOCOLS
from multitracer.replay.retrace.models import kinds

UNREPAIRED = ("raw", "rlc-um", "rlc-tm")
"""What these lose stays lost."""
SECOND = 10**9


def example() -> Any:
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("engine_example", ROOT / "examples" / "engine.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("loss", [0.05, 0.1])
@pytest.mark.parametrize("name", [entry.name for entry in PROTOCOLS])
def test_python_and_the_compiled_loop_agree_event_for_event(name: str, loss: float) -> None:
    """Windows both ways, packets at any time, one queue; all packets come where losses are repaired."""
    shown, kind = example(), kinds()[name]
    parameters = kind.parameters(**shown.PATIENT.get(name, {}))
    chance = Random(7)
    offers = sorted((chance.randrange(5 * SECOND), chance.randrange(2)) for _ in range(30))
    lost = [[chance.random() < loss for _ in range(5000)] for _ in (0, 1)]
    link = kind.protocol, parameters, offers, 60, lost, 60 * SECOND
    events, given, got = shown.by_hand(*link)
    assert shown.compiled(*link) == events
    assert len(events) > 300
    lossless = [got[1 - side] == given[side] for side in (0, 1)]
    assert lossless == [name not in UNREPAIRED] * 2
    octets = sum(len(packet) for packets in got for packet in packets)
    assert name in UNREPAIRED or octets == (2 * 60 + 30) * shown.PACKET_BYTES
