"""Envelopes around a packet, octet by octet, independent of the decoders under test.

`AROUND_IP` and `AROUND_FRAMES` wrap an IP packet or an Ethernet frame into an IP packet or a frame; a stack of them
around a TCP packet is a capture's record.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

from packets import ethernet, ipv4, ipv6
from wifi_monitor import data as wifi_data
from wifi_monitor import llc

A, B = "192.0.2.1", "192.0.2.2"


class Envelope(NamedTuple):
    """A wrapper: what it takes and gives (`ip` or `frame`), and the label that it adds to a flow's tunnels."""

    takes: str
    gives: str
    label: str
    wrap: Callable[[bytes], bytes]


def kind_of(packet: bytes) -> int:
    """The EtherType of an IP packet."""
    return 0x0800 if packet[0] >> 4 == 4 else 0x86DD


def framed(packet: bytes, tags: bytes = b"") -> bytes:
    """An Ethernet frame with an IP packet."""
    return ethernet(packet, kind=kind_of(packet), tags=tags)


def retagged(frame: bytes, tag: bytes) -> bytes:
    """A frame with octets between its addresses and its EtherType."""
    return frame[:12] + tag + frame[12:]


def outer(protocol: int, body: bytes) -> bytes:
    """An outer IPv4 packet."""
    return ipv4(body, source=A, destination=B, p=protocol)


def udp(port: int, body: bytes, source: int = 40000) -> bytes:
    """An outer UDP datagram."""
    return outer(17, struct.pack(">HHHH", source, port, 8 + len(body), 0) + body)


def over6(body: bytes, protocol: int) -> bytes:
    """An outer IPv6 packet."""
    packet = bytearray(ipv6(body, source="2001:db8::a", destination="2001:db8::b"))
    packet[6] = protocol
    return bytes(packet)


def ppp_of(packet: bytes) -> bytes:
    """The protocol number of an IP packet in PPP."""
    return b"\x00\x21" if packet[0] >> 4 == 4 else b"\x00\x57"


def gtpu(packet: bytes, *, optional: bytes = b"", flags: int = 0x30, teid: int = 3) -> bytes:
    """A G-PDU; `optional` are the octets behind its first eight."""
    return struct.pack(">BBHI", flags, 255, len(optional) + len(packet), teid) + optional + packet


def next_of(packet: bytes) -> int:
    """The IP protocol of an IP packet inside another."""
    return 4 if packet[0] >> 4 == 4 else 41


def esp_null(packet: bytes, *, vector: bytes = b"", check: int = 12) -> bytes:
    """ESP without encryption around an IP packet: header, padding, trailer, check value."""
    padding = bytes(range(1, -(len(packet) + 2) % 4 + 1))
    trailer = padding + bytes([len(padding), next_of(packet)])
    return struct.pack(">II", 0x1234, 7) + vector + packet + trailer + b"\xa5" * check


def capwap(frame: bytes) -> bytes:
    """A CAPWAP data packet with an 802.3 frame: preamble, a header of two words, binding 1."""
    return b"\x00" + struct.pack(">I", 2 << 19 | 1 << 9)[1:] + bytes(4) + frame


def l2tp2(body: bytes, flags: int = 0x4002) -> bytes:
    """A data message of L2TPv2 with a length and perhaps numbers and an offset."""
    numbers = b"\x00\x01\x00\x02" if flags & 0x0800 else b""
    offset = b"\x00\x03\xee\xee\xee" if flags & 0x0200 else b""
    rest = struct.pack(">HH", 5, 6) + numbers + offset + b"\xff\x03" + ppp_of(body) + body
    return struct.pack(">HH", flags, 4 + len(rest)) + rest


