"""Compressed headers: sizes and damage as a real compressor and decompressor of RFC 1144 have them."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packets import ACK as TH_ACK
from packets import SYN as TH_SYN
from packets import ipv4, tcp

from multitracer.compute import kernels
from multitracer.replay.arq.fields import record
from multitracer.replay.simulate.framing import (
    PLAIN,
    PPP_OCTETS,
    WHOLE,
    Framing,
    compressed_octets,
    framed_octets,
    framing,
    is_read,
    remember,
)
from multitracer.replay.tcp.packets import ACK, DATA, PACKET, SYN
from multitracer.wire.vj import Compressor, Decompressor

PAYLOAD, TICK_NS = 100, 500_000_000
SENT = st.tuples(
    st.integers(0, 2), st.sampled_from(["next", "again", "ack", "syn", "skip"]), st.integers(0, 3), st.integers(0, 1),
    st.integers(0, 2), st.booleans(),
)  # fmt: skip
"""A packet: its connection; new data, old data, none, a SYN, or data further on; segments newly acknowledged; segments
by which the window opens; ticks that pass; and whether the link loses it."""


class Line:
    """Packets as the simulation has them, and the same in octets."""

    def __init__(self, *, timestamps: bool) -> None:
        kernels.choose(0)
        self.timestamps, self.now, self.count = timestamps, 0, 0
        self.link: Framing = framing(
            PPP_OCTETS, vj=True, timestamps=timestamps, payload_octets=PAYLOAD, tick_ns=TICK_NS
        )
        self.next, self.end, self.ack, self.window = ([0] * 3, [0] * 3, [0] * 3, [8] * 3)
        self.compressor, self.decompressor = Compressor(), Decompressor()

    def packet(self, connection: int, what: str, acked: int, opened: int, ticks: int) -> tuple[Any, bytes]:
        """The packet in both forms."""
        self.now += ticks * TICK_NS
        self.ack[connection] += acked
        self.window[connection] += opened
        fresh = self.next[connection]
        at = {"next": fresh, "skip": fresh + 2}.get(what, max(fresh - 1, 0))
        made = record(PACKET)
        made.connection, made.bits = connection, {"syn": SYN, "ack": ACK}.get(what, DATA | ACK)
        made.seq, made.ack = at, self.ack[connection]
        made.limit = made.ack + self.window[connection]
        made.sent_ns, made.echo_ns = self.now + 7, self.now // 2
        payload = b"" if what in ("ack", "syn") else bytes(PAYLOAD)
        if payload:
            self.end[connection] = at + 1
            self.next[connection] = max(self.next[connection], at + 1)
        real = self.octets(connection, what, (at if payload else self.end[connection]), payload)
        made.octets = len(real)
        return made, real

    def octets(self, connection: int, what: str, place: int, payload: bytes) -> bytes:
        """The packet with its headers."""
        self.count += 1
        stamps = struct.pack(">HBBII", 0x0101, 8, 10, self.now // TICK_NS, self.now // 2 // TICK_NS)
        segment = tcp(
            payload, seq=1 + place * PAYLOAD, ack=1 + self.ack[connection] * PAYLOAD,
            flags=TH_SYN if what == "syn" else TH_ACK, window=self.window[connection] * PAYLOAD,
            ports=(1000 + connection, 80), options=stamps if self.timestamps else b"",
        )  # fmt: skip
        return ipv4(segment, number=self.count)

    def rebuilt(self, kind: str, octets: bytes, packet: bytes) -> bool:
        """Whether a real decompressor gives what TCP's checksum takes for right: all but the IP identifier."""
        if kind == "ip":
            return True
        own = self.decompressor.uncompressed(octets) if kind == "uncompressed" else self.decompressor.compressed(octets)
        return own is not None and own[20:] == packet[20:]


@pytest.mark.slow
@given(st.lists(SENT, max_size=40), st.booleans())
def test_headers_are_compressed_and_damaged_as_by_rfc_1144(sent: list[tuple[Any, ...]], timestamps: bool) -> None:
    """The octets of every packet on the line, and which of them are rebuilt right after losses."""
    line, found, expected = Line(timestamps=timestamps), [], []
    for number, (connection, what, acked, opened, ticks, lost) in enumerate(sent):
        packet, real = line.packet(connection, what, acked, opened, ticks)
        kind, octets = line.compressor.compress(real)
        form = compressed_octets(line.link, 1, packet)
        assert {PLAIN: "ip", WHOLE: "uncompressed"}.get(form, "compressed") == kind
        assert framed_octets(line.link, 1, packet) == len(octets) + PPP_OCTETS
        remember(line.link, 1, number, packet)
        if not lost:
            found.append(is_read(line.link, 1, number))
            expected.append(line.rebuilt(kind, octets, real))
    assert found == expected
    assert int(line.link.state.discards) == found.count(False)


def test_a_lost_delta_damages_all_until_a_segment_sent_again() -> None:
    """Bulk data have three octets of headers; after the loss of one six are discarded, until an old one comes."""
    line, read = Line(timestamps=False), []
    steps = ["next"] * 5 + ["next"] * 6 + ["again", "next", "next"]
    for number, what in enumerate(steps):
        packet, real = line.packet(0, what, 0, 0, 0)
        if 0 < number < 11:
            assert framed_octets(line.link, 0, packet) == len(real) - 40 + 3 + PPP_OCTETS
        remember(line.link, 0, number, packet)
        if number != 4:
            read.append(is_read(line.link, 0, number))
    assert read == [True] * 4 + [False] * 6 + [True] * 3


def test_timestamps_leave_headers_whole_when_they_change() -> None:
    """Then a loss damages nothing after the next tick."""
    line, forms = Line(timestamps=True), []
    for number, ticks in enumerate([0, 0, 1, 0, 4]):
        packet, _ = line.packet(0, "next", 0, 0, ticks)
        forms.append(compressed_octets(line.link, 0, packet))
        remember(line.link, 0, number, packet)
    assert forms == [WHOLE, 3, WHOLE, 3, WHOLE]


def test_acknowledgements_with_sack_blocks_are_not_compressed() -> None:
    """Nor is the first one without."""
    line, forms = Line(timestamps=False), []
    for number, blocks in enumerate([0, 0, 1, 2, 0, 0]):
        packet, _ = line.packet(0, "ack", 1, 0, 0)
        packet.blocks = blocks
        forms.append(compressed_octets(line.link, 0, packet))
        remember(line.link, 0, number, packet)
    assert forms == [WHOLE, 4, WHOLE, WHOLE, WHOLE, 4]


def test_without_compression_every_header_is_read() -> None:
    """And PPP adds its octets alone."""
    link = framing(PPP_OCTETS)
    packet = record(PACKET)
    packet.bits, packet.octets = DATA | ACK, 300
    assert framed_octets(link, 0, packet) == 307
    remember(link, 0, 5, packet)
    assert is_read(link, 0, 9)
    assert not np.any(link.contexts["connection"])
