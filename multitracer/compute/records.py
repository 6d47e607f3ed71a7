"""Plain Python objects in place of NumPy's records, for kernels that run as plain Python.

A kernel reads and writes `record.name` and `table[row].name`. In plain Python the attributes of NumPy's records are
some forty times slower than those of ordinary objects, so a plain kernel gets ordinary objects, and what it wrote is
copied back afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


class PlainRecord:
    """A record's fields as plain Python numbers; `write_back` copies them back."""

    def __init__(self, source: Any) -> None:
        self._source = source
        for name in source.dtype.names:
            value = source[name]
            setattr(self, name, plain(value) if isinstance(value, np.ndarray | np.record) else value.item())

    def write_back(self) -> None:
        """Copy all fields back into the record."""
        for name in self._source.dtype.names:
            value = getattr(self, name)
            if isinstance(value, PlainRecord | PlainTable):
                value.write_back()
            elif not isinstance(value, np.ndarray):
                self._source[name] = value


class PlainTable:
    """A table whose records become plain ones when they are first accessed."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self._rows: dict[Any, PlainRecord] = {}
        self.shape = source.shape

    def __len__(self) -> int:
        return len(self._source)

    def __getitem__(self, at: Any) -> PlainRecord:
        row = self._rows.get(at)
        if row is None:
            if isinstance(at, int) and at < 0:
                raise IndexError(f"{at} counts from the end, which kernels do not")
            row = self._rows[at] = PlainRecord(self._source[at])
        return row

    def write_back(self) -> None:
        """Copy the accessed records back into the table."""
        for row in self._rows.values():
            row.write_back()


def plain(value: Any) -> Any:
    """The plain object for a record or a table; any other array unchanged."""
    if isinstance(value, np.record):
        return PlainRecord(value)
    return PlainTable(value) if value.dtype.names else value


class PlainArguments:
    """Arguments for a kernel that runs as plain Python; `write_back` copies what it wrote to the original arrays."""

    def __init__(self, arguments: Iterable[Any]) -> None:
        self._made: dict[tuple[int, str], Any] = {}
        self.arguments = tuple(self._plain(argument) for argument in arguments)

    def _plain(self, value: Any) -> Any:
        if isinstance(value, np.record) or (isinstance(value, np.ndarray) and value.dtype.names):
            # Two arguments that share memory, as when a test passes both an entity and a part of it, become one object.
            key = value.__array_interface__["data"][0], str(type(value)) + str(id(value.dtype))
            if key not in self._made:
                self._made[key] = plain(value)
            return self._made[key]
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(self._plain, value))
        return value

    def write_back(self) -> None:
        """Copy all fields back into the records and tables."""
        for value in self._made.values():
            value.write_back()
