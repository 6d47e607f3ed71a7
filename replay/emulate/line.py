"""What packets are on the link: as they are, or in frames of PPP, there with compressed headers or without."""

from __future__ import annotations

from typing import Protocol

from multitracer.replay.record.link_logs import escaped
from multitracer.wire import ppp
from multitracer.wire.vj import PROTOCOLS, Compressor, Decompressor

_FLAG = bytes([ppp.FLAG])


class Line(Protocol):
    """Both directions of a link, each named by the side that sends."""

    def put(self, side: int, packet: bytes) -> bytes:
        """The octets on the link of a packet that goes on it now."""

    def take(self, side: int, octets: bytes) -> bytes | None:
        """The packet of octets that came over the link, None for one that cannot be told."""


class Bare:
    """Packets as they are."""

    def put(self, side: int, packet: bytes) -> bytes:  # noqa: ARG002
        """The packet."""
        return packet

    def take(self, side: int, octets: bytes) -> bytes | None:  # noqa: ARG002
        """The packet."""
        return octets


class Ppp:
    """Frames of PPP: escapes where they are needed, and a flag on both sides (RFC 1662 4)."""

    def put(self, side: int, packet: bytes) -> bytes:  # noqa: ARG002
        """The frame."""
        return _frame(packet, ppp.IP)

    def take(self, side: int, octets: bytes) -> bytes | None:  # noqa: ARG002
        """The packet in the frame."""
        found = ppp.parse(ppp.unescape(octets[1:-1]))
        return found.payload if found is not None else None


class CompressedPpp:
    """The same with headers compressed (RFC 1144). A frame that is lost on the link leaves no trace at the far end:
    what is rebuilt then has wrong numbers, and its checksum tells TCP so."""

    def __init__(self) -> None:
        self._compressors = Compressor(), Compressor()
        self._decompressors = Decompressor(), Decompressor()

    def put(self, side: int, packet: bytes) -> bytes:
        """The frame."""
        kind, octets = self._compressors[side].compress(packet)
        return _frame(octets, PROTOCOLS[kind])

    def take(self, side: int, octets: bytes) -> bytes | None:
        """The packet with its headers rebuilt, rightly or not."""
        found, headers = ppp.parse(ppp.unescape(octets[1:-1])), self._decompressors[side]
        if found is None:
            return None
        if found.protocol == ppp.VJ_COMPRESSED:
            return headers.compressed(found.payload)
        return headers.uncompressed(found.payload) if found.protocol == ppp.VJ_UNCOMPRESSED else found.payload


def _frame(octets: bytes, protocol: int) -> bytes:
    return _FLAG + escaped(octets, protocol) + _FLAG
