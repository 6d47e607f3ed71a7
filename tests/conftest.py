"""What holds for all tests: which code they test, and which of them are fast."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator
from typing import Any

import made_once
import pytest
import shared_data
import tested_code
from hypothesis import settings

NOT_FAST = ("browser", "compiled", "data", "slow")
"""Markers that keep a test out of `-m fast`; setup.cfg says what each means."""

tested_code.take_root_off_path()

# The first example of a property may compile its kernels, which takes longer than any deadline.
# The same examples each time, so that a change is refused for what it does; "search" looks for new ones.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, print_blob=True)
settings.load_profile("repeatable")

# Rarer: what stays alive all along, as compiled kernels and kept analyses, is looked through each time.
gc.set_threshold(50_000, 20, 50)

# Commands under test are interrupted; a shell lets what it starts in the background ignore that, and they inherit it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to test another version than the one that is read in the checkout."""
    if complaint := tested_code.complaint():
        raise pytest.UsageError(complaint)
    if config.getoption("numprocesses", None):
        made_once.begin()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove what the processes of `-n` shared."""
    if config.getoption("numprocesses", None):
        made_once.end()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as fast what nothing keeps from being so, before `-m` chooses; and keep each folder's tests together.

    Folders, their modules and the tests of these stay in random order. Tests of a folder share analyses, reports and a
    browser: scattered, each process of `-n` would make all of these for itself.
    """
    for item in items:
        if not any(item.get_closest_marker(name) for name in NOT_FAST):
            item.add_marker(pytest.mark.fast)
    order = {folder: number for number, folder in enumerate(dict.fromkeys(item.path.parent for item in items))}
    items.sort(key=lambda item: order[item.path.parent])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin each test as a process begins, whatever ran before it in this one.

    With `-m fast` kernels run as plain Python, so that the first run need not compile them.
    """
    from multitracer.compute import kernels

    shared_data.state.in_fast_test = item.get_closest_marker("fast") is not None
    kernels._state.update(dict.fromkeys(kernels._state, False))
    kernels._state["few"] = item.config.getoption("markexpr").startswith("fast")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """In a process of `-n` that runs all tests, compile first what would be compiled in each of them."""
    process = getattr(session.config, "workerinput", None)
    if process is None or session.config.getoption("markexpr").startswith("fast"):
        return
    import early_kernels

    if session.testscollected > early_kernels.MANY_TESTS:
        early_kernels.compile_share(int(process["workerid"].removeprefix("gw")), process["workercount"])


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """For `-n auto` one process more than there are processors: tests wait for browsers, other programs and timers."""
    return (yield) + ("PYTEST_XDIST_AUTO_NUM_WORKERS" not in os.environ)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each process of `-n` a run of tests that stand together, as those of a module share what they prepare."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getvalue("dist") == "load" else None
