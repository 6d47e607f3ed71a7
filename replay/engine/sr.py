"""SR and ASR under the engine."""

from __future__ import annotations

from dataclasses import replace

from multitracer.replay.arq.sr import machine
from multitracer.replay.arq.sr.asr import AsrParameters
from multitracer.replay.arq.sr.octets import Sr
from multitracer.replay.arq.sr.parameters import SrParameters
from multitracer.replay.arq.sr.state import counters, entity, frames
from multitracer.replay.engine.driver import Protocol
from multitracer.replay.engine.loop import bind

SR = Protocol("sr", SrParameters, Sr, entity, frames, bind("sr", machine), counters)
ASR = replace(SR, name="asr", parameters=AsrParameters)
