"""The parameters of the link's entities, from the keys of a scenario."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from multitracer.model.errors import UsageError
from multitracer.replay.arq.raw.parameters import RawParameters
from multitracer.replay.arq.rlc.parameters import (
    LARGEST_PDU_BYTES,
    LONGEST_NS,
    MOST_QUEUE_BYTES,
    MOST_QUEUE_SDUS,
    Parameters,
)
from multitracer.replay.arq.rlc.tm import TmParameters
from multitracer.replay.arq.rlc.um import UmParameters
from multitracer.replay.arq.rlp import entity as rlp
from multitracer.replay.arq.sdu_queue import ROOM
from multitracer.replay.arq.sr.asr import AsrParameters
from multitracer.replay.arq.sr.parameters import LONGEST_MS, SrParameters
from multitracer.replay.simulate.far_end import far_buffer, round_trip_s
from multitracer.replay.simulate.framing import PPP_OCTETS
from multitracer.replay.simulate.scenario import Scenario
from multitracer.replay.simulate.schema import NAMED

NS = 1_000_000_000
MS_PER_S = 1000
LONGEST_SDU = 65_535
RLC_HEADER = 2
"""Octets of an AMD PDU's fixed header."""


def entities(scenario: Scenario) -> tuple[Any, Any]:
    """The parameters of the entities at the access point (A) and at the terminal (B)."""
    _check_packets(scenario)
    make = MAKERS[scenario.word("link.protocol")]
    return make(scenario, "down"), make(scenario, "up")


def _check_packets(scenario: Scenario) -> None:
    """Raise UsageError for packets longer than what a frame of this link can carry."""
    if scenario.word("link.protocol") in ("rlc-am", "rlc-um", "rlp") and _segments(scenario):
        return
    most = min(scenario.whole("link.frame_bytes", way) for way in ("down", "up"))
    ppp = PPP_OCTETS if scenario.flag("link.ppp") else 0
    for key, octets in _packets(scenario).items():
        if octets + ppp > most:
            framed = f", with {ppp} of PPP," if ppp else ""
            raise UsageError(
                f"{key}: packets of {octets} octets{framed} do not go into frames of {most} (link.frame_bytes), and "
                f"{scenario.word('link.protocol')} does not cut them\nMake link.frame_bytes at least {octets + ppp}."
            )


def _segments(scenario: Scenario) -> bool:
    """Whether the protocol cuts SDUs to the size of its frames."""
    return scenario.value("link.rlc-am.length_indicators", "down") is not False


def _packets(scenario: Scenario) -> dict[str, int]:
    """The longest packets that the link protocol carries, by the key that makes them."""
    blocks = scenario.value("tcp.sack_blocks") or 0 if scenario.value("tcp.sack") else 0
    found = {
        "tcp.segment_bytes": scenario.whole("tcp.segment_bytes"),
        "tcp.ack_bytes": scenario.whole("tcp.ack_bytes") + blocks * (scenario.value("tcp.sack_block_bytes") or 0),
    }  # fmt: skip
    if scenario.flag("tcp.syn"):
        found["tcp.syn_bytes"] = scenario.whole("tcp.syn_bytes")
    if scenario.flag("contention.enabled") and not scenario.flag("link.media_past_arq"):
        found["contention.packet_bytes"] = scenario.whole("contention.packet_bytes")
    return found


def _raw(scenario: Scenario, way: str) -> RawParameters:
    return RawParameters(header_bytes=scenario.value("link.header_bytes", way) or 0, **_upper_queue(scenario, way))


def _sr(scenario: Scenario, way: str) -> SrParameters:
    own = _own(scenario, way)
    return SrParameters(timeout_ms=own("timeout_s") * MS_PER_S, **_selective_repeat(scenario, way))


def _asr(scenario: Scenario, way: str) -> AsrParameters:
    own = _own(scenario, way)
    times: dict[str, Any] = {
        f"{name}_ms": (own(f"{name}_s") or 0) * MS_PER_S
        for name in ("initial_srtt", "tick", "min_timeout", "max_timeout")
    }
    return AsrParameters(
        alpha=own("alpha"), beta=own("beta"), karn=own("karn"), arithmetic=own("arithmetic"),
        var_uses_new_srtt=own("variance") == "new", **times, **_selective_repeat(scenario, way),
    )  # fmt: skip


def one_estimator(scenario: Scenario) -> bool:
    """Whether both sides of ASR have one estimator."""
    return scenario.value("link.asr.estimator") == "one"


def _own(scenario: Scenario, way: str) -> Callable[[str], Any]:
    """The values of the protocol's own keys."""
    protocol = scenario.word("link.protocol")
    return lambda key: scenario.value(f"link.{protocol}.{key}", way)


