"""pcapng files: sections of either byte order, interfaces each with its own clock resolution.

Source: draft-ietf-opsawg-pcapng. Enhanced, simple and old packet blocks are read; other blocks are
skipped.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from multitracer.compute.kernels import inlined, kernel
from multitracer.model.errors import InputError
from multitracer.parsers.shared.capture import recording
from multitracer.parsers.shared.lines import Losses
from multitracer.parsers.shared.records import Capture, RecordColumns, Records
from multitracer.parsers.shared.view import View
from multitracer.wire.octets import word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from multitracer.model.trace import Recording
    from multitracer.parsers.shared.source import Source

_SECTION, _INTERFACE, _OLD_PACKET, _SIMPLE, _ENHANCED = 0x0A0D0D0A, 1, 2, 3, 6
_BYTE_ORDER_MAGIC = 0x1A2B3C4D
_SECTION_MAGIC, _BYTE_ORDERS = b"\n\r\r\n", (b"\x1a\x2b\x3c\x4d", b"\x4d\x3c\x2b\x1a")
_IF_TSRESOL, _IF_TSOFFSET = 9, 14
_FLAGS_OPTION, _FLAGS_DIRECTION = 2, 0x03
"""Of a packet block; 1 of the flags is INBOUND, 2 OUTBOUND."""
_BEFORE_PACKET = 28
"""Octets of a block before its packet, but a simple block's."""
_LARGEST_BLOCK = 1 << 24
_MAGIC_END, _SECTION_BYTES, _LEAST_PACKET = 12, 28, 16
"""Octets up to the end of the byte-order magic, of the shortest section header, and of the shortest packet block."""
LENGTH_AT = 16
"""Where in a section header block the section's length stands."""
_MOST_INTERFACES = (1 << 15) - 1
"""Tables number interfaces in 16 bits."""
_NO_TIME = -(1 << 63)
"""Ticks that no clock with a meaningful time shows stand for a packet without a time."""
_SECOND_NS = 1_000_000_000
_FAR_SECONDS = (1 << 63) // _SECOND_NS
"""Seconds before and after 1970 of which 64 bits hold the nanoseconds: from 1677 to 2262."""

_CENTURY_NS = 36_525 * 86_400 * _SECOND_NS
_FAR, _AGES_AWAY = "time before 1677 or beyond 2262", "time a century from that of the first packets"
_CUT, _DAMAGED = "file ends within a block", "damaged block, and all up to the next section"
_UNFIT = "packet that does not fit into its block"

# Why `walk_blocks` returned; _MORE: the next block does not end in view.
_END, _MORE, _SECTION_HERE, _INTERFACE_HERE, _BROKEN, _NO_INTERFACE, _UNFIT_HERE = range(7)


def sniff(head: bytes) -> bool:
    """Whether it begins with a section header block."""
    return head[:4] == _SECTION_MAGIC and head[8:_MAGIC_END] in _BYTE_ORDERS


@dataclass
class _Interfaces:
    """All interfaces of all sections; those of the current section begin at `first`."""

    link_types: list[int] = field(default_factory=list)
    snap_bytes: list[int] = field(default_factory=list)
    units: list[tuple[bool, int]] = field(default_factory=list)
    """Resolution of each: whether it is a negative power of two (else of ten), and the exponent."""
    offsets_s: list[int] = field(default_factory=list)
    first: int = 0


class Section(NamedTuple):
    """A section: where its header block begins, its byte order, and how long the header says that it is."""

    at: int
    little: bool
    length: int
    """2**64 - 1 where it is not said."""


