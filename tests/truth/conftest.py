"""Transfers whose truth is known are analysed compiled: many are small, and other tests run their kernels plain."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kernel_modes import compiled


@pytest.fixture(autouse=True)
def kernels_run() -> Iterator[None]:
    """Compiled, in each test of this folder that does not say otherwise."""
    with compiled():
        yield
