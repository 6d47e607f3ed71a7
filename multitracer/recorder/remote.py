"""The same recording at the other end, over ssh."""

from __future__ import annotations

import shlex
import subprocess
import tarfile
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

from multitracer.model.errors import MissingCapabilityError
from multitracer.recorder.stop_signals import StopSignals

FOLDER = "remote"
"""Where in the recording that of the other end is put."""
_BEGUN = "recording on "
_BEGIN_S = 60.0
"""The other end may ask for a password first."""
_POLL_S = 0.1


def script(ports: Sequence[int]) -> str:
    """What the other end's shell runs: a recording until its standard input is closed, then sent as a tar archive."""
    chosen = shlex.join(word for port in ports for word in ("--port", str(port)))
    return (
        f'd=$(mktemp -d) && {{ multitracer record {chosen} --no-analyze -o "$d/{FOLDER}" -- cat; s=$?; '
        f'tar -C "$d" -cf - {FOLDER}; rm -rf "$d"; exit $s; }}'
    )


class RemoteRecording:
    """A recording at another host, from when `with` is entered until it is left; it is then in `directory`."""

    def __init__(self, host: str, ports: Sequence[int], directory: Path, stop: StopSignals) -> None:
        self._host, self._directory, self._stop = host, directory, stop
        self._command = ["ssh", "--", host, script(ports)]
        self._said: list[str] = []
        self._begun = threading.Event()

    def __enter__(self) -> RemoteRecording:
        self._archive = tempfile.TemporaryFile()
        try:
            # In a group of its own: Ctrl-C ends the transfer, and closing the standard input ends this.
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=self._archive, stderr=subprocess.PIPE, text=True,
                errors="replace", start_new_session=True,
            )  # fmt: skip
        except FileNotFoundError:
            self._archive.close()
            raise MissingCapabilityError("--remote needs ssh: install the package openssh-client") from None
        assert self._process.stderr is not None
        self._listener = threading.Thread(target=self._listen, args=(self._process.stderr,))
        self._listener.start()
        end = time.monotonic() + _BEGIN_S
        while not (self._begun.wait(_POLL_S) or self._stop.count or time.monotonic() > end):
            pass
        if not any(_BEGUN in line for line in self._said):
            self._process.terminate()
            self._end()
            self._archive.close()
            if self._stop.count:
                raise KeyboardInterrupt
            raise MissingCapabilityError(f"{self._host}: nothing is recorded there: {self._last_words()}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._archive:
            self._end()
            self._archive.seek(0)
            try:
                with tarfile.open(fileobj=self._archive) as archive:
                    archive.extractall(self._directory, filter="data")
            except tarfile.TarError:
                problem = f"{self._host}: its recording did not arrive: {self._last_words()}"
                raise MissingCapabilityError(problem) from None

    def _listen(self, stderr: IO[str]) -> None:
        with stderr:
            for line in stderr:
                self._said.append(line)
                if _BEGUN in line:
                    self._begun.set()
        self._begun.set()  # it ended

    def _end(self) -> None:
        """Have the other end end and send what it recorded; a further stop does not wait for that."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        seen = self._stop.count
        while self._process.poll() is None and self._stop.count == seen:
            time.sleep(_POLL_S)
        self._process.terminate()
        self._process.wait()
        self._listener.join()

    def _last_words(self) -> str:
        return "".join(self._said[-1:]).strip() or "it said nothing"
