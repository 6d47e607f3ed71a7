"""Places that one interface saw: both sides of a node of a mobile network are two, however many subscribers."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from envelopes import gtpu, udp
from packets import SYN, ethernet
from seen_packets import Seen, counted, in_time, later, totals, transfer, write

import multitracer
from multitracer.model.schema import MARKS

pytestmark = pytest.mark.slow

RST = 4


@dataclass(frozen=True)
class Tunnelled(Seen):
    """A packet in a subscriber's tunnel."""

    teid: int = 0

    def frame(self) -> bytes:
        """The frame of the tunnel's outer packet."""
        return ethernet(udp(2152, gtpu(super().frame()[14:], teid=self.teid), source=2152))


def both_sides(subscriber: int) -> list[Seen]:
    """A subscriber's transfer on one side of a node and 200 us later on the other, a tunnel for each way and side."""
    seen = []
    for packet in transfer(isn=(subscriber << 20, subscriber << 21), first_ids=(500 * subscriber, 700 * subscriber)):
        for side in (0, 1):
            teid = 1 + 4 * subscriber + 2 * side + packet.way
            fields = vars(packet) | {"ports": (1000 + subscriber, 80), "at_us": packet.at_us + 200 * side + subscriber}
            seen.append(Tunnelled(**fields, teid=teid))
    return seen


def test_any_number_of_subscribers_has_two_places(tmp_path: Path) -> None:
    """Tunnels name subscribers, not places: three connections, each packet of which was seen at both of two points."""
    path = write(tmp_path / "node.pcapng", in_time(*(both_sides(subscriber) for subscriber in (1, 2, 3))))
    analysis = multitracer.analyze(path)
    assert len(analysis.summary()["connections"]) == 3
    assert analysis.tables["segments"]["point"].nunique() == 2
    for one in analysis.summary()["connections"]:
        assert one["directions"]["client"]["retransmitted_segments"] == 2


def tunnelled(packets: list[Seen], changed_at: int, **changes: Any) -> list[Seen]:
    """The packets 200 us later in a tunnel for each way, from the number `changed_at` on in another."""
    return [
        Tunnelled(**vars(one) | {"at_us": one.at_us + 200, "teid": 1 + one.way + 2 * (number >= changed_at)} | changes)
        for number, one in enumerate(packets)
    ]


