"""Which commands are run with both versions, and on what."""

from __future__ import annotations

import hashlib
import re
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "support"))

from shared_data import instruments  # noqa: E402

OUTPUT = "out"
"""Where every run writes, in a working directory of its own."""
FIRST = "generate/"
"""Runs of such names make the traces that others read."""

_COMMANDS = Path(__file__).with_name("commands.txt")
_LABELLED = ("linux", "blame", "stacks")
_NOT_RECORDINGS = ("README.md", "channels")
"""What examples/ holds besides recordings."""
_WRITES = ("analyze", "retrace", "export", "erasures")
_READ = re.compile(r"inputs/[^=]+")
_MEGABYTE = 1e6


@dataclass(frozen=True)
class Run:
    """One command: its name in what is printed, the arguments of `multitracer`, and what is on standard input."""

    name: str
    arguments: tuple[str, ...]
    stdin: str | None = None

    def shown(self) -> str:
        """The command as one would type it."""
        return shlex.join(("multitracer", *self.arguments)) + (f" < {shlex.quote(self.stdin)}" if self.stdin else "")

    def digest(self, folder: Path) -> str:
        """A digest of the command and of all that it reads in `folder`, which holds inputs/."""
        found = hashlib.sha256(self.shown().encode())
        read = [match for word in self.arguments for match in _READ.findall(word)]
        for place in sorted({*read, *([self.stdin] if self.stdin else [])}):
            path = folder / place
            for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
                if file.is_file():
                    found.update(f"\n{file.relative_to(folder)}\n".encode() + file.read_bytes())
        return found.hexdigest()


def lay_out(shared: Path, inputs: Path, max_megabytes: float) -> list[str]:
    """Copy all inputs into a folder made anew, without files of truth; says what was left out."""
    shutil.rmtree(inputs, ignore_errors=True)
    shutil.copytree(TESTS.parent / "examples", inputs / "examples")
    left_out = []
    for kind in _LABELLED:
        folders = sorted(path for path in (shared / kind).glob("*") if path.is_dir())
        truth = {name for folder in folders for name in _copy_labelled(folder, inputs)}
        left_out.append(f"truth in {kind}: {', '.join(sorted(truth)) or 'none, as it has no folders'}")
    for file in sorted(path for path in (shared / "public").rglob("*") if path.is_file()):
        if file.stat().st_size > max_megabytes * _MEGABYTE:
            left_out.append(f"public/{file.relative_to(shared / 'public')}: larger than {max_megabytes:g} megabytes")
            continue
        copy = inputs / file.relative_to(shared)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    return left_out


def _copy_labelled(folder: Path, inputs: Path) -> set[str]:
    """Copy what instruments wrote, and erasure traces, which are truth to an analysis, to a folder for retraces.

    The names of the files that no run sees in that folder.
    """
    copy = inputs / folder.parent.name / folder.name
    copy.mkdir(parents=True)
    instruments(folder, copy)
    for trace in folder.glob("erasures.*"):
        beside = inputs / "erasures" / folder.name
        beside.mkdir(parents=True, exist_ok=True)
        (beside / trace.name).write_bytes(trace.read_bytes())
    return {file.name for file in folder.iterdir()} - {file.name for file in copy.iterdir()}


def all_runs(inputs: Path) -> list[Run]:
    """Every run: the commands of commands.txt, whole folders, single files."""
    folders = [path for kind in ("examples", *_LABELLED) for path in sorted((inputs / kind).glob("*"))]
    files = [path for path in sorted((inputs / "public").rglob("*")) if path.is_file()]
    read = [path for path in (*folders, *files) if path.name not in _NOT_RECORDINGS]
    places = [str(path.relative_to(inputs)) for path in read]
    listed = [_parsed(line) for line in _COMMANDS.read_text().splitlines() if line and not line.startswith("#")]
    return listed + [Run(place, ("analyze", f"inputs/{place}", "-o", OUTPUT)) for place in places]


def _parsed(line: str) -> Run:
    name, *words = shlex.split(line)
    stdin = None
    if "<" in words:
        *words, _, stdin = words
    if words[0] in _WRITES and "--help" not in words:
        words += ["-o", OUTPUT]
    return Run(name, tuple(words), stdin)
