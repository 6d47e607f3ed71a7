"""Link layers around an IPv4 packet, octet by octet, as captures of each link type hold it."""

from __future__ import annotations

import struct
from zlib import crc32

from packets import ethernet
from wifi_monitor import data, llc, radiotap

VLAN = b"\x81\x00\x00\x05"
BRIDGED = b"\xaa\xaa\x03\x00\x80\xc2\x00\x07\0\0"


def usbmon(body: bytes, size: int = 48) -> bytes:
    """A bulk transfer from a device, as Linux records it."""
    head = struct.pack("<QBBBBHBBqiiII", 1, ord("C"), 3, 0x81, 2, 1, 0, 0, 1, 0, 0, len(body), len(body))
    return head.ljust(size, b"\0") + body


def usbpcap(body: bytes) -> bytes:
    """A bulk transfer from a device, as USBPcap records it."""
    return struct.pack("<HQIHBHHBBI", 27, 1, 0, 9, 1, 1, 2, 0x81, 3, len(body)) + body


def rndis(*frames: bytes) -> bytes:
    """RNDIS packet messages in one transfer."""
    return b"".join(
        struct.pack("<IIIII", 1, 44 + len(frame), 36, len(frame), 0).ljust(44, b"\0") + frame for frame in frames
    )


def ncm(*frames: bytes, name: bytes = b"NCM0") -> bytes:
    """A CDC-NCM transfer block of 16 bits; its table is called `name`."""
    table, at, body = b"", 12 + 8 + 4 * (len(frames) + 1), b""
    for frame in frames:
        table += struct.pack("<HH", at + len(body), len(frame))
        body += frame
    ndp = name + struct.pack("<HH", 8 + 4 * (len(frames) + 1), 0) + table + bytes(4)
    return b"NCMH" + struct.pack("<HHHH", 12, 1, 12 + len(ndp) + len(body), 12) + ndp + body


def pktap(frame: bytes, link_type: int) -> bytes:
    """A record of macOS' PKTAP."""
    return struct.pack("<III", 108, 1, link_type).ljust(108, b"\0") + frame


def erf(kind: int, frame: bytes, before: bytes = b"") -> bytes:
    """An ERF record; `before` is between its header and the frame."""
    size = 16 + len(before) + len(frame)
    return bytes(8) + bytes([kind, 4]) + struct.pack(">HHH", size, 0, len(frame)) + before + frame


def ppi(frame: bytes, link_type: int) -> bytes:
    """A PPI header without fields, and what follows it."""
    return struct.pack("<BBHI", 0, 0, 8, link_type) + frame


def nflog(packet: bytes, order: str = "<") -> bytes:
    """An NFLOG record of a host of this byte order: a time, and the packet."""
    stamp = struct.pack(order + "HH", 20, 3) + struct.pack(">QQ", 1, 2)
    return b"\x02\0\0\0" + stamp + struct.pack(order + "HH", 4 + len(packet), 9) + packet


def juniper(frame: bytes, flags: int = 0, extension: bytes = b"") -> bytes:
    """A Juniper header, and what follows it."""
    more = len(extension).to_bytes(2, "big") + extension if extension else b""
    return b"MGC" + bytes([flags | 0x80 * bool(extension)]) + more + frame


def _pppoe(packet: bytes) -> bytes:
    return b"\x11\0\0\1" + struct.pack(">H", 2 + len(packet)) + b"\0\x21" + packet


def common(packet: bytes) -> dict[str, tuple[int, bytes]]:
    """By name the link type and the record, of link layers that kernels decode."""
    return {
        "ethernet": (1, ethernet(packet)),
        "vlan": (1, ethernet(packet, tags=VLAN)),
        "qinq": (1, ethernet(packet, tags=b"\x88\xa8\x00\x01" + VLAN)),
        "pppoe": (1, ethernet(_pppoe(packet), kind=0x8864)),
        "mpls": (1, ethernet(b"\x00\x00\x10\x40\x00\x00\x21\x40" + packet, kind=0x8847)),
        "raw": (101, packet),
        "sll": (113, b"\0" * 14 + b"\x08\x00" + packet),
        "sll2": (276, b"\x08\x00" + b"\0" * 18 + packet),
        "null": (0, b"\x02\0\0\0" + packet),
        "loop": (108, b"\0\0\0\x02" + packet),
        "ppp": (9, b"\xff\x03\x00\x21" + packet),
        "ppp, compressed header": (9, b"\x21" + packet),
        "chdlc": (104, b"\x0f\x00\x08\x00" + packet),
        "fddi": (10, b"\0" * 13 + b"\xaa\xaa\x03\0\0\0\x08\x00" + packet),
    }  # fmt: skip


