"""What numba is told of kernels, and what it tells of compiling them. Imported with the first one that is compiled."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from numba import types
from numba.core import event
from numba.extending import typeof_impl

from multitracer.compute.kernel_cache import Callee, Function, reachable

_COMPILE = "numba:compile"


def introduce(kernel_type: type, compiler_of: Callable[[Any], Any]) -> None:
    """Have numba take a global of `kernel_type` for the compiled function that `compiler_of` gives."""

    typeof_impl.register(kernel_type, lambda kernel, _context: types.Dispatcher(compiler_of(kernel)))


def watch(kernels: Collection[Function], callee: Callee, tell: Callable[[str], None]) -> None:
    """Have `tell` called with what is being compiled of `kernels`, and with "" when that is done."""
    event.register(_COMPILE, _Progress(kernels, callee, tell))


class _Progress(event.Listener):  # type: ignore[misc] # numba brings no types
    """Counts the kernels that are compiled for the one that Python called; numba compiles one at a time."""

    def __init__(self, kernels: Collection[Function], callee: Callee, tell: Callable[[str], None]) -> None:
        self._kernels, self._callee, self._tell = kernels, callee, tell
        self._compiled: set[Function] = set()
        self._depth = self._count = self._all = 0

    def on_start(self, event: Any) -> None:
        """A function begins to be compiled; those that it calls follow."""
        function = event.data["dispatcher"].py_func
        if not self._depth:
            needed = reachable(function, self._callee)
            self._count, self._all = 0, sum(each not in self._compiled for each in needed)
        self._depth += 1
        if function in self._kernels and function not in self._compiled:
            self._compiled.add(function)
            self._count += 1
            self._tell(f"compiling (first run only): {function.__name__}, {self._count} of {self._all}")

    def on_end(self, event: Any) -> None:
        """It is compiled."""
        self._depth -= 1
        if not self._depth:
            self._tell("")
