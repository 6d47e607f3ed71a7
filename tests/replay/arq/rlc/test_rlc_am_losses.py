"""Discards and resets of RLC AM as short plays: what each side sends in which opportunity, line by line.

An opportunity comes every 10 ms, two are on the way; an SDU of 13 octets fills a PDU of 16 with its length indicator.
A line is the opportunity, the side, and a PDU (sequence number, P for a poll; or the SUFIs of a STATUS).
"""

from __future__ import annotations

import pytest
from rlc_scene import MS, play, sdus, tell

from multitracer.wire import rlc_umts as codec


def test_an_sdu_is_discarded_after_max_dat_transmissions() -> None:
    """Two transmissions, then an MRW just after the SDU given up; what is complete after it is delivered."""
    scene = play(
        4,
        "A 1",
        "A 1",
        missing_pdu_indication=True,
        status_periodic_ns=50 * MS,
        discard="max_dat",
        max_dat=3,
    )
    assert scene.run(14) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13", "2 A 2", "3 A 3", "4 B NACK 1 ACK 3", "5 A ACK 0", "5 B NACK 1 ACK 4",
        "6 A 1 lost", "7 A MRW 2 N=0 .", "9 B gets c*13", "9 B gets d*13", "9 B MRW_ACK 4 N=0 .", "10 A ACK 0",
        "10 B ACK 4",
    ]  # fmt: skip


def test_mrw_with_n_length() -> None:
    """The SDU given up ends within PDU 2: N_LENGTH = 1."""
    scene = play(
        4,
        "A 1",
        "A 1",
        size=18,
        missing_pdu_indication=True,
        status_periodic_ns=50 * MS,
        discard="max_dat",
        max_dat=3,
    )
    assert scene.run(12) == [
        "0 A 0", "1 A 1 lost", "2 A 2", "3 A 3", "4 A 4", "4 B NACK 1 ACK 3", "5 A ACK 0", "5 B NACK 1 ACK 4",
        "6 A 1 lost", "7 A MRW 2 N=1 .", "8 A 5", "9 B gets c*18", "9 B MRW_ACK 5 N=0 .", "10 B gets d*18",
        "10 A ACK 0", "10 B ACK 6",
    ]  # fmt: skip


def test_an_sdu_is_discarded_after_timer_discard() -> None:
    """All that is not acknowledged after 100 ms is given up."""
    scene = play(
        4, "A 1", "A 1", "A 1", missing_pdu_indication=True, status_periodic_ns=50 * MS, discard="timer",
        discard_ns=100 * MS,
    )  # fmt: skip
    assert scene.run(18) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13", "2 A 2", "3 A 3", "4 B NACK 1 ACK 3", "5 A ACK 0", "5 B NACK 1 ACK 4",
        "6 A 1 lost", "7 A 1 lost", "10 A MRW 4 N=0 ACK 0", "10 B NACK 1 ACK 4", "12 B gets d*13",
        "12 B MRW_ACK 4 N=0 .", "15 A ACK 0", "15 B ACK 4",
    ]  # fmt: skip


def test_an_mrw_is_repeated_if_its_acknowledgement_is_lost() -> None:
    """Timer_MRW 60 ms sends the same MRW again; Send MRW names the PDU of every SDU discarded."""
    scene = play(
        4,
        "A 1",
        "A 2",
        "B MRW_ACK 4 N=0 .",
        send_mrw=True,
        discard="timer",
        discard_ns=100 * MS,
        mrw_ns=60 * MS,
    )
    assert scene.run(30) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13", "2 A 2 lost", "3 A 3", "10 A MRW 0,1,2,4 N=0 .",
        "12 B MRW_ACK 4 N=0 . lost", "16 A MRW 0,1,2,4 N=0 .", "18 B MRW_ACK 4 N=0 .",
    ]  # fmt: skip


