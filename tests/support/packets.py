"""Packets for captures, encoded with dpkt, which is independent of the decoders under test."""

from __future__ import annotations

import socket

import dpkt

ACK, SYN = dpkt.tcp.TH_ACK, dpkt.tcp.TH_SYN


def tcp(
    payload: bytes = b"",
    *,
    seq: int = 1,
    ack: int = 1,
    flags: int = ACK,
    options: bytes = b"",
    window: int = 8192,
    ports: tuple[int, int] = (1000, 80),
) -> dpkt.tcp.TCP:
    """A TCP segment; `options` are padded to 32 bit words."""
    padded = options + b"\x01" * (-len(options) % 4)
    return dpkt.tcp.TCP(
        sport=ports[0], dport=ports[1], seq=seq, ack=ack, flags=flags, win=window, off=5 + len(padded) // 4,
        opts=padded, data=payload,
    )  # fmt: skip


def ipv4(
    inner: object, *, source: str = "10.0.0.1", destination: str = "10.0.0.2", number: int = 7, **fields: int
) -> bytes:
    """An IPv4 packet with right checksums."""
    packet = dpkt.ip.IP(
        src=socket.inet_aton(source),
        dst=socket.inet_aton(destination),
        id=number,
        p=fields.pop("p", 6),
        data=inner,
        **fields,
    )
    packet.len = len(packet)
    return bytes(packet)


def ipv6(inner: object, *, source: str = "2001:db8::1", destination: str = "2001:db8::2") -> bytes:
    """An IPv6 packet."""
    packet = dpkt.ip6.IP6(
        src=socket.inet_pton(socket.AF_INET6, source), dst=socket.inet_pton(socket.AF_INET6, destination),
        nxt=6, hlim=64, data=inner,
    )  # fmt: skip
    packet.plen = len(bytes(inner))  # type: ignore[call-overload]
    return bytes(packet)


def ethernet(packet: bytes, *, kind: int = 0x0800, tags: bytes = b"") -> bytes:
    """An Ethernet frame; `tags` come before the EtherType."""
    return b"\0" * 12 + tags + kind.to_bytes(2, "big") + packet
