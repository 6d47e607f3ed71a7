"""What papers leave open about RLC AM, as short plays (see test_rlc_am_scenes), and PDUs of one SDU."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from rlc_scene import MS, play, sdus

from multitracer.compute import kernels
from multitracer.model.errors import UsageError
from multitracer.replay.arq.notes import SENT
from multitracer.replay.arq.rlc.octets import RlcAm
from multitracer.replay.arq.rlc.parameters import Parameters
from multitracer.replay.engine.direction import Direction, Erased
from multitracer.replay.engine.driver import Engine, Keep
from multitracer.replay.engine.rlc import RLC_AM
from multitracer.replay.engine.source import source

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
