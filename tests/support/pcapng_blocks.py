"""Blocks of pcapng files."""

from __future__ import annotations

import struct

RAW = 101


def block(kind: int, body: bytes, order: str) -> bytes:
    """A block of any kind."""
    size = 12 + len(body) + (-len(body) % 4)
    return struct.pack(f"{order}II", kind, size) + body + b"\0" * (-len(body) % 4) + struct.pack(f"{order}I", size)


def section(order: str = "<") -> bytes:
    """A section header block."""
    return block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def interface(
    order: str = "<", *, resolution: int | None = None, offset: int | None = None, link: int = RAW, snap: int = 0
) -> bytes:
    """An interface description block."""
    options = b""
    if resolution is not None:
        options += struct.pack(f"{order}HHB3x", 9, 1, resolution)
    if offset is not None:
        options += struct.pack(f"{order}HHq", 14, 8, offset)
    return block(1, struct.pack(f"{order}HHI", link, 0, snap) + options + (b"\0\0\0\0" if options else b""), order)


def packet(ticks: int, octets: bytes, number: int = 0, order: str = "<", *, flags: int | None = None) -> bytes:
    """An enhanced packet block, with its flags as an option behind a comment."""
    head = struct.pack(f"{order}IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, len(octets), len(octets))
    options = b""
    if flags is not None:
        options = struct.pack(f"{order}HH4sHHIHH", 1, 3, b"why", 2, 4, flags, 0, 0)
    return block(6, head + octets + (b"\0" * (-len(octets) % 4) + options if options else b""), order)
