"""pcap files: either byte order, microseconds or nanoseconds, old versions, and Kuznetzov's modified records.

Source: tcpdump.org/manpages/pcap-savefile.5. Where a record header is not plausible (garbage between
records, a damaged length), all up to the next chain of plausible headers is skipped.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import inlined, kernel, octets
from multitracer.model.errors import InputError
from multitracer.model.trace import Skip
from multitracer.parsers.shared.capture import Records, recording
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
_FIRST_GUESS = 4096
"""Records that are read before the number of all records is estimated from their size."""
_CHAIN = 3
"""Plausible headers in a row at which a search ends; fewer at the file's end."""

# Which of a record's two lengths is first: that of the octets captured, that of the packet, or either (libpcap's
# sf-pcap.c). Version 2.3 exchanged them, but some writers of 2.3 did not, and DG/UX's 543.0 has the old order.
CAPTURED_FIRST, ORIGINAL_FIRST, SMALLER_CAPTURED = range(3)
_DGUX_MAJOR = 543

# Columns of `state` in `walk`.
_AT, _FOUND, _LAST_SECOND, _GARBAGE_AT, _GARBAGE_COUNT, _GARBAGE_RECORD, _CUT_AT = range(7)


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
    return recording("pcap", source, records(source))


def records(source: Source) -> Records:
    """All records; raises InputError where the file header is not one of pcap."""
    data = octets(source.data)
    if len(data) < _FILE_HEADER_BYTES:
        raise InputError(source.path, "ends within the file header", offset=len(data))
    if bytes(data[:4]) not in _MAGICS:
        raise InputError(source.path, f"begins with {bytes(data[:4]).hex(' ')}, no magic number of pcap", offset=0)
    layout, link_type = _file_header(bytes(data[:_FILE_HEADER_BYTES]))
    offset, captured, original, time_ns, state = _records(data, layout)
    count = int(state[_FOUND])
    return Records(
        data, offset, captured, original, time_ns, np.zeros(count, dtype=np.int16),
        np.arange(1, count + 1, dtype=np.uint32), [link_type], *_losses(state),
    )  # fmt: skip


def _file_header(head: bytes) -> tuple[Layout, int]:
    """The layout of the records, and their link type."""
    magic, order = _MAGICS[head[:4]]
    major, minor, _, _, _, link_type = struct.unpack_from("<HHiIII" if order == "little" else ">HHiIII", head, 4)
    header, scale = 24 if magic == _KUZNETZOV else 16, 1 if magic == _NANOSECONDS else 1000
    return Layout(order == "little", header, scale, lengths_of(major, minor)), link_type & _LINK_TYPE_MASK


def _losses(state: Any) -> tuple[list[Skip], bool]:
    skips = []
    if state[_GARBAGE_COUNT]:
        reason = "octets between records that are no record"
        skips.append(
            Skip(reason, int(state[_GARBAGE_RECORD]), int(state[_GARBAGE_AT]), int(state[_GARBAGE_COUNT]))
        )
    if state[_CUT_AT] >= 0:
        skips.append(Skip("file ends within a record", int(state[_FOUND]) + 1, int(state[_CUT_AT])))
    return skips, not skips


def _records(data: Any, layout: Layout) -> tuple[Any, Any, Any, Any, Any]:
    """Offsets, captured and original lengths and times of all records, and the walk's state."""
    state = np.array([_FILE_HEADER_BYTES, 0, -1, -1, 0, 0, -1], dtype=np.int64)
    arrays = [np.empty(_FIRST_GUESS, dtype=kind) for kind in (np.int64, np.int32, np.int32, np.int64)]
    while walk(data, layout, state, *arrays):
        done, at = int(state[_FOUND]), int(state[_AT])
        # As many records as the rest of the file has room for at the mean size so far, and some more.
        more = (len(data) - at) * done // max(at, 1) * 33 // 32 + 1024
        arrays = [_longer(values, done + more) for values in arrays]
    count = int(state[_FOUND])
    return (*(values[:count] for values in arrays), state)  # type: ignore[return-value]


def _longer(values: Any, size: int) -> Any:
    longer = np.empty(size, dtype=values.dtype)
    longer[: len(values)] = values
    return longer


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
def walk(data: Any, layout: Layout, state: Any, offset: Any, captured: Any, original: Any, time_ns: Any) -> bool:
    """Find records until the end (False), or until the arrays are full (True)."""
    at, count, header, little = state[_AT], state[_FOUND], layout.header, layout.little
    while at < len(data):
        if count == len(offset):
            state[_AT], state[_FOUND] = at, count
            return True
        # Some tools write fractions above one second: only lengths decide whether a header is plausible.
        size, length = np.int64(-1), np.int64(-1)
        if at + header <= len(data):
            size, length = lengths_at(data, at, layout)
        if size < 0:
            state[_CUT_AT] = at
            break
        following = at
        if size > _LARGEST_RECORD or at + header + size > len(data):
            following = next_chain(data, at + 1, layout, state[_LAST_SECOND])
            if size <= _LARGEST_RECORD and following >= len(data):
                state[_CUT_AT] = at  # the length reaches beyond the end, and no records follow: the file was cut
                break
        elif size == 0:
            following = after_zeros(data, at, layout, state[_LAST_SECOND])
        if following > at:
            note_garbage(state, at, count + 1)
            at = following
            continue
        second = word(data, at, little)
        offset[count], captured[count] = at + header, size
        original[count] = max(min(length, np.int64(0x7FFFFFFF)), size)
        time_ns[count] = second * 1_000_000_000 + word(data, at + 4, little) * layout.scale
        state[_LAST_SECOND] = second
        count += 1
        at += header + size
    state[_AT], state[_FOUND] = at, count
    return False


@kernel
def after_zeros(data: Any, at: int, layout: Layout, last: int) -> int:
    """Where records begin again behind two or more headers of zeros at `at`, the end of the data, or `at` itself.

    What a disk kept of a file that was never written is zeros, which read as records without octets at time 0.
    """
    end = at
    while end < len(data) and data[end] == 0:
        end += 1
    whole = (end - at) // layout.header
    if whole < 2:
        return at
    following = at + whole * layout.header
    if chained(data, following, layout, last):
        return following
    return next_chain(data, end - layout.header + 1, layout, last)


@kernel
def next_chain(data: Any, at: int, layout: Layout, last: int) -> int:
    """The first place from `at` on where records begin, or the end of the data."""
    while at < len(data) and not chained(data, at, layout, last):
        at += 1
    return at


@kernel
def note_garbage(state: Any, at: int, record: int) -> None:
    """Count octets at `at` that are no record; the first ones are remembered."""
    if state[_GARBAGE_COUNT] == 0:
        state[_GARBAGE_AT], state[_GARBAGE_RECORD] = at, record
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
