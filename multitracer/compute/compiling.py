"""Registers kernels with numba, and reports what it compiles. Imported when the first kernel is compiled."""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection
from typing import Any

from numba import types
from numba.core import event
from numba.extending import typeof_impl

from multitracer.compute import process_settings
from multitracer.compute.kernel_cache import Callee, Function, reachable

_COMPILE = "numba:compile"


def introduce(kernel_type: type, compiler_of: Callable[[Any], Any]) -> None:
    """Have numba treat a global of type `kernel_type` as the compiled function that `compiler_of` returns."""

    typeof_impl.register(kernel_type, lambda kernel, _context: types.Dispatcher(compiler_of(kernel)))


def watch(
    kernels: Collection[Function], merged: Collection[Function], callee: Callee, tell: Callable[[str], None]
) -> None:
    """Call `tell` with a progress text for each of `kernels` that is compiled, and with "" when compiling ends.

    Those `merged` into their callers are not compiled by themselves.
    """
    event.register(_COMPILE, _Progress(kernels, merged, callee, tell))


class _Progress(event.Listener):  # type: ignore[misc] # numba brings no types
    """Counts the kernels compiled for the one that Python called; numba compiles one at a time.

    Meanwhile reference cycles are searched for rarely: numba makes many objects, and keeps most of them.
    """

    def __init__(
        self, kernels: Collection[Function], merged: Collection[Function], callee: Callee, tell: Callable[[str], None]
    ) -> None:
        self._kernels, self._merged, self._callee, self._tell = kernels, merged, callee, tell
        self._compiled: set[Function] = set()
        self._depth = self._count = self._all = 0
        self._searches = gc.get_threshold()

    def on_start(self, event: Any) -> None:
        """numba begins to compile a function; the functions that it calls are compiled before it ends."""
        function = event.data["dispatcher"].py_func
        if not self._depth:
            self._searches = process_settings.search_rarely()
            needed = set(reachable(function, self._callee)).difference(self._merged)
            self._count, self._all = 0, len(needed - self._compiled)
        self._depth += 1
        if function in self._kernels and function not in self._compiled:
            self._compiled.add(function)
            self._count += 1
            self._tell(f"compiling (first run only): {function.__name__}, {self._count} of {self._all}")

    def on_end(self, event: Any) -> None:
        """numba has compiled a function."""
        self._depth -= 1
        if not self._depth:
            process_settings.search_as_before(self._searches)
            self._tell("")
