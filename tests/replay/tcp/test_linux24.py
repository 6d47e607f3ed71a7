"""Linux 2.4's TCP: states, marks, reordering, undo, the timer, and the receiver's ACKs and window."""

from __future__ import annotations

from typing import Any

import pytest
from tcp_path import MS, Path, Scripted

from multitracer.model.errors import UsageError
from multitracer.replay.arq.fields import record
from multitracer.replay.simulate.loops import model
from multitracer.replay.tcp.linux24.parameters import Parameters
from multitracer.replay.tcp.linux24.state import CWR, DISORDER, END, LOSS, OPEN, RECOVERY
from multitracer.replay.tcp.linux24.timing import sample
from multitracer.replay.tcp.linux24.windows import in_flight

LINUX = model("linux-2.4")


def path(gap_ms: float = 0, **options: Any) -> Path:
    """Two ends 50 ms apart, whose receive windows grow from 5840 octets to 64 kB."""
    windows = {"receive_window_bytes": 65_535, "receive_window_initial_bytes": 5840}
    parameters = Parameters(**(windows | options))
    return Path(LINUX.machine, LINUX.state.tcp((parameters, parameters), 1), gap_ms=gap_ms)


def flight(count: int, segments: int = 0, **options: Any) -> Scripted:
    """A sender that has `count` segments, 1 to `count`, outstanding, and no more to send but up to `segments`."""
    parameters = Parameters(syn=False, initial_window=count, **options)
    return Scripted(LINUX, parameters, max(count, segments))


def marks(scripted: Scripted) -> tuple[int, int, int, int]:
    """Segments SACKed, lost, retransmitted, and in flight."""
    end = scripted.end
    return int(end.sacked_out), int(end.lost_out), int(end.retrans_out), int(in_flight(end))


def test_fack_marks_what_lies_three_below_the_highest_sacked() -> None:
    """Four SACKed above the first: it is lost, as fackets_out 5 less reordering 3 makes two from the head."""
    scripted = flight(12)
    assert scripted.ack(1, (2, 3)) == []
    assert scripted.end.ca == DISORDER
    assert scripted.ack(1, (2, 6)) == [1]
    assert (scripted.end.ca, scripted.end.high_seq, scripted.end.ssthresh) == (RECOVERY, 13, 6)
    assert marks(scripted) == (4, 1, 1, 12 - 4 - 1 + 1)


def test_disorder_is_left_when_nothing_is_missing() -> None:
    """A small reordering changes nothing but the state."""
    scripted = flight(6)
    scripted.ack(1, (2, 3))
    scripted.ack(3)
    scripted.ack(7)
    assert (scripted.end.ca, scripted.end.cwnd, scripted.end.retransmissions) == (OPEN, 6, 0)


def test_without_fack_segments_sacked_are_counted() -> None:
    """One SACK far above the hole is no loss, three segments SACKed are; to FACK it is one."""
    scripted = flight(12, fack=False)
    assert scripted.ack(1, (9, 10)) == []
    assert scripted.end.ca == DISORDER
    assert scripted.ack(1, (9, 12)) == [1]
    assert flight(12).ack(1, (9, 10)) == [1]


def test_without_sack_duplicate_acks_are_counted() -> None:
    """NewReno: the head is lost with the third duplicate, and each partial ACK shows the next hole."""
    scripted = flight(10, sack=False)
    assert [scripted.ack(1) for _ in range(3)] == [[], [], [1]]
    assert scripted.end.ca == RECOVERY
    assert 4 in scripted.ack(4, at_ms=200)


def test_rate_halving_takes_a_segment_with_every_second_ack() -> None:
    """From 12 to 6 over a round trip: every second ACK lets a segment out. Then DSACKs are awaited in disorder."""
    scripted = flight(12, segments=100)
    sent = [len(scripted.ack(1, (2, right))) for right in range(3, 14)]
    assert sent[:4] == [1, 1, 1, 0]
    assert max(sent) == 1
    assert sum(sent[3:]) <= 4
    scripted.ack(int(scripted.end.high_seq), at_ms=200)
    assert scripted.end.ca == DISORDER
    assert scripted.end.cwnd <= scripted.end.ssthresh == 6


