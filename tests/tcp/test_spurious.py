"""Each rule that separates a spurious retransmission from a needed one, on a script of a few segments."""

from __future__ import annotations

from itertools import pairwise

import pytest
from sending import Segment, ack, again, data, judged, syn_ack

from multitracer.compute import kernels
from multitracer.tcp import retransmissions

WARM = (data(0, 1, 101), ack(100, 101))
"""A first round trip sample of 100 ms."""
PAIR = (data(200, 101, 201), data(201, 201, 301))
REPORTS = (*WARM, ack(101, 101, dsack=(1, 101)))
"""The same, of a receiver that reports what came twice: the path copied the segment."""


@pytest.fixture(autouse=True)
def plain_kernels(monkeypatch):
    """Small cases run the kernels as plain Python."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert kernels.plain()


def verdict(*segments: Segment) -> tuple[str, str]:
    """(Spurious or not, the rule that decided) for the last retransmission."""
    row = judged(*segments).iloc[-1]
    return str(row["spurious"]), row["because"].split("; ")[-1]


def test_bytes_that_were_acknowledged_before_are_spurious():
    """A retransmission of bytes already acknowledged when it was sent is spurious."""
    assert verdict(*WARM, again(150, 1, 101)) == ("yes", "the bytes had been acknowledged before")


def test_as_many_duplicates_as_resends_mean_that_the_original_arrived():
    """One DSACK for one resend proves it spurious; without a DSACK a lost acknowledgement would look the same."""
    script = (*WARM, *PAIR, again(500, 101, 201), ack(620, 301))
    assert verdict(*script, ack(621, 301, dsack=(101, 201))) == (
        "yes", "the receiver reported 1 duplicates of 2 copies (DSACK)",
    )  # fmt: skip
    assert verdict(*script)[0] == "unknown"


def test_a_duplicate_was_needless_in_the_last_resend_at_least():
    """Two copies had come when it was reported: of three one before the last, which of them cannot be told."""
    script = (*WARM, *PAIR, again(500, 101, 201), again(900, 101, 201), ack(1020, 301, dsack=(101, 201)))
    table = judged(*script)
    assert table["spurious"].tolist() == ["unknown", "yes"]
    assert "duplicates of 3 copies (DSACK), and of those sent by then an earlier" in table["because"].iloc[1]
    part = (*script[:-1], ack(1020, 301, dsack=(101, 151)))
    assert judged(*part)["spurious"].tolist() == ["unknown", "unknown"]
    sent_on = judged(*WARM, *PAIR, again(500, 101, 201), ack(620, 101, dsack=(101, 201)), again(900, 101, 201))
    assert sent_on["spurious"].tolist() == ["yes", "yes"]


def test_a_duplicate_that_the_network_made_does_not_make_a_needed_resend_needless():
    """The acknowledgement echoes the second resend's own timestamp: it was the first copy that came."""
    resends = (again(500, 101, 201, stamp=500), again(900, 101, 201, stamp=900))
    script = (*REPORTS, data(200, 101, 201, stamp=200), data(201, 201, 301, stamp=201), *resends)
    found = judged(*script, ack(1000, 301, echo=900), ack(1001, 301, echo=900, dsack=(101, 201)))
    assert "yes" not in found["spurious"].tolist()


def test_a_duplicate_of_a_part_proves_nothing_of_the_rest():
    """Of a record of two segments the first came twice, and later all of it: one resend was needless, not two."""
    resends = [again(at, 101, 301) for at in (500, 900, 1700)]
    reports = (ack(1010, 101, dsack=(101, 201)), ack(1800, 301, dsack=(101, 301)))
    found = judged(*WARM, data(200, 101, 301), *resends[:2], reports[0], resends[2], reports[1])
    assert found["spurious"].tolist() == ["unknown", "unknown", "yes"]


def test_an_acknowledgement_too_soon_answers_an_earlier_copy():
    """An acknowledgement within half of the least round trip after the retransmission proves it spurious."""
    assert verdict(*WARM, *PAIR, again(500, 101, 201), ack(549, 301)) == (
        "yes", "acknowledged sooner than half the least round trip (100.0 ms) after it",
    )  # fmt: skip
    assert verdict(*WARM, *PAIR, again(500, 101, 201), ack(551, 301))[0] == "unknown"


