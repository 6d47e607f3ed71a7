"""JSON of a value, or of columns with one text per row (see `analysis.plain_values` for trees of columns)."""

from __future__ import annotations

import json
from itertools import chain, repeat
from typing import Any

import numpy as np
import orjson

from multitracer.analysis.plain_values import Tree, plain


def lines(tree: Tree) -> list[bytes]:
    """The JSON text of each row, concatenated from the columns' texts: a dict per row would take twice as long."""
    columns, end = _texts(tree, b"{")
    pieces = chain.from_iterable((repeat(before, len(texts)), texts) for before, texts in columns)
    return [b"".join(row) + end for row in zip(*pieces, strict=True)]


def to_json(value: Any) -> bytes:
    """A value as JSON; NaN is null."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:  # file names may contain octets that are not UTF-8 (PEP 383); json escapes them
        return json.dumps(plain(value), allow_nan=False, separators=(",", ":")).encode()


def _texts(tree: Tree, before: bytes) -> tuple[list[tuple[bytes, list[bytes]]], bytes]:
    """(Text before the value, texts of the values) of each column, the first beginning with `before`; the row's end."""
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
        return _object_texts(column.tolist())
    numbers = orjson.dumps(np.ascontiguousarray(column), option=orjson.OPT_SERIALIZE_NUMPY)
    return numbers[1:-1].split(b",") if len(column) else []


def _object_texts(values: list[Any]) -> list[bytes]:
    """The texts of Python's values; those of nothing but names, or of nothing at all, without a call for each."""
    kinds = set(map(type, values))
    if kinds == {type(None)}:
        return [b"null"] * len(values)
    if kinds == {str}:
        joined = to_json(values)
        if b"\\" not in joined:  # no quotation mark is escaped, so that each ends a name
            return [b'"' + text + b'"' for text in joined[2:-2].split(b'","')]
    return list(map(to_json, values))
