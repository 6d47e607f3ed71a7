"""What the system allows of real time is told as it is, and nothing of it stays."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import pytest

from multitracer.replay.emulate import realtime
from multitracer.replay.emulate.realtime import IDLE_LATENCY, on_time

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's schedulers")


def is_locked() -> bool:
    """Whether any of this process's memory is locked (proc(5), status)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(line for line in lines if line.startswith("VmLck")).split()[1] != "0"


def keeps_awake() -> bool:
    """Whether this process holds processors to a wake-up time."""
    return str(IDLE_LATENCY) in [os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()]


def test_what_is_told_holds_until_the_end() -> None:
    """The scheduler, memory and processors are as told, garbage is not looked for; then all is as before."""
    before = os.sched_getscheduler(0)
    with on_time(first=True) as allowed:
        assert (os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK == os.SCHED_FIFO) == allowed["realtime"]
        assert is_locked() == allowed["memory_locked"]
        assert keeps_awake() == allowed["processors_awake"] == os.access(IDLE_LATENCY, os.W_OK)
        assert not gc.isenabled()
    assert (os.sched_getscheduler(0), is_locked(), keeps_awake(), gc.isenabled()) == (before, False, False, True)


def test_no_page_is_huge_until_the_end() -> None:
    """What is mapped meanwhile is written to in small pages; then pages are as they were before."""

    def disabled() -> bool:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(line for line in lines if line.startswith("THP_enabled")).split()[1] == "0"

    before = disabled()
    with on_time(first=False):
        assert disabled()
    assert disabled() == before


def test_nothing_is_taken_where_it_is_not_asked_for() -> None:
    """And that is told, too."""
    with on_time(first=False) as allowed:
        assert allowed == {"realtime": False, "memory_locked": False, "processors_awake": False}
        assert not keeps_awake()
        assert os.sched_getscheduler(0) == os.SCHED_OTHER


def test_what_is_not_allowed_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As of an ordinary user with a limit of locked memory."""

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr("resource.getrlimit", lambda _: (65_536, 65_536))
    monkeypatch.setattr(realtime, "IDLE_LATENCY", tmp_path / "none")
    with on_time(first=True) as allowed:
        assert allowed == {"realtime": False, "memory_locked": False, "processors_awake": False}
