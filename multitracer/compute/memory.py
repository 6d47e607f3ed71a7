"""How one command holds its memory, set once by the command line."""

from __future__ import annotations

import ctypes
import gc

_NEW_OBJECTS = 500_000
# mallopt(3) of Linux.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_NEVER = 2**31 - 1


def settle() -> None:
    """Suit a process that runs one command and ends.

    Rings of objects are few, and looking for them at every 700th new object costs a tenth of the time. What one large
    array frees the next one takes: glibc gives arrays of over 32 MB back to the system at once, which clears each page
    before it hands it out again.
    """
    gc.set_threshold(_NEW_OBJECTS)
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not glibc
        return
    mallopt(_MMAP_THRESHOLD, _NEVER)
    mallopt(_TRIM_THRESHOLD, _NEVER)


def leave() -> None:
    """Spare the interpreter its last search for rings of objects: the process ends."""
    gc.freeze()
