"""802.11 frames, what carries them in a capture, and the packets in them."""

from __future__ import annotations

import struct

import dpkt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packets import ipv4, tcp
from wifi_monitor import (
    ACCESS_POINT,
    FROM_DS,
    MORE_FRAGMENTS,
    ORDER,
    PROTECTED,
    STATION,
    TO_DS,
    ack,
    amsdu,
    avs,
    block_ack,
    data,
    llc,
    ppi,
    prism,
    radiotap,
    with_fcs,
)

from multitracer.parsers.shared import wifi_frames
from multitracer.wire import ieee80211
from multitracer.wire import radiotap as radio_headers
from multitracer.wire.wifi_packets import WifiPackets

SEGMENT = ipv4(tcp(b"abc"))
IP = 0x0800
CIPHER = b"\1\2\0\x20\0\0\0\0"
CARRIED = {
    "plain": (105, data(llc(SEGMENT), 1)),
    "plain with check sequence": (105, with_fcs(data(llc(SEGMENT), 1))),
    "without qos": (105, data(llc(SEGMENT), 1, tid=None)),
    "four addresses": (105, data(llc(SEGMENT), 1, flags=TO_DS | FROM_DS)),
    "ht control": (105, data(llc(SEGMENT), 1, flags=TO_DS | ORDER)),
    "mesh control": (105, data(b"\0\x1f\1\0\0\0" + llc(SEGMENT), 1, flags=TO_DS | FROM_DS, qos=0x100)),
    "mesh control, one address": (105, data(b"\1\x1f\1\0\0\0" + STATION + llc(SEGMENT), 1, up=False, qos=0x100)),
    "buffer state, no mesh": (105, data(llc(SEGMENT), 1, up=False, qos=0x100)),
    "to everybody": (105, data(llc(SEGMENT), 1, up=False, receiver=b"\xff" * 6)),
    "decrypted by the driver": (105, data(CIPHER + llc(SEGMENT), 1, flags=TO_DS | PROTECTED)),
    "radiotap": (127, radiotap(data(llc(SEGMENT), 1))),
    "radiotap, check sequence": (127, radiotap(with_fcs(data(llc(SEGMENT), 1)), flags=0x10)),
    "radiotap, padded body": (127, radiotap(data(b"\0\0" + llc(SEGMENT), 1), flags=0x20)),
    "prism": (119, prism(data(llc(SEGMENT), 1))),
    "avs": (163, avs(data(llc(SEGMENT), 1))),
    "avs as prism": (119, avs(data(llc(SEGMENT), 1))),
    "ppi": (192, ppi(with_fcs(data(llc(SEGMENT), 1)), flags=1)),
}  # fmt: skip


@pytest.mark.parametrize("name", CARRIED)
def test_the_packet_is_found_behind_every_header(name: str) -> None:
    """Behind each header of frame and receiver the same packet, without the frame's check sequence."""
    link_type, record = CARRIED[name]
    assert WifiPackets().packets(record, link_type) == [(IP, SEGMENT)]


@pytest.mark.parametrize(
    "record",
    [
        data(CIPHER + b"x" * 60, 1, flags=TO_DS | PROTECTED), ack(STATION), block_ack(STATION, ACCESS_POINT, 0, 1),
        data(b"", 1)[:20], b"\x80" + bytes(40), b"\xc8" + data(llc(SEGMENT), 1)[1:],
    ],
    ids=["encrypted", "ack", "block ack", "cut", "beacon", "null"],
)  # fmt: skip
def test_other_frames_have_no_packet(record: bytes) -> None:
    """Encrypted bodies, control and management frames, and data frames without a body."""
    assert WifiPackets().packets(record, 105) == []


def test_damaged_frames_are_not_read() -> None:
    """The receiver noted that the check failed."""
    assert WifiPackets().packets(radiotap(data(llc(SEGMENT), 1), flags=0x40), 127) == []
    assert WifiPackets().packets(ppi(data(llc(SEGMENT), 1), flags=4), 192) == []


def test_an_amsdu_holds_several_packets() -> None:
    """All but the last are padded to four octets."""
    packets = [ipv4(tcp(b"x" * size)) for size in (1, 2, 3, 40)]
    assert WifiPackets().packets(data(amsdu(*packets), 1, qos=0x80), 105) == [(IP, packet) for packet in packets]


def repeats(*records: bytes) -> set[int]:
    """The numbers, from 0, of the records whose packets count with another one."""
    return wifi_frames.read(wifi_frames.Record(n, n, 105, octets, 0) for n, octets in enumerate(records)).repeated


def test_a_repeat_is_no_second_packet() -> None:
    """A frame with the retry bit and the number of one already heard; another number is another frame."""
    first, again, other = (data(llc(SEGMENT), number, retry=retry) for number, retry in ((5, 0), (5, 1), (6, 1)))
    assert repeats(first, again, other, again) == {1, 3}
    assert repeats(first, data(llc(SEGMENT), 5, retry=True, tid=3)) == set()
    assert repeats(first, data(llc(SEGMENT), 5, retry=True, up=False)) == set()


