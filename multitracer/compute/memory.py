"""Settings of the garbage collector and of memory for one command, set once by the command line."""

from __future__ import annotations

import gc
import os

_NEW_OBJECTS = 2_000_000
"""A hundred thousand findings are a million: each search among those takes a twentieth of a second."""
_HUGE_PAGES = "NUMPY_MADVISE_HUGEPAGE"
"""NumPy reads it when it is imported: whether it asks the kernel for huge pages for large arrays."""


def settle() -> None:
    """Tune garbage collection for a process that runs one command and ends.

    Reference cycles are few, and by default the collector searches for them at every 700th new object, which takes a
    tenth of the time.
    """
    gc.set_threshold(_NEW_OBJECTS)


def search_rarely() -> tuple[int, int, int]:
    """Search for reference cycles as rarely as a command does, for what makes many objects; how often it was before."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], _NEW_OBJECTS) if before[0] else 0)
    return before


def search_as_before(before: tuple[int, int, int]) -> None:
    """Search as often as before."""
    gc.set_threshold(*before)


def prefer_small_pages() -> None:
    """Let NumPy ask for no huge pages; to be called before it is imported, and what the user set stays so.

    On a machine that has run for some time, memory for them must be put together first, while the process waits: that
    took a quarter of the processor time of ten million packets.
    """
    os.environ.setdefault(_HUGE_PAGES, "0")


def leave() -> None:
    """Omit the interpreter's last search for reference cycles before the process ends."""
    gc.freeze()
