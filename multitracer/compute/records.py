"""Plain Python objects in place of NumPy's records, for kernels that run as plain Python.

A kernel reads and writes `record.name` and `table[row].name`. In plain Python the attributes of NumPy's records are
some forty times slower than those of ordinary objects, so a plain kernel gets ordinary objects, and what it wrote is
copied back afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, TypeAlias

import numpy as np


class PlainRecord:
    """A record's fields as plain Python numbers; `write_back` copies them back."""

    def __init__(self, source: Any) -> None:
        self._source = source
        if _holds_numbers_only(source.dtype):  # of all fields at once: tables of thousands of these are cleared
            self._read = dict(zip(source.dtype.names, source.item(), strict=True))
        else:
            self._read = {name: _plain_field(source[name]) for name in source.dtype.names}
        vars(self).update(self._read)

    def write_back(self) -> None:
        """Copy the fields that were written back into the record."""
        for name, read in self._read.items():
            value = getattr(self, name)
            if isinstance(value, PlainRecord | PlainTable):
                value.write_back()
            elif value is not read:
                self._source[name] = value

    def part(self, value: Any) -> Plain | None:
        """This record, or the record or table within it, that has the memory of `value`; None if there is none."""
        if _is_same(self._source, value):
            return self
        for each in vars(self).values():
            if isinstance(each, PlainRecord | PlainTable) and _overlap(each._source, value):
                return each.part(value)
        return None


@cache
def _holds_numbers_only(kind: np.dtype[Any]) -> bool:
    """Whether a record has neither records nor arrays in it."""
    return all(kind[name].names is None and not kind[name].shape for name in kind.names or ())


def _plain_field(value: Any) -> Any:
    return plain(value) if isinstance(value, np.ndarray | np.record) else value.item()


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

    def part(self, value: Any) -> Plain | None:
        """This table, or the record or table within it, that has the memory of `value`; None if there is none."""
        if _is_same(self._source, value):
            return self
        offset = _memory(value)[0] - _memory(self._source)[0]
        if offset < 0:
            return None
        at = []
        for stride in self._source.strides:  # of a table in C order: the largest first
            number, offset = divmod(offset, stride)
            at.append(number)
        return self[at[0] if len(at) == 1 else tuple(at)].part(value)


Plain: TypeAlias = PlainRecord | PlainTable


def plain(value: Any) -> Any:
    """The plain object for a record or a table; any other array unchanged."""
    if isinstance(value, np.record):
        return PlainRecord(value)
    return PlainTable(value) if value.dtype.names else value


class PlainArguments:
    """Arguments for a kernel that runs as plain Python; `write_back` copies what it wrote to the original arrays.

    An argument that is a part of another becomes the same part of the other's plain object, so that a kernel sees
    through each what it writes through the other, as compiled code does. Arguments that overlap in another way are
    an error. Not seen is an overlap of a table with an array of one of its columns.
    """

    def __init__(self, arguments: Iterable[Any]) -> None:
        arguments = tuple(arguments)
        self._whole: list[Plain] = []
        self._made: dict[int, Plain] = {}
        for value in sorted(_records(arguments), key=lambda value: -value.nbytes):
            found = self._part(value)
            self._made[id(value)] = self._add(value) if found is None else found
        self.arguments = tuple(map(self._plain, arguments))

    def write_back(self) -> None:
        """Copy all fields back into the records and tables."""
        for value in self._whole:
            value.write_back()

    def _part(self, value: Any) -> Plain | None:
        for whole in self._whole:
            if _overlap(whole._source, value):
                found = whole.part(value)
                if found is None:
                    raise ValueError("two arguments of a kernel overlap, and neither is a field or a row of the other")
                return found
        return None

    def _add(self, value: Any) -> Plain:
        made: Plain = plain(value)
        self._whole.append(made)
        return made

    def _plain(self, value: Any) -> Any:
        if id(value) in self._made:
            return self._made[id(value)]
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(self._plain, value))
        return value


def _records(values: Iterable[Any]) -> Iterator[Any]:
    """The records and tables among some arguments, also those in named tuples."""
    for value in values:
        if isinstance(value, np.record) or (isinstance(value, np.ndarray) and value.dtype.names):
            yield value
        elif isinstance(value, tuple) and hasattr(value, "_fields"):
            yield from _records(value)


def _is_same(one: Any, other: Any) -> bool:
    """Whether two records or tables are views of the same memory as the same type and shape."""
    return (
        isinstance(one, np.void) == isinstance(other, np.void)
        and _memory(one) == _memory(other)
        and one.shape == other.shape
        and one.dtype == other.dtype
    )


def _memory(value: Any) -> tuple[int, int]:
    """The addresses of the first octet of a record or table and of the octet after its last; no stride is negative."""
    first = value.__array_interface__["data"][0]
    steps = sum((count - 1) * stride for count, stride in zip(value.shape, value.strides, strict=True))
    return first, first + steps + value.itemsize


def _overlap(one: Any, other: Any) -> bool:
    """Whether two records or tables have memory in common; what is empty has none."""
    (first, end), (other_first, other_end) = _memory(one), _memory(other)
    return first < other_end and other_first < end and bool(one.size) and bool(other.size)
