"""The keys of the radio link and of the wired one."""

from __future__ import annotations

from typing import Any

from multitracer.replay.simulate import limits
from multitracer.replay.simulate.key import LEAST_S, MOST_S, Key, flag, number, seconds, whole, word

PROTOCOL = "link.protocol"
PROTOCOLS = ("raw", "sr", "asr", "rlp", "rlc-am", "rlc-um", "rlc-tm")
FASTEST_BPS = 1e13
LARGEST_FRAME = 65_535
LARGEST_BUFFER = 500_000_000
FASTEST_DRAIN_BPS = 8e9
_OF_RLP = ((PROTOCOL, ("rlp",)),)
_OF_RESETS = ((PROTOCOL, ("rlp", "rlc-am")),)
_RLP_FRAMES = (PROTOCOL, ("rlp",), limits.SMALLEST_RLP_FRAME, LARGEST_FRAME)
_AM_PDUS = (PROTOCOL, ("rlc-am",), limits.SMALLEST_PDU, limits.LARGEST_PDU)
_UM_PDUS = (PROTOCOL, ("rlc-um",), limits.SMALLEST_UM_PDU, limits.LARGEST_PDU)
_SR_HEADERS = (PROTOCOL, ("sr", "asr"), limits.SMALLEST_SR_HEADER, limits.LARGEST_HEADER)
_AM_TTIS = (PROTOCOL, ("rlc-am",), LEAST_S, limits.LONGEST_RLC_S)
_QUEUES = (PROTOCOL, ("raw", "sr", "asr"), 0, limits.QUEUE_ROOM)

LINK = (
    word(PROTOCOL, "The link protocol.", *PROTOCOLS, one=True),
    number("link.rate_bps", "Rate of the radio link.", 64_000.0, least=1, most=FASTEST_BPS),
    seconds("link.delay_s", "Propagation, one way, beside the time on the air.", 0.05, most=limits.LONGEST_AIR_S),
    whole("link.frame_bytes", "Octets of a frame: the largest SDU for raw, sr, asr and rlc-tm and for rlc-am without "
          "length indicators, else the PDU for RLC, the frame for RLP.", 250, least=1, most=LARGEST_FRAME,
          narrower=(_RLP_FRAMES, _AM_PDUS, _UM_PDUS)),
    whole("link.header_bytes", "Octets in front of the data of a frame.", None, most=limits.LARGEST_HEADER,
          default_text="the protocol's", narrower=(_SR_HEADERS,)),
    whole("link.control_frame_bytes", "Octets on the air of a frame without data.", None, least=1, most=LARGEST_FRAME,
          default_text="as encoded", narrower=(_SR_HEADERS, _AM_PDUS)),
    seconds("link.tti_s", "Transmission time interval of a slotted link; unset: serialised by octets.", None,
            above=True, most=limits.LONGEST_AIR_S, default_text="serialised by octets",
            narrower=(_AM_TTIS,)),
    whole("link.blocks_per_tti", "Frames that a TTI carries.", 1, least=1, most=limits.MOST_PER_SLOT),
    whole("link.queue_frames", "Room of the radio device's queue, beside the frame on the air; control frames count; "
          "0: unlimited.", 50, most=limits.LONGEST_QUEUE),
    whole("link.upper_queue_packets", "Room of the queue above the link protocol, which rlp has not; 0: unlimited.", 0,
          most=limits.LONGEST_QUEUE, narrower=(_QUEUES,)),
    word("link.hand_down", "eager: frames are handed to the device's queue as soon as the window allows; lazy: each is "
         "made when it can be sent.", "eager", "lazy"),
    flag("link.control_first", "Control frames pass all others in the device's queue; where that is lazy, what goes "
         "first is the protocol's own choice."),
    flag("link.media_past_arq", "Media packets go past the link protocol, straight into the device's queue.", True),
    Key("link.reset_at_s", "numbers", "When the sender of the workload's data, or of the direction that this is said "
        "for, resets the link.", (), most=MOST_S, where=_OF_RESETS),
    Key("link.stop_at_s", "numbers", "When the far end stops that sender (XOFF).", (), most=MOST_S, where=_OF_RLP),
    Key("link.stop_s", "numbers", "For how long, one for each of link.stop_at_s.", (), most=MOST_S, where=_OF_RLP),
    whole("link.far_buffer_bytes", "Buffer behind the link at the far end of that direction. XOFF goes so early that "
          "what comes in a round trip still fits, XON so early that it is not empty when data come again.", None,
          least=1, most=LARGEST_BUFFER, default_text="none", where=_OF_RLP),
    number("link.far_drain_bps", "Rate at which that buffer is emptied.", None, least=8, most=FASTEST_DRAIN_BPS,
           default_text="none", where=_OF_RLP),
    flag("link.ppp", "Packets are framed by PPP: 7 octets (flag, address, control, protocol, FCS; nothing is escaped).",
         None, derived=lambda values: values[PROTOCOL] == "rlp", default_text="yes for rlp"),
    flag("link.vj", "TCP/IP headers of 40 octets, 52 with timestamps, are compressed (RFC 1144). Segments whose "
         "headers are rebuilt wrong after a loss are discarded by the receiver.", where=(("link.ppp", (True,)),)),
)  # fmt: skip

