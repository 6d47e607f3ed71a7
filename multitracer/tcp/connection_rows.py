"""Rows of the segments table grouped by connection and observation point."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.compute.threads import concurrently, shares
from multitracer.model.schema import MARKS
from multitracer.tcp.packed_rows import pack_rows

if TYPE_CHECKING:
    import pandas as pd

_CAPTURED_TWICE = MARKS["captured_twice"]


class Groups:
    """Rows by connection and point, in capture order, without those captured twice.

    `order[starts[g] : starts[g + 1]]` are the rows of group g, which is number(connection, point), and the same
    elements of `words` are their packed words. The arrays are computed on first use.
    """

    def __init__(self, segments: pd.DataFrame, connections: int) -> None:
        self._segments = segments
        self._connection, self._point = segments["connection"].to_numpy(), segments["point"].to_numpy()
        self._marks = segments["marks"].to_numpy()
        self._connections = connections
        self.points = int(self._point.max(initial=0)) + 1
        # A share has a count per group: fewer shares when groups are many, so that counts take no more room than rows.
        self.shares = shares(len(segments), len(segments) // max(1, connections * self.points))

    @cached_property
    def _counts(self) -> Any:
        """Number of rows per share of the segments and group, shape (shares, groups)."""
        counts = np.zeros((len(self.shares), self._connections * self.points), dtype=np.int64)

        def count(part: int) -> None:
            rows = self.shares[part]
            count_rows(
                self._connection[rows], self._point[rows], self._marks[rows], _CAPTURED_TWICE, self.points, counts[part]
            )

        concurrently(count, range(len(self.shares)))
        return counts

    @cached_property
    def starts(self) -> Any:
        """First position of each group's rows in `order`, and the end of the last; shape (groups + 1,)."""
        starts = np.zeros(self._connections * self.points + 1, dtype=np.int64)
        np.cumsum(self._counts.sum(axis=0), out=starts[1:])
        return starts

    @cached_property
    def order(self) -> Any:
        """Row numbers, group by group, int32."""
        order = np.empty(self.starts[-1], dtype=np.int32)

        def fill(part: tuple[slice, Any]) -> None:
            rows, position = part
            group_rows(
                self._connection[rows], self._point[rows], self._marks[rows], _CAPTURED_TWICE, self.points, rows.start,
                position, order,
            )  # fmt: skip

        concurrently(fill, self._write_positions())
        return order

    @cached_property
    def words(self) -> Any:
        """The packed word (`packed_rows`) of each row in `order`, int64."""
        names = ("connection", "point", "sender", "flags", "options", "payload_bytes", "marks")
        columns = [self._segments[name].to_numpy() for name in names]
        words = np.empty(self.starts[-1], dtype=np.int64)

        def pack(part: tuple[slice, Any]) -> None:
            rows, position = part
            mine = (column[rows] for column in columns)
            pack_rows(*mine, MARKS["retransmission"], _CAPTURED_TWICE, self.points, position, words)

        concurrently(pack, self._write_positions())
        return words

    def marked(self, segments: pd.DataFrame) -> Groups:
        """The same groups, of segments with other marks; `captured_twice`, which decides the order, is unchanged."""
        groups = copy.copy(self)
        groups._segments, groups._marks = segments, segments["marks"].to_numpy()
        groups.__dict__.pop("words", None)
        return groups

    def _write_positions(self) -> list[tuple[slice, Any]]:
        """Shares of the rows for parallel threads, each with the position in `order` of every group's first row."""
        before = np.cumsum(self._counts, axis=0) - self._counts
        return list(zip(self.shares, before + self.starts[:-1], strict=True))

    def number(self, connection: Any, point: Any) -> Any:
        """The group of a connection at a point."""
        return connection * self.points + point

    def ranges(self, connection: Any, point: Any) -> tuple[Any, Any, Any]:
        """`order`, and where the rows of each connection at a point begin and end in it; none at an unknown point."""
        known = (point >= 0) & (point < self.points)
        group = np.where(known, self.number(connection, point), 0)
        begin = self.starts[group]
        return self.order, begin, np.where(known, self.starts[group + 1], begin)

    def rows(self, connection: int, point: int) -> Any:
        """The rows of a connection at a point; empty for a point that does not exist."""
        if not 0 <= point < self.points:
            return self.order[:0]
        group = self.number(connection, point)
        return self.order[self.starts[group] : self.starts[group + 1]]


@kernel
def count_rows(connection: Any, point: Any, marks: Any, skip: int, points: int, counts: Any) -> None:
    """Count the rows of each group."""
    for row in range(len(connection)):
        if connection[row] >= 0 and not marks[row] & skip:
            counts[np.int64(connection[row]) * points + point[row]] += 1


@kernel
def group_rows(
    connection: Any, point: Any, marks: Any, skip: int, points: int, first: int, position: Any, order: Any
) -> None:  # fmt: skip
    """Write row numbers, counted from `first`, group by group.

    `position` is the next free place in `order` per group, and advances.
    """
    for row in range(len(connection)):
        if connection[row] >= 0 and not marks[row] & skip:
            group = np.int64(connection[row]) * points + point[row]
            order[position[group]] = first + row
            position[group] += 1
