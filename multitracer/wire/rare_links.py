"""What follows the headers of rare link layers, as EtherType and octets.

Works on one record at a time in plain Python, since captures hold few of them. Sources: tcpdump.org/linktypes;
RFC 2427 and FRF.16.1 (frame relay), RFC 2684 (ATM), RFC 1201 (ARCNET), RFC 2625 (Fibre Channel), IEEE 802.3br, RFC 4391
(InfiniBand), CableLabs MULPI (DOCSIS).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from multitracer.wire import juniper, radiotap, usb_packets
from multitracer.wire.erf_records import HEADER_BYTES, MORE_HEADERS, behind_extensions, frame_of
from multitracer.wire.llc import CHDLC_TYPES, ETHERNET, MPLS, PPP, Payload, frame_relay, if_ip, llc, llc_or_ip
from multitracer.wire.wifi_packets import WifiPackets

SLL, SLL2 = 113, 276
_NFLOG, PKTAP, _ERF = 239, 258, 197
PKTAP_AS_USER = 149
"""DLT_USER2, which macOS used for PKTAP: tcpdump wrote the number of its system, not of the file format."""
_PKTAP_BYTES, _PKTAP_PACKET, _NAME_BYTES = 108, 1, 24
"""Octets of the shortest PKTAP header, its type of a packet, octets of an interface's name (Darwin's net/pktap.h)."""
_NFLOG_HEADER_BYTES, _NFULA_PAYLOAD, _NFULA_LAST, _NLA_TYPE = 4, 9, 0xFF, 0x3FFF
"""The attribute of an NFLOG record that has the packet; more than Linux has types; a type without its flags."""
# ARPHRD_ of frames that a cooked capture has whole behind its header (linux/if_arp.h).
_ARPHRD_LINK_TYPES = {770: 107, 801: radiotap.PLAIN, 802: radiotap.PRISM, 803: radiotap.RADIOTAP}
_MOST_NESTED = 4
_ARCNET_RFC_1051, _ARCNET_IP, _ARCNET_EXCEPTION = b"\xf0", (b"\xd4", b"\xc4"), b"\xff"
"""Protocols of ARCNET: IP by RFC 1051, and by RFC 1201 with IPv6; the flag of an exception."""
_MFR_BITS, _MFR_WHOLE = 0xE0, 0xC0
_PREAMBLE_BYTES, _EXPRESS = 8, b"\xd5"


class RareLinkDecoder:
    """Takes the records of a capture in their order, as some packets are spread over several, or repeated."""

    def __init__(self) -> None:
        self._wifi = WifiPackets()

    def payloads(self, record: bytes, link_type: int, *, whole: bool = True, depth: int = 0) -> list[Payload]:
        """(EtherType, octets after the link header) of every packet in a record.

        `link_type` is one of RARE_LINK_TYPES, or SLL or SLL2 of `wraps_link`. `whole`: no octets of the record were
        left out. EtherType 0x6558 is a whole Ethernet frame, 0x880B a PPP frame.
        """
        if link_type in radiotap.LINK_TYPES and not radiotap.wraps_other(record, link_type):
            return self._wifi.packets(record, link_type, whole=whole)
        if link_type in usb_packets.LINK_TYPES:
            return usb_packets.packets(record, link_type)
        inner = _nested(record, link_type)
        if inner is not None:
            return [] if depth == _MOST_NESTED else self._plain(*inner, whole=whole, depth=depth + 1)
        found = _ONE_PACKET[link_type](record) if link_type in _ONE_PACKET else juniper.payload(record, link_type)
        return [] if found is None else [found]

    def _plain(self, record: bytes, link_type: int, *, whole: bool, depth: int) -> list[Payload]:
        """The packets of a record inside another, of a rare link type or of a common one."""
        if link_type in _COMMON:
            found = _COMMON[link_type](record)
            return [] if found is None else [found]
        return self.payloads(record, link_type, whole=whole, depth=depth)


def wraps_link(record: bytes, link_type: int) -> bool:
    """Whether a cooked record holds a frame of another link layer."""
    return link_type in (SLL, SLL2) and _hardware(record, link_type) in _ARPHRD_LINK_TYPES


def is_pktap(record: bytes) -> bool:
    """Whether a record begins with a header of PKTAP around a packet of a link type that is read here."""
    size, kind, link_type = (int.from_bytes(record[at : at + 4], "little") for at in (0, 4, 8))
    name = record[12 : 12 + _NAME_BYTES].rstrip(b"\0").replace(b"_", b"")  # as in pdp_ip0
    named = name.isalnum() and name[:1].isalpha()
    return named and kind == _PKTAP_PACKET and _PKTAP_BYTES <= size <= len(record) and link_type in _COMMON


def _hardware(record: bytes, link_type: int) -> int:
    at = 2 if link_type == SLL else 8
    return _big(record, at)


def _nested(record: bytes, link_type: int) -> tuple[bytes, int] | None:
    """The record inside another, and its link type; None where its kind has none."""
    if link_type in (SLL, SLL2):
        kind = _ARPHRD_LINK_TYPES.get(_hardware(record, link_type), -1)
        return record[16 if link_type == SLL else 20 :], kind
    if link_type == PKTAP:
        size = int.from_bytes(record[:4], "little")
        return record[max(size, 12) :], int.from_bytes(record[8:12], "little")
    if link_type == radiotap.PPI:
        radio = radiotap.decode(record, link_type)
        return radio and (record[radio.size :], radio.link_type)
    return _erf(record) if link_type == _ERF else None


def _erf(record: bytes) -> tuple[bytes, int]:
    """The frame of an ERF record: behind extension headers, each saying whether another follows."""
    kind = record[8] if len(record) > 8 else 0
    at = behind_extensions(kind, record, HEADER_BYTES, len(record))
    link_type, start = frame_of(kind & ~MORE_HEADERS, record[at:]) or (-1, 0)
    return record[at + start :], link_type


def _big(octets: bytes, at: int) -> int:
    return int.from_bytes(octets[at : at + 2], "big")


def _ethernet_from(at: int) -> Callable[[bytes], Payload | None]:
    return lambda record: (ETHERNET, record[at:])


def _ppp_from(at: int) -> Callable[[bytes], Payload | None]:
    return lambda record: (PPP, record[at:])


def _ppp_of_pppd(record: bytes) -> Payload | None:
    """PPP whose address octet says the direction."""
    at = 2 if record[1:2] == b"\x03" else 1
    return PPP, record[at:]


def _pppoe(record: bytes) -> Payload | None:
    return 0x8864, record


def _sunatm(record: bytes) -> Payload | None:
    """Four octets of flags and channel; type 1 is LAN emulation: two octets, then Ethernet."""
    if record[:1] and record[0] & 15 == 1:
        return ETHERNET, record[6:]
    return llc_or_ip(record[4:])


def _arcnet(record: bytes) -> Payload | None:
    """Two addresses, and for packets of lengths that ARCNET forbids four octets more (an exception, RFC 1201)."""
    return _arcnet_packet(record[6:] if record[3:4] == _ARCNET_EXCEPTION else record[2:])


def _arcnet_of_linux(record: bytes) -> Payload | None:
    """Two addresses, and an offset."""
    return _arcnet_packet(record[4:])


def _arcnet_packet(record: bytes) -> Payload | None:
    """Behind the protocol a flag, which says whether it was split, and a number; by RFC 1051 there are none."""
    if record[:1] == _ARCNET_RFC_1051:
        return if_ip(record[1:])
    whole = record[:1] in _ARCNET_IP and record[1:2] == b"\0"
    return if_ip(record[4:]) if whole else None


def _multilink_frame_relay(record: bytes) -> Payload | None:
    """A fragment that both begins and ends its frame (FRF.16.1); others are not put together."""
    whole = bool(record[:1]) and record[0] & _MFR_BITS == _MFR_WHOLE
    return frame_relay(record[2:]) if whole else None


def _mpacket(record: bytes) -> Payload | None:
    """An express frame behind its preamble (802.3br); preemptable ones may be fragments."""
    return (ETHERNET, record[_PREAMBLE_BYTES:]) if record[_PREAMBLE_BYTES - 1 : _PREAMBLE_BYTES] == _EXPRESS else None


def _token_ring(record: bytes) -> Payload | None:
    """LLC behind access and frame control, two addresses and the route, if there is one."""
    if len(record) < 15 or record[1] >> 6 != 1:
        return None
    route = record[14] & 0x1F if record[8] & 0x80 else 0
    return llc(record[14 + route :])


def _pflog(record: bytes) -> Payload | None:
    """The header's length does not count its padding to four octets."""
    return if_ip(record[record[0] + 3 & ~3 :]) if record and record[0] >= 16 else None


