"""What holds for all tests: which code they test, and which of them are fast."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import shared_data
import tested_code
from hypothesis import settings

NOT_FAST = ("browser", "compiled", "data", "slow")
"""Markers that keep a test out of `-m fast`; setup.cfg says what each means."""

tested_code.take_root_off_path()

# The first example of a property may compile its kernels, which takes longer than any deadline.
settings.register_profile("compiling", deadline=None)
settings.load_profile("compiling")


def pytest_configure() -> None:
    """Refuse to test another version than the one that is read in the checkout."""
    if complaint := tested_code.complaint():
        raise pytest.UsageError(complaint)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as fast what nothing keeps from being so, before `-m` chooses."""
    for item in items:
        if not any(item.get_closest_marker(name) for name in NOT_FAST):
            item.add_marker(pytest.mark.fast)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Let `shared` know whether the test that asks for data is a fast one."""
    shared_data.state.in_fast_test = item.get_closest_marker("fast") is not None
    return (yield)
