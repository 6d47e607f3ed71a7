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
from contextlib import ExitStack, contextmanager, suppress
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
    try:
        with _small_pages(), _processors_awake(wanted=first) as awake:
            yield {
                "realtime": first and _is_first(), "memory_locked": first and _is_locked(), "processors_awake": awake,
            }  # fmt: skip
    finally:
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


@contextmanager
def _small_pages() -> Iterator[None]:
    """Do without huge pages: one takes up to 7 ms when it is first written to, too long for a turn of a link."""
    before = _libc().prctl(_PR_GET_THP_DISABLE, 0, 0, 0, 0)
    _libc().prctl(_PR_SET_THP_DISABLE, 1, 0, 0, 0)
    try:
        yield
    finally:
        _libc().prctl(_PR_SET_THP_DISABLE, before, 0, 0, 0)


@contextmanager
def _processors_awake(*, wanted: bool) -> Iterator[bool]:
    """Keep all processors from sleeping, where that is wanted; whether it is allowed."""
    with ExitStack() as held:
        awake = False
        if wanted:
            with suppress(OSError):
                held.enter_context(IDLE_LATENCY.open("r+b", buffering=0)).write(struct.pack("=i", 0))
                awake = True
        yield awake


def _is_locked() -> bool:
    """Keep all memory from being paged out; whether that is allowed, without a limit that would later be met."""
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if os.geteuid() and limit != resource.RLIM_INFINITY:
        return False
    return bool(_libc().mlockall(_MCL_CURRENT | _MCL_FUTURE | _MCL_ONFAULT) == 0)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)
