"""Hot loops: plain functions over NumPy arrays that can be compiled.

A function under `@kernel` is written in the subset of Python that numba compiles and runs
unchanged without it, so every kernel has three lives: compiled, plain (`NUMBA_DISABLE_JIT=1`, or a
small input met with a cold cache), and bounds-checked (`NUMBA_BOUNDSCHECK=1`). What is compiled is
kept as machine code where that can be done (`machine_code`), and by numba elsewhere.

Rules that keep the lives equal: integers are masked to their width explicitly, kernels call
kernels by name only (a compiled function passed as an argument is never cached), state lives in
arrays, and input octets come as read-only `uint8` arrays (`octets()`). Where the compiler cannot see
that an index is not negative, it provides for one that counts from the end, at every access: in hot
loops such an index is made unsigned.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import sys
import types
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from threading import RLock, local
from typing import Any, TypeAlias

import numpy as np

from multitracer.compute import machine_code
from multitracer.compute.records import PlainArguments

SMALL_RECORDS = 20_000
"""Below this, plain Python answers sooner than a cold compiler does."""

WORTH_SHARING = 500_000
"""With fewer rows a second thread gains nothing."""

_OPTIONS = {"nogil": True, "_nrt": False}
"""Without numba's runtime arrays are not counted at every call, which costs more than most calls do."""

_state = {"plain": False, "small": False, "announced": False}
_linking = RLock()


class _Here(local):
    """Whether this thread is within a kernel that runs plain: those that it calls do so too."""

    plain = False


_here = _Here()

_Run: TypeAlias = Callable[[tuple[Any, ...]], Any]
"""Runs a kernel with these arguments."""


class Kernel:
    """A function that runs compiled or plain, whichever the process decided on."""

    def __init__(self, function: Callable[..., Any], *, inlined: bool = False) -> None:
        self.function = function
        self._inlined = inlined
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.__module__ = function.__module__
        self.__wrapped__ = function
        self._by_kinds: dict[tuple[Any, ...], _Run] = {}
        self._by_signature: dict[machine_code.Signature, _Run] = {}
        self._not_kept: set[tuple[Any, ...]] = set()

    def __call__(self, *args: Any) -> Any:
        """Run it, in the life that the process decided on."""
        if _here.plain:
            return self.function(*args)
        if plain():
            return self._plainly(args)
        if not machine_code.usable():
            return self._plainly(args) if _state["small"] and not _kept_by_numba() else self.compiled(*args)
        kinds = machine_code.kinds(args)
        run = self._by_kinds.get(kinds)
        if run is None and not (_state["small"] and kinds in self._not_kept):
            run = self._found(args)
            if run is None:
                self._not_kept.add(kinds)
            else:
                self._by_kinds[kinds] = run
        return run(args) if run else self._plainly(args)

    def _plainly(self, args: tuple[Any, ...]) -> Any:
        """Run it, and the kernels that it calls, as plain Python."""
        plain_arguments = PlainArguments(args)
        _here.plain = True
        try:
            return self.function(*plain_arguments.arguments)
        finally:
            _here.plain = False
            plain_arguments.write_back()

    def _found(self, args: tuple[Any, ...]) -> _Run | None:
        """What runs it for arguments like these; None where it would first have to be compiled for a small input."""
        words = machine_code.signature(args)
        if words is None:
            return self._compiled
        with _linking:
            run = self._by_signature.get(words) or self._linked(words, args)
            if run is not None:
                self._by_signature[words] = run
            return run

    def _linked(self, words: machine_code.Signature, args: tuple[Any, ...]) -> _Run | None:
        """Machine code that an earlier process left, or that is made now, where that is worth it."""
        directory = cache_directory()
        path = machine_code.place(directory, f"{self.__module__}.{self.__name__}", words) if directory else None
        code = machine_code.load(path) if path else None
        if code is None and _state["small"]:
            return None
        if code is None:
            _announce()
            code = machine_code.translate(self.bare, args)
            if code is not None and path is not None:
                machine_code.keep(code, path)
        return machine_code.link(code, words) if code else self._compiled

    def _compiled(self, args: tuple[Any, ...]) -> Any:
        return self.compiled(*args)

    @cached_property
    def compiled(self) -> Callable[..., Any]:
        """The numba dispatcher that Python can call, and that numba keeps."""
        import numba

        _announce()
        directory = cache_directory()
        if directory is not None:
            numba.config.CACHE_DIR = str(directory)
        try:
            return numba.njit(cache=directory is not None, **_OPTIONS)(self._for_numba())
        except RuntimeError:  # numba finds no place for its cache: compiled for this process only
            return numba.njit(**_OPTIONS)(self._for_numba())

    @cached_property
    def bare(self) -> Callable[..., Any]:
        """The numba dispatcher of a function that compiled ones alone can call."""
        import numba

        options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": self._inlined}
        return numba.njit(**options, **_OPTIONS)(self._for_numba())

    def _for_numba(self) -> Callable[..., Any]:
        """The function as numba knows it: it resolves globals when it compiles, and knows no Kernel."""
        namespace = dict(self.function.__globals__)
        for name in self.function.__code__.co_names:
            value = namespace.get(name)
            if isinstance(value, Kernel):
                namespace[name] = value.bare if machine_code.usable() else value.compiled
        named = types.FunctionType(
            self.function.__code__, namespace, self.function.__name__, self.function.__defaults__
        )
        named.__module__ = self.function.__module__
        named.__qualname__ = self.function.__qualname__
        return named


