"""Packets decoded: against dpkt, through every link layer, and whatever octets come."""

from __future__ import annotations

import struct

import dpkt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packets import SYN, ethernet, ipv4, ipv6, tcp

from multitracer import kernels
from multitracer.kernels import octets
from multitracer.parsers.capture import Records, recording
from multitracer.parsers.source import Source
from multitracer.parsers.wire import layers
from multitracer.tables import OPTION_MSS, OPTION_SACK, OPTION_TIMESTAMPS, OPTION_WSCALE
from multitracer.trace import Recording

RAW, ETHERNET = 101, 1
TIMESTAMPS = struct.pack(">BBBBII", 1, 1, 8, 10, 77, 66)


def decoded(packets: list[bytes], link_type: int = RAW, originals: list[int] | None = None) -> Recording:
    """The recording of these records."""
    sizes = np.array([len(packet) for packet in packets], dtype=np.int32)
    offset = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    count = len(packets)
    records = Records(
        octets(b"".join(packets) or b"\0"), offset, sizes, np.array(originals or sizes, dtype=np.int32),
        np.arange(count, dtype=np.int64), np.zeros(count, dtype=np.int16), np.arange(1, count + 1), [link_type],
    )  # fmt: skip
    return recording("pcap", Source("x", b"\0"), records)


segments = st.builds(
    lambda payload, seq, ack, flags, window, ports, stamped: tcp(
        payload, seq=seq, ack=ack, flags=flags, window=window, ports=ports, options=TIMESTAMPS if stamped else b""
    ),
    st.binary(max_size=50), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.integers(0, 255),
    st.integers(0, 65535), st.tuples(st.integers(1, 65535), st.integers(1, 65535)), st.booleans(),
)  # fmt: skip


@given(st.lists(st.tuples(segments, st.booleans()), min_size=1, max_size=12))
@settings(max_examples=60, deadline=None)
def test_fields_are_dpkts(made: list[tuple[dpkt.tcp.TCP, bool]]) -> None:
    """Every header field, payload length and direction is what dpkt reads, over IPv4 and IPv6."""
    packets = [ipv6(segment) if six else ipv4(segment) for segment, six in made]
    found = decoded(packets)
    table, flows = found.tables["packets"], found.tables["flows"]
    assert len(table) == len(packets)
    for row, (packet, (_, six)) in enumerate(zip(packets, made, strict=True)):
        ip = dpkt.ip6.IP6(packet) if six else dpkt.ip.IP(packet)
        theirs, ours = ip.data, table.iloc[row]
        assert (ours["raw_seq"], ours["raw_ack"], ours["raw_window"]) == (theirs.seq, theirs.ack, theirs.win)
        assert ours["flags"] == theirs.flags
        assert ours["payload_bytes"] == len(theirs.data)
        assert ours["checksum"] == theirs.sum
        assert ours["wire_bytes"] == len(packet)
        flow = flows.iloc[ours["flow"]]
        ports = (flow["port_a"], flow["port_b"])
        assert (theirs.sport, theirs.dport) == (ports if ours["direction"] == 0 else ports[::-1])


def test_options_are_read() -> None:
    """MSS, window scale, SACK blocks and timestamps, each with its bit."""
    syn = struct.pack(">BBHBBBB", 2, 4, 1460, 3, 3, 7, 1)
    sack = struct.pack(">BBBBIIII", 1, 1, 5, 18, 100, 200, 300, 400)
    found = decoded([ipv4(tcp(flags=SYN, options=syn + TIMESTAMPS)), ipv4(tcp(options=sack))])
    packets = found.tables["packets"]
    assert packets["options"].tolist() == [OPTION_MSS | OPTION_WSCALE | OPTION_TIMESTAMPS, OPTION_SACK]
    assert packets["tsval"].tolist() == [77, 0]
    assert found.tables["syn_options"][["packet", "mss_bytes", "wscale"]].to_numpy().tolist() == [[0, 1460, 7]]
    assert found.tables["sack_blocks"].to_numpy().tolist() == [[1, 100, 200], [1, 300, 400]]


@pytest.mark.parametrize("options", [b"\x08\x00\x00\x00", b"\x05\x02\x01\x01", b"\x08\xff\x00\x00", b"\x02\x04\x01"])
def test_malformed_options_cost_nothing_else(options: bytes) -> None:
    """The segment stays, with the options before the bad one."""
    found = decoded([ipv4(tcp(b"abc", options=options))])
    assert found.tables["packets"]["payload_bytes"].tolist() == [3]


SEGMENT = ipv4(tcp(b"abc"))
VLAN = b"\x81\x00\x00\x05"
LINKS = {
    "ethernet": (1, ethernet(SEGMENT)),
    "vlan": (1, ethernet(SEGMENT, tags=VLAN)),
    "qinq": (1, ethernet(SEGMENT, tags=b"\x88\xa8\x00\x01" + VLAN)),
    "pppoe": (1, ethernet(b"\x11\x00\x00\x01\x00\x33\x00\x21" + SEGMENT, kind=0x8864)),
    "mpls": (1, ethernet(b"\x00\x00\x10\x40\x00\x00\x21\x40" + SEGMENT, kind=0x8847)),
    "raw": (101, SEGMENT),
    "sll": (113, b"\0" * 14 + b"\x08\x00" + SEGMENT),
    "sll2": (276, b"\x08\x00" + b"\0" * 18 + SEGMENT),
    "null": (0, b"\x02\0\0\0" + SEGMENT),
    "loop": (108, b"\0\0\0\x02" + SEGMENT),
    "ppp": (9, b"\xff\x03\x00\x21" + SEGMENT),
    "ppp, compressed header": (9, b"\x21" + SEGMENT),
    "chdlc": (104, b"\x0f\x00\x08\x00" + SEGMENT),
    "fddi": (10, b"\0" * 13 + b"\xaa\xaa\x03\0\0\0\x08\x00" + SEGMENT),
}  # fmt: skip


