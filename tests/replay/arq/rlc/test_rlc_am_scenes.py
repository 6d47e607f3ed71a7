"""Polls, reports, windows and delivery of RLC AM as short plays: what each side sends in which opportunity, by line.

An opportunity comes every 10 ms, two are on the way; an SDU of 13 octets fills a PDU of 16 with its length indicator.
A line is the opportunity, the side, and a PDU (sequence number, P for a poll; or the SUFIs of a STATUS).
"""

from __future__ import annotations

import pytest
from rlc_scene import MS, play, sdus, tell

from multitracer.wire import rlc_umts as codec


def test_poll_in_the_last_new_pdu() -> None:
    """Trigger 1: nothing waits after it."""
    scene = play(3, poll_last_new=True)
    assert scene.run(8) == [
        "0 A 0", "1 A 1", "2 B gets a*13", "2 A 2 P", "3 B gets b*13", "4 B gets c*13", "4 B ACK 3",
    ]  # fmt: skip


def test_poll_in_the_last_retransmission() -> None:
    """Trigger 2: no other PDU waits to be sent again."""
    scene = play(4, "A 1", "A 2", poll_last_new=True, poll_last_retransmission=True)
    assert scene.run(14) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13", "2 A 2 lost", "3 A 3 P", "5 B NACK 1,2 ACK 4", "7 A 1", "8 A 2 P",
        "9 B gets b*13", "10 B gets c*13", "10 B gets d*13", "10 B ACK 4",
    ]  # fmt: skip


def test_poll_by_timer_poll() -> None:
    """Trigger 3: the poll was lost; the last PDU is sent again to carry another."""
    scene = play(2, "A 1 P", poll_last_new=True, poll_ns=50 * MS)
    assert scene.run(12) == [
        "0 A 0", "1 A 1 P lost", "2 B gets a*13", "6 A 1 P", "8 B gets b*13", "8 B ACK 2",
    ]  # fmt: skip


def test_poll_every_poll_pdu() -> None:
    """Trigger 4."""
    scene = play(6, poll_pdu=2)
    assert scene.run(9) == [
        "0 A 0", "1 A 1 P", "2 B gets a*13", "2 A 2", "3 B gets b*13", "3 A 3 P", "3 B ACK 2", "4 B gets c*13",
        "4 A 4", "5 B gets d*13", "5 A 5 P", "5 B ACK 4", "6 B gets e*13", "7 B gets f*13", "7 B ACK 6",
    ]  # fmt: skip


def test_poll_pdu_counts_retransmissions() -> None:
    """The fifth PDU sent is 3, because 2 was sent twice."""
    scene = play(3, "A 2 P", poll_pdu=5, poll_last_new=True, poll_ns=50 * MS)
    scene.run(10)
    scene.offer(*sdus(3))
    assert scene.run(5) == [
        "0 A 0", "1 A 1", "2 B gets a*13", "2 A 2 P lost", "3 B gets b*13", "7 A 2 P", "9 B gets c*13", "9 B ACK 3",
        "10 A 3 P", "11 A 4", "12 B gets a*13", "12 A 5 P", "12 B ACK 4", "13 B gets b*13", "14 B gets c*13",
        "14 B ACK 6",
    ]  # fmt: skip


def test_poll_every_poll_sdu() -> None:
    """Trigger 5: in the PDU that ends the third SDU."""
    scene = play(6, poll_sdu=3)
    assert scene.run(9) == [
        "0 A 0", "1 A 1", "2 B gets a*13", "2 A 2 P", "3 B gets b*13", "3 A 3", "4 B gets c*13", "4 A 4", "4 B ACK 3",
        "5 B gets d*13", "5 A 5 P", "6 B gets e*13", "7 B gets f*13", "7 B ACK 6",
    ]  # fmt: skip