def rare(packet: bytes) -> dict[str, tuple[int, bytes]]:
    """The same of rare link layers, which are decoded one record at a time."""
    frame = ethernet(packet)
    return {
        "token ring": (6, b"\x10\x40" + b"\0" * 12 + llc(packet)),
        "token ring, source route": (6, b"\x10\x40\0\0\0\0\0\0\x80\0\0\0\0\0\x06\0\0\1\0\2" + llc(packet)),
        "atm": (11, llc(packet)),
        "atm, bridged": (11, BRIDGED + frame),
        "atm, nlpid": (11, b"\xfe\xfe\x03\xcc" + packet),
        "atm, vc multiplexed": (106, packet),
        "pppoe": (51, _pppoe(packet)),
        "frame relay": (107, b"\x18\x41\x03\xcc" + packet),
        "frame relay, snap": (107, b"\x18\x41\x03\0\x80\0\0\0\x08\0" + packet),
        "frame relay, four octets": (107, b"\x18\x40\x40\x41\x03\xcc" + packet),
        "frame relay, cisco": (107, b"\x18\x41\x08\0" + packet),
        "enc": (109, b"\x02\0\0\0" + b"\0" * 8 + packet),
        "pflog": (117, b"\x3d\x02\0\0em0".ljust(64, b"\0") + packet),
        "ip over fibre channel": (122, b"\x10" + b"\0" * 15 + llc(packet)),
        "arcnet": (7, b"\1\2\xd4\0\0\1" + packet),
        "arcnet, exception": (7, b"\1\2\xd4\xff\xff\xff\xd4\0\0\1" + packet),
        "arcnet, rfc 1051": (7, b"\1\2\xf0" + packet),
        "arcnet of linux": (129, b"\1\2\0\0\xd4\0\0\1" + packet),
        "arcnet of linux, rfc 1051": (129, b"\1\2\0\0\xf0" + packet),
        "multilink frame relay": (182, b"\xc0\1\x18\x41\x03\xcc" + packet),
        "mpacket": (274, b"\x55" * 7 + b"\xd5" + frame + struct.pack("<I", crc32(frame))),
        "sunatm": (123, b"\x02\0\0\x64" + llc(packet)),
        "sunatm, lan emulation": (123, b"\x01\0\0\x64\0\0" + frame),
        "firewire": (138, b"\0" * 16 + b"\x08\0" + packet),
        "docsis": (143, b"\0\0" + struct.pack(">H", len(frame)) + b"\0\0" + frame),
        "docsis, extended": (143, b"\1\2" + struct.pack(">H", len(frame) + 2) + b"\x31\1" + b"\0\0" + frame),
        "pppd": (166, b"\0\x03\0\x21" + packet),
        "ppp with direction": (204, b"\1\xff\x03\0\x21" + packet),
        "ppp with direction, compressed": (204, b"\0\x21" + packet),
        "chdlc with direction": (205, b"\1\x0f\0\x08\0" + packet),
        "frame relay with direction": (206, b"\0\x18\x41\x03\xcc" + packet),
        **{f"erf, ethernet of type {kind}": (197, erf(kind, frame, b"\0\0")) for kind in (2, 11, 16, 20)},
        **{f"erf, ppp of type {kind}": (197, erf(kind, b"\xff\x03\0\x21" + packet)) for kind in (1, 10, 15, 19)},
        **{f"erf, chdlc of type {kind}": (197, erf(kind, b"\x0f\0\x08\0" + packet)) for kind in (1, 10, 15, 19)},
        **{f"erf, channel of type {n}": (197, erf(n, b"\xff\x03\0\x21" + packet, b"\0\0\0\1")) for n in (5, 17)},
        "erf, extended": (197, bytes(8) + b"\x96\0" + struct.pack(">HHH", 24 + len(packet), 0, 60) + bytes(8) + packet),
        "mpls": (219, b"\0\0\x10\x40\0\0\x21\x40" + packet),
        "nflog": (239, nflog(packet)),
        "nflog, big endian": (239, nflog(packet, ">")),
        "ppi, ethernet": (192, ppi(frame, 1)),
        "ppi, raw": (192, ppi(packet, 12)),
        "ppi, 802.11": (192, ppi(data(llc(packet), 1), 105)),
        "netanalyzer": (240, b"\0\0\0\0" + frame),
        "netanalyzer, preamble": (241, b"\0\0\0\0" + b"\x55" * 7 + b"\xd5" + frame),
        "infiniband": (242, b"\0" * 40 + b"\x08\0\0\0" + packet),
        "pktap, ethernet": (258, pktap(frame, 1)),
        "pktap, raw": (258, pktap(packet, 12)),
        "pktap, radiotap": (258, pktap(radiotap(data(llc(packet), 1)), 127)),
        "pktap, null": (258, pktap(b"\x02\0\0\0" + packet, 0)),
        "epon": (259, b"\x55\x55\xd5\x55\x55\0\0\0" + frame),
        "usbmon, ecm": (189, usbmon(frame)),
        "usbmon mapped, rndis": (220, usbmon(rndis(frame), 64)),
        "usbmon mapped, ncm": (220, usbmon(ncm(frame), 64)),
        "usbmon mapped, mbim": (220, usbmon(ncm(packet, name=b"IPS\0"), 64)),
        "usbmon mapped, mbim session 3": (220, usbmon(ncm(packet, name=b"IPS\3"), 64)),
        "usbpcap, rndis": (249, usbpcap(rndis(frame))),
        "juniper, no link header": (178, juniper(b"\x02\0\0\0" + packet, 2)),
        "juniper ethernet": (178, juniper(frame, 1, b"\1\1\7")),
        "juniper ppp": (179, juniper(b"\xff\x03\0\x21" + packet)),
        "juniper frame relay": (180, juniper(b"\x18\x41\x03\xcc" + packet)),
        "juniper chdlc": (181, juniper(b"\x0f\0\x08\0" + packet)),
        "juniper atm 1": (137, juniper(bytes(4) + llc(packet))),
        "juniper atm 2": (135, juniper(bytes(8) + llc(packet))),
        "juniper atm 2, ip": (135, juniper(bytes(8) + packet)),
        "juniper mlppp": (130, juniper(b"\1\2\0\x21" + packet)),
        "juniper services": (136, juniper(bytes(8) + packet)),
        "cooked radiotap": (113, b"\0\0\x03\x23" + b"\0" * 12 + radiotap(data(llc(packet), 1))),
        "cooked 2, 802.11": (276, b"\0" * 8 + b"\x03\x21" + b"\0" * 10 + data(llc(packet), 1)),
        "cooked frame relay": (113, b"\0\0\x03\x02" + b"\0" * 12 + b"\x18\x41\x03\xcc" + packet),
    }  # fmt: skip
