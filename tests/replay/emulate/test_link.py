"""The link in real time between two sockets that stand for devices: what goes in comes out, or is known to be lost."""

from __future__ import annotations

import numpy as np
import pytest
from real_time_links import carry, link_of, received

from multitracer.replay.arq import notes
from multitracer.replay.emulate.link import Packet, RealTimeLink

pytestmark = [pytest.mark.slow, pytest.mark.compiled]

PROTOCOLS = {
    "raw": {"link.protocol": "raw"},
    "sr": {"link.protocol": "sr"},
    "rlp": {"link.protocol": "rlp", "link.rlp.t1_s": 0.05, "link.ppp": False},
    "rlc-am": {"link.protocol": "rlc-am", "link.hand_down": "lazy"},
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_packets_of_both_ways_come_whole_and_in_order(two_hosts: object, protocol: str) -> None:
    """Without loss, over every kind of protocol, of sizes above and below a frame's."""
    (a, b), devices = two_hosts  # type: ignore[misc]
    sizes = (40, 150, 190) if protocol in ("raw", "sr") else (40, 700, 1400, 90)
    sent = [bytes([number]) * size for number, size in enumerate(sizes)]
    for packet in sent:
        a.send(packet)
        b.send(packet[::-1] + b"!")
    carry(link_of(devices, **PROTOCOLS[protocol]), 2 * len(sent))
    assert received(b) == sent
    assert received(a) == [packet[::-1] + b"!" for packet in sent]


def test_every_packet_arrives_or_is_known_to_be_lost(two_hosts: object) -> None:
    """Over a link that loses half of what it carries and repeats nothing; none comes twice."""
    (a, b), devices = two_hosts  # type: ignore[misc]
    link = link_of(devices, **PROTOCOLS["raw"], **{"channel.frame_loss_rate": 0.5, "link.queue_frames": 0})
    sent = [number.to_bytes(2, "big") * 20 for number in range(100)]
    for packet in sent:
        a.send(packet)
    link.run(lambda: len(link.slots) > 200)
    came = received(b)
    lost = [one.octets for one in link.packets if one.lost_ns is not None]
    assert 10 < len(came) < 80
    assert came == sorted(came)
    last = sent.index(came[-1])
    assert sorted(came + lost) == sent[: last + 1]
    assert link.under_way == len(link.packets) - last - 1  # behind them nothing came that would tell


def test_a_link_that_repeats_delivers_all(two_hosts: object) -> None:
    """The same loss under RLC in acknowledged mode; its log has the frames that were sent again."""
    (a, b), devices = two_hosts  # type: ignore[misc]
    link = link_of(devices, **PROTOCOLS["rlc-am"], **{"channel.frame_loss_rate": 0.3, "link.rlc-am.max_dat": 40})
    sent = [bytes([number]) * 300 for number in range(20)]
    for packet in sent:
        a.send(packet)
    carry(link, len(sent))
    assert received(b) == sent
    assert np.count_nonzero(link.log.rows()["event"] == notes.ERASED) > 5


def test_times_are_those_of_the_model(two_hosts: object) -> None:
    """A packet of one frame arrives a slot's beginning and the way's delay after it was given, at the earliest."""
    (a, b), devices = two_hosts  # type: ignore[misc]
    link = link_of(devices, **PROTOCOLS["raw"])
    a.send(bytes(100))
    carry(link, 1)
    (packet,) = link.packets
    assert received(b) == [bytes(100)]
    assert packet.delivered_ns is not None
    assert 4_000_000 <= packet.delivered_ns - packet.given_ns <= 4_000_000 + 2_000_000


def test_a_packet_is_handed_over_when_its_frame_arrives(two_hosts: object) -> None:
    """Not only with the next slot, which is 700 ms later."""
    (a, b), devices = two_hosts  # type: ignore[misc]
    keys = {"link.tti_s": 1.0, "link.delay_s": 1.3}
    link_of(devices, **PROTOCOLS["raw"], **keys).engine.run(0)  # compiles
    link = link_of(devices, **PROTOCOLS["raw"], **keys)
    a.send(bytes(100))
    carry(link, 1)
    assert received(b) == [bytes(100)]
    (packet,) = link.packets
    assert packet.delivered_ns is not None
    assert packet.delivered_ns % 1_000_000_000 == 300_000_000
    assert packet.handed_ns is not None
    assert 0 <= packet.handed_ns - packet.delivered_ns < 500_000_000


def test_every_slot_has_its_lateness_once(two_hosts: object) -> None:
    """Slots that are done together have the number of one batch; none is left out."""
    (a, _), devices = two_hosts  # type: ignore[misc]
    link = link_of(devices, **PROTOCOLS["raw"])
    for _ in range(50):
        a.send(bytes(150))
    carry(link, 50)
    assert len(link.slots) > 50
    slots = link.slots.whole()
    due = slots["due_ns"].tolist()
    assert due == list(range(link.step_ns, link.step_ns * (len(due) + 1), link.step_ns))
    assert (slots["late_ns"] >= 0).all()
    assert (np.diff(slots["batch"]) >= 0).all()


@pytest.mark.parametrize("per_slot", [1, 4])
def test_what_the_link_does_not_want_yet_waits_in_its_host(two_hosts: object, per_slot: int) -> None:
    """Only what the next slot carries is on the link; and every slot is filled all the same."""
    (a, b), devices = two_hosts  # type: ignore[misc]
    keys = {"link.blocks_per_tti": per_slot, "link.hand_down": "lazy"}
    link = link_of(devices, queue=True, **PROTOCOLS["raw"], **keys)
    sent = [bytes([number]) * 190 for number in range(40)]
    for packet in sent:
        a.send(packet)
    most = 0

    def done() -> bool:
        nonlocal most
        most = max(most, link.under_way)
        return len(link.packets) == len(sent) and not link.under_way

    link.run(done)
    assert received(b) == sent
    assert most <= 4 * per_slot + 1  # a slot's, and those of the two slots in which frames fly
    came = sorted(one.delivered_ns for one in link.packets if one.delivered_ns is not None)
    late = len(link.slots) - len(np.unique(link.slots.whole()["batch"]))  # the host could give nothing before them
    assert came[-1] - came[0] < (len(sent) / per_slot + 10 + late) * link.step_ns


def test_both_sides_of_asr_have_one_estimator_where_it_is_asked_for(two_hosts: object) -> None:
    """The second side's is the first one's."""
    _, devices = two_hosts  # type: ignore[misc]
    made = link_of(devices, **{"link.protocol": "asr"})
    assert made.engine.a.estimate is not made.engine.b.estimate
    one = RealTimeLink(made.protocol, made.parameters, made.radio, devices, one_estimator=True)
    assert one.engine.a.estimate is one.engine.b.estimate


def test_a_schedule_says_how_many_frames_a_millisecond_carries(two_hosts: object) -> None:
    """From its end on anew; what comes meanwhile waits."""
    (a, b), devices = two_hosts  # type: ignore[misc]
    made = link_of(devices, **PROTOCOLS["raw"], **{"link.tti_s": 0.001, "link.blocks_per_tti": 3})
    frames = np.array([0, 3, 0, 0, 1, 0, 0, 0, 0, 0])
    link = RealTimeLink(made.protocol, made.parameters, made.radio, devices, schedules=(frames, ()))
    sent = [bytes([number]) * 150 for number in range(30)]
    for packet in sent:
        a.send(packet)
    carry(link, len(sent))
    assert received(b) == sent
    left = np.array([one.delivered_ns for one in link.packets]) - 4_000_000
    assert (left % 1_000_000 == 0).all()
    slots, counts = np.unique(left // 1_000_000, return_counts=True)
    assert (counts <= frames[slots % 10]).all()
    assert (counts[1:-1] == frames[slots[1:-1] % 10]).all()
    assert set(np.diff(slots[1:-1]).tolist()) <= {3, 7}


MS = 1_000_000


@pytest.mark.parametrize(
    ("handed", "late"),
    [
        ([(10, 10.5, 0.25), (10, 10.75, 0.25), (10, 11, 0.25)], [0.5, 0.5, 0.5]),
        ([(10, 210, 1), (30, 211, 1), (50, 212, 1), (210, 213, 1)], [200, 181, 162, 3]),
        ([(10, 10, 5), (12, 15, 5), (30, 30, 1)], [0, 0, 0]),
    ],
    ids=["a burst", "behind a pause of the link", "hosts that take long"],
)
def test_a_packet_is_late_against_a_link_in_time(
    two_hosts: object, handed: list[tuple[float, float, float]], late: list[float]
) -> None:
    """Packets (delivered, handed over, how long their host took, in ms): what hosts take makes those behind wait."""
    _, devices = two_hosts  # type: ignore[misc]
    link = link_of(devices, **PROTOCOLS["raw"])
    found = []
    for delivered, given, took in handed:
        packet = Packet(0, b"", 0, b"", delivered_ns=round(delivered * MS))
        link._note_lateness(packet, round(given * MS), round((given + took) * MS))
        found.append(packet.late_ns / MS)
    assert found == pytest.approx(late)