def test_a_hole_that_fills_by_itself_switches_fack_off() -> None:
    """Segment 2 comes after 3 to 7: five overtook it, and it too counts. FACK is off for the connection."""
    scripted = flight(12)
    assert scripted.ack(1, (3, 4)) == []
    scripted.ack(1, (3, 8))
    assert (scripted.end.fack, scripted.end.reordering) == (1, 3)
    scripted.ack(1, (2, 8))
    assert (scripted.end.fack, scripted.end.reordering) == (0, 7 + 1 - 2)


def test_a_burst_under_reordering_happens_once() -> None:
    """Three segments overtaken by six are resent once; the same again later is not taken for loss."""
    run = path(gap_ms=10, initial_window=12, receive_window_initial_bytes=None)
    late = (1, 2, 3, 41, 42, 43)
    run.delay_of = lambda packet: 65 if packet.kind == "DATA" and packet.seq in late and not packet.sending else 0
    run.write(80).run()
    resent = [seq for _, seq in run.resent()]
    assert {1} <= set(resent) <= {1, 2, 3}
    assert (run.ends[0].fack, run.ends[0].timeouts) == (0, 0)
    assert run.ends[0].reordering > 3


@pytest.mark.parametrize(("kept", "reordering"), [(True, 6), (False, 3)])
def test_metrics_are_kept_only_if_asked_for(kept: bool, reordering: int) -> None:
    """The next connection of an end begins with the reordering found, and without FACK then."""
    scripted = flight(12, metrics_kept=kept)
    scripted.ack(1, (3, 8))
    scripted.ack(1, (2, 8))
    scripted.machine.start(scripted.tcp, 0, 1, 0)
    assert (scripted.end.reordering, scripted.end.fack) == (reordering, int(not kept))


def test_an_echo_from_before_the_retransmission_undoes_the_recovery() -> None:
    """Timestamps: the ACK of the original gives window and ssthresh back, and no hole is marked."""
    scripted = flight(12)
    assert scripted.ack(1, (2, 6), at_ms=100) == [1]
    scripted.ack(13, at_ms=150, echo_ms=50)
    assert scripted.end.ca == OPEN
    assert scripted.end.ssthresh > 100
    assert scripted.end.undo_marker == 0


def test_an_echo_of_the_retransmission_undoes_nothing() -> None:
    """The reduction stays when the retransmission was needed."""
    scripted = flight(12)
    scripted.ack(1, (2, 6), at_ms=100)
    scripted.ack(13, at_ms=250, echo_ms=100)
    assert (scripted.end.ca, scripted.end.ssthresh) == (DISORDER, 6)


def test_dsacks_for_all_retransmissions_undo_the_reduction() -> None:
    """Without timestamps: a DSACK for the only retransmission, when all else is acknowledged."""
    scripted = flight(12, timestamps=False)
    assert scripted.ack(1, (2, 6)) == [1]
    scripted.ack(13, (1, 2), at_ms=200)
    assert (scripted.end.ca, scripted.end.undo_retrans, scripted.end.undo_marker) == (OPEN, 0, 0)
    assert scripted.end.ssthresh > 100


def test_a_timeout_marks_all_as_lost_and_sends_the_first() -> None:
    """What was SACKed stays so; the others follow as ACKs come, in slow start."""
    scripted = flight(8)
    scripted.ack(1, (2, 3))
    assert [each.seq for each in scripted.expire()] == [1]
    assert (scripted.end.ca, scripted.end.cwnd, scripted.end.ssthresh) == (LOSS, 1, 4)
    assert marks(scripted) == (1, 7, 1, 1)
    assert scripted.ack(3, at_ms=4000, echo_ms=3500) == [3, 4]


def test_a_spurious_timeout_is_undone_by_the_first_ack() -> None:
    """Eifel-like: the echo is older than the retransmission; nothing more is sent again."""
    scripted = flight(8, segments=20)
    first = scripted.expire()[0]
    sent = scripted.ack(2, at_ms=first.time_ms + 10, echo_ms=1)
    assert (scripted.end.ca, scripted.end.lost_out) == (OPEN, 0)
    assert min(sent) > 8
    assert scripted.end.timeouts == 1


