"""UMTS RLC under the engine: acknowledged and unacknowledged mode, with and without payload, and transparent mode."""

from __future__ import annotations

from dataclasses import replace

from multitracer.model.errors import UsageError
from multitracer.replay.arq.rlc import am, tm, um
from multitracer.replay.arq.rlc.am_entity import counters, ended, entity, entity_with_octets, obey
from multitracer.replay.arq.rlc.frames import frames
from multitracer.replay.arq.rlc.octets import RlcAm, RlcTm, RlcUm
from multitracer.replay.arq.rlc.parameters import Parameters, check_windows
from multitracer.replay.arq.rlc.tm import TmParameters, tm_counters, tm_entity, tm_frames
from multitracer.replay.arq.rlc.um import UmParameters, um_counters, um_entity, um_entity_with_octets
from multitracer.replay.engine.driver import Protocol
from multitracer.replay.engine.loop import bind


def _check(a: Parameters | UmParameters, b: Parameters | UmParameters) -> None:
    if a.pdu_bytes != b.pdu_bytes or a.li_octets != b.li_octets:
        raise UsageError("both sides must have the same pdu_bytes and li_bits")
    if isinstance(a, Parameters) and isinstance(b, Parameters):
        if (a.length_indicators, a.header_bytes) != (b.length_indicators, b.header_bytes):
            raise UsageError("both sides must have the same length_indicators and header_bytes")
        check_windows(a.tx_window, b.rx_window)
        check_windows(b.tx_window, a.rx_window)


RLC_AM = Protocol(
    "rlc-am", Parameters, RlcAm, entity, frames, bind("rlc_am", am, large=True), counters, lambda p: p.pdu_bytes,
    _check, obey=obey, ended=ended,
)  # fmt: skip
RLC_AM_OCTETS = replace(RLC_AM, name="rlc-am with octets", entity=entity_with_octets)
RLC_UM = Protocol(
    "rlc-um", UmParameters, RlcUm, um_entity, frames, bind("rlc_um", um), um_counters, lambda p: p.pdu_bytes, _check,
    repeats=False,
)  # fmt: skip
RLC_UM_OCTETS = replace(RLC_UM, name="rlc-um with octets", entity=um_entity_with_octets)
RLC_TM = Protocol("rlc-tm", TmParameters, RlcTm, tm_entity, tm_frames, bind("rlc_tm", tm), tm_counters, repeats=False)
