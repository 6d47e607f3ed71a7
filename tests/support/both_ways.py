"""Captures at both ends of a transfer in which both ends send data, and both lose some."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import packets

from multitracer.parsers import pcap
from multitracer.wire.layers import RAW_IP

SEGMENT_BYTES = 500
COUNTS = (40, 25)
"""Segments that the client and the server send."""
LOST = ({5, 20}, {7})
"""Whose first copies are lost."""
CLIENT, SERVER = "10.0.0.1:1000", "10.0.0.2:80"
_DELAY_NS, _TIMER_NS, _FIRST = 50_000_000, 650_000_000, 1000
_EVERY_NS = (100_000_000, 150_000_000)

Sending = tuple[int, int, int, bool]
"""When an end sends: time, the end, the segment (-1 for an acknowledgement alone), and whether it is lost."""


@dataclass
class End:
    """What an end has sent and received."""

    address: str
    port: int
    next: int = 0
    """The segment after the last one that it sent."""
    came: set[int] = field(default_factory=set)
    sent: int = 0

    def packet(self, peer: End, number: int, flags: int) -> bytes:
        """The packet that it sends now."""
        self.sent += 1
        start = _FIRST + (not flags & packets.SYN) * (1 + SEGMENT_BYTES * (number if number >= 0 else self.next))
        self.next = max(self.next, number + 1)
        missing = next(one for one in range(len(self.came) + 1) if one not in self.came)
        inner = packets.tcp(
            bytes(SEGMENT_BYTES) if number >= 0 else b"", seq=start, ports=(self.port, peer.port), flags=flags,
            ack=_FIRST + 1 + SEGMENT_BYTES * missing if flags & packets.ACK else 0,
        )  # fmt: skip
        return packets.ipv4(inner, source=self.address, destination=peer.address, number=self.sent)


def write(folder: Path, counts: tuple[int, int] = COUNTS) -> list[Path]:
    """The client's capture and the server's; an end that sends no segments only acknowledges."""
    records: tuple[list[tuple[int, bytes]], ...] = ([], [])
    for (time_ns, end, _, is_lost), octets in _packets(counts):
        records[end].append((time_ns, octets))
        if not is_lost:
            records[1 - end].append((time_ns + _DELAY_NS, octets))
    paths = [folder / "client.pcap", folder / "server.pcap"]
    for path, own in zip(paths, records, strict=True):
        pcap.write(path, sorted(own, key=lambda record: record[0]), RAW_IP)
    return paths


def _packets(counts: tuple[int, int]) -> Iterator[tuple[Sending, bytes]]:
    """The handshake, then what both ends send, in the order of time."""
    ends = End("10.0.0.1", 1000), End("10.0.0.2", 80)
    for step, flags in enumerate((packets.SYN, packets.SYN | packets.ACK, packets.ACK)):
        end = step % 2
        yield (step * _DELAY_NS, end, -1, False), ends[end].packet(ends[1 - end], -1, flags)
    queue = [(sending, False) for end, count in enumerate(counts) for sending in _data(end, count)]
    heapq.heapify(queue)
    while queue:
        (time_ns, end, number, is_lost), has_come = heapq.heappop(queue)
        if has_come:
            ends[1 - end].came.add(number)
            heapq.heappush(queue, ((time_ns + 10_000, 1 - end, -1, False), False))
            continue
        yield (time_ns, end, number, is_lost), ends[end].packet(ends[1 - end], number, packets.ACK)
        if number >= 0 and not is_lost:
            heapq.heappush(queue, ((time_ns + _DELAY_NS, end, number, False), True))


def _data(end: int, count: int) -> Iterator[Sending]:
    """An end's segments, those that are lost once more."""
    start = 3 * _DELAY_NS + end * 30_000_000
    for number in range(count):
        at = start + number * _EVERY_NS[end]
        yield at, end, number, number in LOST[end]
        if number in LOST[end]:
            yield at + _TIMER_NS, end, number, False
