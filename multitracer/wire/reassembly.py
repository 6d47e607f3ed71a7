"""Reassembly of fragments: IPv4 and IPv6 datagrams (RFC 791 3.2, RFC 8200 4.5), packets of CAPWAP (RFC 5415 3.4).

A datagram is whole when its last missing octet comes, and has the time and the record of that fragment. One that lacks
a fragment is not decoded at all, even if its first fragment holds a whole TCP header: how long the segment was is in
none of its fragments but the last. Fragments belong together by addresses, identification (IPv4: and protocol) and
the place where they were seen. Because identifications are used again soon (RFC 4963), a fragment that contradicts
those held begins another datagram.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import NamedTuple

from multitracer.compute.kernels import octets as octet_array
from multitracer.wire.layers import (
    EXTENSION_HEADERS,
    FRAGMENT,
    FRAGMENT_HEADER,
    LACKING,
    LACKING_CAPWAP,
    MALFORMED,
    OVERLAPPING,
    PART,
    PROTOCOL_TCP,
    PROTOCOL_UDP,
    UNKNOWN,
    other_status,
    udp_status,
)  # fmt: skip

LIMIT_NS = 60_000_000_000
"""Fragments are held that long (RFC 1122 3.3.2, RFC 8200 4.5)."""
COPY_NS = 1_000_000_000
"""An equal fragment of a datagram that is complete is a copy of it, and no other datagram, for that long."""
MOST_HELD, MOST_HELD_OCTETS = 1 << 14, 1 << 26
"""Datagrams, and octets of incomplete ones, held at a time; the oldest are given up for newer ones."""
_LARGEST = 65_535
"""Octets of a datagram, by the 16 bits of its length field."""
_LEAST_4, _LEAST_6 = 20, 40
"""Octets of the headers of IPv4, without options, and of IPv6."""
_MORE, _OFFSET, _MORE_6, _OFFSET_6 = 0x2000, 0x1FFF, 0x0001, 0xFFF8
_CAPWAP, _LEAST_CAPWAP, _FRAGMENT_CAPWAP, _LAST_CAPWAP, _OFFSET_CAPWAP = 0, 8, 0x80, 0x40, 0xFFF8
"""Version and shortest header of CAPWAP, flags, and the place of a fragment in units of eight octets (RFC 5415 4.3)."""


class Fragment(NamedTuple):
    """A captured fragment: its row (of any table), where it was seen, and its octets from the IP header on.

    Those of CAPWAP are told from IP by their version, 0; `size` is how many octets they were before any were cut.
    """

    row: int
    place: Hashable
    time_ns: int
    octets: bytes
    size: int = 0


class Datagram(NamedTuple):
    """A whole datagram: the row of the fragment that completed it, and its octets; `missing` were not captured."""

    row: int
    octets: bytes
    missing: int


class _Piece(NamedTuple):
    """Octets start..stop-1 of a datagram's payload, of which `body` was captured, and what its header says."""

    key: Hashable
    protocol: int
    head: bytes
    """The datagram's header, without its length."""
    start: int
    stop: int
    last: bool
    body: bytes


@dataclass
class _Held:
    """The fragments of one datagram; `starts` is sorted, and `parts` has (stop, octets captured) of each."""

    begun_ns: int
    version: int
    protocol: int
    rows: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    parts: dict[int, tuple[int, bytes]] = field(default_factory=dict)
    head: bytes = b""
    total: int = -1
    covered: int = 0
    complete_ns: int | None = None
    overlaps: bool = False


