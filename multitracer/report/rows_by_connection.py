"""The rows of each connection in the tables that the panels draw, found once for all connections.

A page of a thousand connections asks for each of them: to look through whole tables every time would take as long as
connections times rows.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.compute.arrays import Columns, rows_of_each

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.model.analysis import Analysis


class Rows:
    """Some rows of a table: `rows["seq"]` is a column of them, an array."""

    def __init__(self, columns: Columns, rows: Any) -> None:
        self._columns = columns
        self.rows = rows
        """Their numbers in the table."""

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> Any:
        return self._columns[name][self.rows]

    def where(self, kept: Any) -> Rows:
        """Those of these rows of which `kept` is true."""
        return Rows(self._columns, self.rows[kept])


class RowsByConnection:
    """The rows of one table by the number of their connection; those of none are left out."""

    def __init__(self, table: pd.DataFrame, numbers: Any, count: int) -> None:
        self._columns = Columns(table)
        known = np.flatnonzero((numbers >= 0) & (numbers < count))
        self._rows = [known[rows] for rows in rows_of_each(numbers[known], count)] if count else []

    def __getitem__(self, number: int) -> Rows:
        return Rows(self._columns, self._rows[number])


class Tables:
    """The rows of each connection in each table."""

    def __init__(self, analysis: Analysis) -> None:
        self._tables = analysis.tables
        self._count = len(analysis.connections)

    @cached_property
    def segments(self) -> RowsByConnection:
        """Every record of a capture, at every point."""
        return self._by_own_number("segments")

    @cached_property
    def retransmissions(self) -> RowsByConnection:
        """What was sent again."""
        return self._by_own_number("retransmissions")

    @cached_property
    def tcp_state(self) -> RowsByConnection:
        """What hosts logged of their TCP."""
        return self._by_own_number("tcp_state")

    @cached_property
    def segment_frames(self) -> RowsByConnection:
        """The frames that carried each segment."""
        return self._by_own_number("segment_frames")

    @cached_property
    def sack(self) -> RowsByConnection:
        """The SACK blocks of acknowledgements."""
        table = self._tables["sack"]
        numbers = self._tables["segments"]["connection"].to_numpy()[table["segment"].to_numpy()]
        return RowsByConnection(table, numbers, self._count)

    def _by_own_number(self, name: str) -> RowsByConnection:
        table = self._tables[name]
        return RowsByConnection(table, table["connection"].to_numpy(), self._count)