def test_nothing_is_too_soon_where_no_round_trip_is_known():
    """Without a round-trip sample an early acknowledgement leaves the verdict unknown."""
    assert verdict(*PAIR, again(500, 101, 201), ack(501, 301)) == (
        "unknown", "needless or not cannot be told: a lost acknowledgement would look the same",
    )  # fmt: skip


def test_the_echoed_timestamp_shows_the_copy_that_arrived_first():
    """Eifel, RFC 3522: the original's echo proves it spurious; the resend's proves it needed only with DSACK."""
    script = (data(200, 101, 201, stamp=20), again(500, 101, 201, stamp=50))
    earlier, this = ack(620, 201, echo=20), ack(620, 201, echo=50)
    assert verdict(*WARM, *script, earlier) == (
        "yes", "the acknowledgement echoes the timestamp of an earlier copy (Eifel)"
    )  # fmt: skip
    assert verdict(*REPORTS, *script, this) == (
        "no", "the acknowledgement echoes the timestamp of a resend, and no duplicate was reported",
    )  # fmt: skip
    assert verdict(*WARM, *script, this)[0] == "unknown"


def test_the_silence_of_a_receiver_that_never_reported_a_duplicate_proves_nothing():
    """RFC 2883 is optional: one that permits SACK, and sends it, may take a duplicate without a word."""
    script = (data(200, 101, 201, stamp=20), again(500, 101, 201, stamp=50), ack(620, 201, echo=50))
    sacked = (data(700, 201, 301), data(701, 301, 401), ack(800, 201, (301, 401)))
    assert verdict(syn_ack(-1), *WARM, *script, *sacked)[0] == "unknown"
    told_later = ack(900, 201, (301, 401), dsack=(301, 401))
    assert verdict(syn_ack(-1), *WARM, *script, *sacked, told_later)[0] == "no"


def test_data_sent_later_that_arrived_first_proves_a_loss():
    """A SACKed later segment proves the loss, unless the path reorders."""
    hole = (*WARM, *PAIR, ack(301, 101, (201, 301)))
    assert verdict(*hole, again(302, 101, 201), ack(410, 301)) == (
        "no", "data sent later had been delivered while these bytes were still missing"
    )  # fmt: skip
    rest_came_late = verdict(*hole, again(302, 101, 151), ack(410, 301))
    assert rest_came_late == ("unknown", "needless or not cannot be told: this path reorders")
    swapped = (data(0, 101, 201), data(1, 201, 301), ack(100, 101, (201, 301)), ack(101, 301))
    later = (data(200, 301, 401), data(201, 401, 501), ack(301, 301, (401, 501)), again(302, 301, 401), ack(410, 501))
    assert verdict(data(-200, 1, 101), ack(-100, 101), *swapped, *later) == (
        "unknown", "needless or not cannot be told: this path reorders"
    )  # fmt: skip


def test_a_later_timestamp_echoed_below_proves_a_loss():
    """What was sent after the first copy has arrived, as its echo shows, and the acknowledgement stops at the bytes."""
    pair = *WARM, data(200, 101, 201, stamp=20), data(201, 201, 301, stamp=20), again(500, 101, 201, stamp=50)
    for echo, told in ((50, "no"), (20, "unknown")):
        script = (*pair, ack(600, 201, echo=echo), again(601, 201, 301, stamp=60), ack(651, 301, echo=60))
        assert verdict(*script)[0] == told


def test_a_segment_sent_twice_that_arrived_first_proves_a_loss():
    """Whichever copy of the last segment arrived, it was sent after the bytes that were still missing."""
    script = (*WARM, *PAIR, again(400, 201, 301), ack(500, 101, (201, 301)), again(501, 101, 201), ack(610, 301))
    assert verdict(*script) == ("no", "data sent later had been delivered while these bytes were still missing")


def test_what_a_full_list_of_blocks_leaves_out_may_have_come():
    """Beside three blocks there is no room for a fourth, whose own acknowledgement was lost (RFC 2018 3)."""
    flight = [data(200 + n, 101 + 100 * n, 201 + 100 * n) for n in range(9)]
    blocks = (901, 1001), (701, 801), (501, 601)
    resent = [again(311 + n, first, first + 100) for n, first in enumerate((101, 201, 301, 401, 601, 801))]
    full = judged(*WARM, *flight, ack(310, 101, *blocks), *resent, ack(430, 1001))
    late = judged(*WARM, *flight, ack(310, 101, *blocks), ack(310.5, 101, blocks[2]), *resent, ack(430, 1001))
    assert late["spurious"].equals(full["spurious"])
    room = judged(*WARM, *flight, ack(309, 101, *blocks[1:]), ack(310, 101, *blocks), *resent, ack(430, 1001))
    assert [table["spurious"].tolist()[:3] for table in (full, room)] == [["no", "unknown", "unknown"], ["no"] * 3]


