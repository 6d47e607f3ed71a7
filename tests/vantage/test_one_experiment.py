"""One experiment in several captures, or several times in one: the summary is that of each packet seen once."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packets import ACK, SYN
from seen_packets import SEGMENT, Seen, beyond, counted, in_time, later, renumbered, totals, transfer, write

import multitracer
from multitracer.vantage import renumbering

pytestmark = pytest.mark.slow
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


@pytest.mark.parametrize("share", [0.5, 1])
@pytest.mark.parametrize(("ttl", "delay_us"), [(64, 5), (63, 900)])
def test_many_copies_are_recognised_without_ip_ids_and_timestamps(tmp_path, share, ttl, delay_us):
    """Among repeated acknowledgements too: data show whether copies come at once, or a TTL that is less."""
    packets = transfer(60, ids=False, stamps=False, lost=(10, 40))
    chance = random.Random(3)
    copies = [packet for packet in later(packets, delay_us, ttl=ttl) if chance.random() < share]
    assert totals(write(tmp_path / "copied.pcapng", in_time(packets, copies))) == totals(
        write(tmp_path / "plain.pcapng", packets)
    )


@pytest.mark.parametrize(("ttl", "delay_us", "stamps"), [(63, 5_000, False), (63, 5, True), (64, 5, True)])
def test_a_few_copies_of_data_are_recognised_without_ip_ids(tmp_path, ttl, delay_us, stamps):
    """They have passed a router more than all else, or nothing has made the sender repeat them within a tick."""
    packets = transfer(200, ids=False, stamps=stamps)
    copies = [packet for packet in later(packets, delay_us, ttl=ttl) if packet.size][20:120:40]
    assert counted(write(tmp_path / "copied.pcapng", in_time(packets, copies))) == plain(tmp_path, packets)


def test_copies_come_milliseconds_and_thousands_of_records_late(tmp_path: Path) -> None:
    """Half of the packets of fifteen connections, 5 ms later: some 3,000 records."""
    packets = in_time(
        *(
            [
                replace(packet, at_us=packet.at_us // 50 + 3 * number, ports=(2000 + number, 80))
                for packet in transfer(200, isn=(1000 * number, 77 * number), first_ids=(1000 * number, 3000 * number))
            ]
            for number in range(1, 16)
        )
    )
    copies = later(packets, 5_000, ttl=63)[::2]
    found = totals(write(tmp_path / "copied.pcapng", in_time(packets, copies)))
    assert sorted(found) == sorted(totals(write(tmp_path / "plain.pcapng", packets)))


def test_timestamps_alone_prove_a_copy(tmp_path: Path) -> None:
    """Without IP IDs a packet that bears an old timestamp after a newer one was sent is a copy."""
    packets = transfer(60, ids=False)
    copies = later(packets[30:33], 30_000)
    assert counted(write(tmp_path / "copied.pcapng", in_time(packets, copies))) == plain(tmp_path, packets)


def resent_within_a_tick() -> list[Seen]:
    """A segment lost on a path of 200 us and sent again 240 us later, with the timestamp of the first: a tick is 1 ms.

    The timestamps of both ends follow from the time, and there is no IP ID.
    """
    base, lost, segments = 1, 20, 30
    made = [Seen(0, 0, 0, 0, flags=SYN), Seen(200, 1, 500, 1, flags=SYN | ACK), Seen(201, 0, 1, 501)]
    for number in range(segments):
        at = 1_150 + 300 * min(number, lost) + 20 * max(0, number - lost)
        reached = lost if number >= lost else number + 1
        made.append(Seen(at, 0, base + SEGMENT * number, 501, size=SEGMENT))
        made.append(Seen(at + 200, 1, 501, base + SEGMENT * reached))
    resend = 1_390 + 300 * lost
    made.append(Seen(resend, 0, base + SEGMENT * lost, 501, size=SEGMENT))
    made.append(Seen(resend + 200, 1, 501, base + SEGMENT * segments))
    newest, stamped = [0, 0], []
    for packet in in_time(made):
        newest[packet.way] = 1 + packet.at_us // 1000
        stamped.append(replace(packet, tsval=newest[packet.way], tsecr=newest[1 - packet.way]))
    return stamped


@pytest.mark.parametrize("capture", ["both ways", "data", "data, and the peer's SYN", "a file per way"])
def test_a_resend_within_a_tick_is_no_copy_where_its_acknowledgements_were_not_captured(
    tmp_path: Path, capture: str
) -> None:
    """Duplicate acknowledgements may have prompted it, which only a capture that has them can exclude."""
    packets = resent_within_a_tick()
    ways = [[packet for packet in packets if packet.way == way] for way in (0, 1)]
    files = {
        "both ways": [packets],
        "data": [ways[0]],
        "data, and the peer's SYN": [in_time(ways[0], ways[1][:1])],
        "a file per way": ways,
    }[capture]
    (one,) = counted(*(write(tmp_path / f"{number}.pcapng", file) for number, file in enumerate(files)))
    assert one["client"]["retransmitted_segments"] == 1


def test_nothing_but_its_timer_repeats_a_syn(tmp_path: Path) -> None:
    """Where it was captured twice, no packet of the peer need come before it."""
    packets = transfer(60, ids=False)
    copied = in_time(packets, later(packets[:1], 5))
    assert counted(write(tmp_path / "copied.pcapng", copied)) == plain(tmp_path, packets)


def test_what_nothing_tells_from_a_retransmission_counts(tmp_path: Path) -> None:
    """Without IP ID and timestamps a few equal segments are retransmissions, however soon."""
    packets = transfer(60, ids=False, stamps=False, lost=())
    again = [packet for packet in later(packets, 400) if packet.size][20:30:4]
    (one,) = counted(write(tmp_path / "again.pcapng", in_time(packets, again)))
    assert one["client"]["retransmitted_segments"] == len(again) == 3


@QUICK
@given(st.lists(st.integers(0, 2), min_size=90, max_size=90))
def test_the_lines_of_a_bonded_link_are_one_point(tmp_path: Path, lines: list[int]) -> None:
    """However the packets are spread over a file's interfaces, the summary is that of the whole capture."""
    packets = transfer()
    spread = [later([packet], 0, interface=line)[0] for packet, line in zip(packets, lines, strict=False)]
    assert counted(write(tmp_path / "bond.pcapng", spread)) == plain(tmp_path, packets[: len(spread)])


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