def test_a_local_drop_halves_the_window_by_and_by() -> None:
    """CWR: nothing is resent, and the window is half when all that was outstanding is acknowledged."""
    scripted = flight(8, segments=100)
    scripted.machine.local_drop(scripted.tcp, 0, scripted.tcp.out.rows[0].copy(), 0)
    assert scripted.end.ca == CWR
    for number in range(2, 11):
        scripted.ack(number)
    assert (scripted.end.ca, scripted.end.cwnd, scripted.end.retransmissions) == (OPEN, 4, 0)


def test_the_rto_is_srtt_and_at_least_200_ms() -> None:
    """Ticks of 10 ms by hand: 30, then 38: srtt 31, M = 60 + 8 - 15 = 53. Quarters of 3 ticks are none: 23 stay."""
    rules = Parameters().rules()
    end = record(END)
    sample(end, rules, 0, 300 * MS)
    assert (end.srtt, end.mdev, end.rttvar, end.rto) == (240, 60, 60, 90)
    sample(end, rules, 0, 380 * MS)
    assert (end.srtt, end.mdev, end.rto) == (248, 53, 31 + 60)
    steady = record(END)
    for number in range(200):
        steady.una, steady.nxt = number + 1, number + 1
        sample(steady, rules, 0, 300 * MS)
    assert steady.rto == 30 + 23


def test_retransmission_timers_expire_at_ticks() -> None:
    """Without a sample after 3 s, then twice as long each time."""
    run = path()
    run.delay_of = lambda _: None
    run.write(1, time_ms=3).run(40_000)
    assert run.times(kind="SYN") == [(3, 0), (3000, 0), (9000, 0), (21_000, 0)]


def test_the_first_segments_are_acknowledged_at_once() -> None:
    """Quick ACKs for half the window, then every second segment."""
    run = path(gap_ms=12).write(40).run()
    acked = [ack for _, ack in run.times(1, "ACK")]
    assert acked[:2] == [2, 3]
    assert all(b - a == 2 for a, b in zip(acked[-6:-1], acked[-5:-1], strict=False))


def test_a_lone_segment_is_acknowledged_after_40_to_200_ms() -> None:
    """The last of an odd number, 12 ms after the one before; timers count ticks of 10 ms, so a part of one less."""
    run = path(gap_ms=12).write(41).run()
    (before, _), (last, ack) = run.times(1, "ACK")[-2:]
    assert ack == 42
    assert 30 <= last - (before + 12) <= 200


def test_the_receive_window_grows_from_four_segments_to_all() -> None:
    """5840 octets are 4 segments; two more with each in order, of which the third and fourth have one ACK."""
    run = path(gap_ms=5).write(200).run()
    windows = [each.limit - each.ack for each in run.log if each.end == 1]
    assert windows[:4] == [4, 6, 8, 12]
    assert max(windows) == windows[-1] == 65_535 // 1448


def test_a_duplicate_is_reported_by_a_dsack() -> None:
    """RFC 2883: the first block is what came twice, below the ACK; 8 octets."""
    run = path(sack_block_bytes=8, receive_window_initial_bytes=None)
    run.write(1).run(149)
    duplicate = run.log[-1]
    assert duplicate.kind == "DATA"
    run.run(10_000)
    packet = run.tcp.out.rows[0].copy()
    packet.bits, packet.seq, packet.end, packet.ack, packet.blocks = 8 | 4, 1, 0, 1, 0
    run.at(10_000, "receive", 1, packet)
    run.run(20_000)
    assert (run.log[-1].blocks, run.log[-1].ack, run.log[-1].octets) == (((1, 2),), 2, 60)


@pytest.mark.parametrize(
    "wrong", [{"variant": "reno"}, {"delayed_ack": "second"}, {"receive_window_initial_bytes": 5}, {"sack": None}]
)
def test_parameters_have_ranges(wrong: dict[str, Any]) -> None:
    """What Linux 2.4 cannot have is a usage error that names it."""
    with pytest.raises(UsageError, match=next(iter(wrong))):
        Parameters(**wrong)