def test_a_tunnel_that_changes_is_at_one_place(tmp_path: Path) -> None:
    """Inside, all packets; outside, the first half in one tunnel and the rest in another: two places."""
    packets = transfer()
    path = write(tmp_path / "changed.pcapng", in_time(packets, tunnelled(packets, len(packets) // 2)))
    assert counted(path) == counted(write(tmp_path / "plain.pcapng", packets))
    assert multitracer.analyze(path).tables["segments"]["point"].value_counts().tolist() == [len(packets)] * 2


def test_syns_sent_again_after_a_change_of_the_tunnel_are_packets_of_their_own(tmp_path: Path) -> None:
    """Two tunnels have equal SYNs with other IP IDs; outside, three copies of each, one behind a router that clamps."""
    at = (0, 1_000_000, 3_000_000, 7_000_000, 15_000_000)
    sent = [Seen(us, 0, 500, 0, flags=SYN, ip_id=number, mss=1460) for number, us in enumerate(at[:-1], 1)]
    sent.append(Seen(at[-1], 0, 501, 0, flags=RST, ip_id=5))
    routed = [replace(packet, mss=packet.mss and 1400) for packet in later(sent, 430, ttl=63)]
    others = later(transfer(), 0, ports=(1001, 80))  # in which nothing was captured twice
    path = write(tmp_path / "changed.pcapng", in_time(tunnelled(sent, 3), sent, later(sent, 400), routed, others))
    one, other = counted(path)
    assert [one, other] == counted(write(tmp_path / "plain.pcapng", in_time(sent, others)))
    assert (one["client"]["packets"], one["client"]["retransmitted_segments"]) == (5, 3)
    segments = multitracer.analyze(path).tables["segments"]
    segments = segments[(segments["connection"] == 0) & (segments["marks"] & MARKS["captured_twice"] == 0)]
    assert segments["point"].value_counts().tolist() == [5, 5]


def test_a_tunnel_is_another_place_also_where_ip_ids_are_rewritten(tmp_path: Path) -> None:
    """Without a third flow that has its IDs, a flow with the same content has the same packets."""
    packets = transfer()
    path = write(tmp_path / "rewritten.pcapng", in_time(packets, tunnelled(packets, len(packets), ip_id=0)))
    assert counted(path) == counted(write(tmp_path / "plain.pcapng", packets))


def test_ip_ids_of_a_sender_that_numbers_nothing_do_not_part_its_flows(tmp_path: Path) -> None:
    """It sends all with ID 0, seen in two VLANs; a node behind numbers them, seen in two more: four places."""
    packets = transfer(ids=False)
    given = [replace(packet, ip_id=number) for number, packet in enumerate(later(packets, 90, ttl=63), 1)]
    seen = ((packets, 10, 0), (packets, 20, 30), (given, 30, 0), (given, 40, 30))
    both = in_time(*(later(some, us, tags=b"\x81\x00\x00" + bytes([vlan])) for some, vlan, us in seen))
    path = write(tmp_path / "numbered.pcapng", both)
    assert counted(path) == counted(write(tmp_path / "plain.pcapng", packets))
    assert multitracer.analyze(path).tables["segments"]["point"].value_counts().tolist() == [len(packets)] * 4


def in_vlan(packet: Seen, number: int) -> Seen:
    """The packet with a VLAN tag."""
    return replace(packet, tags=b"\x81\x00" + struct.pack(">H", number))


def customers(count: int) -> list[list[Seen]]:
    """Transfers of customers with the same addresses and ports, each with its own numbers and a VLAN for each way."""
    chance = random.Random(14)
    return [
        [
            in_vlan(packet, 1 + 2 * number + packet.way)
            for packet in later(
                transfer(20, lost=(5,), isn=(chance.getrandbits(32), chance.getrandbits(32))), 37 * number
            )
        ]
        for number in range(count)
    ]


def as_tunnels(packets: list[Seen]) -> list[Seen]:
    """The same in a GTP tunnel for each VLAN."""
    return [Tunnelled(**vars(one) | {"tags": b"", "teid": int.from_bytes(one.tags[2:], "big")}) for one in packets]


@pytest.mark.parametrize("in_tunnels", [False, True])
@pytest.mark.parametrize("count", [17, 300])
def test_any_number_of_customers_may_have_one_address(tmp_path: Path, count: int, in_tunnels: bool) -> None:
    """However many labels there are for one pair of addresses and ports, each pair of them is a whole connection."""
    made = [as_tunnels(one) if in_tunnels else one for one in customers(count)]
    found = totals(write(tmp_path / "many.pcapng", in_time(*made)))
    assert found == count * totals(write(tmp_path / "plain.pcapng", transfer(20, lost=(5,))))


def test_customers_with_one_address_in_a_vlan_each_stay_apart(tmp_path: Path) -> None:
    """Forty VLANs that hold both ways of other connections are forty connections."""
    made = [later(one, 0, tags=one[0].tags) for one in customers(40)]
    assert len(counted(write(tmp_path / "vlans.pcapng", in_time(*made)))) == 40


def test_labels_of_one_way_among_many_stay_apart(tmp_path: Path) -> None:
    """Where the other way was not captured, flows under forty labels are connections of their own."""
    made = [[packet for packet in one if packet.way == number % 2] for number, one in enumerate(customers(40))]
    assert len(counted(write(tmp_path / "ways.pcapng", in_time(*made)))) == 40


def test_flows_that_no_number_tells_apart_are_said_to_be(tmp_path: Path) -> None:
    """Of forty customers whose numbers begin alike nothing tells the directions: they count apart, as is said."""
    made = [
        [in_vlan(packet, 1 + 2 * number + packet.way) for packet in later(transfer(20, lost=(5,)), 37 * number)]
        for number in range(40)
    ]
    summary = multitracer.analyze(write(tmp_path / "alike.pcapng", in_time(*made))).summary()
    assert len(summary["connections"]) == 80
    assert any("80 flows of the same addresses and ports" in note for note in summary["inputs"][0]["notes"])


def test_subscribers_with_one_address_are_two_behind_a_translation_too(tmp_path: Path) -> None:
    """A gateway's file has each in two tunnels and, translated, outside: two connections, each seen at both places."""
    ones = [transfer(20, lost=(5,), isn=(1_000_000_000 * n, 3_000_000_000 + 9_999_999 * n)) for n in (1, 2)]
    inside = [tunnelled(later(one, 700 * n), 0, teid=0) for n, one in enumerate(ones)]
    inside = [[replace(p, teid=1 + 2 * n + p.way) for p in one] for n, one in enumerate(inside)]
    outside = [
        [
            replace(p, at_us=p.at_us + 700 * n + 200 + 90 * (1 - 2 * p.way), ip_id=0, hosts=("192.0.2.7", "10.0.0.2"))
            for p in later(one, 0, ports=(4000 + n, 80))
        ]
        for n, one in enumerate(ones)
    ]
    path = write(tmp_path / "gateway.pcapng", in_time(*inside, *outside))
    assert totals(path) == 2 * totals(write(tmp_path / "plain.pcapng", transfer(20, lost=(5,))))
    assert multitracer.analyze(path).tables["segments"]["point"].nunique() == 2
