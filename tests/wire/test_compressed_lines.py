"""Compressed headers of a line's two directions, which each have slots of their own, in captures of both."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

import pytest
from decoding import decoded
from packets import ethernet, ipv4, tcp
from pcapng_blocks import block, interface, packet, section

from multitracer.model.trace import Recording
from multitracer.parsers import pcapng
from multitracer.parsers.shared.source import Source
from multitracer.wire.vj import Compressor

PPP, ETHERNET = 9, 1
_PROTOCOLS = {"ip": b"\x21", "uncompressed": b"\x00\x2f", "compressed": b"\x00\x2d"}
ROUNDS = 4


def exchange() -> Iterator[tuple[int, bytes, bytes]]:
    """(Direction, packet, PPP frame): requests of 10 octets and answers of 20, both in slot 0 of their compressors."""
    compressors = Compressor(), Compressor()
    for number in range(ROUNDS):
        up = tcp(bytes([number]) * 10, seq=100 + 10 * number, ack=500 + 20 * number)
        down = tcp(bytes([number]) * 20, seq=500 + 20 * number, ack=110 + 10 * number, ports=(80, 1000))
        ends = {"source": "10.0.0.2", "destination": "10.0.0.1"}
        for direction, made in enumerate((ipv4(up, number=number), ipv4(down, number=number, **ends))):
            kind, octets = compressors[direction].compress(made)
            yield direction, made, b"\xff\x03" + _PROTOCOLS[kind] + octets


COLUMNS = ["raw_seq", "raw_ack", "payload_bytes", "direction", "checksum_ok"]


def fields(found: Recording) -> list[list[int]]:
    """The packets of a recording."""
    return list(found.tables["packets"][COLUMNS].to_numpy().tolist())


PLAIN = fields(decoded([made for _, made, _ in exchange()]))
SLIP_KINDS = {0x2F: 0x70, 0x2D: 0x80}
"""The first octet of SLIP's pseudo header by PPP's protocol."""
SIDES = (b"\2" * 6 + b"\4" * 6, b"\4" * 6 + b"\2" * 6)


def pppoe(direction: int, frame: bytes) -> bytes:
    """A PPPoE session's frame, without address and control octets, padded as Ethernet wants it."""
    body = frame[2:]
    return (SIDES[direction] + b"\x88\x64\x11\0\0\7" + len(body).to_bytes(2, "big") + body).ljust(60, b"\0")


LINES: dict[str, tuple[int, Callable[[int, bytes], bytes]]] = {
    "ppp with direction": (204, lambda direction, frame: bytes([direction]) + frame),
    "pppd": (166, lambda direction, frame: bytes([direction]) + frame[1:]),
    "pppoe": (ETHERNET, pppoe),
    "juniper ppp": (179, lambda direction, frame: b"MGC" + bytes([direction]) + frame),
    "pktap": (
        258,
        lambda direction, frame: (
            (b"\x6c\0\0\0\1\0\0\0\x09\0\0\0" + b"ppp0".ljust(24, b"\0") + bytes([1 + direction])).ljust(108, b"\0")
            + frame
        ),
    ),
    "slip": (8, lambda direction, frame: bytes([direction, SLIP_KINDS[frame[3]]]).ljust(16, b"\0") + frame[4:]),
}


def test_a_packet_of_the_exchange_is_compressed_in_each_direction() -> None:
    """So that what follows is about compressed headers."""
    assert {direction for direction, _, frame in exchange() if frame[2:4] == b"\x00\x2d"} == {0, 1}
    assert [row[-1] for row in PLAIN] == [1] * 2 * ROUNDS


@pytest.mark.parametrize("name", LINES)
def test_each_direction_of_a_line_has_slots_of_its_own(name: str) -> None:
    """Where the record says which way it went, both directions' slot 0 give their own packets, checksums right."""
    link_type, wrap = LINES[name]
    records = [wrap(direction, frame) for direction, _, frame in exchange()]
    assert fields(decoded(records, link_type)) == PLAIN


@pytest.mark.parametrize("name", ["ppp with direction", "slip"])
def test_packets_with_compressed_headers_may_be_cut(name: str) -> None:
    """The line's length says how long their payload was, from which the next ones' numbers follow."""
    link_type, wrap = LINES[name]
    records = [wrap(direction, frame) for direction, _, frame in exchange()]
    cut = [record[:-8] if len(record) < 55 else record for record in records]
    assert cut != records
    found = fields(decoded(cut, link_type, [len(record) for record in records]))
    assert [row[:4] for row in found] == [row[:4] for row in PLAIN]


def made_file(order: str, *, flagged: bool, lines: int = 1) -> bytes:
    """The exchange in pcapng, over one interface or one for each direction."""
    blocks = section(order) + interface(order, link=PPP) * lines
    for number, (direction, _, frame) in enumerate(exchange()):
        flags = 0x20 + 1 + direction if flagged else None
        blocks += packet(number, frame, direction % lines, order, flags=flags)
    return blocks


@pytest.mark.parametrize("order", "<>")
def test_the_flags_of_pcapng_tell_the_directions_of_a_line(order: str) -> None:
    """Inbound and outbound, in the section's byte order, behind other options and padding."""
    assert fields(pcapng.read(Source("x", made_file(order, flagged=True)))) == PLAIN


def test_two_interfaces_are_two_lines() -> None:
    """Neither changes the other's slots."""
    assert fields(pcapng.read(Source("x", made_file("<", flagged=False, lines=2)))) == PLAIN


def test_only_flags_say_which_way_a_packet_of_pcapng_went() -> None:
    """In an enhanced block; a simple one has none."""
    frame = ethernet(ipv4(tcp(b"abc")))
    simple = block(3, struct.pack("<I", len(frame)) + frame, "<")
    blocks = section() + interface(link=ETHERNET) + packet(1, frame) + packet(2, frame, flags=2) + simple
    places = [at for at in range(len(blocks)) if blocks[at:].startswith(frame)]
    assert [pcapng.direction_at(memoryview(blocks), at) for at in places] == [0, 2, 0]
