"""What packets are on an emulated link: what went on it comes off it, and after a loss TCP's checksum tells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packets import ipv4, tcp

from multitracer.replay.emulate.line import Bare, CompressedPpp, Line, Ppp
from multitracer.wire import ppp

segments = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 70_000), st.integers(0, 70_000), st.binary(max_size=40)), max_size=30
)
"""Connection, by how much sequence and acknowledgement numbers grow, and the payload."""


def packets_of(moves: list[tuple[int, int, int, bytes]]) -> list[bytes]:
    """The packets of some connections, one after the other."""
    state = {number: [1000, 2000] for number in range(3)}
    made = []
    for place, (number, seq, ack, payload) in enumerate(moves):
        now = state[number]
        now[0], now[1] = now[0] + seq, now[1] + ack
        segment = tcp(payload, seq=now[0], ack=now[1], ports=(1000 + number, 80))
        made.append(ipv4(segment, number=place))
    return made


def checksum_is_right(packet: bytes) -> bool:
    """Whether the TCP checksum of an IPv4 packet is (RFC 9293 3.1)."""
    segment = packet[20:]
    words = packet[12:20] + bytes([0, 6]) + len(segment).to_bytes(2) + segment + bytes(len(segment) % 2)
    return sum(int.from_bytes(words[at : at + 2]) for at in range(0, len(words), 2)) % 0xFFFF == 0


@pytest.mark.parametrize("line", [Bare(), Ppp(), CompressedPpp()], ids=lambda line: type(line).__name__)
@given(moves=segments)
def test_what_goes_on_the_link_comes_off_it(line: Line, moves: list[tuple[int, int, int, bytes]]) -> None:
    """Of both sides, each by itself; no flag is within a frame."""
    for packet in packets_of(moves):
        for side in (0, 1):
            octets = line.put(side, packet)
            assert line.take(side, octets) == packet
            assert isinstance(line, Bare) or ppp.FLAG not in octets[1:-1]


@given(moves=segments, lost=st.sets(st.integers(0, 29)))
def test_after_a_loss_a_packet_is_right_or_its_checksum_is_wrong(
    moves: list[tuple[int, int, int, bytes]], lost: set[int]
) -> None:
    """Wrong ones are followed by right ones once a whole header came."""
    line = CompressedPpp()
    for number, packet in enumerate(packets_of(moves)):
        octets = line.put(0, packet)
        if number in lost:
            continue
        came = line.take(0, octets)
        assert came is None or came == packet or not checksum_is_right(came) or came[20:] == packet[20:]
        if came != packet:
            assert ppp.parse(ppp.unescape(octets[1:-1])).protocol == ppp.VJ_COMPRESSED  # type: ignore[union-attr]


def test_segments_are_tossed_until_one_is_sent_again() -> None:
    """Each of a transfer after a lost one, and none behind the resent one, which goes with whole headers."""
    line = CompressedPpp()
    whole = packets_of([(0, 100 * bool(place), 0, bytes(100)) for place in range(8)])
    put = [line.put(0, packet) for packet in whole[:5]]
    assert [line.take(0, octets) == packet for octets, packet in zip(put[:2], whole, strict=False)] == [True] * 2
    assert [line.take(0, octets) == packet for octets, packet in zip(put[3:], whole[3:], strict=False)] == [False] * 2
    again = line.put(0, whole[2])
    assert len(again) > 140
    assert line.take(0, again) == whole[2]
    assert line.take(0, line.put(0, whole[5])) == whole[5]
    assert len(line.put(0, whole[6])) < 120