def test_discard_of_an_sdu_that_reaches_beyond_the_window() -> None:
    """Its beginning fills the window: LENGTH = 0, and the rest is never sent."""
    scene = play(1, "A 0", size=60, tx_window=2, discard="timer", discard_ns=60 * MS)
    assert scene.run(14) == [
        "0 A 0 lost", "1 A 1", "6 A MRW 2 N=1 beyond .", "8 B MRW_ACK 2 N=1 .",
    ]  # fmt: skip


def test_new_data_wait_for_the_mrw_ack_of_an_sdu_cut_short() -> None:
    """The receiver holds the beginning of a; b must not come before it knows that a ends at the first end in 2."""
    scene = play(1, "A MRW 2 N=1 beyond .", size=60, tx_window=2, discard="timer", discard_ns=60 * MS, mrw_ns=20 * MS)
    scene.run(7)
    scene.offer(b"b" * 12)
    assert scene.run(13) == [
        "0 A 0", "1 A 1", "6 A MRW 2 N=1 beyond . lost", "8 A MRW 2 N=1 beyond .",
        "10 A MRW 2 N=1 beyond .", "10 B MRW_ACK 2 N=1 .", "12 A 2", "12 B MRW_ACK 2 N=1 .",
        "13 A MRW 3 N=0 .", "14 B gets b*12", "15 A MRW 3 N=0 .", "15 B MRW_ACK 3 N=0 .", "17 B MRW_ACK 3 N=0 .",
    ]  # fmt: skip


def test_an_old_mrw_ack_does_not_end_an_mrw_that_was_not_sent() -> None:
    """One STATUS: its ACK 3 makes MRW 1 needless, its MRW_ACK, also of MRW 1, says nothing of b, cut short after 3."""
    scene = play(1, "A 0", tx_window=3, discard="timer", discard_ns=100 * MS, status_periodic_ns=130 * MS)
    scene.delay = 3
    scene.lose = lambda side, line: line == "0 A 0"
    scene.run(4)
    scene.offer(b"b" * 60)
    scene.run(10)
    scene.offer(b"c" * 12)
    assert scene.run(13) == [
        "0 A 0", "3 B gets a*13", "4 A 1", "5 A 2", "10 A MRW 1 N=0 .", "13 A ACK 0", "13 B MRW_ACK 3 N=0 ACK 3",
        "16 A MRW 3 N=1 .", "19 B MRW_ACK 3 N=1 .", "22 A 3", "24 A MRW 4 N=0 .", "25 B gets c*12", "26 A ACK 0",
        "26 B ACK 4",
    ]  # fmt: skip


def test_an_mrw_ack_that_comes_before_its_mrw_is_not_taken() -> None:
    """Timer_Discard has expired, the MRW waits for its opportunity: it is sent."""
    scene = play(2, "A 0", discard="timer", discard_ns=60 * MS)
    scene.run(6)
    scene.ends["A"].expire(60 * MS)
    tell(scene, "A", codec.MrwAck(0, 2), codec.NoMore())
    assert scene.run(5) == ["0 A 0 lost", "1 A 1", "6 A MRW 2 N=0 .", "8 B MRW_ACK 2 N=0 ."]


def test_a_late_mrw_ack_does_not_end_an_mrw_that_was_lost() -> None:
    """MRW 1 is acknowledged twice with SN 3, N=0; the second time, MRW 3 for b, cut short, is lost on its way."""
    scene = play(
        1, "A 0", "A MRW 3 N=1 .", tx_window=3, discard="timer", discard_ns=100 * MS, mrw_ns=30 * MS, max_mrw=9
    )
    scene.delay = 3
    scene.run(4)
    scene.offer(b"b" * 60)
    scene.run(12)
    scene.offer(b"c" * 12)
    assert scene.run(10) == [
        "0 A 0 lost", "4 A 1", "5 A 2", "10 A MRW 1 N=0 .", "13 A MRW 1 N=0 .", "13 B MRW_ACK 3 N=0 .",
        "16 A MRW 3 N=1 . lost", "16 B MRW_ACK 3 N=0 .", "19 A MRW 3 N=1 .", "22 A MRW 3 N=1 .",
        "22 B MRW_ACK 3 N=1 .", "25 A 3", "25 B MRW_ACK 3 N=1 .",
    ]  # fmt: skip
    assert scene.received["B"] == []


