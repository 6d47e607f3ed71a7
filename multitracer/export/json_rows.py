"""JSON: of any value, or at once of columns, a line for each row (see `analysis.plain_values` for the columns)."""

from __future__ import annotations

import json
from itertools import chain, repeat
from typing import Any

import numpy as np
import orjson

from multitracer.analysis.plain_values import Tree, plain


def lines(tree: Tree) -> list[bytes]:
    """A JSON text for each row, put together from the columns' texts: a dict for each would take twice as long."""
    columns, end = _texts(tree, b"{")
    pieces = chain.from_iterable((repeat(before, len(texts)), texts) for before, texts in columns)
    return [b"".join(row) + end for row in zip(*pieces, strict=True)]


def to_json(value: Any) -> bytes:
    """A value as JSON; not-a-number is null."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:  # a file's name may hold octets that are no text (PEP 383): json escapes them
        return json.dumps(plain(value), allow_nan=False, separators=(",", ":")).encode()


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
