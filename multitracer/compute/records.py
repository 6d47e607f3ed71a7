"""State of a machine in named fields: records and tables of records, as kernels read and write them.

A field is an `int64`; an element of a table is a record, `table[i].name`. Compiled, a record is one pointer. Kernels
that run as plain Python get `PlainRecord` and `PlainTable` in their place, because attributes of NumPy's records are
some forty times slower there than those of Python's objects.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


def integers(*names: str) -> np.dtype[Any]:
    """The type of a record with these fields."""
    return np.dtype((np.record, np.dtype([(name, np.int64) for name in names], align=True)))


def record(kind: np.dtype[Any]) -> Any:
    """A record, all its fields 0."""
    return np.zeros(1, kind)[0]


def table(rows: int, kind: np.dtype[Any]) -> Any:
    """A table of so many records, all their fields 0."""
    return np.zeros(rows, kind)


def numbers(source: Any) -> dict[str, int]:
    """A record's fields by name."""
    return dict(zip(source.dtype.names, source.item(), strict=True))


class PlainRecord:
    """A record's fields as plain Python numbers, until `write_back`."""

    def __init__(self, source: Any) -> None:
        self.__dict__ = numbers(source)

    def values(self) -> tuple[int, ...]:
        """All fields in their order."""
        return tuple(self.__dict__.values())


class PlainTable:
    """A table whose records become plain ones when they are first looked at."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self._rows: dict[int, PlainRecord] = {}

    def __len__(self) -> int:
        return len(self._source)

    def __getitem__(self, at: int) -> PlainRecord:
        row = self._rows.get(at)
        if row is None:
            if at < 0:
                raise IndexError(f"{at} counts from the end, which kernels do not")
            row = self._rows[at] = PlainRecord(self._source[at])
        return row

    def write_back(self) -> None:
        """Put the records looked at into the array."""
        for at, row in self._rows.items():
            self._source[at] = row.values()


class PlainArguments:
    """Arguments for a kernel that runs as plain Python; `write_back` puts what it wrote where it belongs."""

    def __init__(self, arguments: Iterable[Any]) -> None:
        self._records: dict[int, tuple[Any, PlainRecord]] = {}
        self._tables: dict[int, PlainTable] = {}
        self.arguments = tuple(self._plain(argument) for argument in arguments)

    def _plain(self, value: Any) -> Any:
        if isinstance(value, np.record):
            address = value.__array_interface__["data"][0]
            return self._records.setdefault(address, (value, PlainRecord(value)))[1]
        if isinstance(value, np.ndarray) and value.dtype.names:
            return self._tables.setdefault(id(value), PlainTable(value))
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(self._plain, value))
        return value

    def write_back(self) -> None:
        """Put all fields back into the records and tables."""
        for source, plain in self._records.values():
            for name, value in plain.__dict__.items():
                source[name] = value
        for table in self._tables.values():
            table.write_back()
