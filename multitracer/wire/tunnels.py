"""IP packets out of tunnels, compressed headers and rare link layers.

Works on one record at a time in plain Python, since captures hold few of them. Sources: RFC 2784 and 2890
(GRE), 3GPP 29.281 (GTP-U), RFC 2003, RFC 4213, RFC 1144 over PPP (RFC 1332 4), tcpdump.org/linktypes (SLIP,
NFLOG).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from multitracer.wire.rare_links import RARE_LINK_TYPES, RareLinkDecoder, wraps_link

if TYPE_CHECKING:
    from multitracer.wire.vj import Decompressor

SLIP, NFLOG = 8, 239
_SLIP_DIRECTION_BYTES = 16
_NFULA_PAYLOAD = 9
_GTP_PORT, _G_PDU = (2152).to_bytes(2, "big"), 255
_MOST_NESTED = 4
"""Levels of nested tunnels that are decoded."""


class TunnelDecoder:
    """Decodes records in capture order, since header decompression keeps state between packets."""

    def __init__(self) -> None:
        self._headers: dict[int, Decompressor] = {}
        self._links = RareLinkDecoder()

    def packets(self, octets: bytes, link_type: int, *, whole: bool = True) -> list[bytes]:
        """The inner IP packets of a record: several of an A-MSDU or a USB transfer."""
        if link_type in RARE_LINK_TYPES or wraps_link(octets, link_type):
            found = [self._after(*one) for one in self._links.payloads(octets, link_type, whole=whole)]
        else:
            found = [self.packet(octets, link_type)]
        return [packet for packet in found if packet is not None]

    def _after(self, kind: int, octets: bytes) -> bytes | None:
        if kind == 0x6558:
            return self._tunnel(_link_payload(octets, 1))
        if kind == 0x880B:
            return self._ppp(octets, 0)
        if kind == 0x8847:
            return self._tunnel(_without_labels(octets))
        return self._tunnel(_link_payload(bytes(12) + kind.to_bytes(2, "big") + octets, 1))

    def packet(self, octets: bytes, link_type: int) -> bytes | None:
        """The inner IP packet of a record, or None where there is none or its format is not supported."""
        if link_type == NFLOG:
            return _if_ip(_nflog(octets))
        if link_type == SLIP:
            return self._slip(octets)
        if link_type in (9, 50):
            return self._ppp(octets, 0)
        return self._tunnel(_link_payload(octets, link_type))

    def _stream(self, number: int) -> Decompressor:
        from multitracer.wire.vj import Decompressor

        return self._headers.setdefault(number, Decompressor())

    def _tunnel(self, packet: bytes | None) -> bytes | None:
        if packet is None:
            return None
        if packet[:1] and packet[0] >> 4 not in (4, 6):  # PPPoE with compressed headers
            return self._ppp(packet, 1)
        for _ in range(_MOST_NESTED):
            inner = _inner_packet(packet)
            if inner is None:
                return _if_ip(packet)
            packet = inner
        return None

    def _ppp(self, frame: bytes, stream: int) -> bytes | None:
        frame = frame.removeprefix(b"\x7e").removeprefix(b"\xff\x03")
        if not frame:
            return None
        if frame[0] & 1:
            protocol, rest = frame[0], frame[1:]
        else:
            protocol, rest = int.from_bytes(frame[:2], "big"), frame[2:]
        headers = self._stream(stream)
        if protocol == 0x2F:
            return headers.uncompressed(rest)
        if protocol == 0x2D:
            return headers.compressed(rest)
        return _if_ip(rest) if protocol in (0x21, 0x57) else None

    def _slip(self, record: bytes) -> bytes | None:
        """Decode a SLIP record: 16 octets of direction and header, then the datagram, compressed or not."""
        body = record[_SLIP_DIRECTION_BYTES:]
        if len(record) < _SLIP_DIRECTION_BYTES + 1:
            return None
        headers = self._stream(2 + record[0])
        if record[1] & 0x80:
            return headers.compressed(body)
        return headers.uncompressed(body) if record[1] & 0xF0 == 0x70 else _if_ip(body)


def _without_labels(octets: bytes) -> bytes:
    """What follows the bottom of the label stack (RFC 3032)."""
    at = 0
    while at + 4 <= len(octets) and not octets[at + 2] & 1:
        at += 4
    return octets[at + 4 :]


def _if_ip(packet: bytes | None) -> bytes | None:
    return packet if packet and packet[0] >> 4 in (4, 6) else None


def _link_payload(octets: bytes, link_type: int) -> bytes | None:
    """The octets that follow the link header; for PPPoE, the PPP frame."""
    if link_type in (12, 14, 101, 228, 229):
        return octets
    starts = {1: (14, 12), 113: (16, 14), 276: (20, 0), 104: (4, 2)}
    if link_type in (0, 108):
        return octets[4:]
    if link_type not in starts:
        return None
    at, kind_at = starts[link_type]
    kind = int.from_bytes(octets[kind_at : kind_at + 2], "big")
    while kind in (0x8100, 0x88A8, 0x9100) and at + 4 <= len(octets):
        kind = int.from_bytes(octets[at + 2 : at + 4], "big")
        at += 4
    if kind == 0x8864:
        return octets[at + 6 :]
    return octets[at:]


def _inner_packet(packet: bytes) -> bytes | None:
    """The packet that an IP packet carries in a tunnel, None when it carries none."""
    if not packet:
        return None
    if packet[0] >> 4 == 4 and len(packet) >= 20:
        protocol, body = packet[9], packet[(packet[0] & 15) * 4 :]
    elif packet[0] >> 4 == 6 and len(packet) >= 40:
        protocol, body = packet[6], packet[40:]
    else:
        return None
    if protocol in (4, 41):
        return _if_ip(body)
    if protocol == 17 and body[2:4] == _GTP_PORT:
        return _gtp(body[8:])
    return _gre(body) if protocol == 47 else None


def _gtp(body: bytes) -> bytes | None:
    """The user packet of a G-PDU (29.281 5.1)."""
    if len(body) < 8 or body[0] >> 5 != 1 or body[1] != _G_PDU:
        return None
    at = 12 if body[0] & 7 else 8
    if body[0] & 4:
        following = body[11]
        while following and at < len(body):
            size = 4 * body[at]
            if not size or at + size > len(body):
                return None
            following, at = body[at + size - 1], at + size
    return _if_ip(body[at:])


def _gre(body: bytes) -> bytes | None:
    if len(body) < 4:
        return None
    flags, kind = int.from_bytes(body[:2], "big"), int.from_bytes(body[2:4], "big")
    at = 4 + 4 * bool(flags & 0x8000) + 4 * bool(flags & 0x2000) + 4 * bool(flags & 0x1000)
    if flags & 7 == 1:  # RFC 2637: key always, sequence and acknowledgement numbers as flagged
        at = 8 + 4 * bool(flags & 0x1000) + 4 * bool(flags & 0x0080)
    if kind in (0x0800, 0x86DD):
        return _if_ip(body[at:])
    if kind == 0x6558:
        return _if_ip(_link_payload(body[at:], 1))
    if kind == 0x880B:
        frame = body[at:].removeprefix(b"\xff\x03")
        if frame[:1] == b"\x21":
            return _if_ip(frame[1:])
        return _if_ip(frame[2:]) if frame[:2] == b"\x00\x21" else None
    return None


def _nflog(record: bytes) -> bytes | None:
    """The payload attribute among the type-length-value attributes."""
    at = 4
    while at + 4 <= len(record):
        size, kind = int.from_bytes(record[at : at + 2], "little"), int.from_bytes(record[at + 2 : at + 4], "little")
        if size < 4:
            return None
        if kind & 0x7FFF == _NFULA_PAYLOAD:
            return record[at + 4 : at + size]
        at += (size + 3) & ~3
    return None
