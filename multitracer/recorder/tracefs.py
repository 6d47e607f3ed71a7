"""The kernel's trace file system, and instances of its ring buffer in it.

An instance has its own buffer, clock, events, filters and triggers: what others trace is neither seen nor changed.
Source: Documentation/trace/ftrace.rst ("Instances") and events.rst ("Event filtering", "Event triggers") of Linux.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

PREFIX = "multitracer"
CLOCK = "mono"
"""CLOCK_MONOTONIC, which other recordings of this machine can be tied to."""
BUFFER_MB = 16
"""Of each processor: some 80,000 events of tcp_probe, far more than come between two readings. While the kernel finds
the memory, nothing else may run on that processor (kernels without preemption): 0.3 to 2 ms for each MB."""
MOST_MB = 512
"""Of all buffers together, unless more is asked for: a small part of the memory of machines with many processors, and
still 1 MB (5,000 events) on each of 256."""
_USUAL_PLACES = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
_NAME = re.compile(rf"{PREFIX}-(\d+)-(\d+)-\w+\Z")
_ANY_FOLDER = "/sys"
"""What lies in it is not seen by the one process that mounts something on it."""
_HOLDER = 'mount -t tracefs tracefs "$0" && echo && read _'
_STATISTIC = re.compile(r"(?:overrun|dropped events): (\d+)")
_POLL_S = 0.05


def usual_buffer_mb(instances: int) -> int:
    """What each of so many instances gets on each processor."""
    return max(1, min(BUFFER_MB, MOST_MB // (instances * (os.cpu_count() or 1))))


class TraceFs:
    """The root of the trace file system, open: also where it is mounted nowhere that others see."""

    def __init__(self, root: int) -> None:
        self._root = root

    @classmethod
    def open(cls) -> TraceFs:
        """Find it where it is mounted, else mount it; raises OSError where this user may not use it."""
        for place in _USUAL_PLACES:
            if (Path(place) / "instances").is_dir() and os.access(f"{place}/instances", os.W_OK):
                return cls(os.open(place, os.O_PATH | os.O_DIRECTORY))
        return cls(_mounted())

    def path(self, name: str) -> Path:
        """A file or folder in it."""
        return Path(f"/proc/self/fd/{self._root}/{name}")

    def has_event(self, event: str) -> bool:
        """Whether the kernel has an event ("tcp/tcp_probe")."""
        return self.path(f"events/{event}/enable").exists()

    def remove_dead(self) -> None:
        """Remove the instances of recordings whose process was killed."""
        for folder in self.path("instances").iterdir():
            named = _NAME.match(folder.name)
            if named and started(int(named[1])) != named[2]:
                with suppress(OSError):
                    folder.rmdir()

    def close(self) -> None:
        """Leave it; one that was mounted here is then gone."""
        os.close(self._root)


def _mounted() -> int:
    """Mount it where nobody else sees it: in a mount namespace of a process that ends with its standard input.

    So it ends also when this process is killed, and the mount with it; what is open then stays so. In a session of its
    own: Ctrl-C in the terminal does not end it half-way.
    """
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", _HOLDER, _ANY_FOLDER]
    try:
        holder = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
    except FileNotFoundError:
        raise OSError("unshare is missing: install the package util-linux") from None
    with holder:
        assert holder.stdout is not None
        assert holder.stderr is not None
        if not holder.stdout.readline():
            raise PermissionError(holder.stderr.read().decode(errors="replace").strip())
        return os.open(f"/proc/{holder.pid}/root{_ANY_FOLDER}", os.O_PATH | os.O_DIRECTORY)


def started(pid: int) -> str:
    """When a process started, in clock ticks since boot (proc(5), stat, field 22); empty if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[19]


class Instance:
    """A ring buffer of its own, whose events a thread writes to a file; to be used in a `with` statement."""

    def __init__(self, tracefs: TraceFs, name: str, file: BinaryIO, buffer_mb: int = BUFFER_MB) -> None:
        self.lost_events = 0
        """Those that the kernel had no room for, known at the end."""
        self._folder = tracefs.path(f"instances/{PREFIX}-{os.getpid()}-{started(os.getpid())}-{name}")
        self._file, self._buffer_kb = file, 1024 * buffer_mb
        self._ended = threading.Event()
        self._reader = threading.Thread(target=self._copy, name=f"trace of {name}")

    def __enter__(self) -> Instance:
        self._folder.mkdir()
        try:
            self._write("trace_clock", CLOCK)
            self._write("buffer_size_kb", str(self._buffer_kb))
            self._pipe = os.open(self._folder / "trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            self._folder.rmdir()
            raise
        self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):  # the kernel refuses all of it
            self._write("tracing_on", "0")
        self._ended.set()
        self._reader.join()
        self.lost_events = sum(map(_lost, self._folder.glob("per_cpu/cpu*/stats")))
        self._folder.rmdir()

    def add_stacks(self, event: str, filter_: str = "") -> None:
        """Record the kernel's stack, too, where an event comes and the filter is true."""
        self._write(f"events/{event}/trigger", f"stacktrace if {filter_}" if filter_ else "stacktrace")

    def record(self, event: str, filter_: str = "") -> None:
        """Begin to record an event ("tcp/tcp_probe") where the filter is true."""
        if filter_:
            self._write(f"events/{event}/filter", filter_)
        self._write(f"events/{event}/enable", "1")

    def _write(self, name: str, text: str) -> None:
        (self._folder / name).write_text(text)

    def _copy(self) -> None:
        """Copy events as text until recording ended and the buffer is empty."""
        try:
            while True:
                is_last = self._ended.is_set()
                if not self._copy_some() and is_last:
                    break
                self._ended.wait(_POLL_S)
        finally:
            os.close(self._pipe)

    def _copy_some(self) -> bool:
        """Copy what is there; whether anything was."""
        copied = False
        with suppress(BlockingIOError):
            while octets := os.read(self._pipe, 1 << 16):
                self._file.write(octets)
                copied = True
        return copied


def _lost(statistics: Path) -> int:
    return sum(map(int, _STATISTIC.findall(statistics.read_text())))


def now_on_both_clocks() -> dict[str, int]:
    """The time on CLOCK_MONOTONIC and on CLOCK_REALTIME at one moment, ns; the real one read between two others."""
    pairs = []
    for _ in range(9):
        before, real, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        pairs.append((after - before, (before + after) // 2, real))
    _, mono, real = min(pairs)
    return {"mono_ns": mono, "real_ns": real}
