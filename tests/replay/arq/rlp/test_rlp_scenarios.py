"""RLP's procedures, one at a time, frame by frame: what goes, what arrives (x: does not), and when.

Frames are on the way for two slots and T1 is six, unless a test says otherwise; lines are
slot, side, direction, type, N(S), N(R), P or F.
"""

from __future__ import annotations

import pytest
from rlp_story import END, SLOT_NS, TIME, A, B, Run, link, story

from multitracer.replay.arq.rlp import machine, state
from multitracer.replay.arq.rlp.entity import Parameters
from multitracer.replay.arq.rlp.octets import Rlp
from multitracer.wire import rlp

FULL = 24


def lines(text: str) -> list[str]:
    """The lines of an expected story."""
    return [line.strip() for line in text.strip().splitlines()]


def log_lines(run: Run, *sides: str) -> list[str]:
    """The story of a run, of all sides or some."""
    return [line for line in story(run.carry().log) if not sides or line.split()[1] in sides]


def test_a_single_loss_is_repaired_by_srej() -> None:
    """B asks for frame 1 as soon as frame 2 shows that it is missing; SREJ acknowledges nothing."""
    run = link(11, a=((0, 3 * FULL),), lost_a=(1,))
    assert log_lines(run) == lines("""
        0 A > I RR 0 0
        1 A > I RR 1 0
        2 B < I RR 0 0
        2 A > I RR 2 0
        2 B > RR 1
        3 B x I RR 1 0
        4 A < RR 1
        4 B < I RR 2 0
        4 B > SREJ 1
        5 B > RR 1
        6 A < SREJ 1
        6 A > I RR 1 0
        7 A < RR 1
        8 B < I RR 1 0
        8 B > RR 3
        10 A < RR 3""")
    assert run.deliveries[:, [TIME, END]].tolist() == [[2 * SLOT_NS, FULL], [8 * SLOT_NS, 3 * FULL]]


def test_a_lost_srej_is_repeated_by_its_timer() -> None:
    """T_RCVS (six slots) runs out before T1 does, and the same frame is asked for again."""
    run = link(17, a=((0, 3 * FULL),), lost_a=(1,), lost_b=(4,), t1_ns=20 * SLOT_NS, t_rcvs_ns=6 * SLOT_NS)
    assert log_lines(run, "B") == lines("""
        2 B < I RR 0 0
        2 B > RR 1
        3 B x I RR 1 0
        4 B < I RR 2 0
        4 B > SREJ 1
        5 B > RR 1
        10 B > SREJ 1
        14 B < I RR 1 0
        14 B > RR 3""")
    assert run.summary(B)["delivered"] == 3 * FULL


def test_the_loss_of_the_last_frame_is_repaired_by_a_checkpoint() -> None:
    """No later frame shows the loss: A polls when T1 runs out, and B answers with F=1 at once."""
    run = link(17, a=((0, 2 * FULL),), lost_a=(1,))
    assert log_lines(run) == lines("""
        0 A > I RR 0 0
        1 A > I RR 1 0
        2 B < I RR 0 0
        2 B > RR 1
        3 B x I RR 1 0
        4 A < RR 1
        10 A > RR 0 P
        12 B < RR 0 P
        12 B > RR 1 F
        14 A < RR 1 F
        14 A > I RR 1 0
        16 B < I RR 1 0
        16 B > RR 2""")


def test_a_polled_receiver_drops_what_is_out_of_sequence() -> None:
    """B had frames 2 and 3; A goes back to 1 and sends them again, and B takes them as new."""
    run = link(20, a=((0, 4 * FULL),), lost_a=(1,), lost_b=(4,), t_rcvs_ns=40 * SLOT_NS)
    assert log_lines(run, "B") == lines("""
        2 B < I RR 0 0
        2 B > RR 1
        3 B x I RR 1 0
        4 B < I RR 2 0
        4 B > SREJ 1
        5 B < I RR 3 0
        5 B > RR 1
        12 B < RR 0 P
        12 B > RR 1 F
        16 B < I RR 1 0
        16 B > RR 2
        17 B < I RR 2 0
        17 B > RR 3
        18 B < I RR 3 0
        18 B > RR 4""")
    assert run.summary(A)["retransmissions"] == 3


