"""Columns as text inside a page: exact, small, and quick to take apart in a browser.

Integers become differences where those are smaller, zigzag codes (small whatever their sign), planes
of bytes (the high bytes, mostly zero, together), gzip, and base64. `decode` is what the page's own
script does, and is there for tests.
"""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]

_TRIED = 65_536
"""By so many values it is decided whether differences are smaller."""
_LEVEL = 6
EXACT = 2**53
"""A browser's numbers are exact up to here."""


@dataclass(frozen=True)
class Blob:
    """One column: its text, and what a decoder must know, as JSON."""

    text: str
    meta: dict[str, Any]


def encode(values: Any, divide: int = 1) -> Blob:
    """A column of integers, of floats or of strings; what is read in the page is each integer by `divide`.

    Integers that a browser's numbers do not hold exactly become the floats that they are divided.
    """
    array = np.asarray(values)
    if array.dtype.kind in "OUT":
        return Blob(_packed(json.dumps(array.tolist()).encode()), {"mode": "text", "n": len(array)})
    if array.dtype.kind == "f":
        whole = np.isfinite(array).all() and (array == np.rint(array)).all() and (np.abs(array) < EXACT).all()
        if not whole:
            return _planes(array.astype("<f8").view("<u8"), {"mode": "float", "n": len(array)})
    integers = array.astype(np.int64)
    if len(integers) and max(-int(integers.min()), int(integers.max())) >= EXACT:
        return _planes((integers / divide).astype("<f8").view("<u8"), {"mode": "float", "n": len(integers)})
    meta: dict[str, Any] = {"n": len(integers), "mode": "raw", "base": 0, "divide": divide}
    tried = integers[:_TRIED]
    if len(integers) > 1 and _size(np.diff(tried, prepend=tried[:1])) < _size(tried):
        meta |= {"mode": "delta", "base": int(integers[0])}
        integers = np.diff(integers, prepend=integers[:1])
    return _planes(_zigzag(integers), meta)


def decode(blob: Blob) -> Any:
    """The column again: floats as the page holds them, or a list of strings."""
    raw = gzip.decompress(base64.b64decode(blob.text))
    if blob.meta["mode"] == "text":
        return json.loads(raw)
    count, width = blob.meta["n"], blob.meta["w"]
    codes = np.frombuffer(raw, dtype=np.uint8).reshape(width, count).T.copy().view(f"<u{width}").ravel()
    if blob.meta["mode"] == "float":
        return codes.view("<f8")
    codes = codes.astype(np.uint64)
    values = (codes >> np.uint64(1)).astype(np.int64) ^ -(codes & np.uint64(1)).astype(np.int64)
    if blob.meta["mode"] == "delta":
        values = np.cumsum(values) + blob.meta["base"]
    return values / blob.meta["divide"]


def _zigzag(values: Ints) -> Any:
    return ((values << 1) ^ (values >> 63)).view(np.uint64)


def _planes(codes: Any, meta: dict[str, Any]) -> Blob:
    largest = int(codes.max(initial=0))
    width = next(width for width in (1, 2, 4, 8) if largest < 1 << 8 * width)
    planes = codes.astype(f"<u{width}").view(np.uint8).reshape(len(codes), width).T
    return Blob(_packed(planes.tobytes()), {**meta, "w": width})


def _packed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, _LEVEL, mtime=1)).decode()


def _size(values: Ints) -> int:
    """How large these would be, with less effort."""
    codes = _zigzag(values)
    return len(gzip.compress(codes.view(np.uint8).reshape(len(codes), 8).T.tobytes(), 1, mtime=1))
