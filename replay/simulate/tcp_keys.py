"""The keys of TCP; `tcp.forward` is the data's sender, `tcp.reverse` its receiver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multitracer.replay.simulate.key import Key, flag, seconds, whole, word
from multitracer.replay.simulate.limits import (
    LONGEST_RTO_S,
    LONGEST_TICK_S,
    MOST_SACK_BLOCKS,
    MOST_SEGMENTS,
    SHORTEST_NS2_TICK_S,
    SHORTEST_RTO_S,
    SHORTEST_TICK_S,
)

VARIANT, MODEL = "tcp.variant", "tcp.model"
_MOST_BYTES = 1_000_000_000


def _has(*variants: str) -> Any:
    def said(values: Mapping[str, Any]) -> bool:
        return values[VARIANT] in variants

    return said


def _as_the_variant(values: Mapping[str, Any]) -> str:
    return {"bsd": "second", "linux-2.4": "linux"}.get(values[VARIANT], "none")


def _of_the_model(values: Mapping[str, Any]) -> str:
    return "pipe" if values[MODEL] == "ns-2" else "rfc6675"


TCP = (
    word(VARIANT, "The congestion control. It brings no timers along: 4.4BSD had tick_s 0.5, min_rto_s 1, max_rto_s "
         "64, initial_rto_s 6, delayed_ack_s 0.2 and initial_window 1, Linux 2.4 tick_s 0.01, min_rto_s 0.2, max_rto_s "
         "120, initial_rto_s 3 and delayed_ack_s 0.2; both had timestamps.", "reno", "newreno", "sack", "fack",
         "linux-2.4", "bsd"),
    word(MODEL, "Of reno, newreno, sack and fack: as ns-2 has it, or as the RFCs and papers do.", "ns-2", "rfc",
         one=True, where=((VARIANT, ("reno", "newreno", "sack", "fack")),)),
    Key("tcp.sack_rule", "word", "When a SACK sender may send: ns-2's pipe, or RFC 6675.", choices=("pipe", "rfc6675"),
        derived=_of_the_model, default_text="by the model", where=((VARIANT, ("sack",)),)),
    whole("tcp.segment_bytes", "Octets of a full data packet, headers included.", 250, least=1, most=65_535),
    whole("tcp.header_bytes", "Octets of it that are no application data.", 0, most=200),
    flag("tcp.syn", "Connections begin with a SYN exchange.", True),
    flag("tcp.fin", "Connections end with FINs, the data sender's behind its data. ns-2's models have none."),
    whole("tcp.syn_bytes", "Octets of a SYN on the wire.", 40, least=1, most=65_535),
    whole("tcp.ack_bytes", "Octets of an acknowledgement.", 40, least=1, most=65_535),
    whole("tcp.sack_block_bytes", "Octets that a SACK block adds to it.", 8, most=100),
    whole("tcp.sack_blocks", "SACK blocks in an acknowledgement at most.", 3, least=1, most=MOST_SACK_BLOCKS),
    whole("tcp.receive_window_bytes", "The receiver's window in octets, instead of tcp.window_segments.", None, least=1,
          most=_MOST_BYTES, default_text="none"),
    whole("tcp.receive_window_initial_bytes", "What it advertises at first.", None, least=1, most=_MOST_BYTES,
          default_text="all of it"),
    whole("tcp.window_segments", "The largest window.", 20, least=1, most=MOST_SEGMENTS,
          where=(("tcp.receive_window_bytes", (None,)),)),
    whole("tcp.send_buffer_bytes", "The sender's socket buffer.", None, least=1, most=_MOST_BYTES,
          default_text="none"),
    whole("tcp.initial_window", "The first congestion window, in segments.", 2, least=1, most=MOST_SEGMENTS),
    whole("tcp.initial_ssthresh_segments", "The first slow start threshold.", None, least=1, most=MOST_SEGMENTS,
          default_text="the window"),
    whole("tcp.max_burst_segments", "Segments sent at once at most; 0: no limit.", 0, most=MOST_SEGMENTS),
    flag("tcp.limited_transmit", "New data is sent on the first two duplicate acknowledgements (RFC 3042).", True),
    seconds("tcp.tick_s", "The clock that round trips and timers are counted in.", 0.01, least=SHORTEST_TICK_S,
            most=LONGEST_TICK_S, narrower=((MODEL, ("ns-2",), SHORTEST_NS2_TICK_S, LONGEST_TICK_S),)),
    seconds("tcp.tick_phase_s", "How long before time 0 it ticked last.", most=LONGEST_TICK_S),
    seconds("tcp.min_rto_s", "The shortest retransmission timeout.", 1.0, most=LONGEST_RTO_S),
    seconds("tcp.max_rto_s", "The longest.", 60.0, least=SHORTEST_RTO_S, most=LONGEST_RTO_S),
    seconds("tcp.initial_rto_s", "That before any sample.", 3.0, least=SHORTEST_RTO_S, most=LONGEST_RTO_S),
    word("tcp.rounding", "A round trip in ticks: those crossed between sending and acknowledgement, or the time "
         "rounded up. With tcp.model = rfc timers, too: up to a tick early, or never early (RFC 6298, 5).", "crossed",
         "up"),
    Key("tcp.delayed_ack", "word", "Which data is acknowledged: each segment at once, every second one, or as Linux.",
        choices=("none", "second", "linux"), derived=_as_the_variant,
        default_text="none; bsd second, linux-2.4 linux"),
    seconds("tcp.delayed_ack_s", "How long an acknowledgement waits at most.", 0.1, above=True, most=LONGEST_TICK_S,
            where=(("tcp.delayed_ack", ("second", "linux")),)),
    flag("tcp.timestamps", "RFC 7323's option."),
    flag("tcp.sack", "The SACK option.", None, derived=_has("sack", "fack", "linux-2.4"),
         default_text="as the variant"),
    flag("tcp.fack", "Forward acknowledgement.", None, derived=_has("fack", "linux-2.4"),
         default_text="as the variant"),
    whole("tcp.reordering", "Duplicate acknowledgements that start a fast retransmit.", 3, least=1, most=127),
    flag("tcp.metrics_kept", "What a connection learned of the path is kept for the next one."),
    whole("tcp.interface_queue_packets", "Packets that a host's own queue takes, beside the one that it hands on; 0: "
          "no limit.", 0, most=MOST_SEGMENTS),
    whole("tcp.interface_queue_bytes", "The same in octets; 0: no limit. With neither limit there is no such queue.", 0,
          most=_MOST_BYTES),
    word("tcp.local_drop", "What a full interface queue does: the sender is told (quench), or the packet is lost. "
         "ns-2's models cannot be told.", "quench", "loss"),
)  # fmt: skip
