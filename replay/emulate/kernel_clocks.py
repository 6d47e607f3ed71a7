"""The kernel's own clocks of a host's sockets (tcp_info's busy, rwnd_limited, sndbuf_limited), as they were last."""

from __future__ import annotations

import math
import shutil
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from multitracer.model.errors import InputError, NoUsableInputError
from multitracer.parsers.shared.experiment import read
from multitracer.recorder.needs import Missing
from multitracer.replay.emulate.host import Host
from multitracer.replay.emulate.kernel_log import Key
from multitracer.tcp.kernel_clocks import CLOCKS

_SOCKETS = "( sport = :{0} or dport = :{0} )"
_ENDING = ("stdbuf", "-oL", "ss", "-tinE")
_LIVING = ("ss", "-tin")
WHAT = "the kernel's clocks of sockets"
_PACKAGES = {"ss": "iproute2", "stdbuf": "coreutils"}
"""Programs that it takes: without ss nothing is seen, without stdbuf only what outlives the transfer."""


def missing() -> list[Missing]:
    """What keeps the clocks from being recorded on this machine."""
    return [
        Missing(WHAT if program == "ss" else f"{WHAT} that end", f"{program}: install the package {package}")
        for program, package in _PACKAGES.items()
        if shutil.which(program) is None
    ]


class SocketClocks:
    """The clocks of a host's sockets into a file: of each that ends while `with` lasts, and of those that outlive it.

    No samples meanwhile: each takes 3 to 5 ms of a processor, in which a link is late.
    """

    def __init__(self, host: Host, port: int, path: Path) -> None:
        self._ending, self._living = (host.inside([*one, _SOCKETS.format(port)]) for one in (_ENDING, _LIVING))
        self._path = path

    def __enter__(self) -> SocketClocks:
        with ExitStack() as unless_started:
            self._file = unless_started.enter_context(self._path.open("w+b"))
            self._process = subprocess.Popen(
                self._ending, stdin=subprocess.DEVNULL, stdout=self._file, stderr=subprocess.DEVNULL
            )
            unless_started.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._file as file:
            self._process.kill()
            self._process.wait()
            file.seek(0)
            ended = file.read()
            file.seek(0)
            file.write(b"# %.6f\n%b" % (time.time(), ended))
            file.flush()
            subprocess.run(self._living, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.DEVNULL, check=False)


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
