"""pcap files: either byte order, microseconds or nanoseconds, old versions, and Kuznetzov's modified records.

Source: tcpdump.org/manpages/pcap-savefile.5. Where a record header is not plausible (garbage between
records, a damaged length), all up to the next chain of plausible headers is skipped.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import inlined, kernel
from multitracer.model.errors import InputError
from multitracer.parsers.shared.capture import recording
from multitracer.parsers.shared.records import Capture, RecordColumns, Records
from multitracer.parsers.shared.view import View
from multitracer.wire.octets import word

if TYPE_CHECKING:
    from multitracer.model.trace import Recording
    from multitracer.parsers.shared.source import Source

_MICROSECONDS, _NANOSECONDS, _KUZNETZOV = 0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34
_MAGICS = {
    magic.to_bytes(4, order): (magic, order)
    for magic in (_MICROSECONDS, _NANOSECONDS, _KUZNETZOV)
    for order in ("little", "big")
}
_FILE_HEADER_BYTES = 24
_LINK_TYPE_MASK = 0x03FFFFFF
"""The upper bits hold the length of the frame check sequence."""
_LARGEST_RECORD = 1 << 18
"""tcpdump's largest snap length: a header with more octets than that is damaged."""
_FAR_SECONDS = 10 * 366 * 86400
"""After garbage, a record is plausible only within this time (seconds) of the last good one."""
_CHAIN = 3
"""Plausible headers in a row at which a search ends; fewer at the file's end."""
_CHAIN_BYTES = _CHAIN * (24 + _LARGEST_RECORD)
"""So many octets tell whether a chain begins."""

# Which of a record's two lengths is first: that of the octets captured, that of the packet, or either (libpcap's
# sf-pcap.c). Version 2.3 exchanged them, but some writers of 2.3 did not, and DG/UX's 543.0 has the old order.
CAPTURED_FIRST, ORIGINAL_FIRST, SMALLER_CAPTURED = range(3)
_DGUX_MAJOR = 543

# Elements of `state` in `walk`: the place and the records in view, what was before the view, and what is sought.
_AT, _FOUND, _START, _BEFORE, _SEEKING = range(5)
_LAST_SECOND, _GARBAGE_AT, _GARBAGE_COUNT, _GARBAGE_RECORD, _CUT_AT = range(5, 10)
_RECORDS, _CHAINED, _AFTER_ZEROS = range(3)
"""What is sought: the record that is next, a chain of records, or what follows zeros."""


class Layout(NamedTuple):
    """How the records of a file are written."""

    little: bool
    header: int
    """Octets of a record's header."""
    scale: int
    """Nanoseconds in a unit of the fraction of a second."""
    lengths: int = CAPTURED_FIRST


def lengths_of(major: int, minor: int) -> int:
    """Which of the two lengths of a record is first in a file of this version."""
    if major == _DGUX_MAJOR or (major == 2 and minor < 3):
        return ORIGINAL_FIRST
    return SMALLER_CAPTURED if (major, minor) == (2, 3) else CAPTURED_FIRST


def sniff(head: bytes) -> bool:
    """Whether it begins with one of the magic numbers."""
    return head[:4] in _MAGICS


def read(source: Source) -> Recording:
    """Packets, flows and options, and the link frames that the capture carries."""
    return recording("pcap", capture(View(source)))


def capture(view: View) -> Capture:
    """All records; raises InputError where the file header is not one of pcap."""
    head = bytes(view.data[:_FILE_HEADER_BYTES])
    if len(head) < _FILE_HEADER_BYTES:
        raise InputError(view.path, "ends within the file header", offset=len(head))
    if head[:4] not in _MAGICS:
        raise InputError(view.path, f"begins with {head[:4].hex(' ')}, no magic number of pcap", offset=0)
    layout, link_type = _file_header(head)
    found = Capture(view.path, [link_type], is_long=view.is_long)
    found.pieces = _pieces(view, layout, found)
    return found


