"""Envelopes: whatever is around a TCP packet, its fields are those of the bare packet."""

from __future__ import annotations

import struct
from functools import cache

import pytest
from decoding import decoded
from envelopes import ENVELOPES, ONLY_6, OUTERMOST, Envelope, damaged, framed, outer, stacked, udp
from hypothesis import given, settings
from hypothesis import strategies as st
from packets import ipv4, ipv6, tcp

ETHERNET = 1
TIMESTAMPS = struct.pack(">BBBBII", 1, 1, 8, 10, 77, 66)
SEGMENT = tcp(b"abc" * 7, seq=5, ack=9, window=77, options=TIMESTAMPS)
BARE = {4: ipv4(SEGMENT), 6: ipv6(SEGMENT)}
TEREDO = ipv6(SEGMENT, source="2001:0:c000:201::1")
EVERY = [pytest.param(name, version) for name in ENVELOPES | OUTERMOST for version in BARE]
EVERY += [pytest.param(name, 6) for name in ONLY_6]
COLUMNS = [
    "raw_seq", "raw_ack", "payload_bytes", "flags", "raw_window", "tsval", "tsecr", "options", "checksum",
    "checksum_ok", "wire_bytes",
]  # fmt: skip


def fields(record: bytes, link_type: int = ETHERNET) -> tuple[list[list[int]], list[list[object]]]:
    """The packets of a record and the ends and tunnels of their flows."""
    tables = decoded([record], link_type).tables
    ends = ["address_a", "port_a", "address_b", "port_b", "tunnel"]
    return tables["packets"][COLUMNS].to_numpy().tolist(), tables["flows"][ends].to_numpy().tolist()


@cache
def plain(version: int) -> tuple[list[list[int]], list[list[object]]]:
    """The fields of the bare packet."""
    return fields(framed(BARE[version]))


@pytest.mark.parametrize(("name", "version"), EVERY)
def test_every_envelope_is_opened(name: str, version: int) -> None:
    """The packet's fields are the bare packet's, and the tunnel is the flow's."""
    envelope = (ENVELOPES | OUTERMOST | ONLY_6)[name]
    record, _ = stacked(BARE[version], [envelope])
    packets, (flow,) = fields(record)
    assert packets == plain(version)[0]
    assert flow == [*plain(version)[1][0][:4], envelope.label]


@pytest.mark.slow
@given(st.sampled_from([4, 6]), st.lists(st.sampled_from(list(ENVELOPES.values())), min_size=2, max_size=5))
@settings(deadline=None, max_examples=60)
def test_any_stack_of_envelopes_is_opened(version: int, stack: list[Envelope]) -> None:
    """Envelopes in envelopes give the bare packet's fields too, and all tunnels, outermost first."""
    record, tunnel = stacked(BARE[version], stack)
    packets, (flow,) = fields(record)
    assert packets == plain(version)[0]
    assert flow == [*plain(version)[1][0][:4], tunnel]


@pytest.mark.slow
@given(
    st.lists(st.sampled_from([*ENVELOPES.values()]), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=3), st.integers(0, 400),
)  # fmt: skip
@settings(deadline=None, max_examples=120)
def test_damaged_envelopes_never_raise(stack: list[Envelope], changes: list[tuple[int, int]], cut: int) -> None:
    """Cut anywhere, any octet changed: the record is a packet, a count or a named loss."""
    found = decoded([damaged(stacked(BARE[4], stack)[0], changes, cut)], ETHERNET)
    assert len(found.tables["packets"]) + sum(found.counts.values()) + sum(skip.count for skip in found.skips) >= 1


AMONG_DNS = {
    "dns on the port of VXLAN": udp(4789, b"\x12\x34\x01\x00\0\1\0\0\0\0\0\0\x03www\x07example\x03com\0\0\1\0\1"),
    "text on the port of GTP-U": udp(2152, b"hello, this is no tunnel at all, only text"),
    "a game on the port of Geneve": udp(6081, bytes(range(60))),
    "random on the port of GRE": udp(4754, b"\0\0\x12\x34" + bytes(20)),
    "random on the port of L2TP": udp(1701, b"\x00\x02\xde\xad\xbe\xef\x01\x02\x03\x04"),
    "zeros on the port of CAPWAP": udp(5247, bytes(40)),
    "echo of GTP-U": udp(2152, b"\x32\x01\x00\x04\0\0\0\0\0\1\0\0", source=2152),
    "IPv4 of another length": udp(5555, b"\x45" + bytes(60)),
}


