"""TCP's packets in octets: what a capture beside an end of a simulated connection holds of them.

The models number segments; on the wire their octets are numbered, from an initial sequence number on. The segments of
a model that is one-way (ns-2's) belong to a connection for each direction, as its agents do.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from multitracer.replay.record.datagrams import checksum
from multitracer.replay.record.rlp import characters
from multitracer.replay.tcp import packets as models
from multitracer.wire.layers import PROTOCOL_TCP

IP_BYTES, TCP_BYTES = 20, 20
TIMESTAMP_BYTES = 12
"""RFC 7323's option, aligned."""
MOST_OPTION_BYTES = 40
MOST_WINDOW, MOST_SHIFT = 0xFFFF, 14
"""The window's field, and by how much it can be scaled at most (RFC 7323 2.3)."""
_NOP, _MSS, _SCALE, _SACK_PERMITTED, _SACK, _TIMESTAMPS = 1, 2, 3, 4, 5, 8
_FIN, _SYN, _ACK = 0x01, 0x02, 0x10
_HOPS = 64
_NS_PER_MS = 1_000_000
ADDRESSES = (bytes([198, 51, 100, 1]), bytes([203, 0, 113, 1]))
"""Of the wired end and of the terminal (RFC 5737)."""
PORT, FIRST_PORT, PORTS = 80, 49_152, 16_384
"""The wired end's port, and those that terminals take by turns (RFC 6335 6)."""


@dataclass(frozen=True)
class Form:
    """What all packets of a run have in common."""

    payload_bytes: int
    """Of a full segment."""
    header_bytes: int
    """Of packets with data, IP's and TCP's together."""
    one_way: bool
    """Whether each direction has a connection of its own."""
    opens: bool
    """Whether connections begin with a SYN."""
    sack: bool = False
    timestamps: bool = False
    windows: tuple[int, int] = (0, 0)
    """The largest windows in octets that the wired end and the terminal advertise."""

    def payload_of(self, octets: int) -> int:
        """Data in a segment of so many octets, one at least."""
        return max(1, octets - self.header_bytes)

    def shift(self, end: int) -> int:
        """By how much an end scales its window."""
        shift = 0
        while self.windows[end] >> shift > MOST_WINDOW and shift < MOST_SHIFT:
            shift += 1
        return shift if self.opens else 0


@dataclass
class Stream:
    """The octets of one direction, the first data octet being number 1."""

    begins: list[int] = field(default_factory=lambda: [0, 1])
    """Where each segment begins; the last number is that of the next one to be sent."""

    def place(self, number: int, octets: int) -> int:
        """Where a segment begins; one that was never sent is appended."""
        if number + 1 == len(self.begins):
            self.begins.append(self.begins[number] + octets)
        return self.begins[number]


@dataclass
class Flow:
    """A connection as captures show it; `ends` are its streams, the wired end's first."""

    number: int
    streams: tuple[Stream, Stream] = field(default_factory=lambda: (Stream(), Stream()))
    packets: list[int] = field(default_factory=lambda: [0, 0])
    """How many each end has sent: the identification of the next (RFC 791)."""
    to_answer: set[int] = field(default_factory=set)
    """The ends to which a SYN has come that a bare ACK answers."""

    def endpoint(self, end: int) -> tuple[bytes, int]:
        """An end's address and port."""
        return ADDRESSES[end], PORT if end == 0 else FIRST_PORT + self.number % PORTS

    def name(self, end: int) -> str:
        """An end as address:port."""
        address, port = self.endpoint(end)
        return f"{'.'.join(map(str, address))}:{port}"

    def initial(self, end: int) -> int:
        """The initial sequence number: far from those of other connections."""
        return (0x10000000 * (end + 1) + 0x9E3779B1 * (self.number + 1)) & 0xFFFFFFFF


class Segment(NamedTuple):
    """A packet of TCP in octets; sequence numbers are relative to the initial ones."""

    flow: Flow
    end: int
    flags: int
    seq: int
    payload_bytes: int
    octets: bytes


class Packet(NamedTuple):
    """A packet of the models, its fields in the order of PACKET."""

    connection: int
    end: int
    bits: int
    seq: int
    octets: int
    sending: int
    ack: int
    limit: int
    blocks: int
    sent_ns: int
    echo_ns: int
    left: Sequence[int]
    right: Sequence[int]