IP, FRAME = "ip", "frame"
ENVELOPES = {
    "vlan": Envelope(FRAME, FRAME, "vlan 100", lambda f: retagged(f, b"\x81\x00\x00\x64")),
    "priority": Envelope(FRAME, FRAME, "", lambda f: retagged(f, b"\x81\x00\xe0\x00")),
    "service vlan": Envelope(FRAME, FRAME, "vlan 9", lambda f: retagged(f, b"\x88\xa8\x00\x09")),
    "9200": Envelope(FRAME, FRAME, "vlan 7", lambda f: retagged(f, b"\x92\x00\x00\x07")),
    "9300": Envelope(FRAME, FRAME, "vlan 8", lambda f: retagged(f, b"\x93\x00\x00\x08")),
    "trustsec": Envelope(FRAME, FRAME, "", lambda f: retagged(f, b"\x89\x09\x01\x01\x00\x01\x00\x05")),
    "e-tag": Envelope(FRAME, FRAME, "", lambda f: retagged(f, b"\x89\x3f\x00\x00\x00\x01\x00\x00")),
    "vn-tag": Envelope(FRAME, FRAME, "", lambda f: retagged(f, b"\x89\x26\x00\x01\x00\x02")),
    "edsa": Envelope(FRAME, FRAME, "", lambda f: retagged(f, b"\xda\xda\x00\x00\xc0\x08\x00\x00")),
    "edsa tagged": Envelope(FRAME, FRAME, "vlan 33", lambda f: retagged(f, b"\xda\xda\x00\x00\xe0\x08\x00\x21")),
    "realtek": Envelope(FRAME, FRAME, "", lambda f: retagged(f, b"\x88\x99\xa0\x02")),
    "realtek, eight octets": Envelope(FRAME, FRAME, "", lambda f: retagged(f, b"\x88\x99\x04\0\0\0\0\2")),
    "macsec": Envelope(FRAME, FRAME, "", lambda f: retagged(f, b"\x88\xe5\x20\x00\0\0\0\1" + b"\2" * 8) + b"\xa5" * 16),
    "fabricpath": Envelope(FRAME, FRAME, "", lambda f: bytes(12) + b"\x89\x03\x04\x60" + f),
    "802.1ah": Envelope(FRAME, FRAME, "i-sid 77", lambda f: bytes(12) + b"\x88\xe7\x00\x00\x00\x4d" + f),
    "trill": Envelope(FRAME, FRAME, "", lambda f: bytes(12) + b"\x22\xf3\x00\x4a\x00\x01\x00\x02" + bytes(4) + f),
    "nsh": Envelope(
        FRAME, FRAME, "", lambda f: bytes(12) + b"\x89\x4f\x0f\xc2\x02\x03\x00\x00\x01\xff" + f
    ),
    "snap": Envelope(
        IP, FRAME, "",
        lambda p: bytes(12) + struct.pack(">H", 8 + len(p)) + b"\xaa\xaa\x03\0\0\0" + struct.pack(">H", kind_of(p)) + p,
    ),
    "ethernet": Envelope(IP, FRAME, "", framed),
    "pppoe": Envelope(
        IP, FRAME, "pppoe session 7",
        lambda p: ethernet(b"\x11\x00\x00\x07" + struct.pack(">H", len(p) + 2) + ppp_of(p) + p, kind=0x8864),
    ),
    "pppoe, short protocol": Envelope(
        IP, FRAME, "pppoe session 8",
        lambda p: ethernet(b"\x11\x00\x00\x08" + struct.pack(">H", len(p) + 1) + ppp_of(p)[1:] + p, kind=0x8864),
    ),
    "mpls": Envelope(
        IP, FRAME, "mpls 16/17", lambda p: ethernet(b"\x00\x01\x00\x40\x00\x01\x11\x40" + p, kind=0x8847)
    ),
    "mpls with entropy": Envelope(
        IP, FRAME, "mpls 18",
        lambda p: ethernet(b"\x00\x01\x20\x40\x00\x00\x70\x40\xab\xcd\xe1\x00" + p, kind=0x8847),
    ),
    "pseudowire": Envelope(FRAME, FRAME, "mpls 20", lambda f: ethernet(b"\x00\x01\x41\x40" + f, kind=0x8847)),
    "pseudowire to an address that begins as IPv4": Envelope(
        FRAME, FRAME, "mpls 22", lambda f: ethernet(b"\x00\x01\x61\x40" + b"\x44" + f[1:], kind=0x8847)
    ),
    "pseudowire to an address that begins as an IPv4 header": Envelope(
        FRAME, FRAME, "mpls 23", lambda f: ethernet(b"\x00\x01\x71\x40" + b"\x45\0\0\x28" + f[4:], kind=0x8847)
    ),
    "pseudowire to an address that begins as IPv6": Envelope(
        FRAME, FRAME, "mpls 24", lambda f: ethernet(b"\x00\x01\x81\x40" + b"\x60\0\0\0\0\x01" + f[6:], kind=0x8847)
    ),
    "pseudowire with control word": Envelope(
        FRAME, FRAME, "mpls 21", lambda f: ethernet(b"\x00\x01\x51\x40" + b"\0\0\0\0" + f, kind=0x8847)
    ),
    "ipip": Envelope(IP, IP, "ipip", lambda p: outer(next_of(p), p)),
    "ip in ipv6": Envelope(IP, IP, "ipip", lambda p: over6(p, next_of(p))),
    "gre": Envelope(IP, IP, "gre", lambda p: outer(47, struct.pack(">HH", 0, kind_of(p)) + p)),
    "gre with all": Envelope(
        IP, IP, "gre key 5", lambda p: outer(47, struct.pack(">HHHHII", 0xB000, kind_of(p), 1, 0, 5, 9) + p)
    ),
    "gre with routing": Envelope(
        IP, IP, "gre",
        lambda p: outer(47, struct.pack(">HHI", 0x4000, kind_of(p), 0) + b"\0\2\0\2\xff\xff\0\0\0\0" + p),
    ),
    "nvgre": Envelope(
        FRAME, IP, "gre key 16777217", lambda f: outer(47, struct.pack(">HHI", 0x2000, 0x6558, 0x1000001) + f)
    ),
    "pptp": Envelope(
        IP, IP, "pptp call 9",
        lambda p: outer(47, struct.pack(">HHHHII", 0x3081, 0x880B, len(p) + 4, 9, 1, 2) + b"\xff\x03" + ppp_of(p) + p),
    ),
    "wccp": Envelope(IP, IP, "gre", lambda p: outer(47, b"\0\0\x88\x3e" + p)),
    "wccp 2": Envelope(IP, IP, "gre", lambda p: outer(47, b"\0\0\x88\x3e\x01\x02\x03\x04" + p)),
    "aruba": Envelope(
        IP, IP, "gre type 0x8210", lambda p: outer(47, b"\0\0\x82\x10" + wifi_data(llc(p, kind_of(p)), 5))
    ),
    "erspan 1": Envelope(FRAME, IP, "erspan", lambda f: outer(47, b"\0\0\x88\xbe" + f)),
    "erspan 2": Envelope(
        FRAME, IP, "erspan 3", lambda f: outer(47, b"\x10\0\x88\xbe\0\0\0\1" + b"\x10\x00\x00\x03\0\0\0\0" + f)
    ),
    "erspan 3": Envelope(
        FRAME, IP, "erspan 4", lambda f: outer(47, b"\x10\0\x22\xeb\0\0\0\1" + b"\x20\x00\x00\x04" + bytes(8) + f)
    ),
    "erspan 3 with platform": Envelope(
        FRAME, IP, "erspan 5",
        lambda f: outer(47, b"\x10\0\x22\xeb\0\0\0\1" + b"\x20\x00\x00\x05" + bytes(6) + b"\0\1" + bytes(8) + f),
    ),
    "etherip": Envelope(FRAME, IP, "etherip", lambda f: outer(97, b"\x30\x00" + f)),
    "ah tunnel": Envelope(
        IP, IP, "ah", lambda p: outer(51, bytes([next_of(p), 4, 0, 0]) + bytes(8) + b"\xa5" * 12 + p)
    ),
    "esp tunnel": Envelope(IP, IP, "esp", lambda p: outer(50, esp_null(p))),
    "esp tunnel, gmac": Envelope(IP, IP, "esp", lambda p: outer(50, esp_null(p, vector=b"\x77" * 8, check=16))),
    "esp in udp": Envelope(IP, IP, "esp", lambda p: udp(4500, esp_null(p), source=4500)),
    "l2tpv3": Envelope(FRAME, IP, "l2tp 66", lambda f: outer(115, struct.pack(">II", 66, 0) + f)),
    "l2tpv3 with cookie": Envelope(
        FRAME, IP, "l2tp 67", lambda f: outer(115, struct.pack(">IQI", 67, 0x1122334455667788, 0) + f)
    ),
    "l2tpv3 over udp": Envelope(FRAME, IP, "l2tp 68", lambda f: udp(1701, struct.pack(">HHI", 3, 0, 68) + f)),
    "l2tp": Envelope(IP, IP, "l2tp 5/6", lambda p: udp(1701, l2tp2(p))),
    "l2tp with all": Envelope(IP, IP, "l2tp 5/6", lambda p: udp(1701, l2tp2(p, 0x4A02))),
    "mpls in ip": Envelope(IP, IP, "mpls 22", lambda p: outer(137, b"\x00\x01\x61\x40" + p)),
    "mpls in udp": Envelope(IP, IP, "mpls 23", lambda p: udp(6635, b"\x00\x01\x71\x40" + p)),
    "gtpu": Envelope(IP, IP, "gtpu teid 3", lambda p: udp(2152, gtpu(p), source=2152)),
    "gtpu with extensions": Envelope(
        IP, IP, "gtpu teid 4",
        lambda p: udp(2152, gtpu(p, optional=b"\0\1\0\x85\x01\x10\x09\x40\x02" + bytes(6) + b"\0", flags=0x36, teid=4)),
    ),
    "gtpu over ipv6": Envelope(
        IP, IP, "gtpu teid 3",
        lambda p: over6(struct.pack(">HHHH", 2152, 2152, 16 + len(p), 0) + gtpu(p), 17),
    ),
    "vxlan": Envelope(FRAME, IP, "vxlan vni 42", lambda f: udp(4789, b"\x08\0\0\0\0\0\x2a\0" + f)),
    "vxlan, old port": Envelope(FRAME, IP, "vxlan vni 43", lambda f: udp(8472, b"\x08\0\0\0\0\0\x2b\0" + f)),
    "vxlan gpe": Envelope(
        IP, IP, "vxlan vni 44", lambda p: udp(4790, bytes([0x0C, 0, 0, 1 if p[0] >> 4 == 4 else 2]) + b"\0\0\x2c\0" + p)
    ),
    "geneve": Envelope(FRAME, IP, "geneve vni 9", lambda f: udp(6081, b"\x00\x00\x65\x58\0\0\x09\0" + f)),
    "geneve with options": Envelope(
        IP, IP, "geneve vni 10",
        lambda p: udp(6081, b"\x03\x40" + struct.pack(">H", kind_of(p)) + b"\0\0\x0a\0" + b"\1\2\x80\2" + bytes(8) + p),
    ),
    "gue": Envelope(IP, IP, "gue", lambda p: udp(6080, p)),
    "gue with header": Envelope(IP, IP, "gue", lambda p: udp(6080, bytes([1, next_of(p), 0, 0]) + bytes(4) + p)),
    "fou": Envelope(IP, IP, "fou", lambda p: udp(5555, p)),
    "gre in udp": Envelope(IP, IP, "gre", lambda p: udp(4754, struct.pack(">HH", 0, kind_of(p)) + p)),
    "lisp": Envelope(IP, IP, "lisp iid 6", lambda p: udp(4341, b"\x08\0\0\0\0\0\x06\0" + p)),
    "capwap": Envelope(FRAME, IP, "capwap", lambda f: udp(5247, capwap(f))),
    "tzsp": Envelope(FRAME, IP, "", lambda f: udp(37008, b"\x01\x00\x00\x01\x00\x0a\x01\x11\x01" + f)),
}  # fmt: skip