class _Walk:
    """The way through the blocks of a file: the records in view, and what was met before."""

    def __init__(self, sections: list[Section] | None) -> None:
        self.interfaces = _Interfaces()
        self._sections = sections
        self.losses, self.far = Losses(), Losses()
        self.columns = RecordColumns(0)
        self.before = 0
        """Records before the view."""
        self.latest_ns = 0
        """The time that a packet without one takes."""
        self.usual_ns: int | None = None
        """The median time of the first packets: one bit of a time can put it centuries away."""
        self.at = self.count = 0
        self._little = True
        self._lost: tuple[int, int] | None = None
        """Record and offset of a damaged block, while the next section is sought."""
        self._octets = b""
        """The view, once there was a damaged block in it."""

    def over(self, view: View) -> None:
        """Find the records in view, up to a block that does not end in it."""
        data, self.at, self.count, self._octets = view.data, 0, 0, b""
        while self._lost is None or self._found_section(view, data):
            stopped = self._next_stop(data, view.ended)
            if stopped in (_END, _MORE):
                return
            record, offset = self.before + self.count + 1, view.start + self.at
            if stopped == _BROKEN:
                self._lost = record, offset
                self.at += 1
            elif stopped == _SECTION_HERE:
                self._little = bytes(data[self.at + 8 : self.at + 12]) == _BYTE_ORDER_MAGIC.to_bytes(4, "little")
                self.interfaces.first = len(self.interfaces.link_types)
                if self._sections is not None:
                    self._sections.append(Section(offset, self._little, self._length(data)))
            elif stopped == _NO_INTERFACE:
                self.losses.add("packet of an interface that is not described", record, offset)
            elif stopped == _UNFIT_HERE:
                self.losses.add(_UNFIT, record, offset)
            elif len(self.interfaces.link_types) == _MOST_INTERFACES:
                self.losses.add(f"interface beyond the first {_MOST_INTERFACES:,}", None, offset)
            else:
                size = int(word(data, self.at + 4, self._little))
                _describe(bytes(data[self.at + 8 : self.at + size - 4]), self._little, self.interfaces)
            if stopped != _BROKEN:
                self.at += int(word(data, self.at + 4, self._little))

    def _length(self, data: Any) -> int:
        octets = bytes(data[self.at + LENGTH_AT : self.at + LENGTH_AT + 8])
        return int.from_bytes(octets, "little" if self._little else "big")

    def _next_stop(self, data: Any, ended: bool) -> int:
        snaps = np.array(self.interfaces.snap_bytes[self.interfaces.first :] or [0], dtype=np.int64)
        first, there = self.interfaces.first, len(self.interfaces.snap_bytes) - self.interfaces.first
        columns, state = self.columns, np.array([self.at, self.count], dtype=np.int64)
        stopped = walk_blocks(
            data, ended, self._little, first, there, snaps, state,
            columns.offset, columns.captured, columns.original, columns.time, columns.interface,
        )  # fmt: skip
        self.at, self.count = state.tolist()
        return int(stopped)

    def _found_section(self, view: View, data: Any) -> bool:
        """Whether the next section is in view; what was lost is noted when it is, or when the file ends."""
        self._octets = self._octets or bytes(data)
        following = _next_section(self._octets, self.at)
        if following < 0 and not view.ended:
            self.at = max(self.at, len(data) - _MAGIC_END + 1)
            return False
        assert self._lost is not None
        self.losses.add(_CUT if following < 0 else _DAMAGED, *self._lost)
        self._lost, self.at = None, following
        return following >= 0


def read(source: Source) -> Recording:
    """Packets of all sections and interfaces; `interface` is numbered over the whole file."""
    return recording("pcapng", capture(View(source)))


def capture(view: View, sections: list[Section] | None = None) -> Capture:
    """All records; where no interface is described, InputError is raised at the end. `sections` takes all sections."""
    if len(view.data) < _SECTION_BYTES:
        raise InputError(view.path, "ends within its section header", offset=len(view.data))
    walk = _Walk(sections)
    found = Capture(view.path, walk.interfaces.link_types, losses=walk.losses, is_long=view.is_long)
    found.pieces = _pieces(view, walk, found)
    return found