@pytest.mark.parametrize("name", LINKS)
def test_every_link_layer_is_looked_through(name: str) -> None:
    """The same segment comes out of each."""
    link_type, octets_ = LINKS[name]
    packets = decoded([octets_], link_type).tables["packets"]
    assert packets["payload_bytes"].tolist() == [3]
    assert packets["checksum_ok"].tolist() == [1]


TUNNELS = {
    "gre": ipv4(b"\0\0\x08\0" + SEGMENT, p=47),
    "ip in ip": ipv4(SEGMENT, p=4),
    "gtp-u": ipv4(
        b"\x12\x34\x08\x68" + struct.pack(">HH", 16 + len(SEGMENT), 0) + b"\x30\xff\0\0\0\0\0\1" + SEGMENT, p=17
    ),
}


@pytest.mark.parametrize("name", TUNNELS)
def test_tunnels_are_looked_into(name: str) -> None:
    """The inner segment is analysed, in its place among the others."""
    found = decoded([SEGMENT, TUNNELS[name], SEGMENT])
    assert found.tables["packets"]["record"].tolist() == [1, 2, 3]
    assert found.tables["packets"]["flow"].tolist() == [0, 0, 0]


def test_ipv6_extension_headers_are_passed() -> None:
    """Hop-by-hop and destination options before TCP."""
    inner = bytes(dpkt.ip6.IP6(ipv6(tcp(b"abc"))).data)
    packet = bytearray(ipv6(b"\x3c\0\1\4\0\0\0\0" + b"\x06\0\1\4\0\0\0\0" + inner))
    packet[6] = 0
    assert decoded([bytes(packet)]).tables["packets"]["payload_bytes"].tolist() == [3]


def test_later_fragments_are_counted() -> None:
    """The first fragment has the header; later ones are counted."""
    first = bytearray(ipv4(tcp(b"x" * 16)))
    first[6:8] = b"\x20\x00"
    later = bytearray(ipv4(b"y" * 16))
    later[6:8] = b"\x00\x05"
    found = decoded([bytes(first), bytes(later)])
    assert len(found.tables["packets"]) == 1
    assert found.counts == {"fragments": 1}


def test_a_length_field_of_zero_is_segmentation_offload() -> None:
    """The record's length on the wire stands in for it."""
    packet = bytearray(SEGMENT)
    packet[2:4] = b"\0\0"
    assert decoded([bytes(packet)], originals=[5040]).tables["packets"]["payload_bytes"].tolist() == [5000]


def test_checksums_are_right_wrong_or_left_to_the_card() -> None:
    """1, 0, and -1 where only the pseudo-header was summed or the packet was cut."""
    wrong = bytearray(SEGMENT)
    wrong[-1] ^= 1
    offloaded = bytearray(SEGMENT)
    pseudo = SEGMENT[12:20] + struct.pack(">HH", 6, len(SEGMENT) - 20)
    total = sum(struct.unpack(f">{len(pseudo) // 2}H", pseudo))
    offloaded[36:38] = struct.pack(">H", (total & 0xFFFF) + (total >> 16))
    found = decoded([SEGMENT, bytes(wrong), bytes(offloaded), SEGMENT[:-1]], originals=[43, 43, 43, 43])
    assert found.tables["packets"]["checksum_ok"].tolist() == [1, 0, -1, -1]


@given(st.sampled_from([*layers.LINK_TYPES]), st.lists(st.binary(max_size=120), min_size=1, max_size=8))
@settings(max_examples=150, deadline=None)
def test_no_octets_make_it_crash(link_type: int, records: list[bytes]) -> None:
    """Every record becomes a packet, a count or a named loss."""
    found = decoded(records, link_type)
    packets = len(found.tables["packets"]) if "packets" in found.tables else 0
    assert packets + sum(found.counts.values()) + sum(skip.count for skip in found.skips) >= len(records)


@given(st.integers(0, 60), st.integers(0, 255), st.integers(0, 60))
@settings(max_examples=100, deadline=None)
def test_damaged_packets_make_it_no_crash(place: int, value: int, cut: int) -> None:
    """A real packet with an octet changed and its end cut off."""
    packet = bytearray(ethernet(ipv4(tcp(b"abc", options=TIMESTAMPS))))
    packet[place % len(packet)] = value
    decoded([bytes(packet[: len(packet) - cut % len(packet)]) or b"\0"], 1)


@pytest.mark.compiled
def test_compiled_and_plain_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same records give the same columns either way."""
    packets = [
        *(octets_ for kind, octets_ in LINKS.values() if kind == 1),
        ethernet(ipv6(tcp(b"z")), kind=0x86DD),
        b"\0" * 30,
    ]
    plain = decoded(packets, 1).tables
    monkeypatch.setitem(kernels._state, "small", False)
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    compiled = decoded(packets, 1).tables
    for name in ("packets", "flows", "sack_blocks"):
        assert plain[name].equals(compiled[name])