def test_poll_by_window() -> None:
    """Trigger 6: half of eight PDUs are used from the fourth on."""
    scene = play(6, poll_window_percent=50, tx_window=8)
    assert scene.run(11) == [
        "0 A 0", "1 A 1", "2 B gets a*13", "2 A 2", "3 B gets b*13", "3 A 3 P", "4 B gets c*13", "4 A 4 P",
        "5 B gets d*13", "5 A 5 P", "5 B ACK 4", "6 B gets e*13", "6 B ACK 5", "7 B gets f*13", "7 B ACK 6",
    ]  # fmt: skip


def test_a_poll_is_sent_periodically() -> None:
    """Trigger 7: while PDUs are unacknowledged."""
    scene = play(3, poll_periodic_ns=30 * MS)
    assert scene.run(14) == [
        "0 A 0", "1 A 1", "2 B gets a*13", "2 A 2", "3 B gets b*13", "3 A 2 P", "4 B gets c*13", "5 B ACK 3",
        "6 A 2 P", "8 B ACK 3",
    ]  # fmt: skip


@pytest.mark.slow
def test_poll_prohibit_delays_one_poll() -> None:
    """Six polls are due; the prohibit of 40 ms lets three through, the last carried by a PDU sent again."""
    scene = play(6, poll_pdu=1, poll_prohibit_ns=40 * MS)
    assert scene.run(14) == [
        "0 A 0 P", "1 A 1", "2 B gets a*13", "2 A 2", "2 B ACK 1", "3 B gets b*13", "3 A 3", "4 B gets c*13",
        "4 A 4 P", "5 B gets d*13", "5 A 5", "6 B gets e*13", "6 B ACK 5", "7 B gets f*13", "8 A 5 P", "10 B ACK 6",
    ]  # fmt: skip


def test_timer_poll_stops_when_all_is_acknowledged() -> None:
    """No second poll."""
    scene = play(2, poll_last_new=True, poll_ns=60 * MS)
    assert scene.run(16) == [
        "0 A 0", "1 A 1 P", "2 B gets a*13", "3 B gets b*13", "3 B ACK 2",
    ]  # fmt: skip


def test_timer_poll_stops_when_the_polled_pdu_is_refused() -> None:
    """NACK of x-1 = 2: no poll by Timer_Poll at 11, the PDU is sent again on the NACK alone."""
    scene = play(4, "A 2 P", poll_sdu=3, poll_ns=90 * MS, missing_pdu_indication=True)
    assert scene.run(16) == [
        "0 A 0", "1 A 1", "2 B gets a*13", "2 A 2 P lost", "3 B gets b*13", "3 A 3", "5 B NACK 2 ACK 4", "7 A 2",
        "9 B gets c*13", "9 B gets d*13",
    ]  # fmt: skip


@pytest.mark.slow
def test_timer_poll_goes_on_when_the_polled_pdu_is_neither() -> None:
    """3 is acknowledged, 2 below it is not: Timer_Poll expires again at 21."""
    scene = play(4, "A 2", "A 3 P", poll_last_new=True, poll_ns=90 * MS, missing_pdu_indication=True)
    assert scene.run(25) == [
        "0 A 0", "1 A 1", "2 B gets a*13", "2 A 2 lost", "3 B gets b*13", "3 A 3 P lost", "12 A 3 P",
        "14 B NACK 2 ACK 4", "16 A 2", "18 B gets c*13", "18 B gets d*13", "21 A 3 P", "23 B ACK 4",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_tail_loss_is_never_found_without_a_first_poll() -> None:
    """The deadlock trap: only a timer that starts with a poll, and a window that is never used up."""
    scene = play(2, "A 1", poll_ns=100 * MS, poll_window_percent=70)
    assert scene.run(40) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13",
    ]  # fmt: skip


@pytest.mark.slow
def test_timer_poll_that_starts_with_unacknowledged_data_finds_a_tail_loss() -> None:
    """The way out of the trap."""
    scene = play(2, "A 1", poll_ns=100 * MS, poll_window_percent=70, poll_when_unacknowledged=True)
    assert scene.run(30) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13", "10 A 1 P", "12 B gets b*13", "12 B ACK 2",
    ]  # fmt: skip


