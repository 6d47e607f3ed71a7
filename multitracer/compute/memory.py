"""Settings of the garbage collector and of malloc for one command, set once by the command line."""

from __future__ import annotations

import ctypes
import gc

_NEW_OBJECTS = 500_000
# mallopt(3) of Linux.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_NEVER = 2**31 - 1


def settle() -> None:
    """Tune garbage collection and malloc for a process that runs one command and ends.

    Reference cycles are few, and by default the collector searches for them at every 700th new object, which takes a
    tenth of the time. glibc returns freed arrays of over 32 MB to the system at once, and the system clears their pages
    before the next array gets them; here they are kept for the next array.
    """
    gc.set_threshold(_NEW_OBJECTS)
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not glibc
        return
    mallopt(_MMAP_THRESHOLD, _NEVER)
    mallopt(_TRIM_THRESHOLD, _NEVER)


def leave() -> None:
    """Omit the interpreter's last search for reference cycles before the process ends."""
    gc.freeze()
