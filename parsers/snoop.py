"""Solaris snoop files (RFC 1761): big endian, microseconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.compute.kernels import kernel, octets
from multitracer.model.errors import InputError
from multitracer.model.trace import Skip
from multitracer.parsers.shared.capture import Records, recording
from multitracer.wire.octets import word

if TYPE_CHECKING:
    from multitracer.model.trace import Recording
    from multitracer.parsers.shared.source import Source

_MAGIC = b"snoop\0\0\0"
_FILE_HEADER_BYTES, _RECORD_HEADER_BYTES = 16, 24
_LINK_TYPES = {4: 1, 8: 10, 26: 226}
"""libpcap's link types by RFC 1761's datalink types: Ethernet, FDDI, and Solaris' IP observability."""
_LARGEST_RECORD = 1 << 18


def sniff(head: bytes) -> bool:
    """Whether it begins with the magic octets."""
    return head[:8] == _MAGIC


def read(source: Source) -> Recording:
    """Packets, flows and options."""
    return recording("snoop", source, records(source))


def records(source: Source) -> Records:
    """All records; raises InputError where the file header is damaged, or of a data link that is not read."""
    data = octets(source.data)
    if len(data) < _FILE_HEADER_BYTES:
        raise InputError(source.path, "ends within the file header", offset=len(data))
    kind = int(word(data, 12, False))
    if kind not in _LINK_TYPES:
        raise InputError(source.path, f"has snoop datalink type {kind}, which is not read here")
    size = len(data) // (_RECORD_HEADER_BYTES + 20) + 1
    offset, time_ns = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    captured, original = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
    count, cut_at = walk_snoop(data, offset, captured, original, time_ns)
    skips = [Skip("file ends within a record", int(count) + 1, int(cut_at))] if cut_at >= 0 else []
    return Records(
        data, offset[:count], captured[:count], original[:count], time_ns[:count],
        np.zeros(count, dtype=np.int16), np.arange(1, count + 1, dtype=np.int64), [_LINK_TYPES[kind]],
        skips, not skips,
    )  # fmt: skip


@kernel
def walk_snoop(data: Any, offset: Any, captured: Any, original: Any, time_ns: Any) -> Any:
    """Find the records; gives their number, and where one is damaged or cut (-1: nowhere)."""
    at, count = np.int64(_FILE_HEADER_BYTES), np.int64(0)
    while at < len(data):
        if at + _RECORD_HEADER_BYTES > len(data) or count == len(offset):
            return count, at
        length, here, size = word(data, at, False), word(data, at + 4, False), word(data, at + 8, False)
        if size < _RECORD_HEADER_BYTES + here or here > _LARGEST_RECORD or at + size > len(data):
            return count, at
        offset[count] = at + _RECORD_HEADER_BYTES
        captured[count] = here
        original[count] = max(min(length, np.int64(0x7FFFFFFF)), here)
        time_ns[count] = word(data, at + 16, False) * 1_000_000_000 + word(data, at + 20, False) * 1000
        count += 1
        at += size
    return count, np.int64(-1)
