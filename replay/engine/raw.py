"""The Raw link under the engine."""

from __future__ import annotations

from multitracer.replay.arq.raw import machine
from multitracer.replay.arq.raw.octets import Raw
from multitracer.replay.arq.raw.parameters import RawParameters
from multitracer.replay.engine.driver import Protocol
from multitracer.replay.engine.loop import bind

RAW = Protocol(
    "raw", RawParameters, Raw, machine.entity, machine.frames, bind("raw", machine), machine.counters, in_order=True,
    repeats=False,
)  # fmt: skip
