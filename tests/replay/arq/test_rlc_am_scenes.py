"""Every procedure of RLC AM as a short play: what each side sends in which opportunity (10 ms), line by line.

Two opportunities are on the way; an SDU of 13 octets fills a PDU of 16 with its length indicator.
A line is the opportunity, the side, and a PDU (sequence number, P for a poll; or the SUFIs of a STATUS).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rlc_scene import MS, Scene

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
        "0 A 0 lost", "1 A 1", "6 A MRW 2 N=0 beyond .", "8 B MRW_ACK 2 N=0 .",
    ]  # fmt: skip


def test_new_data_wait_for_the_mrw_ack_of_an_sdu_cut_short() -> None:
    """The receiver holds the beginning of a; b must not come before it knows that a ends there."""
    scene = play(
        1, "A MRW 2 N=0 beyond .", size=60, tx_window=2, discard="timer", discard_ns=60 * MS, mrw_ns=20 * MS
    )
    scene.run(7)
    scene.offer(b"b" * 13)
    assert scene.run(13) == [
        "0 A 0", "1 A 1", "6 A MRW 2 N=0 beyond . lost", "8 A MRW 2 N=0 beyond .",
        "10 A MRW 2 N=0 beyond .", "10 B MRW_ACK 2 N=0 .", "12 A 2", "12 B MRW_ACK 2 N=0 .",
        "13 A MRW 3 N=0 .", "14 B gets b*13", "15 A MRW 3 N=0 .", "15 B MRW_ACK 3 N=0 .", "17 B MRW_ACK 3 N=0 .",
    ]  # fmt: skip


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
    assert scene.run(6)[-5:] == ["4 B 0 + NACK 1 ACK 3", "6 A gets z*4", "6 A 1", "8 B gets b*13", "8 B gets c*13"]
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
        assert scene.run(1)[-1] == "3 A RESET 0"
