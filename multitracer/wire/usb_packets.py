"""Network packets in captures of a USB bus: RNDIS, CDC-NCM, MBIM and CDC-ECM, as phones and modems speak them.

Sources: tcpdump.org/linktypes (189, 220, 249); MS-RNDIS 2.2.14; USB CDC NCM 1.0, 3.2 and 3.3; USB MBIM 1.0, 7; USB CDC
ECM 1.2, 3.3. The descriptors that say which it is are seldom captured: a bulk transfer is what its octets fit.
"""

from __future__ import annotations

from collections.abc import Iterator

from multitracer.wire.llc import ETHERNET, IP, IPV6, Payload, if_ip

USBMON, USBMON_MAPPED, USBPCAP = 189, 220, 249
LINK_TYPES = frozenset({USBMON, USBMON_MAPPED, USBPCAP})
_HEADER_BYTES = {USBMON: 48, USBMON_MAPPED: 64}
_BULK = 3
_RNDIS_PACKET, _RNDIS_HEADER_BYTES = 1, 44
_DATA_OFFSET_FROM = 8
_NCM_16, _NCM_32 = b"NCMH", b"ncmh"
_NDP_16, _NDP_32 = (b"NCM0", b"NCM1"), (b"ncm0", b"ncm1")
_MBIM_16, _MBIM_32 = (b"IPS", b"DSS"), (b"ips", b"dss")
"""Of IP packets and of a device's own streams; a session's number is behind it (MBIM 1.0, 7.1 and 7.2)."""
_MOST_TABLES = 32
_ETHERNET_BYTES, _VLAN = 14, 0x8100


def packets(record: bytes, link_type: int) -> list[Payload]:
    """The packets in a record; an Ethernet frame as 0x6558 and its octets."""
    data = _bulk(record, link_type)
    if not data:
        return []
    if data[:4] in (_NCM_16, _NCM_32):
        return list(_ncm(data))
    if _little(data, 0) == _RNDIS_PACKET and _little(data, 4) >= _RNDIS_HEADER_BYTES:
        return [(ETHERNET, frame) for frame in _rndis(data)]
    return [(ETHERNET, data)] if _is_ethernet(data) else []


def _little(octets: bytes, at: int, size: int = 4) -> int:
    return int.from_bytes(octets[at : at + size], "little")


def _bulk(record: bytes, link_type: int) -> bytes:
    """The octets of a bulk transfer; none of others."""
    if link_type == USBPCAP:
        size = _little(record, 0, 2)
        return record[size:] if size >= 27 and len(record) > 22 and record[22] == _BULK else b""
    size = _HEADER_BYTES[link_type]
    return record[size:] if len(record) > size and record[9] == _BULK else b""


def _rndis(data: bytes) -> Iterator[bytes]:
    """The frames of one message after the other."""
    at = 0
    while at + _RNDIS_HEADER_BYTES <= len(data) and _little(data, at) == _RNDIS_PACKET:
        size, offset, length = _little(data, at + 4), _little(data, at + 8), _little(data, at + 12)
        start = at + _DATA_OFFSET_FROM + offset
        if size < _RNDIS_HEADER_BYTES or offset + _DATA_OFFSET_FROM + length > size:
            return
        yield data[start : start + length]
        at += size


def _ncm(data: bytes) -> Iterator[Payload]:
    """The frames, or in MBIM the IP packets, that the tables of a transfer block name.

    Tables that name themselves again, or more octets than the block has, would unpack without end: they end it.
    """
    wide = data[:4] == _NCM_32
    of_frames, (of_packets, of_device) = (_NDP_32, _MBIM_32) if wide else (_NDP_16, _MBIM_16)
    at, left, seen = _little(data, 12) if wide else _little(data, 10, 2), len(data), set[int]()
    while at not in seen and len(seen) < _MOST_TABLES:
        seen.add(at)
        name = data[at : at + 4]
        if not at or (name not in of_frames and name[:3] not in (of_packets, of_device)):
            return
        for octets in _table(data, at, wide) if name[:3] != of_device else ():
            left -= len(octets)
            if left < 0:
                return
            packet = (ETHERNET, octets) if name in of_frames else if_ip(octets)
            if packet is not None:
                yield packet
        at = _little(data, at + 8) if wide else _little(data, at + 6, 2)


def _table(data: bytes, at: int, wide: bool) -> Iterator[bytes]:
    size, step, place = _little(data, at + 4, 2), 4 if wide else 2, at + (16 if wide else 8)
    while place + 2 * step <= min(at + size, len(data)):
        start, length = _little(data, place, step), _little(data, place + step, step)
        if not start or not length:
            return
        yield data[start : start + length]
        place += 2 * step


def _is_ethernet(data: bytes) -> bool:
    """Whether it is an Ethernet frame with a whole IP packet: lengths and version fit."""
    at, kind = _ETHERNET_BYTES, int.from_bytes(data[12:14], "big")
    if kind == _VLAN:
        at, kind = at + 4, int.from_bytes(data[16:18], "big")
    if len(data) < at + 20:
        return False
    if kind == IP:
        return data[at] >> 4 == 4 and int.from_bytes(data[at + 2 : at + 4], "big") <= len(data) - at
    return kind == IPV6 and data[at] >> 4 == 6 and int.from_bytes(data[at + 4 : at + 6], "big") + 40 <= len(data) - at
