"""The same recording at the other end, over ssh."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
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
from multitracer.recorder.needs import Missing
from multitracer.recorder.processes import wait_or_kill
from multitracer.recorder.stop_signals import StopSignals

FOLDER = "remote"
"""Where in the recording that of the other end is put."""
WHAT = "the recording of the other end"
_BEGUN = "recording on "
_BEGIN_S = 120.0
"""ssh may ask in the terminal first; as long as sshd waits for a password (sshd_config(5), LoginGraceTime)."""
_UNINTERRUPTED = "trap '' INT HUP; exec \"$@\""
"""ssh keeps the terminal, to ask in it; Ctrl-C there, which reaches it too, is ignored, as ssh leaves that so."""
_FILE = re.compile(rf"{FOLDER}/(\w[\w.-]*)", re.ASCII)
_END = 1024
"""Octets of zeros that end an archive (tar(5))."""
_LEAVE_S = 5.0
_POLL_S = 0.1


def script(ports: Sequence[int]) -> str:
    """What the other end's shell runs: a recording until its standard input is closed, then sent as a tar archive."""
    chosen = shlex.join(word for port in ports for word in ("--port", str(port)))
    return (
        f'd=$(mktemp -d) && {{ multitracer record {chosen} --no-analyze -o "$d/{FOLDER}" -- cat; s=$?; '
        f'tar -C "$d" -cf - {FOLDER}; rm -rf "$d"; exit $s; }}'
    )


def unpack(file: IO[bytes], directory: Path) -> None:
    """Write the other end's files into a folder.

    Only regular files of plain names are taken: nothing in an archive says where something is written. Of one that is
    cut, what is there is written; then raises TarError.
    """
    with tarfile.open(fileobj=file, mode="r:") as archive:
        for member in archive:
            named = _FILE.fullmatch(member.name)
            content = archive.extractfile(member) if named and member.isreg() else None
            if named and content:
                directory.mkdir(exist_ok=True)
                with (directory / named[1]).open("wb") as written:
                    shutil.copyfileobj(content, written)
    file.seek(max(0, file.seek(0, os.SEEK_END) - _END))
    if any(file.read()) or not directory.is_dir():
        raise tarfile.ReadError("it has no end, or no files")


class RemoteRecording:
    """A recording at another host, from when `with` is entered until it is left; it is then in `directory`.

    What of it did not arrive is told by `missing`: whatever happens to it, the recording of this end is to be kept.
    """

    def __init__(self, host: str, ports: Sequence[int], directory: Path, stop: StopSignals) -> None:
        self.missing: list[Missing] = []
        """Known at the end."""
        self._host, self._directory, self._stop = host, directory, stop
        self._command = ["sh", "-c", _UNINTERRUPTED, "sh", "ssh", "--", host, script(ports)]
        self._said: list[str] = []
        self._begun = threading.Event()

    def __enter__(self) -> RemoteRecording:
        if shutil.which("ssh") is None:
            raise MissingCapabilityError("--remote needs ssh: install the package openssh-client")
        self._archive = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=self._archive, stderr=subprocess.PIPE, text=True,
            errors="replace",
        )  # fmt: skip
        assert self._process.stderr is not None
        self._listener = threading.Thread(target=self._listen, args=(self._process.stderr,))
        self._listener.start()
        end = time.monotonic() + _BEGIN_S
        while not (self._begun.wait(_POLL_S) or self._stop.count or time.monotonic() > end):
            pass
        if not any(_BEGUN in line for line in self._said):
            self._leave()
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
                unpack(self._archive, self._directory / FOLDER)
            except tarfile.TarError:
                self.missing = [self._lost(self._last_words())]
            except OSError as problem:
                self.missing = [self._lost(problem.strerror or str(problem))]
            else:
                if self._process.returncode:
                    self.missing = [self._lost(f"it ended with status {self._process.returncode}")]

    def _lost(self, reason: str) -> Missing:
        return Missing(WHAT, f"all of it from {self._host} ({reason})")

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
        self._leave()

    def _leave(self) -> None:
        """End ssh, also one that the terminal has stopped, as it asked there from the background."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.terminate()
        self._process.send_signal(signal.SIGCONT)
        wait_or_kill(self._process, _LEAVE_S)
        self._listener.join()

    def _last_words(self) -> str:
        return "".join(self._said[-1:]).strip() or "it said nothing"
