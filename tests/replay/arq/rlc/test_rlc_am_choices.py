"""What papers leave open about RLC AM, as short plays (see test_rlc_am_scenes), and PDUs of one SDU."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from rlc_scene import MS, play, sdus, tell

from multitracer.compute import kernels
from multitracer.model.errors import UsageError
from multitracer.replay.arq.notes import REFUSED, SENT
from multitracer.replay.arq.orders import RESET
from multitracer.replay.arq.rlc.am_entity import ended, obey
from multitracer.replay.arq.rlc.octets import RlcAm
from multitracer.replay.arq.rlc.parameters import Parameters
from multitracer.replay.engine.direction import Direction, Erased
from multitracer.replay.engine.driver import Engine, Keep
from multitracer.replay.engine.rlc import RLC_AM
from multitracer.replay.engine.source import source
from multitracer.wire import rlc_umts as codec

POLLED = {"poll_last_new": True, "poll_ns": 50 * MS, "discard": "max_dat", "max_dat": 2, "mrw_ns": 1000 * MS}
"""A PDU is sent once only."""


def test_a_counted_poll_finds_the_last_pdu_sent_often_enough() -> None:
    """Its SDU is given up, and an MRW goes out."""
    assert play(2, "A 1 P", **POLLED).run(8)[-1] == "6 A MRW 2 N=0 ."


def test_an_uncounted_poll_may_repeat_the_last_pdu_as_often_as_needed() -> None:
    """It arrives by that, though MaxDAT allows one transmission."""
    scene = play(2, "A 1 P", last_poll="uncounted", **POLLED)
    assert scene.run(10)[-3:] == ["6 A 1 P", "8 B gets b*13", "8 B ACK 2"]


def test_a_dropped_poll_repeats_nothing() -> None:
    """The loss of the last PDU is not found."""
    scene = play(2, "A 1 P", last_poll="dropped", **POLLED)
    assert scene.run(20) == ["0 A 0", "1 A 1 P lost", "2 B gets a*13"]


def reports(scene: Any) -> list[str]:
    """The reports that B sent."""
    return [line for line in scene.lines if " B ACK" in line or " B NACK" in line]


def test_a_gap_is_reported_once_or_at_each_pdu_while_it_is_open() -> None:
    """Also at that of the PDU that is repeated in between, if another gap stays."""
    once, each = (play(5, "A 1", missing_pdu_indication=True, report_each=every) for every in (False, True))
    once.run(6), each.run(6)
    assert reports(once) == ["4 B NACK 1 ACK 3"]
    assert reports(each) == ["4 B NACK 1 ACK 3", "5 B NACK 1 ACK 4"]


def test_a_pdu_is_not_sent_again_so_soon_after_its_last_sending() -> None:
    """Two reports call it missing, the second before the first repeat can have come."""
    free, guarded = (
        play(8, "A 1", missing_pdu_indication=True, report_each=True, resend_guard_ns=guard) for guard in (0, 60 * MS)
    )
    free.run(20), guarded.run(20)
    assert sum(line.endswith(" A 1") for line in free.lines) > 1
    assert sum(line.endswith(" A 1") for line in guarded.lines) == 1
    assert guarded.received["B"] == sdus(8)


def test_a_periodic_report_can_wait_for_something_to_report() -> None:
    """Nothing came since the last one, and nothing is missing."""
    always, heard = (play(1, status_periodic_ns=30 * MS, periodic_always=every) for every in (True, False))
    always.run(10), heard.run(10)
    assert reports(always) == ["3 B ACK 1", "6 B ACK 1", "9 B ACK 1"]
    assert reports(heard) == ["3 B ACK 1"]


def test_a_periodic_report_goes_on_while_something_is_missing() -> None:
    """Though nothing comes any more."""
    scene = play(3, "A 1", "A 1", "A 1", "A 1", status_periodic_ns=30 * MS, periodic_always=False)
    scene.run(10)
    assert reports(scene) == ["3 B ACK 1", "6 B NACK 1 ACK 3", "9 B NACK 1 ACK 3"]


def test_max_mrw_of_0_has_no_limit() -> None:
    """No answer ever comes, and no RESET."""
    lost = ["A MRW 2 N=0 ."] * 200
    scene = play(2, "A 1 P", *lost, **(POLLED | {"mrw_ns": 10 * MS, "max_mrw": 0}))
    scene.run(150)
    assert sum("MRW" in line for line in scene.lines) > 100
    assert not any("RESET" in line for line in scene.lines)


WHOLE = Parameters(
    pdu_bytes=252, length_indicators=False, tx_window=16, rx_window=16, discard="max_dat", max_dat=3, mrw_ns=80 * MS,
    poll_ns=100 * MS, poll_when_unacknowledged=True,
)  # fmt: skip


def engine(parameters: Parameters, lost: tuple[int, ...] = ()) -> Engine:
    """SDUs of 250, 40 and 7 octets from A to B, at once, with opportunities of A lost as told."""
    kernels.choose(0)
    trace = [int(k in lost) for k in range(max(lost, default=-1) + 1)]
    offers = source([(0, 0, octets) for octets in (250, 40, 7)])
    ways = (Direction(20 * MS, 10 * MS, channel=Erased(one)) for one in (trace, ()))
    return Engine(RLC_AM, (parameters, parameters), *ways, offers, Keep(log=200, sdus=16))


def sizes(made: Engine) -> list[int]:
    """Octets on the air of the first PDUs of A."""
    rows = made.log.rows
    return [int(row["octets"]) for row in rows if row["event"] == SENT and row["side"] == 0][:3]


@pytest.mark.parametrize("header", [0, 2, 6])
def test_without_length_indicators_an_sdu_is_a_pdu_of_its_length(header: int) -> None:
    """With as many octets of header as are asked for."""
    made = engine(Parameters(pdu_bytes=252, length_indicators=False, header_bytes=header)).run(200 * MS)
    assert sizes(made) == [octets + header for octets in (250, 40, 7)]
    assert [int(row["octets"]) for row in made.sdus] == [250, 40, 7]


@pytest.mark.parametrize("in_sequence", [True, False])
def test_a_lost_pdu_of_one_sdu_is_repeated(in_sequence: bool) -> None:
    """What came after it is handed over before it, if the order may be lost."""
    made = engine(replace(WHOLE, in_sequence=in_sequence), lost=(0,)).run(400 * MS)
    assert sorted(int(row["octets"]) for row in made.sdus) == [7, 40, 250]
    assert (int(made.sdus[0]["octets"]) == 250) == in_sequence


def test_the_sdus_around_a_discarded_one_arrive() -> None:
    """The MRW moves past the first SDU alone: what came after it is whole."""
    made = engine(WHOLE, lost=(0, *range(5, 20))).run(1000 * MS)
    assert [int(row["octets"]) for row in made.sdus] == [40, 7]
    assert [int(row["octets"]) for row in made.gone] == [250]
    assert RLC_AM.counters(made.a)["mrws"] > 0


def test_both_sides_have_pdus_of_the_same_form() -> None:
    """The receiver finds the data by its own parameters."""
    ways = (Direction(20 * MS, 10 * MS) for _ in range(2))
    with pytest.raises(UsageError, match="the same length_indicators and header_bytes"):
        Engine(RLC_AM, (WHOLE, replace(WHOLE, header_bytes=0)), *ways)


def test_what_pdus_without_length_indicators_cannot_have_is_refused() -> None:
    """Octets, piggybacked reports, and the header of other PDUs changed."""
    with pytest.raises(UsageError, match="a live link needs them"):
        RlcAm(WHOLE)
    with pytest.raises(UsageError, match="piggyback needs length_indicators"):
        Parameters(length_indicators=False, piggyback=True)
    with pytest.raises(UsageError, match="header_bytes is 6"):
        Parameters(header_bytes=6)


SPENT = {"discard": "max_dat", "max_dat": 3, "mrw_ns": 1000 * MS}
"""A PDU is sent twice."""


def repaired(alone: bool) -> Any:
    """PDUs 1 and 3 of five are lost; 3 is called missing, and lost, till it is spent, and then 1 is."""
    scene = play(5, "A 1", "A 3", "A 3", discard_alone=alone, **SPENT)
    scene.run(6)
    for _ in range(2):
        tell(scene, "A", codec.List(((3, 0),)), codec.Ack(0))
        scene.run(1)
    tell(scene, "A", codec.List(((1, 0), (3, 0))), codec.Ack(1))
    scene.run(5)
    return scene


def test_a_discard_takes_all_sdus_up_to_it() -> None:
    """SDUs 1 and 2 are given up with 3, though 2 had come and 1 was sent once only."""
    scene = repaired(alone=False)
    assert [line for line in scene.lines if "MRW" in line] == ["7 A MRW 4 N=0 .", "9 B MRW_ACK 5 N=0 ."]
    assert sdus(5)[1] not in scene.received["B"]


def test_a_discard_of_an_sdu_alone_waits_until_the_window_has_come_to_it() -> None:
    """PDU 1 is still sent again and delivered; the MRW goes when nothing before 3 is unacknowledged."""
    scene = repaired(alone=True)
    assert not any("MRW" in line for line in scene.lines)
    assert "8 A 1" in scene.lines
    tell(scene, "A", codec.List(((3, 0),)), codec.Ack(5))
    scene.run(5)
    assert [line.split(" ", 1)[1] for line in scene.lines if "MRW" in line] == ["A MRW 4 N=0 .", "B MRW_ACK 5 N=0 ."]
    assert scene.received["B"] == [sdu for k, sdu in enumerate(sdus(5)) if k != 3]
    assert [flushed.sdu for flushed in scene.ends["A"].flushed()] == [3]


def test_what_is_given_up_alone_carries_no_poll() -> None:
    """With nothing else left to send, the highest PDU that may be sent again does."""
    scene = play(3, "A 2", "A 2", discard_alone=True, poll_ns=0, **SPENT)
    scene.run(4)
    for _ in range(2):
        tell(scene, "A", codec.List(((2, 0),)), codec.Ack(0))
        scene.run(1)
    scene.ends["A"].entity.v.poll_wanted = 1
    scene.run(1)
    assert scene.lines[-1] == "6 A 1 P"


def test_a_discard_alone_is_one_at_max_dat() -> None:
    """Other modes discard nothing out of order."""
    with pytest.raises(UsageError, match="discard_alone needs discard = max_dat"):
        Parameters(discard_alone=True)


def test_a_gap_makes_a_report_when_enough_is_missing() -> None:
    """With a threshold of two the first gap waits for the second."""
    one, two = (play(6, "A 1", "A 3", missing_pdu_indication=True, missing_threshold=n) for n in (1, 2))
    one.run(7), two.run(7)
    assert reports(one) == ["4 B NACK 1 ACK 3", "6 B NACK 1,3 ACK 5"]
    assert reports(two) == ["6 B NACK 1,3 ACK 5"]


def reporting(by_pdu: bool, lost: tuple[int, ...]) -> list[int]:
    """When B reported (in opportunities), where A has 30 SDUs of one PDU each to send and the air loses some PDUs."""
    kernels.choose(0)
    parameters = replace(
        WHOLE, missing_pdu_indication=True, lost_resend_by_pdu=by_pdu, poll_ns=1000 * MS, max_dat=9, tx_window=64,
        rx_window=64, poll_last_new=False, poll_last_retransmission=False,
    )  # fmt: skip
    trace = [int(k in lost) for k in range(60)]
    ways = (Direction(20 * MS, 10 * MS, channel=Erased(one)) for one in (trace, ()))
    offers = source([(20 * MS * k, 0, 100) for k in range(30)])
    made = Engine(RLC_AM, (parameters, parameters), *ways, offers, Keep(log=400, sdus=32)).run(600 * MS)
    rows = made.log.rows[(made.log.rows["event"] == SENT) & (made.log.rows["side"] == 1)]
    return [int(time) // (10 * MS) for time in rows["time_ns"]]


def test_a_lost_retransmission_is_found_by_the_next_pdu_sent_after_it() -> None:
    """PDU 2 (opportunity 4) and its repeat (10) are lost: 3 shows the first loss, and what goes after 10 the second."""
    assert reporting(False, (4, 10)) == [8]
    assert reporting(True, (4, 10)) == [8, 13]


def test_a_retransmission_that_comes_makes_no_report() -> None:
    """Nor do PDUs that were sent before it."""
    assert reporting(True, (4,)) == reporting(False, (4,)) == [8]


def test_fewer_sdus_may_wait_than_may_be_unacknowledged() -> None:
    """Two wait beside the one sent in the first opportunity, the others are refused."""
    kernels.choose(0)
    parameters = replace(WHOLE, waiting_sdus=2)
    ways = (Direction(20 * MS, 10 * MS, channel=Erased(())) for _ in (0, 1))
    offers = source([(5 * MS, 0, 100)] * 6)
    made = Engine(RLC_AM, (parameters, parameters), *ways, offers, Keep(log=400, sdus=32)).run(600 * MS)
    assert (made.log.rows["event"] == REFUSED).sum() == 4
    assert len(made.sdus) == 2
    assert int(made.link.forth.state.refused) == 4


def test_an_order_resets_the_link() -> None:
    """SDUs begun and not acknowledged are discarded; what comes later is delivered."""
    kernels.choose(0)
    ways = (Direction(20 * MS, 10 * MS, channel=Erased(())) for _ in (0, 1))
    offers = source([(0, 0, 100)] * 6 + [(200 * MS, 0, 100)])
    made = Engine(RLC_AM, (WHOLE, WHOLE), *ways, offers, Keep(log=400, sdus=32, ledger=32))
    obey(made.a, [(35 * MS, RESET), (36 * MS, RESET)])
    made.run(600 * MS)
    assert RLC_AM.counters(made.a)["resets_done"] == 1
    assert RLC_AM.counters(made.b)["resets_taken"] == 1
    assert len(made.sdus) + len(made.gone) >= 7
    assert made.sdus["sdu"].tolist()[-1] == 6
    assert not ended(made.a)


def test_an_mrw_goes_out_where_a_report_was_to_ride_in_padding() -> None:
    """A discard that comes due with a new PDU is told first, and the report with it."""
    scene = play(3, "A 2", "A 2", discard_alone=True, piggyback=True, **SPENT)
    scene.run(4)
    for _ in range(2):
        tell(scene, "A", codec.List(((2, 0),)), codec.Ack(0))
        scene.run(1)
    tell(scene, "A", codec.List(((2, 0),)), codec.Ack(3))
    end = scene.ends["A"]
    end.entity.v.status_wanted = 1
    scene.offer(b"z" * 5)
    scene.run(2)
    assert scene.lines[-2:] == ["6 A MRW 3 N=0 ACK 0", "7 A 3"]
