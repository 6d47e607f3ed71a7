"""Link types that captures seldom have, without the compiled path: NFLOG and PKTAP.

Source: tcpdump.org/linktypes.
"""

from __future__ import annotations

from multitracer.wire.inside import ETHERNET, IPV4, IPV6, PPP, number

NFLOG, PKTAP = 239, 258
RARE_LINK_TYPES = frozenset({NFLOG, PKTAP})

_NFULA_PAYLOAD = 9
_LINK_LAYERS = {1: ETHERNET, 9: PPP, 50: PPP}


class RareLinkDecoder:
    """Decodes the records of one capture, in their order."""

    def payloads(self, octets: bytes, link_type: int) -> list[tuple[int, bytes]]:
        """EtherType and octets behind the link header of every packet that a record holds."""
        if link_type == NFLOG:
            return _as_ip(_nflog(octets))
        return self._pktap(octets) if link_type == PKTAP else []

    def _pktap(self, record: bytes) -> list[tuple[int, bytes]]:
        header, link_type = int.from_bytes(record[:4], "little"), int.from_bytes(record[8:12], "little")
        if not 12 <= header < len(record) or link_type == PKTAP:
            return []
        body = record[header:]
        if link_type in (0, 108):
            return _as_ip(body[4:])
        return [(_LINK_LAYERS[link_type], body)] if link_type in _LINK_LAYERS else _as_ip(body)


def _as_ip(packet: bytes) -> list[tuple[int, bytes]]:
    kind = {4: IPV4, 6: IPV6}.get(number(packet, 0, 1) >> 4)
    return [(kind, packet)] if kind else []


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
