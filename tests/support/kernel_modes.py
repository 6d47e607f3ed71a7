"""The ways in which kernels run, as environment variables of a process, and for a part of this one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from multitracer.compute import kernels

MODES = {
    "compiled": {},
    "plain": {"NUMBA_DISABLE_JIT": "1"},
    # Hardly optimised: every kernel is compiled for this alone, in a third of the time.
    "bounds-checked": {"NUMBA_BOUNDSCHECK": "1", "NUMBA_OPT": "1"},
}


@contextmanager
def compiled() -> Iterator[None]:
    """Run kernels compiled, however small the input: for tests whose kernels others have compiled anyway.

    With `-m fast` they stay plain.
    """
    before, kernels.choose = kernels.choose, lambda _: None
    try:
        yield
    finally:
        kernels.choose = before
