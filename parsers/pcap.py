"""pcap files: either byte order, microseconds or nanoseconds, and Kuznetzov's modified records.

Source: tcpdump.org/manpages/pcap-savefile.5. Where a record header is not plausible (garbage between
records, a damaged length), all up to the next chain of plausible headers is skipped.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path
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

# Columns of `state` in `walk`.
_AT, _FOUND, _LAST_SECOND, _GARBAGE_AT, _GARBAGE_COUNT, _GARBAGE_RECORD, _CUT_AT = range(7)


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
    magic, order = _MAGICS[bytes(data[:4])]
    little = order == "little"
    link_type = int.from_bytes(bytes(data[20:24]), "little" if little else "big") & _LINK_TYPE_MASK
    header = 24 if magic == _KUZNETZOV else 16
    scale = 1 if magic == _NANOSECONDS else 1000
    offset, captured, original, time_ns, state = _records(data, little, header, scale)
    count = int(state[_FOUND])
    return Records(
        data, offset, captured, original, time_ns, np.zeros(count, dtype=np.int16),
        np.arange(1, count + 1, dtype=np.uint32), [link_type], *_losses(state),
    )  # fmt: skip


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


def _records(data: Any, little: bool, header: int, scale: int) -> tuple[Any, Any, Any, Any, Any]:
    """Offsets, captured and original lengths and times of all records, and the walk's state."""
    state = np.array([_FILE_HEADER_BYTES, 0, -1, -1, 0, 0, -1], dtype=np.int64)
    arrays = [np.empty(_FIRST_GUESS, dtype=kind) for kind in (np.int64, np.int32, np.int32, np.int64)]
    while walk(data, little, header, scale, state, *arrays):
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


@kernel
def plausible(data: Any, at: int, little: bool, header: int, scale: int, last: int) -> bool:
    """Whether there is a plausible header at `at`; `last` is the last good record's second, -1 for any."""
    if at + header > len(data):
        return False
    size = word(data, at + 8, little)
    if size > _LARGEST_RECORD or size > word(data, at + 12, little) + 4:
        return False
    if word(data, at + 4, little) >= 1_000_000_000 // scale:
        return False
    second = word(data, at, little)
    return last < 0 or (second >= last - _FAR_SECONDS and second <= last + _FAR_SECONDS)


@kernel
def chained(data: Any, at: int, little: bool, header: int, scale: int, last: int) -> bool:
    """Whether a chain of plausible records with octets begins at `at`, or a shorter one that ends the file exactly."""
    for _ in range(_CHAIN):
        if at == len(data):
            return True
        if not plausible(data, at, little, header, scale, last) or word(data, at + 8, little) == 0:
            return False
        at += header + word(data, at + 8, little)
    return at <= len(data)


@kernel
def walk(
    data: Any, little: bool, header: int, scale: int, state: Any, offset: Any, captured: Any, original: Any,
    time_ns: Any,
) -> bool:  # fmt: skip
    """Find records until the end (False), or until the arrays are full (True)."""
    at, count = state[_AT], state[_FOUND]
    while at < len(data):
        if count == len(offset):
            state[_AT], state[_FOUND] = at, count
            return True
        # Some tools write fractions above one second: only lengths decide whether a header is plausible.
        size = word(data, at + 8, little) if at + header <= len(data) else np.int64(-1)
        if size < 0:
            state[_CUT_AT] = at
            break
        if size > _LARGEST_RECORD or at + header + size > len(data):
            following = next_chain(data, at + 1, little, header, scale, state[_LAST_SECOND])
            if size <= _LARGEST_RECORD and following >= len(data):
                state[_CUT_AT] = at  # the length reaches beyond the end, and no records follow: the file was cut
                break
            note_garbage(state, at, count + 1)
            at = following
            continue
        second = word(data, at, little)
        offset[count], captured[count] = at + header, size
        original[count] = max(min(word(data, at + 12, little), np.int64(0x7FFFFFFF)), size)
        time_ns[count] = second * 1_000_000_000 + word(data, at + 4, little) * scale
        state[_LAST_SECOND] = second
        count += 1
        at += header + size
    state[_AT], state[_FOUND] = at, count
    return False


@kernel
def next_chain(data: Any, at: int, little: bool, header: int, scale: int, last: int) -> int:
    """The first place from `at` on where records begin, or the end of the data."""
    while at < len(data) and not chained(data, at, little, header, scale, last):
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
