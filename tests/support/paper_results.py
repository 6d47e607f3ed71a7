"""Runs that cost nothing, in the place of the papers' simulations and retraces."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from multitracer.replay.simulate.scenario import Scenario

TOLD = "MULTITRACER_TEST_RUNS"
"""The environment variable that names a file to which every run adds a line."""


def simulated(scenario: Scenario, seed: int) -> dict[str, Any]:
    """Throughput falls with the losses, a little with the seed; resets where N2 is small."""
    _tell(f"{scenario.name} {seed}")
    loss = scenario.value("channel.frame_loss_rate") or scenario.value("channel.bit_error_rate") or 0.0
    resets = 2 if scenario.value("link.rlp.n2") == 6 else 0
    return {
        "throughput_bps": 9_600 * (1 - loss) - seed, "link_resets": resets, "tcp_timeouts": None,
        "completion_s": [1.0, 3.0], "connection_goodput_quartile_bps": [1.0, 2.0, None, 4.0], "events": 10,
    }  # fmt: skip


def retraced(scenario: Scenario, seed: int) -> dict[str, Any]:
    """Bursts allow larger frames."""
    _tell(f"{scenario.name} {seed}")
    return {"optimal_frame_bytes": 210, "even_optimal_frame_bytes": 60 + 30 * (seed % 2)}


def _tell(line: str) -> None:
    if told := os.environ.get(TOLD):
        with Path(told).open("a") as file:
            file.write(f"{line}\n")


RUNNERS = {"simulate": simulated, "retrace": retraced}