FLIGHT = tuple(data(200 + n, 101 + 100 * n, 201 + 100 * n) for n in range(4))
WITHOUT_SACK = syn_ack(-1, sack=False)
RESENT = (again(303, 101, 201), ack(403, 501))
PASSED = (
    "needless or not cannot be told: the receiver asked for these bytes, so that data sent later had come without them "
    "(lost or overtaken), unless the network copied a packet"
)


def passed(*script: Segment) -> list[bool]:
    """Of which resends it is told that later data had passed their octets."""
    return judged(*script)["passed"].tolist()


def test_a_number_that_is_repeated_without_sack_shows_that_later_data_passed():
    """RFC 5681 4.2: data above a hole is answered at once; lost or overtaken it does not say."""
    script = (WITHOUT_SACK, *WARM, *FLIGHT, ack(301, 101), *RESENT)
    assert verdict(*script) == ("unknown", PASSED)
    assert passed(*script) == [True]


@pytest.mark.parametrize(
    "answers",
    [(ack(250, 101), ack(251, 101)), (ack(301, 101, window=3000), ack(302, 101, window=4000)),
     (ack(300, 101, window=0), ack(301, 101, window=0), ack(302, 101, window=0)),
     tuple(ack(300 + n, 101)._replace(seq=0) for n in range(3)), (ack(300, 1), ack(301, 101))],
    ids=["too soon", "windows", "refused probes", "keep-alives", "order changed"],
)  # fmt: skip
def test_a_number_that_is_repeated_for_another_reason_shows_nothing(answers: tuple[Segment, ...]):
    """It left before later data can have come, or says something else, or follows an older one that came late."""
    assert passed(WITHOUT_SACK, *WARM, *FLIGHT, *answers, *RESENT) == [False]


@pytest.mark.parametrize(("answered_ms", "told"), [(400, True), (380, False)])
def test_a_resend_that_was_asked_for_explains_a_repeat_if_it_is_answered_too_soon(answered_ms: float, told: bool):
    """What is acknowledged in less than a round trip was not lost: it comes twice, and makes the receiver repeat."""
    asked = tuple(ack(301 + n, 101) for n in range(2))
    later = tuple(data(405 + n, 501 + 100 * n, 601 + 100 * n) for n in range(3))
    answers = (ack(answered_ms, 501), *later, ack(510, 501))
    script = (WITHOUT_SACK, *WARM, *FLIGHT, *asked, RESENT[0], *answers, again(1500, 501, 601), ack(1600, 801))
    assert passed(*script) == [True, told]


@pytest.mark.parametrize("first", [(), (syn_ack(-1),)])
def test_only_without_sack_a_repeated_number_shows_that_later_data_passed(first: tuple[Segment, ...]):
    """With it, blocks would say so; whether it was agreed on is not known of a capture that lacks the handshake."""
    assert passed(*first, *WARM, *FLIGHT, ack(301, 101), ack(302, 101), *RESENT) == [False]


def test_with_nothing_sent_later_a_repeated_number_shows_nothing():
    """There is nothing that can have passed the only segment."""
    repeated = [ack(301 + n, 101) for n in range(4)]
    assert passed(WITHOUT_SACK, *WARM, FLIGHT[0], *repeated, again(1300, 101, 201), ack(1401, 201)) == [False]


@pytest.mark.parametrize(("repeats", "told"), [(5, True), (4, False)])
def test_a_resend_that_data_sent_after_it_passed_too_was_lost_as_well(repeats: int, told: bool):
    """Three of the repeats answer what was sent before the resend, one the resend itself, if it was needless."""
    inflated = [data(305 + n, 501 + 100 * n, 601 + 100 * n) for n in range(2)]
    asked = [ack(301 + 0.5 * n, 101) for n in range(3)] + [ack(405 + n, 101) for n in range(repeats - 3)]
    script = sorted((*asked, again(304, 101, 201), *inflated), key=lambda one: one.ms)
    assert passed(WITHOUT_SACK, *WARM, *FLIGHT, *script, again(1400, 101, 201), ack(1501, 701)) == [True, told]


