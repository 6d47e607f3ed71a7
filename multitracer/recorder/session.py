"""One recording: everything that this machine lets be recorded, from before a transfer until after it."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from multitracer.model.errors import MissingCapabilityError, UsageError
from multitracer.recorder import needs, packet_capture
from multitracer.recorder.needs import Missing
from multitracer.recorder.packet_capture import PacketCapture
from multitracer.recorder.remote import RemoteRecording
from multitracer.recorder.settings import settings
from multitracer.recorder.socket_samples import SocketSamples
from multitracer.recorder.stop_signals import StopSignals
from multitracer.recorder.tcp_events import FILES, PROBE_EVENT, RETRANSMIT_EVENT, TcpEvents, filter_of
from multitracer.recorder.tracefs import BUFFER_MB, CLOCK, now_on_both_clocks

PACKETS, SS, MACHINE = "snd.pcap", "ss.txt", "machine.json"
PROBES, RETRANSMISSIONS = FILES[PROBE_EVENT], FILES[RETRANSMIT_EVENT]
_POLL_S, _GRACE_S = 0.05, 2.0
NOT_STARTED = 127
"""The status of a command that could not be started, as shells report it."""


@dataclass(frozen=True)
class Wanted:
    """What to record, and where to."""

    directory: Path
    interface: str
    ports: tuple[int, ...] = ()
    """Those of the transfers; empty for all of TCP."""
    command: tuple[str, ...] = ()
    """What makes the transfer; empty to record until Ctrl-C."""
    remote: str = ""
    """The host of the other end, as ssh takes it, to record there too; empty for none."""
    buffer_mb: int | None = None
    """Of each of the kernel's buffers here: of packets, and of an event on each processor; None for the usual."""


@dataclass
class _Recorders:
    """What is being recorded, and what is not."""

    capture: PacketCapture | None = None
    events: TcpEvents | None = None
    other_end: RemoteRecording | None = None
    missing: list[Missing] = field(default_factory=list)


def record(wanted: Wanted, begun: Callable[[list[Missing]], None]) -> dict[str, Any]:
    """Record until the command ends, or Ctrl-C; returns what machine.json holds.

    `begun` is called once all runs, with what could not be recorded. SIGTERM and SIGHUP end the recording too, and are
    raised again once all was written; so is Ctrl-C where the command was not started, or goes on. Raises
    MissingCapabilityError where not even packets or TCP's state can be recorded, UsageError for a folder that holds
    something already.
    """
    make_new(wanted.directory)
    with StopSignals() as stop:
        described = _recorded(wanted, begun, stop)
        _remove_empty(wanted.directory)
        (wanted.directory / MACHINE).write_text(json.dumps(described, indent=2) + "\n")
    if wanted.command and described["exit"] is None:
        signal.raise_signal(signal.SIGINT)
    return described


def _recorded(wanted: Wanted, begun: Callable[[list[Missing]], None], stop: StopSignals) -> dict[str, Any]:
    """Record into files; returns under what."""
    recorders, described = _Recorders(), settings(wanted.interface)
    with ExitStack() as stack:
        if wanted.remote:
            other_end = RemoteRecording(wanted.remote, wanted.ports, wanted.directory, stop)
            recorders.other_end = stack.enter_context(other_end)
        _record_packets(wanted, recorders, stack)
        _record_tcp(wanted, recorders, stack)
        if recorders.capture is None and not any(wanted.directory.iterdir()):
            raise MissingCapabilityError("\n".join(f"{one.what}: {one.needs}" for one in recorders.missing))
        recorders.missing += needs.queue(wanted.interface)
        clocks = [now_on_both_clocks()]
        begun(recorders.missing)
        status = _transfer(wanted.command, stop)
        time.sleep(packet_capture.SETTLE_S)
        clocks.append(now_on_both_clocks())
    recorders.missing += recorders.other_end.missing if recorders.other_end else []
    return described | {
        "tracing": _tracing(recorders, wanted, clocks),
        "capture": _capture(recorders.capture),
        "command": list(wanted.command),
        "exit": status,
        "missing": [one._asdict() for one in recorders.missing],
    }


