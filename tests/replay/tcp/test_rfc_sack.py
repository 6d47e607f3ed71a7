"""SACK by RFC 6675 and by `pipe`, and FACK: which segments are lost, what is in flight, what is sent."""

from __future__ import annotations

from typing import Any

from tcp_path import Path, Scripted

from multitracer.replay.simulate.loops import model
from multitracer.replay.tcp.rfc.parameters import Parameters
from multitracer.replay.tcp.rfc.scoreboard import awnd, is_lost, lost_below, next_hole, set_pipe

RFC = model("rfc")


def flight(count: int, variant: str = "sack", **options: Any) -> Scripted:
    """A sender that has `count` segments, 1 to `count`, outstanding, and no limited transmit."""
    options = {"limited_transmit": False, "initial_ssthresh_segments": 64, **options}
    return Scripted(RFC, Parameters(syn=False, variant=variant, initial_window=count, **options))


def test_a_segment_is_lost_when_three_above_it_are_sacked() -> None:
    """RFC 6675, 4, IsLost: 2 with 3, 5 and 7 SACKed above; not 4, which has two above it."""
    scripted = flight(10)
    scripted.ack(2, (3, 4))
    scripted.ack(2, (5, 6), (3, 4))
    assert not is_lost(scripted.tcp, 0, 2)
    scripted.ack(2, (7, 8), (5, 6), (3, 4))
    assert [is_lost(scripted.tcp, 0, seq) for seq in (2, 4, 6)] == [True, False, False]


def test_pipe_counts_what_is_neither_sacked_nor_lost_and_what_was_sent_again() -> None:
    """RFC 6675, 4, SetPipe: of 1 to 12, 1 was sent again; 2 to 4 are SACKed; 5 to 12 are in flight."""
    scripted = flight(12)
    assert scripted.ack(1, (2, 5)) == [1]
    assert lost_below(scripted.tcp, 0) == 2
    assert set_pipe(scripted.tcp, 0) == 1 + 8
    assert (scripted.end.cwnd, scripted.end.recover) == (6, 13)


def test_recovery_sends_while_the_pipe_is_below_the_window() -> None:
    """Nothing more at pipe 9 and cwnd 6, then one for each further SACK; the holes that are lost first."""
    scripted = flight(12)
    scripted.ack(1, (2, 5))
    sent = [scripted.ack(1, (6, right), (2, 5)) for right in range(7, 14)]
    assert sent == [[], [], [5], [13], [14], [15], [16]]


def test_one_ack_that_reports_three_segments_starts_the_recovery() -> None:
    """RFC 6675, 5: IsLost(SND.UNA) is enough; a duplicate that reports nothing new does not count."""
    scripted = flight(10)
    assert [scripted.ack(1) for _ in range(5)] == [[]] * 5
    assert scripted.ack(1, (2, 5)) == [1]
    assert scripted.end.fast_retransmits == 1


def test_a_rescue_retransmission_is_sent_once() -> None:
    """RFC 6675, 4, NextSeg 4: with nothing new and no hole, the highest segment that is not SACKed."""
    scripted = Scripted(RFC, Parameters(syn=False, variant="sack", initial_window=6, limited_transmit=False), 6)
    assert scripted.ack(1, (2, 5)) == [1]
    assert scripted.ack(5, at_ms=200) == [6]
    assert scripted.ack(6, at_ms=300) == []


def test_recovery_ends_when_all_that_was_outstanding_is_acknowledged() -> None:
    """The window is half of the flight then."""
    scripted = flight(12)
    scripted.ack(1, (2, 5))
    scripted.ack(12)
    assert scripted.end.recovering == 1
    scripted.ack(13)
    assert (scripted.end.recovering, scripted.end.cwnd) == (0, 6)


def test_the_count_goes_down_by_one_and_by_two() -> None:
    """Fall & Floyd: outstanding less three at the start, one for what is sent; partial ACKs take two."""
    scripted = flight(10, sack_rule="pipe")
    for right in (3, 4):
        scripted.ack(1, (2, right))
    assert scripted.ack(1, (2, 5)) == [1]
    assert scripted.end.pipe == 10 - 3 + 1
    scripted.ack(1, (2, 6))
    assert scripted.end.pipe == 7
    assert scripted.ack(6, (7, 8)) == []
    assert scripted.end.pipe == 7 - 2
    assert scripted.ack(6, (7, 9)) == [6]
    assert scripted.end.pipe == 5 - 1 + 1


def test_a_timeout_empties_the_scoreboard_and_goes_on_behind_what_is_reported_then() -> None:
    """RFC 2018, 8: SACKed segments may be gone; what is SACKed after it is not sent again."""
    scripted = flight(8)
    scripted.ack(1, (3, 4))
    assert [each.seq for each in scripted.expire()] == [1]
    assert (scripted.end.sacked, scripted.end.fack) == (0, 1)
    assert scripted.ack(2, (3, 5), at_ms=5000) == [2]
    assert scripted.ack(5, at_ms=6000) == [5, 6, 7]


def test_fack_counts_from_the_highest_sacked_and_what_was_sent_again() -> None:
    """Mathis & Mahdavi: awnd = SND.NXT - SND.FACK + retran; one SACK more than three away starts it."""
    scripted = flight(12, "fack")
    assert scripted.ack(1, (4, 5)) == [1]
    assert (scripted.end.fack, awnd(scripted.tcp, 0)) == (5, 13 - 5 + 1)
    assert (scripted.end.cwnd, scripted.end.ssthresh) == (6, 6)
    assert scripted.ack(1, (4, 9)) == [2]
    assert next_hole(scripted.tcp, 0, int(scripted.end.fack)) == 3


def test_fack_takes_reordering_for_loss() -> None:
    """Three segments overtaken by six: FACK sends all three again, SACK waits for three reports above each."""
    resent = {}
    for variant in ("sack", "fack"):
        parameters = Parameters(variant=variant, initial_window=10)
        run = Path(RFC.machine, RFC.state.tcp((parameters, parameters), 1), gap_ms=10)
        run.delay_of = lambda packet: 55 if packet.kind == "DATA" and packet.seq in (1, 2, 3) else 0
        resent[variant] = [seq for _, seq in run.write(30).run().resent()]
    assert resent["fack"] == [1, 2, 3]
    assert len(resent["sack"]) == 2


def test_sack_blocks_name_the_latest_arrival_first() -> None:
    """RFC 2018, 4: the block with the segment that came, then those reported before; 8 octets each."""
    parameters = Parameters(variant="sack", initial_window=9)
    run = Path(RFC.machine, RFC.state.tcp((parameters, parameters), 1))
    run.lose((1, 0), (3, 0), (5, 0), (7, 0))
    run.write(9).run(150)
    acks = [(each.octets, each.blocks) for each in run.log if each.end == 1 and each.kind == "ACK"]
    assert acks == [
        (48, ((2, 3),)), (56, ((4, 5), (2, 3))), (64, ((6, 7), (4, 5), (2, 3))),
        (64, ((8, 9), (6, 7), (4, 5))), (64, ((8, 10), (6, 7), (4, 5))),
    ]  # fmt: skip
