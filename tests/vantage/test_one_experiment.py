"""One experiment in several captures, or several times in one: the summary is that of each packet seen once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from seen_packets import Seen, counted, in_time, later, renumbered, transfer, write

QUICK = settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
VLAN_10, VLAN_20 = b"\x81\x00\x00\x0a", b"\x81\x00\x00\x14"


def plain(tmp_path: Path, packets: list[Seen]) -> list[dict[str, object]]:
    """What a capture of each packet once counts."""
    return counted(write(tmp_path / "plain.pcapng", packets))


def test_the_reference_has_its_retransmissions(tmp_path: Path) -> None:
    """The transfer itself counts as it was made: 40 segments, two of them sent again."""
    (one,) = plain(tmp_path, transfer())
    assert one["client"]["retransmitted_segments"] == 2
    assert one["client"]["unique_bytes"] == 4_000


@QUICK
@given(st.lists(st.integers(0, 2), min_size=90, max_size=90))
def test_any_share_of_copies_changes_nothing(tmp_path: Path, copies: list[int]) -> None:
    """However many packets a mirror port repeats, and how often, the summary is that of the capture without copies."""
    packets = transfer()
    many = [replaced for packet, count in zip(packets, copies, strict=False) for replaced in _copied(packet, count)]
    assert counted(write(tmp_path / "copied.pcapng", in_time(many, packets[len(copies) :]))) == plain(tmp_path, packets)


def _copied(packet: Seen, count: int) -> list[Seen]:
    return [moved for number in range(count + 1) for moved in later([packet], 3 * number)]


@pytest.mark.parametrize("delay_us", [2, 900, 70_000])
@pytest.mark.parametrize("ttl", [64, 63])
def test_one_copy_in_many_packets_is_recognised(tmp_path: Path, delay_us: int, ttl: int) -> None:
    """A single copy, before or behind a router, is none of the packets, of the retransmissions least of all."""
    packets = transfer(200)
    copy = later([packets[150]], delay_us, ttl=ttl)
    assert counted(write(tmp_path / "copied.pcapng", in_time(packets, copy))) == plain(tmp_path, packets)


def test_timestamps_alone_prove_a_copy(tmp_path: Path) -> None:
    """Without IP IDs a packet that bears an old timestamp after a newer one was sent is a copy."""
    packets = transfer(60, ids=False)
    copies = later(packets[30:33], 30_000)
    assert counted(write(tmp_path / "copied.pcapng", in_time(packets, copies))) == plain(tmp_path, packets)


def test_what_nothing_tells_from_a_retransmission_counts(tmp_path: Path) -> None:
    """Without IP ID and timestamps equal segments are retransmissions, however soon; the report says so."""
    packets = transfer(60, ids=False, stamps=False, lost=())
    again = later(packets[20:30:4], 400)
    assert counted(write(tmp_path / "again.pcapng", in_time(packets, again)))[0]["client"]["retransmitted_segments"] > 0


@QUICK
@given(st.lists(st.integers(0, 2), min_size=90, max_size=90), st.booleans())
def test_the_ports_of_a_tap_are_one_point(tmp_path: Path, ports: list[int], as_files: bool) -> None:
    """However the packets are spread over interfaces or files, the summary is that of the whole capture."""
    packets = transfer()
    spread = [later([packet], 0, interface=port)[0] for packet, port in zip(packets, [*ports, 0, 0, 0], strict=False)]
    if not as_files:
        paths = [write(tmp_path / "tap.pcapng", spread)]
    else:
        paths = [
            write(tmp_path / f"tap{port}.pcapng", later([p for p in spread if p.interface == port], 0, interface=0))
            for port in sorted({packet.interface for packet in spread})
        ]
    assert counted(*paths) == plain(tmp_path, packets[: len(spread)])


@pytest.mark.parametrize("as_files", [False, True])
def test_a_full_duplex_tap_is_one_point(tmp_path: Path, as_files: bool) -> None:
    """One port per direction, as interfaces or as files."""
    packets = transfer()
    ways = [later([p for p in packets if p.way == way], 0, interface=0 if as_files else way) for way in (0, 1)]
    if as_files:
        paths = [write(tmp_path / f"{number}.pcapng", way) for number, way in enumerate(ways)]
    else:
        paths = [write(tmp_path / "tap.pcapng", in_time(*ways))]
    assert counted(*paths) == plain(tmp_path, packets)


def test_two_ends_stay_two_points(tmp_path: Path) -> None:
    """The same packets at two interfaces of one file are two points of one connection."""
    packets = transfer()
    both = in_time(packets, later(packets, 5_000, interface=1))
    assert counted(write(tmp_path / "both.pcapng", both)) == plain(tmp_path, packets)


@pytest.mark.parametrize(("tags", "inner"), [(VLAN_10, b""), (VLAN_10, VLAN_20)])
def test_a_packet_in_two_vlans_is_one(tmp_path: Path, tags: bytes, inner: bytes) -> None:
    """The same packets with one tag and with another, or with none, on one interface are one connection."""
    packets = transfer()
    both = in_time(later(packets, 0, tags=tags), later(packets, 300, tags=inner, ttl=63))
    assert counted(write(tmp_path / "vlans.pcapng", both)) == plain(tmp_path, packets)


def test_vlans_that_name_a_direction_are_one_connection(tmp_path: Path) -> None:
    """A tap that tags each direction with another VLAN holds whole connections."""
    packets = transfer()
    tagged = [later([packet], 0, tags=(VLAN_10, VLAN_20)[packet.way])[0] for packet in packets]
    assert counted(write(tmp_path / "tags.pcapng", tagged)) == plain(tmp_path, packets)


def test_two_subscribers_with_one_address_are_two_connections(tmp_path: Path) -> None:
    """Equal addresses and ports in two VLANs with other packets are two connections."""
    one, other = transfer(), later(transfer(isn=(5, 900_000_000)), 700)
    both = in_time(later(one, 0, tags=VLAN_10), later(other, 0, tags=VLAN_20))
    found = counted(write(tmp_path / "two.pcapng", both))
    assert [c["client"]["retransmitted_segments"] for c in found] == [2, 2]


OUTSIDE = {"hosts": ("192.0.2.7", "10.0.0.2"), "ports": (4321, 80)}


@pytest.mark.parametrize("interface", [0, 1])
@pytest.mark.parametrize("changes", [{}, OUTSIDE])
@pytest.mark.parametrize("shift", [(0, 0), (123_456_789, 0), (123_456_789, 3_000_000_000)])
def test_a_firewall_in_one_file_has_two_sides(tmp_path, interface, changes, shift):
    """Translated addresses and new sequence numbers, on one interface or two: one connection, each packet once."""
    packets = transfer()
    beyond = later(renumbered(packets, shift), 200, ttl=63, interface=interface, **changes)
    both = in_time(packets, beyond)
    assert counted(write(tmp_path / "firewall.pcapng", both)) == plain(tmp_path, packets)
