"""Settings of the garbage collector and of memory for one command, set once by the command line."""

from __future__ import annotations

import gc

_NEW_OBJECTS = 2_000_000
"""A hundred thousand findings are a million: each search among those takes a twentieth of a second."""


def settle() -> None:
    """Tune garbage collection for a process that runs one command and ends.

    Reference cycles are few, and by default the collector searches for them at every 700th new object, which takes a
    tenth of the time.
    """
    gc.set_threshold(_NEW_OBJECTS)


def leave() -> None:
    """Omit the interpreter's last search for reference cycles before the process ends."""
    gc.freeze()