def _dealt(packets: list[Seen], port_of: dict[str, list[int]], how: str) -> dict[int, list[Seen]]:
    """The packets of each port: by the way that they go, by their flow's hash, or at random."""
    dealt: dict[int, list[Seen]] = {}
    for number, packet in enumerate(packets):
        key = {"way": packet.way, "flow": packet.ports[0], "random": number}[how]
        dealt.setdefault(port_of[how][key % len(port_of[how])], []).append(packet)
    return dealt


def test_copies_at_a_port_of_a_tap_are_told_from_what_the_other_port_holds(tmp_path: Path) -> None:
    """Each file holds one direction and some packets a second time: they are known by their rows in their own file."""
    packets = transfer()
    ways = [[packet for packet in packets if packet.way == way] for way in (0, 1)]
    copied = [in_time(way, later(way[5:30:4], 3)) for way in ways]
    files = [write(tmp_path / f"{number}.pcapng", way) for number, way in enumerate(copied)]
    assert counted(*files) == plain(tmp_path, packets)


@QUICK
@given(
    how=st.sampled_from(["way", "flow", "random"]),
    count=st.integers(2, 4),
    data=st.data(),
    as_files=st.booleans(),
    stamps=st.booleans(),
    ids=st.booleans(),
)
def test_packets_dealt_to_ports_are_of_one_point(
    tmp_path: Path, how: str, count: int, data: st.DataObject, as_files: bool, stamps: bool, ids: bool
) -> None:
    """Up to four files or interfaces, in any way, also where the files' clocks differ by some ms."""
    ports = st.lists(st.integers(0, count - 1), min_size=180, max_size=180)
    one = transfer(ids=ids, stamps=stamps)
    other = transfer(31, isn=(5, 6), first_ids=(7, 8), ids=ids, stamps=stamps, lost=(7,), rtt_us=15_000)
    # Later than any two clocks differ: at one time, they would be one connection before and after a translation.
    other = later(other, 9_000, ports=(1001, 80))
    packets = in_time(one, other)
    dealt = _dealt(packets, {"way": [0, 1], "flow": [0, 1], "random": data.draw(ports)}, how)
    clocks = data.draw(st.lists(st.integers(-4_000, 4_000), min_size=count, max_size=count))
    if as_files:
        paths = [write(tmp_path / f"{port}.pcapng", later(mine, clocks[port])) for port, mine in sorted(dealt.items())]
    else:
        seen = (later(mine, 0, interface=port) for port, mine in dealt.items())
        paths = [write(tmp_path / "ports.pcapng", in_time(*seen))]
    assert totals(*paths) == totals(write(tmp_path / "plain.pcapng", packets))
    for path in paths:
        path.unlink()