@pytest.mark.parametrize("name", AMONG_DNS)
def test_a_datagram_that_is_not_what_its_port_says_stays_udp(name: str) -> None:
    """It is counted as UDP, and nothing in it is a packet."""
    found = decoded([framed(AMONG_DNS[name])], ETHERNET)
    assert found.counts == {"udp": 1}
    assert not len(found.tables["packets"])


CLOSED = {
    "encrypted ESP": outer(50, bytes(range(7, 107))),
    "encrypted MACsec": b"\x88\xe5\x2c\x00\0\0\0\1" + bytes(60),
    "CAPWAP over DTLS": udp(5247, b"\x01\0\0\0" + bytes(60)),
    "GRE of type 0x1234": outer(47, b"\0\0\x12\x34" + bytes(20)),
    "IPComp": outer(108, b"\x06\0\0\2" + bytes(60)),
    "Realtek's tag of an unknown protocol": b"\x88\x99\x77" + bytes(60),
}


@pytest.mark.parametrize("name", CLOSED)
def test_what_cannot_be_opened_is_counted_by_name(name: str) -> None:
    """The count has the envelope's name, and a note says that something is missing."""
    packet = CLOSED[name]
    record = framed(packet) if packet[0] >> 4 == 4 else bytes(12) + packet
    found = decoded([record, framed(BARE[4])], ETHERNET)
    assert found.counts[name] == 1
    assert any(f"1 {name}" in note for note in found.notes)


@pytest.mark.parametrize("name", CLOSED)
def test_what_cannot_be_opened_is_a_loss(name: str) -> None:
    """TCP may be in it: it is skipped, with how often, and the record and place of the first."""
    packet = CLOSED[name]
    record = framed(packet) if packet[0] >> 4 == 4 else bytes(12) + packet
    first = framed(BARE[4])
    (skip,) = decoded([first, record, record], ETHERNET).skips
    assert skip.reason == f"packet in an envelope that is not opened ({name})"
    assert (skip.record, skip.offset, skip.count) == (2, len(first), 2)


CLOSED_PPP = {
    "multilink PPP": b"\0\x3d",
    "headers compressed by RFC 2507": b"\0\x63",
    "ROHC": b"\0\x03",
}


@pytest.mark.parametrize("name", CLOSED_PPP)
def test_contents_of_ppp_that_are_not_opened_are_a_loss(name: str) -> None:
    """They are named, and skipped."""
    (skip,) = decoded([b"\xff\x03" + CLOSED_PPP[name] + bytes(60)], 9).skips
    assert skip.reason == f"packet in an envelope that is not opened ({name})"


def test_messages_of_switches_are_no_loss() -> None:
    """Realtek's loop detection has the EtherType of its tags."""
    found = decoded([bytes(12) + b"\x88\x99\x03" + bytes(60)], ETHERNET)
    assert (found.counts, found.skips) == ({"other": 1}, [])


def test_transport_behind_an_authentication_header_is_read() -> None:
    """AH and ESP without encryption in transport mode are taken out of the packet."""
    body = bytes(SEGMENT)
    made = ipv4(SEGMENT)
    right = made[20:]
    assert len(right) == len(body)
    behind = ipv4(bytes([6, 4, 0, 0]) + bytes(8) + b"\xa5" * 12 + right, p=51)
    trailer = bytes(range(1, -(len(right) + 2) % 4 + 1))
    null = ipv4(bytes(8) + right + trailer + bytes([len(trailer), 6]) + b"\xa5" * 12, p=50)
    for packet in (behind, null):
        assert fields(framed(packet)) == plain(4)


def test_teredo_between_clients_is_found_by_its_addresses() -> None:
    """On any ports, as an address of 2001::/32 is in the packet."""
    packets, (flow,) = fields(framed(udp(40001, TEREDO)))
    assert len(packets) == 1
    assert flow[4] in ("teredo", "fou")


SUBSCRIBERS = [(1, 2), (3, 4)]


