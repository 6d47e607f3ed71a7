"""Samples of `ss -tin`: the state of TCP's sockets where the kernel's tracepoints cannot be used."""

from __future__ import annotations

import shutil
import subprocess
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import BinaryIO

INTERVAL_S = 0.01
"""Between the beginnings of two samples; one takes 3 to 5 ms of a processor."""


def available() -> bool:
    """Whether ss (package iproute2) is installed."""
    return shutil.which("ss") is not None


def command(ports: Sequence[int]) -> list[str]:
    """The command of one sample: sockets with one of these ports at either end, all of TCP's without any."""
    chosen = " or ".join(f"sport = :{port} or dport = :{port}" for port in ports)
    return ["ss", "-tin", *([f"( {chosen} )"] if chosen else [])]


class SocketSamples:
    """Samples into a file, each below a line with its time, from when `with` is entered until it is left."""

    def __init__(self, ports: Sequence[int], file: BinaryIO) -> None:
        self._command, self._file = command(ports), file
        self._ended = threading.Event()
        self._sampler = threading.Thread(target=self._sample, name="ss")

    def __enter__(self) -> SocketSamples:
        self._sampler.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._sampler.join()

    def _sample(self) -> None:
        due = time.monotonic()
        while not self._ended.is_set():
            self._file.write(f"# {time.time():.6f}\n".encode())
            done = subprocess.run(self._command, capture_output=True, check=False, start_new_session=True)
            self._file.write(done.stdout)
            due = max(due + INTERVAL_S, time.monotonic())
            self._ended.wait(max(0.0, due - time.monotonic()))
