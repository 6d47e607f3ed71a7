"""GSM RLP under the engine."""

from __future__ import annotations

from multitracer.model.errors import UsageError
from multitracer.replay.arq.rlp import machine
from multitracer.replay.arq.rlp.entity import Parameters, counters, ended, entity, frames, obey
from multitracer.replay.arq.rlp.octets import Rlp
from multitracer.replay.engine.driver import Protocol
from multitracer.replay.engine.loop import bind


def _check(a: Parameters, b: Parameters) -> None:
    if a.frame_bytes != b.frame_bytes:
        raise UsageError("both entities must use frames of the same size")


RLP = Protocol(
    "rlp", Parameters, Rlp, entity, frames, bind("rlp", machine), counters, lambda p: p.frame_bytes, _check,
    obey=obey, ended=ended,
)  # fmt: skip
