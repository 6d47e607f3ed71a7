"""What is true of a simulated transfer's limits: scenes of a few packets and events; times in ns."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from multitracer.replay.arq import notes
from multitracer.replay.arq.fields import table
from multitracer.replay.record import limits_truth
from multitracer.replay.record.transfer import transfers
from multitracer.replay.tcp.packets import DATA, FIN

MS = 1_000_000


def copy(sent: int, seq: int = 1, sending: int = 0, **times: int) -> Any:
    """A packet that was sent then, for the first time or again, and what became of it."""
    fates = dict.fromkeys(("given_ns", "delivered_ns", "lost_ns", "left_ns"), None) | times
    packet = SimpleNamespace(seq=seq, sending=sending, octets=90)
    return SimpleNamespace(sent_ns=sent, packet=packet, refused=False, **fates)


def acknowledged(time: int, una: int) -> Any:
    """The sender after an acknowledgement of all below `una`."""
    return SimpleNamespace(time_ns=time, seen=SimpleNamespace(una=una), came=copy(time))


def numbered(*copies: Any) -> Iterator[tuple[tuple[int, int], Any]]:
    """What one side of the link was given, by side and number."""
    given = sorted((one for one in copies if one.given_ns is not None), key=lambda one: one.given_ns)
    return (((0, number), one) for number, one in enumerate(given))


def transfer(protocol: str, *copies: Any, states: tuple[Any, ...] = (), others: tuple[Any, ...] = ()) -> Any:
    """A transfer that ends at 1000, over a link that takes 10 ns beside its octets' time; `others` are on it, too."""
    directions = [SimpleNamespace(delay_ns=10, slot_ns=0, rate_bps=8_000_000_000)]
    run = SimpleNamespace(
        scenario=SimpleNamespace(word=lambda _: protocol), setting=SimpleNamespace(radio=directions),
        link=table(0, notes.ROW), given=dict(numbered(*copies, *others)),
    )  # fmt: skip
    return SimpleNamespace(run=run, end=0, copies=copies, states=states, acks=[], session=(0, 1000))


@pytest.mark.parametrize(("protocol", "busy"), [("sr", [(0, 90), (500, 1000)]), ("raw", [(0, 90)])])
def test_a_link_that_repairs_has_at_the_end_what_it_did_not_deliver(protocol: str, busy: Any) -> None:
    """One that repairs nothing has what is on the air, and no more."""
    found = transfer(protocol, copy(0, given_ns=0, delivered_ns=100), copy(400, sending=1, given_ns=500))
    assert limits_truth.joined(limits_truth._on_the_link(found)) == busy


def test_the_bottleneck_is_not_busy_with_the_frames_of_other_transfers() -> None:
    """Four packets of 90 octets, the second and the last another one's, and the third, which waited, lost."""
    others = (copy(1, given_ns=1, delivered_ns=190), copy(120, given_ns=120, delivered_ns=370))
    found = transfer("raw", copy(0, given_ns=0, delivered_ns=100), copy(2, given_ns=110), others=others)
    found.run.link = table(4, notes.ROW)
    found.run.link["event"], found.run.link["octets"], found.run.link["time_ns"] = notes.SENT, 90, [0, 90, 180, 270]
    assert limits_truth.joined(limits_truth._on_the_link(found)) == [(0, 90), (110, 270)]


def test_what_a_full_queue_of_frames_drops_is_never_on_the_bottleneck() -> None:
    """The second packet of an instant: the frame of its resend, much later, is not its own."""
    again = copy(500, 2, 1, given_ns=500, delivered_ns=600)
    found = transfer("raw", copy(0, given_ns=0, delivered_ns=100), copy(0, 2, given_ns=0), again)
    found.run.link = table(3, notes.ROW)
    found.run.link["event"] = notes.SENT, notes.DROPPED, notes.SENT
    found.run.link["octets"], found.run.link["time_ns"] = 90, [0, 0, 500]
    assert limits_truth.joined(limits_truth._on_the_link(found)) == [(0, 90), (500, 590)]


@pytest.mark.parametrize(("delay_ns", "end"), [(70, 120), (20, 140)])
def test_a_bottleneck_has_nothing_that_it_has_delivered(delay_ns: int, end: int) -> None:
    """Delays of slots of 50 ns count from their begin: a shorter one is over before the slot is."""
    found = transfer("sr", copy(0, given_ns=0, delivered_ns=140))
    found.run.setting.radio[0].slot_ns, found.run.setting.radio[0].delay_ns = 50, delay_ns
    assert limits_truth.joined(limits_truth._on_the_link(found)) == [(0, end)]