def test_data_captured_after_its_acknowledgement_is_not_what_a_repeated_number_asks_for():
    """Above what it asks for nothing was sent then."""
    late = (data(200, 101, 201), ack(300, 301), data(301, 201, 301))
    script = (WITHOUT_SACK, *WARM, *late, data(302, 301, 401), ack(410, 301), again(1400, 301, 401), ack(1500, 401))
    assert passed(*script) == [False]


@pytest.mark.parametrize(("at_once", "most"), [(False, 2), (True, 4)])
def test_a_number_that_needless_resends_may_have_repeated_shows_nothing(at_once: bool, most: int):
    """Each resent packet may have come twice, and makes the receiver say once more what it asks for.

    A record of 2,000 octets, captured before segmentation, is four packets at most, of 536 octets.
    """
    size = 1_000
    edges = (101, 101 + 2 * size) if at_once else (101, 101 + size, 101 + 2 * size)
    lost = [data(200 + n, *one) for n, one in enumerate(pairwise(edges))]
    resent = [again(600 + n, *one) for n, one in enumerate(pairwise(edges))]
    start = 101 + 2 * size
    later = [data(610 + n, start + 100 * n, start + 100 * (n + 1)) for n in range(7)]
    script = (WITHOUT_SACK, *WARM, *lost, *resent, ack(650, start), *later)
    repeated = [ack(720 + n, start) for n in range(most + 1)]
    rest = (again(800, start, start + 100), ack(900, start + 700))
    assert passed(*script, *repeated[:most], *rest)[-1] is False
    assert passed(*script, *repeated, *rest)[-1] is True


def test_what_the_acknowledgement_of_a_passed_resend_stops_at_was_passed_too():
    """Two holes: the answer to the first resend asks for the second, which had been sent before."""
    repeated = [ack(301 + n, 101) for n in range(2)]
    resent = (again(303, 101, 201), ack(403, 201), again(404, 201, 301), ack(504, 501))
    assert passed(WITHOUT_SACK, *WARM, *FLIGHT, *repeated, *resent) == [True, True]


def test_an_acknowledgement_of_later_data_that_stops_below_proves_a_loss():
    """An ACK that answers the first retransmission, as its echo shows, and stops at the second's bytes.

    The clock of the timestamps is too coarse for them to tell what arrived.
    """
    pair = *REPORTS, data(200, 101, 201, stamp=20), data(201, 201, 301, stamp=50)
    later = again(601, 201, 301, stamp=60), ack(702, 301)
    script = (*pair, again(500, 101, 201, stamp=50), ack(600, 201, echo=50), *later)
    assert verdict(*script)[0] == "no"
    assert "still asked for these bytes" in verdict(*script)[1]


def test_an_acknowledgement_that_may_answer_a_slow_first_copy_proves_nothing_of_later_bytes():
    """Both first copies may have been held on the path, which then delivers them one after the other."""
    script = (*WARM, *PAIR, again(500, 101, 201), ack(600, 201), again(601, 201, 301), ack(702, 301))
    assert verdict(*script)[0] == "unknown"


def test_of_a_resend_of_two_segments_an_acknowledgement_asks_only_for_the_first():
    """What is above may have come before, and be acknowledged only with it; the first had been sent again already."""
    flight = [data(200, 101, 201, stamp=20), *(data(201 + n, 201 + 100 * n, 301 + 100 * n, stamp=50) for n in range(2))]
    resends = (again(500, 101, 201, stamp=50), again(550, 201, 301, stamp=55), ack(600, 201, echo=50))
    assert verdict(*REPORTS, *flight, *resends, again(601, 201, 401, stamp=60), ack(702, 401))[0] == "unknown"


def test_an_acknowledgement_that_may_answer_an_earlier_resend_proves_nothing_of_later_bytes():
    """The path held the second resend, of both segments; the third, of the first alone, came later."""
    flight = (*WARM, *PAIR, data(202, 301, 401), ack(310, 101, (301, 401)))
    resends = (again(311, 101, 201), again(400, 101, 301), again(450, 101, 201), ack(700, 201, (301, 401)))
    assert verdict(*flight, *resends, again(701, 201, 301), ack(800, 401))[0] == "unknown"