def test_a_missing_pdu_is_reported_at_once() -> None:
    """A gap makes a report at once."""
    scene = play(4, "A 1", missing_pdu_indication=True)
    assert scene.run(9) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13", "2 A 2", "3 A 3", "4 B NACK 1 ACK 3", "6 A 1", "8 B gets b*13",
        "8 B gets c*13", "8 B gets d*13",
    ]  # fmt: skip


def test_reports_are_sent_periodically() -> None:
    """A report every 50 ms, of both sides."""
    scene = play(3, "A 1", status_periodic_ns=50 * MS)
    assert scene.run(12) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13", "2 A 2", "5 A ACK 0", "5 B NACK 1 ACK 3", "7 A 1", "9 B gets b*13",
        "9 B gets c*13", "10 A ACK 0", "10 B ACK 3",
    ]  # fmt: skip


@pytest.mark.slow
def test_timer_epc_expires_and_the_report_is_repeated() -> None:
    """Two PDUs asked for at 5; Timer_EPC 50 ms, one PDU a TTI: at 12 both should have come."""
    scene = play(6, "A 1", "A 2", "A 2", missing_pdu_indication=True, epc_ns=50 * MS)
    assert scene.run(18) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13", "2 A 2 lost", "3 A 3", "4 A 4", "5 A 5", "5 B NACK 1,2 ACK 4",
        "7 A 1", "8 A 2 lost", "9 B gets b*13", "12 B NACK 2 ACK 6", "14 A 2", "16 B gets c*13", "16 B gets d*13",
        "16 B gets e*13", "16 B gets f*13",
    ]  # fmt: skip


def test_a_report_waits_for_the_end_of_the_epc_mechanism() -> None:
    """The gap at 7 is reported at 10, when PDU 1, asked for at 4, should have come: it is sent again once only."""
    scene = play(9, "A 1", "A 4", missing_pdu_indication=True, epc_ns=50 * MS)
    assert scene.run(15) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13", "2 A 2", "3 A 3", "4 A 4 lost", "4 B NACK 1 ACK 3", "5 A 5", "6 A 1",
        "7 A 6", "8 B gets b*13", "8 B gets c*13", "8 B gets d*13", "8 A 7", "9 A 8", "10 B NACK 4 ACK 8", "12 A 4",
        "14 B gets e*13", "14 B gets f*13", "14 B gets g*13", "14 B gets h*13", "14 B gets i*13",
    ]  # fmt: skip


def test_a_report_waits_for_the_later_of_the_epc_mechanism_and_status_prohibit() -> None:
    """The same where Timer_Status_Prohibit runs from 4 to 13."""
    scene = play(9, "A 1", "A 4", missing_pdu_indication=True, epc_ns=50 * MS, status_prohibit_ns=90 * MS)
    assert scene.run(14)[-4:] == ["8 B gets d*13", "8 A 7", "9 A 8", "13 B NACK 4 ACK 9"]


def test_status_prohibit_delays_one_report() -> None:
    """The gap at 6 is reported at 10."""
    scene = play(6, "A 1", "A 3", missing_pdu_indication=True, status_prohibit_ns=60 * MS)
    assert scene.run(16) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13", "2 A 2", "3 A 3 lost", "4 A 4", "4 B NACK 1 ACK 3", "5 A 5", "6 A 1",
        "8 B gets b*13", "8 B gets c*13", "10 B NACK 3 ACK 6", "12 A 3", "14 B gets d*13", "14 B gets e*13",
        "14 B gets f*13",
    ]  # fmt: skip


