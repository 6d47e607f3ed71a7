"""Frames in tunnels that hold nothing that is read: they count as outside of any tunnel, and no envelope is missed."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from decoding import decoded
from envelopes import esp_null, framed, outer, over6, retagged, udp
from packets import ethernet, ipv4, ipv6, tcp

ETHERNET = 1
SENDER = b"\2\0\0\0\0\1"
FRAMES = {
    "arp": bytes(6) + SENDER + b"\x08\x06\0\1\x08\0\6\4\0\1" + SENDER + b"\x0a\0\0\1" + bytes(6) + b"\x0a\0\0\2",
    "spanning tree": b"\x01\x80\xc2\0\0\0" + SENDER + b"\0\x26\x42\x42\x03" + bytes(43),
    "spanning tree of a vlan": b"\x01\0\x0c\xcc\xcc\xcd" + SENDER + b"\0\x32\xaa\xaa\x03\0\0\x0c\x01\x0b" + bytes(42),
    "lldp": b"\x01\x80\xc2\0\0\x0e" + SENDER + b"\x88\xcc\x02\x07\x04" + SENDER + b"\x04\3\2ab\x06\2\0\x78\0\0",
    "oam": b"\x01\x80\xc2\0\0\x33" + SENDER + b"\x89\x02\x60\x01\0\x04" + bytes(80),
}  # fmt: skip
FRAMES["tagged arp"] = retagged(FRAMES["arp"], b"\x81\0\0\5")


def under_labels(octets: bytes) -> bytes:
    """A frame with one MPLS label before octets."""
    return ethernet(b"\x00\x01\x51\x40" + octets, kind=0x8847)


TUNNELS: dict[str, Callable[[bytes], bytes]] = {
    "none": lambda f: f,
    "pseudowire": under_labels,
    "pseudowire with control word": lambda f: under_labels(bytes(4) + f),
    "pseudowire to an address that begins as IPv4": lambda f: under_labels(b"\x44" + f[1:]),
    "pseudowire to an address that begins as IPv6": lambda f: under_labels(b"\x6c" + f[1:]),
    "l2tpv3": lambda f: framed(outer(115, struct.pack(">I", 66) + f)),
    "l2tpv3 with cookie and sublayer": lambda f: framed(outer(115, struct.pack(">III", 66, 0x11223344, 0) + f)),
    "l2tpv3 over udp": lambda f: framed(udp(1701, struct.pack(">HHI", 3, 0, 66) + f)),
    "vxlan": lambda f: framed(udp(4789, b"\x08\0\0\0\0\0\x2a\0" + f)),
}


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("tunnel", TUNNELS)
def test_frames_without_ip_count_as_outside_of_tunnels(tunnel: str, frame: str) -> None:
    """One other packet, nothing skipped, and no envelope that was not opened."""
    found = decoded([TUNNELS[tunnel](FRAMES[frame])], ETHERNET)
    assert (found.counts, found.skips) == ({"other": 1}, [])


@pytest.mark.parametrize("group", ["9000", "2001", "806", "88cc", "8847", "7"])
def test_an_ipv6_packet_under_labels_that_was_cut_is_no_frame(group: str) -> None:
    """The third group of its source is where a frame to such an address has its EtherType."""
    whole = under_labels(ipv6(tcp(bytes(500), seq=5), source=f"2001:db8:{group}::1"))
    packets = decoded([whole[:90]], ETHERNET, [len(whole)]).tables["packets"]
    assert packets[["raw_seq", "payload_bytes"]].to_numpy().tolist() == [[5, 500]]


LINK_MESSAGES = {
    "LCP in L2TPv3": outer(115, struct.pack(">I", 66) + b"\xff\x03\xc0\x21\x09\x01\0\x08" + bytes(4)),
    "a keepalive of Cisco's HDLC in L2TPv3": outer(115, struct.pack(">I", 66) + b"\x8f\0\x80\x35" + bytes(14)),
    "NHRP in GRE": outer(47, b"\0\0\x20\x01" + bytes(40)),
    "ARP in GRE": outer(47, b"\0\0\x08\x06" + bytes(28)),
    "OSI routing in GRE": outer(47, b"\0\0\x00\xfe" + bytes(40)),
}


@pytest.mark.parametrize("name", LINK_MESSAGES)
def test_messages_of_a_link_count_as_others(name: str) -> None:
    """What a link's ends tell one another is no envelope."""
    found = decoded([framed(LINK_MESSAGES[name])], ETHERNET)
    assert (found.counts, found.skips) == ({"other": 1}, [])


