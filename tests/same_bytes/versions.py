"""The two interpreters: what is installed in them, and how a command is run by one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

_ASK = """
import hashlib, importlib, importlib.metadata, json, pathlib, sys
found = {"Python": sys.version}
for name in %r:
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
digest, places = hashlib.sha256(), set()
for name in ("multitracer", "multitracer.parsers", "multitracer.replay"):
    try:
        places.update(map(pathlib.Path, importlib.import_module(name).__path__))
    except ImportError:
        pass
if not places:
    sys.exit("multitracer is not installed")
for place in sorted(places):
    for file in sorted(place.rglob("*")):
        if file.suffix in (".py", ".js", ".css", ".html", ".j2", ".toml", ".json"):
            digest.update(str(file.relative_to(place)).encode() + file.read_bytes())
print(json.dumps({"libraries": found, "sources": digest.hexdigest(), "at": str(min(places))}))
"""
_LIBRARIES = (
    "numpy", "pandas", "pyarrow", "bokeh", "numba", "llvmlite", "click", "rich", "dpkt", "jinja2", "orjson",
)  # fmt: skip
_REQUIRED = ("Python", "numpy", "pandas", "pyarrow")
_TIMEOUT_S = 1800


class UnusableError(Exception):
    """Two interpreters that cannot be compared, or one that has no MultiTracer."""


@dataclass(frozen=True)
class Version:
    """An interpreter with MultiTracer installed: its libraries, and a digest of MultiTracer's sources."""

    python: str
    libraries: dict[str, str]
    sources: str
    at: str

    def environment(self, cache: Path) -> dict[str, str]:
        """What a run sees of the environment: nothing of the user's but the search path."""
        return {
            "PATH": os.environ.get("PATH", os.defpath), "HOME": str(cache), "XDG_CACHE_HOME": str(cache),
            "LANG": "C.UTF-8", "TZ": "UTC", "COLUMNS": "100", "PYTHONHASHSEED": "0",
        }  # fmt: skip

    def run(self, arguments: tuple[str, ...], folder: Path, cache: Path, stdin: Path | None) -> dict[str, bytes]:
        """Run `multitracer` with these arguments in a folder: its exit code and what it printed."""
        command = [self.python, "-P", "-m", "multitracer", *arguments]
        environment = self.environment(cache)
        with (stdin or Path(os.devnull)).open("rb") as source:
            try:
                done = subprocess.run(
                    command, cwd=folder, env=environment, stdin=source, capture_output=True, timeout=_TIMEOUT_S,
                    check=False,
                )  # fmt: skip
            except subprocess.TimeoutExpired as late:
                said = f"none: ended after {_TIMEOUT_S} s\n".encode()
                return {"exit code": said, "stdout": late.stdout or b"", "stderr": late.stderr or b""}
        return {"exit code": b"%d\n" % done.returncode, "stdout": done.stdout, "stderr": done.stderr}


def installed(python: str, cache: Path) -> Version:
    """What an interpreter has installed."""
    cache.mkdir(parents=True, exist_ok=True)
    python = str(Path(shutil.which(python) or python).absolute())  # not resolved: an environment's is a link
    asked = Version(python, {}, "", "")
    command = [python, "-P", "-c", _ASK % (_LIBRARIES,)]
    try:
        answer = subprocess.run(
            command, cwd=cache, env=asked.environment(cache), capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise UnusableError(f"{python}: no MultiTracer to be asked: {getattr(error, 'stderr', error)}") from error
    return Version(python, **json.loads(answer.stdout))


def unequal_libraries(before: Version, after: Version) -> list[str]:
    """Which libraries make the two incomparable: those that both have, and the ones that both must have."""
    names = {*_REQUIRED, *(before.libraries.keys() & after.libraries.keys())}
    return [
        f"{name} is {before.libraries.get(name)} before and {after.libraries.get(name)} after"
        for name in sorted(names)
        if before.libraries.get(name) != after.libraries.get(name)
    ]