def test_rej_makes_the_sender_go_back() -> None:
    """Everything from N(R) is sent again, in order; what B got out of sequence it had not kept."""
    run = link(11, a=((0, 4 * FULL),), lost_a=(1,), reject=True)
    assert log_lines(run, "A") == lines("""
        0 A > I RR 0 0
        1 A > I RR 1 0
        2 A > I RR 2 0
        3 A > I RR 3 0
        4 A < RR 1
        6 A < REJ 1
        6 A > I RR 1 0
        7 A < RR 1
        7 A > I RR 2 0
        8 A > I RR 3 0
        10 A < RR 2""")


def test_rnr_stops_new_frames_until_rr() -> None:
    """A polls a busy B every T1, so that a lost RR does no harm; RR lets it go on."""
    run = link(25, a=((0, FULL), (3, FULL)), lost_b=(13,))
    machine.set_busy(run.engine.b, 1, 0)
    run.carry(13)
    machine.set_busy(run.engine.b, 0, 13 * SLOT_NS)
    assert log_lines(run, "A") == lines("""
        0 A > I RR 0 0
        2 A < RNR 0
        4 A < RNR 1
        10 A > RR 0 P
        14 A < RNR 1 F
        15 A x RR 1
        20 A > RR 0 P
        24 A < RR 1 F
        24 A > I RR 1 0""")


def test_n2_unanswered_polls_reset_the_link_and_both_sides_flush() -> None:
    """With N2 = 1 the second timeout is one too many; what was offered before is lost, what comes after is not."""
    run = link(24, a=((0, FULL), (11, FULL), (13, FULL)), b=((13, FULL),), lost_a=tuple(range(12)), n2=1)
    assert log_lines(run) == lines("""
        0 A > I RR 0 0
        2 B x I RR 0 0
        6 A > RR 0 P
        8 B x RR 0 P
        12 A reset
        12 A flush 48
        12 A > SABM P
        13 B > I RR 0 0
        14 B < SABM P
        14 B reset
        14 B flush 24
        14 B > UA F
        15 A < I RR 0 0
        16 A < UA F
        16 A > I RR 0 0
        18 B < I RR 0 0
        18 B > RR 1
        20 A < RR 1""")
    assert run.flushed(A) == [(0, 2 * FULL)]
    assert run.summary(B)["skipped"] == 2 * FULL
    assert run.deliveries[:, END].tolist() == [3 * FULL]


def test_a_reset_nobody_answers_ends_the_link() -> None:
    """SABM goes 1 + N2 times; then the link has failed, and nothing is sent any more."""
    run = link(200, a=((0, FULL),), lost_a=tuple(range(200)), n2=2)
    sabm = [line for line in log_lines(run, "A") if "SABM" in line]
    assert sabm == ["18 A > SABM P", "24 A > SABM P", "30 A > SABM P"]
    assert run.summary(A)["state"] == state.FAILED


def test_a_persistent_end_never_gives_up() -> None:
    """The link recovers when frames arrive again."""
    run = link(260, a=((0, FULL), (40, FULL)), lost_a=tuple(range(200)), n2=2, persistent=True)
    run.carry()
    assert run.summary(A)["state"] == state.ABM
    assert run.summary(B)["delivered"] == FULL


def test_the_link_works_after_crossing_resets() -> None:
    """Both ends give up at the same time; each answers the other's SABM, and data flows again."""
    run = link(60, a=((0, FULL), (40, FULL)), b=((0, FULL), (40, FULL)), lost_a=tuple(range(18)),
               lost_b=tuple(range(18)), n2=1, delay_slots=4, t1_ns=9 * SLOT_NS)  # fmt: skip
    run.carry()
    assert [run.summary(side)["resets"] for side in (A, B)] == [1, 1]
    assert [run.summary(side)["delivered"] for side in (A, B)] == [FULL, FULL]


