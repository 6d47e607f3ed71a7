"""Settings of the garbage collector and of libraries' threads for one command, set once by the command line."""

from __future__ import annotations

import gc
import os

_NEW_OBJECTS = 2_000_000
"""A hundred thousand findings are a million: each search among those takes a twentieth of a second."""
_THREADS_OF_OPENBLAS = {"OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"}
"""Each says how many threads OpenBLAS uses, the first one above the others."""


def settle() -> None:
    """Tune the interpreter for a process that runs one command and ends; to be called before NumPy is imported.

    Reference cycles are few, and by default the collector searches for them at every 700th new object, which takes a
    tenth of the time. Only small matrices are multiplied here: the threads that OpenBLAS starts with NumPy, one for
    each further processor, would do nothing but poll for work, which takes that processor for a tenth of a second.
    """
    gc.set_threshold(_NEW_OBJECTS)
    if not _THREADS_OF_OPENBLAS & os.environ.keys():
        os.environ["OPENBLAS_NUM_THREADS"] = "1"


def search_rarely() -> tuple[int, int, int]:
    """Search for reference cycles as rarely as a command does, for what makes many objects; how often it was before."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], _NEW_OBJECTS) if before[0] else 0)  # 0: never
    return before


def search_as_before(before: tuple[int, int, int]) -> None:
    """Search as often as before."""
    gc.set_threshold(*before)


def leave() -> None:
    """Omit the interpreter's last search for reference cycles before the process ends."""
    gc.freeze()
