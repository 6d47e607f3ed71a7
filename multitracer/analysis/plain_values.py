"""Conversion of NumPy values to Python's: of a document, or of columns to one dict per row.

A tree of columns describes nested dicts: it maps a name to a column, or to a tree with at least one
column. A column is an array of shape (rows,): of numbers, of bools, or of objects, which are Python values.
Unknown values are NaN in floats and None in objects.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

Tree: TypeAlias = dict[str, Any]

_PLAIN = frozenset({str, int, bool, type(None)})
"""Types of values that need no conversion."""


def dicts(tree: Tree) -> list[dict[str, Any]]:
    """One dict per row; filled column by column, which is fastest."""
    columns = {name: dicts(values) if isinstance(values, dict) else _values(values) for name, values in tree.items()}
    made: list[dict[str, Any]] = [{} for _ in next(iter(columns.values()))]
    for name, values in columns.items():
        for item, value in zip(made, values, strict=True):
            item[name] = value
    return made


def plain(value: Any) -> Any:
    """The value with NumPy scalars as Python's, NaN and infinity as None, tuples as lists; also when nested."""
    if type(value) in _PLAIN:
        return value
    if type(value) is float:
        return value if math.isfinite(value) else None
    if isinstance(value, dict):  # most items are plain: at a hundred thousand findings each call counts
        return {
            str(key): item if type(item) in _PLAIN or (type(item) is float and math.isfinite(item)) else plain(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _values(column: Any) -> list[Any]:
    """A column's values as Python's; NaN and infinity as None."""
    if column.dtype.kind == "f" and not np.isfinite(column).all():
        column = np.where(np.isfinite(column), column.astype(object), None)
    values: list[Any] = column.tolist()
    return values
