"""Where compiled kernels are kept between runs: a directory that only this user can write, one entry a kernel.

Entries hold machine code that later runs load, so a directory that anybody else can write to is not used.
numba itself notices an edit of a kernel's own module, but not of the kernels that it calls, nor of constants from other
modules. So an entry's name contains a digest of everything that the compiled code depends on. Other edits, as of a
docstring in a module without kernels, do not change the name.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import stat
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

UNUSED_S = 30 * 86_400
"""Entries not used for this long (seconds) are removed, also those of older versions."""
_DAY_S = 86_400
_SETTINGS_FILE = Path(".numba_config.yaml")
_WITHOUT_EFFECT = {
    f"NUMBA_{name}" for name in ("DISABLE_JIT", "NUM_THREADS", "THREADING_LAYER", "CACHE_DIR", "COLOR_SCHEME")
}
"""numba's settings that do not change the compiled code."""

_DAMAGED = (
    pickle.UnpicklingError, AttributeError, EOFError, ImportError, IndexError, OverflowError, TypeError, ValueError,
)  # fmt: skip
"""What a damaged entry raises when it is loaded: those that Python's documentation of `pickle` names, and others that
changed octets have raised."""
_ABSENT = object()

Function: TypeAlias = Callable[..., Any]
Callee: TypeAlias = Callable[[Any], Function | None]
"""Gives the function of a global that is a kernel, and None for any other global."""


def entry(function: Function, callee: Callee) -> Path | None:
    """The directory for a kernel's compiled code, which may not exist yet; None if nothing can be cached."""
    directory = _directory()
    if directory is None:
        return None
    return directory / f"{function.__module__}.{function.__qualname__}-{_digest(function, callee)}"


def use(place: Path) -> bool:
    """Create an entry if it does not exist, and record that it is used; returns whether it can be written."""
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        if time.time() - place.stat().st_mtime > _DAY_S:
            os.utime(place)
        tempfile.TemporaryFile(dir=place).close()
    except OSError:
        return False
    return True


def remove_unused(directory: Path, names: str = "*") -> None:
    """Remove the entries that no run has used for UNUSED_S.

    An entry is renamed before it is deleted, so that another run finds it complete or not at all.
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


def signatures(compiled: Any) -> list[Any]:
    """The argument types for which the entry of numba's dispatcher has code for this processor."""
    kept, codegen = compiled._cache, compiled.targetctx.codegen()  # numba has no public names for these
    return [key[0] for key in kept._cache_file._load_index() if key == kept._index_key(key[0], codegen)]


def load_code_alone(compiled: Any, place: Path) -> None:
    """Let numba's dispatcher, whose entry is `place`, load its code without all that only a compiler needs.

    numba itself first registers everything that it can compile, 0.1 s in each process. To compile something still does;
    code that is loaded needs the symbols of numba's runtime, and those that numba adds as it is imported. Only one that
    hashes text would need more (numba.cpython.hashing), which no kernel does.
    What cannot be loaded so, nor as numba does it, as after a power failure, is compiled anew: numba itself compiles
    only what is missing, and fails at a damaged file, in every run.
    """
    from numba.core.runtime import rtsys

    kept = compiled._cache  # numba has no public names for these
    usual = kept.load_overload
    ways = (getattr(kept, "_load_overload", usual), usual)

    def loaded(signature: Any, target: Any) -> Any:
        rtsys.initialize(target)
        for load in ways:
            with suppress(*_DAMAGED):
                return load(signature, target)
        for file in place.rglob("*.nb[ci]"):
            file.unlink(missing_ok=True)
        return None

    kept.load_overload = loaded


@cache
def tidy() -> None:
    """Remove unused entries once per process, also those in the layout of older versions."""
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


def refusal() -> str:
    """Why the directory of all entries is not used although it exists; "" if it is used, or cannot be created."""
    return _checked()[1]


def _directory() -> Path | None:
    """The directory of all entries; None if it cannot be created, or if others could write there."""
    return _checked()[0]


@cache
def _checked() -> tuple[Path | None, str]:
    """The directory of all entries if only this user can write there, and otherwise the reason that it is refused.

    All links in its path are resolved: what is checked is what compiled code is loaded from.
    """
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        directory = (base / "multitracer" / "kernels").absolute()
        _create(directory)
        directory = directory.resolve()
        refused = _exposed(directory)
    except (OSError, RuntimeError):  # Path.home() raises RuntimeError without a home directory
        return None, ""
    return (None, refused) if refused else (directory, "")


def _create(directory: Path) -> None:
    """Create a directory and the missing ones above it, all with mode 0700; `parents=True` heeds only the umask."""
    for place in (*reversed(directory.parents), directory):
        if not place.exists():
            place.mkdir(mode=0o700, exist_ok=True)


def _exposed(directory: Path) -> str:
    """How others could write to a resolved directory, or put another in its place; "" if they cannot.

    Above it, directories may also belong to root, and others may write if the sticky bit keeps them from renaming
    this user's entries, as in /tmp.
    """
    if not hasattr(os, "getuid"):  # Windows: a user's folders are private
        return ""
    me = os.getuid()
    for place in (directory, *directory.parents):
        status, is_above = place.stat(), place != directory
        if status.st_uid != me and not (is_above and status.st_uid == 0):
            return f"{place} belongs to another user"
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not (is_above and status.st_mode & stat.S_ISVTX):
            return f"others can write to {place}"
    return ""


def _digest(function: Function, callee: Callee) -> str:
    """A digest of the compiler, its settings, and the code and constants of all functions that the kernel can reach."""
    digest = hashlib.sha256(_compiler().encode())
    for each in reachable(function, callee):
        for part in _parts(each, callee):
            digest.update(part + b"\0")
    return digest.hexdigest()[:20]


def _parts(function: Function, callee: Callee) -> Iterator[bytes]:
    """What a function's compiled code depends on, apart from the code of the functions that it calls."""
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
    """The part of a global's value that compiled code can depend on; for globals that are not kernels."""
    if isinstance(value, np.ndarray):
        return f"{name} {value.dtype} {value.shape} ".encode() + value.tobytes()
    if isinstance(value, types.ModuleType):
        return f"{name} {value.__name__}".encode()
    if isinstance(value, type) or callable(value):
        known = (getattr(value, "__module__", ""), getattr(value, "__qualname__", ""), getattr(value, "_fields", ""))
        return f"{name} {known}".encode()
    return f"{name} {value!r}".encode()


def _globals(function: Function) -> list[tuple[str, Any]]:
    """The globals that a function names, with their values, and what it may read from those that are modules.

    The code names the attributes that it reads, but not of which object; so each module's attributes of these names
    are taken.
    """
    names = function.__code__.co_names
    found: list[tuple[str, Any]] = []
    spaces = [("", function.__globals__)]
    modules = set()
    while spaces:
        place, known = spaces.pop()
        for name in names:
            value = known.get(name, _ABSENT)
            if value is not _ABSENT:
                found.append((place + name, value))
            if isinstance(value, types.ModuleType) and value not in modules:
                modules.add(value)
                spaces.append((f"{place}{name}.", vars(value)))
    return found


@cache
def _compiler() -> str:
    """What determines the compiled code: the versions of Python and NumPy, numba's installation and its settings.

    numba is identified by its files' sizes and times: importing it for its version takes longer than loading most
    kernels. numba itself checks the processor.
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
    """Whether an environment variable may change the compiled code, as NUMBA_BOUNDSCHECK does."""
    return name.startswith("NUMBA_") and name not in _WITHOUT_EFFECT