def test_only_the_mrw_of_an_sdu_beyond_the_window_says_so() -> None:
    """b is cut where the window ends while the MRW of a, lost, is under way: that one does not become LENGTH = 0."""
    scene = play(1, "A 0", "A MRW 1 N=0 .", tx_window=3, discard="timer", discard_ns=100 * MS, mrw_ns=60 * MS)
    scene.run(4)
    scene.offer(b"b" * 60)
    assert scene.run(26) == [
        "0 A 0 lost", "4 A 1", "5 A 2", "10 A MRW 1 N=0 . lost", "16 A MRW 1 N=0 .", "18 B MRW_ACK 3 N=0 .",
        "20 A MRW 3 N=1 .", "22 B MRW_ACK 3 N=1 .",
    ]  # fmt: skip


def test_mrw_ack_with_n_length() -> None:
    """a ends at the first end in PDU 3, which is missing too: the answer repeats both; the next MRW is that of b."""
    scene = play(0, "A 0", "A 1", "A 2", "A 3", discard="timer", discard_ns=100 * MS, mrw_ns=100 * MS)
    scene.offer(b"a" * 46).run(3)
    scene.offer(b"b" * 22)
    assert scene.run(22) == [
        "0 A 0 lost", "1 A 1 lost", "2 A 2 lost", "3 A 3 lost", "4 A 4", "10 A MRW 3 N=1 .", "12 B MRW_ACK 3 N=1 .",
        "14 A MRW 5 N=0 .", "16 B MRW_ACK 5 N=0 .",
    ]  # fmt: skip


def test_mrw_ack_beyond_has_n_0() -> None:
    """One with SN_ACK beyond SN_MRW and N=1 ends nothing: Timer_MRW sends the MRW again. With N=0 it ends the MRW, and
    that of b, given up meanwhile, is not sent: nothing of b is unacknowledged any more."""
    scene = play(1, "A 0", "B MRW_ACK 3 N=0 .", discard="timer", discard_ns=60 * MS, mrw_ns=40 * MS)
    scene.run(3)
    scene.offer(*sdus(2)).run(5)
    tell(scene, "A", codec.MrwAck(1, 2), codec.NoMore())
    assert scene.run(8) == [
        "0 A 0 lost", "3 A 1", "4 A 2", "6 A MRW 1 N=0 .", "8 B gets a*13", "8 B gets b*13",
        "8 B MRW_ACK 3 N=0 . lost", "10 A MRW 1 N=0 .", "12 B MRW_ACK 3 N=0 .",
    ]  # fmt: skip


def test_an_ack_past_sn_mrw_ends_the_mrw() -> None:
    """The MRW was lost; ACK 4 says that it is needless: it is not sent again at 25."""
    scene = play(
        3, "B ACK 3", "A MRW 3 N=0 .", discard="timer", discard_ns=50 * MS, mrw_ns=200 * MS, poll_last_new=True
    )
    scene.run(6)
    scene.offer(b"z" * 13)
    assert scene.run(25) == [
        "0 A 0", "1 A 1", "2 B gets a*13", "2 A 2 P", "3 B gets b*13", "4 B gets c*13", "4 B ACK 3 lost",
        "5 A MRW 3 N=0 . lost", "6 A 3 P", "8 B gets z*13", "8 B ACK 4",
    ]  # fmt: skip