@given(st.lists(st.integers(0, 9000), min_size=1, max_size=40, unique=True).map(sorted))
def test_numbers_come_round_again(numbers: list[int]) -> None:
    """A frame 4096 numbers later is another one, even if only its repeat was heard."""
    apart = [b - a for a, b in zip([numbers[0] - 1, *numbers], numbers, strict=False)]
    if max(apart) <= 1000:
        assert repeats(*(data(llc(SEGMENT), number % 4096, retry=True) for number in numbers)) == set()


def test_fragments_are_put_together() -> None:
    """A packet in three frames, one of them repeated, is complete with its last; without its first it is not."""
    body, heard = llc(SEGMENT), WifiPackets()
    parts = [
        data(body[at : at + 20], 9, flags=TO_DS | (MORE_FRAGMENTS if at < 40 else 0), fragment=at // 20, retry=again)
        for at, again in ((0, False), (20, False), (20, True), (40, False))
    ]
    assert [heard.packets(part, 105) for part in parts] == [[], [], [], [(IP, SEGMENT)]]
    assert [WifiPackets().packets(part, 105) for part in parts[1:]] == [[], [], []]


def test_block_acknowledgements_name_what_came() -> None:
    """A bit a number from the first on; numbers wrap."""
    found = ieee80211.block_acknowledgements(block_ack(STATION, ACCESS_POINT, 4094, 0b1011, tid=6))
    assert [(one.tid, one.start) for one in found] == [(6, 4094)]
    assert found[0].numbers(True) == [4094, 4095, 1]
    assert found[0].numbers(False) == [0]


def test_a_multi_station_acknowledgement_is_read() -> None:
    """802.11ax: an entry with a bitmap for each station."""
    head = block_ack(STATION, ACCESS_POINT, 0, 0)[:16] + struct.pack("<H", 11 << 1)
    entry = struct.pack("<HHQ", 5 | 2 << 12, 100 << 4, 0b11)
    everything = struct.pack("<H", 6 | 1 << 11)
    found = ieee80211.block_acknowledgements(head + everything + entry)
    assert [(one.tid, one.numbers(True)) for one in found] == [(2, [100, 101])]


MCS, VHT, HE = 1 << 19, 1 << 21, 1 << 23
# Rates of tables in 802.11-2020 (19.5, 21.5) and 802.11ax-2021 (27.5), in bit/s.
RATES = [
    (4, bytes([11]), 5_500_000),
    (MCS, bytes([0x07, 0, 7]), 65_000_000),
    (MCS, bytes([0x07, 0x05, 15]), 300_000_000),
    (VHT, struct.pack("<HBB4sBBH", 0x45, 0, 4, b"\x91\0\0\0", 0, 0, 0), 390_000_000),
    (VHT, struct.pack("<HBB4sBBH", 0x45, 4, 4, b"\x92\0\0\0", 0, 0, 0), 866_666_666),
    (HE, struct.pack("<6H", 0x4020, 0, 11 << 8, 0, 2, 2), 1_200_955_882),
    (HE, struct.pack("<6H", 0x4020, 0, 0, 0, 0 | 2 << 4, 1), 7_312_500),
]  # fmt: skip


@pytest.mark.parametrize(("present", "field", "rate"), RATES)
def test_rates_are_those_of_the_standards_tables(present: int, field: bytes, rate: int) -> None:
    """Legacy, HT, VHT and HE, each by its modulation, width, streams and guard interval."""
    header = struct.pack("<BBHI", 0, 0, 8 + len(field), present) + field
    found = radio_headers.decode(header, 127)
    assert found is not None
    assert found.rate_bps == rate


@given(st.integers(0, 0x3FFF), st.binary(min_size=40, max_size=40))
def test_radiotap_is_what_dpkt_reads(present: int, fields: bytes) -> None:
    """Flags and rate, whichever fields precede them, where dpkt knows all of the fields."""
    header = struct.pack("<BBHI", 0, 0, 48, present) + fields
    ours, theirs = radio_headers.decode(header, 127), dpkt.radiotap.Radiotap(header)
    assert ours is not None
    if theirs.flags_present:
        assert (ours.fcs, ours.damaged) == (bool(theirs.flags.fcs), bool(theirs.flags.val >> 6 & 1))
    if theirs.rate_present:
        assert (ours.rate_bps or 0) == theirs.rate.val * 500_000


@pytest.mark.slow
@given(st.sampled_from(sorted(CARRIED)), st.data())
@settings(max_examples=100, deadline=None)
def test_cut_and_changed_frames_never_raise(name: str, draw: st.DataObject) -> None:
    """Octets changed anywhere, and the end cut off anywhere."""
    link_type, record = CARRIED[name]
    changed = bytearray(record)
    for _ in range(draw.draw(st.integers(0, 4))):
        changed[draw.draw(st.integers(0, len(changed) - 1))] = draw.draw(st.integers(0, 255))
    WifiPackets().packets(bytes(changed)[: draw.draw(st.integers(0, len(changed)))], link_type)


@given(st.binary(max_size=160))
def test_random_block_acknowledgements_never_raise(octets: bytes) -> None:
    """Whatever follows the addresses."""
    for one in ieee80211.block_acknowledgements(b"\x94\0\0\0" + STATION + ACCESS_POINT + octets):
        assert all(0 <= number < 4096 for number in one.numbers(True))