def test_subscribers_with_one_private_address_are_two() -> None:
    """Each tunnel has flows of its own, one per direction, with the outer ends on the side of the inner ones."""
    from envelopes import A, B, gtpu

    back = ipv4(tcp(b"answer", ports=(80, 1000)), source="10.0.0.2", destination="10.0.0.1")
    records = []
    for up, down in SUBSCRIBERS:
        records.append(framed(udp(2152, gtpu(BARE[4], teid=up))))
        datagram = struct.pack(">HHHH", 2152, 2152, 16 + len(back), 0) + gtpu(back, teid=down)
        records.append(framed(ipv4(datagram, source=B, destination=A, p=17)))
    tables = decoded(records, ETHERNET).tables
    assert tables["packets"]["flow"].tolist() == [0, 1, 2, 3]
    assert tables["flows"]["tunnel"].tolist() == [f"gtpu teid {teid}" for teid in (1, 2, 3, 4)]
    assert tables["flows"]["outer_a"].tolist() == [A, B, A, B]
    assert tables["flows"]["outer_b"].tolist() == [B, A, B, A]


def test_both_directions_in_a_network_of_one_number_are_one_flow() -> None:
    """VXLAN's number holds for both directions; another number is another flow."""
    back = ipv4(tcp(b"answer", ports=(80, 1000)), source="10.0.0.2", destination="10.0.0.1")
    records = [stacked(packet, [ENVELOPES[name]])[0] for name in ("vxlan", "gre") for packet in (BARE[4], back)]
    tables = decoded([*records, framed(BARE[4])], ETHERNET).tables
    assert tables["packets"]["flow"].tolist() == [0, 0, 2, 2, 1]
    assert tables["packets"]["direction"].tolist() == [0, 1, 0, 1, 0]
    assert tables["flows"]["tunnel"].tolist() == ["vxlan vni 42", "", "gre"]


SWITCH_TAGS = {
    281: lambda frame: frame[:12] + b"\x00\x00\x00\x01" + frame[12:],
    282: lambda frame: b"\x00\x00\x00\x01" + frame,
    284: lambda frame: frame[:12] + b"\xc0\x08\x00\x00" + frame[12:],
    285: ENVELOPES["edsa"].wrap,
}


@pytest.mark.parametrize("link_type", SWITCH_TAGS)
def test_tags_of_switches_are_looked_through(link_type: int) -> None:
    """Frames with Broadcom's and Marvell's tags give the bare packet's fields."""
    assert fields(SWITCH_TAGS[link_type](framed(BARE[4])), link_type) == plain(4)


PPP = {
    "cisco hdlc": b"\x0f\x00\x08\x00" + BARE[4],
    "bridged": b"\xff\x03\x00\x31\x00\x01" + framed(BARE[4]),
    "mpls": b"\xff\x03\x02\x81\x00\x00\x01\x40" + BARE[4],
}


@pytest.mark.parametrize("name", PPP)
def test_other_contents_of_ppp_are_read(name: str) -> None:
    """Cisco's HDLC in its place, bridged frames, and MPLS."""
    assert fields(PPP[name], 50) == plain(4)


def test_endless_envelopes_end() -> None:
    """More envelopes than any network has are counted, not opened."""
    packet = BARE[4]
    for _ in range(60):
        packet = outer(4, packet)
    assert decoded([framed(packet)], ETHERNET).counts == {"more than 48 headers": 1, "other": 1}


@pytest.mark.parametrize("trailer", [b"", b"\xde\xad\xbe\xef"])
@pytest.mark.parametrize("cut", [0, 8])
def test_ipv6_behind_labels_is_read_with_a_check_sequence_and_cut(trailer: bytes, cut: int) -> None:
    """A frame of a pseudowire may begin as IPv6 does, but nothing else here looks as a frame."""
    record = framed(BARE[6])[:12] + b"\x88\x47\x00\x01\x01\x40" + BARE[6] + trailer
    found = decoded([record[: len(record) - cut]], ETHERNET, [len(record)]).tables
    assert found["packets"][COLUMNS[:3]].to_numpy().tolist() == [plain(6)[0][0][:3]]
    assert found["flows"]["tunnel"].tolist() == ["mpls 16"]
