"""Whether two Parquet files hold the same: columns, types, metadata but libraries' versions, and every value."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

_VERSIONS = ("pandas_version", "creator")
"""Keys of pandas' own metadata that name versions."""


def difference(before: bytes, after: bytes) -> str | None:
    """What differs first between two Parquet files, None where they hold the same."""
    if before == after:
        return None
    one, two = (pq.read_table(io.BytesIO(text)) for text in (before, after))
    return _in_schema(one.schema, two.schema) or _in_rows(one, two)


def _in_schema(one: Any, two: Any) -> str | None:
    if one.names != two.names:
        return f"columns {one.names} before, {two.names} after"
    for left, right in zip(one, two, strict=True):
        facts, others = ((part.type, part.nullable, part.metadata) for part in (left, right))
        if facts != others:
            return f"column {left.name}: {facts} before, {others} after"
    said, theirs = _metadata(one), _metadata(two)
    return None if said == theirs else f"metadata {said} before, {theirs} after"


def _metadata(schema: Any) -> dict[str, Any]:
    found: dict[str, Any] = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
    if "pandas" in found:
        pandas = json.loads(found["pandas"])
        found["pandas"] = {key: value for key, value in pandas.items() if key not in _VERSIONS}
    return found


def _in_rows(one: Any, two: Any) -> str | None:
    if one.num_rows != two.num_rows:
        return f"{one.num_rows} rows before, {two.num_rows} after"
    for name in one.column_names:
        left, right = (table[name].combine_chunks() for table in (one, two))
        place = _first_unequal(left, right)
        if place is not None:
            return f"column {name}, row {place}: {left[place].as_py()!r} before, {right[place].as_py()!r} after"
    return None


def _first_unequal(left: Any, right: Any) -> int | None:
    """The first row in which two columns of one type differ; one not-a-number is as good as another."""
    if not pa.types.is_floating(left.type):
        if left.equals(right):
            return None
        pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
        return next((row for row, (one, two) in enumerate(pairs) if one != two), None)
    missing, others = (np.asarray(part.is_null()) for part in (left, right))
    values, theirs = (np.asarray(part.fill_null(0), dtype=np.float64) for part in (left, right))
    same = (values.view(np.int64) == theirs.view(np.int64)) | (np.isnan(values) & np.isnan(theirs))
    rows = np.flatnonzero((missing != others) | ~same)
    return int(rows[0]) if len(rows) else None
