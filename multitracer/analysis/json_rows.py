"""The items of a list, from columns of their values: as dicts, or at once as lines of JSON.

A tree of columns describes items that hold others: under a name stands a column, or a tree of at least
one. A column is an array: of numbers or truths, or of objects, which are Python's own values. What is
unknown is not-a-number among floats, and None among objects.
"""

from __future__ import annotations

import json
import math
from itertools import chain, repeat
from typing import Any, TypeAlias

import numpy as np
import orjson

Tree: TypeAlias = dict[str, Any]


def dicts(tree: Tree) -> list[dict[str, Any]]:
    """An item for each row, of Python's own values; filled column by column, which takes the least time."""
    columns = {name: dicts(values) if isinstance(values, dict) else _values(values) for name, values in tree.items()}
    made: list[dict[str, Any]] = [{} for _ in next(iter(columns.values()))]
    for name, values in columns.items():
        for item, value in zip(made, values, strict=True):
            item[name] = value
    return made


def lines(tree: Tree) -> list[bytes]:
    """The JSON text of each of `dicts`, made of its columns' texts: items in between would take twice as long."""
    columns, end = _texts(tree, b"{")
    pieces = chain.from_iterable((repeat(before, len(texts)), texts) for before, texts in columns)
    return [b"".join(row) + end for row in zip(*pieces, strict=True)]


def to_json(value: Any) -> bytes:
    """A value as JSON; not-a-number is null."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:  # a file's name may hold octets that are no text (PEP 383): json escapes them
        return json.dumps(plain(value), allow_nan=False, separators=(",", ":")).encode()


def plain(value: Any) -> Any:
    """NumPy scalars as Python's, and not-a-number as null."""
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


def _texts(tree: Tree, before: bytes) -> tuple[list[tuple[bytes, list[bytes]]], bytes]:
    """Each column's texts with what stands before them in every line, the first time `before`; and the line's end."""
    found = []
    for name, values in tree.items():
        before += to_json(name) + b":"
        if isinstance(values, dict):
            inner, before = _texts(values, before + b"{")
            found += inner
        else:
            found.append((before, _column_texts(values)))
            before = b""
        before += b","
    return found, before.removesuffix(b",") + b"}"


def _column_texts(column: Any) -> list[bytes]:
    if column.dtype == object:
        return list(map(to_json, column.tolist()))
    numbers = orjson.dumps(np.ascontiguousarray(column), option=orjson.OPT_SERIALIZE_NUMPY)
    return numbers[1:-1].split(b",") if len(column) else []
