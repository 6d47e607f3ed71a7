"""A view of a source's octets: a part of bounded size, moved from the beginning to the end of the source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from multitracer.parsers.shared.source import Source

VIEW_BYTES = 1 << 23
"""Two views, and what is noted of as many records as fit into them (34 octets each), take 53 MB. Each view costs a
dozen turns at the interpreter, and for a turn a thread waits for up to 5 ms while another one imports modules: with
4 MB, to read a capture of 800 MB took a tenth longer."""


class View:
    """`data` are the octets in view, read-only, of which the first is octet `start` of the source.

    `ended` says that no octets follow. Whoever has done with some of them moves the view; `data` then has others, in
    another buffer: those of the view before stay until it is moved again, so that one thread may work on them while
    another looks for records in the next. A record that does not end in view is looked at again with more of it: a
    view that has to keep more than half of its octets becomes larger. So a reader that limits the size of a record
    limits the memory, too.
    """

    def __init__(self, source: Source, octets: int = VIEW_BYTES) -> None:
        self.path = source.path
        self.file_bytes = source.file_bytes
        self.start = 0
        self.ended = False
        self._source, self._coming = source, source.pieces()
        self._waiting = memoryview(b"")
        self._buffer, self._spare = np.empty(octets, dtype=np.uint8), np.empty(octets, dtype=np.uint8)
        self._filled = 0
        self.move(0)

    @property
    def is_long(self) -> bool:
        """Whether the source is a file of more than one view."""
        return self.file_bytes > VIEW_BYTES

    @property
    def data(self) -> Any:
        """The octets in view, uint8."""
        data = self._buffer[: self._filled]
        data.flags.writeable = False
        return data

    def move(self, octets: int) -> None:
        """Leave so many octets behind, and take in what follows."""
        kept = self._buffer[octets : self._filled]
        size = len(self._buffer) * (2 if 2 * len(kept) > len(self._buffer) else 1)
        following = self._spare if len(self._spare) == size else np.empty(size, dtype=np.uint8)
        self._buffer, self._spare = following, self._buffer
        self._buffer[: len(kept)] = kept
        self.start, self._filled = self.start + octets, len(kept)
        while self._filled < len(self._buffer) and not self.ended:
            self._take()

    def _take(self) -> None:
        """Fill the buffer with what was read; a file that is not compressed is read into its place."""
        if not self._waiting and (count := self._source.into(self._buffer.data[self._filled :])):
            self._filled += count
            return
        self._waiting = self._waiting or memoryview(next(self._coming, b""))
        part = self._waiting[: len(self._buffer) - self._filled]
        self._buffer[self._filled : self._filled + len(part)] = np.frombuffer(part, dtype=np.uint8)
        self._waiting = self._waiting[len(part) :]
        self._filled += len(part)
        self.ended = not part
