"""Solaris snoop files (RFC 1761): big endian, microseconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.model.errors import InputError
from multitracer.parsers.shared.capture import recording
from multitracer.parsers.shared.records import Capture, RecordColumns, Records
from multitracer.parsers.shared.view import View
from multitracer.wire.octets import word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from multitracer.model.trace import Recording
    from multitracer.parsers.shared.source import Source

_MAGIC = b"snoop\0\0\0"
_FILE_HEADER_BYTES, _RECORD_HEADER_BYTES = 16, 24
_LINK_TYPES = {4: 1, 8: 10, 26: 226}
"""libpcap's link types by RFC 1761's datalink types: Ethernet, FDDI, and Solaris' IP observability."""
_LARGEST_RECORD = (1 << 18) + (1 << 12)
"""Octets of a record with its header and padding; the largest snap length is 256 KiB."""


def sniff(head: bytes) -> bool:
    """Whether it begins with the magic octets."""
    return head[:8] == _MAGIC


def read(source: Source) -> Recording:
    """Packets, flows and options."""
    return recording("snoop", capture(View(source)))


def capture(view: View) -> Capture:
    """All records; raises InputError where the file header is damaged, or of a data link that is not read."""
    if len(view.data) < _FILE_HEADER_BYTES:
        raise InputError(view.path, "ends within the file header", offset=len(view.data))
    kind = int(word(view.data, 12, False))
    if kind not in _LINK_TYPES:
        raise InputError(view.path, f"has snoop datalink type {kind}, which is not read here")
    found = Capture(view.path, [_LINK_TYPES[kind]], is_long=view.is_long)
    found.pieces = _pieces(view, found)
    return found


def _pieces(view: View, found: Capture) -> Iterator[Records]:
    """The records in each view, up to one that is damaged or cut."""
    columns, before, at = RecordColumns(0), 0, _FILE_HEADER_BYTES
    while True:
        data = view.data
        columns = columns.of_next(len(data) // _RECORD_HEADER_BYTES + 1)
        count, at, is_record = walk_snoop(data, at, columns.offset, columns.captured, columns.original, columns.time)
        yield columns.records(view, before, int(count), found.link_types)
        before += int(count)
        if view.ended or not is_record:
            break
        view.move(int(at))
        at = 0
    if at < len(data):
        found.losses.add("file ends within a record", before + 1, view.start + int(at))
        found.complete = False


@kernel
def walk_snoop(data: Any, at: int, offset: Any, captured: Any, original: Any, time_ns: Any) -> Any:
    """Find the records from `at` on; gives their number, where they end, and whether there may be one."""
    count = np.int64(0)
    while at + _RECORD_HEADER_BYTES <= len(data):
        length, here, size = word(data, at, False), word(data, at + 4, False), word(data, at + 8, False)
        if size < _RECORD_HEADER_BYTES + here or size > _LARGEST_RECORD:
            return count, np.int64(at), False
        if at + size > len(data):
            break
        offset[count] = at + _RECORD_HEADER_BYTES
        captured[count] = here
        original[count] = max(min(length, np.int64(0x7FFFFFFF)), here)
        time_ns[count] = word(data, at + 16, False) * 1_000_000_000 + word(data, at + 20, False) * 1000
        count += 1
        at += size
    return count, np.int64(at), True
