"""Kernels: hot loops over NumPy arrays, compiled by numba when the input is large enough.

A function under `@kernel` is written in the subset of Python that numba compiles, and also runs without numba. It can
run in three ways: compiled, plain (`NUMBA_DISABLE_JIT=1`, or an input too small to be worth compiling for), and
compiled with bounds checks (`NUMBA_BOUNDSCHECK=1`).

A kernel follows three rules; then all three ways give the same results:

1. Integers are cast and masked to their width: `np.int64(flags[row]) & 0xFFFF`. Integers of plain Python have no width.
2. Kernels are called by name, never passed as arguments: numba cannot cache a compiled function that takes another.
3. A kernel allocates no arrays; the caller passes all arrays that it writes. numba can then omit reference counting,
   which takes longer per call than most kernels run.

Input octets are passed as read-only `uint8` arrays (`octets`), so that one compiled version serves files and bytes.
Where the compiler cannot prove that an index is not negative, each access also handles an index that counts from the
end; in hot loops such an index is cast to unsigned.
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
"""Below this, plain Python is faster than loading numba and its cached code."""
SMALL_RECORDS = 20_000
"""Below this, plain Python is faster than compiling kernels."""

_OPTIONS: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True}
_UNCOUNTED = {"_nrt": False}
"""No reference counting (rule 3). numba does not document this option; without it kernels are slower, not wrong."""
_PUT_INTO_CALLER = {"inline": "always"}
"""numba looks for `targetoptions` and `py_func` at a global that is called: with this one it compiles no function."""
_WITHOUT_ENTRY = {"no_cpython_wrapper": True}
"""Without the entry for Python; no kernel has one for C. Both together would take a third of the compile time."""

_state = {"plain": False, "small": False, "few": False, "said": False, "refused": False, "refusal_said": False}
_making = RLock()


class _Thread(local):
    """Whether this thread is in a kernel that runs plain; the kernels that it calls then run plain too."""

    plain = False


_thread = _Thread()
_compiled: set[Function] = set()
"""The functions that were given to numba."""
_merged: set[Function] = set()
"""The functions that are compiled as a part of their callers."""


class Kernel:
    """A function that runs compiled or plain, depending on the settings and the size of the input."""

    def __init__(self, function: Function, *, inlined: bool = False, merged: bool = False) -> None:
        self.function = self.py_func = function
        self.targetoptions = _PUT_INTO_CALLER if merged else {}
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
            return self.run_plain(*args)
        try:
            return self.for_python(*args)
        except OSError:  # compiled, but not saved; the second call uses the code in memory
            return self.for_python(*args)

    def load(self) -> None:
        """Load the code that earlier runs kept, if any: else the first call does, and whoever calls waits for it."""
        if not plain() and self._is_kept:
            for signature in kernel_cache.signatures(self.for_python):
                self.for_python.compile(signature)

    def run_plain(self, *args: Any) -> Any:
        """Run it, and the kernels that it calls, as plain Python: also where it is called only once from Python."""
        made = PlainArguments(args)
        _thread.plain = True
        try:
            return self.function(*made.arguments)
        finally:
            _thread.plain = False
            made.write_back()

    @property
    def for_python(self) -> Any:
        """The compiled function for calls from Python, cached on disk if possible."""
        with _making:
            if self._for_python is None:
                self._for_python = self._kept_function() or _compiler(self.function, self._options)
            return self._for_python

    @property
    def for_kernels(self) -> Any:
        """The compiled function for calls from other kernels; it is cached as a part of theirs."""
        with _making:
            if self._for_kernels is None:
                self._for_kernels = _compiler(self.function, self._options | _called_by_kernels_only())
            return self._for_kernels

    @cached_property
    def _place(self) -> Path | None:
        return kernel_cache.entry(self.function, _function_of)

    @cached_property
    def _is_kept(self) -> bool:
        """Whether an earlier run cached its compiled code."""
        return self._place is not None and self._place.is_dir()

    def _kept_function(self) -> Any:
        """A compiled function that numba loads from our cache and saves there; None if it cannot be cached."""
        import numba

        if self._place is None:
            _state["refused"] = bool(kernel_cache.refusal())
            return None
        if not self._is_kept:  # must be evaluated before the entry is created
            kernel_cache.tidy()
        if not kernel_cache.use(self._place):
            return None
        before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(self._place)
        try:
            made = _compiler(self.function, self._options | {"cache": True})
        except RuntimeError:  # numba cannot cache it, as a function typed into an interpreter
            return None
        finally:
            numba.config.CACHE_DIR = before
        # If numba cannot use this directory, it chooses another, which other users may be able to write to.
        if self._place not in Path(made.stats.cache_path).parents:
            return None
        kernel_cache.load_code_alone(made, self._place)
        return made


def kernel(function: Function) -> Kernel:
    """Mark a function as a hot loop.

    Arrays that belong together, as the columns of a table do, are one argument, a `typing.NamedTuple`. Callers give
    each of them one type and layout only: a kernel is compiled for every combination that it meets.
    """
    return Kernel(function)


def inlined(function: Function) -> Kernel:
    """Mark a kernel to be compiled into its callers: for small ones that are called once per row.

    A call passes seven numbers for each array. Not for kernels with many callers: compiling would take too long.
    """
    return Kernel(function, inlined=True)


def merged(function: Function) -> Kernel:
    """Mark a kernel that is called at one place only: numba compiles it as a part of its caller, as if written there.

    This saves optimising it by itself and then again with each of its callers' callers. At several places it would be
    compiled several times.
    """
    _merged.add(function)
    return Kernel(function, merged=True)


def octets(data: Any) -> np.ndarray[Any, Any]:
    """`data` as a read-only uint8 array: one type for mapped files and bytes, so kernels are compiled once."""
    array = np.frombuffer(data, dtype=np.uint8)
    array.flags.writeable = False
    return array


def plain() -> bool:
    """Whether kernels run as plain Python in this process."""
    return _state["plain"] or _state["few"] or _disabled()


def choose(records: int) -> None:
    """Choose how kernels run for an input of about `records` records; for a small one nothing is compiled."""
    _state.update(few=records < FEW_RECORDS, small=records < SMALL_RECORDS)


def say_once(progress: str) -> None:
    """Print once, on a terminal, that kernels are being compiled."""
    if progress and not _state["said"] and sys.stderr.isatty():
        print(refusal_to_say() or "compiling (first run only)", file=sys.stderr)
        _state["said"] = True


def refusal_to_say() -> str:
    """Why what this process compiles is not kept, although there is a directory for it; only the first call says it."""
    if not _state["refused"] or _state["refusal_said"]:
        return ""
    _state["refusal_said"] = True
    return f"compiled kernels are not kept, so that each run compiles them again: {kernel_cache.refusal()}"


on_compiling: list[Callable[[str], None]] = [say_once]
"""The last of these is called with a progress text for each kernel, and with "" when compiling ends."""


def _tell(progress: str) -> None:
    on_compiling[-1](progress)


def _disabled() -> bool:
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def _function_of(value: Any) -> Function | None:
    return value.function if isinstance(value, Kernel) else None


def _compiler(function: Function, options: dict[str, Any]) -> Any:
    """numba's dispatcher of a function; its first call compiles the function or loads it from the cache."""
    import numba

    _introduce()
    _compiled.add(function)
    return numba.njit(function, **options, **_known_to_numba())


def _known_to_numba() -> dict[str, Any]:
    """The options of _UNCOUNTED that this version of numba knows; it raises an error for others when it compiles."""
    from numba.core import options

    return {name: value for name, value in _UNCOUNTED.items() if hasattr(options.DefaultOptions, name)}


@cache
def _called_by_kernels_only() -> dict[str, Any]:
    """The options for the compiled function that other kernels call."""
    from multitracer.compute import called_kernels

    return _WITHOUT_ENTRY | called_kernels.options()


@cache
def _introduce() -> None:
    """Register kernels with numba, and the progress of compiling with us."""
    from multitracer.compute import compiling

    compiling.introduce(Kernel, lambda kernel: kernel.for_kernels)
    compiling.watch(_compiled, _merged, _function_of, _tell)
