"""The kernel's own clocks of a host's sockets (tcp_info's busy, rwnd_limited, sndbuf_limited), sampled as it sends."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

from multitracer.model.errors import InputError, NoUsableInputError
from multitracer.parsers.shared.experiment import read
from multitracer.replay.emulate.host import Host
from multitracer.replay.emulate.kernel_log import Key
from multitracer.tcp.kernel_clocks import CLOCKS

_SAMPLE = "while :; do date +'# %s.%N'; ss -tin '( sport = :{0} or dport = :{0} )'; sleep 0.5; done"
"""Seldom, as a sample takes 3 to 5 ms of a processor: the clocks only count up."""


class ClockSamples:
    """Samples of a host's sockets into a file, from when `with` is entered until it is left."""

    def __init__(self, host: Host, port: int, path: Path) -> None:
        self._command, self._path = host.inside(["sh", "-c", _SAMPLE.format(port)]), path

    def __enter__(self) -> ClockSamples:
        with self._path.open("wb") as file:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.DEVNULL
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()


def kernel_clocks(path: Path) -> dict[Key, dict[str, float]]:
    """What the clocks of each socket showed last, in s; empty where none could be sampled."""
    try:
        state = read(path).tables["tcp_state"]
    except (InputError, NoUsableInputError, KeyError, OSError):
        return {}
    last: dict[Key, dict[str, float]] = {}
    columns: Any = (state[name].tolist() for name in ("local", "remote", *CLOCKS))
    for local, remote, *values in zip(*columns, strict=True):
        if not any(map(math.isnan, values)):
            last[local, remote] = dict(zip(CLOCKS, values, strict=True))
    return last