def _selective_repeat(scenario: Scenario, way: str) -> dict[str, Any]:
    own = _own(scenario, way)
    given = {name: own(name) for name in ("window", "nack", "renack", "timer_starts", "piggyback")}
    given["ack_delay_ms"] = own("ack_delay_s") * MS_PER_S
    if own("renack") == "rtt":
        given["renack_ms"] = _round_trip_ms(scenario)
    if own("max_retransmissions") is not None:
        given["max_retransmissions"] = own("max_retransmissions")
    sizes = {"header_bytes": "link.header_bytes", "control_bytes": "link.control_frame_bytes"}
    given |= {name: size for name, key in sizes.items() if (size := scenario.value(key, way)) is not None}
    return given | _upper_queue(scenario, way)


def _round_trip_ms(scenario: Scenario) -> float:
    """The round trip of the idle link; UsageError where no NACK waits as long."""
    found = round_trip_s(scenario) * MS_PER_S
    if found > LONGEST_MS:
        raise UsageError(
            f"link.{scenario.word('link.protocol')}.renack = rtt: the link's round trip of {found / MS_PER_S:g} s is "
            f"above {LONGEST_MS // MS_PER_S} s\nRaise link.rate_bps, or take another link.delay_s."
        )
    return found


def _upper_queue(scenario: Scenario, way: str) -> dict[str, int]:
    """The SDUs that may wait above the protocol, where they are limited."""
    most = scenario.whole("link.upper_queue_packets", way)
    return {"queue_sdus": min(most, ROOM)} if most else {}


ALIKE = (
    "max_dat", "max_mrw", "send_mrw", "poll_last_new", "poll_last_retransmission", "poll_pdu", "poll_sdu",
    "missing_threshold",
    "poll_window_percent", "any_status_stops_poll", "last_poll", "missing_pdu_indication", "status_format",
    "periodic_always", "piggyback", "length_indicators", "in_sequence", "max_rst", "after_max_rst",
    "reset_discards_all",
)  # fmt: skip
"""Keys of RLC AM that are parameters by the same name."""
TIMES = ("mrw", "poll_prohibit", "status_periodic", "status_prohibit", "epc", "rst", "resend_guard")
"""Keys of RLC AM in seconds that are parameters in ns."""


def _rlc_am(scenario: Scenario, way: str) -> Parameters:
    own = _own(scenario, way)
    given = {name: own(name) for name in ALIKE} | {f"{name}_ns": round(own(f"{name}_s") * NS) for name in TIMES}
    return Parameters(
        tx_window=own("window"), rx_window=own("window"), report_each=own("missing_report") == "each",
        lost_resend_by_pdu=own("lost_resend") == "next-pdu",
        waiting_sdus=min(scenario.whole("link.upper_queue_packets", way), MOST_QUEUE_SDUS),
        control_pdu_bytes=scenario.value("link.control_frame_bytes", way) or 0, max_sdu_bytes=LONGEST_SDU,
        queue_sdus=MOST_QUEUE_SDUS, queue_bytes=MOST_QUEUE_BYTES,
        **given, **_polls(own), **_discard(own), **_pdu(scenario, way), **_expected(scenario, way),
    )  # fmt: skip


def _polls(own: Callable[[str], Any]) -> dict[str, Any]:
    """Timer_Poll and Timer_Poll_Periodic: one that runs periodically is the latter."""
    timer, periodic, starts = round(own("poll_s") * NS), round(own("poll_periodic_s") * NS), own("poll_timer_starts")
    if starts != "periodic":
        return {"poll_ns": timer, "poll_periodic_ns": periodic, "poll_when_unacknowledged": starts == "poll-and-first"}
    if periodic:
        raise UsageError("link.rlc-am.poll_timer_starts = periodic makes poll_s the period; poll_periodic_s must be 0")
    return {"poll_ns": 0, "poll_periodic_ns": timer}


def _discard(own: Callable[[str], Any]) -> dict[str, Any]:
    """Which of the discard modes of 25.322 9.7.3 the keys mean: with a timer, MaxDAT has no part in it."""
    if own("discard_s") is not None and own("max_dat") not in (0, NAMED["link.rlc-am.max_dat"].default):
        raise UsageError("link.rlc-am.max_dat has no part in a discard by time; leave it out with discard_s")
    if own("discard_s") is None:
        discards = own("max_dat") and own("after_max_dat") == "discard"
        alone = bool(discards) and own("discard") == "sdu"
        return {"discard": "max_dat" if discards else "no_discard", "discard_alone": alone}
    return {"discard": "timer", "discard_ns": round(own("discard_s") * NS)}


