"""Which rows of the segments table belong to each connection, at each observation point."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.compute.threads import concurrently, shares
from multitracer.model.schema import MARKS

if TYPE_CHECKING:
    import pandas as pd

_TWICE = MARKS["captured_twice"]


class Groups:
    """Rows by connection and point, in capture order; copies captured twice are left out.

    `order[starts[g] : starts[g + 1]]` are the rows of group g, which is number(connection, point). They are
    found when they are first asked for.
    """

    def __init__(self, segments: pd.DataFrame, connections: int) -> None:
        self._connection, self._point = segments["connection"].to_numpy(), segments["point"].to_numpy()
        self._marks = segments["marks"].to_numpy()
        self._connections = connections
        self.points = int(self._point.max(initial=0)) + 1
        # Each share counts every group: that takes no more memory than the rows do.
        self.shares = shares(len(segments), len(segments) // max(1, connections * self.points))

    @cached_property
    def _counts(self) -> Any:
        """How many rows each share of the segments has of each group, shape (shares, groups)."""
        counts = np.zeros((len(self.shares), self._connections * self.points), dtype=np.int64)

        def count(part: int) -> None:
            rows = self.shares[part]
            count_rows(
                self._connection[rows], self._point[rows], self._marks[rows], _TWICE, self.points, counts[part]
            )

        concurrently(count, range(len(self.shares)))
        return counts

    @cached_property
    def starts(self) -> Any:
        """Where each group's rows begin in `order`, and where the last one's end."""
        starts = np.zeros(self._connections * self.points + 1, dtype=np.int64)
        np.cumsum(self._counts.sum(axis=0), out=starts[1:])
        return starts

    @cached_property
    def order(self) -> Any:
        """The rows, group by group."""
        order = np.empty(self.starts[-1], dtype=np.int32)

        def fill(part: tuple[slice, Any]) -> None:
            rows, place = part
            place_rows(
                self._connection[rows], self._point[rows], self._marks[rows], _TWICE, self.points, rows.start, place,
                order,
            )  # fmt: skip

        concurrently(fill, self.places())
        return order

    def places(self) -> list[tuple[slice, Any]]:
        """Shares of the rows that threads can go through side by side, and where in `order` each group's begin."""
        before = np.cumsum(self._counts, axis=0) - self._counts
        return list(zip(self.shares, before + self.starts[:-1], strict=True))

    def number(self, connection: Any, point: Any) -> Any:
        """The group of a connection at a point."""
        return connection * self.points + point

    def rows(self, connection: int, point: int) -> Any:
        """The rows of a connection at a point; none for a point that is nowhere."""
        if not 0 <= point < self.points:
            return self.order[:0]
        group = self.number(connection, point)
        return self.order[self.starts[group] : self.starts[group + 1]]


@kernel
def count_rows(connection: Any, point: Any, marks: Any, skip: int, points: int, counts: Any) -> None:
    """Count each group's rows."""
    for row in range(len(connection)):
        if connection[row] >= 0 and not marks[row] & skip:
            counts[np.int64(connection[row]) * points + point[row]] += 1


@kernel
def place_rows(
    connection: Any, point: Any, marks: Any, skip: int, points: int, first: int, place: Any, order: Any
) -> None:  # fmt: skip
    """Put each group's rows, numbered from `first` on, together; `place` is where each begins, and moves on."""
    for row in range(len(connection)):
        if connection[row] >= 0 and not marks[row] & skip:
            group = np.int64(connection[row]) * points + point[row]
            order[place[group]] = first + row
            place[group] += 1
