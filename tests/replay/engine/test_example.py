"""The example of the engine: entities driven event by event from Python, and by the compiled loop."""

from __future__ import annotations

import importlib.util
from random import Random
from typing import Any

import pytest
from repository import ROOT

from multitracer.replay.engine.protocols import PROTOCOLS

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
@pytest.mark.parametrize("name", PROTOCOLS)
def test_python_and_the_compiled_loop_agree_event_for_event(name: str, loss: float) -> None:
    """Windows both ways, packets at any time, one queue; all octets come where losses are repaired."""
    shown = example()
    settings = shown.PATIENT.get(name, {})
    chance = Random(7)
    offers = sorted((chance.randrange(5 * SECOND), chance.randrange(2)) for _ in range(30))
    hand = shown.ByHand(name, settings, 60, offers, loss).run(60 * SECOND)
    assert shown.compiled(name, settings, 60, offers, loss, 60 * SECOND) == hand.events
    assert len(hand.events) > 300
    lossless = [hand.got[1 - side] == hand.given[side] for side in (0, 1)]
    assert lossless == [name not in UNREPAIRED] * 2
    assert name in UNREPAIRED or len(hand.got[0]) + len(hand.got[1]) == (2 * 60 + 30) * shown.PACKET_BYTES
