"""Kernels that only kernels call: a part of their callers, with the same results and the same errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from multitracer.compute.kernels import Kernel, kernel

pytestmark = pytest.mark.compiled


@kernel
def at(values: Any, place: int) -> int:
    """One of the values; a negative place is refused."""
    if place < 0:
        raise ValueError("a place before the first")
    return int(np.int64(values[place]))


@kernel
def doubled(values: Any, place: int) -> int:
    """Twice one of the values."""
    return int(2 * at(values, place))


@kernel
def total(values: Any, first: int) -> int:
    """The sum of twice the values from a place on."""
    sum_so_far = np.int64(0)
    for place in range(first, len(values)):
        sum_so_far += doubled(values, place)
    return int(sum_so_far)


@kernel
def rest(value: Any, by: Any) -> Any:
    """What a division leaves."""
    return value % by


@kernel
def rests(whole: Any, single: Any, double: Any) -> float:
    """The rests of the first numbers by the second ones, of three types, added."""
    return float(rest(whole[0], whole[1]) + rest(single[0], single[1]) + rest(double[0], double[1]))


@pytest.fixture
def machine_code(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the functions that machine code is made of from now on."""
    from numba.core import codegen

    made: list[str] = []
    plain = codegen.JITCodeLibrary._finalize_specific

    def noted(library: Any) -> None:
        made.append(library.name)
        plain(library)

    monkeypatch.setattr(codegen.JITCodeLibrary, "_finalize_specific", noted)
    return made


def test_machine_code_is_made_for_python_only(machine_code: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three kernels, for the one that Python calls; what the others raise arrives."""
    monkeypatch.setattr(Kernel, "_place", None)  # else its code may come from the cache
    values = np.arange(5, dtype=np.int64)
    assert total(values, 1) == 20
    ours = {function.py_func.__qualname__ for function in (at, doubled, total)}
    assert [name for name in machine_code if name in ours] == ["total"]
    with pytest.raises(ValueError, match="a place before the first"):
        total(values, -1)


def test_versions_of_a_kernel_for_other_types_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their names have no types; functions of numba itself that they call, as that for a rest, keep theirs."""
    monkeypatch.setattr(Kernel, "_place", None)
    whole, single, double = np.array([-5, 3]), np.array([5.5, 3.0], dtype=np.float32), np.array([2.0**40 + 0.25, 0.5])
    assert rests(whole, single, double) == 1 + 2.5 + 0.25
    assert len(rest.for_kernels.signatures) == 3
