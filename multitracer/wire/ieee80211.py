"""IEEE 802.11 frames: headers, what data frames carry, and acknowledgements.

Source: IEEE 802.11-2020 clause 9. dpkt knows neither A-MSDUs and mesh control nor what follows with the order bit, and
raises for many types of frames.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import NamedTuple

from multitracer.wire import radiotap

MANAGEMENT, CONTROL, DATA = range(3)
MODULUS = 4096
"""Sequence numbers have 12 bits (9.2.4.4.2)."""
FCS_BYTES = 4
LLC_BYTES = 8
AGGREGATED, MESH, MORE_FRAGMENTS = 1, 2, 4
"""Bits of `frames.framing`: what a frame's header says of its body."""
_BLOCK_ACK, _ACKNOWLEDGEMENT = 9, 13  # subtypes of control frames
_NULL_BIT, _QOS_BIT = 4, 8  # of the subtypes of data frames
_VERSION, _TYPE = 0x03, 0x0C  # of the first octet
_TO_DS, _FROM_DS, _MORE_FRAGMENTS, _RETRY, _PROTECTED, _ORDER = 1, 2, 4, 8, 64, 128
_AMSDU, _MESH = 0x0080, 0x0100  # of the QoS control field (9.2.4.5)
_NO_ACK = 0x0020
_SNAPS = (b"\xaa\xaa\x03\x00\x00\x00", b"\xaa\xaa\x03\x00\x00\xf8")  # RFC 1042, and 802.1H's bridge tunnel
_CIPHER_HEADERS = (0, 8, 4)  # none, CCMP, GCMP or TKIP, WEP
_SUBFRAME_HEADER_BYTES = 14
_COMPRESSED, _MULTI_STA = 2, 11  # types of block acknowledgement (9.3.1.8)
_WITHOUT_QOS = -1


class Frame(NamedTuple):
    """A frame's header; what it does not have is b"", 0 or -1."""

    type: int
    subtype: int
    flags: int
    receiver: bytes
    """Address 1: the station that is to acknowledge it."""
    transmitter: bytes
    """Address 2."""
    number: int = -1
    fragment: int = 0
    tid: int = _WITHOUT_QOS
    qos: int = 0
    body: int = 0
    """Octets before the frame body."""

    @property
    def retry(self) -> bool:
        """Whether it repeats an earlier frame."""
        return bool(self.flags & _RETRY)

    @property
    def more_fragments(self) -> bool:
        """Whether further fragments of its MSDU follow."""
        return bool(self.flags & _MORE_FRAGMENTS)

    @property
    def protected(self) -> bool:
        """Whether its body is encrypted."""
        return bool(self.flags & _PROTECTED)

    @property
    def to_access_point(self) -> bool:
        """Whether a station sends it to its access point."""
        return self.flags & (_TO_DS | _FROM_DS) == _TO_DS

    @property
    def from_access_point(self) -> bool:
        """Whether an access point sends it to its station."""
        return self.flags & (_TO_DS | _FROM_DS) == _FROM_DS

    @property
    def between_stations(self) -> bool:
        """Whether it has four addresses: between access points or mesh stations."""
        return self.flags & (_TO_DS | _FROM_DS) == _TO_DS | _FROM_DS

    @property
    def to_group(self) -> bool:
        """Whether it is for several receivers: nobody acknowledges it."""
        return bool(self.receiver[0] & 1)

    @property
    def carries_data(self) -> bool:
        """Whether it is a data frame with a body."""
        return self.type == DATA and not self.subtype & _NULL_BIT

    @property
    def wants_acknowledgement(self) -> bool:
        """Whether its receiver is to acknowledge it."""
        return not self.to_group and self.qos & 0x60 != _NO_ACK

    @property
    def aggregated(self) -> bool:
        """Whether its body is an A-MSDU."""
        return bool(self.qos & _AMSDU)

    @property
    def mesh(self) -> bool:
        """Whether its MSDUs may begin with mesh control."""
        return bool(self.qos & _MESH) and not self.to_access_point

    @property
    def is_acknowledgement(self) -> bool:
        """Whether it acknowledges the frame before it."""
        return self.type == CONTROL and self.subtype == _ACKNOWLEDGEMENT

    @property
    def is_block_acknowledgement(self) -> bool:
        """Whether it acknowledges several frames."""
        return self.type == CONTROL and self.subtype == _BLOCK_ACK


