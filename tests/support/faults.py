"""Real faults: kills, a full disk, a limit on files, two runs at once, an input that becomes shorter as it is read.

    python tests/support/faults.py [300]

runs so many, says how each kind ended, and ends with status 1 if one left a mixed result. The analyses are made once;
the runs are forked, so that each of them only writes.
"""

from __future__ import annotations

import ctypes
import hashlib
import io
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NoReturn

import click
import pytest
from packets import ipv4, tcp

from multitracer import cli
from multitracer.commands import experiment
from multitracer.export.result_directory import JOURNAL, OURS, recover
from multitracer.parsers import pcap
from multitracer.parsers.shared import source

OLD, NEW = "old", "new"
SAID, UNREAD = "the loss is said", "old, as nothing is left to read"
CLONE_NEWNS = 0x20000
_OPTIONS = {
    OLD: ["--no-report", "--export", "csv", "--export", "xgraph"],
    NEW: ["--no-report", "--export", "xplot"],
}
_PACKETS = {OLD: 20, NEW: 30}
_LONG_PACKETS, _FULL_BYTES = 700, 1460
"""Of the capture that is cut: it is read in eight pieces."""
_FOREIGN = {"notes.txt": "mine", "series/mine.csv": "mine too"}


class Faults:
    """Runs that are struck by a fault while they replace the results of another one."""

    def __init__(self, scratch: Path, seed: int = 1) -> None:
        self.scratch, self._seed = scratch, seed
        self.random = random.Random(seed)
        self._draws: dict[str, random.Random] = {}
        self.whole: dict[str, dict[str, str]] = {}
        captures = {name: _capture(scratch / f"{name}.pcap", count) for name, count in _PACKETS.items()}
        self._long = _capture(scratch / "long.pcap", _LONG_PACKETS, _FULL_BYTES)
        self._analyses = {name: _analysis(path) for name, path in captures.items()}
        for name in (OLD, NEW):
            place = self.scratch / f"{name}-whole"
            self._run(name, place)  # here, so that forked processes find everything imported
            self.whole[name] = content(place)
        started = time.monotonic()
        assert _ended(self.start(name, place)) == 0
        self.seconds = time.monotonic() - started
        sizes = [path.stat().st_size for path in (self.scratch / "new-whole").rglob("*") if path.is_file()]
        self.bytes, self.largest = sum(sizes), max(sizes)

    def start(self, name: str, place: Path, before: Callable[[], Any] = lambda: None) -> int:
        """Begin a run in a forked process, after `before` was called there; returns its process id."""
        return self._forked(lambda: self._run(name, place), before)

    @staticmethod
    def _forked(work: Callable[[], int], before: Callable[[], Any]) -> int:
        child = os.fork()
        if child:
            return child
        try:
            with redirect_stdout(io.StringIO()):
                before()
                os._exit(work())
        finally:
            os._exit(99)

    def _run(self, name: str, place: Path) -> int:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(experiment, "read_and_analyze", lambda *_: self._analyses[name])
            with redirect_stdout(io.StringIO()):
                return cli.run(["analyze", str(self.scratch / f"{name}.pcap"), "-o", str(place), "-q", *_OPTIONS[name]])

    def old_result(self, place: Path) -> Path:
        """A place that holds the old result, and files of others."""
        shutil.copytree(self.scratch / "old-whole", place, dirs_exist_ok=True)
        for name, text in _FOREIGN.items():
            (place / name).write_text(text)
        return place

    def strike(self, kind: str) -> str:
        """One run with a fault of this kind; returns how it left the results."""
        self.random = self._draws.setdefault(kind, random.Random(f"{self._seed} {kind}"))
        place = Path(tempfile.mkdtemp(dir=self.scratch, prefix=f"{kind}-"))
        how = getattr(self, f"_{kind}")(place)
        shutil.rmtree(place)
        return str(how)

    def _kill_at_random(self, place: Path) -> str:
        """SIGKILL at any moment of the run."""
        child = self.start(NEW, self.old_result(place))
        time.sleep(self.random.uniform(0, 1.2 * self.seconds))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return self.left(place)

    def _kill_at_a_rename(self, place: Path) -> str:
        """SIGKILL by the process itself, before one of the changes of names after the journal."""
        self.old_result(place)
        number = self.random.randrange(40)
        child = self.start(NEW, place, lambda: _die_at_change(place / OURS / JOURNAL, number))
        os.waitpid(child, 0)
        return self.left(place)

    def _kill_seeing_the_journal(self, place: Path) -> str:
        """SIGKILL as soon as another process sees the journal."""
        child = self.start(NEW, self.old_result(place))
        journal, delay = place / OURS / JOURNAL, self.random.uniform(0, 0.002)
        while not journal.exists() and os.waitpid(child, os.WNOHANG) == (0, 0):
            pass
        time.sleep(delay)
        try:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        return self.left(place)

    def _file_limit(self, place: Path) -> str:
        """No file may become longer than a limit (EFBIG; SIGXFSZ is ignored by Python)."""
        limit = self.random.randrange(1, 3 * self.largest // 2)
        limited = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))  # noqa: E731
        status = _ended(self.start(NEW, self.old_result(place), limited))
        assert status in (0, 5), status
        left = self.left(place)
        assert (left == NEW) == (status == 0), (left, status)
        return left

    def _full_disk(self, place: Path) -> str:
        """A small file system of its own, with room for the old result and a part of the new one, or all of it."""
        old = self.scratch / "old-whole"
        room = sum(-(-path.stat().st_size // 4096) * 4096 for path in old.rglob("*"))
        room += self.random.randrange(16_384, 2 * self.bytes)
        child = os.fork()
        if not child:
            _end_with_status(lambda: self._on_small_disk(place, room))
        return (OLD, NEW)[_ended(child)]

    def _on_small_disk(self, place: Path, room: int) -> int:
        own_mounts()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={room}", "tmpfs", str(place)], check=True)
        status = _ended(self.start(NEW, self.old_result(place)))
        assert status in (0, 5), status
        left = self.left(place, again=False)
        assert (left == NEW) == (status == 0), (left, status)
        return (OLD, NEW).index(left)

    def _two_at_once(self, place: Path) -> str:
        """Two runs into one place, one of which begins later, and one of which may be killed."""
        self.old_result(place)
        children = [self.start(NEW, place)]
        time.sleep(self.random.choice([0, self.random.uniform(0, self.seconds)]))
        children.insert(self.random.randrange(2), self.start(OLD, place))
        if self.random.random() < 0.5:
            time.sleep(self.random.uniform(0, self.seconds))
            os.kill(children[0], signal.SIGKILL)
        for child in children:
            os.waitpid(child, 0)
        return self.left(place)

    def _cut_while_read(self, place: Path) -> str:
        """The capture becomes shorter while it is read: what is lost is said, or nothing is left to analyse."""
        capture = place.with_suffix(".pcap")
        shutil.copy(self._long, capture)
        self.old_result(place)
        number, size = self.random.randrange(8), self.random.randrange(self._long.stat().st_size)
        child = self._forked(
            lambda: cli.run(["analyze", str(capture), "-o", str(place), "-q", "--summary-only"]),
            lambda: _cut_at_read(capture, number, size),
        )
        status, summary = _ended(child), place / "summary.json"
        capture.unlink()
        if status:
            assert (status, self.which(place)) == (3, OLD)
            return UNREAD
        entry = json.loads(summary.read_bytes())["inputs"][0]
        assert sorted(content(place)) == sorted(["summary.json", *_FOREIGN]), content(place)
        assert not entry["complete"], entry
        assert any("became shorter" in loss["reason"] for loss in entry["losses"]), entry
        return SAID

    def left(self, place: Path, *, again: bool = True) -> str:
        """Which result is there, and whether it had to be recovered; fails if it is neither of the two."""
        recovered = ""
        if not (place / "summary.json").exists():
            assert recover(place) == [place]
            recovered = " recovered"
        found = self.which(place)
        if again:
            assert _ended(self.start(NEW, place)) == 0
            assert self.which(place) == NEW
            assert sorted(path.name for path in (place / OURS).iterdir()) == ["lock", "manifest"]
        return found + recovered

    def which(self, place: Path) -> str:
        """The name of the result that is there, whole and with nothing of the other one."""
        there = content(place)
        for name, text in _FOREIGN.items():
            if name in there:  # two runs in an empty place have none
                assert there.pop(name) == _hash(text.encode())
        names = [name for name, whole in self.whole.items() if whole == there]
        assert names, f"{place}: neither the old nor the new result: {sorted(there)}"
        return names[0]


KINDS = {
    "kill_at_random": 0.25, "kill_at_a_rename": 0.2, "kill_seeing_the_journal": 0.1, "file_limit": 0.1,
    "full_disk": 0.15, "two_at_once": 0.1, "cut_while_read": 0.1,
}  # fmt: skip
"""The kinds of faults, and the share of each."""


def content(place: Path) -> dict[str, str]:
    """A hash of every file of a result, by its path in it; without .multitracer/."""
    files = (path for path in place.rglob("*") if path.is_file() and OURS not in path.relative_to(place).parts)
    return {str(path.relative_to(place)): _hash(path.read_bytes()) for path in files}


def own_mounts() -> None:
    """Give this process mounts of its own: what it mounts ends with it, and no other process sees it."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS):
        raise PermissionError(ctypes.get_errno(), "unshare")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


def _capture(path: Path, packets: int, size: int = 500) -> Path:
    """A transfer of a few packets: that results are whole does not depend on how long they are."""
    sent = [ipv4(tcp(seq=1000 + size * at, ack=1, payload=bytes(size))) for at in range(packets)]
    pcap.write(path, [(10**8 * at, one) for at, one in enumerate(sent)], 101)
    return path


def _analysis(path: Path) -> Any:
    with click.Context(click.Command("analyze")):
        from multitracer.commands.parameters import read_and_analyze

        unset = dict.fromkeys(("from_s", "to_s", "max_unpacked"))
        return read_and_analyze([str(path)], {**unset, "roles": [], "clocks": []})


def _hash(octets: bytes) -> str:
    return hashlib.sha256(octets).hexdigest()


def _ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _end_with_status(work: Callable[[], int]) -> NoReturn:
    try:
        os._exit(work())
    finally:
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
        os._exit(98)


def _die_at_change(journal: Path, number: int) -> None:
    """Let this process kill itself before change number `number` of a name after the journal is there."""
    seen = Counter[str]()

    def deadly(change: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*arguments: Any, **options: Any) -> Any:
            if journal.exists():
                if seen["changes"] == number:
                    os.kill(os.getpid(), signal.SIGKILL)
                seen["changes"] += 1
            return change(*arguments, **options)

        return changed

    for name in ("rename", "replace", "unlink", "rmdir", "mkdir"):
        setattr(os, name, deadly(getattr(os, name)))


def _cut_at_read(path: Path, number: int, size: int) -> None:
    """Let this process cut a file after so many pieces of it were read."""
    read, seen = source._File.into, Counter[str]()

    def into(file: Any, buffer: memoryview) -> int:
        if seen["reads"] == number:
            os.truncate(path, size)
        seen["reads"] += 1
        return read(file, buffer)

    source._File.into = into  # type: ignore[method-assign]


def main(runs: int) -> None:
    """Strike so many runs, and print how they left the results."""
    with tempfile.TemporaryDirectory() as scratch:
        faults = Faults(Path(scratch), seed=runs)
        kinds = [kind for kind, share in KINDS.items() for _ in range(round(share * runs))]
        left = Counter((kind, faults.strike(kind)) for kind in kinds)
    for (kind, how), count in sorted(left.items()):
        print(f"{count:5}  {kind.replace('_', ' ')}: {how}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
