"""Compressed octets become the octets in them, piece by piece as they are read: gzip, zstandard, xz and bzip2.

What is cut or damaged ends where it can be unpacked no further; why is added to `skips`.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from multitracer.model.trace import Skip

PIECE_BYTES = 1 << 17
"""The most octets that are read or unpacked at once. glibc takes larger objects from the system anew each time, which
then clears every page of them: that takes as long as reading."""
MOST_LAYERS = 4
"""How often a file may have been compressed; what is deeper inside is left packed, and so no known format."""
_XZ_MEMORY_BYTES = 192 << 20
"""A dictionary of xz may be 4 GiB, of which its settings for people (-9) use 64 MiB."""
_ZSTD_BYTES = 4096
"""What is asked of zstandard at once: of a cut frame it gives nothing of the last piece that was asked for."""

Pieces = Iterator[bytes]


def unpacked(pieces: Pieces, skips: list[Skip], layers: int = MOST_LAYERS) -> Pieces:
    """The octets in `pieces`, unpacked as often as they are compressed."""
    first = b""
    while len(first) < LONGEST_MAGIC and (piece := next(pieces, b"")):
        first += piece
    method = packed_by(first)
    again = _chained(first, pieces)
    if method is None or not layers:
        return again
    inside = _zstandard(again, skips) if method == "zstandard" else _streams(again, method, skips)
    return unpacked(inside, skips, layers - 1)


def packed_by(first: bytes) -> str | None:
    """By what the octets that begin with at least LONGEST_MAGIC such were compressed; None for nothing known."""
    return next((name for name, magic in _MAGICS.items() if first.startswith(magic)), None)


def _chained(first: bytes, rest: Pieces) -> Pieces:
    if first:
        yield first
    yield from rest


class _Gzip:
    """One member of a gzip file (RFC 1952)."""

    def __init__(self) -> None:
        self._machine = zlib.decompressobj(wbits=31)

    def pieces(self, packed: bytes) -> Pieces:
        while piece := self._machine.decompress(packed, PIECE_BYTES):
            yield piece
            packed = self._machine.unconsumed_tail

    @property
    def rest(self) -> bytes | None:
        """The octets behind the member; None before its end."""
        return self._machine.unused_data if self._machine.eof else None


class _Stream:
    """One stream of xz or bzip2."""

    def __init__(self, machine: Any) -> None:
        self._machine = machine

    def pieces(self, packed: bytes) -> Pieces:
        while not self._machine.eof:
            if piece := self._machine.decompress(packed, PIECE_BYTES):
                yield piece
            if self._machine.needs_input:
                return
            packed = b""

    @property
    def rest(self) -> bytes | None:
        """The octets behind the stream; None before its end."""
        return self._machine.unused_data if self._machine.eof else None


_MAGICS = {"gzip": b"\x1f\x8b", "zstandard": b"\x28\xb5\x2f\xfd", "xz": b"\xfd7zXZ\0", "bzip2": b"BZh"}
LONGEST_MAGIC = max(map(len, _MAGICS.values()))
_STARTED: dict[str, Callable[[], _Gzip | _Stream]] = {
    "gzip": _Gzip,
    "xz": lambda: _Stream(lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY_BYTES)),
    "bzip2": lambda: _Stream(bz2.BZ2Decompressor()),
}


def _streams(packed: Pieces, method: str, skips: list[Skip]) -> Pieces:
    """The octets of all members or streams of a file, one after the other."""
    given, stream, within = 0, _STARTED[method](), True
    try:
        for piece in packed:
            left: bytes | None = piece
            while left:
                within = True
                for out in stream.pieces(left):
                    given += len(out)
                    yield out
                left = stream.rest
                if left is not None:
                    stream, within = _STARTED[method](), False
                    left = left.lstrip(b"\0")  # zeros pad a file to a size of blocks
        if within:
            skips.append(Skip(f"{method} data ends early", offset=given))
    except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError) as error:
        skips.append(Skip(f"damaged {method} data: {error}", offset=given))


class _Reader:
    """Pieces as a file, for those who read files."""

    closed = False

    def __init__(self, pieces: Pieces) -> None:
        self._pieces, self._left = pieces, b""

    def read(self, size: int) -> bytes:
        while not self._left and (piece := next(self._pieces, b"")):
            self._left = piece
        given, self._left = self._left[:size], self._left[size:]
        return given

    def close(self) -> None:
        self.closed = True


def _zstandard(packed: Pieces, skips: list[Skip]) -> Pieces:
    import pyarrow as pa

    given = 0
    try:
        with pa.CompressedInputStream(pa.PythonFile(_Reader(packed), mode="r"), "zstd") as stream:
            while piece := stream.read(_ZSTD_BYTES):
                given += len(piece)
                yield piece
    except (OSError, pa.ArrowInvalid) as error:
        skips.append(Skip(f"damaged zstandard data: {error}", offset=given))
