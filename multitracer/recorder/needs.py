"""What this machine does not let be recorded, and what would allow it."""

from __future__ import annotations

import errno
import shutil
import tempfile
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from multitracer.model.errors import MissingCapabilityError
from multitracer.recorder import packet_capture, settings, socket_samples
from multitracer.recorder.packet_capture import PacketCapture
from multitracer.recorder.tcp_events import EVENTS, TcpEvents
from multitracer.recorder.tracefs import TraceFs

_LOCKDOWN = Path("/sys/kernel/security/lockdown")
_NO_PORT = 0
_TRIED_MB = 1
"""To find the memory of larger buffers holds up what runs on the processors."""


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
        return None, _no_event(f"root of the machine, and a kernel with tracefs ({error.strerror or error})")
    absent = [event for event in EVENTS if not tracefs.has_event(event)]
    if absent:
        tracefs.close()
        return None, [
            Missing(EVENTS[event], f"a kernel{_unlocked()} with the tracepoint {_colon(event)} (Linux 4.16 or later)")
            for event in absent
        ]
    return tracefs, []


def refused(error: OSError) -> list[Missing]:
    """What is missing where the kernel has the events, and refuses to record them."""
    if error.errno == errno.ENOMEM:
        return _no_event("more free memory, or a smaller --buffer")
    return _no_event(f"a kernel{_unlocked()} that lets them be recorded ({error.strerror or error})")


def stacks(events: TcpEvents) -> list[Missing]:
    """What keeps the kernel's stack from being recorded with a retransmission."""
    if events.no_stacks is None:
        return []
    reason = events.no_stacks.strerror or events.no_stacks
    return [Missing("the kernel's stack of each retransmission", f"a kernel with CONFIG_STACKTRACE ({reason})")]


def _no_event(needs: str) -> list[Missing]:
    return [Missing(f"{what} (tracepoint {_colon(event)})", needs) for event, what in EVENTS.items()]


def _unlocked() -> str:
    """Words for a kernel that is not as this one, where it is locked down (kernel_lockdown(7))."""
    try:
        locked = "[confidentiality]" in _LOCKDOWN.read_text()
    except OSError:
        locked = False
    return f" that is not locked down ({_LOCKDOWN})" if locked else ""


def tcp_state() -> list[Missing]:
    """What keeps TCP's state from being recorded, by trying to record the events of a port that nothing has."""
    tracefs, lacks = tracing()
    if tracefs is not None:
        with closing(tracefs), tempfile.TemporaryDirectory() as scratch:
            try:
                with TcpEvents(tracefs, Path(scratch), (_NO_PORT,), _TRIED_MB) as events:
                    return stacks(events)
            except OSError as error:
                lacks = refused(error)
    return [*lacks, *samples()]


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


def queue(interface: str) -> list[Missing]:
    """What keeps the settings of an interface's queue from being read; "any" interface has none."""
    if interface == "any" or settings.qdisc(interface) is not None:
        return []
    install = "install the package iproute2 (Fedora: iproute-tc)"
    needs = f"a tc that tells of {interface} as JSON" if shutil.which("tc") else f"tc: {install}"
    return [Missing("the interface's queueing discipline", needs)]


def all_missing(interface: str) -> list[Missing]:
    """All that is not recorded on this machine."""
    return [*packets(interface), *tcp_state(), *queue(interface)]


def _colon(event: str) -> str:
    return event.replace("/", ":")