def _docsis(record: bytes) -> Payload | None:
    """An Ethernet frame in a packet PDU, behind the MAC header and its extension."""
    if len(record) < 6 or record[0] >> 6:
        return None
    return ETHERNET, record[6 + (record[1] if record[0] & 1 else 0) :]


def _infiniband(record: bytes) -> Payload | None:
    """The type is behind a global routing header of 40 octets."""
    return (_big(record, 40), record[44:]) if len(record) > 44 else None


def _firewire(record: bytes) -> Payload | None:
    return (_big(record, 16), record[18:]) if len(record) > 18 else None


def _mpls(record: bytes) -> Payload | None:
    return MPLS, record


def _chdlc(record: bytes) -> Payload | None:
    return (_big(record, 2), record[4:]) if _big(record, 0) in CHDLC_TYPES else None


def _family(record: bytes) -> Payload | None:
    return if_ip(record[4:])


def _cooked(record: bytes) -> Payload | None:
    return (_big(record, 14), record[16:]) if len(record) > 16 else None


def _cooked_2(record: bytes) -> Payload | None:
    return (_big(record, 0), record[20:]) if len(record) > 20 else None


def _nflog(record: bytes) -> bytes:
    """The payload attribute among the type-length-value attributes; empty without one.

    They are in the byte order of the host that wrote them, which nothing states: in the other order no type fits.
    """
    return _nflog_payload(record, "little") or _nflog_payload(record, "big")