def test_xoff_stops_characters_and_xon_lets_them_go() -> None:
    """A buffer of 72 octets fills by 12 a slot (24 come, 12 leave); the gap is what drains 48, and the way there."""
    far = {"drain_bytes_per_s": 600, "xoff_bytes": 72, "xon_bytes": 24}
    run = link(24, a=((0, 10 * FULL),), parameters_b=far)
    assert log_lines(run) == lines("""
        0 A > I RR 0 0
        1 A > I RR 1 0
        2 B < I RR 0 0
        2 A > I RR 2 0
        2 B > RR 1
        3 B < I RR 1 0
        3 A > I RR 3 0
        3 B > RR 2
        4 A < RR 1
        4 B < I RR 2 0
        4 A > I RR 4 0
        4 B > RR 3
        5 A < RR 2
        5 B < I RR 3 0
        5 A > I RR 5 0
        5 B > RR 4
        6 A < RR 3
        6 B < I RR 4 0
        6 A > I RR 6 0
        6 B > I RR 0 5
        7 A < RR 4
        7 B < I RR 5 0
        7 A > I RR 7 0
        7 B > RR 6
        8 A < I RR 0 5
        8 B < I RR 6 0
        8 A xoff
        8 A > RR 1
        8 B > RR 7
        9 A < RR 6
        9 B < I RR 7 0
        9 B > RR 8
        10 A < RR 7
        10 B < RR 1
        11 A < RR 8
        16 B > I RR 1 8
        18 A < I RR 1 8
        18 A xon
        18 A > I RR 8 2
        19 A > I RR 9 2
        20 B < I RR 8 2
        20 B > RR 9
        21 B < I RR 9 2
        21 B > RR 10
        22 A < RR 9
        23 A < RR 10""")
    assert run.summary(B)["delivered"] == 10 * FULL


@pytest.mark.parametrize("n2", [1, 2, 5])
def test_an_srej_is_sent_n2_times_again(n2: int) -> None:
    """With none of them arriving B then resets the link."""
    slots = 6 * (n2 + 2) + 10
    run = link(slots, a=None, lost_a=(0,), lost_b=tuple(range(slots)), n2=n2, window=61, parameters_b={})
    before_reset = [line for line in log_lines(run, "B") if " > " in line]
    before_reset = before_reset[: [line.split()[3] for line in before_reset].index("SABM")]
    assert sum(line.split()[3] == "SREJ" for line in before_reset) == 1 + n2


@pytest.mark.slow
@pytest.mark.parametrize("n2", [1, 2, 5])
def test_a_frame_is_sent_n2_times_again(n2: int) -> None:
    """Frame 0 is lost whenever it is sent, and nothing else is: then its sender resets the link."""
    lost: set[int] = set()
    while True:
        run = link(80 + 20 * n2, a=((0, FULL * 400),), lost_a=tuple(lost), n2=n2, window=20)
        sent = [line.split() for line in log_lines(run, "A") if " > " in line]
        kinds = [words[3] for words in sent]
        until = sent[: kinds.index("SABM")] if "SABM" in kinds else sent
        zeros = {int(words[0]) for words in until if words[3] == "I" and words[5] == "0"}
        if zeros == lost:
            break
        lost = zeros
    assert "SABM" in kinds
    assert len(lost) == 1 + n2


def test_an_srej_answers_no_poll() -> None:
    """Even with F=1 it is only a request (24.022 5: RR and RNR answer)."""
    one = Rlp(Parameters(t1_ns=SLOT_NS))
    one.offer(b"x" * FULL)
    one.next_frame(0)
    one.expire(2 * SLOT_NS)
    assert rlp.decode(one.next_frame(2 * SLOT_NS))[:1] == ("RR",)
    assert one.entity.poll_state == state.WAITING
    one.receive(rlp.encode(rlp.Frame("SREJ", -1, 0, 1, 0)), 3 * SLOT_NS)
    assert one.entity.poll_state == state.WAITING
    one.receive(rlp.encode(rlp.Frame("RR", -1, 1, 1, 0)), 4 * SLOT_NS)
    assert one.entity.poll_state == state.IDLE
