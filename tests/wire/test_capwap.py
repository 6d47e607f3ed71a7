"""CAPWAP data packets: frames of 802.11 as access points send them, and packets in fragments."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from decoding import decoded
from envelopes import framed, udp
from packets import ethernet, ipv4, tcp
from wifi_monitor import amsdu, data, llc

from multitracer.model.trace import Recording
from multitracer.parsers import pcap
from multitracer.wire import ieee80211

ETHERNET, PORT = 1, 5247
SEGMENT = ipv4(tcp(bytes(range(100)), seq=7))
FRAME = ethernet(SEGMENT)
NATIVE = {
    "to the access point": data(llc(SEGMENT), 1),
    "from the access point": data(llc(SEGMENT), 1, up=False),
    "without qos": data(llc(SEGMENT), 1, tid=None),
    "repeated": data(llc(SEGMENT), 1, retry=True),
    "four addresses": data(llc(SEGMENT), 1, flags=3),
    "an a-msdu": data(amsdu(SEGMENT), 1, up=False, qos=0x80),
}


def swapped(frame: bytes) -> bytes:
    """A frame with the octets of its Frame Control exchanged."""
    return frame[1::-1] + frame[2:]


def capwap(
    body: bytes, *, binding: int = 1, native: bool = False, fragment: tuple[int, int, bool] | None = None,
    optional: bytes = b"",
) -> bytes:  # fmt: skip
    """A CAPWAP data packet; `fragment` is its identification, its place in octets, and whether it is the last."""
    word = (2 + len(optional) // 4) << 19 | binding << 9 | native << 8
    number = place = 0
    if fragment is not None:
        number, place, last = fragment
        word |= 0x80 | 0x40 * last
    return b"\0" + word.to_bytes(3, "big") + struct.pack(">HH", number, place) + optional + body


def record(body: bytes, source: int = 40000) -> bytes:
    """An Ethernet frame with the datagram of an access point."""
    return framed(udp(PORT, body, source))


def pieces(frame: bytes, number: int, size: int = 64, **options: bool) -> list[bytes]:
    """A packet in fragments of `size` octets."""
    places = range(0, len(frame), size)
    return [
        capwap(frame[at : at + size], fragment=(number, at, at + size >= len(frame)), **options)  # type: ignore[arg-type]
        for at in places
    ]


def payloads(records: list[bytes]) -> list[int]:
    """The payload of each TCP packet in these records, all of whose checksums are right."""
    packets = decoded(records, ETHERNET).tables["packets"]
    assert packets["checksum_ok"].isin([1]).all()
    return list(packets["payload_bytes"])


@pytest.mark.parametrize("binding", [0, 1])
@pytest.mark.parametrize("name", NATIVE)
def test_frame_control_may_be_exchanged(name: str, binding: int) -> None:
    """A data frame is read in either order of its first two octets, under binding 1 and the reserved 0."""
    for frame in (NATIVE[name], swapped(NATIVE[name])):
        assert payloads([record(capwap(frame, binding=binding, native=True))]) == [100]


def test_only_a_data_frame_is_put_in_order() -> None:
    """A frame of the standard's order stays as it is, of any type; so does what is no frame either way."""
    frames = [*NATIVE.values(), b"\x40\x08" + bytes(22), b"\xb4\x01" + bytes(14), b"\x01\x01" + bytes(22), b"\x01", b""]
    assert [ieee80211.in_order(frame) for frame in frames] == frames
    assert [ieee80211.in_order(swapped(frame)) for frame in NATIVE.values()] == list(NATIVE.values())


def test_other_radios_are_told() -> None:
    """A native frame of another binding is no frame of 802.11."""
    found = decoded([record(capwap(NATIVE["without qos"], binding=3, native=True))], ETHERNET)
    assert found.counts["CAPWAP of unknown radio"] == 1


@pytest.mark.parametrize("native", [False, True])
def test_fragments_are_put_together(native: bool) -> None:
    """Whatever order they come in, the packet has the record of the one that completed it."""
    frame = swapped(NATIVE["repeated"]) if native else FRAME
    made = [record(one) for one in pieces(frame, 9, native=native)]
    assert len(made) > 2
    for order in (made, made[::-1]):
        tables = decoded(order, ETHERNET).tables
        assert tables["packets"][["raw_seq", "payload_bytes", "checksum_ok", "record"]].to_numpy().tolist() == [
            [7, 100, 1, len(made)]
        ]
        assert tables["flows"]["tunnel"].tolist() == ["capwap"]


def test_each_fragment_has_its_own_header() -> None:
    """The first may have a radio's address behind the header's eight octets."""
    first, *rest = pieces(FRAME, 9)
    head = capwap(FRAME[:64], fragment=(9, 0, False), optional=b"\6" + bytes(7))
    assert payloads([record(head), *map(record, rest)]) == [100]
    assert len(first) != len(head)


def test_fragments_of_two_access_points_are_kept_apart() -> None:
    """They number alike; a translator of addresses gives them one address and two ports."""
    other = ethernet(ipv4(tcp(b"x" * 100, seq=900)))
    mixed = [
        record(one, source)
        for pair in zip(pieces(FRAME, 9), pieces(other, 9), strict=True)
        for source, one in zip((1024, 1025), pair, strict=True)
    ]
    packets = decoded(mixed, ETHERNET).tables["packets"]
    assert packets[["raw_seq", "checksum_ok"]].to_numpy().tolist() == [[7, 1], [900, 1]]


def losses(found: Recording) -> list[tuple[str, int | None, int]]:
    """What was skipped: why, the first record, and how many."""
    return [(skip.reason, skip.record, skip.count) for skip in found.skips]


def test_a_packet_that_lacks_a_fragment_is_a_loss() -> None:
    """Its fragments are counted, with the first one's record."""
    first, _, *rest = (record(one) for one in pieces(FRAME, 9))
    found = decoded([framed(SEGMENT), first, *rest], ETHERNET)
    assert losses(found) == [
        ("fragments of CAPWAP packets that are not complete in the capture", 2, len(rest) + 1)
    ]


def test_fragments_that_were_cut_give_their_packet_up_to_there() -> None:
    """The packet's length is known from those that came, not from what was captured of them."""
    made = [record(one) for one in pieces(FRAME, 9, size=80)]
    assert len(made) == 2
    whole = [len(one) for one in made]
    cut = [made[0], made[1][:-40]]
    found = decoded(cut, ETHERNET, whole)
    assert found.tables["packets"]["payload_bytes"].tolist() == [100]


def test_what_is_no_fragment_of_capwap_stays_udp() -> None:
    """Bits that have to be 0 are not."""
    body = bytearray(pieces(FRAME, 9)[0])
    body[7] |= 1
    assert decoded([record(bytes(body))], ETHERNET).counts == {"udp": 1}


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")
def test_wireshark_reads_the_same(tmp_path: Path) -> None:
    """Exchanged octets, and fragments."""
    records = [record(capwap(swapped(frame), native=True)) for frame in NATIVE.values()]
    fragments = [record(one) for one in pieces(FRAME, 9)]
    pcap.write(tmp_path / "made.pcap", list(enumerate(records + fragments)), ETHERNET)
    command = ["tshark", "-r", str(tmp_path / "made.pcap"), "-T", "fields", "-e", "tcp.len"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert shown == ["100"] * len(records) + [""] * (len(fragments) - 1) + ["100"]
