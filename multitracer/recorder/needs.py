"""What this machine does not let be recorded, and what would allow it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

from multitracer.model.errors import MissingCapabilityError
from multitracer.recorder import packet_capture, socket_samples
from multitracer.recorder.packet_capture import PacketCapture
from multitracer.recorder.tracefs import TraceFs

PROBE_EVENT, RETRANSMIT_EVENT = "tcp/tcp_probe", "tcp/tcp_retransmit_skb"
STATE_EVENT = "tcp/tcp_cong_state_set"
"""Recorded beside the retransmissions where the kernel has it: which of them begin a recovery."""
EVENTS = {
    PROBE_EVENT: "TCP's state at every acknowledgement",
    RETRANSMIT_EVENT: "what made TCP retransmit",
}
"""The kernel's events that are recorded, and what each tells."""


class Missing(NamedTuple):
    """Something that is not recorded."""

    what: str
    needs: str
    """What would allow it."""


def tracing() -> tuple[TraceFs | None, list[Missing]]:
    """The trace file system with all events, or what is missing."""
    try:
        tracefs = TraceFs.open()
    except OSError as error:
        needs = f"root of the machine, and a kernel with tracefs ({error.strerror or error})"
        return None, [Missing(f"{what} (tracepoint {_colon(event)})", needs) for event, what in EVENTS.items()]
    absent = [event for event in EVENTS if not tracefs.has_event(event)]
    if absent:
        tracefs.close()
        return None, [
            Missing(EVENTS[event], f"a kernel with the tracepoint {_colon(event)} (Linux 4.16 or later)")
            for event in absent
        ]
    return tracefs, []


def packets(interface: str) -> list[Missing]:
    """What keeps packets on an interface from being captured, by trying it."""
    if packet_capture.tool() is None:
        return [Missing("packets", "tcpdump or dumpcap: install the package tcpdump or wireshark-common")]
    with tempfile.TemporaryDirectory() as scratch:
        try:
            with PacketCapture(interface, (), Path(scratch, "try.pcap")):
                return []
        except MissingCapabilityError as error:
            return [Missing("packets", f"root, or a user who may capture ({error})")]


def samples() -> list[Missing]:
    """What keeps ss from being used."""
    return [] if socket_samples.available() else [Missing("samples of TCP's state", "ss: install the package iproute2")]


def all_missing(interface: str) -> list[Missing]:
    """All that is not recorded on this machine."""
    tracefs, lacks = tracing()
    if tracefs is not None:
        tracefs.close()
    return [*packets(interface), *lacks, *(samples() if lacks else [])]


def _colon(event: str) -> str:
    return event.replace("/", ":")
