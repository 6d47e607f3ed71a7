"""Header compression of RFC 1144: round trips, and the effect of a lost packet."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packets import ipv4, tcp

from multitracer.wire.vj import Compressor, Decompressor


def over_the_line(packets: list[bytes], lost: set[int] = frozenset()) -> list[bytes | None]:  # type: ignore[assignment]
    """The packets after compression and decompression; those lost on the line are None."""
    compressor, decompressor = Compressor(), Decompressor()
    out: list[bytes | None] = []
    for number, packet in enumerate(packets):
        kind, octets = compressor.compress(packet)
        if number in lost:
            out.append(None)
        elif kind == "ip":
            out.append(octets)
        elif kind == "uncompressed":
            out.append(decompressor.uncompressed(octets))
        else:
            out.append(decompressor.compressed(octets))
    return out


steps = st.tuples(
    st.integers(0, 2),  # connection
    st.integers(0, 70_000),  # sequence number increment
    st.integers(0, 70_000),  # acknowledgement number increment
    st.integers(-300, 300),  # window change
    st.integers(0, 3),  # IP identification increment
    st.binary(max_size=30),
    st.sampled_from([0x10, 0x18, 0x11, 0x02, 0x30]),
)


@pytest.mark.slow
@given(st.lists(steps, max_size=40))
@settings(max_examples=120, deadline=None)
def test_every_packet_comes_out_as_it_went_in(moves: list[tuple[int, int, int, int, int, bytes, int]]) -> None:
    """Any sequence of headers over three connections is decompressed to the same packets."""
    state = {number: [1000, 2000, 8000, 1] for number in range(3)}
    packets = []
    for number, seq, ack, window, identification, payload, flags in moves:
        now = state[number]
        now[0] = (now[0] + seq) & 0xFFFFFFFF
        now[1] = (now[1] + ack) & 0xFFFFFFFF
        now[2] = max(0, min(65535, now[2] + window))
        now[3] = (now[3] + identification) & 0xFFFF
        segment = tcp(payload, seq=now[0], ack=now[1], window=now[2], flags=flags, ports=(1000 + number, 80))
        packets.append(ipv4(segment, number=now[3]))
    assert over_the_line(packets) == packets


def transfer(count: int, size: int = 100) -> list[bytes]:
    """Segments of one transfer, one after the other."""
    return [ipv4(tcp(b"x" * size, seq=1 + size * n), number=10 + n) for n in range(count)]


def test_a_data_segment_shrinks_to_a_few_octets() -> None:
    """After the first packet, 40 octets of headers become at most 5."""
    compressor = Compressor()
    sizes = [len(compressor.compress(packet)[1]) - 100 for packet in transfer(5)]
    assert sizes[0] == 40
    assert max(sizes[1:]) <= 5


def test_after_a_loss_numbers_are_too_low_by_what_was_lost() -> None:
    """After a loss, sequence numbers are too low by the lost payload until an uncompressed packet."""
    packets = transfer(6)
    out = over_the_line(packets, lost={2})
    assert out[3] is not None
    assert int.from_bytes(out[3][24:28], "big") == int.from_bytes(packets[3][24:28], "big") - 100
    assert out[3][36:38] == packets[3][36:38]
    again = over_the_line([*packets, packets[2]], lost={2})
    assert again[-1] == packets[2]


@pytest.mark.parametrize("octets", [b"", b"\x4f", b"\x00\x12", b"\x0f\x12\x34"])
def test_a_packet_without_context_is_not_decompressed(octets: bytes) -> None:
    """A compressed packet of an unknown connection, or one cut short, gives None."""
    assert Decompressor().compressed(octets) is None


@given(st.lists(st.tuples(st.booleans(), st.binary(max_size=60)), max_size=20))
def test_random_octets_never_raise(records: list[tuple[bool, bytes]]) -> None:
    """Random octets never raise."""
    decompressor = Decompressor()
    for whole, octets in records:
        (decompressor.uncompressed if whole else decompressor.compressed)(octets)
