"""A bulk transfer over a link with VJ header compression that loses packets inside, as both ends' packets."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from packets import ACK, SYN, ipv4, tcp

from multitracer.parsers import pcap
from multitracer.wire.vj import Compressor, Decompressor

MS = 1_000_000
START = 1_700_000_000 * 10**9
RAW_IP = 101
ONE_WAY, SERIAL = 50 * MS, 20 * MS
"""Time on the way, and on the link for each data packet."""
RTO = 1500 * MS
ISN = 1000


@dataclass
class Failure:
    """`lost` segments are lost inside the link from segment `begin` on; the rest of the window is damaged by it."""

    lost: int
    begin: int = 20
    segments: int = 80
    window: int = 24
    size: int = 100
    numbered: bool = True
    """Whether the sender counts IP IDs (else they are 0)."""
    offload: bool = False
    """Whether the sender's capture holds the pseudo-header's sum instead of the checksum."""
    seed: int = 1
    start_ns: int = START
    isn: int = ISN
    port: int = 1000
    """The client's."""
    sent: list[tuple[int, bytes]] = field(default_factory=list)
    came: list[tuple[int, bytes]] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)
    """Sequence numbers, from 1 on, of the segments that arrived damaged."""

    def __post_init__(self) -> None:
        random = np.random.default_rng(self.seed)
        self._payload = [random.integers(0, 256, self.size, dtype=np.uint8).tobytes() for _ in range(self.segments)]
        self._compressor, self._decompressor = Compressor(), Decompressor()
        self._now, self._count, self._their_isn = self.start_ns, 0, self.isn + 4000
        self._send(self._segment(b"", self.isn, 0, SYN), self._now)
        self._answer(self._now + ONE_WAY + SERIAL + MS, 1, SYN | ACK, seq=0)
        self._now += 2 * ONE_WAY + SERIAL + 2 * MS
        self._send(self._segment(b"", self.isn + 1, self._their_isn + 1, ACK), self._now)
        self._transfer()

    def _transfer(self) -> None:
        """Go-back-N: send what the window allows, resend from the first missing segment after a timeout."""
        una, nxt, expected, acks, seen = 0, 0, 0, list[tuple[int, int]](), set[int]()
        while una < self.segments:
            self._now += SERIAL
            due = [number for at, number in acks if at <= self._now]
            una = max([una, *due])
            nxt = max(nxt, una)
            if nxt - una < self.window and nxt < self.segments:
                again, number = nxt in seen, nxt
                seen.add(nxt)
                nxt += 1
                inside = self.begin <= number < self.begin + self.lost and not again
                if self._send_segment(number, inside) and number == expected:
                    expected += 1
                    acks.append((self._now + 2 * ONE_WAY + SERIAL, expected))
                    self._answer(self._now + ONE_WAY + SERIAL, expected * self.size + 1, ACK)
            elif not any(at > self._now for at, _ in acks) and una < nxt:
                self._now += RTO
                nxt = una

    def _send_segment(self, number: int, inside: bool) -> bool:
        """Send a segment; whether it came as it was sent."""
        place = number * self.size
        segment = self._segment(self._payload[number], self.isn + 1 + place, self._their_isn + 1, ACK)
        came = self._send(segment, self._now, lost=inside)
        if came is False:
            self.damaged.append(place + 1)
        return bool(came)

    def _segment(self, payload: bytes, seq: int, ack: int, flags: int) -> object:
        return tcp(payload, seq=seq, ack=ack, flags=flags, ports=(self.port, 80))

    def _send(self, segment: object, time_ns: int, *, lost: bool = False) -> bool | None:
        """Send a packet over the link; whether it arrived unchanged, None if it was lost."""
        self._count += 1
        packet = ipv4(segment, number=self._count if self.numbered else 0)
        self.sent.append((time_ns, offloaded(packet) if self.offload else packet))
        kind, octets = self._compressor.compress(packet)
        if lost:
            return None
        rebuilt = packet
        if kind == "uncompressed":
            rebuilt = self._decompressor.uncompressed(octets) or b""
        elif kind == "compressed":
            rebuilt = self._decompressor.compressed(octets) or b""
        self.came.append((time_ns + ONE_WAY + SERIAL, rebuilt))
        return rebuilt == packet

    def _answer(self, time_ns: int, acknowledged: int, flags: int, seq: int = 1) -> None:
        segment = tcp(seq=self._their_isn + seq, ack=self.isn + acknowledged, flags=flags, ports=(80, self.port))
        packet = ipv4(segment, source="10.0.0.2", destination="10.0.0.1", number=acknowledged & 0xFFFF)
        self.came.append((time_ns, packet))
        self.sent.append((time_ns + ONE_WAY, packet))

    def write(self, folder: Path, *, snap: tuple[int, int] = (65535, 65535)) -> list[Path]:
        """Write snd.pcap and rcv.pcap, cut to `snap` octets a packet."""
        files = [folder / "snd.pcap", folder / "rcv.pcap"]
        for file, packets, length in zip(files, (self.sent, self.came), snap, strict=True):
            packets = sorted(packets, key=lambda one: one[0])
            cut = [(time_ns, packet[:length]) for time_ns, packet in packets]
            pcap.write(file, cut, RAW_IP, original_bytes=[len(packet) for _, packet in packets])
        return files


def offloaded(packet: bytes) -> bytes:
    """The packet as a capture above checksum offload holds it: with the sum of the pseudo-header alone."""
    total = sum(struct.unpack(">4H", packet[12:20])) + 6 + len(packet) - 20
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return packet[:36] + total.to_bytes(2, "big") + packet[38:]
