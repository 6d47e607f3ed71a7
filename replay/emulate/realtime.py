"""Being on time: before other processes, on processors that stay awake, in memory, and without looking for garbage.

All where the system allows it.
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PRIORITY = 10
"""Among SCHED_FIFO's 1 to 99: above all ordinary processes, below the kernel's own."""
_MCL_CURRENT, _MCL_FUTURE, _MCL_ONFAULT = 1, 2, 4
"""linux/mman.h: all that is mapped, and what will be, each page from when it is first used."""
_PR_SET_THP_DISABLE, _PR_GET_THP_DISABLE = 41, 42
"""linux/prctl.h: no huge pages, for this process and those that it starts; any user may."""
IDLE_LATENCY = Path("/dev/cpu_dma_latency")
"""Holds processors to the wake-up time, in us, that is written to it, for as long as it is open (Linux,
Documentation/power/pm_qos_interface). With 0 they poll while they are idle: asleep, a virtual one has to wait until its
host runs it again, often for milliseconds."""


@contextmanager
def on_time(*, first: bool) -> Iterator[dict[str, bool]]:
    """Be woken on time, if `first` before other processes; gives what of it the system allows."""
    gc.collect()
    gc.freeze()
    gc.disable()
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    small_pages = _libc().prctl(_PR_GET_THP_DISABLE, 0, 0, 0, 0)
    _take_small_pages(1)
    awake = _keep_awake() if first else None
    try:
        yield {
            "realtime": first and _is_first(), "memory_locked": first and _is_locked(),
            "processors_awake": awake is not None,
        }  # fmt: skip
    finally:
        if awake is not None:
            os.close(awake)
        _take_small_pages(small_pages)
        _libc().munlockall()
        with suppress(OSError):
            os.sched_setscheduler(0, *before)
        gc.enable()
        gc.unfreeze()


def _is_first() -> bool:
    """Go before all ordinary processes; whether that is allowed."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(PRIORITY))
    except OSError:
        return False
    return True


def _take_small_pages(wanted: int) -> None:
    """Whether to do without huge pages: one takes up to 7 ms when it is first written to, too long for a turn."""
    _libc().prctl(_PR_SET_THP_DISABLE, wanted, 0, 0, 0)


def _keep_awake() -> int | None:
    """Keep all processors from sleeping until the descriptor is closed; None if that is not allowed."""
    try:
        held = os.open(IDLE_LATENCY, os.O_WRONLY)
    except OSError:
        return None
    os.write(held, struct.pack("=i", 0))
    return held


def _is_locked() -> bool:
    """Keep all memory from being paged out; whether that is allowed, without a limit that would later be met."""
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if os.geteuid() and limit != resource.RLIM_INFINITY:
        return False
    return bool(_libc().mlockall(_MCL_CURRENT | _MCL_FUTURE | _MCL_ONFAULT) == 0)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)
