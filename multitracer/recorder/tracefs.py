"""The kernel's trace file system, and instances of its ring buffer in it.

An instance has its own buffer, clock, events, filters and triggers: what others trace is neither seen nor changed.
Source: Documentation/trace/ftrace.rst ("Instances") and events.rst ("Event filtering", "Event triggers") of Linux.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
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
_USUAL_PLACES = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
_NAME = re.compile(rf"{PREFIX}-(\d+)-(\d+)-\w+\Z")
_STATISTIC = re.compile(r"(?:overrun|dropped events): (\d+)")
_POLL_S = 0.05


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
    """Mount it where only this process can see it: opened, and detached at once, so that nothing is left behind.

    Both in sessions of their own: Ctrl-C in the terminal does not end them half-way.
    """
    with tempfile.TemporaryDirectory(prefix=PREFIX) as place:
        command = ["mount", "-t", "tracefs", "tracefs", place]
        done = subprocess.run(command, capture_output=True, check=False, start_new_session=True)
        if done.returncode:
            raise PermissionError(done.stderr.decode(errors="replace").strip())
        try:
            return os.open(place, os.O_PATH | os.O_DIRECTORY)
        finally:
            subprocess.run(["umount", "-l", place], check=True, start_new_session=True)


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
        except OSError:
            self._folder.rmdir()
            raise
        self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._write("tracing_on", "0")
        self._ended.set()
        self._reader.join()
        self.lost_events = sum(map(_lost, self._folder.glob("per_cpu/cpu*/stats")))
        self._folder.rmdir()

    def record(self, event: str, filter_: str = "", *, stacks: bool = False) -> None:
        """Begin to record an event ("tcp/tcp_probe") where the filter is true, with the kernel's stack if asked."""
        if filter_:
            self._write(f"events/{event}/filter", filter_)
        if stacks:
            self._write(f"events/{event}/trigger", f"stacktrace if {filter_}" if filter_ else "stacktrace")
        self._write(f"events/{event}/enable", "1")

    def _write(self, name: str, text: str) -> None:
        (self._folder / name).write_text(text)

    def _copy(self) -> None:
        """Copy events as text until recording ended and the buffer is empty."""
        pipe = os.open(self._folder / "trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
        try:
            while True:
                is_last = self._ended.is_set()
                if not self._copy_some(pipe) and is_last:
                    break
                self._ended.wait(_POLL_S)
        finally:
            os.close(pipe)

    def _copy_some(self, pipe: int) -> bool:
        """Copy what is there; whether anything was."""
        copied = False
        with suppress(BlockingIOError):
            while octets := os.read(pipe, 1 << 16):
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
