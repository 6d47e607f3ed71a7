"""A capture of packets by tcpdump or dumpcap."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

from multitracer.model.errors import MissingCapabilityError
from multitracer.recorder.processes import ending_with_this_process, wait_or_kill
from multitracer.recorder.tracefs import BUFFER_MB

SNAPLEN = 128
"""Octets kept of each packet: the headers of IPv6 with extensions and of TCP with all its options, and little more."""
_BEGIN_S = 5.0
SETTLE_S = 1.2
"""Packets wait up to 1 s in the kernel's buffer for the tool to take them: so long it has to go on after the last."""
_DROPPED = re.compile(r"(\d+) packets? dropped by kernel|received/dropped on interface .*?: (\d+)/(\d+)")
_BEGUN = re.compile(r"listening on|^File: ", re.MULTILINE)


def tool() -> str | None:
    """The name of the tool that captures here; None if none is installed."""
    found = [name for name in ("tcpdump", "dumpcap") if shutil.which(name)]
    return next(iter(found[::-1] if _keeps_its_groups() else found), None)


def _keeps_its_groups() -> bool:
    """Whether this is a user namespace in which groups cannot be changed, as tcpdump does as root."""
    try:
        return os.geteuid() == 0 and Path("/proc/self/setgroups").read_text().strip() == "deny"
    except OSError:
        return False


def command(name: str, interface: str, ports: Sequence[int], path: Path, buffer_mb: int = BUFFER_MB) -> list[str]:
    """The command that captures to standard output (tcpdump) or to `path` (dumpcap), which may not write to a pipe."""
    chosen = " or ".join(f"port {port}" for port in ports)
    wanted = f"tcp and ({chosen})" if ports else "tcp"
    if name == "tcpdump":
        # As another user it would no longer end with this process; it dissects nothing while it writes.
        stays = ["-Z", "root"] if os.geteuid() == 0 else []
        return [name, *stays, "-i", interface, "-s", str(SNAPLEN), "-B", str(1024 * buffer_mb), "-w", "-", wanted]
    buffer = ["-B", str(buffer_mb)]
    return [name, "-q", "-P", "-i", interface, "-s", str(SNAPLEN), *buffer, "-f", wanted, "-w", str(path)]


class PacketCapture:
    """A capture into a file, from when `with` is entered until it is left."""

    def __init__(self, interface: str, ports: Sequence[int], path: Path, buffer_mb: int = BUFFER_MB) -> None:
        self.tool = tool() or ""
        self.dropped: int | None = None
        """Packets that the kernel had no room for, known at the end; None where the tool does not say."""
        self.complete = True
        """It went on until it was to end."""
        self._command = ending_with_this_process(command(self.tool, interface, ports, path, buffer_mb))
        self._path = path
        self._said: list[str] = []
        self._begun = threading.Event()

    def __enter__(self) -> PacketCapture:
        with self._path.open("wb") as file:
            # In a group of its own: Ctrl-C in the terminal stops the transfer first, and then this.
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.PIPE, text=True,
                errors="replace", start_new_session=True,
            )  # fmt: skip
        assert self._process.stderr is not None
        self._listener = threading.Thread(target=self._listen, args=(self._process.stderr,))
        self._listener.start()
        self._wait_until_begun()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.complete = self._process.poll() is None
        self._stop()
        counts = [match.groups() for match in _DROPPED.finditer("".join(self._said))]
        self.dropped = int(next(filter(None, (counts[-1][0], counts[-1][2])))) if counts else None

    def _listen(self, stderr: IO[str]) -> None:
        with stderr:
            for line in stderr:
                self._said.append(line)
                if _BEGUN.search(line):
                    self._begun.set()
        self._begun.set()  # it ended

    def _wait_until_begun(self) -> None:
        self._begun.wait(_BEGIN_S)
        if not any(map(_BEGUN.search, self._said)):
            self._stop()
            said = "".join(self._said).strip().splitlines()
            raise MissingCapabilityError(f"{self.tool}: {said[-1] if said else 'it did not begin'}")

    def _stop(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        wait_or_kill(self._process, _BEGIN_S)
        self._listener.join()
