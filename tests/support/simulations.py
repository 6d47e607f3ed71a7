"""Short simulations for tests: a scenario by its keys, run as plain Python."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from multitracer.compute import kernels
from multitracer.replay.simulate import run as runs
from multitracer.replay.simulate.scenario import Scenario, resolve
from multitracer.replay.simulate.schema import parsed
from multitracer.replay.simulate.simulation import Simulation

NS = 1_000_000_000


def scenario(**given: Any) -> Scenario:
    """The scenario of keys, in which `__` stands for a dot and `rlc_` for `rlc-`."""
    names = {key.replace("__", ".").replace("rlc_", "rlc-"): value for key, value in given.items()}
    return resolve("", dict(parsed(key, value) for key, value in names.items()))


def simulated(described: Scenario, seed: int = 1, until_s: float = 1000) -> Simulation:
    """A run of it, not compiled, to its end or to a time."""
    kernels.choose(0)
    setting = replace(runs.setting(described, seed), until_ns=round(until_s * NS))
    return Simulation(setting).run()
