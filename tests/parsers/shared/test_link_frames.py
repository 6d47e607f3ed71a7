"""Link frames in captures: RLP in GSMTAP, beside RLC."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shared_data import shared

from multitracer.parsers import read
from multitracer.parsers.shared import link_frames
from multitracer.parsers.shared.source import open_source
from multitracer.wire import gsmtap, rlp

FRAME = rlp.encode(rlp.Frame("I RR", 5, 3, 0, 1, b"\x1e" + b"A" * 24))


def datagram(record: int, octets: bytes, port: int = gsmtap.PORT) -> link_frames.Datagram:
    """A UDP datagram."""
    return record, record * 20_000_000, 101, 40000, port, octets


def test_both_directions_are_links_of_one_bearer() -> None:
    """The uplink bit tells who sent."""
    sent = [datagram(1, gsmtap.encode(FRAME, uplink=True)), datagram(2, gsmtap.encode(FRAME, uplink=False))]
    tables, skips = link_frames.read_linkframes(sent)
    assert tables["links"]["sender"].tolist() == ["mobile", "network"]
    assert tables["links"]["reverse"].tolist() == [1, 0]
    assert tables["frames"][["type", "sn", "nr", "payload_bytes"]].to_numpy().tolist() == [["I RR", 5, 3, 24]] * 2
    assert skips == []


def test_a_frame_with_a_wrong_check_is_an_erasure() -> None:
    """Its header is not used."""
    bad = bytes([FRAME[0] ^ 8]) + FRAME[1:]
    tables, _ = link_frames.read_linkframes([datagram(1, gsmtap.encode(bad, uplink=True))])
    assert tables["frames"]["type"].tolist() == ["BAD"]
    assert tables["frames"]["sn"].tolist() == [-1]


def test_other_types_are_counted() -> None:
    """GSMTAP carries much else."""
    other = bytearray(gsmtap.encode(FRAME, uplink=True))
    other[2] = 1
    _, skips = link_frames.read_linkframes(
        [datagram(1, bytes(other)), datagram(2, b"short"), datagram(3, gsmtap.encode(b"abc", uplink=True))]
    )
    assert [skip.count for skip in skips] == [1, 1, 1]


@pytest.mark.data
def test_real_frames_decode_as_the_implementation_says() -> None:
    """The seven frames of libosmocore's test, in a capture: types, numbers and checks."""
    capture = next(shared("public/rlp").glob("DERIVED_*udp4729*.pcap"))
    found = read(open_source(str(capture)))
    frames = found.tables["frames"]
    assert len(frames) == 7
    assert (frames["type"] != "BAD").all()


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from([gsmtap.PORT, 9999]), st.binary(max_size=100)), max_size=10))
def test_any_datagram_is_read_without_an_error(datagrams: list[tuple[int, bytes]]) -> None:
    """Random payloads never raise."""
    made = [datagram(number, octets, port) for number, (port, octets) in enumerate(datagrams, start=1)]
    if made:
        link_frames.read_linkframes(made)


def test_frames_of_two_protocols_keep_their_own_links() -> None:
    """RLP and RLC in one capture: links numbered on, frames in the order of the file."""
    rlc = b"umts-rlc\x04\x04\x00\x07\x00\x01\x01" + bytes.fromhex("800445000028")
    tables, _ = link_frames.read_linkframes([datagram(1, gsmtap.encode(FRAME, uplink=True)), datagram(2, rlc, port=9)])
    frames = tables["frames"]
    assert frames["record"].is_monotonic_increasing
    assert set(frames["link"]) <= set(tables["links"]["link"])
    assert tables["links"]["protocol"].astype(str).tolist()[0] == "rlp"
