"""JSON of a value, or of columns with one text per row (see `analysis.plain_values` for trees of columns)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import repeat
from typing import Any

import numpy as np
import orjson

from multitracer.analysis.plain_values import Tree, plain


def lines(tree: Tree) -> list[bytes]:
    """The JSON text of each row, concatenated from the columns' texts: a dict per row would take twice as long."""
    columns, end = _columns(tree, b"{")
    rows, before = len(columns[0][1]), b""
    pieces: list[Iterable[bytes]] = []
    for name, column in columns:
        before += name
        if _is_constant(column):
            before += b"".join(_texts(column[:1]))
        else:
            pieces += [repeat(before, rows), _texts(column)]
            before = b""
    return list(map(b"".join, zip(*pieces, repeat(before + end, rows), strict=True)))


def to_json(value: Any) -> bytes:
    """A value as JSON; NaN is null."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return _converted(plain(value))


def _converted(value: Any) -> bytes:
    """Plain values as JSON: file names may contain octets that are not UTF-8 (PEP 383), which only json escapes."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def _columns(tree: Tree, before: bytes) -> tuple[list[tuple[bytes, Any]], bytes]:
    """(Text before its value, column) of each column, the first text beginning with `before`; and the row's end."""
    found: list[tuple[bytes, Any]] = []
    for name, values in tree.items():
        before += to_json(name) + b":"
        if isinstance(values, dict):
            inner, before = _columns(values, before + b"{")
            found += inner
        else:
            found.append((before, values))
            before = b""
        before += b","
    return found, before.removesuffix(b",") + b"}"


def _is_constant(column: Any) -> bool:
    """Whether all are the same to the bit, or the same text: most counts of most connections are 0."""
    octets = column.tobytes()
    if octets == octets[: column.itemsize] * len(column):
        return True
    values = column.tolist() if column.dtype == object else []
    return set(map(type, values)) == {str} and values.count(values[0]) == len(values)


def _texts(column: Any) -> list[bytes]:
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
    try:
        return list(map(orjson.dumps, values))
    except orjson.JSONEncodeError:
        return list(map(to_json, values))
