"""Every procedure of RLC AM as a short play: what each side sends in which opportunity (10 ms), line by line.

Two opportunities are on the way; an SDU of 13 octets fills a PDU of 16 with its length indicator.
A line is the opportunity, the side, and a PDU (sequence number, P for a poll; or the SUFIs of a STATUS).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rlc_scene import MS, Scene

from multitracer.parsers.wire import rlc_umts as codec
from multitracer.replay.arq.rlc_am import Parameters

BARE = Parameters(
    pdu_bytes=16, tx_window=16, rx_window=16, poll_last_new=False, poll_last_retransmission=False, poll_ns=0,
    poll_window_percent=0, missing_pdu_indication=False,
)  # fmt: skip
"""Nothing polls and nothing is reported."""


def sdus(count: int, size: int = 13) -> list[bytes]:
    return [bytes([ord("a") + i]) * size for i in range(count)]


def play(count: int, *lost: str, size: int = 13, **parameters: Any) -> Scene:
    """A scene of so many SDUs; the PDUs in `lost` ("A 1") are lost, one for each time they are named."""
    left = list(lost)

    def lose(side: str, line: str) -> bool:
        name = f"{side} {line.split(' ', 1)[1]}"
        if name in left:
            left.remove(name)
            return True
        return False

    return Scene(replace(BARE, **parameters), lose=lose).offer(*sdus(count, size))


def tell(scene: Scene, side: str, *sufis: codec.Sufi) -> None:
    """A STATUS PDU for a side, now."""
    scene.ends[side].receive(codec.encode(codec.Status(sufis)), scene.at * 10 * MS)


def test_poll_in_the_last_new_pdu() -> None:
    """Trigger 1: nothing waits behind it."""
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


def test_poll_periodic() -> None:
    """Trigger 7: as long as there is something to ask for."""
    scene = play(3, poll_periodic_ns=30 * MS)
    assert scene.run(14) == [
        "0 A 0", "1 A 1", "2 B gets a*13", "2 A 2", "3 B gets b*13", "3 A 2 P", "4 B gets c*13", "5 B ACK 3",
        "6 A 2 P", "8 B ACK 3",
    ]  # fmt: skip


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


def test_timer_poll_goes_on_when_the_polled_pdu_is_neither() -> None:
    """3 is acknowledged, 2 below it is not: Timer_Poll expires again at 21."""
    scene = play(4, "A 2", "A 3 P", poll_last_new=True, poll_ns=90 * MS, missing_pdu_indication=True)
    assert scene.run(25) == [
        "0 A 0", "1 A 1", "2 B gets a*13", "2 A 2 lost", "3 B gets b*13", "3 A 3 P lost", "12 A 3 P",
        "14 B NACK 2 ACK 4", "16 A 2", "18 B gets c*13", "18 B gets d*13", "21 A 3 P", "23 B ACK 4",
    ]  # fmt: skip


def test_a_tail_loss_is_never_found_without_a_first_poll() -> None:
    """The deadlock trap: only a timer that starts with a poll, and a window that is never used up."""
    scene = play(2, "A 1", poll_ns=100 * MS, poll_window_percent=70)
    assert scene.run(40) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13",
    ]  # fmt: skip


def test_timer_poll_that_starts_with_unacknowledged_data_finds_a_tail_loss() -> None:
    """The way out of the trap."""
    scene = play(2, "A 1", poll_ns=100 * MS, poll_window_percent=70, poll_when_unacknowledged=True)
    assert scene.run(30) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13", "10 A 1 P", "12 B gets b*13", "12 B ACK 2",
    ]  # fmt: skip


def test_missing_pdu_indication() -> None:
    """A gap makes a report at once."""
    scene = play(4, "A 1", missing_pdu_indication=True)
    assert scene.run(9) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13", "2 A 2", "3 A 3", "4 B NACK 1 ACK 3", "6 A 1", "8 B gets b*13",
        "8 B gets c*13", "8 B gets d*13",
    ]  # fmt: skip


def test_status_periodic() -> None:
    """A report every 50 ms, of both sides."""
    scene = play(3, "A 1", status_periodic_ns=50 * MS)
    assert scene.run(12) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13", "2 A 2", "5 A ACK 0", "5 B NACK 1 ACK 3", "7 A 1", "9 B gets b*13",
        "9 B gets c*13", "10 A ACK 0", "10 B ACK 3",
    ]  # fmt: skip


def test_epc() -> None:
    """Two PDUs asked for at 5; Timer_EPC 50 ms, one PDU a TTI: at 12 both should have come."""
    scene = play(6, "A 1", "A 2", "A 2", missing_pdu_indication=True, epc_ns=50 * MS)
    assert scene.run(18) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13", "2 A 2 lost", "3 A 3", "4 A 4", "5 A 5", "5 B NACK 1,2 ACK 4",
        "7 A 1", "8 A 2 lost", "9 B gets b*13", "12 B NACK 2 ACK 6", "14 A 2", "16 B gets c*13", "16 B gets d*13",
        "16 B gets e*13", "16 B gets f*13",
    ]  # fmt: skip


def test_status_prohibit_delays_one_report() -> None:
    """The gap at 6 is reported at 10."""
    scene = play(6, "A 1", "A 3", missing_pdu_indication=True, status_prohibit_ns=60 * MS)
    assert scene.run(16) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13", "2 A 2", "3 A 3 lost", "4 A 4", "4 B NACK 1 ACK 3", "5 A 5", "6 A 1",
        "8 B gets b*13", "8 B gets c*13", "10 B NACK 3 ACK 6", "12 A 3", "14 B gets d*13", "14 B gets e*13",
        "14 B gets f*13",
    ]  # fmt: skip


def test_max_dat_discards() -> None:
    """Two transmissions, then an MRW just behind the SDU given up; what is complete behind it is delivered."""
    scene = play(
        4, "A 1", "A 1", missing_pdu_indication=True, status_periodic_ns=50 * MS, discard="max_dat", max_dat=3,
    )
    assert scene.run(14) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13", "2 A 2", "3 A 3", "4 B NACK 1 ACK 3", "5 A ACK 0", "5 B NACK 1 ACK 4",
        "6 A 1 lost", "7 A MRW 2 N=0 .", "9 B gets c*13", "9 B gets d*13", "9 B MRW_ACK 4 N=0 .", "10 A ACK 0",
        "10 B ACK 4",
    ]  # fmt: skip


def test_mrw_with_n_length() -> None:
    """The SDU given up ends within PDU 2: N_LENGTH = 1."""
    scene = play(
        4, "A 1", "A 1", size=18, missing_pdu_indication=True, status_periodic_ns=50 * MS, discard="max_dat", max_dat=3,
    )
    assert scene.run(12) == [
        "0 A 0", "1 A 1 lost", "2 A 2", "3 A 3", "4 A 4", "4 B NACK 1 ACK 3", "5 A ACK 0", "5 B NACK 1 ACK 4",
        "6 A 1 lost", "7 A MRW 2 N=1 .", "8 A 5", "9 B gets c*18", "9 B MRW_ACK 5 N=0 .", "10 B gets d*18",
        "10 A ACK 0", "10 B ACK 6",
    ]  # fmt: skip


def test_timer_discards() -> None:
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


def test_lost_mrw_ack() -> None:
    """Timer_MRW 60 ms sends the same MRW again; Send MRW names the PDU of every SDU discarded."""
    scene = play(
        4, "A 1", "A 2", "B MRW_ACK 4 N=0 .", send_mrw=True, discard="timer", discard_ns=100 * MS, mrw_ns=60 * MS,
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
    scene = play(
        1, "A MRW 2 N=1 beyond .", size=60, tx_window=2, discard="timer", discard_ns=60 * MS, mrw_ns=20 * MS
    )
    scene.run(7)
    scene.offer(b"b" * 12)
    assert scene.run(13) == [
        "0 A 0", "1 A 1", "6 A MRW 2 N=1 beyond . lost", "8 A MRW 2 N=1 beyond .",
        "10 A MRW 2 N=1 beyond .", "10 B MRW_ACK 2 N=1 .", "12 A 2", "12 B MRW_ACK 2 N=1 .",
        "13 A MRW 3 N=0 .", "14 B gets b*12", "15 A MRW 3 N=0 .", "15 B MRW_ACK 3 N=0 .", "17 B MRW_ACK 3 N=0 .",
    ]  # fmt: skip


def test_an_old_mrw_ack_does_not_end_an_mrw_that_was_not_sent() -> None:
    """One STATUS: its ACK 3 makes MRW 1 needless, its MRW_ACK, also of MRW 1, says nothing of b, cut short behind 3."""
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
    """One with SN_ACK beyond SN_MRW and N=1 ends nothing: Timer_MRW sends the MRW again."""
    scene = play(1, "A 0", "B MRW_ACK 3 N=0 .", discard="timer", discard_ns=60 * MS, mrw_ns=40 * MS)
    scene.run(3)
    scene.offer(*sdus(2)).run(5)
    tell(scene, "A", codec.MrwAck(1, 2), codec.NoMore())
    assert scene.run(8) == [
        "0 A 0 lost", "3 A 1", "4 A 2", "6 A MRW 1 N=0 .", "8 B gets a*13", "8 B gets b*13",
        "8 B MRW_ACK 3 N=0 . lost", "10 A MRW 1 N=0 .", "12 B MRW_ACK 3 N=0 .", "14 A MRW 3 N=0 .",
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


def test_a_pdu_tells_of_as_many_ends_as_it_has_room_for() -> None:
    """30 SDUs of two octets in one PDU; where an MRW may have to name an end, 15 a PDU."""
    whole = play(0, pdu_bytes=126).offer(*sdus(26, 2))
    assert whole.run(3) == ["0 A 0", *[f"2 B gets {chr(97 + i)}*2" for i in range(26)]]
    signalled = play(0, pdu_bytes=126, discard="timer", discard_ns=900 * MS).offer(*sdus(26, 2))
    assert signalled.run(4) == [
        "0 A 0", "1 A 1", *[f"{2 + i // 15} B gets {chr(97 + i)}*2" for i in range(26)],
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


def test_a_poll_carrier_reaches_max_dat() -> None:
    """Sent twice for its polls, whose answers are lost; the third time a reset or an MRW instead."""
    for discard, last in (("no_discard", ("RESET 0", "RESET_ACK 0")), ("max_dat", ("MRW 1 N=0 .", "MRW_ACK 1 N=0 ."))):
        scene = play(1, "B ACK 1", "B ACK 1", poll_last_new=True, poll_ns=50 * MS, max_dat=3, discard=discard)
        assert scene.run(18) == [
            "0 A 0 P", "2 B gets a*13", "2 B ACK 1 lost", "5 A 0 P", "7 B ACK 1 lost", f"10 A {last[0]}",
            f"12 B {last[1]}",
        ]  # fmt: skip


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


def test_both_sides_reset_at_once() -> None:
    """Each answers the other's RESET, and both begin at 0."""
    scene = play(3, "A 1", "B 1", missing_pdu_indication=True, max_dat=2)
    scene.offer(b"x" * 13, b"y" * 13, b"z" * 13, side="B").run(11)
    scene.offer(b"m" * 13).offer(b"n" * 13, side="B")
    assert scene.run(3) == [
        "0 A 0", "0 B 0", "1 A 1 lost", "1 B 1 lost", "2 B gets a*13", "2 A gets x*13", "2 A 2", "2 B 2",
        "4 A NACK 1 ACK 3", "4 B NACK 1 ACK 3", "6 A RESET 0", "6 B RESET 0", "8 A RESET_ACK 0", "8 B RESET_ACK 0",
        "11 A 0", "11 B 0", "13 B gets m*13", "13 A gets n*13",
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
    assert [sdu[:1] for sdu in scene.ends["B"].delivered()] == [b"a", b"b", b"c", b"x"]
    counts = scene.ends["B"].counts
    assert (counts["received"], counts["outside"], counts["duplicate"]) == (7, 2, 1)


def test_max_mrw_resets() -> None:
    """Two MRWs unanswered, then a RESET."""
    scene = play(3, "A MRW 3 N=0 .", "A MRW 3 N=0 .", discard="timer", discard_ns=50 * MS, mrw_ns=40 * MS, max_mrw=2)
    assert scene.run(20) == [
        "0 A 0", "1 A 1", "2 B gets a*13", "2 A 2", "3 B gets b*13", "4 B gets c*13", "5 A MRW 3 N=0 . lost",
        "9 A MRW 3 N=0 . lost", "13 A RESET 0", "15 B RESET_ACK 0",
    ]  # fmt: skip


def test_no_discard_resets() -> None:
    """MaxDAT = 2: a RESET instead of a second transmission; again when the RESET ACK was lost."""
    scene = play(4, "A 1", "B RESET_ACK 0", missing_pdu_indication=True, max_dat=2, rst_ns=70 * MS)
    assert scene.run(24) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13", "2 A 2", "3 A 3", "4 B NACK 1 ACK 3", "6 A RESET 0",
        "8 B RESET_ACK 0 lost", "13 A RESET 0", "15 B RESET_ACK 0",
    ]  # fmt: skip


