"""Rare link layers: the same segment comes out of each, as Wireshark reads it, and no octets make them raise."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from envelopes import OUTERMOST
from hypothesis import given, settings
from hypothesis import strategies as st
from link_layers import BRIDGED, ncm, pktap, ppi, rare, rndis, usbmon
from packets import ethernet, ipv4, ipv6, tcp
from pcapng_blocks import interface, packet, section

from multitracer.parsers import pcap
from multitracer.parsers.shared.source import Source
from multitracer.wire.rare_links import RARE_LINK_TYPES, RareLinkDecoder
from multitracer.wire.usb_packets import LINK_TYPES as USB

SEGMENT = ipv4(tcp(b"abc"))
FRAME = ethernet(SEGMENT)
LINKS = rare(SEGMENT)
NOT_TSHARK = {
    "atm, vc multiplexed", "juniper services",  # it guesses otherwise
    "mpls", "pppd", "cooked 2, 802.11", "chdlc with direction", "frame relay with direction",
    "multilink frame relay",  # it does not read them
    "nflog, big endian",  # it takes its own machine's byte order, unless told
    "ppi, raw",  # it takes Wireshark's number for the link type
    "docsis", "docsis, extended", "netanalyzer", "netanalyzer, preamble",  # it wants check sequences that these lack
}  # fmt: skip


def segments(records: list[bytes], link_type: int) -> list[int]:
    """The payload of each TCP packet found in a capture of these records."""
    found = pcap.read(Source("x", capture(records, link_type)))
    return list(found.tables["packets"]["payload_bytes"])


def capture(records: list[bytes], link_type: int) -> bytes:
    """A pcap file."""
    made = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link_type)
    return made + b"".join(
        struct.pack("<IIII", 1, 1000 * number, len(octets), len(octets)) + octets
        for number, octets in enumerate(records)
    )


@pytest.mark.parametrize("name", LINKS)
def test_every_rare_link_layer_is_looked_through(name: str) -> None:
    """The same segment comes out of each."""
    link_type, octets = LINKS[name]
    assert segments([octets], link_type) == [3]


BEHIND_LLC = {
    "snap": b"\xaa\xaa\x03\0\0\0\x08\x00" + SEGMENT,
    "snap, bridged": BRIDGED + FRAME,
    "nlpid": b"\xfe\xfe\x03\xcc" + SEGMENT,
    "ip": b"\x06\x06\x03" + SEGMENT,
}
BEFORE_LLC = {
    "ethernet": (1, b"\0" * 12 + b"\x00\x40"),
    "fddi": (10, b"\0" * 13),
    "token ring": (6, b"\x10\x40" + b"\0" * 12),
    "atm": (11, b""),
    "atm in a file": (100, b""),
    "sunatm": (123, b"\x02\0\0\x64"),
    "pseudowire": (1, b"\0" * 12 + b"\x88\x47\x00\x01\x41\x40" + b"\0" * 12 + b"\x00\x40"),
}


@pytest.mark.parametrize("link", BEFORE_LLC)
@pytest.mark.parametrize("header", BEHIND_LLC)
def test_every_link_with_llc_reads_all_of_its_headers(link: str, header: str) -> None:
    """SNAP, a bridged frame, an NLPID and IP's own access point mean the same everywhere."""
    link_type, octets = BEFORE_LLC[link]
    assert segments([octets + BEHIND_LLC[header]], link_type) == [3]


def test_a_packet_without_llc_is_no_guess_in_a_frame_that_has_one() -> None:
    """A circuit of ATM may carry IP alone; an 802.3 frame and a token ring's may not."""
    found = {link: segments([octets + SEGMENT], kind) for link, (kind, octets) in BEFORE_LLC.items()}
    assert [link for link, packets in found.items() if packets] == ["atm", "atm in a file", "sunatm"]


@pytest.mark.parametrize("name", ["arcnet", "arcnet of linux", "multilink frame relay", "mpacket"])
def test_a_fragment_of_a_link_is_no_packet(name: str) -> None:
    """Those that a link layer divided are not put together: neither the first nor the last is read as a whole one."""
    link_type, octets = LINKS[name]
    at, values = {"arcnet": (3, (1, 2)), "arcnet of linux": (5, (1, 2)), "mpacket": (7, (0xE6, 0x61))}.get(
        name, (0, (0x80, 0x40, 0xE0))
    )
    for value in values:
        assert segments([octets[:at] + bytes([value]) + octets[at + 1 :]], link_type) == []


def test_pktap_under_a_users_number_is_known_by_its_records() -> None:
    """Early tcpdump of macOS wrote DLT_USER2; one record that is none leaves the type to its user."""
    record = bytearray(pktap(FRAME, 1))
    record[12:19] = b"pdp_ip0"
    assert segments([bytes(record)] * 2, 149) == segments([FRAME] * 2, 1)
    assert segments([bytes(record), FRAME], 149) == []