def _pdu(scenario: Scenario, way: str) -> dict[str, Any]:
    """A frame is a PDU; without length indicators it is the longest SDU, and the header comes beside it."""
    size, header = scenario.whole("link.frame_bytes", way), scenario.value("link.header_bytes", way)
    indicators = bool(scenario.value("link.rlc-am.length_indicators", way))
    most = LARGEST_PDU_BYTES - (0 if indicators else RLC_HEADER)
    if size > most:
        raise UsageError(f"link.frame_bytes = {size}: without link.rlc-am.length_indicators it must be at most {most}")
    control = scenario.value("link.control_frame_bytes", way) or 0
    if control > size + (0 if indicators else RLC_HEADER):
        raise UsageError(f"link.control_frame_bytes = {control} is above link.frame_bytes = {size}")
    if indicators:
        _fixed_header(scenario, way, RLC_HEADER)
        return {"pdu_bytes": size}
    return {"pdu_bytes": size + RLC_HEADER, "header_bytes": RLC_HEADER if header is None else header}


def _expected(scenario: Scenario, way: str) -> dict[str, Any]:
    """What the estimated PDU counter expects of the other side: frames in a TTI, or one in the time that it takes."""
    other = "up" if way == "down" else "down"
    if scenario.value("link.tti_s", other) is not None:
        per_tti = scenario.whole("link.blocks_per_tti", other)
        return {"tti_ns": scenario.ns("link.tti_s", other), "pdus_per_tti": per_tti}
    bits, rate = 8 * scenario.whole("link.frame_bytes", other), scenario.number("link.rate_bps", other)
    if bits * NS > LONGEST_NS * rate:
        raise UsageError(
            f"link.rate_bps = {rate:g}: a frame of link.frame_bytes would be on the air for {bits / rate:g} s\n"
            f"With link.protocol = rlc-am it must be {LONGEST_NS // NS} s at most."
        )
    return {"tti_ns": max(1, round(bits * NS / rate))}


def _fixed_header(scenario: Scenario, way: str, octets: int) -> None:
    """Raise UsageError for another size of a header than the protocol's own."""
    if scenario.value("link.header_bytes", way) not in (None, octets):
        protocol = scenario.word("link.protocol")
        raise UsageError(f"link.header_bytes cannot be set with {protocol}, whose frames have {octets} inside")


def _rlc_um(scenario: Scenario, way: str) -> UmParameters:
    own = _own(scenario, way)
    _fixed_header(scenario, way, 1)
    return UmParameters(
        pdu_bytes=scenario.whole("link.frame_bytes", way), marks_start=own("marks_start"),
        discard_ns=round((own("discard_s") or 0) * NS), max_sdu_bytes=LONGEST_SDU,
        queue_sdus=_most_waiting(scenario, way), queue_bytes=MOST_QUEUE_BYTES,
    )  # fmt: skip


def _rlc_tm(scenario: Scenario, way: str) -> TmParameters:
    _fixed_header(scenario, way, 0)
    return TmParameters(max_sdu_bytes=LONGEST_SDU, queue_sdus=_most_waiting(scenario, way))


def _most_waiting(scenario: Scenario, way: str) -> int:
    """SDUs that may wait above a protocol that keeps none of those that it sent."""
    return min(scenario.whole("link.upper_queue_packets", way) or MOST_QUEUE_SDUS, MOST_QUEUE_SDUS)


def _rlp(scenario: Scenario, way: str) -> rlp.Parameters:
    own = _own(scenario, way)
    _fixed_header(scenario, way, rlp.OVERHEAD_BYTES)
    alike = ("window", "n2", "after_n2", "t1_every_nr", "piggyback_srej", "reject", "flush_queue", "persistent",
             "as_in_paper")  # fmt: skip
    times = {f"{name}_ns": round(own(f"{name}_s") * NS) for name in ("t1", "t_rcvs", "t2")}
    size = scenario.whole("link.frame_bytes", way)
    if scenario.value("link.control_frame_bytes", way) not in (None, size):
        raise UsageError("link.control_frame_bytes cannot be set with rlp, all of whose frames have link.frame_bytes")
    if scenario.whole("link.upper_queue_packets", way):
        raise UsageError("link.upper_queue_packets cannot be set with rlp, which takes characters, not packets")
    given = {name: own(name) for name in alike}
    return rlp.Parameters(frame_bytes=size, **given, **times, **far_buffer(scenario, way))


MAKERS: dict[str, Callable[[Scenario, str], Any]] = {
    "raw": _raw, "sr": _sr, "asr": _asr, "rlp": _rlp, "rlc-am": _rlc_am, "rlc-um": _rlc_um, "rlc-tm": _rlc_tm,
}  # fmt: skip
"""What makes an entity's parameters, by protocol and way."""