def make_new(directory: Path) -> None:
    """Make a folder; raises UsageError for one that holds something."""
    directory.mkdir(parents=True, exist_ok=True)
    if any(directory.iterdir()):
        raise UsageError(f"{directory} holds something already: choose another folder with -o")


def _remove_empty(directory: Path) -> None:
    """Remove the files of what did not happen, such as retransmissions: "tracing" says that they were recorded."""
    for path in directory.iterdir():
        if path.is_file() and not path.stat().st_size:
            path.unlink()


def _record_packets(wanted: Wanted, recorders: _Recorders, stack: ExitStack) -> None:
    lacks = needs.packets(wanted.interface)
    recorders.missing += lacks
    if not lacks:
        path = wanted.directory / PACKETS
        capture = PacketCapture(wanted.interface, wanted.ports, path, wanted.buffer_mb or BUFFER_MB)
        recorders.capture = stack.enter_context(capture)


def _record_tcp(wanted: Wanted, recorders: _Recorders, stack: ExitStack) -> None:
    """Record TCP's state by tracepoints, else by samples."""
    tracefs, lacks = needs.tracing()
    if tracefs is not None:
        stack.callback(tracefs.close)
        try:
            tracefs.remove_dead()
            events = TcpEvents(tracefs, wanted.directory, wanted.ports, wanted.buffer_mb)
            recorders.events = stack.enter_context(events)
        except OSError as error:
            lacks = needs.refused(error)
        else:
            recorders.missing += needs.stacks(events)
            return
    no_samples = needs.samples()
    recorders.missing += [*lacks, *no_samples]
    if not no_samples:
        file = stack.enter_context((wanted.directory / SS).open("wb"))
        stack.enter_context(SocketSamples(wanted.ports, file))


def _transfer(command: Sequence[str], stop: StopSignals) -> int | None:
    """Run the command, or wait without one, until it ends or a stop; returns its exit status.

    None if it was not started, or goes on as another user's process, which this one may not end.
    """
    if not command:
        while not stop.count:
            time.sleep(_POLL_S)
    if stop.count:
        return None
    try:
        process = subprocess.Popen(command)
    except OSError:
        return NOT_STARTED
    _wait_for(process, stop, math.inf)
    try:
        _end(process, stop)
    except PermissionError:
        return None
    return process.wait()


def _end(process: subprocess.Popen[bytes], stop: StopSignals) -> None:
    """End a command that still runs after a stop, with more force after each further one.

    Ctrl-C in a terminal goes to the command too, which has some time to end by itself; one that was sent to this
    process alone is passed on then. Where the program is to end, it does not wait for further ones.
    """
    _wait_for(process, stop, _GRACE_S)
    for force in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            process.send_signal(force)
            _wait_for(process, stop, _GRACE_S if stop.ending else math.inf)


def _wait_for(process: subprocess.Popen[bytes], stop: StopSignals, most_s: float) -> None:
    """Wait until the command ends, for a further stop, or for so long."""
    seen, end = stop.count, time.monotonic() + most_s
    while process.poll() is None and stop.count == seen and time.monotonic() < end:
        time.sleep(_POLL_S)


def _tracing(recorders: _Recorders, wanted: Wanted, clocks: list[dict[str, int]]) -> dict[str, Any] | None:
    """The kernel's clock at the begin and the end, on both clocks; None without tracepoints."""
    if recorders.events is None:
        return None
    return {
        "clock": CLOCK,
        "mono_ns": [one["mono_ns"] for one in clocks],
        "real_ns": [one["real_ns"] for one in clocks],
        "lost_events": recorders.events.lost_events,
        "filter": filter_of(wanted.ports),
    }


def _capture(capture: PacketCapture | None) -> dict[str, Any] | None:
    if capture is None:
        return None
    return {
        "tool": capture.tool, "snaplen": packet_capture.SNAPLEN, "dropped": capture.dropped,
        "complete": capture.complete,
    }  # fmt: skip
