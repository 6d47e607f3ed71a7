"""Every protocol under the engine: its parameters, and its class in octets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from multitracer.replay.arq.raw.octets import Raw
from multitracer.replay.arq.raw.parameters import RawParameters
from multitracer.replay.arq.rlc.octets import RlcAm, RlcTm, RlcUm
from multitracer.replay.arq.rlc.parameters import Parameters as RlcParameters
from multitracer.replay.arq.rlc.tm import TmParameters
from multitracer.replay.arq.rlc.um import UmParameters
from multitracer.replay.arq.rlp.entity import Parameters as RlpParameters
from multitracer.replay.arq.rlp.octets import Rlp
from multitracer.replay.arq.sr.asr import AsrParameters
from multitracer.replay.arq.sr.octets import Sr
from multitracer.replay.arq.sr.parameters import SrParameters
from multitracer.replay.engine.driver import Protocol
from multitracer.replay.engine.raw import RAW
from multitracer.replay.engine.rlc import RLC_AM, RLC_TM, RLC_UM
from multitracer.replay.engine.rlp import RLP
from multitracer.replay.engine.sr import SR


class Known(NamedTuple):
    """A protocol, compiled and in octets."""

    protocol: Protocol
    parameters: Callable[..., Any]
    octets: Callable[[Any], Any]
    """One end in octets, from its parameters; it sends nothing where it has nothing to say."""


PROTOCOLS = {
    "raw": Known(RAW, RawParameters, Raw),
    "rlp": Known(RLP, RlpParameters, lambda given: Rlp(given, fill=False)),
    "sr": Known(SR, SrParameters, Sr),
    "asr": Known(SR, AsrParameters, Sr),
    "rlc-am": Known(RLC_AM, RlcParameters, RlcAm),
    "rlc-um": Known(RLC_UM, UmParameters, RlcUm),
    "rlc-tm": Known(RLC_TM, TmParameters, RlcTm),
}
