"""A transfer to a Wi-Fi station as three captures saw it: the monitor's, the server's, and the station's own."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from packets import ACK, SYN, ethernet, ipv4, tcp
from wifi_monitor import ACCESS_POINT, FROM_DS, PROTECTED, STATION, TO_DS, ack, data, llc, radiotap, with_fcs

from multitracer.parsers import pcap

MS = 1_000_000
START_NS = 1_700_000_000_000_000_000
SERVER, CLIENT = {"source": "10.0.0.2", "destination": "10.0.0.1"}, {"source": "10.0.0.1", "destination": "10.0.0.2"}
CIPHER, CHECK = b"\1\2\0\x20\0\0\0\0", b"m" * 8
MSS = bytes([2, 4, 5, 0xB4])


@dataclass
class WifiScene:
    """Collects the records of a transfer whose server is 2 ms behind the access point."""

    encrypted: bool = False
    air: list[tuple[int, bytes]] = field(default_factory=list)
    wired: list[tuple[int, bytes]] = field(default_factory=list)
    at: int = START_NS
    number: int = 4000
    peer_number: int = 100

    def down(self, packet: bytes, transmissions: int = 1, gap_ms: int = 1) -> None:
        """A packet to the station, and its frame's transmissions, the last of them acknowledged."""
        self.wired.append((self.at - 2 * MS, ethernet(packet)))
        for turn in range(transmissions):
            self.at += gap_ms * MS * (turn > 0)
            self._frame(packet, self.number, up=False, retry=turn > 0)
        self._acknowledge(ACCESS_POINT)
        self.number = (self.number + 1) % 4096

    def up(self, packet: bytes) -> None:
        """A packet from the station, whose frame is acknowledged at once."""
        self._frame(packet, self.peer_number, up=True, retry=False)
        self._acknowledge(STATION)
        self.wired.append((self.at + 2 * MS, ethernet(packet)))
        self.peer_number = (self.peer_number + 1) % 4096

    def _frame(self, packet: bytes, number: int, *, up: bool, retry: bool) -> None:
        flags, body = TO_DS if up else FROM_DS, llc(packet)
        if self.encrypted:
            flags, body = flags | PROTECTED, CIPHER + bytes(octet ^ 0x5A for octet in body) + CHECK
        self._heard(data(body, number, up=up, retry=retry, flags=flags))

    def _acknowledge(self, receiver: bytes) -> None:
        self.at += 300_000
        self._heard(ack(receiver))

    def _heard(self, frame: bytes) -> None:
        self.air.append((self.at, radiotap(with_fcs(frame), flags=0x10)))

    def write(self, folder: Path) -> None:
        """Write air.pcap and wired.pcap."""
        pcap.write(folder / "air.pcap", sorted(self.air), 127)
        pcap.write(folder / "wired.pcap", sorted(self.wired), 1)


def transfer(segments: int = 120, stuck: int = 60, *, encrypted: bool = False) -> WifiScene:
    """A transfer in which each seventeenth frame is repeated once, and frame `stuck` eleven times in 88 ms."""
    made = WifiScene(encrypted)
    down, up = {"ports": (80, 1000)}, {"ports": (1000, 80)}
    made.up(ipv4(tcp(seq=0, ack=0, flags=SYN, options=MSS, **up), number=1, **CLIENT))
    made.at += 10 * MS
    made.down(ipv4(tcp(seq=0, ack=1, flags=SYN | ACK, options=MSS, **down), number=1, **SERVER))
    made.at += 5 * MS
    made.up(ipv4(tcp(seq=1, ack=1, **up), number=2, **CLIENT))
    for turn in range(segments):
        made.at += 5 * MS
        packet = ipv4(tcp(bytes(1000), seq=1 + 1000 * turn, **down), number=100 + turn, **SERVER)
        made.down(packet, *((12, 8) if turn == stuck else (2, 1) if turn % 17 == 1 else ()))
        if turn % 2:
            made.at += MS
            made.up(ipv4(tcp(seq=1, ack=1001 + 1000 * turn, **up), number=100 + turn, **CLIENT))
    return made