WIRED = (
    number("wired.rate_bps", "Rate of the wired link; 0: no serialisation.", 10_000_000.0, most=FASTEST_BPS),
    seconds("wired.delay_s", "Its propagation, one way.", 0.001),
    whole("wired.queue_packets", "Room of its queue; 0: unlimited, but no more than "
          f"{limits.WIRED_ROOM:,} packets are on the wire and in its queue.", 50, most=limits.WIRED_ROOM),
)


def _of(protocol: str, key: Any, name: str, *arguments: Any, **more: Any) -> Key:
    """A parameter of a protocol, which has an effect with that one alone."""
    made: Key = key(f"link.{protocol}.{name}", *arguments, where=((PROTOCOL, (protocol,)),), **more)
    return made


def _selective_repeat(protocol: str) -> tuple[Key, ...]:
    return (
        _of(protocol, whole, "window", "Frames that may be unacknowledged.", 127, least=1,
            most=limits.LARGEST_SR_WINDOW),
        _of(protocol, seconds, "ack_delay_s", "How long an ACK waits for a data frame to travel with.", 0.5,
            most=limits.LONGEST_SR_S),
        _of(protocol, word, "nack", "How missing frames are reported: each at once and again; one NACK at a time; one "
            "for each.", "multireject", "one-outstanding", "one-per-frame"),
        _of(protocol, word, "renack", "When a missing frame is NACKed again: once the answer to its NACK must have "
            "come (echo), when a frame comes a round trip of the idle link after the last NACK, at each later frame, "
            "or never.", "echo", "rtt", "every",
            "none"),
        _of(protocol, word, "timer_starts", "What starts a frame's timer: that it is handed down, or that it has been "
            "sent.", "hand-down", "sent"),
        _of(protocol, word, "piggyback", "Which data frame takes an ACK along: any after the ACK fell due to be made, "
            "or only one that is to be sent when ack_delay_s are over.", "due", "late"),
        _of(protocol, whole, "max_retransmissions", "Times that a frame is sent again; then a frame without data goes "
            "in its place, until that is acknowledged. Unset: no limit.", None, most=10_000, default_text="no limit"),
    )  # fmt: skip


SR = (
    _of("sr", seconds, "timeout_s", "After which a frame is sent again.", 1.1, above=True, most=limits.LONGEST_SR_S),
    *_selective_repeat("sr"),
)
ASR = (
    _of("asr", number, "alpha", "Weight of the smoothed round trip in the timeout.", 3.0, least=1,
        most=limits.LARGEST_ASR_WEIGHT),
    _of("asr", number, "beta", "Weight of its variation.", 2.0, most=limits.LARGEST_ASR_WEIGHT),
    _of("asr", word, "variance", "The variation is the sample's distance from the srtt before it, or after it.", "old",
        "new"),
    _of("asr", flag, "karn", "Frames sent more than once give no sample."),
    _of("asr", seconds, "min_timeout_s", "The shortest timeout, beside one tick.", most=limits.LONGEST_SR_S),
    _of("asr", seconds, "max_timeout_s", "The longest timeout; unset: no limit.", None, above=True,
        most=limits.LONGEST_SR_S, default_text="no limit"),
    _of("asr", seconds, "initial_srtt_s", "The smoothed round trip before any sample.", 1.1, above=True,
        most=limits.LONGEST_SR_S),
    _of("asr", seconds, "tick_s", "What times are counted in by integer arithmetic.", 0.01,
        least=limits.SHORTEST_ASR_TICK_S, most=limits.LONGEST_ASR_TICK_S),
    _of("asr", word, "arithmetic", "TCP's integer code, which takes of each sample the whole ticks, or floating point "
        "without ticks.", "integer", "float"),
    _of("asr", word, "estimator", "One estimator for each direction, or one for both.", "per-direction", "one"),
    *_selective_repeat("asr"),
)  # fmt: skip

RLP = (
    _of("rlp", whole, "window", "k, frames that may be unacknowledged (24.022 5.2.1).", 61, least=1, most=62),
    _of("rlp", seconds, "t1_s", "T1, the acknowledgement timer.", 0.48, above=True, most=limits.LONGEST_AIR_S),
    _of("rlp", whole, "n2", "N2, how many times a frame is sent again.", 6, most=1000),
    _of("rlp", word, "after_n2", "What follows then: the link is reset, or the call released.", "reset", "release"),
    _of("rlp", seconds, "t_rcvs_s", "T_RCVS, after which an SREJ is sent again; 0: T1.",
        most=limits.LONGEST_AIR_S),
    _of("rlp", seconds, "t2_s", "T2, how long an acknowledgement waits for information to go with.",
        most=limits.LONGEST_AIR_S),
    _of("rlp", flag, "t1_every_nr", "T1 is restarted by every valid N(R)."),
    _of("rlp", flag, "piggyback_srej", "SREJ goes with information where there is some.", True),
    _of("rlp", flag, "reject", "REJ instead of SREJ."),
    _of("rlp", flag, "flush_queue", "A reset also drops what was offered and never sent.", True),
    _of("rlp", flag, "persistent", "SABM is repeated for as long as it takes."),
    _of("rlp", flag, "as_in_paper", "Allow the window of 62 that paper 004 states."),
)
