"""pcapng files: sections of either byte order, interfaces each with its own clock resolution.

Source: draft-ietf-opsawg-pcapng. Enhanced, simple and old packet blocks are read; other blocks are
skipped.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.compute.kernels import inlined, kernel, octets
from multitracer.model.errors import InputError
from multitracer.model.trace import Skip
from multitracer.parsers.shared.capture import Records, recording
from multitracer.wire.octets import word

if TYPE_CHECKING:
    from multitracer.model.trace import Recording
    from multitracer.parsers.shared.source import Source

_SECTION, _INTERFACE, _OLD_PACKET, _SIMPLE, _ENHANCED = 0x0A0D0D0A, 1, 2, 3, 6
_BYTE_ORDER_MAGIC = 0x1A2B3C4D
_IF_TSRESOL, _IF_TSOFFSET = 9, 14
_LARGEST_BLOCK = 1 << 24
_NO_TIME = -(1 << 63)
"""Ticks that no clock with a meaningful time shows stand for a packet without a time."""
_SECOND_NS = 1_000_000_000
_FAR_SECONDS = (1 << 63) // _SECOND_NS
"""Seconds before and after 1970 of which 64 bits hold the nanoseconds: from 1677 to 2262."""

_FAR = "time before 1677 or beyond 2262"

# Why `walk_blocks` returned.
_END, _FULL, _SECTION_HERE, _INTERFACE_HERE, _BROKEN, _NO_INTERFACE = range(6)


def sniff(head: bytes) -> bool:
    """Whether it begins with a section header block."""
    return head[:4] == b"\n\r\r\n" and head[8:12] in (b"\x1a\x2b\x3c\x4d", b"\x4d\x3c\x2b\x1a")


@dataclass
class _Interfaces:
    """All interfaces of all sections; those of the current section begin at `first`."""

    link_types: list[int] = field(default_factory=list)
    snap_bytes: list[int] = field(default_factory=list)
    units: list[tuple[bool, int]] = field(default_factory=list)
    """Resolution of each: whether it is a negative power of two (else of ten), and the exponent."""
    offsets_s: list[int] = field(default_factory=list)
    first: int = 0


@dataclass
class _Found:
    """Arrays of records, and how many of their elements are filled."""

    arrays: list[Any]
    state: Any = field(default_factory=lambda: np.zeros(2, dtype=np.int64))  # position, records
    skips: list[Skip] = field(default_factory=list)

    @property
    def count(self) -> int:
        return int(self.state[1])

    def grow(self) -> None:
        self.arrays = [np.concatenate([values, np.empty_like(values)]) for values in self.arrays]


def read(source: Source) -> Recording:
    """Packets of all sections and interfaces; `interface` is numbered over the whole file."""
    return recording("pcapng", source, records(source))


def records(source: Source) -> Records:
    """All records; raises InputError where no interface is described."""
    data = octets(source.data)
    if len(data) < 28:
        raise InputError(source.path, "ends within its section header", offset=len(data))
    kinds = (np.int64, np.int32, np.int32, np.int64, np.int16)
    found = _Found([np.empty(max(16, len(data) // 400), dtype=kind) for kind in kinds])
    interfaces = _Interfaces()
    complete = _walk(data, found, interfaces)
    offset, captured, original, ticks, interface = (values[: found.count] for values in found.arrays)
    time_ns, held = _times(ticks, interface, interfaces)
    if not interfaces.link_types:
        raise InputError(source.path, "describes no interface", hint="The file was cut or is damaged.")
    number = np.arange(1, found.count + 1, dtype=np.int64)
    found_records = Records(
        data, offset, captured, original, time_ns, interface, number, interfaces.link_types, found.skips, complete
    )
    if not held.all():
        first = int(np.argmin(held))
        found.skips.append(Skip(_FAR, first + 1, int(offset[first]), int((~held).sum())))
        columns = ("offset", "captured", "original", "time_ns", "interface", "number")
        found_records = replace(found_records, **{name: getattr(found_records, name)[held] for name in columns})
    return found_records


def _walk(data: Any, found: _Found, interfaces: _Interfaces) -> bool:
    """Find the records of all blocks; whether the file ends where a block ends."""
    little = True
    while True:
        snaps = np.array(interfaces.snap_bytes[interfaces.first :] or [0], dtype=np.int64)
        there = len(interfaces.snap_bytes) - interfaces.first
        stopped = walk_blocks(data, little, interfaces.first, there, snaps, found.state, *found.arrays)
        at = int(found.state[0])
        if stopped == _END:
            return not any(skip.reason.startswith("file") for skip in found.skips)
        if stopped == _FULL:
            found.grow()
        elif stopped == _SECTION_HERE:
            little = bytes(data[at + 8 : at + 12]) == _BYTE_ORDER_MAGIC.to_bytes(4, "little")
            interfaces.first = len(interfaces.link_types)
            found.state[0] = at + word(data, at + 4, little)
        elif stopped == _INTERFACE_HERE:
            size = int(word(data, at + 4, little))
            _describe(bytes(data[at + 8 : at + size - 4]), little, interfaces)
            found.state[0] = at + size
        elif stopped == _NO_INTERFACE:
            _lose(found, "packet of an interface that is not described", found.count + 1, at)
            found.state[0] = at + word(data, at + 4, little)
        else:
            following = next_section(data, at + 1)
            reason = "file ends within a block" if following < 0 else "damaged block, and all up to the next section"
            _lose(found, reason, found.count + 1, at)
            if following < 0:
                return False
            found.state[0] = following


def _lose(found: _Found, reason: str, record: int, offset: int) -> None:
    for place, skip in enumerate(found.skips):
        if skip.reason == reason:
            found.skips[place] = Skip(reason, skip.record, skip.offset, skip.count + 1)
            return
    found.skips.append(Skip(reason, record, offset))


def next_section(data: Any, at: int) -> int:
    """Where the next section header block begins, -1 where there is none."""
    for order in ("little", "big"):
        magic = _BYTE_ORDER_MAGIC.to_bytes(4, order)
        found = bytes(data[at:]).find(b"\n\r\r\n")
        while found >= 0:
            if bytes(data[at + found + 8 : at + found + 12]) == magic:
                return at + found
            found = bytes(data[at:]).find(b"\n\r\r\n", found + 1)
    return -1


def _describe(body: bytes, little: bool, interfaces: _Interfaces) -> None:
    """Read an interface description block: link type, snap length, resolution and offset of its clock."""
    order = "little" if little else "big"

    def number(octets_: bytes, signed: bool = False) -> int:
        return int.from_bytes(octets_, order, signed=signed)  # type: ignore[arg-type]

    unit, offset, at = (False, 6), 0, 8
    while at + 4 <= len(body):
        code, size = number(body[at : at + 2]), number(body[at + 2 : at + 4])
        value = body[at + 4 : at + 4 + size]
        if code == 0 or len(value) < size:
            break
        if code == _IF_TSRESOL and size == 1:
            unit = (bool(value[0] & 0x80), value[0] & 0x7F)
        elif code == _IF_TSOFFSET and size == 8:
            offset = number(value, signed=True)
        at += 4 + (size + 3 & ~3)
    interfaces.link_types.append(number(body[:2]))
    interfaces.snap_bytes.append(number(body[4:8]))
    interfaces.units.append(unit)
    interfaces.offsets_s.append(offset)


def _times(ticks: Any, interface: Any, interfaces: _Interfaces) -> tuple[Any, Any]:
    """Ticks of each interface's clock as ns since the epoch, and which of them 64 bits hold.

    A simple packet, which has no time, takes the time before.
    """
    time_ns, held = np.zeros(len(ticks), dtype=np.int64), np.ones(len(ticks), dtype=np.bool_)
    for number, (unit, offset_s) in enumerate(zip(interfaces.units, interfaces.offsets_s, strict=True)):
        mine = interface == number
        if mine.any():
            time_ns[mine], held[mine] = to_ns(ticks[mine], *unit, offset_s)
    untimed = ticks == _NO_TIME
    if untimed.any():
        held[untimed] = True
        latest = np.maximum.accumulate(np.where(untimed | ~held, -1, np.arange(len(ticks))))
        time_ns[untimed] = np.where(latest[untimed] >= 0, time_ns[np.maximum(latest[untimed], 0)], 0)
    return time_ns, held


def to_ns(ticks: Any, binary: bool, power: int, offset_s: int = 0) -> tuple[Any, Any]:
    """Ticks of 2**-power or 10**-power seconds, and `offset_s`, as ns, rounded down; and which of them 64 bits hold.

    Ticks are signed: writers of times before 1970 write the number's two's complement.
    """
    seconds, rest = _binary(ticks, power) if binary else _decimal(ticks, power)
    far = np.int64(1) << 61  # the sum of two such numbers has no overflow
    seconds = np.clip(seconds, -far, far) + max(-int(far), min(offset_s, int(far)))
    held = (seconds >= -_FAR_SECONDS) & (seconds < _FAR_SECONDS)
    return np.where(held, seconds, 0) * _SECOND_NS + rest, held


def _binary(ticks: Any, power: int) -> tuple[Any, Any]:
    """Whole seconds and ns of ticks of 2**-power seconds."""
    if power > 63:
        ticks, power = ticks >> min(power - 63, 63), 63
    seconds, rest = ticks >> power, ticks & ((1 << power) - 1)
    if power > 33:  # keeps rest * 10**9 within 63 bits
        rest, power = rest >> (power - 33), 33
    return seconds, rest * _SECOND_NS >> power


def _decimal(ticks: Any, power: int) -> tuple[Any, Any]:
    """Whole seconds and ns of ticks of 10**-power seconds."""
    if power > 27:  # below a nanosecond
        ticks, power = ticks >> 63, 9
    elif power > 9:
        ticks, power = ticks // 10 ** (power - 9), 9
    seconds = ticks // 10**power
    return seconds, (ticks - seconds * 10**power) * 10 ** (9 - power)


@kernel
def walk_blocks(
    data: Any, little: bool, first: int, interfaces: int, snap_bytes: Any, state: Any,
    offset: Any, captured: Any, original: Any, ticks: Any, interface: Any,
) -> int:  # fmt: skip
    """Find the records of blocks from state[0] on; returns why it stopped. A truncated block begins at state[0]."""
    at, count = state[0], state[1]
    result = _END
    while at < len(data):
        if at + 12 > len(data):
            result = _BROKEN
            break
        kind = word(data, at, little)
        if kind == _SECTION:
            result = section_at(data, at)
            break
        size = word(data, at + 4, little)
        if size < 12 or size % 4 or size > _LARGEST_BLOCK or at + size > len(data):
            result = _BROKEN
            break
        if kind == _INTERFACE:
            result = _INTERFACE_HERE if size >= 20 else _BROKEN
            break
        if kind in (_ENHANCED, _OLD_PACKET, _SIMPLE):
            result = note_packet(
                data, little, at, size, kind, first, interfaces, snap_bytes, count,
                offset, captured, original, ticks, interface,
            )  # fmt: skip
            if result != _END:
                break
            count += 1
        at += size
    state[0], state[1] = at, count
    return result


@kernel
def section_at(data: Any, at: int) -> int:
    """Whether a whole section header of either byte order is at `at` (_SECTION_HERE), or not (_BROKEN)."""
    if at + 28 > len(data):
        return _BROKEN
    little = word(data, at + 8, True) == _BYTE_ORDER_MAGIC
    if not little and word(data, at + 8, False) != _BYTE_ORDER_MAGIC:
        return _BROKEN
    size = word(data, at + 4, little)
    return _SECTION_HERE if size >= 28 and size % 4 == 0 and at + size <= len(data) else _BROKEN


@inlined
def note_packet(
    data: Any, little: bool, at: int, size: int, kind: int, first: int, interfaces: int, snap_bytes: Any, count: int,
    offset: Any, captured: Any, original: Any, ticks: Any, interface: Any,
) -> int:  # fmt: skip
    """Write down the packet of a block as record `count`: _END, or why not."""
    if count == len(offset):
        return _FULL
    body = at + (12 if kind == _SIMPLE else 28)
    if body + 4 > at + size:
        return _BROKEN
    number = np.int64(0)
    if kind == _ENHANCED:
        number = word(data, at + 8, little)
    elif kind == _OLD_PACKET:
        number = word(data, at + 8, little) & 0xFFFF if little else word(data, at + 8, little) >> 16
    if number >= interfaces:
        return _NO_INTERFACE
    if kind == _SIMPLE:
        length = word(data, at + 8, little)
        here = min(length, at + size - 4 - body)
        if snap_bytes[number] > 0:
            here = min(here, snap_bytes[number])
        ticks[count] = _NO_TIME
    else:
        length, here = word(data, at + 24, little), word(data, at + 20, little)
        high = word(data, at + 12, little)
        # A signed number with the same 64 bits.
        ticks[count] = (high - (high >> 31 << 32)) << 32 | word(data, at + 16, little)
    if body + here > at + size - 4:
        return _BROKEN
    offset[count], captured[count], interface[count] = body, here, first + number
    original[count] = max(min(length, np.int64(0x7FFFFFFF)), here)
    return _END
