"""Both sides of address translation in one file, without the SYN and without the IP ID: one connection, or two."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from seen_packets import Seen, beyond, counted, in_time, later, totals, transfer, write

import multitracer
from multitracer.model.analysis import Analysis

pytestmark = pytest.mark.slow

ISN = (4_000_000_000, 3_000_000_000)
OUTSIDE = {"hosts": ("192.0.2.7", "10.0.0.2"), "ports": (4321, 80)}


def translated(packets: list[Seen], delay_us: int = 200, **changes: object) -> list[Seen]:
    """The packets outside: what the client sends later, and one router on; the server's earlier, one router less."""
    outside = beyond(packets, delay_us, **(OUTSIDE | changes))
    return [replace(packet, ttl=packet.ttl + (1 if packet.way else -1)) for packet in outside]


def with_new_ids(packets: list[Seen]) -> list[Seen]:
    """The packets with IP IDs of the translator's own."""
    return [replace(packet, ip_id=30_000 + number) for number, packet in enumerate(packets)]


def with_no_ids(packets: list[Seen]) -> list[Seen]:
    """The packets with IP ID 0, as of what may not be fragmented (RFC 6864 4.1)."""
    return [replace(packet, ip_id=0) for packet in packets]


@pytest.mark.parametrize("stamps", [True, False])
@pytest.mark.parametrize("begun", [0, 12])
@pytest.mark.parametrize("rewritten", [with_new_ids, with_no_ids, list])
def test_both_sides_of_a_translation_are_one_connection(
    tmp_path: Path, stamps: bool, begun: int, rewritten: Callable[[list[Seen]], list[Seen]]
) -> None:
    """Whether or not the file has the SYN, IP IDs that are kept, and timestamps: each packet counts once."""
    packets = transfer(isn=ISN, stamps=stamps)[begun:]
    both = in_time(packets, rewritten(translated(packets)))
    assert totals(write(tmp_path / "nat.pcapng", both)) == totals(write(tmp_path / "plain.pcapng", packets))


def test_the_sides_are_two_places(tmp_path: Path) -> None:
    """Each packet was seen at both, with the addresses that it has before the translation."""
    packets = transfer(isn=ISN)[12:]
    analysis = _analysis(tmp_path, in_time(packets, with_new_ids(translated(packets))))
    assert analysis.tables["segments"]["point"].value_counts().tolist() == [len(packets)] * 2
    (one,) = analysis.summary()["connections"]
    assert {one["client"], one["server"]} == {"10.0.0.1:1000", "10.0.0.2:80"}
    assert any("1 connection was seen before and after" in n for n in analysis.summary()["inputs"][0]["notes"])


def _analysis(tmp_path: Path, packets: list[Seen]) -> Analysis:
    return multitracer.analyze(write(tmp_path / "seen.pcapng", packets))


def test_numbers_that_begin_at_0_need_a_router_between(tmp_path: Path) -> None:
    """Of numbers that a tool or a simulator made, the time to live tells that the later packet is the earlier one."""
    packets = transfer(isn=(0, 0), stamps=False)
    plain = totals(write(tmp_path / "plain.pcapng", packets))
    outside = with_new_ids(translated(packets))
    assert totals(write(tmp_path / "nat.pcapng", in_time(packets, outside))) == plain
    level = [replace(packet, ttl=64) for packet in outside]
    assert totals(write(tmp_path / "level.pcapng", in_time(packets, level))) == plain * 2


def test_what_the_router_drops_is_seen_on_one_side(tmp_path: Path) -> None:
    """A queue that loses every seventh packet leaves the counts as they are before it."""
    packets = transfer(isn=ISN)
    outside = [packet for number, packet in enumerate(with_new_ids(translated(packets))) if packet.way or number % 7]
    assert totals(write(tmp_path / "nat.pcapng", in_time(packets, outside))) == totals(
        write(tmp_path / "plain.pcapng", packets)
    )


@pytest.mark.parametrize("isn", [ISN, (0, 0)])
def test_two_translations_are_three_places(tmp_path: Path, isn: tuple[int, int]) -> None:
    """A file with all three sides of two translators has one connection, each packet of which it saw three times."""
    packets = transfer(isn=isn)[12:]
    middle = with_new_ids(translated(packets))
    outer = with_no_ids(translated(middle, hosts=("198.51.100.9", "10.0.0.2"), ports=(7777, 80)))
    both = in_time(packets, middle, outer)
    assert totals(write(tmp_path / "nat.pcapng", both)) == totals(write(tmp_path / "plain.pcapng", packets))
    assert _analysis(tmp_path, both).tables["segments"]["point"].nunique() == 3