def test_an_mrw_stops_behind_any_of_fifteen_ends() -> None:
    """14 of the 15 SDUs in PDU 0, lost, are given up 50 ms before the last and the one in PDU 1."""
    scene = play(0, "A 0", pdu_bytes=126, discard="timer", discard_ns=100 * MS)
    for i, each in enumerate(sdus(16, 2)):
        scene.ends["A"].offer(each, 0 if i < 14 else 50 * MS)
    assert scene.run(20) == [
        "0 A 0 lost", "1 A 1", "10 A MRW 0 N=14 .", "12 B MRW_ACK 0 N=14 .", "15 A MRW 2 N=0 .",
        "17 B MRW_ACK 2 N=0 .",
    ]  # fmt: skip


@pytest.mark.slow
def test_the_second_reset_has_another_rsn() -> None:
    """RSN 0, then RSN 1; each is a reset for B, too."""
    scene = play(4, "A 1", "A 1", missing_pdu_indication=True, max_dat=2)
    scene.run(10)
    scene.offer(*sdus(4)).run(10)
    assert scene.run(3) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13", "2 A 2", "3 A 3", "4 B NACK 1 ACK 3", "6 A RESET 0", "8 B RESET_ACK 0",
        "10 A 0", "11 A 1 lost", "12 B gets a*13", "12 A 2", "13 A 3", "14 B NACK 1 ACK 3", "16 A RESET 1",
        "18 B RESET_ACK 1",
    ]  # fmt: skip
    assert scene.ends["B"].counts["resets_taken"] == 2


def test_a_repeated_reset_is_only_acknowledged() -> None:
    """B has begun to send anew when the RESET comes again: what is in flight is kept."""
    scene = play(0, "B RESET_ACK 0", rst_ns=50 * MS, poll_last_new=True, poll_ns=100 * MS)
    tell(scene, "A", codec.Ack(9))
    scene.run(3)
    scene.offer(b"z" * 13, side="B")
    assert scene.run(15) == [
        "0 A RESET 0", "2 B RESET_ACK 0 lost", "3 B 0 P", "5 A RESET 0", "7 B RESET_ACK 0", "13 B 0 P",
        "15 A gets z*13", "15 A ACK 1",
    ]  # fmt: skip


def test_reset_ack_before_data_and_unsent_sdus_are_kept() -> None:
    """B acknowledges with SDUs waiting; both sides discard what was begun and go on with the rest."""
    scene = play(4, "A 1", missing_pdu_indication=True, max_dat=2)
    scene.run(5)
    scene.offer(*sdus(6), side="B").offer(b"x" * 13, b"y" * 13)
    assert scene.run(9) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13", "2 A 2", "3 A 3", "4 B NACK 1 ACK 3", "5 A 4", "5 B 0", "6 A RESET 0",
        "6 B 1", "7 B 2", "8 B RESET_ACK 0", "9 B 0", "10 A 0", "10 B 1", "11 A gets d*13", "11 B 2", "12 B gets y*13",
        "12 A gets e*13", "13 A gets f*13",
    ]  # fmt: skip


@pytest.mark.slow
def test_both_sides_reset_at_once() -> None:
    """Each answers the other's RESET and waits for its own answer; then both begin at 0."""
    scene = play(3, "A 1", "B 1", missing_pdu_indication=True, max_dat=2)
    scene.offer(b"x" * 13, b"y" * 13, b"z" * 13, side="B").run(8)
    scene.offer(b"m" * 13).offer(b"n" * 13, side="B")
    assert scene.run(5) == [
        "0 A 0", "0 B 0", "1 A 1 lost", "1 B 1 lost", "2 B gets a*13", "2 A gets x*13", "2 A 2", "2 B 2",
        "4 A NACK 1 ACK 3", "4 B NACK 1 ACK 3", "6 A RESET 0", "6 B RESET 0", "8 A RESET_ACK 0", "8 B RESET_ACK 0",
        "10 A 0", "10 B 0", "12 B gets m*13", "12 A gets n*13",
    ]  # fmt: skip