class BlockAcknowledgement(NamedTuple):
    """Of one traffic class: the first number that it is about, and which from there on have come."""

    tid: int
    start: int
    came: int
    """A bit a number."""
    size: int
    """How many numbers it is about."""

    def numbers(self, came: bool) -> list[int]:
        """The numbers that have come, or up to the last that has come those that have not."""
        top = self.came.bit_length()
        return [(self.start + bit) % MODULUS for bit in range(top) if bool(self.came >> bit & 1) == came]


def without_fcs(octets: bytes, stated: bool | None) -> bytes:
    """A whole frame without its check sequence, which is found by its value where the capture does not state it."""
    has = stated
    if has is None:
        has = len(octets) > FCS_BYTES and zlib.crc32(octets[:-FCS_BYTES]).to_bytes(4, "little") == octets[-FCS_BYTES:]
    return octets[:-FCS_BYTES] if has else octets


def in_order(octets: bytes) -> bytes:
    """A data frame, whose Frame Control octets some access points exchange, in the standard's order.

    It is between a station and an access point, so that flags in the first octet's place would be a protocol version
    that no frame has (9.2.4.1.2).
    """
    if len(octets) < 2 or not octets[0] & _VERSION or octets[1] & (_VERSION | _TYPE) != DATA << 2:
        return octets
    return octets[1::-1] + octets[2:]


def decode(octets: bytes, padded: bool = False) -> Frame | None:
    """The header of a frame; None where it is cut, or of a version or type that is not read."""
    if len(octets) < 10 or octets[0] & 3:
        return None
    kind, subtype, flags = octets[0] >> 2 & 3, octets[0] >> 4, octets[1]
    if kind == CONTROL:
        return Frame(kind, subtype, flags, octets[4:10], octets[10:16], body=16)
    if kind > DATA or len(octets) < 24:
        return None
    number, at = int.from_bytes(octets[22:24], "little"), 24
    if kind == DATA and flags & (_TO_DS | _FROM_DS) == _TO_DS | _FROM_DS:
        at += 6
    qos = 0
    tid = _WITHOUT_QOS
    if kind == DATA and subtype & _QOS_BIT:
        qos, at = int.from_bytes(octets[at : at + 2], "little"), at + 2
        tid = qos & 15
    if flags & _ORDER and (kind == MANAGEMENT or tid >= 0):  # HT control (9.2.4.6)
        at += 4
    at += -at % 4 if padded else 0
    if at > len(octets):
        return None
    return Frame(kind, subtype, flags, octets[4:10], octets[10:16], number >> 4, number & 15, tid, qos, at)


def open_body(frame: Frame, octets: bytes) -> bytes | None:
    """The body of a data frame; None where it is encrypted.

    Drivers decrypt frames and leave the protected bit, and some the cipher's header: then an LLC header follows, whose
    six octets an encrypted body has by chance once in 2**47.
    """
    body = octets[frame.body :]
    if not frame.protected:
        return body
    for size in _CIPHER_HEADERS:
        inner = body[size:]
        if inner.startswith(_SNAPS) or (frame.qos & _AMSDU and inner[_SUBFRAME_HEADER_BYTES:].startswith(_SNAPS)):
            return inner
    return None


def msdus(body: bytes, *, aggregated: bool, mesh: bool) -> Iterator[tuple[int, bytes]]:
    """(EtherType, payload) of each MSDU in an open body whose fragments are together."""
    for part in _subframes(body) if aggregated else (body,):
        at = _mesh_control(part) if mesh else 0
        if part.startswith(_SNAPS, at) and len(part) >= at + LLC_BYTES:
            yield int.from_bytes(part[at + 6 : at + 8], "big"), part[at + LLC_BYTES :]


