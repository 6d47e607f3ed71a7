"""State in named fields: NumPy records and tables of them, read and written alike by compiled and by plain kernels.

A record is one pointer in a call, an array is seven words; so an entity's numbers stand in one record, and
only what grows with a parameter in arrays beside it. Each dtype is compiled for: none depends on a parameter.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

NEVER = 2**62
"""A time (ns) that does not come."""


def numbers(*names: str) -> Any:
    """A dtype of int64 fields with these names, separated by spaces or one by one."""
    return dtype([(name, np.int64) for words in names for name in words.split()])


def dtype(fields: Iterable[tuple[Any, ...]]) -> Any:
    """A dtype of (name, dtype) or (name, dtype, shape) fields; the rows of its tables are records.

    In plain Python a field that is called like an attribute of every record (`size`, `data`) would be hidden by it.
    """
    made = np.dtype(list(fields), align=True)
    hidden = [name for name in made.names or () if hasattr(np.record, name)]
    if hidden:
        raise ValueError(f"fields cannot be called {', '.join(hidden)}")
    return np.dtype((np.record, made))


def joined(*parts: Any, tables: Iterable[tuple[Any, ...]] = ()) -> Any:
    """A dtype of the fields of several, and of more."""
    return dtype([*((name, part.fields[name][0]) for part in parts for name in part.names), *tables])


def record(dtype: Any) -> Any:
    """A record of zeros."""
    return np.zeros(1, dtype=dtype)[0]


def table(shape: int | tuple[int, ...], dtype: Any) -> Any:
    """A table of zeros; its rows are records."""
    return np.zeros(shape, dtype=dtype)


def codes(count: int, first: int = 0) -> list[Any]:
    """Numbers from `first` on that a kernel can be given by name: for each plain int it would be compiled anew."""
    return [np.int64(number) for number in range(first, first + count)]
