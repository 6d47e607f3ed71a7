"""Files on the disk: let the system begin to write them, and wait until they are there."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_below(folder: Path) -> None:
    """Wait until all files and folders in a folder, and itself, are on the disk.

    Writing of all files is begun before any is waited for: the file system puts them on the disk together, which takes
    about as long as one.
    """
    paths = [*folder.rglob("*"), folder]
    for path in paths:
        if path.is_file():
            with path.open("rb", buffering=0) as file:
                begin_writing(file, 0)
    for path in paths:
        sync(path)


def begin_writing(file: BinaryIO, start: int) -> None:
    """Let the system begin to write a file's octets from `start` on, but for those in a buffer of Python's.

    Linux does when they need not be kept in memory; it drops those that are on the disk already.
    """
    if hasattr(os, "posix_fadvise"):
        with suppress(OSError):  # a pipe, or a file system that cannot
            os.posix_fadvise(file.fileno(), start, 0, os.POSIX_FADV_DONTNEED)