@pytest.mark.slow
def test_unanswered_mrws_cause_a_reset() -> None:
    """Two MRWs unanswered, then a RESET."""
    scene = play(3, "A MRW 3 N=0 .", "A MRW 3 N=0 .", discard="timer", discard_ns=50 * MS, mrw_ns=40 * MS, max_mrw=2)
    assert scene.run(20) == [
        "0 A 0", "1 A 1", "2 B gets a*13", "2 A 2", "3 B gets b*13", "4 B gets c*13", "5 A MRW 3 N=0 . lost",
        "9 A MRW 3 N=0 . lost", "13 A RESET 0", "15 B RESET_ACK 0",
    ]  # fmt: skip


@pytest.mark.slow
def test_max_dat_without_discard_causes_a_reset() -> None:
    """MaxDAT = 2: a RESET instead of a second transmission; again when the RESET ACK was lost."""
    scene = play(4, "A 1", "B RESET_ACK 0", missing_pdu_indication=True, max_dat=2, rst_ns=70 * MS)
    assert scene.run(24) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13", "2 A 2", "3 A 3", "4 B NACK 1 ACK 3", "6 A RESET 0",
        "8 B RESET_ACK 0 lost", "13 A RESET 0", "15 B RESET_ACK 0",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_duplicate_reset_is_only_acknowledged() -> None:
    """Timer_RST is shorter than the way: the second RESET comes after the new beginning, and is only acknowledged."""
    scene = play(6, "A 1", missing_pdu_indication=True, max_dat=2, rst_ns=30 * MS)
    assert scene.run(16) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13", "2 A 2", "3 A 3", "4 A 4", "4 B NACK 1 ACK 3", "5 A 5", "6 A RESET 0",
        "8 B RESET_ACK 0", "9 A RESET 0", "11 B RESET_ACK 0",
    ]  # fmt: skip


def test_the_link_ends_after_max_rst_resets() -> None:
    """MaxRST = 3: two RESETs, then never again anything."""
    scene = play(
        3,
        "A 1",
        "A RESET 0",
        "A RESET 0",
        missing_pdu_indication=True,
        max_dat=2,
        rst_ns=50 * MS,
        max_rst=3,
    )
    assert scene.run(40) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13", "2 A 2", "4 B NACK 1 ACK 3", "6 A RESET 0 lost", "11 A RESET 0 lost",
    ]  # fmt: skip


def test_the_link_is_reestablished_after_max_rst_resets() -> None:
    """MaxRST = 3: two RESETs, and again two; the answer to the fourth begins the link anew, and new data arrive."""
    scene = play(
        3, "A 1", "A RESET 0", "A RESET 0", "A RESET 0",
        missing_pdu_indication=True, max_dat=2, rst_ns=50 * MS, max_rst=3, after_max_rst="reestablish",
    )  # fmt: skip
    assert scene.run(25) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13", "2 A 2", "4 B NACK 1 ACK 3", "6 A RESET 0 lost", "11 A RESET 0 lost",
        "16 A RESET 0 lost", "21 A RESET 0", "23 B RESET_ACK 0",
    ]  # fmt: skip
    assert scene.ends["A"].counts["reestablished"] == 1
    assert not scene.ends["A"].ended
    scene.offer(b"d" * 13)
    assert scene.run(4)[-2:] == ["25 A 0", "27 B gets d*13"]


@pytest.mark.slow
def test_an_invalid_status_resets() -> None:
    """LSN above VT(S), and a NACK of a PDU never sent."""
    for octets in ("020090", "0310090000209000"):
        scene = play(2)
        scene.run(3)
        scene.ends["A"].receive(bytes.fromhex(octets), 30 * MS)
        assert scene.ends["A"].counts["invalid"] == 1
        assert scene.run(4) == ["0 A 0", "1 A 1", "2 B gets a*13", "3 B gets b*13", "3 A RESET 0", "5 B RESET_ACK 0"]
