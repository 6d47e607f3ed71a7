"""How the process holds its memory, set once by the command line."""

from __future__ import annotations

import ctypes
import gc
import os
import struct
from collections.abc import Iterable
from pathlib import Path
from threading import Thread

_NEW_OBJECTS = 500_000
# mallopt(3) and madvise(2) of Linux.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_NEVER = 2**31 - 1
_HUGE_PAGES = 14
_PAGE_BYTES = 4096

_PCAP_MAGICS = (0xA1B2C3D4, 0xA1B23C4D)
_PEEK_BYTES = 1 << 16
_BYTES_A_PACKET = 50
"""Of what an analysis holds of a captured packet: as much as there is time to clear meanwhile."""
_WORTH_IT = 100 << 20
_GREATEST_SHARE = 4
"""At most one part in so many of the free memory is made ready."""


def settle() -> None:
    """Suit one command that fills many large arrays and ends.

    What one array frees the next one takes: glibc gives arrays of over 32 MB back at once, and each
    page that the system hands out anew is cleared first, which on virtual machines takes longer
    than filling it. Rings of objects are few, and looking for them at every 700th new object costs
    a tenth of the time.
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


def make_ready(paths: Iterable[str]) -> None:
    """Have the memory that large captures will need cleared by another thread while modules are loaded.

    That is before NumPy is: with it come threads of OpenBLAS, for products of matrices that no analysis
    makes, which would keep the other processor busy with waiting.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    need = sum(_needed(path) for path in paths)
    if need < _WORTH_IT:
        return
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        library = ctypes.CDLL(None)
        library.malloc.restype = ctypes.c_void_p
    except (AttributeError, OSError, TypeError, ValueError):
        return
    size = min(need, free // _GREATEST_SHARE)
    block = library.malloc(ctypes.c_size_t(size))  # here: another thread would get a heap of its own
    if block:
        Thread(target=_clear, args=(library, block, size), daemon=True).start()


def _needed(path: str) -> int:
    """What a capture will need, by the records that it begins with; 0 for all that is no pcap file."""
    try:
        size = Path(path).stat().st_size
        if size < _WORTH_IT:
            return 0
        with Path(path).open("rb") as file:
            head = file.read(_PEEK_BYTES)
    except OSError:
        return 0
    magic = head[:4].ljust(4, b"\0")
    order = next((order for order in "<>" if struct.unpack(f"{order}I", magic)[0] in _PCAP_MAGICS), None)
    at, count = 24, 0
    while order and at + 16 <= len(head):
        at += 16 + struct.unpack_from(f"{order}I", head, at + 8)[0]
        count += 1
    return size * count // at * _BYTES_A_PACKET


def _clear(library: ctypes.CDLL, block: int, size: int) -> None:
    """Touch a block of the heap, and leave it to the heap (`settle` keeps it there)."""
    begin = -(-block // _PAGE_BYTES) * _PAGE_BYTES
    library.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(size - _PAGE_BYTES), _HUGE_PAGES)
    ctypes.memset(block, 0, size)  # other threads go on meanwhile
    library.free(ctypes.c_void_p(block))
