"""The code that results of runs depend on, as one hash: no run that other code made is taken for one of this."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from multitracer import compute, link, parsers, replay, wire

_REPLAY = ("arq", "channels", "engine", "erasures", "retrace", "simulate", "tcp", "workloads")
"""The rooms of `replay` whose models make results."""
_READERS = (compute, link, parsers, wire)
"""What those use besides: kernels, the codecs of frames, and what reads the traces of channels."""
_SOURCES = (".py", ".gz")
"""Code, and the distributions that workloads are drawn from."""


def folders() -> list[Path]:
    """Where the code is that results depend on."""
    rooms = Path(replay.__path__[0])
    return [*(rooms / name for name in _REPLAY), *(Path(package.__path__[0]) for package in _READERS)]


@cache
def code_digest() -> str:
    """The hash of these sources."""
    return digest_of(folders())


def digest_of(where: list[Path]) -> str:
    """A hash of the names and contents of the sources in some folders."""
    digest = hashlib.sha256()
    for folder in where:
        for path in sorted(path for path in folder.rglob("*") if path.suffix in _SOURCES):
            name = f"{folder.name}/{path.relative_to(folder).as_posix()}"
            digest.update(f"{name}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return digest.hexdigest()
