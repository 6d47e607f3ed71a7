"""Captures in snoop and ERF."""

from __future__ import annotations

import struct
from pathlib import Path

import dpkt
import link_layers
import pytest
from packets import ethernet, ipv4, tcp
from shared_data import shared

from multitracer.model.errors import InputError
from multitracer.parsers import erf, snoop
from multitracer.parsers.shared.source import Source, open_source
from multitracer.replay.erasures.loading import load
from multitracer.wire import gsmtap, rlp

FRAME = ethernet(ipv4(tcp(b"abc")))


def snoop_file(*frames: bytes, datalink: int = 4) -> bytes:
    """A snoop file of frames a second apart."""
    made = b"snoop\0\0\0" + struct.pack(">II", 2, datalink)
    for number, frame in enumerate(frames):
        size = 24 + len(frame) + (-len(frame) % 4)
        made += struct.pack(">IIIIII", len(frame), len(frame), size, 0, 1_000_000_000 + number, 5) + frame.ljust(
            size - 24, b"\0"
        )
    return made


def erf_record(second: int, frame: bytes, kind: int = 2) -> bytes:
    """An ERF record of an Ethernet frame."""
    size = 16 + 2 + len(frame)
    return (
        struct.pack("<Q", second << 32 | 1 << 31)
        + bytes([kind, 4])
        + struct.pack(">HHH", size, 0, len(frame))
        + b"\0\0"
        + frame
    )


def gsmtap_frames() -> list[bytes]:
    """Two RLP frames as a monitor of the air passes them on, the second damaged."""
    good = rlp.encode(rlp.Frame("I RR", 5, 3, 0, 1, b"\x1e" + b"A" * 24))
    damaged = bytes([good[0] ^ 1, *good[1:]])
    taps = [gsmtap.encode(octets, uplink=True) for octets in (good, damaged)]
    datagrams = [dpkt.udp.UDP(sport=40000, dport=gsmtap.PORT, data=tap, ulen=8 + len(tap)) for tap in taps]
    return [ethernet(ipv4(datagram, p=17)) for datagram in datagrams]


@pytest.mark.parametrize("name", ["snoop", "erf"])
def test_a_link_logged_in_a_capture_is_found_in_a_directory(name: str, tmp_path: Path) -> None:
    """As in pcap: the losses among the link frames that the capture carries are a trace."""
    frames = gsmtap_frames()
    records = [erf_record(1_000_000_000 + place, frame) for place, frame in enumerate(frames)]
    (tmp_path / name).write_bytes(snoop_file(*frames) if name == "snoop" else b"".join(records))
    (trace,) = load(str(tmp_path))
    assert trace.erased[[0, -1]].tolist() == [False, True]


def test_snoop_is_read() -> None:
    """Padding between records is skipped; times are seconds and microseconds."""
    found = snoop.read(Source("x", snoop_file(FRAME, FRAME)))
    assert found.tables["packets"]["time_ns"].tolist() == [1_000_000_000_000_005_000, 1_000_000_001_000_005_000]
    assert found.tables["packets"]["payload_bytes"].tolist() == [3, 3]


def test_a_cut_snoop_file_keeps_its_records() -> None:
    """The loss is named with its record number."""
    found = snoop.read(Source("x", snoop_file(FRAME, FRAME)[:-10]))
    assert len(found.tables["packets"]) == 1
    assert [skip.record for skip in found.skips] == [2]


def test_other_datalinks_of_snoop_are_refused() -> None:
    """The message names the number."""
    with pytest.raises(InputError, match="datalink type 9"):
        snoop.read(Source("x", snoop_file(FRAME, datalink=9)))


@pytest.mark.data
def test_a_real_snoop_file_is_read() -> None:
    """1166 records of IPv6, as tshark counts them."""
    found = snoop.read(open_source(str(shared("public/tcp_pcap/tcptrace_ipv6_ftp_nasa.snoop"))))
    assert found.records == 1166
    assert ":" in found.tables["flows"]["address_a"].iloc[0]


def test_erf_is_read() -> None:
    """The fixed-point time's half is half a second; the pad octets are passed."""
    data = b"".join(erf_record(1_700_000_000 + number, FRAME) for number in range(3))
    assert erf.sniff(data)
    found = erf.read(Source("x", data))
    assert found.tables["packets"]["time_ns"].tolist()[0] == 1_700_000_000_500_000_000
    assert len(found.tables["packets"]) == 3


def test_record_types_without_ip_are_counted() -> None:
    """Their number and the first one's place are told."""
    data = erf_record(1_700_000_000, FRAME) + erf_record(1_700_000_001, FRAME, kind=21) * 2
    found = erf.read(Source("x", data))
    assert [(skip.record, skip.count) for skip in found.skips] == [(2, 2)]


@pytest.mark.parametrize("kind", [2, 11, 16, 20])
def test_records_of_colours_and_hashes_are_read_as_plain_ones(kind: int) -> None:
    """Ethernet with a colour, a colour of its stream, or a hash."""
    found = erf.read(Source("x", erf_record(1_700_000_000, FRAME, kind=kind)))
    assert found.tables["packets"]["payload_bytes"].tolist() == [3]
    assert not found.skips


def test_a_line_with_hdlc_may_carry_ppp_or_ciscos() -> None:
    """Each record is read by its first octets, behind an extension header too."""
    packet = FRAME[14:]
    records = [
        link_layers.erf(kind, octets + packet, before)
        for octets in (b"\xff\x03\0\x21", b"\x0f\0\x08\0")
        for kind, before in ((1, b""), (15, b""), (17, b"\0\0\0\1"), (0x81, bytes(8)))
    ]
    stamped = [struct.pack("<Q", 1_700_000_000 << 32) + record[8:] for record in records]
    found = erf.read(Source("x", b"".join(stamped)))
    assert found.tables["packets"]["payload_bytes"].tolist() == [3] * 8


@pytest.mark.data
def test_a_real_erf_file_is_read() -> None:
    """22 records, as tshark counts them."""
    found = erf.read(open_source(str(shared("public/tcp_pcap/tcptrace_eth.erf"))))
    assert found.records == 22
    assert len(found.tables["packets"]) > 0
