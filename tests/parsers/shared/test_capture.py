"""Packets decoded: against dpkt, through every link layer, and whatever octets come."""

from __future__ import annotations

import struct

import dpkt
import pytest
from decoding import decoded
from hypothesis import given, settings
from hypothesis import strategies as st
from link_layers import common
from packets import SYN, ethernet, ipv4, ipv6, tcp

from multitracer.compute import kernels
from multitracer.model.schema import (
    OPTION_MSS,
    OPTION_SACK,
    OPTION_SACK_PERMITTED,
    OPTION_TIMESTAMPS,
    OPTION_WSCALE,
)
from multitracer.wire import layers

TIMESTAMPS = struct.pack(">BBBBII", 1, 1, 8, 10, 77, 66)

segments = st.builds(
    lambda payload, seq, ack, flags, window, ports, stamped: tcp(
        payload, seq=seq, ack=ack, flags=flags, window=window, ports=ports, options=TIMESTAMPS if stamped else b""
    ),
    st.binary(max_size=50), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.integers(0, 255),
    st.integers(0, 65535), st.tuples(st.integers(1, 65535), st.integers(1, 65535)), st.booleans(),
)  # fmt: skip


@pytest.mark.slow
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
def test_malformed_options_do_not_affect_the_rest(options: bytes) -> None:
    """The segment stays, with the options before the bad one."""
    found = decoded([ipv4(tcp(b"abc", options=options))])
    assert found.tables["packets"]["payload_bytes"].tolist() == [3]


def read_plainly(options: bytes) -> tuple[dict[int, bytes], list[tuple[int, int]]]:
    """The last value of each kind of option that is well formed (RFC 9293 3.2), and all SACK blocks."""
    found: dict[int, bytes] = {}
    blocks: list[tuple[int, int]] = []
    while options and options[0]:
        size = 1 if options[0] == 1 else options[1] if len(options) > 1 else 0
        if size < (options[0] != 1) + 1 or size > len(options):
            break
        kind, value, options = options[0], options[2:size], options[size:]
        if kind == 5 and size >= 10:
            blocks += [struct.unpack_from(">II", value, at) for at in range(0, len(value) - 7, 8)]
        if size == {2: 4, 3: 3, 4: 2, 8: 10}.get(kind) or (kind == 5 and size >= 10):
            found[kind] = value
    return found, blocks


PIECES = st.one_of(
    st.sampled_from([b"\1", b"\1" * 4, b"\0", b"\4\2", b"\3\3\7", b"\2\4\5\xb4", b"\5\2", b"\3" * 4]),
    st.binary(min_size=8, max_size=8).map(lambda value: b"\x08\x0a" + value),
    st.binary(min_size=8, max_size=8).map(lambda value: b"\1\1\x08\x0a" + value),
    st.sampled_from([8, 16, 24]).flatmap(lambda size: st.binary(min_size=size, max_size=size)).map(
        lambda blocks: bytes([5, len(blocks) + 2]) + blocks
    ),
    st.binary(max_size=5),
)  # fmt: skip


