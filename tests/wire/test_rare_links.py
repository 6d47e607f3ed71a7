"""Rare link layers: the same segment comes out of each, as Wireshark reads it, and no octets make them raise."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packets import ethernet, ipv4, ipv6, tcp
from pcapng_blocks import interface, packet, section
from wifi_monitor import data, llc, radiotap

from multitracer.parsers import pcap
from multitracer.parsers.shared.source import Source
from multitracer.wire.rare_links import RARE_LINK_TYPES, RareLinkDecoder
from multitracer.wire.usb_packets import LINK_TYPES as USB

SEGMENT = ipv4(tcp(b"abc"))
FRAME = ethernet(SEGMENT)
BRIDGED = b"\xaa\xaa\x03\x00\x80\xc2\x00\x07\0\0"


def usbmon(body: bytes, size: int = 48) -> bytes:
    """A bulk transfer from a device, as Linux records it."""
    head = struct.pack("<QBBBBHBBqiiII", 1, ord("C"), 3, 0x81, 2, 1, 0, 0, 1, 0, 0, len(body), len(body))
    return head.ljust(size, b"\0") + body


def usbpcap(body: bytes) -> bytes:
    """A bulk transfer from a device, as USBPcap records it."""
    return struct.pack("<HQIHBHHBBI", 27, 1, 0, 9, 1, 1, 2, 0x81, 3, len(body)) + body


def rndis(*frames: bytes) -> bytes:
    """RNDIS packet messages in one transfer."""
    return b"".join(
        struct.pack("<IIIII", 1, 44 + len(frame), 36, len(frame), 0).ljust(44, b"\0") + frame for frame in frames
    )


def ncm(*frames: bytes) -> bytes:
    """A CDC-NCM transfer block of 16 bits."""
    table, at, body = b"", 12 + 8 + 4 * (len(frames) + 1), b""
    for frame in frames:
        table += struct.pack("<HH", at + len(body), len(frame))
        body += frame
    ndp = b"NCM0" + struct.pack("<HH", 8 + 4 * (len(frames) + 1), 0) + table + bytes(4)
    return b"NCMH" + struct.pack("<HHHH", 12, 1, 12 + len(ndp) + len(body), 12) + ndp + body


def pktap(frame: bytes, link_type: int) -> bytes:
    """A record of macOS' PKTAP."""
    return struct.pack("<III", 108, 1, link_type).ljust(108, b"\0") + frame


def juniper(frame: bytes, flags: int = 0, extension: bytes = b"") -> bytes:
    """A Juniper header, and what follows it."""
    more = len(extension).to_bytes(2, "big") + extension if extension else b""
    return b"MGC" + bytes([flags | 0x80 * bool(extension)]) + more + frame


