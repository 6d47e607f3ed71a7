"""The records of a capture as its format's reader finds them, a view at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.compute.threads import ahead
from multitracer.parsers.shared.lines import Losses

if TYPE_CHECKING:
    from multitracer.parsers.shared.view import View

INBOUND, OUTBOUND = 1, 2


@dataclass
class Records:
    """The records in a view, in arrays of one element a record, which those of the view after the next overwrite.

    `offset` is where a record's octets begin in `data`, the view, which itself begins at octet `start` of the file;
    `captured` is how many there are, `original` how many were on the wire; `number` counts the file's records from 1.
    `link_types` has the link type of each interface that was described so far.
    """

    data: Any
    offset: Any
    captured: Any
    original: Any
    time_ns: Any
    interface: Any
    number: Any
    link_types: list[int]
    start: int = 0
    file_bytes: int = 0
    """The size of the file, 0 if it is none or not known: how many records may follow."""

    direction_at: Callable[[Any, int], int] | None = None
    """By octets in view, and where a record's begin: which way the file says that it went, if it says so."""

    @property
    def read(self) -> int:
        """How many octets of the file are read with this view."""
        return self.start + len(self.data)

    def octets(self, row: int) -> bytes:
        """What was captured of a record."""
        start = int(self.offset[row])
        return bytes(self.data[start : start + int(self.captured[row])])

    def link_type(self, row: int) -> int:
        """The link type of a record's interface."""
        return self.link_types[int(self.interface[row])]

    def direction(self, row: int) -> int:
        """INBOUND, OUTBOUND, or 0 where the file does not say which way a record went."""
        return self.direction_at(self.data, int(self.offset[row])) if self.direction_at else 0


@dataclass
class Capture:
    """A capture that is read: `pieces` gives its records, and what is lost, and described, is known at their end."""

    path: str
    link_types: list[int]
    pieces: Iterator[Records] = field(default_factory=lambda: iter(()))
    losses: Losses = field(default_factory=Losses)
    complete: bool = True
    is_long: bool = False
    """Whether it is a file that is longer than a view."""

    def pieces_ahead(self) -> Iterator[Records]:
        """The pieces; while one is worked on, a thread finds the records of the next.

        Of a pipe nothing is read before it is asked for: it may never come.
        """
        return ahead(self.pieces) if self.is_long else self.pieces


class RecordColumns:
    """Arrays for the records of a view, used again for the one after the next."""

    def __init__(self, size: int) -> None:
        self._before: RecordColumns | None = None
        self.offset, self.time = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
        self.captured, self.original = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
        self.interface = np.zeros(size, dtype=np.int16)

    def of_next(self, size: int) -> RecordColumns:
        """Arrays with so many elements for the next view; those of this view stay until the one after it."""
        kept, self._before = self._before, None
        following = kept if kept and len(kept.offset) >= size else RecordColumns(size)
        following._before = self
        return following

    def records(self, view: View, before: int, count: int, link_types: list[int]) -> Records:
        """The first `count` records, which come after the `before` ones of earlier views."""
        number = np.arange(before + 1, before + count + 1, dtype=np.int64)
        return Records(
            view.data, self.offset[:count], self.captured[:count], self.original[:count], self.time[:count],
            self.interface[:count], number, link_types, view.start, view.file_bytes,
        )  # fmt: skip