def test_duplicate_reset() -> None:
    """Timer_RST is shorter than the way: the second RESET comes after the new beginning, and is only acknowledged."""
    scene = play(6, "A 1", missing_pdu_indication=True, max_dat=2, rst_ns=30 * MS)
    assert scene.run(16) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13", "2 A 2", "3 A 3", "4 A 4", "4 B NACK 1 ACK 3", "5 A 5", "6 A RESET 0",
        "8 B RESET_ACK 0", "9 A RESET 0", "11 B RESET_ACK 0",
    ]  # fmt: skip


def test_max_rst_ends() -> None:
    """MaxRST = 3: two RESETs, then never again anything."""
    scene = play(
        3, "A 1", "A RESET 0", "A RESET 0", missing_pdu_indication=True, max_dat=2, rst_ns=50 * MS, max_rst=3,
    )
    assert scene.run(40) == [
        "0 A 0", "1 A 1 lost", "2 B gets a*13", "2 A 2", "4 B NACK 1 ACK 3", "6 A RESET 0 lost", "11 A RESET 0 lost",
    ]  # fmt: skip


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


def test_an_invalid_status_resets() -> None:
    """LSN above VT(S), and a NACK of a PDU never sent."""
    for octets in ("020090", "0310090000209000"):
        scene = play(2)
        scene.run(3)
        scene.ends["A"].receive(bytes.fromhex(octets), 30 * MS)
        assert scene.ends["A"].counts["invalid"] == 1
        assert scene.run(4) == ["0 A 0", "1 A 1", "2 B gets a*13", "3 B gets b*13", "3 A RESET 0", "5 B RESET_ACK 0"]