def _pieces(view: View, walk: _Walk, found: Capture) -> Iterator[Records]:
    """The records in each view; at the end, what was lost."""
    while True:
        walk.columns = walk.columns.of_next(len(view.data) // _LEAST_PACKET + 1)
        walk.over(view)
        yield _timed(walk.columns.records(view, walk.before, walk.count, found.link_types), walk)
        if view.ended:
            break
        walk.before += walk.count
        view.move(walk.at)
    if not found.link_types:
        raise InputError(view.path, "describes no interface", hint="The file was cut or is damaged.")
    found.complete = _CUT not in walk.losses
    for skip in walk.far.skips:
        walk.losses.add(skip.reason, skip.record, skip.offset, skip.count)


def _timed(records: Records, walk: _Walk) -> Records:
    """The records with times in ns; those whose time 64 bits do not hold, or is a damaged one, are left out."""
    records.direction_at = direction_at
    records.time_ns, held = _times(records.time_ns, records.interface, walk.interfaces, walk.latest_ns)
    if walk.usual_ns is None and held.any():
        walk.usual_ns = int(np.sort(records.time_ns[held])[int(held.sum()) // 2])
    away = held & (np.abs(records.time_ns.astype(np.float64) - (walk.usual_ns or 0)) > _CENTURY_NS)
    for lost, reason in ((~held, _FAR), (away, _AGES_AWAY)):
        if lost.any():
            first = int(np.argmax(lost))
            place = records.start + int(records.offset[first])
            walk.far.add(reason, int(records.number[first]), place, int(lost.sum()))
    held &= ~away
    if held.any():
        walk.latest_ns = int(records.time_ns[held][-1])
    if held.all():
        return records
    columns = ("offset", "captured", "original", "time_ns", "interface", "number")
    return replace(records, **{name: getattr(records, name)[held] for name in columns})


def _next_section(octets: bytes, at: int) -> int:
    """Where the next section header block begins, -1 where there is none."""
    found = octets.find(_SECTION_MAGIC, at)
    while found >= 0 and octets[found + 8 : found + _MAGIC_END] not in _BYTE_ORDERS:
        found = octets.find(_SECTION_MAGIC, found + 1)
    return found


def _describe(body: bytes, little: bool, interfaces: _Interfaces) -> None:
    """Read an interface description block: link type, snap length, resolution and offset of its clock."""
    order: Literal["little", "big"] = "little" if little else "big"
    options = _options(body[8:], order)
    resolution, offset = options.get(_IF_TSRESOL, b""), options.get(_IF_TSOFFSET, b"")
    unit = (bool(resolution[0] & 0x80), resolution[0] & 0x7F) if len(resolution) == 1 else (False, 6)
    interfaces.link_types.append(int.from_bytes(body[:2], order))
    interfaces.snap_bytes.append(int.from_bytes(body[4:8], order))
    interfaces.units.append(unit)
    interfaces.offsets_s.append(int.from_bytes(offset, order, signed=True) if len(offset) == 8 else 0)


def direction_at(data: Any, packet: int) -> int:
    """Which way the packet at `packet` went by the flags in the options behind it; 0 where they do not say so."""
    head = bytes(data[max(packet - _BEFORE_PACKET, 0) : packet])
    order: Literal["little", "big"] = "little" if head[:1] != b"\0" else "big"
    kind, size, captured = (int.from_bytes(head[at : at + 4], order) for at in (0, 4, 20))
    end = packet - _BEFORE_PACKET + size - 4
    if kind not in (_ENHANCED, _OLD_PACKET) or bytes(data[end : end + 4]) != head[4:8]:
        return 0
    options = bytes(data[packet + (captured + 3 & ~3) : end])
    flags = _options(options, order).get(_FLAGS_OPTION, b"")
    return int.from_bytes(flags, order) & _FLAGS_DIRECTION


def _options(octets: bytes, order: Literal["little", "big"]) -> dict[int, bytes]:
    """The values of options by their codes, up to their end or what is cut."""
    found, at = dict[int, bytes](), 0
    while at + 4 <= len(octets):
        code, size = (int.from_bytes(octets[place : place + 2], order) for place in (at, at + 2))
        if code == 0 or at + 4 + size > len(octets):
            break
        found[code] = octets[at + 4 : at + 4 + size]
        at += 4 + (size + 3 & ~3)
    return found


def _times(ticks: Any, interface: Any, interfaces: _Interfaces, latest_ns: int) -> tuple[Any, Any]:
    """Ticks of each interface's clock as ns since the epoch, and which of them 64 bits hold.

    A simple packet, which has no time, takes the time before, the first one `latest_ns`.
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
        time_ns[untimed] = np.where(latest[untimed] >= 0, time_ns[np.maximum(latest[untimed], 0)], latest_ns)
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
    data: Any, ended: bool, little: bool, first: int, interfaces: int, snap_bytes: Any, state: Any,
    offset: Any, captured: Any, original: Any, ticks: Any, interface: Any,
) -> int:  # fmt: skip
    """Find the records of blocks from state[0] on; returns why it stopped at the block that begins at state[0]."""
    at, count = state[0], state[1]
    result = _END
    while at < len(data):
        beyond = _BROKEN if ended else _MORE
        if at + 12 > len(data):
            result = beyond
            break
        kind = word(data, at, little)
        if kind == _SECTION:
            result = section_at(data, at, beyond)
            break
        size = word(data, at + 4, little)
        if size < 12 or size % 4 or size > _LARGEST_BLOCK or at + size > len(data):
            result = beyond if size >= 12 and size % 4 == 0 and size <= _LARGEST_BLOCK else _BROKEN
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
def section_at(data: Any, at: int, beyond: int) -> int:
    """Whether a section header of either byte order is at `at` (_SECTION_HERE), or not (_BROKEN).

    One that does not end in view is what `beyond` says.
    """
    if at + _SECTION_BYTES > len(data):
        return beyond
    little = word(data, at + 8, True) == _BYTE_ORDER_MAGIC
    if not little and word(data, at + 8, False) != _BYTE_ORDER_MAGIC:
        return _BROKEN
    size = word(data, at + 4, little)
    if size < _SECTION_BYTES or size % 4 or size > _LARGEST_BLOCK:
        return _BROKEN
    return _SECTION_HERE if at + size <= len(data) else beyond


@inlined
def note_packet(
    data: Any, little: bool, at: int, size: int, kind: int, first: int, interfaces: int, snap_bytes: Any, count: int,
    offset: Any, captured: Any, original: Any, ticks: Any, interface: Any,
) -> int:  # fmt: skip
    """Write down the packet of a block as record `count`: _END, or why not.

    Where the block's length stands at both its ends, it is the packet's that is damaged.
    """
    body = at + (12 if kind == _SIMPLE else 28)
    unfit = _UNFIT_HERE if word(data, at + size - 4, little) == size else _BROKEN
    if body + 4 > at + size:
        return unfit
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
        return unfit
    offset[count], captured[count], interface[count] = body, here, first + number
    original[count] = max(min(length, np.int64(0x7FFFFFFF)), here)
    return _END