@pytest.mark.slow
@given(st.lists(st.tuples(st.lists(PIECES, max_size=6), st.booleans(), st.integers(0, 60)), min_size=1, max_size=8))
@settings(deadline=None)
def test_options_are_read_in_any_order_and_as_far_as_they_were_captured(
    made: list[tuple[list[bytes], bool, int]],
) -> None:
    """Well-formed ones up to the first that is not, to the list's end, or to where the record was cut."""
    packets, sizes, expected = [], [], []
    for pieces, syn, cut in made:
        options = b"".join(pieces)[:40]
        options = options[: len(options) // 4 * 4]
        packet = ipv4(tcp(b"data" * 9, options=options, flags=SYN if syn else 16))
        sizes.append(len(packet))
        packets.append(packet[: max(40, len(packet) - cut)])
        expected.append(read_plainly(options[: max(0, len(packets[-1]) - 40)]))
    found = decoded(packets, originals=sizes)
    table, blocks, syns = (found.tables[name] for name in ("packets", "sack_blocks", "syn_options"))
    stamps = [struct.unpack(">II", kinds.get(8, bytes(8))) for kinds, _ in expected]
    bits = {2: OPTION_MSS, 3: OPTION_WSCALE, 4: OPTION_SACK_PERMITTED, 5: OPTION_SACK, 8: OPTION_TIMESTAMPS}
    assert list(zip(table["tsval"], table["tsecr"], strict=True)) == stamps
    assert table["options"].tolist() == [sum(bits[kind] for kind in kinds) for kinds, _ in expected]
    assert blocks.to_numpy().tolist() == [[row, *one] for row, (_, mine) in enumerate(expected) for one in mine]
    assert syns.to_numpy().tolist() == [
        [row, int.from_bytes(kinds[2], "big") if 2 in kinds else -1, kinds[3][0] if 3 in kinds else -1]
        for row, ((_, syn, _), (kinds, _)) in enumerate(zip(made, expected, strict=True))
        if syn
    ]


SEGMENT = ipv4(tcp(b"abc"))
LINKS = common(SEGMENT)


@pytest.mark.parametrize("name", LINKS)
def test_every_link_layer_is_looked_through(name: str) -> None:
    """The same segment comes out of each."""
    link_type, octets_ = LINKS[name]
    packets = decoded([octets_], link_type).tables["packets"]
    assert packets["payload_bytes"].tolist() == [3]
    assert packets["checksum_ok"].tolist() == [1]


TUNNELS = {
    "gre": ipv4(b"\0\0\x08\0" + SEGMENT, p=47),
    "ipip": ipv4(SEGMENT, p=4),
    "gtpu teid 1": ipv4(
        b"\x12\x34\x08\x68" + struct.pack(">HH", 16 + len(SEGMENT), 0) + b"\x30\xff\0\0\0\0\0\1" + SEGMENT, p=17
    ),
}


@pytest.mark.parametrize("name", TUNNELS)
def test_tunnels_are_looked_into(name: str) -> None:
    """The inner segment is analysed, in its place among the others, and belongs to a flow of its tunnel."""
    found = decoded([SEGMENT, TUNNELS[name], SEGMENT])
    assert found.tables["packets"]["record"].tolist() == [1, 2, 3]
    flow = found.tables["packets"]["flow"].to_numpy()
    assert found.tables["flows"]["tunnel"].to_numpy()[flow].tolist() == ["", name, ""]
    assert found.tables["flows"]["outer_a"].to_numpy()[flow].tolist() == ["", "10.0.0.1", ""]


def test_ipv6_extension_headers_are_passed() -> None:
    """Hop-by-hop and destination options before TCP."""
    inner = bytes(dpkt.ip6.IP6(ipv6(tcp(b"abc"))).data)
    packet = bytearray(ipv6(b"\x3c\0\1\4\0\0\0\0" + b"\x06\0\1\4\0\0\0\0" + inner))
    packet[6] = 0
    assert decoded([bytes(packet)]).tables["packets"]["payload_bytes"].tolist() == [3]


def test_a_length_field_of_zero_is_segmentation_offload() -> None:
    """The record's length on the wire is used instead."""
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


@pytest.mark.slow
@given(st.sampled_from([*layers.LINK_TYPES]), st.lists(st.binary(max_size=120), min_size=1, max_size=8))
@settings(max_examples=150, deadline=None)
def test_random_octets_never_raise(link_type: int, records: list[bytes]) -> None:
    """Every record becomes a packet, a count or a named loss."""
    found = decoded(records, link_type)
    packets = len(found.tables["packets"]) if "packets" in found.tables else 0
    assert packets + sum(found.counts.values()) + sum(skip.count for skip in found.skips) >= len(records)


@given(st.integers(0, 60), st.integers(0, 255), st.integers(0, 60))
@settings(max_examples=100, deadline=None)
def test_damaged_packets_never_raise(place: int, value: int, cut: int) -> None:
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
