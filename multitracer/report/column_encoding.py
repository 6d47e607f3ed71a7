"""Encodes columns for a page: exact, small once they are compressed, and quick to decode in a browser.

Integers become differences where those are smaller, then zigzag codes (small for small numbers of either
sign), and byte planes (all high bytes, which are mostly zero, together). `packed` compresses such octets and makes
text of them, by gzip and base64. `decode` does what the page's script assets/scripts/columns/decoding.js does, and is
there for tests.
"""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]

_TRIED = 65_536
"""The number of values that are compressed as a trial, to find out whether differences are smaller."""
_LEVEL = 6
EXACT = 2**53
"""JavaScript's numbers are exact below this."""


@dataclass(frozen=True)
class Encoded:
    """One column: its octets, and what a decoder must know."""

    octets: bytes
    meta: dict[str, Any]


def encode(values: Any, divide: int = 1) -> Encoded:
    """Encode a column of integers, of floats or of strings; the page divides each integer by `divide`.

    Where JavaScript's numbers do not hold all integers exactly, the floats that the division gives are encoded.
    """
    array = np.asarray(values)
    if array.dtype.kind in "OUT":
        texts = json.dumps(array.tolist(), separators=(",", ":"))
        return Encoded(texts.encode(), {"mode": "text", "n": len(array)})
    if array.dtype.kind == "f":
        whole = np.isfinite(array).all() and (array == np.rint(array)).all() and (np.abs(array) < EXACT).all()
        if not whole:
            return _float_planes(array)
    integers = array.astype(np.int64)
    if len(integers) and max(-int(integers.min()), int(integers.max())) >= EXACT:
        return _float_planes(integers / divide)
    meta: dict[str, Any] = {"n": len(integers), "mode": "raw", "base": 0, "divide": divide}
    tried = integers[:_TRIED]
    # Differences too must be exact in a browser: those between values of either sign can be twice as large.
    is_exact = len(integers) > 1 and int(integers.max()) - int(integers.min()) < EXACT
    if is_exact and _size(np.diff(tried, prepend=tried[:1])) < _size(tried):
        meta |= {"mode": "delta", "base": int(integers[0])}
        integers = np.diff(integers, prepend=integers[:1])
    return _integer_planes(_zigzag(integers), meta)


def decode(encoded: Encoded) -> Any:
    """The column again: floats as the page holds them, or a list of strings."""
    if encoded.meta["mode"] == "text":
        return json.loads(encoded.octets)
    count, width = encoded.meta["n"], encoded.meta["w"]
    codes = np.frombuffer(encoded.octets, dtype=np.uint8).reshape(width, count).T.copy().view(f"<u{width}").ravel()
    if encoded.meta["mode"] == "float":
        return codes.view("<f8")
    codes = codes.astype(np.uint64)
    values = (codes >> np.uint64(1)).astype(np.int64) ^ -(codes & np.uint64(1)).astype(np.int64)
    if encoded.meta["mode"] == "delta":
        values = np.cumsum(values) + encoded.meta["base"]
    return values / encoded.meta["divide"]


def _zigzag(values: Ints) -> Any:
    return ((values << 1) ^ (values >> 63)).view(np.uint64)


def _float_planes(values: Any) -> Encoded:
    """All eight planes, also of floats whose high bytes are zero: the page decodes doubles of one width."""
    return _planes(values.astype("<f8").view("<u8"), {"mode": "float", "n": len(values)}, width=8)


def _integer_planes(codes: Any, meta: dict[str, Any]) -> Encoded:
    largest = int(codes.max(initial=0))
    return _planes(codes, meta, next(width for width in (1, 2, 4, 8) if largest < 1 << 8 * width))


def _planes(codes: Any, meta: dict[str, Any], width: int) -> Encoded:
    planes = codes.astype(f"<u{width}").view(np.uint8).reshape(len(codes), width).T
    return Encoded(planes.tobytes(), {**meta, "w": width})


def packed(octets: bytes) -> str:
    """Octets compressed, as text."""
    return base64.b64encode(gzip.compress(octets, _LEVEL, mtime=1)).decode()


def unpacked(text: str) -> bytes:
    """The octets again."""
    return gzip.decompress(base64.b64decode(text))


def _size(values: Ints) -> int:
    """About how many bytes these values become, by the fastest compression."""
    codes = _zigzag(values)
    return len(zlib.compress(codes.view(np.uint8).reshape(len(codes), 8).T.tobytes(), 1))