OUTERMOST = {
    "isl": Envelope(
        FRAME,
        FRAME,
        "vlan 12",
        lambda f: (
            b"\x01\x00\x0c\x00\x00\x00"
            + bytes(6)
            + struct.pack(">H", len(f) + 12)
            + b"\xaa\xaa\x03\0\0\x0c"
            + struct.pack(">HHH", 12 << 1, 0, 0)
            + f
        ),
    ),
}
"""Envelopes around which there is nothing else."""

ONLY_6 = {
    "teredo": Envelope(IP, IP, "teredo", lambda p: udp(3544, p)),
    "teredo with indications": Envelope(
        IP, IP, "teredo", lambda p: udp(3544, b"\x00\x01\x00\x00" + bytes(9) + b"\0\0" + bytes(6) + p)
    ),
}
"""Envelopes of IPv6 packets."""


def stacked(packet: bytes, envelopes: list[Envelope]) -> tuple[bytes, str]:
    """An Ethernet frame with `packet` in envelopes, the innermost first, and the tunnel that its flow is then in."""
    octets, form, labels = packet, IP, []
    for envelope in envelopes:
        if envelope.takes == FRAME and form == IP:
            octets = framed(octets)
        elif envelope.takes == IP and form == FRAME:
            octets, label = udp(4789, b"\x08\0\0\0\0\0\x63\0" + octets), "vxlan vni 99"
            labels.append(label)
        octets, form = envelope.wrap(octets), envelope.gives
        labels.append(envelope.label)
    return (octets if form == FRAME else framed(octets)), " / ".join(label for label in reversed(labels) if label)


def damaged(record: bytes, changes: list[tuple[int, int]], cut: int) -> bytes:
    """A record with octets changed and its end cut off."""
    made = bytearray(record)
    for place, value in changes:
        made[place % len(made)] = value
    return bytes(made[: len(made) - cut % len(made)])
