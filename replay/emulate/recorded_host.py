"""The recorder at work inside a host."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from types import TracebackType
from typing import IO

from multitracer.model.errors import MissingCapabilityError
from multitracer.recorder.tracefs import TraceFs
from multitracer.replay.emulate.host import Host
from multitracer.replay.emulate.host_process import DEVICE

BUFFER_MB = 1
"""The kernel's, which links of some Mbit/s do not fill: while it finds memory for more, other links are late."""
_BEGUN = "recording on "
_BEGIN_S = 30.0


class RecordedHost:
    """Records what a host sees into a folder, from when it has begun until it is asked to end, or `with` is left.

    It takes a second to begin and one to end, mostly waiting: several do so at once.
    """

    def __init__(self, host: Host, directory: Path, port: int) -> None:
        record = [sys.executable, "-P", "-m", "multitracer", "record", "-i", DEVICE, "--port", str(port)]
        record += ["--buffer", str(BUFFER_MB)]
        # Killed with this process it would leave its trace instances.
        self._command = host.inside([*record, "--no-analyze", "-o", str(directory), "--", "cat"], at_end="INT")
        self._said: list[str] = []
        self._begun = threading.Event()

    def __enter__(self) -> RecordedHost:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
            start_new_session=True,
        )  # fmt: skip
        assert self._process.stderr is not None
        self._listener = threading.Thread(target=self._listen, args=(self._process.stderr,))
        with ExitStack() as unless_heard:
            unless_heard.callback(self._process.communicate)  # closes its input, at which it ends
            self._listener.start()
            unless_heard.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        if self._process.wait() < 0:
            with suppress(OSError), closing(TraceFs.open()) as tracefs:
                tracefs.remove_dead()
        self._listener.join()

    def wait_until_begun(self) -> None:
        """Wait until it records. Raises MissingCapabilityError if it cannot."""
        self._begun.wait(_BEGIN_S)
        if not any(_BEGUN in line for line in self._said):
            raise MissingCapabilityError(f"the recorder did not begin{self._last_words()}")

    def ask_to_end(self) -> None:
        """Have it end, without waiting for that. Raises MissingCapabilityError if it ended before."""
        if self._process.poll() is not None:
            raise MissingCapabilityError(f"the recorder ended before the transfer did{self._last_words()}")
        assert self._process.stdin is not None
        self._process.stdin.close()

    def _last_words(self) -> str:
        return f": {self._said[-1].strip()}" if self._said else ""

    def _listen(self, stderr: IO[str]) -> None:
        with stderr:
            for line in stderr:
                self._said.append(line)
                if _BEGUN in line:
                    self._begun.set()
        self._begun.set()  # it ended
