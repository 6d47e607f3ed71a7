"""IP reassembly: what is whole, what lacks a fragment, and what must not be mixed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dpkt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packets import ethernet, ipv4, ipv6, tcp

from multitracer.parsers import pcap
from multitracer.parsers.shared.source import Source
from multitracer.wire import layers
from multitracer.wire.reassembly import Fragment, Reassembly

START = 1_700_000_000 * 10**9
S = 10**9
SEGMENT = ipv4(tcp(b"ab" * 700, seq=5))[20:]  # with the checksum of these ends
Cuts = list[tuple[int, int]]


def pieces(size: int, step: int) -> Cuts:
    """Ranges of `step` octets that cover `size`."""
    return [(start, min(start + step, size)) for start in range(0, size, step)]


def fragments_4(payload: bytes, cuts: Cuts, *, number: int = 7, protocol: int = 6, **ends: str) -> list[bytes]:
    """IPv4 packets with these ranges of a datagram's payload."""
    return [
        ipv4(payload[start:stop], number=number, p=protocol, offset=start // 8, mf=stop < len(payload), **ends)
        for start, stop in cuts
    ]  # fmt: skip


def fragments_6(payload: bytes, cuts: Cuts, *, number: int = 7, protocol: int = 6) -> list[bytes]:
    """IPv6 packets with these ranges of a datagram's payload behind a fragment header."""
    made = []
    for start, stop in cuts:
        header = bytes([protocol, 0]) + (start | (stop < len(payload))).to_bytes(2, "big") + number.to_bytes(4, "big")
        packet = bytearray(ipv6(header + payload[start:stop]))
        packet[6] = 44
        made.append(bytes(packet))
    return made


def reassembled(packets: list[bytes], *, every_ns: int = 1000, places: list[int] | None = None) -> Reassembly:
    """What becomes of fragments that come one after another."""
    taken = Reassembly()
    for row, packet in enumerate(packets):
        taken.add(Fragment(row, places[row] if places else 0, START + row * every_ns, packet))
    taken.finish()
    return taken


def fates(taken: Reassembly) -> list[int]:
    """The status of every fragment, in order."""
    return [taken.fate[row] for row in sorted(taken.fate)]


@given(st.data())
def test_fragments_in_any_order_give_the_datagram(data: st.DataObject) -> None:
    """Whatever the sizes, the order and the copies, the datagram is the one that was cut, when its last octet came."""
    payload = data.draw(st.binary(min_size=9, max_size=400))
    step = data.draw(st.integers(1, (len(payload) - 1) // 8)) * 8
    make, whole = data.draw(st.sampled_from([(fragments_4, ipv4(payload)), (fragments_6, ipv6(payload))]))
    cut = make(payload, pieces(len(payload), step))
    order = data.draw(st.permutations(range(len(cut))))
    copies = data.draw(st.lists(st.sampled_from(order), max_size=3))
    taken = reassembled([cut[at] for at in [*order, *copies]])
    (one,) = taken.datagrams
    assert one.row == len(order) - 1
    assert one.missing == 0
    skip = slice(10, 12)  # the header's checksum is not computed again
    assert one.octets.replace(one.octets[skip], b"", 1) == whole.replace(whole[skip], b"", 1) or make is fragments_6
    assert one.octets[-len(payload) :] == payload
    assert len(one.octets) == len(whole)
    assert set(fates(taken)) == {layers.PART}


@pytest.mark.parametrize("make", [fragments_4, fragments_6])
@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_datagram_that_lacks_a_fragment_is_lacking(make: Any, lost: int) -> None:
    """Not decoded, also when the first fragment holds a whole TCP header: every fragment is counted."""
    cut = make(SEGMENT, pieces(len(SEGMENT), 512))
    taken = reassembled([packet for at, packet in enumerate(cut) if at != lost])
    assert taken.datagrams == []
    assert fates(taken) == [layers.LACKING] * 2


@pytest.mark.parametrize("make", [fragments_4, fragments_6])
@pytest.mark.parametrize("held", [[(0, 8), (24, 32)], [(32, 40)], [(8, 16), (40, 48)]])
def test_a_last_fragment_that_ends_before_others_is_of_another_datagram(make: Any, held: Cuts) -> None:
    """As many octets as it has may be held, and yet they are not its: nothing is whole, and each fragment counts."""
    longer, shorter = make(b"a" * 64, held), make(b"b" * 24, [(16, 24)])
    taken = reassembled([*longer, *shorter])
    assert taken.datagrams == []
    assert fates(taken) == [layers.LACKING] * (len(held) + 1)
    assert [one.octets[-24:] for one in reassembled([*longer, *make(b"b" * 24, pieces(24, 8)[::-1])]).datagrams] == [
        b"b" * 24
    ]


def test_fragments_of_protocols_that_are_not_read_are_only_counted() -> None:
    """ICMP and UDP of no tunnel, whole or not, are no loss."""
    icmp = fragments_4(b"x" * 100, [(0, 48)], protocol=1)
    udp = fragments_4(bytes(dpkt.udp.UDP(sport=9, dport=9, data=b"x" * 92)), [(0, 48)], protocol=17, number=8)
    later = fragments_4(b"x" * 100, [(48, 100)], protocol=17, number=9)
    assert fates(reassembled([*icmp, *udp, *later])) == [layers.FRAGMENT] * 3
    gtp = fragments_4(bytes(dpkt.udp.UDP(sport=9, dport=2152, data=b"x" * 92)), [(0, 48)], protocol=17)
    assert fates(reassembled(gtp)) == [layers.LACKING]


def test_fragments_of_different_places_are_not_mixed() -> None:
    """Equal identifications at two interfaces are two datagrams."""
    cut = fragments_4(SEGMENT, pieces(len(SEGMENT), 800))
    assert reassembled([cut[0], cut[1]], places=[0, 1]).datagrams == []
    assert [one.row for one in reassembled([cut[0], *cut, cut[1]], places=[0, 1, 1, 0]).datagrams] == [2, 3]


def test_an_identification_may_be_used_again() -> None:
    """Another datagram with the number of one that is whole, that lacks a fragment, or that is too old (RFC 4963)."""
    cuts = pieces(len(SEGMENT), 800)
    one, other = fragments_4(SEGMENT, cuts), fragments_4(bytes(tcp(b"cd" * 700, seq=9000)), cuts)
    assert [made.row for made in reassembled([*one, *other]).datagrams] == [1, 3]
    lacking = reassembled([one[0], *other])
    assert [made.row for made in lacking.datagrams] == [2]
    assert fates(lacking) == [layers.LACKING, layers.PART, layers.PART]
    assert reassembled(one, every_ns=61 * S).datagrams == []
    longer = fragments_4(SEGMENT + b"x" * 100, pieces(len(SEGMENT) + 100, 800))
    assert fates(reassembled([one[1], longer[1], longer[0]])) == [layers.LACKING, layers.PART, layers.PART]


def test_ipv4_takes_the_newer_of_overlapping_octets() -> None:
    """RFC 791 3.2: the more recently arrived copy; also where it lies within an older fragment."""
    payload, newer = b"a" * 64, b"b" * 64
    packets = fragments_4(payload, [(0, 48)]) + fragments_4(newer, [(16, 32)]) + fragments_4(payload, [(48, 64)])
    (one,) = reassembled(packets).datagrams
    assert one.octets[20:] == b"a" * 16 + b"b" * 16 + b"a" * 32


def test_ipv6_discards_a_datagram_with_overlapping_fragments() -> None:
    """RFC 5722: with all its fragments, those that come later too."""
    packets = fragments_6(SEGMENT, [(0, 800), (400, 1000), (800, len(SEGMENT))])
    taken = reassembled(packets)
    assert taken.datagrams == []
    assert fates(taken) == [layers.OVERLAPPING] * 3


def test_fragments_that_cannot_be_are_malformed() -> None:
    """No octets, a length that is no multiple of eight before the last, an end beyond 65,535."""
    empty = ipv4(b"", mf=True)
    odd = ipv4(b"x" * 30, mf=True)
    far = ipv4(b"x" * 100, offset=0x1FFF)
    assert fates(reassembled([empty, odd, far])) == [layers.MALFORMED] * 3


def test_what_the_snap_length_cut_is_missing_and_lengths_still_count() -> None:
    """Octets up to the first cut are kept; the datagram is whole by the lengths in its headers."""
    cut = [packet[:96] for packet in fragments_4(SEGMENT, pieces(len(SEGMENT), 512))]
    (one,) = reassembled(cut).datagrams
    assert (len(one.octets), one.missing) == (96, len(SEGMENT) + 20 - 96)


@pytest.mark.parametrize(("name", "most"), [("MOST_HELD", 20), ("MOST_HELD_OCTETS", 19 * 800)])
def test_memory_for_incomplete_datagrams_is_bounded(monkeypatch: pytest.MonkeyPatch, name: str, most: int) -> None:
    """The oldest is given up for a new one."""
    monkeypatch.setattr(f"multitracer.wire.reassembly.{name}", most)
    taken = Reassembly()
    (fragment,) = fragments_4(SEGMENT, [(0, 800)])
    for row in range(30):
        taken.add(Fragment(row, row, START, fragment))
    assert sorted(taken.fate) == list(range(10))


def packets_of(tmp_path: Path, frames: list[bytes], link_type: int = 1) -> Any:
    """The recording of a capture of these frames, a millisecond apart."""
    path = tmp_path / "fragments.pcap"
    pcap.write(path, [(START + at * 10**6, frame) for at, frame in enumerate(frames)], link_type)
    return pcap.read(Source(str(path), path.read_bytes()))


def gre(packet: bytes) -> bytes:
    """A GRE header and an IPv4 packet (RFC 2784 2.1)."""
    return b"\0\0\x08\0" + packet


def gtpu(packet: bytes) -> bytes:
    """A GTP-U datagram that carries a packet (29.281 5.1)."""
    data = b"\x30\xff" + len(packet).to_bytes(2, "big") + b"\0\0\0\1" + packet
    return bytes(dpkt.udp.UDP(sport=2152, dport=2152, ulen=len(data) + 8, data=data))


def within_gre(packet: bytes, number: int) -> bytes:
    """An IPv4 packet with a packet in GRE."""
    return ipv4(gre(packet), p=47, source="10.9.9.9", number=number)


def fragmented_again(which: int) -> list[bytes]:
    """Two fragments of a segment within GRE, of which one was fragmented again outside of it."""
    made = []
    for number, packet in enumerate(fragments_4(SEGMENT, pieces(len(SEGMENT), 800))):
        again = pieces(len(gre(packet)), 400 if number == which else 4000)
        made += fragments_4(gre(packet), again, protocol=47, source="10.9.9.9", number=number)
    return made


SCENES = {
    "IPv4": fragments_4(SEGMENT, pieces(len(SEGMENT), 8)),
    "IPv6": fragments_6(SEGMENT, pieces(len(SEGMENT), 8)),
    "a fragmented GTP-U datagram": fragments_4(
        gtpu(ipv4(SEGMENT)), pieces(len(gtpu(ipv4(SEGMENT))), 800), protocol=17, source="10.9.9.9"
    ),
    "fragments within GRE": [
        within_gre(packet, at) for at, packet in enumerate(fragments_4(SEGMENT, pieces(len(SEGMENT), 800)))
    ],
    "the first of two within GRE fragmented again outside": fragmented_again(0),
    "the second of two within GRE fragmented again outside": fragmented_again(1),
}  # fmt: skip


@pytest.mark.parametrize("name", SCENES)
def test_a_fragmented_segment_is_one_packet(tmp_path: Path, name: str) -> None:
    """With the record and time of the last fragment, all its octets, and a checksum that is right."""
    packets = SCENES[name]
    kind = 0x86DD if name == "IPv6" else 0x0800
    found = packets_of(tmp_path, [ethernet(packet, kind=kind) for packet in packets])
    (row,) = found.tables["packets"].to_dict("records")
    assert (row["record"], row["time_ns"]) == (len(packets), START + (len(packets) - 1) * 10**6)
    assert (row["payload_bytes"], row["raw_seq"]) == (1400, 5)
    assert row["checksum_ok"] == (name != "IPv6")
    assert (found.skips, found.counts) == ([], {})


def test_what_lacks_a_fragment_is_said(tmp_path: Path) -> None:
    """As records that were skipped, with the number of the first."""
    whole = ethernet(ipv4(tcp(b"x" * 10)))
    lacking = [ethernet(packet) for packet in fragments_4(SEGMENT, [(0, 512), (1024, len(SEGMENT))])]
    found = packets_of(tmp_path, [whole, *lacking])
    (skip,) = found.skips
    assert skip.reason == "IP fragments of datagrams that are not complete in the capture"
    assert (skip.record, skip.count, len(found.tables["packets"])) == (2, 2, 1)


def test_fragments_of_one_datagram_in_pppoe_belong_together(tmp_path: Path) -> None:
    """The length in the header of each frame differs; in different VLANs they are of different datagrams."""
    cut = fragments_4(SEGMENT, pieces(len(SEGMENT), 800))
    sizes = [(len(one) + 2).to_bytes(2, "big") for one in cut]
    in_pppoe = [
        ethernet(b"\x11\0\0\5" + size + b"\0\x21" + one, kind=0x8864) for size, one in zip(sizes, cut, strict=True)
    ]
    assert len(packets_of(tmp_path, in_pppoe).tables["packets"]) == 1
    tagged = [ethernet(one, tags=b"\x81\0\0" + bytes([vlan])) for vlan, one in enumerate(cut)]
    assert len(packets_of(tmp_path, tagged).tables["packets"]) == 0