def test_status_prohibit_delays_no_window_mrw_or_mrw_ack() -> None:
    """It runs from 3 to 33; WINDOW, MRW_ACK and an MRW of B's own go out meanwhile."""
    scene = play(
        2, "A 0", "B NACK 0 ACK 2", "B 0", missing_pdu_indication=True, status_prohibit_ns=300 * MS, discard="timer",
        discard_ns=60 * MS,
    )  # fmt: skip
    scene.run(4)
    scene.ends["B"].set_window(3)
    scene.offer(b"z" * 13, side="B")
    assert scene.run(10) == [
        "0 A 0 lost", "1 A 1", "3 B NACK 0 ACK 2 lost", "4 B WINDOW 3 .", "5 B 0 lost", "6 A MRW 2 N=0 .",
        "8 B MRW_ACK 2 N=0 .", "10 B MRW 1 N=0 .", "12 A MRW_ACK 1 N=0 .",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_pdu_has_as_many_length_indicators_as_fit() -> None:
    """30 SDUs of two octets in one PDU; where an MRW may have to name an end, 15 a PDU."""
    whole = play(0, pdu_bytes=126).offer(*sdus(26, 2))
    assert whole.run(3) == ["0 A 0", *[f"2 B gets {chr(97 + i)}*2" for i in range(26)]]
    signalled = play(0, pdu_bytes=126, discard="timer", discard_ns=900 * MS).offer(*sdus(26, 2))
    assert signalled.run(4) == [
        "0 A 0", "1 A 1", *[f"{2 + i // 15} B gets {chr(97 + i)}*2" for i in range(26)],
    ]  # fmt: skip


def test_poll_with_nothing_unacknowledged_is_dropped() -> None:
    """A poll waits for Timer_Poll_Prohibit until 7, when a report that B was asked for has acknowledged all."""
    scene = play(4, "B ACK 2", poll_pdu=2, poll_prohibit_ns=60 * MS)
    scene.run(5)
    scene.ends["B"].request_report()
    scene.run(5)
    scene.offer(b"e" * 13)
    assert scene.run(4) == [
        "0 A 0", "1 A 1 P", "2 B gets a*13", "2 A 2", "3 B gets b*13", "3 A 3", "3 B ACK 2 lost", "4 B gets c*13",
        "5 B gets d*13", "5 B ACK 4", "10 A 4", "12 B gets e*13",
    ]  # fmt: skip


def test_a_report_asked_for_waits_for_status_prohibit() -> None:
    """Asked for at 1 and at 2: one report at once, the other 60 ms later."""
    scene = play(1, status_prohibit_ns=60 * MS)
    scene.run(1)
    scene.ends["B"].request_report()
    scene.run(1)
    scene.ends["B"].request_report()
    assert scene.run(10) == ["0 A 0", "1 B ACK 0", "2 B gets a*13", "7 B ACK 1"]


def test_a_poll_sufi_asks_for_a_report() -> None:
    """A poll without a data PDU (Release 7) is answered like a poll bit."""
    scene = play(2)
    scene.run(5)
    scene.ends["B"].receive(codec.encode(codec.Status((codec.Poll(1), codec.NoMore()))), 50 * MS)
    assert scene.run(1) == ["0 A 0", "1 A 1", "2 B gets a*13", "3 B gets b*13", "5 B ACK 2"]


def test_any_status_does_not_keep_timer_poll_off() -> None:
    """Reports every 90 ms say nothing of PDU 0; Timer_Poll of 300 ms runs on all the same."""
    scene = play(
        1, "A 0", poll_ns=300 * MS, poll_when_unacknowledged=True, any_status_stops_poll=True,
        status_periodic_ns=90 * MS,
    )  # fmt: skip
    assert scene.run(34) == [
        "0 A 0 lost", "9 A ACK 0", "9 B ACK 0", "18 A ACK 0", "18 B ACK 0", "27 A ACK 0", "27 B ACK 0", "30 A 0 P",
        "32 B gets a*13", "32 B ACK 1",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_poll_carrier_reaches_max_dat() -> None:
    """Sent twice for its polls, whose answers are lost; the third time a reset or an MRW instead."""
    for discard, last in (("no_discard", ("RESET 0", "RESET_ACK 0")), ("max_dat", ("MRW 1 N=0 .", "MRW_ACK 1 N=0 ."))):
        scene = play(1, "B ACK 1", "B ACK 1", poll_last_new=True, poll_ns=50 * MS, max_dat=3, discard=discard)
        assert scene.run(18) == [
            "0 A 0 P", "2 B gets a*13", "2 B ACK 1 lost", "5 A 0 P", "7 B ACK 1 lost", f"10 A {last[0]}",
            f"12 B {last[1]}",
        ]  # fmt: skip


def test_pdus_outside_the_window_and_duplicates() -> None:
    """Of PDUs 3, 4 and 3 above a gap, with a window of four, 4 is dropped unseen; the second 3 changes nothing."""
    scene = play(0, tx_window=4, rx_window=4, missing_pdu_indication=True)
    scene.lose = lambda side, line: True
    for sn in (3, 4, 3):
        scene.ends["B"].receive(codec.encode(codec.Amd(sn, False, b"x" * 13, (13,))), 0)
    scene.run(1)
    for sn in (0, 1, 2, 0):
        scene.ends["B"].receive(codec.encode(codec.Amd(sn, False, bytes([97 + sn]) * 13, (13,))), 10 * MS)
    scene.ends["B"].request_report()
    assert scene.run(3) == ["0 B NACK 0,1,2 ACK 4 lost", "1 B ACK 4 lost"]
    assert [sdu.octets[:1] for sdu in scene.ends["B"].delivered()] == [b"a", b"b", b"c", b"x"]
    counts = scene.ends["B"].counts
    assert (counts["received"], counts["outside"], counts["duplicate"]) == (7, 2, 1)


def test_out_of_sequence_delivery() -> None:
    """d and c come before b; c only when b tells that c began."""
    scene = play(4, "A 1", missing_pdu_indication=True, in_sequence=False)
    assert scene.run(10) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13", "2 A 2", "3 A 3", "4 B NACK 1 ACK 3", "5 B gets d*13", "6 A 1",
        "8 B gets b*13", "8 B gets c*13",
    ]  # fmt: skip


def test_a_window_above_the_configured_is_not_taken() -> None:
    """WINDOW 2047 where four are configured: the fifth PDU is not sent."""
    scene = play(6, tx_window=4)
    tell(scene, "A", codec.Window(2047), codec.Ack(0))
    assert scene.run(9) == [
        "0 A 0", "1 A 1", "2 B gets a*13", "2 A 2", "3 B gets b*13", "3 A 3", "4 B gets c*13", "5 B gets d*13",
    ]  # fmt: skip


def test_window_sufi_narrows_the_window() -> None:
    """B asks for two PDUs at most; A waits for an acknowledgement after each pair."""
    scene = play(8, poll_pdu=2)
    scene.run(1)
    scene.ends["B"].set_window(2)
    assert scene.run(13)[2:] == [
        "1 B WINDOW 2 .", "2 B gets a*13", "2 A 2", "3 B gets b*13", "3 B ACK 2", "4 B gets c*13", "5 A 3 P",
        "7 B gets d*13", "7 B ACK 4", "9 A 4", "10 A 5 P", "11 B gets e*13", "12 B gets f*13", "12 B ACK 6",
    ]  # fmt: skip


@pytest.mark.slow
def test_piggybacked_status_rides_in_padding() -> None:
    """B has an SDU of its own when a report is due: both go in one PDU, in its padding."""
    scene = play(3, "A 1", poll_pdu=3, piggyback=True)
    scene.run(4)
    scene.offer(b"z" * 4, side="B")
    assert scene.run(6) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13", "2 A 2 P", "4 B 0 + NACK 1 ACK 3", "6 A gets z*4", "6 A 1",
        "8 B gets b*13", "8 B gets c*13",
    ]  # fmt: skip
    assert scene.ends["B"].counts["piggybacked"] == 1


def test_a_report_too_long_for_one_pdu_goes_on_in_the_next() -> None:
    """Six gaps fit; the continuation acknowledges no more than VR(R), and the sender learns of all."""
    lost = [f"A {i}" for i in range(1, 16, 2)]
    scene = play(16, *lost, poll_last_new=True)
    scene.run(40)
    assert [line for line in scene.lines if " B N" in line] == ["17 B NACK 1,3,5,7,9,11 ACK 13", "18 B NACK 13 ACK 1"]
    assert scene.received["B"] == sdus(16)