def kernel(function: Callable[..., Any]) -> Kernel:
    """Mark a function as a hot loop; the arrays it works on are all given to it: numba refuses one that makes any."""
    return Kernel(function)


def inlined(function: Callable[..., Any]) -> Kernel:
    """Mark a kernel that is compiled into those that call it, where they do so for each row.

    A call hands over seven numbers for each array. Where much calls much, compiling would take too long.
    """
    return Kernel(function, inlined=True)


def octets(data: Any) -> np.ndarray[Any, Any]:
    """`data` as a read-only uint8 array: one type for mapped files and bytes, so one compile."""
    array = np.frombuffer(data, dtype=np.uint8)
    array.flags.writeable = False
    return array


def plain() -> bool:
    """Whether kernels run as plain Python in this process, or here in this thread."""
    return _state["plain"] or _here.plain or os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def concurrently(function: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
    """The function's result for each part, worked out at once; compiled kernels let threads run side by side."""
    if len(parts) <= 1 or plain():
        return [function(part) for part in parts]
    with ThreadPoolExecutor(min(len(parts), os.cpu_count() or 1)) as pool:
        return list(pool.map(function, parts))


def shares(rows: int, most: int | None = None) -> list[slice]:
    """So many rows in parts of about one size, one for each processor (`most` at most), where that is worth it."""
    processors = os.cpu_count() or 1
    parts = max(1, min(processors, processors if most is None else most, rows // WORTH_SHARING))
    edges = [rows * part // parts for part in range(parts + 1)]
    return [slice(start, stop) for start, stop in itertools.pairwise(edges)]


def choose(records: int) -> None:
    """Decide how kernels run for an input of about `records` records: for a small one nothing is compiled."""
    _state["small"] = records < SMALL_RECORDS


def get_ready() -> None:
    """Load what links kernels, so that they start at once."""
    if not plain() and machine_code.usable():
        cache_directory()
        machine_code.engine()


@cache
def _kept_by_numba() -> bool:
    """Whether numba, where it runs the kernels, left compiled ones of exactly these sources in an earlier run."""
    directory = cache_directory()
    return directory is not None and any(directory.rglob("*.nbi"))


@cache
def cache_directory() -> Path | None:
    """Where compiled kernels are kept; None when nothing can be written there.

    The key covers every source of the package: numba itself looks only at the module a kernel
    stands in, and misses an edit in a callee's module.
    """
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        directory = base / "multitracer" / _sources_key()
        directory.mkdir(parents=True, exist_ok=True)
        probe = directory / f".writable-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except (OSError, RuntimeError):  # no home at all is a RuntimeError
        return None
    return directory


def _sources_key() -> str:
    digest = hashlib.sha256(f"{sys.version} {np.__version__}".encode())
    # The package's parts may be installed from several folders (see setup.cfg).
    for name in ("multitracer", "multitracer.parsers", "multitracer.replay"):
        spec = find_spec(name)
        for folder in (spec.submodule_search_locations or []) if spec else []:
            for source in sorted(Path(folder).rglob("*.py")):
                digest.update(source.name.encode())
                digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _announce() -> None:
    """Say once why this takes so long."""
    if not _state["announced"] and sys.stderr.isatty() and not _kept_by_numba():
        print("compiling (first run only)", file=sys.stderr)
    _state["announced"] = True
