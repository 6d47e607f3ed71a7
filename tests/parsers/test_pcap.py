"""Captures in pcap: every record found, times exact, damage named and passed over."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packets import ethernet, ipv4, tcp
from shared_data import shared

from multitracer.model.errors import InputError
from multitracer.parsers import pcap
from multitracer.parsers.shared.source import Source, open_source
from multitracer.parsers.shared.view import View

START_NS = 1_700_000_000_123_456_789
RAW, ETHERNET = 101, 1


def capture(
    packets: list[tuple[int, bytes]], *, order: str = "<", magic: int = 0xA1B23C4D, link_type: int = RAW
) -> bytes:
    """A pcap file of any flavour."""
    scale = 1 if magic == 0xA1B23C4D else 1000
    extra = b"\0" * 8 if magic == 0xA1B2CD34 else b""
    made = struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 65535, link_type)
    for time_ns, octets in packets:
        second, rest = divmod(time_ns, 10**9)
        made += struct.pack(f"{order}IIII", second, rest // scale, len(octets), len(octets)) + extra + octets
    return made


def three(link: bool = False) -> list[tuple[int, bytes]]:
    """Three segments, a millisecond apart."""
    packets = [ipv4(tcp(b"x" * 10, seq=1 + 10 * n)) for n in range(3)]
    return [(START_NS + n * 10**6, ethernet(packet) if link else packet) for n, packet in enumerate(packets)]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("magic", [0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34])
def test_every_flavour_is_read(order: str, magic: int) -> None:
    """Both byte orders; microseconds, nanoseconds and Kuznetzov's records: times exact to what was written."""
    data = capture(three(), order=order, magic=magic)
    assert pcap.sniff(data)
    packets = pcap.read(Source("x", data)).tables["packets"]
    unit = 1 if magic == 0xA1B23C4D else 1000
    assert packets["time_ns"].tolist() == [time // unit * unit for time, _ in three()]
    assert packets["raw_seq"].tolist() == [1, 11, 21]
    assert packets["record"].tolist() == [1, 2, 3]


@given(
    st.lists(st.tuples(st.integers(0, 2**32 * 10**9 - 1), st.binary(min_size=1, max_size=80)), max_size=20),
    st.booleans(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
def test_what_was_written_is_found_again(tmp_path: Path, packets: list[tuple[int, bytes]], nanoseconds: bool) -> None:
    """Writing then walking gives each record's octets and time."""
    path = tmp_path / "made.pcap"
    pcap.write(path, packets, RAW, nanoseconds=nanoseconds)
    records = next(pcap.capture(View(Source("x", path.read_bytes()))).pieces)
    unit = 1 if nanoseconds else 1000
    assert [records.octets(row) for row in range(len(packets))] == [octets for _, octets in packets]
    assert records.time_ns.tolist() == [time // unit * unit for time, _ in packets]
    assert (records.captured == records.original).all()


@pytest.mark.parametrize(("version", "swapped"), [((2, 2), True), ((543, 0), True), ((2, 3), True), ((2, 3), False)])
def test_old_versions_have_the_lengths_the_other_way_round(version: tuple[int, int], swapped: bool) -> None:
    """Before 2.3 the packet's length comes first; in 2.3 the captured one is the smaller, as libpcap reads it."""
    whole = ipv4(tcp(b"x" * 300))
    made = struct.pack("<IHHiIII", 0xA1B23C4D, *version, 0, 0, 96, RAW)
    for _ in range(6):
        lengths = (len(whole), 96) if swapped else (96, len(whole))
        made += struct.pack("<IIII", 1, 0, *lengths) + whole[:96]
    found = pcap.read(Source("x", made))
    assert found.tables["packets"]["payload_bytes"].tolist() == [300] * 6
    assert found.complete


def test_a_file_that_ends_within_a_record_keeps_the_rest() -> None:
    """What is whole is kept; the loss has its record number and offset."""
    data = capture(three())[:-5]
    found = pcap.read(Source("x", data))
    assert len(found.tables["packets"]) == 2
    assert not found.complete
    assert [(skip.reason, skip.record) for skip in found.skips] == [("file ends within a record", 3)]


def test_garbage_between_records_is_passed_over() -> None:
    """After octets that are no record the next chain of records is found."""
    sound = capture(three())
    first = 24 + 16 + len(three()[0][1])
    data = sound[:first] + b"\xff" * 50 + sound[first:] + capture(three())[24:]
    found = pcap.read(Source("x", data))
    assert len(found.tables["packets"]) == 6
    assert [(skip.record, skip.offset) for skip in found.skips] == [(2, first)]


@pytest.mark.parametrize("zeros", [32, 40, 47, 4096])
@pytest.mark.parametrize("order", ["<", ">"])
def test_zeros_are_garbage_and_no_records(order: str, zeros: int) -> None:
    """Two headers of zeros or more, as in a file that was never written, are one loss; records behind are found."""
    sound = capture(three(), order=order)
    at_end = pcap.read(Source("x", sound + bytes(zeros)))
    assert len(at_end.tables["packets"]) == 3
    assert [(skip.record, skip.offset, skip.count) for skip in at_end.skips] == [(4, len(sound), 1)]
    within = pcap.read(Source("x", sound + bytes(zeros) + sound[24:]))
    assert within.tables["packets"]["raw_seq"].tolist() == [1, 11, 21] * 2
    assert [(skip.record, skip.offset, skip.count) for skip in within.skips] == [(4, len(sound), 1)]


def test_a_record_with_a_gigantic_length_is_skipped() -> None:
    """A length field beyond the file costs its own record only, when records follow."""
    sound = bytearray(capture([*three(), *three()]))
    size = 16 + len(three()[0][1])
    struct.pack_into("<I", sound, 24 + size + 8, 0x7FFFFFFF)
    found = pcap.read(Source("x", bytes(sound)))
    assert len(found.tables["packets"]) >= 4
    assert sum(skip.count for skip in found.skips) == 1


@pytest.mark.data
def test_an_unknown_link_type_is_refused_by_name() -> None:
    """The message names the number, so that a reader can look it up."""
    with pytest.raises(InputError, match="link type 46522869"):
        pcap.read(open_source(str(shared("public/tcp_pcap/ns3_tcp-loss-NewReno2_unknown-linktype.pcap"))))


def test_snap_lengths_that_cut_headers_are_counted() -> None:
    """A record without a whole TCP header is a named loss."""
    packets = three()
    data = capture([packets[0], (packets[1][0], packets[1][1][:30]), packets[2]])
    data = data.replace(struct.pack("<II", 30, 30), struct.pack("<II", 30, 50))
    found = pcap.read(Source("x", data))
    assert len(found.tables["packets"]) == 2
    assert [(skip.record, skip.count) for skip in found.skips if "snap length" in skip.reason] == [(2, 1)]


def test_other_protocols_are_counted_and_noted() -> None:
    """UDP and QUIC have counts, and a note."""
    import dpkt

    udp = ipv4(dpkt.udp.UDP(sport=5000, dport=53, data=b"abc", ulen=11), p=17)
    quic = ipv4(dpkt.udp.UDP(sport=5000, dport=443, data=b"\xc0\0\0\0\1", ulen=13), p=17)
    found = pcap.read(Source("x", capture([(START_NS, udp), (START_NS, quic), *three()])))
    assert found.counts == {"udp": 1, "quic": 1}
    assert any("out of scope" in note for note in found.notes)


def test_a_clock_that_was_set_back_is_noted() -> None:
    """Times that jump back by seconds are kept as recorded, with a note."""
    packets = three()
    late = [(packets[0][0] + 10**10, packets[0][1]), *packets[1:]]
    found = pcap.read(Source("x", capture(late)))
    assert found.tables["packets"]["time_ns"].tolist() == [time for time, _ in late]
    assert any("set back" in note for note in found.notes)


def test_ethernet_is_looked_through() -> None:
    """The link header's length is not counted as payload."""
    packets = pcap.read(Source("x", capture(three(link=True), link_type=ETHERNET))).tables["packets"]
    assert packets["payload_bytes"].tolist() == [10, 10, 10]
    assert packets["checksum_ok"].tolist() == [1, 1, 1]
