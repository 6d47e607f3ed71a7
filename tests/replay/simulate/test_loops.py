"""The loops of simulations as they are compiled."""

from __future__ import annotations

import dis
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from multitracer.compute import kernels
from multitracer.compute.kernel_cache import reachable
from multitracer.replay.simulate import loops


def calls(function: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """The functions of the kernels that a function calls, once for each place."""
    for instruction in dis.get_instructions(function):
        if instruction.opname == "LOAD_GLOBAL":
            called = kernels._function_of(function.__globals__.get(instruction.argval))
            if called is not None:
                yield called


@pytest.mark.parametrize("link", loops.PROTOCOLS)
@pytest.mark.parametrize("tcp", loops.MODELS)
def test_merged_kernels_are_called_at_one_place(link: str, tcp: str) -> None:
    """A loop has each of them once, so that nothing is compiled several times."""
    parts = reachable(loops.protocol(link, tcp).run.function, kernels._function_of)
    places = Counter(called for part in parts for called in calls(part))
    often = {called.__qualname__ for called, count in places.items() if count > 1 and called in kernels._merged}
    assert places
    assert not often