def test_a_usb_transfer_may_hold_several_frames() -> None:
    """RNDIS messages one after the other, and an NCM table."""
    frames = [ethernet(ipv4(tcp(b"a"))), ethernet(ipv6(tcp(b"bb")), kind=0x86DD), FRAME]
    for body in (rndis(*frames), ncm(*frames)):
        assert segments([usbmon(body, 64), usbmon(FRAME, 64)], 220) == [1, 2, 3, 3]


def test_a_transfer_block_has_no_more_octets_than_it_says() -> None:
    """A table that names itself as the next is read once; of 201 entries for one frame those that have room."""
    block, many = ncm(FRAME, FRAME), ncm(FRAME, *[b""] * 200)
    itself = block[:18] + (12).to_bytes(2, "little") + block[20:]
    again = many[:20] + many[20:24] * 201 + many[20 + 4 * 201 :]
    assert len(segments([usbmon(itself, 64)], 220)) == 2
    assert len(segments([usbmon(again, 64)], 220)) == len(again) // len(FRAME)


def test_other_usb_transfers_are_no_packets() -> None:
    """A disk's octets, and control transfers."""
    control = bytearray(usbmon(FRAME))
    control[9] = 2
    assert segments([usbmon(b"USBC" + bytes(60)), bytes(control), usbmon(FRAME)], 189) == [3]


def test_streams_of_a_device_in_mbim_are_no_packets() -> None:
    """A transfer block's table for a device service is passed over."""
    assert segments([usbmon(ncm(SEGMENT, name=b"DSS\1"), 64), usbmon(ncm(SEGMENT, name=b"IPS\1"), 64)], 220) == [3]


def test_what_ppi_has_of_another_link_is_no_frame_of_wifi() -> None:
    """An ARP in Ethernet counts as other, and not as a damaged frame of 802.11."""
    arp = ethernet(bytes(28), kind=0x0806)
    found = pcap.read(Source("x", capture([ppi(arp, 1), ppi(FRAME, 1)], 192)))
    assert found.counts == {"other": 1}


@pytest.mark.parametrize("octets", [1400, 1500, 1982, 4000])
def test_a_frame_in_isl_may_be_longer_than_802_3_allows(octets: int) -> None:
    """The length in the place of an EtherType may pass 1500, and may be any EtherType's number (1982: IPv4's)."""
    frame = ethernet(ipv4(tcp(bytes(octets))))
    assert segments([OUTERMOST["isl"].wrap(frame)], 1) == [octets]


def test_nested_records_end() -> None:
    """A PKTAP record within a PKTAP record, over and over."""
    record = FRAME
    for _ in range(12):
        record = pktap(record, 258 if record is not FRAME else 1)
    assert RareLinkDecoder().payloads(record, 258) == []


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")
def test_wireshark_reads_the_same(tmp_path: Path) -> None:
    """The segment's ports and length, whatever interface of one file it came through."""
    chosen = {name: link for name, link in LINKS.items() if name not in NOT_TSHARK and link[0] not in USB}
    path = tmp_path / "made.pcapng"
    path.write_bytes(
        section()
        + b"".join(interface(link=link_type) for link_type, _ in chosen.values())
        + b"".join(packet(1, octets, number) for number, (_, octets) in enumerate(chosen.values()))
    )
    command = ["tshark", "-r", str(path), "-T", "fields", "-e", "tcp.srcport", "-e", "tcp.dstport", "-e", "tcp.len"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    unlike = [name for name, line in zip(chosen, shown, strict=True) if line.split() != ["1000", "80", "3"]]
    assert unlike == []


@pytest.mark.slow
@given(st.sampled_from(sorted(LINKS)), st.data())
@settings(max_examples=150, deadline=None)
def test_cut_and_changed_records_never_raise(name: str, draw: st.DataObject) -> None:
    """Octets changed anywhere, and the end cut off anywhere."""
    link_type, octets = LINKS[name]
    changed = np.frombuffer(octets, dtype=np.uint8).copy()
    for _ in range(draw.draw(st.integers(0, 4))):
        changed[draw.draw(st.integers(0, len(changed) - 1))] = draw.draw(st.integers(0, 255))
    cut = bytes(changed)[: draw.draw(st.integers(0, len(changed)))]
    RareLinkDecoder().payloads(cut, link_type)


@given(st.sampled_from(sorted(RARE_LINK_TYPES)), st.binary(max_size=200), st.booleans())
@settings(max_examples=100, deadline=None)
def test_random_records_never_raise(link_type: int, record: bytes, whole: bool) -> None:
    """Whatever the octets are."""
    for kind, payload in RareLinkDecoder().payloads(record, link_type, whole=whole):
        assert 0 <= kind <= 0xFFFF
        assert len(payload) <= len(record)
