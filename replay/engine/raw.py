"""The Raw link under the engine."""

from __future__ import annotations

from multitracer.replay.arq.raw import machine
from multitracer.replay.engine.driver import Protocol
from multitracer.replay.engine.loop import bind

RAW = Protocol("raw", machine.entity, machine.frames, bind("raw", machine), machine.counters)
