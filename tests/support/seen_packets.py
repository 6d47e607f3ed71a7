"""A transfer's packets as captures saw them: copied, split over ports, in tunnels, translated, renumbered."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from packets import ACK, SYN, ethernet, ipv4, tcp

import multitracer

START_US = 1_700_000_000_000_000
FIN = 1
SEGMENT = 100


@dataclass(frozen=True)
class Seen:
    """A packet as one interface saw it; `way` is 0 from the client, 1 from the server."""

    at_us: int
    way: int
    seq: int
    ack: int
    size: int = 0
    flags: int = ACK
    ip_id: int = 0
    tsval: int = 0
    tsecr: int = 0
    ttl: int = 64
    interface: int = 0
    tags: bytes = b""
    hosts: tuple[str, str] = ("10.0.0.1", "10.0.0.2")
    ports: tuple[int, int] = (1000, 80)
    sack: tuple[int, int] | None = None
    mss: int = 0

    def frame(self) -> bytes:
        """The packet in an Ethernet frame, with right checksums."""
        options = struct.pack(">BBBBII", 1, 1, 8, 10, self.tsval, self.tsecr) if self.tsval else b""
        if self.mss:
            options += struct.pack(">BBH", 2, 4, self.mss)
        if self.sack:
            options += struct.pack(">BBBBII", 1, 1, 5, 10, *(edge % 2**32 for edge in self.sack))
        segment = tcp(
            bytes(self.size), seq=self.seq % 2**32, ack=self.ack % 2**32, flags=self.flags, options=options,
            ports=self.ports[:: 1 - 2 * self.way],
        )  # fmt: skip
        source, destination = self.hosts[:: 1 - 2 * self.way]
        packet = ipv4(segment, source=source, destination=destination, number=self.ip_id, ttl=self.ttl)
        return ethernet(packet, tags=self.tags)


def transfer(
    segments: int = 40, *, isn: tuple[int, int] = (4_000_000_000, 77), ids: bool = True, stamps: bool = True,
    lost: Iterable[int] = (10, 25), rtt_us: int = 20_000, first_ids: tuple[int, int] = (100, 9_000),
) -> list[Seen]:  # fmt: skip
    """An upload seen half way; the segments `lost` beyond are sent again, of which duplicate acknowledgements tell."""
    made: list[Seen] = []
    counters = list(first_ids)
    base = (isn[0] + 1, isn[1] + 1)

    def add(at_us: int, way: int, seq: int, ack: int, **more: Any) -> None:
        counters[way] += 1
        stamp = 1 + at_us // 1000 if stamps else 0
        made.append(Seen(at_us, way, seq, ack, ip_id=counters[way] if ids else 0, tsval=stamp, **more))

    add(0, 0, isn[0], 0, flags=SYN)
    add(rtt_us // 2, 1, isn[1], base[0], flags=SYN | ACK)
    add(rtt_us, 0, *base)
    reached = 0
    for number in range(segments):
        now = rtt_us + 1_000 + 2_500 * number
        add(now, 0, base[0] + SEGMENT * number, base[1], size=SEGMENT)
        if number in lost:
            add(now + rtt_us + 2_500, 0, base[0] + SEGMENT * number, base[1], size=SEGMENT)
            add(now + 3 * rtt_us // 2 + 2_600, 1, base[1], base[0] + SEGMENT * min(segments, number + 12))
        else:
            held = [gap for gap in lost if gap <= number < gap + 11]
            reached = held[0] if held else number + 1
            add(now + rtt_us // 2 + 37, 1, base[1], base[0] + SEGMENT * reached)
    end = made[-1].at_us + 50_000
    add(end, 0, base[0] + SEGMENT * segments, base[1], flags=FIN | ACK)
    add(end + rtt_us // 2, 1, base[1], base[0] + SEGMENT * segments + 1, flags=FIN | ACK)
    add(end + rtt_us, 0, base[0] + SEGMENT * segments + 1, base[1] + 1)
    return _echoing(sorted(made, key=lambda packet: packet.at_us))


def _echoing(packets: list[Seen]) -> list[Seen]:
    """The packets with the newest timestamp of the other end before them."""
    newest, made = [0, 0], []
    for packet in packets:
        made.append(replace(packet, tsecr=newest[1 - packet.way]))
        newest[packet.way] = packet.tsval
    return made


def later(packets: Iterable[Seen], delay_us: int, **changes: Any) -> list[Seen]:
    """The same packets as another place saw them, so much later."""
    return [replace(packet, at_us=packet.at_us + delay_us, **changes) for packet in packets]


def beyond(packets: Iterable[Seen], delay_us: int, **changes: Any) -> list[Seen]:
    """The same packets as a place nearer to the server saw them: the client's so much later, the server's earlier."""
    return [replace(packet, at_us=packet.at_us + delay_us * (1 - 2 * packet.way), **changes) for packet in packets]


def renumbered(packets: Iterable[Seen], shift: tuple[int, int]) -> list[Seen]:
    """The packets with a constant added to the numbers of the client and to those of the server."""
    return [
        replace(
            packet,
            seq=packet.seq + shift[packet.way],
            ack=packet.ack + shift[1 - packet.way] * (packet.flags & ACK > 0),
        )
        for packet in packets
    ]


def in_time(*places: Iterable[Seen]) -> list[Seen]:
    """All packets in order of time."""
    return sorted((packet for place in places for packet in place), key=lambda packet: packet.at_us)


def write(path: Path, packets: Iterable[Seen], *, most: int = 65535) -> Path:
    """Write a pcapng file with the interfaces that the packets name (IETF draft-ietf-opsawg-pcapng 4.1 to 4.3).

    Of each packet it holds the first octets, `most` of them.
    """
    packets = list(packets)
    blocks = [_block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))]
    interfaces = 1 + max((packet.interface for packet in packets), default=0)
    blocks += [_block(1, struct.pack("<HHI", 1, 0, 0))] * interfaces
    for packet in packets:
        frame, at_us = packet.frame(), START_US + packet.at_us
        times = at_us >> 32, at_us & 0xFFFFFFFF
        head = struct.pack("<IIIII", packet.interface, *times, min(len(frame), most), len(frame))
        frame = frame[:most]
        blocks.append(_block(6, head + frame + bytes(-len(frame) % 4)))
    path.write_bytes(b"".join(blocks))
    return path


def _block(kind: int, body: bytes) -> bytes:
    size = len(body) + 12
    return struct.pack("<II", kind, size) + body + struct.pack("<I", size)


COUNTS = ("packets", "data_segments", "data_bytes", "unique_bytes", "retransmitted_segments", "pure_acks")


def totals(*paths: Path) -> list[list[int]]:
    """What each direction of each connection counts, which no second point changes."""
    return [[one[end][name] for end in ("client", "server") for name in COUNTS] for one in counted(*paths)]


def counted(*paths: Path) -> list[dict[str, Any]]:
    """The connections in the summary of these captures, and what each direction sent."""
    summary = multitracer.analyze([str(path) for path in paths]).summary()
    return [
        {name: one[name] for name in ("client", "server", "closed", "handshake_seen")} | one["directions"]
        for one in summary["connections"]
    ]