@pytest.mark.parametrize(("eager", "end"), [(False, 305), (True, 461)])
def test_packets_share_frames_of_unacknowledged_mode(eager: bool, end: int) -> None:
    """Three of 90 octets, all lost, in frames of 60 and a header: in five, the last of them with the next packet's.

    If each fills frames of its own, the sixth is its, too.
    """
    found = transfer("rlc-um", *(copy(0, seq, given_ns=0) for seq in (1, 2, 3)))
    found.run.setting.radio[0].eager = eager
    found.run.link = table(6, notes.ROW)
    found.run.link["event"], found.run.link["octets"] = notes.SENT, 61
    found.run.link["time_ns"] = [0, 61, 122, 183, 244, 400]
    assert limits_truth.joined(limits_truth._on_the_link(found)) == [(0, end)]


@pytest.mark.parametrize(("packets", "busy"), [(0, [(0, 90), (180, 270)]), (8, [(0, 270)])])
def test_the_queue_of_the_terminals_interface_is_the_bottlenecks(packets: int, busy: Any) -> None:
    """The second packet waits in it while the link sends another transfer's; without one the link is given it late."""
    found = transfer("sr", copy(0, given_ns=0, delivered_ns=100), copy(5, given_ns=180, delivered_ns=280))
    scenario = SimpleNamespace(word=lambda _: "sr", forward="up", whole=lambda _key, _way: packets)
    found.end, found.run.scenario, found.run.setting.radio = 1, scenario, 2 * found.run.setting.radio
    assert limits_truth.joined(limits_truth._on_the_link(found)) == busy


def test_what_the_other_side_took_for_something_else_is_not_on_the_link_for_ever() -> None:
    """Neither delivered nor given up: it left the link when its octets were last on the air."""
    found = transfer("rlp", copy(0, given_ns=0, left_ns=80))
    assert limits_truth.joined(limits_truth._on_the_link(found)) == [(0, 80)]


@pytest.mark.parametrize(
    ("again", "trips"), [(None, [(100, 100)]), (copy(50, 1, 1), []), (copy(100, 1, 1), [(100, 100)])]
)
def test_what_is_acknowledged_after_a_resend_is_no_round_trip(again: Any, trips: Any) -> None:
    """Karn's algorithm: it may have waited for what was sent again, but not for what it set off itself."""
    copies = (copy(0, 1), copy(0, 2), *([again] if again else []))
    assert list(limits_truth.Transfer._trips(transfer("sr", *copies, states=(acknowledged(100, 3),)))) == trips


def test_an_acknowledgement_that_the_sender_did_not_live_to_see_is_a_round_trip() -> None:
    """The capture beside it has it: that of a short last segment may be the fastest of all."""
    made = transfer("sr", copy(0, 1), copy(120, 2), states=(acknowledged(100, 2),))
    made.acks = [SimpleNamespace(came_ns=200, late=True, packet=SimpleNamespace(ack=3))]
    assert list(limits_truth.Transfer._trips(made)) == [(100, 100), (200, 80)]


@pytest.mark.parametrize(("resent_ns", "stalls"), [(150, [(200, 700)]), (250, [])])
def test_a_path_may_stand_still_with_what_had_been_resent_before(resent_ns: int, stalls: Any) -> None:
    """The second is resent before the first comes, and nothing arrives for more than two round trips; or then."""
    first, lost, again = copy(0, 1, came_ns=200), copy(1, 2, came_ns=None), copy(resent_ns, 2, 1, came_ns=700)
    made = transfer("sr", first, lost, again)
    made.trips, made.arrivals = [(100, 100)], [first, again]
    made.resends = [SimpleNamespace(copy=again, spurious=False)]
    assert limits_truth.stalls(made) == stalls


@pytest.mark.parametrize(
    ("on_its_way", "first_sent", "waits"), [(False, 10, [(20, 200)]), (True, 10, []), (False, 250, [])]
)
def test_a_timer_that_sent_again_what_had_come_was_waited_for_if_nothing_else_came_back(
    on_its_way: bool, first_sent: int, waits: Any
) -> None:
    """Segment 2 was lost, and sent again at 300 when the answers to segment 1's second copy showed that."""
    needless, repair = copy(200, 1, 1), copy(300, 2, 1)
    made = transfer("sr", copy(0, 1), copy(first_sent, 2), needless, repair)
    made.resends = [
        SimpleNamespace(copy=needless, trigger="timeout", spurious=True),
        SimpleNamespace(copy=repair, trigger="fast", spurious=False),
    ]
    made.sendings = {1: [copy(0, 1), needless], 2: [copy(first_sent, 2), repair]}
    made.waited_from, made.repaired, made.on_its_way = lambda _: 20, lambda _: 400, lambda _: on_its_way
    assert dict(limits_truth._repairs(made)) == {"timeout": waits, "fast": [(300, 400)]}


