"""The directions of all connections: who sent, and which points captured it beside the sender and beside the receiver.

As columns, since a capture may hold two hundred thousand; a `Direction` is made of those that a detector looks at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

NOT_MEASURED = -1
"""No greatest round trip: all are then looked at."""


class Direction(NamedTuple):
    """One sender of one connection, and the points that captured its segments leaving and arriving (-1: none)."""

    connection: int
    sender: int
    sender_point: int
    receiver_point: int
    least_rtt_ns: int
    greatest_rtt_ns: int = NOT_MEASURED
    data_bytes: int = 0
    """How many octets it sent, each counted once."""


@dataclass(frozen=True, eq=False)
class Directions:
    """Directions as arrays named as the fields of Direction, an element each."""

    connection: Ints
    sender: Ints
    sender_point: Ints
    receiver_point: Ints
    least_rtt_ns: Ints
    greatest_rtt_ns: Ints
    data_bytes: Ints

    @classmethod
    def of(cls, given: Iterable[Direction]) -> Directions:
        """These directions as columns."""
        return cls(*np.array(list(given), dtype=np.int64).reshape(-1, len(Direction._fields)).T)

    def __len__(self) -> int:
        return len(self.connection)

    def __iter__(self) -> Iterator[Direction]:
        return self.at(slice(None))

    def at(self, rows: Any) -> Iterator[Direction]:
        """The directions of these rows."""
        return map(Direction, *(getattr(self, name)[rows].tolist() for name in Direction._fields))

    @cached_property
    def beside_sender(self) -> npt.NDArray[np.bool_]:
        """Which directions were captured beside their sender, with a round trip."""
        return (self.sender_point >= 0) & (self.least_rtt_ns > 0)

    @cached_property
    def beside_both(self) -> npt.NDArray[np.bool_]:
        """Which directions were captured both leaving and arriving."""
        return (self.sender_point >= 0) & (self.receiver_point >= 0)

    @cached_property
    def _row_of_end(self) -> Ints:
        row = np.full(2 * (int(self.connection.max(initial=-1)) + 1), -1)
        row[2 * self.connection + self.sender] = np.arange(len(self))
        return row

    def find(self, connection: int, sender: int) -> Direction | None:
        """The direction of what one end of a connection sent, None where nothing of it was captured."""
        end = 2 * connection + sender
        row = self._row_of_end[end] if 0 <= end < len(self._row_of_end) and sender in (0, 1) else -1
        return None if row < 0 else self._one(row)

    def _one(self, row: int) -> Direction:
        return Direction(*(int(getattr(self, name)[row]) for name in Direction._fields))

    @cached_property
    def main(self) -> Direction | None:
        """The direction with most data, None where there is none."""
        if not self.data_bytes.any():
            return None
        return self._one(int(self.data_bytes.argmax()))
