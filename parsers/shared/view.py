"""A view of a source's octets: a part of bounded size, moved from the beginning to the end of the source."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.parsers.shared.unpacking import PIECE_BYTES, Pieces

if TYPE_CHECKING:
    from multitracer.parsers.shared.source import Source

VIEW_BYTES = 1 << 24
"""Small enough for the memory, and large enough that the work for each view does not count."""


def ahead(pieces: Pieces) -> Pieces:
    """The pieces; while those of one view are worked on, a thread reads those of the next."""

    def take() -> list[bytes]:
        return list(itertools.islice(pieces, VIEW_BYTES // PIECE_BYTES))

    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(take)
        while taken := coming.result():
            coming = pool.submit(take)
            yield from taken


class View:
    """`data` are the octets in view, read-only, of which the first is octet `start` of the source.

    `ended` says that no octets follow. Whoever has done with some of them moves the view; `data` then has others. A
    record that does not end in view is looked at again with more of it: a view that has to keep more than half of its
    octets becomes larger. So a reader that limits the size of a record limits the memory, too.
    """

    def __init__(self, source: Source, octets: int = VIEW_BYTES) -> None:
        self.path = source.path
        self.file_bytes = source.file_bytes
        self.start = 0
        self.ended = False
        # Of a pipe nothing is read before it is asked for: it may never come.
        self._coming = ahead(source.pieces()) if source.file_bytes > VIEW_BYTES else source.pieces()
        self._waiting = memoryview(b"")
        self._buffer = np.empty(octets, dtype=np.uint8)
        self._filled = 0
        self.move(0)

    @property
    def data(self) -> Any:
        """The octets in view, uint8."""
        data = self._buffer[: self._filled]
        data.flags.writeable = False
        return data

    def move(self, octets: int) -> None:
        """Leave so many octets behind, and take in what follows."""
        kept = self._buffer[octets : self._filled]
        if 2 * len(kept) > len(self._buffer):
            self._buffer = np.empty(2 * len(self._buffer), dtype=np.uint8)
        self._buffer[: len(kept)] = kept
        self.start, self._filled = self.start + octets, len(kept)
        while self._filled < len(self._buffer) and not self.ended:
            self._waiting = self._waiting or memoryview(next(self._coming, b""))
            self._take()

    def _take(self) -> None:
        """Fill the buffer with what was read."""
        part = self._waiting[: len(self._buffer) - self._filled]
        self._buffer[self._filled : self._filled + len(part)] = np.frombuffer(part, dtype=np.uint8)
        self._waiting = self._waiting[len(part) :]
        self._filled += len(part)
        self.ended = not part
