"""Python's own values from NumPy's: of a document, or of columns, a dict for each row.

A tree of columns describes dicts that hold others: under a name stands a column, or a tree of at least
one. A column is an array: of numbers or truths, or of objects, which are Python's own values. What is
unknown is not-a-number among floats, and None among objects.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

Tree: TypeAlias = dict[str, Any]


def dicts(tree: Tree) -> list[dict[str, Any]]:
    """A dict for each row; filled column by column, which takes the least time."""
    columns = {name: dicts(values) if isinstance(values, dict) else _values(values) for name, values in tree.items()}
    made: list[dict[str, Any]] = [{} for _ in next(iter(columns.values()))]
    for name, values in columns.items():
        for item, value in zip(made, values, strict=True):
            item[name] = value
    return made


def plain(value: Any) -> Any:
    """NumPy scalars as Python's, and not-a-number as None."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _values(column: Any) -> list[Any]:
    """A column's values as Python's; None for what is no number."""
    if column.dtype.kind == "f" and not np.isfinite(column).all():
        column = np.where(np.isfinite(column), column.astype(object), None)
    values: list[Any] = column.tolist()
    return values