@pytest.mark.parametrize("segments", [2, 40])
@pytest.mark.parametrize("clock_us", [-2_000, 0, 3_000_000])
def test_two_ends_in_two_files_stay_two_points(tmp_path: Path, segments: int, clock_us: int) -> None:
    """Though the clocks of ports may differ, and so few packets may be equal by chance: all of these are."""
    packets = transfer(segments, lost=())
    paths = [write(tmp_path / "one.pcapng", packets)]
    paths += [write(tmp_path / "other.pcapng", later(beyond(packets, 5_000, ttl=63), clock_us))]
    assert totals(*paths) == totals(write(tmp_path / "plain.pcapng", packets))


def test_two_ends_stay_two_points(tmp_path: Path) -> None:
    """The same packets at two interfaces of one file are two points of one connection."""
    packets = transfer()
    both = in_time(packets, later(packets, 5_000, interface=1))
    assert counted(write(tmp_path / "both.pcapng", both)) == plain(tmp_path, packets)


@pytest.mark.parametrize(("tags", "inner"), [(VLAN_10, b""), (VLAN_10, VLAN_20)])
def test_a_packet_in_two_vlans_is_one(tmp_path: Path, tags: bytes, inner: bytes) -> None:
    """The same packets with one tag and with another, or with none, on one interface are one connection."""
    packets = transfer()
    both = in_time(later(packets, 0, tags=tags), beyond(packets, 300, tags=inner, ttl=63))
    assert totals(write(tmp_path / "vlans.pcapng", both)) == totals(write(tmp_path / "plain.pcapng", packets))


def test_vlans_that_name_a_direction_are_one_connection(tmp_path: Path) -> None:
    """A tap that tags each direction with another VLAN holds whole connections."""
    packets = transfer()
    tagged = [later([packet], 0, tags=(VLAN_10, VLAN_20)[packet.way])[0] for packet in packets]
    assert counted(write(tmp_path / "tags.pcapng", tagged)) == plain(tmp_path, packets)


def test_two_subscribers_with_one_address_are_two_connections(tmp_path: Path) -> None:
    """Equal addresses and ports in two VLANs with other packets are two connections."""
    one, other = transfer(), later(transfer(isn=(5, 900_000_000), first_ids=(7, 7)), 700)
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
    outside = beyond(renumbered(packets, shift), 200, ttl=63, interface=interface, **changes)
    both = in_time(packets, outside)
    assert totals(write(tmp_path / "firewall.pcapng", both)) == totals(write(tmp_path / "plain.pcapng", packets))


def test_a_firewall_may_change_the_ip_id_and_timestamp_of_an_answer(tmp_path: Path) -> None:
    """What the packets have in common decides, not one of them."""
    packets = transfer()
    outside = beyond(renumbered(packets, (123_456_789, 0)), 200, ttl=63)
    changed = [replace(one, ip_id=77, tsval=5) if one.flags == SYN | ACK else one for one in outside]
    found = multitracer.analyze(write(tmp_path / "firewall.pcapng", in_time(packets, changed))).summary()
    assert len(found["connections"]) == 1


@pytest.mark.parametrize("answers", [0, 1])
def test_the_syns_of_a_port_scan_are_not_compared_with_one_another(tmp_path, answers, monkeypatch):
    """All have one IP ID: those that nothing answers, or each with another one, are of different connections."""
    scanned = [
        Seen(100 * port + 50 * way, way, seq=7_000 * port, ack=7_000 * port + 1 if way else 0,
             flags=SYN | ACK * way, ip_id=port if way else 54_321, ports=(4_000, port))
        for port in range(1, 60) for way in range(1 + answers)
    ]  # fmt: skip
    monkeypatch.setattr(renumbering, "_same_connection", None)
    found = multitracer.analyze(write(tmp_path / "scan.pcap", scanned)).summary()
    assert len(found["connections"]) == 59