def _nflog_payload(record: bytes, order: Literal["little", "big"]) -> bytes:
    at = _NFLOG_HEADER_BYTES
    while at + 4 <= len(record):
        size, kind = (int.from_bytes(record[place : place + 2], order) for place in (at, at + 2))
        if size < 4 or kind & _NLA_TYPE > _NFULA_LAST:
            return b""
        if kind & _NLA_TYPE == _NFULA_PAYLOAD:
            return record[at + 4 : at + size]
        at += (size + 3) & ~3
    return b""


_ONE_PACKET: dict[int, Callable[[bytes], Payload | None]] = {
    6: _token_ring,
    7: _arcnet,
    11: llc_or_ip,
    19: llc_or_ip,  # Classical IP over ATM, as systems number it; 106 in files
    51: _pppoe,
    100: llc_or_ip,  # ATM by RFC 1483 in a file; 11 on most systems
    106: llc_or_ip,
    107: frame_relay,
    109: lambda record: if_ip(record[12:]),  # address family, SPI and flags (OpenBSD's enc)
    117: _pflog,
    122: lambda record: llc(record[16:]),  # IP over Fibre Channel, behind two addresses of RFC 2625
    123: _sunatm,
    129: _arcnet_of_linux,
    138: _firewire,
    143: _docsis,
    166: _ppp_of_pppd,
    182: _multilink_frame_relay,
    204: _ppp_from(1),
    205: lambda record: _chdlc(record[1:]),
    206: lambda record: frame_relay(record[1:]),
    219: _mpls,
    _NFLOG: lambda record: if_ip(_nflog(record)),
    240: _ethernet_from(4),
    241: _ethernet_from(12),
    242: _infiniband,
    259: _ethernet_from(8),
    274: _mpacket,
}
_COMMON: dict[int, Callable[[bytes], Payload | None]] = {
    0: _family, 1: _ethernet_from(0), 9: _ppp_from(0), 12: if_ip, 14: if_ip, 50: _ppp_from(0), 101: if_ip,
    104: _chdlc, 108: _family, SLL: _cooked, 228: if_ip, 229: if_ip, SLL2: _cooked_2,
}  # fmt: skip
"""Link types that the kernels know, where they are inside another record."""

RARE_LINK_TYPES = frozenset(
    {*radiotap.LINK_TYPES, *usb_packets.LINK_TYPES, *juniper.LINK_TYPES, *_ONE_PACKET, PKTAP, _ERF}
)
