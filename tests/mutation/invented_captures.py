"""Captures that are invented for the mutator: a connection in each envelope, link layer, and file format."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import link_layers
import wifi_monitor
from envelopes import ENVELOPES, ONLY_6, framed, stacked
from packets import ACK, SYN, ipv4, ipv6, tcp
from pcapng_blocks import interface, packet, section
from wifi_scene import transfer

START_S = 1_700_000_000
_ETHERNET, _RADIOTAP = 1, 127
_ACK_PSH, _MSS = 0x18, bytes([2, 4, 5, 0xB4])
_RADIOTAP_BYTES, _CHECK_BYTES = 18, 4
_RADIOS = {105: b"", 119: wifi_monitor.prism(b""), 163: wifi_monitor.avs(b""), 192: wifi_monitor.ppi(b"")}
"""By link type, what is before each 802.11 frame."""


def connection(*, six: bool = False) -> list[bytes]:
    """A handshake, two segments of which one is sent twice, and their acknowledgements, as IP packets."""
    wrap, near, far = (ipv6, "2001:db8::1", "2001:db8::2") if six else (ipv4, "10.0.0.1", "10.0.0.2")
    up, down = {"source": near, "destination": far}, {"source": far, "destination": near}
    back = {"ports": (80, 1000)}
    return [
        wrap(tcp(seq=0, ack=0, flags=SYN, options=_MSS), **up),
        wrap(tcp(seq=0, ack=1, flags=SYN | ACK, options=_MSS, **back), **down),
        wrap(tcp(b"a" * 40, seq=1, flags=_ACK_PSH), **up),
        wrap(tcp(b"b" * 40, seq=41, flags=_ACK_PSH), **up),
        wrap(tcp(b"a" * 40, seq=1, flags=_ACK_PSH), **up),
        wrap(tcp(seq=1, ack=81, **back), **down),
    ]


def pcap(packets: list[bytes], link_type: int, step_us: int = 10_000) -> bytes:
    """A file of these packets, at equal distances."""
    made = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link_type)
    for number, octets in enumerate(packets):
        second, rest = divmod(number * step_us, 1_000_000)
        made += struct.pack("<IIII", START_S + second, rest, len(octets), len(octets)) + octets
    return made


def pcapng(packets: list[bytes], link_type: int, order: str = "<") -> bytes:
    """The same as a pcapng file."""
    blocks = [packet((START_S * 1000 + at) * 1000, octets, order=order) for at, octets in enumerate(packets)]
    return section(order) + interface(order, link=link_type) + b"".join(blocks)


def _snoop(packets: list[bytes]) -> bytes:
    made = b"snoop\0\0\0" + struct.pack(">II", 2, 4)
    for number, octets in enumerate(packets):
        size = 24 + len(octets)
        made += struct.pack(">IIIIII", len(octets), len(octets), size, 0, START_S, number * 1000) + octets
    return made


def _erf(packets: list[bytes]) -> bytes:
    made = b""
    for number, octets in enumerate(packets):
        body = b"\0\0" + octets
        time = START_S << 32 | number << 24
        made += struct.pack("<Q", time) + struct.pack(">BBHHH", 2, 4, 16 + len(body), 0, len(octets)) + body
    return made


def _air() -> Iterator[bytes]:
    """Monitor captures, open and encrypted, behind each kind of radio header."""
    for encrypted in (False, True):
        records = [octets for _, octets in sorted(transfer(6, 3, encrypted=encrypted).air)]
        yield pcap(records, _RADIOTAP)
    for link_type, radio in _RADIOS.items():
        yield pcap([radio + octets[_RADIOTAP_BYTES:-_CHECK_BYTES] for octets in records[:8]], link_type)
    several = wifi_monitor.data(wifi_monitor.amsdu(*connection()[:3]), 7, qos=0x80)
    acknowledged = wifi_monitor.block_ack(wifi_monitor.STATION, wifi_monitor.ACCESS_POINT, 0, 0xFF)
    yield pcap([wifi_monitor.radiotap(frame) for frame in (several, acknowledged, several, acknowledged)], _RADIOTAP)


def _links(packets: list[bytes]) -> Iterator[bytes]:
    """The connection in each link layer."""
    for carried in (link_layers.common, link_layers.rare):
        frames = [carried(one) for one in packets]
        for name, (link_type, _) in frames[0].items():
            yield pcap([of_one[name][1] for of_one in frames], link_type)


def captures() -> dict[str, list[bytes]]:
    """By format, the captures."""
    four, six = connection(), connection(six=True)
    tunnels = [pcap([stacked(one, [envelope])[0] for one in four], _ETHERNET) for envelope in ENVELOPES.values()]
    tunnels += [pcap([stacked(one, [envelope])[0] for one in six], _ETHERNET) for envelope in ONLY_6.values()]
    plain = [framed(one) for one in four + six]
    return {
        "pcap": [*tunnels, *_air(), *_links(four), pcap(plain, _ETHERNET)],
        "pcapng": [pcapng(plain, _ETHERNET), pcapng(plain, _ETHERNET, ">")],
        "snoop": [_snoop(plain)],
        "erf": [_erf(plain)],
    }
