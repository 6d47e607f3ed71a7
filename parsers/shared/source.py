"""The octets of one input: a plain file, gzip or zstandard, or standard input."""

from __future__ import annotations

import io
import mmap
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from multitracer.model.errors import InputError
from multitracer.model.trace import Skip

HEAD_BYTES = 65536
"""The number of octets of an input that a `sniff` is given, at most."""

INFLATE_LIMIT = 8 << 30
"""Decompressed octets beyond this are left out, and said to be: it bounds the memory that a file can use."""

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_CHUNK = 1 << 20


@dataclass
class Source:
    """The decompressed octets of one input; `skips` holds what was lost in decompression."""

    path: str
    data: bytes | mmap.mmap
    skips: list[Skip] = field(default_factory=list)

    @property
    def head(self) -> bytes:
        """The first octets, by which the format is recognised."""
        return bytes(self.data[:HEAD_BYTES])

    def __len__(self) -> int:
        return len(self.data)

    def lines(self) -> Iterator[tuple[int, int, str]]:
        """Every line as (number from 1, byte offset, text without line end); octets that are not UTF-8 are escaped."""
        offset = 0
        for number, line in enumerate(io.BytesIO(self.data), start=1):
            yield number, offset, line.decode("utf-8", "backslashreplace").rstrip("\r\n")
            offset += len(line)


def open_source(path: str) -> Source:
    """Open a file, or standard input for "-"; raises InputError when it cannot be read or is empty."""
    try:
        source = _stdin() if path == "-" else _file(Path(path))
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror or error}") from error
    if not len(source):
        raise InputError(path, "is empty", hint="Nothing was recorded in it; leave it out.")
    return source


def _stdin() -> Source:
    data = sys.stdin.buffer.read()
    return _unpacked("-", io.BytesIO(data), data)


def _file(path: Path) -> Source:
    with path.open("rb") as stream:
        if path.stat().st_size == 0:
            return Source(str(path), b"")
        data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        return _unpacked(str(path), stream, data)


def _unpacked(path: str, stream: IO[bytes], data: bytes | mmap.mmap) -> Source:
    if data[:2] == _GZIP:
        return _inflated(path, stream)
    if data[:4] == _ZSTD:
        return _zstandard(path, bytes(data))
    return Source(path, data)


def _inflated(path: str, stream: IO[bytes]) -> Source:
    """The octets of all gzip members, up to where one is cut or damaged."""
    out, skips = bytearray(), []
    inflate = zlib.decompressobj(wbits=31)
    try:
        while chunk := stream.read(_CHUNK):
            while chunk:
                if inflate.eof:
                    if not chunk.strip(b"\0"):
                        break
                    inflate = zlib.decompressobj(wbits=31)
                out += inflate.decompress(chunk, INFLATE_LIMIT - len(out))
                if len(out) >= INFLATE_LIMIT:
                    skips.append(Skip(f"decompressed data beyond {INFLATE_LIMIT >> 30} GiB left out", offset=len(out)))
                    return Source(path, bytes(out), skips)
                chunk = inflate.unused_data if inflate.eof else b""
        if not inflate.eof:
            skips.append(Skip("gzip data ends early", offset=len(out)))
    except zlib.error as error:
        skips.append(Skip(f"damaged gzip data: {error}", offset=len(out)))
    return Source(path, bytes(out), skips)


def _zstandard(path: str, data: bytes) -> Source:
    import pyarrow as pa

    out, skips = bytearray(), []
    try:
        with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
            while (chunk := stream.read(_CHUNK)) and len(out) < INFLATE_LIMIT:
                out += chunk
    except (OSError, pa.ArrowInvalid) as error:
        skips.append(Skip(f"damaged zstandard data: {error}", offset=len(out)))
    return Source(path, bytes(out), skips)