LINKS = {
    "token ring": (6, b"\x10\x40" + b"\0" * 12 + llc(SEGMENT)),
    "token ring, source route": (6, b"\x10\x40" + b"\0" * 6 + b"\x80" + b"\0" * 5 + b"\x06\0\0\1\0\2" + llc(SEGMENT)),
    "atm": (11, llc(SEGMENT)),
    "atm, bridged": (11, BRIDGED + FRAME),
    "atm, nlpid": (11, b"\xfe\xfe\x03\xcc" + SEGMENT),
    "atm, vc multiplexed": (106, SEGMENT),
    "pppoe": (51, b"\x11\0\0\1" + struct.pack(">H", 2 + len(SEGMENT)) + b"\0\x21" + SEGMENT),
    "frame relay": (107, b"\x18\x41\x03\xcc" + SEGMENT),
    "frame relay, snap": (107, b"\x18\x41\x03\0\x80\0\0\0\x08\0" + SEGMENT),
    "frame relay, four octets": (107, b"\x18\x40\x40\x41\x03\xcc" + SEGMENT),
    "frame relay, cisco": (107, b"\x18\x41\x08\0" + SEGMENT),
    "enc": (109, b"\x02\0\0\0" + b"\0" * 8 + SEGMENT),
    "pflog": (117, b"\x3d\x02\0\0em0".ljust(64, b"\0") + SEGMENT),
    "sunatm": (123, b"\x02\0\0\x64" + llc(SEGMENT)),
    "sunatm, lan emulation": (123, b"\x01\0\0\x64\0\0" + FRAME),
    "firewire": (138, b"\0" * 16 + b"\x08\0" + SEGMENT),
    "docsis": (143, b"\0\0" + struct.pack(">H", len(FRAME)) + b"\0\0" + FRAME),
    "docsis, extended": (143, b"\1\2" + struct.pack(">H", len(FRAME) + 2) + b"\x31\1" + b"\0\0" + FRAME),
    "pppd": (166, b"\0\x03\0\x21" + SEGMENT),
    "ppp with direction": (204, b"\1\xff\x03\0\x21" + SEGMENT),
    "ppp with direction, compressed": (204, b"\0\x21" + SEGMENT),
    "erf, ethernet": (197, bytes(8) + b"\x02\0" + struct.pack(">HHHH", 18 + len(FRAME), 0, len(FRAME), 0) + FRAME),
    "erf, extended": (197, bytes(8) + b"\x96\0" + struct.pack(">HHH", 24 + len(SEGMENT), 0, 60) + bytes(8) + SEGMENT),
    "mpls": (219, b"\0\0\x10\x40\0\0\x21\x40" + SEGMENT),
    "netanalyzer": (240, b"\0\0\0\0" + FRAME),
    "netanalyzer, preamble": (241, b"\0\0\0\0" + b"\x55" * 7 + b"\xd5" + FRAME),
    "infiniband": (242, b"\0" * 40 + b"\x08\0\0\0" + SEGMENT),
    "pktap, ethernet": (258, pktap(FRAME, 1)),
    "pktap, raw": (258, pktap(SEGMENT, 12)),
    "pktap, radiotap": (258, pktap(radiotap(data(llc(SEGMENT), 1)), 127)),
    "pktap, null": (258, pktap(b"\x02\0\0\0" + SEGMENT, 0)),
    "epon": (259, b"\x55\x55\xd5\x55\x55\0\0\0" + FRAME),
    "usbmon, ecm": (189, usbmon(FRAME)),
    "usbmon mapped, rndis": (220, usbmon(rndis(FRAME), 64)),
    "usbmon mapped, ncm": (220, usbmon(ncm(FRAME), 64)),
    "usbpcap, rndis": (249, usbpcap(rndis(FRAME))),
    "juniper, no link header": (178, juniper(b"\x02\0\0\0" + SEGMENT, 2)),
    "juniper ethernet": (178, juniper(FRAME, 1, b"\1\1\7")),
    "juniper ppp": (179, juniper(b"\xff\x03\0\x21" + SEGMENT)),
    "juniper frame relay": (180, juniper(b"\x18\x41\x03\xcc" + SEGMENT)),
    "juniper chdlc": (181, juniper(b"\x0f\0\x08\0" + SEGMENT)),
    "juniper atm 1": (137, juniper(bytes(4) + llc(SEGMENT))),
    "juniper atm 2": (135, juniper(bytes(8) + llc(SEGMENT))),
    "juniper atm 2, ip": (135, juniper(bytes(8) + SEGMENT)),
    "juniper mlppp": (130, juniper(b"\1\2\0\x21" + SEGMENT)),
    "juniper services": (136, juniper(bytes(8) + SEGMENT)),
    "cooked radiotap": (113, b"\0\0\x03\x23" + b"\0" * 12 + radiotap(data(llc(SEGMENT), 1))),
    "cooked 2, 802.11": (276, b"\0" * 8 + b"\x03\x21" + b"\0" * 10 + data(llc(SEGMENT), 1)),
    "cooked frame relay": (113, b"\0\0\x03\x02" + b"\0" * 12 + b"\x18\x41\x03\xcc" + SEGMENT),
}  # fmt: skip
NOT_TSHARK = {
    "atm, vc multiplexed", "juniper services",  # it guesses otherwise
    "mpls", "pppd", "cooked 2, 802.11",  # it does not read them
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
    assert [link for link, packets in found.items() if packets] == ["atm", "sunatm"]


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


def test_other_usb_transfers_are_no_packets() -> None:
    """A disk's octets, and control transfers."""
    control = bytearray(usbmon(FRAME))
    control[9] = 2
    assert segments([usbmon(b"USBC" + bytes(60)), bytes(control), usbmon(FRAME)], 189) == [3]


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