def _subframes(body: bytes) -> Iterator[bytes]:
    """The MSDUs of an A-MSDU (9.3.2.2): each has addresses and a length, and all but the last are padded."""
    at = 0
    while at + _SUBFRAME_HEADER_BYTES < len(body):
        size = int.from_bytes(body[at + 12 : at + 14], "big")
        if not size:
            return
        at += _SUBFRAME_HEADER_BYTES
        yield body[at : at + size]
        at += size + -(size + _SUBFRAME_HEADER_BYTES) % 4


def _mesh_control(part: bytes) -> int:
    """Octets of mesh control before the LLC header (9.2.4.8.3).

    Outside a mesh the bit that announces it has another meaning, so its flags are looked at, too.
    """
    return 0 if not part or part[0] & ~3 or part[0] == 3 else 6 + 6 * part[0]


def block_acknowledgements(octets: bytes) -> list[BlockAcknowledgement]:
    """What a block acknowledgement frame acknowledges: one entry a traffic class; none of variants without numbers."""
    control = int.from_bytes(octets[16:18], "little")
    kind, tid, body = control >> 1 & 15, control >> 12, octets[18:]
    if kind == 0:  # basic: a bit a fragment, 16 to a number
        start, bits = _start(body), int.from_bytes(body[2:130], "little")
        came = sum(1 << number for number in range(64) if bits >> 16 * number & 0xFFFF)
        return [BlockAcknowledgement(tid, start, came, 64)] if len(body) >= 130 else []
    if kind == _COMPRESSED and len(body) >= 10:
        size = _bitmap_bytes(body)
        bitmap = body[2 : 2 + size]
        return [BlockAcknowledgement(tid, _start(body), int.from_bytes(bitmap, "little"), 8 * len(bitmap))]
    return _multi_station(body) if kind == _MULTI_STA else []


def _start(body: bytes) -> int:
    return int.from_bytes(body[:2], "little") >> 4


def _bitmap_bytes(body: bytes) -> int:
    """The length of a bitmap by the fragment number field (table 9-30 of 802.11ax)."""
    return {0: 8, 4: 32, 8: 64, 10: 128}.get(body[0] & 15, 8)


def _multi_station(body: bytes) -> list[BlockAcknowledgement]:
    """The entries that have a bitmap and a start."""
    found, at = [], 0
    while at + 2 <= len(body):
        info = int.from_bytes(body[at : at + 2], "little")
        at += 2
        if info >> 11 & 1 or info & 0x7FF == 2045:  # all acknowledged, or of a station without an association
            at += 10 if info & 0x7FF == 2045 else 0
            continue
        size = {0: 8, 2: 16, 4: 32, 6: 4}.get(body[at] & 15, 8) if at < len(body) else 8
        bitmap = body[at + 2 : at + 2 + size]
        if len(bitmap) == size:
            start = _start(body[at : at + 2])
            found.append(BlockAcknowledgement(info >> 12, start, int.from_bytes(bitmap, "little"), 8 * size))
        at += 2 + size
    return found


class Heard(NamedTuple):
    """A record of a Wi-Fi link type: its frame without check sequence, and what the receiver noted."""

    radio: radiotap.Radio
    frame: Frame
    octets: bytes


def hear(record: bytes, link_type: int, *, whole: bool = True) -> Heard | None:
    """The frame in a record; None where it is damaged or cut. `whole`: no octets of it were left out."""
    radio = radiotap.decode(record, link_type)
    if radio is None or radio.damaged or radio.link_type not in radiotap.LINK_TYPES - {radiotap.PPI}:
        return None
    if radio.link_type != radiotap.PLAIN:  # in PPI
        return hear(record[radio.size :], radio.link_type, whole=whole)
    octets = record[radio.size :]
    if whole:
        octets = without_fcs(octets, radio.fcs)
    frame = decode(octets, radio.padded)
    return None if frame is None else Heard(radio, frame, octets)


def address(octets: bytes) -> str:
    """An address as people write it."""
    return octets.hex(":")