def test_an_outer_port_may_be_given_to_another_host_afterwards(tmp_path: Path) -> None:
    """Two hosts inside, one after the other, have the same addresses and ports outside: two connections."""
    one = transfer(isn=ISN)
    other = later(transfer(30, isn=(2_500_000_000, 1_500_000_000)), 5_000_000, hosts=("10.0.0.9", "10.0.0.2"))
    both = in_time(one, other, with_new_ids(in_time(translated(one), translated(other))))
    assert totals(write(tmp_path / "nat.pcapng", both)) == totals(write(tmp_path / "plain.pcapng", in_time(one, other)))


def test_a_connection_of_the_outer_port_alone_is_of_no_host_inside(tmp_path: Path) -> None:
    """What begins outside with a SYN that was not seen inside, before and after another, keeps its addresses."""
    packets = transfer(isn=ISN)
    alone = [
        later(transfer(20, lost=(), isn=(at * 900_000_000, at * 800_000_000)), 5_000_000 * at, **OUTSIDE)
        for at in (1, 3)
    ]
    inside = later(packets, 10_000_000)
    both = in_time(inside, with_new_ids(translated(inside)), *alone)
    found = _analysis(tmp_path, both).summary()["connections"]
    assert [one["client"] for one in found] == ["192.0.2.7:4321", "10.0.0.1:1000", "192.0.2.7:4321"]
    assert [one["directions"]["client"]["data_bytes"] for one in found] == [2_000, 4_200, 2_000]


def test_the_far_end_in_a_file_of_its_own_is_a_third_place(tmp_path: Path) -> None:
    """The router's file has both sides, the server's file what is outside, on another clock: one connection."""
    packets = transfer(isn=ISN)
    outside = with_new_ids(translated(packets))
    paths = [
        write(tmp_path / "router.pcapng", in_time(packets, outside)),
        write(tmp_path / "server.pcapng", later(beyond(outside, 3_000), 7_000_000)),
    ]
    assert totals(*paths) == totals(write(tmp_path / "plain.pcapng", packets))


def test_all_ends_in_files_of_their_own_are_four_places(tmp_path: Path) -> None:
    """The client's file, the router's with both sides, the server's: of each flow half of its packets are the router's.

    One that the router lost is not in common.
    """
    packets = transfer(isn=ISN)[12:]
    outside = with_new_ids(translated(packets))
    places = packets, in_time(packets, outside[:10] + outside[11:]), beyond(outside, 3_000)
    paths = [write(tmp_path / f"{number}.pcapng", seen) for number, seen in enumerate(places)]
    assert len(totals(*paths)) == 1


def test_another_connection_of_the_outer_port_in_the_far_ends_file_is_of_no_host_inside(tmp_path: Path) -> None:
    """The server's file goes on with a SYN that the router has not seen: the port has been given to somebody else."""
    packets = transfer(isn=ISN)
    outside = with_new_ids(translated(packets))
    another = later(transfer(20, lost=(), isn=(900_000_000, 800_000_000)), 9_000_000, **OUTSIDE)
    paths = [
        write(tmp_path / "router.pcapng", in_time(packets, outside)),
        write(tmp_path / "server.pcapng", in_time(beyond(outside, 3_000), another)),
    ]
    found = multitracer.analyze(paths).summary()["connections"]
    assert [one["client"] for one in found] == ["10.0.0.1:1000", "192.0.2.7:4321"]


@dataclass(frozen=True)
class Begun(Seen):
    """A packet with the pseudo-header's sum for a checksum, as a host gives it to its network interface."""

    def frame(self) -> bytes:
        """The frame with the sum of addresses, protocol and length (RFC 9293 3.1)."""
        made = bytearray(super().frame())
        words = made[26:34] + struct.pack(">HH", 6, len(made) - 34)
        total = sum(struct.unpack(">6H", words))
        made[50:52] = (total % 0xFFFF).to_bytes(2, "big")
        return bytes(made)


@pytest.mark.parametrize("outside_too", [True, False])
@pytest.mark.parametrize("most", [65535, 80])
def test_checksums_that_are_only_begun_say_nothing_against_it(tmp_path: Path, outside_too: bool, most: int) -> None:
    """Hosts, and routers that merge segments, leave the rest of it to their interfaces; cut packets hide that."""
    packets = transfer(isn=ISN)
    outside = with_new_ids(translated(packets))
    inside = [Begun(**vars(packet)) if packet.size else packet for packet in packets]
    outside = [Begun(**vars(packet)) if packet.size and outside_too else packet for packet in outside]
    both = write(tmp_path / "nat.pcapng", in_time(inside, outside), most=most)
    assert totals(both) == totals(write(tmp_path / "plain.pcapng", inside, most=most))