class Reassembly:
    """Takes fragments in the order of the capture; `datagrams` are the whole ones, `fate` the status of every row."""

    def __init__(self) -> None:
        self.datagrams: list[Datagram] = []
        self.fate: dict[int, int] = {}
        self._held: OrderedDict[Hashable, _Held] = OrderedDict()  # the first of a dict takes long to find
        self._octets = 0

    def add(self, fragment: Fragment) -> None:
        """Take a fragment; it may complete its datagram."""
        piece = _piece(fragment)
        if piece is None:
            self.fate[fragment.row] = MALFORMED
            return
        held = self._holding(piece, fragment)
        held.rows.append(fragment.row)
        if held.complete_ns is not None or held.overlaps:
            self.fate[fragment.row] = OVERLAPPING if held.overlaps else PART
        elif piece.start not in held.parts or held.parts[piece.start][0] != piece.stop:
            self._take(held, piece, fragment)

    def finish(self) -> None:
        """No more fragments come: what is not complete lacks one."""
        for key in list(self._held):
            self._drop(key)

    def _holding(self, piece: _Piece, fragment: Fragment) -> _Held:
        """The datagram that a fragment belongs to; a new one where it contradicts what is held, or comes too late."""
        held = self._held.get(piece.key)
        if held is not None and (_is_over(held, fragment.time_ns) or _contradicts(held, piece)):
            self._drop(piece.key)
            held = None
        if held is None:
            while len(self._held) >= MOST_HELD or self._octets > MOST_HELD_OCTETS:
                self._drop(next(iter(self._held)))
            held = _Held(fragment.time_ns, fragment.octets[0] >> 4, piece.protocol)
            self._held[piece.key] = held
        return held

    def _take(self, held: _Held, piece: _Piece, fragment: Fragment) -> None:
        """Hold a fragment's octets; of overlapping ones IPv4 takes the newer (RFC 791 3.2), IPv6 none (RFC 5722)."""
        overlapped = _overlapped(held, piece)
        if overlapped and held.version == 6:
            held.overlaps = True
            self.fate |= dict.fromkeys(held.rows, OVERLAPPING)
            return
        for start in overlapped:
            self._cut(held, start, piece)
        self._insert(held, piece.start, piece.stop, piece.body)
        if piece.start == 0:
            held.head, held.protocol = piece.head, piece.protocol
        if piece.last:
            held.total = piece.stop
        if held.covered == held.total:
            self._complete(held, fragment)

    def _insert(self, held: _Held, start: int, stop: int, body: bytes) -> None:
        insort(held.starts, start)
        held.parts[start] = (stop, body)
        held.covered += stop - start
        self._octets += len(body)

    def _cut(self, held: _Held, start: int, piece: _Piece) -> None:
        """Keep of the part at `start` what lies on either side of a newer piece."""
        stop, body = held.parts.pop(start)
        held.starts.remove(start)
        held.covered -= stop - start
        self._octets -= len(body)
        if start < piece.start:
            self._insert(held, start, piece.start, body[: piece.start - start])
        if stop > piece.stop:
            self._insert(held, piece.stop, stop, body[piece.stop - start :])

    def _complete(self, held: _Held, fragment: Fragment) -> None:
        """Put a datagram together, as far as its octets were captured without a gap."""
        whole = bytearray(_with_length(held))
        for start in held.starts:
            stop, body = held.parts[start]
            whole += body[: stop - start]
            if len(body) < stop - start:
                break
        missing = len(held.head) + held.total - len(whole)
        self.datagrams.append(Datagram(fragment.row, bytes(whole), missing))
        self.fate |= dict.fromkeys(held.rows, PART)
        self._octets -= sum(len(body) for _, body in held.parts.values())
        held.complete_ns = fragment.time_ns
        held.parts = {start: (stop, _digest(body)) for start, (stop, body) in held.parts.items()}

    def _drop(self, key: Hashable) -> None:
        """Forget a datagram; the fragments of one that is not complete get their status."""
        held = self._held.pop(key)
        if held.complete_ns is not None or held.overlaps:
            return
        self._octets -= sum(len(body) for _, body in held.parts.values())
        self.fate |= dict.fromkeys(held.rows, _fate_of_incomplete(held))


def is_fragment(packet: bytes) -> bool:
    """Whether an IP packet is a fragment of a datagram."""
    if packet[:1] and packet[0] >> 4 == 4:
        return len(packet) >= _LEAST_4 and bool(_number(packet, 6) & (_MORE | _OFFSET))
    at = _fragment_header(packet)[0] if len(packet) >= _LEAST_6 else None
    return at is not None and bool(_number(packet, at + 2) & (_OFFSET_6 | _MORE_6))


def _number(octets: bytes, at: int) -> int:
    return int.from_bytes(octets[at : at + 2], "big")


def _piece(fragment: Fragment) -> _Piece | None:
    """What a fragment holds; None if it cannot be one."""
    piece = _PIECES[version_of(fragment.octets)](fragment)
    if piece is None or piece.stop <= piece.start or len(piece.head) + piece.stop > _LARGEST:
        return None
    # RFC 8200 4.5: all but the last have a multiple of eight octets.
    return piece if piece.last or (piece.stop - piece.start) % 8 == 0 else None


def _piece_of_4(fragment: Fragment) -> _Piece | None:
    octets = fragment.octets
    size, length, place = (octets[0] & 15) * 4, _number(octets, 2), _number(octets, 6)
    start, protocol = (place & _OFFSET) * 8, octets[9]
    # The header of the whole: neither flags nor offset, and its own checksum, which nobody reads, as it was.
    head = octets[:6] + b"\0\0" + octets[8:size]
    key = (fragment.place, octets[12:20], protocol, octets[4:6])
    stop = start + length - size
    return _Piece(key, protocol, head, start, stop, not place & _MORE, octets[size:length])