def test_a_channel_beside_a_pseudowire_counts_as_other() -> None:
    """Continuity checks of a path (RFC 5586) are no user's frame; other content still is not opened."""
    found = decoded([under_labels(b"\x10\0\0\x07" + b"\x20\xc0\x03\x18" + bytes(20))], ETHERNET)
    assert found.counts == {"other": 1}
    unknown = decoded([under_labels(b"\0\0\0\1" + b"\xab" * 40)], ETHERNET)
    assert unknown.counts == {"MPLS pseudowire": 1, "other": 1}


SNAP_BYTES = 150
VERSIONS: dict[int, Callable[..., bytes]] = {4: ipv4, 6: ipv6}


def cut(packet: bytes) -> tuple[bytes, int]:
    """An Ethernet frame with the packet, as far as a snap length leaves it, and its whole length."""
    frame = framed(packet)
    return frame[:SNAP_BYTES], len(frame)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("vector", "check"), [(b"", 12), (b"", 16), (b"\x77" * 8, 16), (b"", 32)])
@pytest.mark.parametrize("size", [500, 501, 502, 503])
def test_a_cut_packet_in_esp_without_encryption_is_read(version: int, vector: bytes, check: int, size: int) -> None:
    """In tunnel mode the packet within says how long it is, and what is left fits the trailer."""
    inner = VERSIONS[version](tcp(bytes(size), seq=5))
    record, length = cut(outer(50, esp_null(inner, vector=vector, check=check)))
    tables = decoded([record], ETHERNET, [length]).tables
    assert tables["packets"][["raw_seq", "payload_bytes"]].to_numpy().tolist() == [[5, size]]
    assert tables["flows"]["tunnel"].tolist() == ["esp"]


def test_other_packets_in_cut_esp_count_as_what_they_are() -> None:
    """A datagram that no tunnel is in is no loss."""
    record, length = cut(outer(50, esp_null(ipv4(struct.pack(">HHHH", 9, 9, 508, 0) + bytes(500), p=17))))
    found = decoded([record], ETHERNET, [length])
    assert (found.counts, found.skips) == ({"udp": 1}, [])


def test_cut_esp_that_does_not_fit_is_not_read() -> None:
    """A length that leaves room for no trailer, or a wrong checksum: the envelope is named, and nothing is guessed."""
    inner = ipv4(tcp(bytes(500)))
    long, length = cut(outer(50, esp_null(inner) + bytes(3)))
    damaged, _ = cut(outer(50, esp_null(inner[:10] + b"\0\0" + inner[12:])))
    for record in (long, damaged):
        found = decoded([record], ETHERNET, [length])
        assert found.counts["ESP that was cut"] == 1
        assert not len(found.tables["packets"])


def in_transport(protocol: int, body: bytes) -> bytes:
    """The body of an ESP packet without encryption in transport mode."""
    trailer = bytes(range(1, -(len(body) + 2) % 4 + 1))
    return bytes(8) + body + trailer + bytes([len(trailer), protocol]) + b"\xa5" * 12


def with_sum(body: bytes, pseudo: bytes, at: int) -> bytes:
    """A message with its checksum at `at`."""
    octets = pseudo + body + bytes(len(body) % 2)
    total = sum(struct.unpack(f">{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return body[:at] + (~total & 0xFFFF).to_bytes(2, "big") + body[at + 2 :]


def test_other_protocols_in_esp_without_encryption_are_known_by_their_checksums() -> None:
    """ICMP, OSPF of IPv6, and UDP without a checksum are what they are outside."""
    ends = bytes.fromhex("20010db800000000000000000000000a20010db800000000000000000000000b")
    ospf = bytes([3, 1]) + struct.pack(">H", 36) + bytes(32)
    ospf = with_sum(ospf, ends + struct.pack(">II", len(ospf), 89), 12)
    packets = {
        "icmp": outer(50, in_transport(1, with_sum(b"\x08\0\0\0" + bytes(20), b"", 2))),
        "other": over6(in_transport(89, ospf), 50),
        "udp": outer(50, in_transport(17, struct.pack(">HHHH", 9, 9, 28, 0) + bytes(20))),
    }
    for name, packet in packets.items():
        found = decoded([framed(packet)], ETHERNET)
        assert (found.counts, found.skips) == ({name: 1}, [])
