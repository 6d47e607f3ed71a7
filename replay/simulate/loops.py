"""The loops of a simulation: one for each pair of a link protocol and a model of TCP, made when it is asked for."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from multitracer.replay.engine.driver import Protocol
from multitracer.replay.engine.loop import bind
from multitracer.replay.simulate.scenario import Scenario
from multitracer.replay.simulate.transport import PARTS
from multitracer.replay.tcp.interface import KERNELS

PROTOCOLS = {
    "raw": ("raw.RAW", "raw.machine"), "sr": ("sr.SR", "sr.machine"), "asr": ("sr.ASR", "sr.machine"),
    "rlp": ("rlp.RLP", "rlp.machine"), "rlc-am": ("rlc.RLC_AM", "rlc.am"), "rlc-um": ("rlc.RLC_UM", "rlc.um"),
    "rlc-tm": ("rlc.RLC_TM", "rlc.tm"),
}  # fmt: skip
"""Where each protocol of a scenario stands in the engine, and its kernels in arq."""
LARGE = ("rlc-am",)
"""Those whose loop is not compiled into one function."""
MODELS = {"ns-2": "ns2", "rfc": "rfc", "linux-2.4": "linux24", "bsd": "bsd"}
"""The packages of the models of TCP."""


class Tcp(NamedTuple):
    """A model of TCP: its kernels, and what makes its parameters and its ends."""

    machine: Any
    parameters: Any
    state: Any


def loop_of(scenario: Scenario) -> tuple[str, str]:
    """The link protocol and the model of TCP whose loop a scenario runs in."""
    variant = scenario.word("tcp.variant")
    return scenario.word("link.protocol"), variant if variant in MODELS else scenario.word("tcp.model")


@cache
def model(name: str) -> Tcp:
    """A model of TCP by its name in MODELS."""
    package = f"multitracer.replay.tcp.{MODELS[name]}"
    return Tcp(*(import_module(f"{package}.{each}") for each in ("machine", "parameters", "state")))


def engine_protocol(scenario: Scenario) -> Protocol:
    """The link protocol of a scenario, with the loop that has no model of TCP above it."""
    return _engine_protocol(scenario.word("link.protocol"))


def _engine_protocol(link: str) -> Protocol:
    module, name = PROTOCOLS[link][0].split(".")
    found: Protocol = getattr(import_module(f"multitracer.replay.engine.{module}"), name)
    return found


@cache
def protocol(link: str, tcp: str) -> Protocol:
    """A link protocol whose loop has a model of TCP above it."""
    machine, own = PROTOCOLS[link][1], model(tcp).machine
    kernels = {f"tcp_{each}": getattr(own, each) for each in KERNELS}
    arq = import_module(f"multitracer.replay.arq.{machine}")
    run = bind(f"{machine.replace('.', '_')}_{MODELS[tcp]}", arq, large=link in LARGE, parts=PARTS, **kernels)
    return replace(_engine_protocol(link), run=run)
