"""Transfers whose truth is known are analysed compiled: many are small, and other tests run their kernels plain."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kernel_modes import compiled


@pytest.fixture(autouse=True)
def _compiled() -> Iterator[None]:
    with compiled():
        yield