@pytest.mark.parametrize(("data_came", "trips"), [(180, [90]), (200, [])])
def test_the_answer_to_a_fin_is_a_round_trip(data_came: int, trips: list[int]) -> None:
    """Where all data had come before it: else what the receiver says then acknowledges less."""
    fin = copy(100, 2, came_ns=190, taken=True)
    fin.packet.bits, data = FIN, copy(0, came_ns=data_came, taken=True)
    made = transfer("sr", data)
    made.run.copies, made.arrivals, made.sendings, made._is_own = [data, fin], [data], {1: [data]}, lambda _: True
    data.packet.bits, made.acks = DATA, [copy(150, came_ns=160, taken=True), copy(190, came_ns=190, taken=True)]
    assert list(limits_truth.Transfer._closing(made)) == trips


def test_a_transfer_ends_when_its_data_is_acknowledged_not_its_fin() -> None:
    """Two segments acknowledged at 100 and 200 ns, and at 900 ns the FIN behind them."""
    states = tuple(acknowledged(time, una) for time, una in ((100, 2), (200, 3), (900, 4)))
    made = transfer("sr", copy(0, 1), copy(5, 2), states=states)
    made.acks = []
    assert limits_truth.Transfer.session.func(made) == (0, 200)  # type: ignore[attr-defined]


def test_a_transfer_ends_with_an_acknowledgement_that_its_sender_did_not_live_to_see() -> None:
    """It is in the capture: the second segment is acknowledged at 300 ns, when the page is complete, and ended."""
    made = transfer("sr", copy(0, 1), copy(5, 2), states=(acknowledged(100, 2),))
    made.acks = [copy(50, came_ns=100, late=False), copy(150, came_ns=300, late=True), copy(250, late=False)]
    for one, number in zip(made.acks, (2, 3, 3), strict=True):
        one.packet.ack = number
    assert limits_truth.Transfer.session.func(made) == (0, 300)  # type: ignore[attr-defined]


def test_the_transfer_of_most_data_is_not_the_one_that_sent_most_of_it_again() -> None:
    """Three segments, one of them twice more, against four."""
    flows = [SimpleNamespace(number=number) for number in (0, 1)]
    copies = [copy(0, seq, sending) for seq, sending in ((1, 0), (2, 0), (3, 0), (3, 1), (3, 2))]
    copies += [copy(0, seq) for seq in (1, 2, 3, 4)]
    for at, one in enumerate(copies):
        one.packet.bits, one.segment = DATA, SimpleNamespace(flow=flows[at >= 5], end=0, payload_bytes=100)
    run: Any = SimpleNamespace(copies=copies)
    assert [one.flow.number for one in transfers(run)] == [1, 0]


def test_a_repair_does_not_wait_for_what_was_sent_after_it_at_its_instant() -> None:
    """Acknowledgements that come at one instant let more be sent then."""
    copies = [copy(0, seq) for seq in (1, 2, 3)] + [copy(50, 1, 1), copy(50, 4)]
    made = transfer("sr", *copies, states=(acknowledged(100, 4), acknowledged(200, 5)))
    made._tops = limits_truth.Transfer._tops.func(made)  # type: ignore[attr-defined]
    assert [limits_truth.Transfer.repaired(made, one) for one in copies[3:]] == [100, 200]


@pytest.mark.parametrize(
    ("una", "cwnd", "next_ms", "cause"),
    [
        (2, 2, 20, "sender_window"), (2, 9, 12, "sender_window"), (2, 9, 20, "application"), (4, 9, 12, "application"),
        (2, float("nan"), 20, "sender_window"),
    ],
)  # fmt: skip
def test_what_leaves_without_an_acknowledgement_waited_for_no_window(
    una: int, cwnd: float, next_ms: int, cause: str
) -> None:
    """The sender has more to send and room in both windows: it paces, or is late. The acknowledgement came at 10 ms."""
    copies = [copy(0, 1), copy(0, 2), copy(0, 3), copy(next_ms * MS, 4)]
    sizes = {one.packet.seq: [SimpleNamespace(segment=SimpleNamespace(seq=one.packet.seq, payload_bytes=1))]
             for one in copies}  # fmt: skip
    seen = SimpleNamespace(una=una, top=4, written=9, limit=9, cwnd=cwnd)
    came = copy(0)
    came.packet.blocks = 0
    made = transfer("sr", *copies, states=(SimpleNamespace(time_ns=10 * MS, seen=seen, came=came),))
    made.run.whole_bytes, made.sendings, made.session = 1, sizes, (0, 30 * MS)
    made.is_full = lambda state: limits_truth.Transfer.is_full(made, state)
    assert {name for name, spans in limits_truth.waits(made).items() if spans} == {cause}
