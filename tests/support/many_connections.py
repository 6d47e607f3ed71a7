"""A capture of many connections, of which each later one sends more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import packets

from multitracer.parsers import pcap
from multitracer.wire.layers import RAW_IP

SERVER = "10.9.9.9"
SEGMENTS = 4
_MS, _FIRST = 1_000_000, 5000


def size(number: int) -> int:
    """The octets in each segment of a connection."""
    return 10 + number


def client(number: int) -> str:
    """A connection's client."""
    return f"10.0.{number // 200}.{number % 200 + 1}:{2000 + number}"


def write(path: Path, count: int, apart_ms: int = 1) -> Path:
    """The capture at the clients: connections begin one after the other, and a round trip is 20 ms."""
    pcap.write(path, sorted(record for number in range(count) for record in _records(number, apart_ms)), RAW_IP)
    return path


def _records(number: int, apart_ms: int) -> Iterator[tuple[int, bytes]]:
    """The handshake, then segments that are acknowledged one by one."""
    address, _, port = client(number).partition(":")
    out, back = (int(port), 80), (80, int(port))

    def packet(seq: int, ack: int, flags: int, payload: bytes = b"", *, is_answer: bool = False) -> bytes:
        inner = packets.tcp(payload, seq=seq, ports=back if is_answer else out, flags=flags, ack=ack)
        ends = (SERVER, address) if is_answer else (address, SERVER)
        return packets.ipv4(inner, source=ends[0], destination=ends[1], number=seq & 0xFFFF)

    start = number * apart_ms * _MS
    yield start, packet(_FIRST, 0, packets.SYN)
    yield start + 20 * _MS, packet(_FIRST, _FIRST + 1, packets.SYN | packets.ACK, is_answer=True)
    yield start + 21 * _MS, packet(_FIRST + 1, _FIRST + 1, packets.ACK)
    for place in range(SEGMENTS):
        at, seq = start + (30 + 30 * place) * _MS, _FIRST + 1 + place * size(number)
        yield at, packet(seq, _FIRST + 1, packets.ACK, bytes(size(number)))
        yield at + 20 * _MS, packet(_FIRST + 1, seq + size(number), packets.ACK, is_answer=True)