def _piece_of_6(fragment: Fragment) -> _Piece | None:
    octets = fragment.octets
    at, names = _fragment_header(octets)
    if at is None:
        return None
    place, protocol = _number(octets, at + 2), octets[at]
    # The fragment header is left out: the header before it names what followed it.
    head = octets[:names] + bytes([protocol]) + octets[names + 1 : at]
    key = (fragment.place, octets[8:40], 6, octets[at + 4 : at + 8])
    start, end = place & _OFFSET_6, 40 + _number(octets, 4)
    stop = start + end - at - 8
    return _Piece(key, protocol, head, start, stop, not place & _MORE_6, octets[at + 8 : end])


def _piece_of_capwap(fragment: Fragment) -> _Piece | None:
    octets = fragment.octets
    size = 4 * (octets[1] >> 3)
    if not _LEAST_CAPWAP <= size <= len(octets):
        return None
    start = _number(octets, 6) & _OFFSET_CAPWAP
    # The header of the whole: neither flags, identification nor place.
    flags = octets[3] & ~(_FRAGMENT_CAPWAP | _LAST_CAPWAP)
    head = octets[:3] + bytes([flags]) + bytes(4) + octets[_LEAST_CAPWAP:size]
    stop, is_last = start + fragment.size - size, bool(octets[3] & _LAST_CAPWAP)
    return _Piece((fragment.place, octets[4:6]), PROTOCOL_UDP, head, start, stop, is_last, octets[size : fragment.size])


_PIECES = {4: _piece_of_4, 6: _piece_of_6, _CAPWAP: _piece_of_capwap}


def version_of(octets: bytes) -> int:
    """4 or 6 of an IP packet, 0 of one of CAPWAP."""
    return octets[0] >> 4


def _fragment_header(packet: bytes) -> tuple[int | None, int]:
    """Offsets of an IPv6 packet's fragment header, None without one, and of the octet that names it."""
    names, following, at = 6, packet[6], _LEAST_6
    while at + 8 <= len(packet):
        if following == FRAGMENT_HEADER:
            return at, names
        if following not in EXTENSION_HEADERS:
            break
        names, following, at = at, packet[at], at + (packet[at + 1] + 1) * 8
    return None, names


def _is_over(held: _Held, now_ns: int) -> bool:
    """Whether too much time has passed for a fragment to belong to a datagram."""
    if held.complete_ns is not None:
        return now_ns - held.complete_ns > COPY_NS
    return now_ns - held.begun_ns > LIMIT_NS


def _contradicts(held: _Held, piece: _Piece) -> bool:
    """Whether a fragment must be of another datagram: it differs in octets or total length, or adds to a whole one."""
    if held.overlaps:
        return False
    if held.total >= 0 and (piece.stop > held.total or (piece.last and piece.stop != held.total)):
        return True
    if piece.last and held.starts and held.parts[held.starts[-1]][0] > piece.stop:
        return True
    stop, body = held.parts.get(piece.start, (-1, b""))
    if stop != piece.stop:
        return held.complete_ns is not None
    if held.complete_ns is not None:
        return body != _digest(piece.body)
    shared = min(len(body), len(piece.body))
    return body[:shared] != piece.body[:shared]


def _digest(body: bytes) -> bytes:
    """What is kept of a part of a complete datagram, to know a copy of it by."""
    return hash(body).to_bytes(8, "big", signed=True)


def _overlapped(held: _Held, piece: _Piece) -> list[int]:
    """The starts of the parts that a piece overlaps."""
    first = bisect_left(held.starts, piece.start)
    if first > 0 and held.parts[held.starts[first - 1]][0] > piece.start:
        first -= 1
    return held.starts[first : bisect_left(held.starts, piece.stop)]


def _with_length(held: _Held) -> bytes:
    """A datagram's header with the length of the whole, which CAPWAP's does not have."""
    if held.version == _CAPWAP:
        return held.head
    at, length = (2, len(held.head)) if held.version == 4 else (4, len(held.head) - 40)
    return held.head[:at] + (length + held.total).to_bytes(2, "big") + held.head[at + 2 :]


def _fate_of_incomplete(held: _Held) -> int:
    """What the fragments of a datagram are that lacks one: a loss if it may have held TCP."""
    if held.version == _CAPWAP:
        return LACKING_CAPWAP
    return LACKING if _may_hold_tcp(held) else FRAGMENT


def _may_hold_tcp(held: _Held) -> bool:
    """Whether an incomplete datagram may hold a TCP segment, itself or in a tunnel; UDP by its ports, if captured."""
    if held.protocol == PROTOCOL_UDP:
        first = held.parts.get(0, (0, b""))[1]
        return bool(udp_status(octet_array(first), 0, len(first)) == UNKNOWN)
    return bool(held.protocol == PROTOCOL_TCP or other_status(held.protocol) == UNKNOWN)