def test_a_bridge_before_the_translation_copies_only(tmp_path: Path) -> None:
    """A capture of all interfaces of a host of containers has each packet at the container, the bridge, and outside."""
    packets = transfer(isn=ISN)
    both = in_time(packets, beyond(packets, 6), with_new_ids(translated(packets)))
    assert totals(write(tmp_path / "bridge.pcapng", both)) == totals(write(tmp_path / "plain.pcapng", packets))


@dataclass(frozen=True)
class Filled(Seen):
    """A packet whose data begin with two octets that are not zero."""

    fill: int = 0

    def frame(self) -> bytes:
        """The frame with other data, and the checksum that belongs to it (RFC 1624)."""
        made = bytearray(super().frame())
        if self.size:
            total = 0xFFFF - int.from_bytes(made[50:52], "big") + self.fill
            made[50:52] = (0xFFFF - (total & 0xFFFF) - (total >> 16)).to_bytes(2, "big")
            made[len(made) - self.size : len(made) - self.size + 2] = self.fill.to_bytes(2, "big")
        return bytes(made)


def test_other_data_is_another_connection(tmp_path: Path) -> None:
    """Equal numbers, lengths and times in a router's order, but checksums of other data: two connections."""
    packets = [packet for packet in transfer(isn=ISN, stamps=False) if packet.size or packet.way]
    outside = with_new_ids(translated(packets))
    one, other = (
        [Filled(**vars(p), fill=n + at) for at, p in enumerate(ps)] for n, ps in ((1, packets), (500, outside))
    )
    assert len(counted(write(tmp_path / "other.pcapng", in_time(one, other)))) == 2
    same = [Filled(**vars(p), fill=1 + at) for at, p in enumerate(outside)]
    assert len(counted(write(tmp_path / "same.pcapng", in_time(one, same)))) == 1


@pytest.mark.parametrize("seed", range(8))
def test_two_runs_of_a_tool_with_other_delays_are_two_connections(tmp_path: Path, seed: int) -> None:
    """Two hosts with the same numbers whose packets come in no router's order, but in any."""
    chance = random.Random(seed)
    packets = transfer(isn=(5_000_000, 5_000_000), stamps=False)
    other = [replace(p, **OUTSIDE, at_us=p.at_us + chance.randrange(-500, 500)) for p in with_new_ids(packets)]
    assert len(counted(write(tmp_path / "tool.pcapng", in_time(packets, other)))) == 2


@pytest.mark.parametrize("delay_us", [3, 200, 9_000, 400_000])
@pytest.mark.parametrize("isn", [(0, 0), (1, 1), (5_000_000, 5_000_000)])
def test_two_runs_of_a_tool_are_two_connections(tmp_path: Path, delay_us: int, isn: tuple[int, int]) -> None:
    """Two hosts that a tool gave the same numbers, one later than the other in both directions: no router's order."""
    packets = transfer(isn=isn, stamps=False)
    other = with_new_ids(later(packets, delay_us, **OUTSIDE))
    assert len(counted(write(tmp_path / "tool.pcapng", in_time(packets, other)))) == 2


def test_two_downloads_of_a_file_are_two_connections(tmp_path: Path) -> None:
    """Two hosts with random numbers of their own fetch the same octets at the same time."""
    packets = transfer(isn=ISN)
    other = with_new_ids(translated(transfer(isn=(1_234_567_890, 987_654_321))))
    assert len(counted(write(tmp_path / "two.pcapng", in_time(packets, other)))) == 2


def test_a_proxy_is_two_connections(tmp_path: Path) -> None:
    """It passes on what it read, in segments of its own numbers, 200 us later."""
    packets = transfer(isn=ISN)[12:]
    passed = with_new_ids(beyond(transfer(isn=(77_777_777, 3_222_222_222)), 200, **OUTSIDE))[12:]
    assert len(counted(write(tmp_path / "proxy.pcapng", in_time(packets, passed)))) == 2


def test_sides_with_a_second_between_stay_apart(tmp_path: Path) -> None:
    """What comes so late has been sent again by something, not passed on by a router."""
    packets = transfer(isn=ISN)
    late = with_new_ids(translated(packets, 1_100_000))
    assert len(counted(write(tmp_path / "late.pcapng", in_time(packets, late)))) == 2