def test_an_acknowledgement_of_a_resend_that_stops_at_the_next_bytes_proves_them_missing():
    """Of two retransmissions in a row, the echo proves the first needed, and its ACK the second (a coarse clock)."""
    script = (
        *REPORTS, data(200, 101, 201, stamp=20), data(201, 201, 301, stamp=50),
        again(500, 101, 201, stamp=50), again(501, 201, 301, stamp=50),
        ack(600, 201, echo=50), ack(601, 301),
    )  # fmt: skip
    assert verdict(*script) == ("no", "the acknowledgement of the resend just below it stopped at these bytes")
    both_at_once = (*script[:-2], ack(601, 301))
    assert verdict(*both_at_once)[0] == "unknown"


def test_resends_of_the_parts_of_a_record_count_as_one_of_the_whole():
    """It was sent again whole, then packet by packet; each octet was reported twice of three copies."""
    resends = (again(500, 101, 301), again(900, 101, 201), again(901, 201, 301), ack(1000, 301))
    halves = [ack(1001 + n, 301, dsack=half) for n, half in enumerate(((101, 201), (201, 301)) * 2)]
    script = (syn_ack(-1), *WARM, data(200, 101, 301), *resends)
    assert judged(*script, *halves)["spurious"].tolist() == ["yes"] * 3
    assert judged(*script, *halves[:3])["spurious"].iloc[0] == "unknown"
    same_part = (*resends[:2], again(901, 101, 201), ack(1000, 301))
    assert judged(*script[:4], *same_part, *halves)["spurious"].iloc[0] == "unknown"


def test_a_resend_of_what_was_resent_before_it_became_the_oldest_is_not_asked_for_by_what_was_sent_before_that():
    """After a timeout a sender goes back; what it repeats then answers the originals, of which one was lost.

    A resend that is wholly acknowledged already changes nothing of what is asked for.
    """
    flight = [data(200 + n, 101 + 100 * n, 201 + 100 * n) for n in range(20)]
    back = (again(500, 101, 201), ack(700, 201), again(700.1, 201, 301), again(700.2, 301, 401), ack(701, 301))
    repeats = [ack(703 + 0.5 * n, 301) for n in range(16)]
    script = (WITHOUT_SACK, *WARM, *flight, *back, *repeats, again(711.5, 301, 401), ack(800.1, 301), ack(800.2, 2101))
    assert passed(*script) == [False] * 4
    below = (again(204, 1, 101), ack(300.5, 101), ack(301, 101), ack(302, 101), ack(303, 101))
    assert passed(WITHOUT_SACK, *WARM, *FLIGHT, *below, again(304, 101, 201), ack(404, 501)) == [False, True]


def test_reports_of_a_part_do_not_make_the_resend_of_a_whole_record_needless():
    """A record of two packets, of which the first came twice; reports of one after the other are of the whole."""
    script = (syn_ack(-1), *WARM, data(200, 101, 301), again(500, 101, 301), ack(600, 301, dsack=(101, 201)))
    assert verdict(*script)[0] == "unknown"
    assert verdict(*script, ack(601, 301, dsack=(201, 301))) == (
        "yes", "the receiver reported 1 duplicates of 2 copies (DSACK)",
    )  # fmt: skip
    below = (data(0, -999, -899), ack(100, -899), data(200, -899, -699), again(500, -899, -699))
    assert verdict(syn_ack(-1), *below, ack(600, -699, dsack=(-899, -799)))[0] == "unknown"


def test_an_acknowledgement_of_several_segments_proves_nothing_of_the_next_bytes():
    """An ACK that covers two segments at once does not show which of them it waited for."""
    flight = (data(200, 101, 201), data(201, 201, 301), data(202, 301, 401))
    resends = (again(500, 101, 201), again(501, 201, 301), again(502, 301, 401))
    assert verdict(*WARM, *flight, *resends, ack(601, 301), ack(602, 401))[0] == "unknown"


def test_a_clock_that_was_set_back_makes_no_acknowledgement_earlier():
    """Capture order decides, not time: an ACK recorded after the retransmission does not count as before it."""
    script = (data(1000, 1, 101), data(1001, 101, 201), ack(1040, 1, (101, 201)), again(1300, 1, 101), ack(340, 201))
    assert verdict(*script)[1] != "the bytes had been acknowledged before"
    assert verdict(*script)[0] != "yes"
    resends = (again(500, 101, 201), again(600, 201, 301), ack(700, 101, (201, 301)), again(701, 101, 201))
    assert verdict(*WARM, *PAIR, *resends, ack(650, 301))[0] != "yes"


