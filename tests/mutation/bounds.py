"""Kernels with bounds checks in which an index below 0 is out of bounds, too: numba and NumPy count it from the end.

Where a kernel counts from the end on purpose, it says so by a constant: `values[-1]`.
"""

from __future__ import annotations
import __future__

import ast
import inspect
import os
import textwrap
from typing import Any

import numpy as np

SETTINGS = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_OPT": "1", "NUMBA_WITHOUT_WRAPAROUND": "1"}
"""numba knows the first two; the third only keeps the compiled code apart from other code that is kept."""


def check() -> None:
    """Have all kernels of this process checked; before any module with kernels is imported."""
    os.environ.update(SETTINGS)
    from numba.core import types
    from numba.np import arrayobj

    def as_it_is(context: Any, builder: Any, kind: Any, index: Any, _: Any) -> Any:
        return context.cast(builder, index, kind, types.intp if kind.signed else types.uintp)

    arrayobj.fix_integer_index = as_it_is
    from multitracer.compute import kernels

    make = kernels.Kernel.__init__

    def made(self: Any, function: Any, **options: Any) -> None:
        make(self, _counting_from_the_start(function), **options)

    kernels.Kernel.__init__ = made  # type: ignore[method-assign]
    _require(kernels)


def _require(kernels: Any) -> None:
    """End the process where an index below 0 is not found out, as with a numba that has changed inside."""

    def at(values: Any, index: int) -> int:
        return int(values[index])

    try:
        kernels.Kernel(at).for_python(np.zeros(3, np.int64), np.int64(-1))
    except IndexError:
        return
    raise SystemExit("this numba does not check indexes below 0: tests/mutation/bounds.py does not know it")


class _FromTheStart(ast.NodeTransformer):
    """Constants that count from the end become what they mean."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """`a[-1]` becomes `a[len(a) - 1]`, and `a[i, -1]` becomes `a[i, a.shape[1] - 1]`."""
        self.generic_visit(node)
        value = ast.unparse(node.value)
        if isinstance(node.slice, ast.Tuple):
            node.slice.elts = [
                _parsed(f"{value}.shape[{place}] - {back}") if (back := _back(one)) else one
                for place, one in enumerate(node.slice.elts)
            ]
        elif back := _back(node.slice):
            node.slice = _parsed(f"len({value}) - {back}")
        return node


def _back(index: ast.expr) -> int:
    """How far a constant index counts from the end; 0 for any other index."""
    if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub) and isinstance(index.operand, ast.Constant):
        return int(index.operand.value)  # type: ignore[arg-type]
    return 0


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _counting_from_the_start(function: Any) -> Any:
    """The function without constants that count from the end; itself if it has none."""
    lines, first = inspect.getsourcelines(function)
    tree = ast.parse(textwrap.dedent("".join(lines)))
    before = ast.dump(tree)
    tree = _FromTheStart().visit(tree)
    if ast.dump(tree) == before:
        return function
    tree.body[0].decorator_list = []  # type: ignore[attr-defined]
    ast.increment_lineno(ast.fix_missing_locations(tree), first - 1)
    made: dict[str, Any] = {}
    unevaluated = __future__.annotations.compiler_flag
    exec(compile(tree, function.__code__.co_filename, "exec", unevaluated), function.__globals__, made)
    found = made[function.__name__]
    found.__module__, found.__qualname__ = function.__module__, function.__qualname__
    return found
