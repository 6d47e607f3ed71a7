"""What a run left behind, and how two runs' results are compared."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pages
import tables
from runs import OUTPUT, Run
from versions import Version

COMPLETE = "run.json"
"""Written last: with it, a run's results are whole."""
_PROGRESS = b"compiling"
"""A line on stderr that depends on what was compiled before."""
_AROUND = 50
_EXPORTS = ("xgraph", "xplot", "csv")
_DOCUMENTS = ("summary.json", "compare.json", "retrace.json", "retrace.csv", "describe.json", "fit.json")
_RECORDED = (".pcap", ".bin", ".txt")


@dataclass(frozen=True)
class Compared:
    """One thing compared: of which kind, of which run and file, and what differs, if anything does."""

    kind: str
    run: str
    file: str
    difference: str | None


def made(run: Run, version: Version, where: Path, inputs: Path, cache: Path) -> None:
    """Run a command and leave what it printed and wrote in `where`, unless the same was done before.

    It works in a folder beside, which becomes `where` when all is there: several may share a folder of results.
    """
    key = run.digest(inputs.parent) + f" {sorted(version.libraries.items())}"
    if (where / COMPLETE).exists() and json.loads((where / COMPLETE).read_text())["key"] == key:
        return
    folder = where.with_name(f"{where.name}.{os.getpid()}")
    folder.mkdir(parents=True)
    (folder / "inputs").symlink_to(inputs)
    printed = version.run(run.arguments, folder, cache, inputs.parent / run.stdin if run.stdin else None)
    (folder / "inputs").unlink()
    for name, text in printed.items():
        (folder / name).write_bytes(text)
    for page in list((folder / OUTPUT).rglob("*.html")):
        page.with_name(page.name + pages.SEEN).write_bytes(pages.seen(page.read_text(encoding="utf-8")))
        page.unlink()
    (folder / COMPLETE).write_text(json.dumps({"command": run.shown(), "key": key}, indent=1))
    shutil.rmtree(where, ignore_errors=True)
    folder.rename(where)


def compared(run: Run, before: Path, after: Path) -> Iterator[Compared]:
    """Everything that is compared of a run, file by file."""
    for kind in ("exit code", "stdout", "stderr"):
        one, two = ((folder / kind).read_bytes() for folder in (before, after))
        if kind == "stderr":
            one, two = _without_progress(one), _without_progress(two)
        yield Compared(kind, run.name, "", _in_octets(one, two))
    files, others = _files(before), _files(after)
    only, more = sorted(files - others), sorted(others - files)
    missing = f"only before: {', '.join(only) or 'none'}; only after: {', '.join(more) or 'none'}"
    yield Compared("files written", run.name, OUTPUT, missing if only or more else None)
    for file in sorted(name for name in files & others if not name.endswith("/")):
        yield from _compared_file(run.name, file, (before / file).read_bytes(), (after / file).read_bytes())


def _compared_file(run: str, file: str, one: bytes, two: bytes) -> Iterator[Compared]:
    if file.endswith(pages.SEEN):
        for kind, found in pages.differences(one, two).items():
            yield Compared(kind, run, file.removesuffix(pages.SEEN), found)
    elif file.endswith(".parquet"):
        yield Compared("tables", run, file, tables.difference(one, two))
    else:
        yield Compared(_kind(Path(file), run), run, file, _in_octets(one, two))


def _kind(file: Path, run: str) -> str:
    """What a file that is compared octet by octet is called in the table of counts."""
    if file.name in _DOCUMENTS:
        return file.name
    if "series" in file.parts:
        return "series"
    if any(part in _EXPORTS for part in file.parts):
        return "exports"
    if file.suffix in _RECORDED:
        return "logs of --record" if run.startswith("retrace/") else "erasure traces"
    return "other files"


def _files(folder: Path) -> set[str]:
    """Every file and every empty folder, its name with a slash, below a run's output."""
    found = [path for path in (folder / OUTPUT).rglob("*") if not path.is_dir() or not any(path.iterdir())]
    return {str(path.relative_to(folder)) + ("/" if path.is_dir() else "") for path in found}


def _without_progress(text: bytes) -> bytes:
    return b"".join(line for line in text.splitlines(keepends=True) if _PROGRESS not in line)


def _in_octets(one: bytes, two: bytes) -> str | None:
    """Where two files differ first: line and column, and what stands there."""
    if one == two:
        return None
    pairs = zip(one, two, strict=False)
    place = next((at for at, (octet, other) in enumerate(pairs) if octet != other), min(len(one), len(two)))
    line, column = one.count(b"\n", 0, place) + 1, place - one.rfind(b"\n", 0, place)
    around = slice(max(0, place - _AROUND), place + _AROUND)
    texts = [part[around].decode("utf-8", "backslashreplace") for part in (one, two)]
    return f"line {line}, column {column} (octet {place}): {texts[0]!r} before, {texts[1]!r} after"