def _pieces(view: View, layout: Layout, found: Capture) -> Iterator[Records]:
    """The records in each view; at the end, what was lost."""
    state = np.array([_FILE_HEADER_BYTES, 0, 0, 0, _RECORDS, -1, -1, 0, 0, -1], dtype=np.int64)
    columns = RecordColumns(0)
    while True:
        data = view.data
        columns = columns.of_next(len(data) // layout.header + 1)
        state[_START] = view.start
        walk(data, view.ended, layout, state, columns.offset, columns.captured, columns.original, columns.time)
        count = int(state[_FOUND])
        yield columns.records(view, int(state[_BEFORE]), count, found.link_types)
        state[_BEFORE] += count
        if view.ended:
            break
        view.move(int(state[_AT]))
        state[_AT] = state[_FOUND] = 0
    _note_losses(state, found)


def _file_header(head: bytes) -> tuple[Layout, int]:
    """The layout of the records, and their link type."""
    magic, order = _MAGICS[head[:4]]
    major, minor, _, _, _, link_type = struct.unpack_from("<HHiIII" if order == "little" else ">HHiIII", head, 4)
    header, scale = 24 if magic == _KUZNETZOV else 16, 1 if magic == _NANOSECONDS else 1000
    return Layout(order == "little", header, scale, lengths_of(major, minor)), link_type & _LINK_TYPE_MASK


def _note_losses(state: Any, found: Capture) -> None:
    if state[_GARBAGE_COUNT]:
        reason = "octets between records that are no record"
        place = int(state[_GARBAGE_RECORD]), int(state[_GARBAGE_AT])
        found.losses.add(reason, *place, int(state[_GARBAGE_COUNT]))
    if state[_CUT_AT] >= 0:
        found.losses.add("file ends within a record", int(state[_BEFORE]) + 1, int(state[_CUT_AT]))
    found.complete = not found.losses.skips


@inlined
def lengths_at(data: Any, at: int, layout: Layout) -> Any:
    """The octets captured and the packet's length by the record header at `at`."""
    first, second = word(data, at + 8, layout.little), word(data, at + 12, layout.little)
    if layout.lengths == ORIGINAL_FIRST or (layout.lengths == SMALLER_CAPTURED and first > second):
        return second, first
    return first, second


@kernel
def plausible(data: Any, at: int, layout: Layout, last: int) -> bool:
    """Whether there is a plausible header at `at`; `last` is the last good record's second, -1 for any."""
    if at + layout.header > len(data):
        return False
    size, length = lengths_at(data, at, layout)
    if size > _LARGEST_RECORD or size > length + 4:
        return False
    if word(data, at + 4, layout.little) >= 1_000_000_000 // layout.scale:
        return False
    second = word(data, at, layout.little)
    return last < 0 or (second >= last - _FAR_SECONDS and second <= last + _FAR_SECONDS)


@kernel
def chained(data: Any, at: int, layout: Layout, last: int) -> bool:
    """Whether a chain of plausible records with octets begins at `at`, or a shorter one that ends the file exactly."""
    for _ in range(_CHAIN):
        if at == len(data):
            return True
        if not plausible(data, at, layout, last):
            return False
        size, _ = lengths_at(data, at, layout)
        if size == 0:
            return False
        at += layout.header + size
    return at <= len(data)


@kernel
def walk(
    data: Any, ended: bool, layout: Layout, state: Any, offset: Any, captured: Any, original: Any, time_ns: Any
) -> None:
    """Find the records in view from state[_AT] on, up to where more must be in view to go on, or to the end."""
    at, count, header, little = state[_AT], state[_FOUND], layout.header, layout.little
    while at < len(data):
        if state[_SEEKING] != _RECORDS:
            following = sought(data, ended, at, layout, state)
            if following == at and state[_SEEKING] != _RECORDS:
                break
            at = following
            continue
        if at + header > len(data):
            state[_CUT_AT] = state[_START] + at
            break
        size, length = lengths_at(data, at, layout)
        if size <= _LARGEST_RECORD and at + header + size > len(data):
            # The length reaches beyond the end: if no records follow, the file was cut.
            following = next_chain(data, at + 1, len(data), layout, state[_LAST_SECOND]) if ended else len(data)
            if following == len(data):
                state[_CUT_AT] = state[_START] + at
                break
            note_garbage(state, at, count)
            at = following
            continue
        if size > _LARGEST_RECORD:
            note_garbage(state, at, count)
            state[_SEEKING] = _CHAINED
            at += 1
            continue
        if size == 0:
            end = end_of_zeros(data, at)
            if end - at >= 2 * header:
                note_garbage(state, at, count)
                state[_SEEKING] = _AFTER_ZEROS
                continue
            if end == len(data) and not ended:
                break
        # Some tools write fractions above one second: only lengths decide whether a header is plausible.
        second = word(data, at, little)
        offset[count], captured[count] = at + header, size
        original[count] = max(min(length, np.int64(0x7FFFFFFF)), size)
        time_ns[count] = second * 1_000_000_000 + word(data, at + 4, little) * layout.scale
        state[_LAST_SECOND] = second
        count += 1
        at += header + size
    if not ended:
        state[_CUT_AT] = -1
    state[_AT], state[_FOUND] = at, count


@kernel
def sought(data: Any, ended: bool, at: int, layout: Layout, state: Any) -> int:
    """From where to go on after octets that are no record; state[_SEEKING] says whether records begin there.

    What a disk kept of a file that was never written is zeros, which read as records without octets at time 0: behind
    two or more such headers, records begin where their chain ends, or where else they are found.
    """
    last, surely = state[_LAST_SECOND], len(data) if ended else len(data) - _CHAIN_BYTES
    if state[_SEEKING] == _AFTER_ZEROS:
        end = end_of_zeros(data, at)
        following = at + (end - at) // layout.header * layout.header
        if not ended and (end == len(data) or following >= surely):
            return max(at, following - layout.header)  # so that the last header stays in view
        if chained(data, following, layout, last):
            state[_SEEKING] = _RECORDS
            return following
        state[_SEEKING], at = _CHAINED, end - layout.header + 1
    found = next_chain(data, at, surely, layout, last)
    if ended or found < surely:
        state[_SEEKING] = _RECORDS
    return found


@kernel
def end_of_zeros(data: Any, at: int) -> int:
    """Where the zeros from `at` on end."""
    while at < len(data) and data[at] == 0:
        at += 1
    return at


@kernel
def next_chain(data: Any, at: int, end: int, layout: Layout, last: int) -> int:
    """The first place from `at` on where records begin, or where the search ended."""
    while at < end and not chained(data, at, layout, last):
        at += 1
    return at


@kernel
def note_garbage(state: Any, at: int, count: int) -> None:
    """Count octets at `at` that are no record, after `count` records in view; the first ones are remembered."""
    if state[_GARBAGE_COUNT] == 0:
        state[_GARBAGE_AT], state[_GARBAGE_RECORD] = state[_START] + at, state[_BEFORE] + count + 1
    state[_GARBAGE_COUNT] += 1


def write(
    path: Path | str,
    packets: Iterable[tuple[int, bytes]],
    link_type: int,
    *,
    original_bytes: Iterable[int] | None = None,
    nanoseconds: bool = True,
    snap_bytes: int = 262144,
) -> None:
    """Write (time_ns, octets) of each packet; `original_bytes` are the lengths on the wire, if longer.

    In a file with microseconds, times lose their last three digits.
    """
    magic, scale = (_NANOSECONDS, 1) if nanoseconds else (_MICROSECONDS, 1000)
    packets = list(packets)
    lengths = list(original_bytes) if original_bytes is not None else [len(packet) for _, packet in packets]
    with Path(path).open("wb") as file:
        file.write(struct.pack("<IHHiIII", magic, 2, 4, 0, 0, snap_bytes, link_type))
        for (time_ns, packet), length in zip(packets, lengths, strict=True):
            second, rest = divmod(time_ns, 1_000_000_000)
            file.write(struct.pack("<IIII", second, rest // scale, len(packet), length) + packet)
