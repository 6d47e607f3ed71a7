"""A run that costs nothing, in the place of a simulation: for tests of what goes on around runs."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from multitracer.model.errors import UsageError
from multitracer.replay.simulate.randomness import Stream
from multitracer.replay.simulate.scenario import Scenario

TOLD = "MULTITRACER_TEST_RUNS"
"""The environment variable that names a file to which every run adds a line."""
SLOW_S = "MULTITRACER_TEST_RUN_S"
"""How long a run takes."""


def run(scenario: Scenario, seed: int) -> dict[str, Any]:
    """Throughput falls with the loss rate; media only where there is contention."""
    if told := os.environ.get(TOLD):
        with Path(told).open("a") as file:
            file.write(f"{scenario.name} {seed}\n")
    time.sleep(float(os.environ.get(SLOW_S, 0)))
    loss = scenario.value("channel.frame_loss_rate") or 0.0
    luck = float(Stream(seed, "channel", "down").uniform(1)[0])
    media = [20.0 + seed, 30.0 + seed] if scenario.flag("contention.enabled") else None
    return {"throughput_bps": 64_000 * (1 - loss) - luck, "tcp_timeouts": seed, "media_delay_ms": media, "events": 10}


def refused(scenario: Scenario, seed: int) -> dict[str, Any]:
    """A run that says what is wrong."""
    raise UsageError(f"{scenario.name} cannot be run with {seed}\nGive another.")


def broken(scenario: Scenario, seed: int) -> dict[str, Any]:
    """A defect."""
    raise ZeroDivisionError(f"{scenario.name} {seed}")


def fatal(scenario: Scenario, seed: int) -> dict[str, Any]:
    """A process that ends in the middle, at the second seed."""
    if seed == 3:
        os._exit(9)
    return run(scenario, seed)
