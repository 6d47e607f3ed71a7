"""SR and ASR under the engine."""

from __future__ import annotations

from multitracer.replay.arq.sr import machine
from multitracer.replay.arq.sr.state import counters, entity, frames
from multitracer.replay.engine.driver import Protocol
from multitracer.replay.engine.loop import bind

SR = Protocol("sr", entity, frames, bind("sr", machine), counters)
