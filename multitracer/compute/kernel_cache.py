"""Where compiled kernels are kept between runs: a directory that only this user can write, one entry a kernel.

What stands there is machine code that later runs load, so a directory that anybody else could write to is not used.
numba finds out itself when the module that a kernel stands in was edited. It does not look at the kernels that this
one calls, nor at constants from other modules; so an entry's name carries a digest of everything the compiled code
depends on. An edit elsewhere, of a docstring in a module without kernels say, leaves it as it is.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

UNUSED_S = 30 * 86_400
"""Entries that nobody used for so long are removed, those of older versions among them."""
_DAY_S = 86_400
_SETTINGS_FILE = Path(".numba_config.yaml")
_WITHOUT_EFFECT = {
    f"NUMBA_{name}" for name in ("DISABLE_JIT", "NUM_THREADS", "THREADING_LAYER", "CACHE_DIR", "COLOR_SCHEME")
}
"""numba's settings that change nothing in the code it makes."""

Function: TypeAlias = Callable[..., Any]
Callee: TypeAlias = Callable[[Any], Function | None]
"""The function of a global that is a kernel, None of others."""


def entry(function: Function, callee: Callee) -> Path | None:
    """Where a kernel's compiled code is kept, whether it is there yet or not; None where nothing can be kept."""
    directory = _directory()
    if directory is None:
        return None
    return directory / f"{function.__module__}.{function.__qualname__}-{_digest(function, callee)}"


def use(place: Path) -> bool:
    """Make an entry if it is not there, note that it is used, and tell whether it can be written."""
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        if time.time() - place.stat().st_mtime > _DAY_S:
            os.utime(place)
        tempfile.TemporaryFile(dir=place).close()
    except OSError:
        return False
    return True


def remove_unused(directory: Path, names: str = "*") -> None:
    """Remove the entries that no run used for long.

    An entry is renamed first. A run that uses it at this very moment has its code in memory, or does not find it and
    compiles it: never half of it.
    """
    now = time.time()
    for place in directory.glob(names):
        try:
            if now - place.stat().st_mtime > UNUSED_S:
                going = Path(tempfile.mkdtemp(prefix=".removed-", dir=directory))
                place.rename(going / place.name)
                shutil.rmtree(going, ignore_errors=True)
        except OSError:  # another run removes it too
            continue


@cache
def tidy() -> None:
    """Remove, once in a process, what was not used for long, of versions too that kept it in another way."""
    directory = _directory()
    if directory is not None:
        remove_unused(directory)
        remove_unused(directory.parent, "[0-9a-f]" * 16)


def reachable(function: Function, callee: Callee) -> list[Function]:
    """The kernel's function and those of all kernels that it calls, directly or not, each once."""
    found = {function: None}
    waiting = [function]
    while waiting:
        for _, value in _globals(waiting.pop()):
            called = callee(value)
            if called is not None and called not in found:
                found[called] = None
                waiting.append(called)
    return list(found)


@cache
def _directory() -> Path | None:
    """The directory of all entries; None where there is none that nobody else can write to."""
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        directory = (base / "multitracer" / "kernels").absolute()
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        return directory if _only_ours(directory) else None
    except (OSError, RuntimeError):  # no home at all is a RuntimeError
        return None


def _only_ours(directory: Path) -> bool:
    """Whether the directory is this user's, and nobody else can write to it, or put another one in its place."""
    if not hasattr(os, "getuid"):  # Windows: the user's folders are the user's alone
        return True
    me, directory = os.getuid(), directory.resolve()
    own = directory.stat()
    if own.st_uid != me or own.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return False
    return all(_keeps_names(parent.stat(), me) for parent in directory.parents)


def _keeps_names(parent: os.stat_result, me: int) -> bool:
    """Whether nobody but this user and root can rename what stands in a directory: in /tmp only owners can."""
    writable = parent.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return parent.st_uid in (0, me) and (not writable or bool(parent.st_mode & stat.S_ISVTX))


def _digest(function: Function, callee: Callee) -> str:
    """Of the compiler, its settings, and the code and constants of all functions that the kernel can reach."""
    digest = hashlib.sha256(_compiler().encode())
    for each in reachable(function, callee):
        for part in _parts(each, callee):
            digest.update(part + b"\0")
    return digest.hexdigest()[:20]


def _parts(function: Function, callee: Callee) -> Iterator[bytes]:
    """What a function's compiled code depends on beside the functions that it calls."""
    code = function.__code__
    yield f"{function.__module__}.{function.__qualname__} {function.__defaults__}".encode()
    yield code.co_code
    yield repr((code.co_consts, code.co_varnames, code.co_names)).encode()
    for name, value in _globals(function):
        called = callee(value)
        yield f"{name}={called.__module__}.{called.__qualname__}".encode() if called else _constant(name, value)
    yield from _named_tuples(function.__annotations__, function.__globals__)


def _named_tuples(annotations: dict[str, Any], known: dict[str, Any]) -> Iterator[bytes]:
    """The fields of the named tuples that are arguments, and of those within them.

    Compiled code reads a field by its number, and numba does not compare the fields of the tuple that it compiled
    for with those of the tuple that it is given.
    """
    for annotation in annotations.values():
        named = getattr(annotation, "__forward_arg__", annotation)
        found = known.get(named) if isinstance(named, str) else named
        if isinstance(found, type) and hasattr(found, "_fields"):
            yield f"{found.__qualname__} {found._fields}".encode()
            yield from _named_tuples(found.__annotations__, vars(sys.modules[found.__module__]))


def _constant(name: str, value: Any) -> bytes:
    """A global that is no kernel, as far as compiled code can depend on it."""
    if isinstance(value, np.ndarray):
        return f"{name} {value.dtype} {value.shape} ".encode() + value.tobytes()
    if isinstance(value, types.ModuleType):
        return f"{name} {value.__name__}".encode() + _own_source(value)
    if isinstance(value, type) or callable(value):
        known = (getattr(value, "__module__", ""), getattr(value, "__qualname__", ""), getattr(value, "_fields", ""))
        return f"{name} {known}".encode()
    return f"{name} {value!r}".encode()


def _own_source(module: types.ModuleType) -> bytes:
    """The source of a module that is installed beside this one: its attributes may be constants of a kernel."""
    if not module.__name__.startswith("multitracer") or not module.__file__:
        return b""
    return Path(module.__file__).read_bytes()


def _globals(function: Function) -> list[tuple[str, Any]]:
    """The globals that a function names, with their values."""
    known = function.__globals__
    return [(name, known[name]) for name in function.__code__.co_names if name in known]


@cache
def _compiler() -> str:
    """What made the code: Python, NumPy, numba's installation and its settings.

    The versions of numba and of its parts would take longer to find than most kernels take to load; numba itself
    looks at the processor.
    """
    made_by = [sys.version, np.__version__]
    for name in ("numba", "llvmlite"):
        spec = find_spec(name)
        if spec and spec.origin:
            status = Path(spec.origin).stat()
            made_by.append(f"{spec.origin} {status.st_size} {status.st_mtime_ns}")
    settings = [f"{name}={value}" for name, value in sorted(os.environ.items()) if _matters(name)]
    settings += [_SETTINGS_FILE.read_text(errors="replace")] if _SETTINGS_FILE.is_file() else []
    return "\n".join(made_by + settings)


def _matters(name: str) -> bool:
    """Whether an environment variable may change the code: bounds checks, say."""
    return name.startswith("NUMBA_") and name not in _WITHOUT_EFFECT
