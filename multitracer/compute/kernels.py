"""Hot loops: plain functions over NumPy arrays that are compiled where it is worth it.

A function under `@kernel` is written in the subset of Python that numba compiles, and runs without numba too. So it
runs in three ways: compiled, plain (`NUMBA_DISABLE_JIT=1`, or a small input that is not worth compiling for), and
compiled with bounds checks (`NUMBA_BOUNDSCHECK=1`).

Three rules make a function a kernel, and all three ways give the same results:

1. Integers are cast and masked to their width: `np.int64(flags[row]) & 0xFFFF`. Plain Python's have no width.
2. Kernels are called by name, never passed: a compiled function that was passed cannot be kept on disk.
3. Everything a kernel writes is given to it: it makes no arrays. numba then need not count who holds which array,
   which at every call would take longer than most kernels run.

Input octets come as read-only `uint8` arrays (`octets`), so that one compiled version serves files and bytes. Where
the compiler cannot see that an index is not negative, it provides for one that counts from the end, at every access:
in hot loops such an index is made unsigned.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from threading import RLock, local
from typing import Any

import numpy as np

from multitracer.compute import kernel_cache
from multitracer.compute.kernel_cache import Function
from multitracer.compute.records import PlainArguments

FEW_RECORDS = 5_000
"""Below this, plain Python answers sooner than numba and what it compiled earlier are loaded."""
SMALL_RECORDS = 20_000
"""Below this, plain Python answers sooner than kernels are compiled."""

_OPTIONS: dict[str, Any] = {"nogil": True}
_UNCOUNTED = {"_nrt": False}
"""Rule 3. Not among numba's documented options: where a version does not know it, kernels are slower, not wrong."""
_CALLED_BY_KERNELS_ONLY = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Without the entries for Python and C, which take a third of the time that compiling takes."""

_state = {"plain": False, "small": False, "few": False, "said": False}
_making = RLock()


class _Thread(local):
    """Whether this thread is within a kernel that runs plain: those that it calls then do so too."""

    plain = False


_thread = _Thread()
_compiled: set[Function] = set()
"""The functions that numba was asked to compile."""


class Kernel:
    """A function that runs compiled or plain, as the process decided."""

    def __init__(self, function: Function, *, inlined: bool = False) -> None:
        self.function = function
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.__module__ = function.__module__
        self.__wrapped__ = function
        self._options = _OPTIONS | ({"forceinline": True} if inlined else {})
        self._for_python: Any = None
        self._for_kernels: Any = None

    def __call__(self, *args: Any) -> Any:
        """Run it, compiled or plain."""
        if _thread.plain:
            return self.function(*args)
        if plain() or (_state["small"] and not self._is_kept):
            return self._run_plain(args)
        try:
            return self.for_python(*args)
        except OSError:  # it is compiled, and could not be kept
            return self.for_python(*args)

    def _run_plain(self, args: tuple[Any, ...]) -> Any:
        """Run it, and the kernels that it calls, as plain Python."""
        made = PlainArguments(args)
        _thread.plain = True
        try:
            return self.function(*made.arguments)
        finally:
            _thread.plain = False
            made.write_back()

    @property
    def for_python(self) -> Any:
        """numba's compiled function that Python calls, and that is kept on disk where that can be done."""
        with _making:
            if self._for_python is None:
                self._for_python = self._kept_function() or _compiler(self.function, self._options)
            return self._for_python

    @property
    def for_kernels(self) -> Any:
        """numba's compiled function that other kernels call; it is kept as a part of theirs."""
        with _making:
            if self._for_kernels is None:
                self._for_kernels = _compiler(self.function, self._options | _CALLED_BY_KERNELS_ONLY)
            return self._for_kernels

    @cached_property
    def _place(self) -> Path | None:
        return kernel_cache.entry(self.function, _function_of)

    @cached_property
    def _is_kept(self) -> bool:
        """Whether an earlier run compiled it."""
        return self._place is not None and self._place.is_dir()

    def _kept_function(self) -> Any:
        """The function that numba looks up in our cache, and keeps there; None where there is no place for that."""
        import numba

        if self._place is None:
            return None
        if not self._is_kept:  # looked at before the entry is made
            kernel_cache.tidy()
        if not kernel_cache.use(self._place):
            return None
        before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(self._place)
        try:
            made = _compiler(self.function, self._options | {"cache": True})
        except RuntimeError:  # numba finds no place, as for a function typed into an interpreter
            return None
        finally:
            numba.config.CACHE_DIR = before
        # Where numba cannot use the place that it is told, it takes one that others may be able to write to.
        return made if self._place in Path(made.stats.cache_path).parents else None


def kernel(function: Function) -> Kernel:
    """Mark a function as a hot loop.

    Arrays that belong together, as the columns of a table do, are one argument, a `typing.NamedTuple`. Callers give
    each of them one type and layout only: a kernel is compiled for every combination that it meets.
    """
    return Kernel(function)


def inlined(function: Function) -> Kernel:
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
    """Whether kernels run as plain Python in this process."""
    return _state["plain"] or _state["few"] or _disabled()


def choose(records: int) -> None:
    """Decide how kernels run for an input of about `records` records: for a small one nothing is compiled."""
    _state.update(few=records < FEW_RECORDS, small=records < SMALL_RECORDS)


def say_once(progress: str) -> None:
    """Say once on a terminal why this takes so long."""
    if progress and not _state["said"] and sys.stderr.isatty():
        print("compiling (first run only)", file=sys.stderr)
        _state["said"] = True


on_compiling: list[Callable[[str], None]] = [say_once]
"""The last of these is told what is being compiled, and "" when that is done."""


def _tell(progress: str) -> None:
    on_compiling[-1](progress)


def _disabled() -> bool:
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def _function_of(value: Any) -> Function | None:
    return value.function if isinstance(value, Kernel) else None


def _compiler(function: Function, options: dict[str, Any]) -> Any:
    """numba's compiler for a function; it compiles, or finds what was kept, when it is first called."""
    import numba

    _introduce()
    _compiled.add(function)
    return numba.njit(function, **options, **_known_to_numba())


def _known_to_numba() -> dict[str, Any]:
    """Those of _UNCOUNTED that this version of numba has: it would refuse others when it compiles."""
    from numba.core import options

    return {name: value for name, value in _UNCOUNTED.items() if hasattr(options.DefaultOptions, name)}


@cache
def _introduce() -> None:
    """Make kernels known to numba, and its work known to us."""
    from multitracer.compute import compiling

    compiling.introduce(Kernel, lambda kernel: kernel.for_kernels)
    compiling.watch(_compiled, _function_of, _tell)
