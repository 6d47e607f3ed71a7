"""IP packets out of tunnels, compressed headers and rare link layers.

Works on one record at a time in plain Python, since captures hold few of them; what is common is opened in compiled
code too (`layers`, `udp_tunnels`), with the same results. Sources: RFC 1144 over PPP (RFC 1332 4),
tcpdump.org/linktypes (SLIP, NFLOG, PKTAP), and those that the modules of envelopes name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from multitracer.wire import frame_envelopes, ip_envelopes
from multitracer.wire.inside import ETHERNET, IPV4, IPV6, PPP, Inside, Step, Tunnel, if_ip, tunnel_of

if TYPE_CHECKING:
    from multitracer.wire.vj import Decompressor

SLIP, NFLOG, PKTAP = 8, 239, 258
_SLIP_DIRECTION_BYTES = 16
_NFULA_PAYLOAD = 9
_MOST_NESTED = 16
"""Envelopes around a packet that are opened."""
_VJ_UNCOMPRESSED, _VJ_COMPRESSED = 0x2F, 0x2D
_OF_PPP = {0x21: IPV4, 0x57: IPV6}
"""EtherTypes of PPP protocols (RFC 1332 2.1, RFC 5072 2)."""


class Opened(NamedTuple):
    """An IP packet out of a record, and the tunnels that it was in."""

    octets: bytes
    tunnel: Tunnel | None


class TunnelDecoder:
    """Decodes records in capture order, since header decompression keeps state between packets."""

    def __init__(self) -> None:
        self._headers: dict[object, Decompressor] = {}

    def packets(self, octets: bytes, link_type: int) -> Iterator[Opened]:
        """The innermost IP packets of a record, none where there is none or its format is not supported."""
        if link_type == SLIP:
            outermost = self._slip(octets)
        else:
            outermost = _link_content(octets, link_type)
        if outermost is not None:
            opened = self._innermost(outermost)
            if opened is not None:
                yield opened

    def _innermost(self, inside: Inside) -> Opened | None:
        """The packet within all envelopes, the outermost of which is `inside`."""
        steps: list[Step] = []
        packet = None
        for _ in range(_MOST_NESTED):
            if inside.kind in (IPV4, IPV6):
                if not inside.octets:
                    return None
                packet = Opened(inside.octets, tunnel_of(steps))
            opened = self._within(inside, steps)
            if opened is None:
                return packet
            inside = opened
        return None

    def _within(self, inside: Inside, steps: list[Step]) -> Inside | None:
        """The content of one envelope; adds it to `steps` where it is a tunnel."""
        source = destination = b""
        if inside.kind == PPP:
            opened = self._ppp(inside.octets, tunnel_of(steps))
        elif inside.kind in (IPV4, IPV6):
            packet = ip_envelopes.packet_of(inside.octets)
            opened = ip_envelopes.OPENERS.get(packet.protocol, _nothing)(packet) if packet else None
            source, destination = (packet.source, packet.destination) if packet else (b"", b"")
        else:
            opened = frame_envelopes.OPENERS.get(inside.kind, _nothing)(inside.octets)
        if opened is not None and opened.label:
            steps.append(Step(opened.label, opened.unique, source, destination))
        return opened

    def _stream(self, name: object) -> Decompressor:
        from multitracer.wire.vj import Decompressor

        return self._headers.setdefault(name, Decompressor())

    def _ppp(self, frame: bytes, stream: object) -> Inside | None:
        """The packet in a PPP frame, with or without flag, address and control octets (RFC 1661 2, RFC 1662 3.1)."""
        frame = frame.removeprefix(b"\x7e").removeprefix(b"\xff\x03")
        if not frame:
            return None
        if frame[0] & 1:
            protocol, rest = frame[0], frame[1:]
        else:
            protocol, rest = int.from_bytes(frame[:2], "big"), frame[2:]
        if protocol == _VJ_UNCOMPRESSED:
            return if_ip(self._stream(stream).uncompressed(rest) or b"")
        if protocol == _VJ_COMPRESSED:
            return if_ip(self._stream(stream).compressed(rest) or b"")
        return if_ip(rest) if protocol in _OF_PPP else None

    def _slip(self, record: bytes) -> Inside | None:
        """Decode a SLIP record: 16 octets of direction and header, then the datagram, compressed or not."""
        body = record[_SLIP_DIRECTION_BYTES:]
        if len(record) < _SLIP_DIRECTION_BYTES + 1:
            return None
        headers = self._stream((SLIP, record[0]))
        if record[1] & 0x80:
            return if_ip(headers.compressed(body) or b"")
        return if_ip((headers.uncompressed(body) or b"") if record[1] & 0xF0 == 0x70 else body)


def _nothing(_: object) -> None:
    """Opens nothing."""


def _link_content(octets: bytes, link_type: int) -> Inside | None:
    """What the link layer of a record carries."""
    if link_type in (12, 14, 101, 228, 229):
        return if_ip(octets)
    if link_type in (0, 108):
        return if_ip(octets[4:])
    if link_type in (9, 50):
        return Inside(PPP, octets)
    if link_type == 1:
        return Inside(ETHERNET, octets)
    starts = {113: (16, 14), 276: (20, 0), 104: (4, 2)}
    if link_type in starts:
        at, kind_at = starts[link_type]
        return Inside(int.from_bytes(octets[kind_at : kind_at + 2], "big"), octets[at:])
    if link_type == NFLOG:
        return if_ip(_nflog(octets))
    return _pktap(octets) if link_type == PKTAP else None


def _pktap(record: bytes) -> Inside | None:
    if len(record) < 12:
        return None
    header, link_type = int.from_bytes(record[:4], "little"), int.from_bytes(record[8:12], "little")
    if not 12 <= header < len(record) or link_type == PKTAP:
        return None
    return _link_content(record[header:], link_type)


def _nflog(record: bytes) -> bytes:
    """The payload attribute among the type-length-value attributes; empty without one."""
    at = 4
    while at + 4 <= len(record):
        size, kind = int.from_bytes(record[at : at + 2], "little"), int.from_bytes(record[at + 2 : at + 4], "little")
        if size < 4:
            return b""
        if kind & 0x7FFF == _NFULA_PAYLOAD:
            return record[at + 4 : at + size]
        at += (size + 3) & ~3
    return b""