class Flows:
    """The connections of a run, and its packets in octets, made in the order in which they are sent."""

    def __init__(self, form: Form, start_ns: int) -> None:
        self.form, self._start_ns = form, start_ns
        self.known: dict[tuple[int, int], Flow] = {}

    def of(self, packet: Packet) -> Flow:
        """The connection of a packet."""
        data_end = packet.end if packet.bits & (models.DATA | models.SYN) else 1 - packet.end
        key = packet.connection, data_end if self.form.one_way else 0
        return self.known.setdefault(key, Flow(len(self.known)))

    def came(self, packet: Packet) -> None:
        """A packet came to the other end."""
        if self.form.one_way and packet.bits & models.SYN:
            self.of(packet).to_answer.add(1 - packet.end)

    def segment(self, packet: Packet) -> Segment:
        """A packet that is sent now."""
        flow, end = self.of(packet), packet.end
        payload = self.form.payload_of(packet.octets) if packet.bits & models.DATA else 0
        stream, peer = flow.streams[end], flow.streams[1 - end]
        flags, seq, ack = self._header(packet, flow)
        if packet.bits & (models.DATA | models.FIN):
            seq = stream.place(packet.seq, payload or 1)
        elif flags & _SYN == 0 and not self.form.one_way:
            seq = stream.begins[min(packet.seq, len(stream.begins) - 1)]
        acked = peer.begins[ack] if flags & _ACK else 0
        tcp = self._tcp(packet, flow, flags, (seq, acked)) + characters(seq - 1, payload)
        return Segment(flow, end, flags, seq, payload, self._ip(flow, end, tcp))

    def _header(self, packet: Packet, flow: Flow) -> tuple[int, int, int]:
        """Flags, and the numbers that the packet has if it carries no data, and that it acknowledges.

        ns-2 answers a SYN with a bare ACK, and its data acknowledge nothing: as captures show it, a SYN too, and what
        the handshake was.
        """
        bits, end = packet.bits, packet.end
        flags = _SYN * bool(bits & models.SYN) | _FIN * bool(bits & models.FIN) | _ACK * bool(bits & models.ACK)
        if not self.form.one_way:
            return flags, 0, packet.ack
        if bits & models.DATA:
            return flags | _ACK, 1, 1
        if bits == models.ACK and end in flow.to_answer:
            flow.to_answer.remove(end)
            return flags | _SYN, 0, packet.ack
        return flags, 1 - bool(bits & models.SYN), packet.ack

    def _tcp(self, packet: Packet, flow: Flow, flags: int, numbers: tuple[int, int]) -> bytes:
        """TCP's header, without its checksum."""
        end, shift = packet.end, self.form.shift(packet.end)
        options = self._options(packet, flow, flags)
        room = self._window_of(packet)
        window = min(room, MOST_WINDOW) if flags & _SYN else min(-(-room >> shift), MOST_WINDOW)
        seq = (flow.initial(end) + numbers[0]) & 0xFFFFFFFF
        ack = (flow.initial(1 - end) + numbers[1]) & 0xFFFFFFFF if flags & _ACK else 0
        length = (TCP_BYTES + len(options)) // 4
        ports = flow.endpoint(end)[1], flow.endpoint(1 - end)[1]
        return struct.pack(">HHIIBBHHH", *ports, seq, ack, length << 4, flags, window, 0, 0) + options

    def _window_of(self, packet: Packet) -> int:
        """Octets that the other end may send beyond what is acknowledged."""
        if packet.limit == 0:
            return self.form.windows[packet.end]
        return (packet.limit - packet.ack) * self.form.payload_bytes

    def _options(self, packet: Packet, flow: Flow, flags: int) -> bytes:
        form, options = self.form, b""
        if flags & _SYN:
            options += struct.pack(">BBH", _MSS, 4, min(form.payload_bytes, 0xFFFF))
            options += bytes([_NOP, _NOP, _SACK_PERMITTED, 2]) * form.sack
            options += bytes([_NOP, _SCALE, 3, form.shift(packet.end)]) * (max(form.shift(0), form.shift(1)) > 0)
        if form.timestamps:
            echo = self._stamp(packet.echo_ns) if packet.echo_ns and flags & _ACK else 0
            options += struct.pack(">BBBBII", _NOP, _NOP, _TIMESTAMPS, 10, self._stamp(packet.sent_ns), echo)
        if packet.blocks and form.sack:
            options += self._blocks(packet, flow, MOST_OPTION_BYTES - len(options))
        if packet.bits & models.DATA:
            options += bytes([_NOP]) * (form.header_bytes - IP_BYTES - TCP_BYTES - len(options))
        return options

    def _blocks(self, packet: Packet, flow: Flow, room: int) -> bytes:
        """The SACK option (RFC 2018 3), with as many blocks as there is room for."""
        begins, first = flow.streams[1 - packet.end].begins, flow.initial(1 - packet.end)
        count = min(packet.blocks, (room - 4) // 8)
        edges = [
            (first + begins[number]) & 0xFFFFFFFF
            for left, right in zip(packet.left[:count], packet.right[:count], strict=True)
            for number in (left, right)
        ]
        return struct.pack(f">BBBB{2 * count}I", _NOP, _NOP, _SACK, 2 + 8 * count, *edges)

    def _stamp(self, time_ns: int) -> int:
        return (self._start_ns + time_ns) // _NS_PER_MS & 0xFFFFFFFF

    def _ip(self, flow: Flow, end: int, tcp: bytes) -> bytes:
        """The IPv4 packet of a segment, with both checksums."""
        ends = flow.endpoint(end)[0] + flow.endpoint(1 - end)[0]
        summed = checksum(ends + struct.pack(">HH", PROTOCOL_TCP, len(tcp)) + tcp)
        fixed = struct.pack(
            ">BBHHHBB", 0x45, 0, IP_BYTES + len(tcp), flow.packets[end] & 0xFFFF, 0, _HOPS, PROTOCOL_TCP
        )
        flow.packets[end] += 1
        header = fixed + struct.pack(">H", checksum(fixed + ends)) + ends
        return header + tcp[:16] + struct.pack(">H", summed) + tcp[18:]