def test_copies_beyond_the_limit_are_counted():
    """63 DSACKs of 100 copies leave the first 37 open, and those beyond; 99 prove every retransmission spurious."""
    resends = [again(500 + 10 * n, 101, 201) for n in range(99)]
    reports = [ack(2000 + n, 301, dsack=(101, 201)) for n in range(63)]
    table = judged(*WARM, *PAIR, *resends, *reports)
    assert table["spurious"].tolist() == ["unknown"] * 36 + ["yes"] * 27 + ["unknown"] * 36
    enough = judged(*WARM, *PAIR, *resends, *reports, *(ack(3000 + n, 301, dsack=(101, 201)) for n in range(36)))
    assert enough["because"].iloc[0].endswith("the receiver reported 99 duplicates of 100 copies (DSACK)")


def test_the_evidence_is_that_of_the_bytes_that_decided():
    """For a retransmission of two segments, the sentence names the evidence of the segment that decided."""
    script = (data(1, 1, 101), data(2, 101, 201), ack(40, 101), again(300, 1, 201), ack(340, 201, dsack=(101, 201)))
    assert verdict(syn_ack(0), *script) == ("yes", "the receiver reported 1 duplicates of 2 copies (DSACK)")


def test_data_never_acknowledged_stays_undecided():
    """When the capture ends before an acknowledgement, the verdict is unknown."""
    assert verdict(*WARM, *PAIR, again(500, 101, 201)) == (
        "unknown", "needless or not cannot be told: never acknowledged in this capture"
    )  # fmt: skip


@pytest.mark.parametrize(("received", "spurious"), [(1, "yes"), (0, "no")])
def test_the_receivers_capture_decides_where_there_is_one(received, spurious):
    """With the receiver's capture, its octets' earlier receipt decides where the sender's cannot."""
    resent = again(500, 101, 201, received=received)
    assert verdict(*WARM, *PAIR, resent, ack(601, 301))[0] == spurious


def test_captures_that_contradict_each_other_decide_nothing():
    """The receiver reports a duplicate, but its capture, which may have a hole, lacks the original."""
    script = (*WARM, *PAIR, again(500, 101, 201, received=0), ack(601, 301, dsack=(101, 201)))
    spurious, because = verdict(*script)
    assert spurious == "unknown"
    assert because.endswith("the captures at the sender and at the receiver contradict each other")


def test_a_late_acknowledgement_is_distinguished_from_a_lost_one():
    """An ACK soon after the resend is late, one with the resend's echo means a loss, without timestamps -1."""
    script = (*WARM, data(200, 101, 201, stamp=20), again(500, 101, 201, stamp=50))
    answers = [ack(520, 201), ack(620, 201, echo=50), ack(620, 201)]
    assert [judged(*script, answer)["late_ack"].iloc[0] for answer in answers] == [1, 0, -1]


def test_short_arrays_change_nothing(monkeypatch):
    """When `facts` and `pairs` begin with one row and grow, the verdicts are the same."""
    script = (*WARM, *PAIR, ack(301, 101, (201, 301)), again(302, 101, 301), again(700, 101, 301), ack(810, 301))
    ample = judged(*script)
    monkeypatch.setattr(retransmissions, "ROWS_OF_A_RESEND", 0)
    assert judged(*script).equals(ample)
    assert len(ample) == 2


def test_each_reason_has_its_own_numbers():
    """Retransmissions with the same sentence each have their own numbers in it."""
    lost = [data(200 + 2 * n, 101 + 100 * n, 201 + 100 * n) for n in range(8)]
    resent = [again(at, 101, 201) for at in (700, 1700, 3900)]
    reasons = judged(*WARM, *lost, *resent)["because"].str.split("; ").str[0].tolist()
    assert [one.split(" resent ")[1].split(" after ")[0] for one in reasons] == ["500.0 ms", "1000.0 ms", "2200.0 ms"]
    duplicates = [ack(310 + n, 101, (201, 301 + 100 * n)) for n in range(4)]
    reasons = judged(*WARM, *lost, *duplicates[:3], again(330, 101, 201))["because"].tolist()
    next_reasons = judged(*WARM, *lost, *duplicates, again(330, 101, 201))["because"].tolist()
    assert [one[0].split(" and ")[0] for one in (reasons, next_reasons)] == [
        "3 duplicate acknowledgements", "4 duplicate acknowledgements",
    ]  # fmt: skip
