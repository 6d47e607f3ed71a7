"""TCP by its RFCs: handshake, windows, Reno and NewReno, in small exchanges."""

from __future__ import annotations

from typing import Any

import pytest
from tcp_path import MS, Path, Scripted

from multitracer.model.errors import UsageError
from multitracer.replay.simulate.loops import model
from multitracer.replay.tcp.rfc.parameters import Parameters

RFC = model("rfc")


def path(**options: Any) -> Path:
    """Two ends with these parameters, 50 ms apart."""
    parameters = Parameters(**options)
    return Path(RFC.machine, RFC.state.tcp((parameters, parameters), 1))


def flight(count: int, **options: Any) -> Scripted:
    """A sender that has `count` segments, 1 to `count`, outstanding."""
    parameters = Parameters(syn=False, initial_window=count, **options)
    scripted = Scripted(RFC, parameters)
    assert [each.seq for each in scripted.first] == list(range(1, count + 1))
    return scripted


def test_a_connection_begins_with_syn_syn_and_ack_and_data_that_acknowledges() -> None:
    """The initial window follows the SYN and ACK, whose round trip is a sample."""
    run = path().write(2).run()
    told = [(each.time_ms, each.end, each.kind, each.seq, each.ack) for each in run.log]
    assert told == [
        (0, 0, "SYN", 0, 0), (50, 1, "SYN", 0, 1), (100, 0, "DATA", 1, 1), (100, 0, "DATA", 2, 1),
        (150, 1, "ACK", 1, 2), (150, 1, "ACK", 1, 3),
    ]  # fmt: skip
    assert [each.octets for each in run.log] == [40, 40, 250, 250, 40, 40]
    assert (run.ends[0].acked, run.ends[1].delivered, run.ends[0].established) == (2, 2, 1)


def test_a_lost_syn_costs_the_first_rto_and_the_initial_window() -> None:
    """RFC 5681, 3.1: one segment after a SYN was lost; RFC 6298, 5.7: RTO of 3 s without a sample."""
    run = path(initial_rto_s=1)
    run.delay_of = lambda packet: None if packet.kind == "SYN" and packet.end == 0 and packet.sending == 0 else 0
    run.write(3).run(1150)
    assert run.times(kind="SYN") == [(0, 0), (1000, 0)]
    assert run.times() == [(1100, 1)]
    assert run.ends[0].rto_ns == 3000 * MS


def test_data_goes_both_ways_at_once_with_acks_on_it() -> None:
    """With every second segment acknowledged, 20 ACKs would go without data; data that is sent anyway carries some."""
    run = path(delayed_ack="second").write(20).write(20, time_ms=100, k=1).run()
    assert [int(end.delivered) for end in run.ends] == [20, 20]
    data = [each for each in run.log if each.kind == "DATA"]
    alone = [each for each in run.log if each.kind == "ACK"]
    assert len(data) == 40
    assert len(alone) < 20
    assert max(each.ack for each in data) > 15


def test_fins_end_both_directions() -> None:
    """A FIN follows the last data under the next number; the other end answers with its own."""
    run = path(fin=True).write(2)
    run.at(1, "close", 0)
    run.run()
    assert run.times(0, "FIN") == [(200, 3)]
    assert run.times(1, "FIN") == [(250, 1)]
    assert (run.ends[0].acked, run.ends[1].delivered, run.ends[0].delivered) == (2, 2, 0)


def test_writes_end_with_short_segments() -> None:
    """Each write's last segment has its own size, also when it is sent again."""
    run = path(initial_window=3)
    run.lose((2, 0))
    run.write(2, last=90).write(1, last=70).run()
    assert [(each.seq, each.octets) for each in run.log if each.kind == "DATA"] == [(1, 250), (2, 90), (3, 70), (2, 90)]


def test_slow_start_doubles_and_congestion_avoidance_adds_one_a_round_trip() -> None:
    """One segment more for each ACK below ssthresh; from there on 1/cwnd."""
    scripted = flight(2, initial_ssthresh_segments=4)
    assert scripted.ack(2) == [3, 4]
    assert scripted.ack(3) == [5, 6]
    assert scripted.end.cwnd == 4
    for number in range(4, 8):
        scripted.ack(number)
    assert 4.9 < scripted.end.cwnd < 5


def test_reno_retransmits_on_the_third_duplicate_ack() -> None:
    """RFC 5681, 3.2: half of the flight and three; each further duplicate inflates; new data deflates."""
    scripted = flight(8, limited_transmit=False, initial_ssthresh_segments=20)
    assert [scripted.ack(1) for _ in range(2)] == [[], []]
    assert scripted.ack(1) == [1]
    assert (scripted.end.cwnd, scripted.end.ssthresh) == (7, 4)
    assert [scripted.ack(1) for _ in range(4)] == [[], [9], [10], [11]]
    scripted.ack(9)
    assert (scripted.end.cwnd, scripted.end.dupacks, scripted.end.fast_retransmits) == (4, 0, 1)


def test_limited_transmit_sends_new_data_and_does_not_count_it_as_flight() -> None:
    """RFC 3042: one segment for each of two duplicates; RFC 5681, 3.2: ssthresh is half of 8, not of 10."""
    scripted = flight(8)
    assert [scripted.ack(1) for _ in range(3)] == [[9], [10], [1]]
    assert scripted.end.ssthresh == 4


def test_duplicates_with_data_or_another_window_do_not_count() -> None:
    """RFC 5681, 2: only ACKs without data that change nothing are duplicates."""
    scripted = flight(8, limited_transmit=False)
    for more in (1, 2, 3):
        scripted.ack(1, more=more)
    for seq in (1, 2, 3):
        scripted.data(seq, 120)
    assert scripted.end.dupacks == 0


def test_newreno_repairs_a_hole_with_each_partial_ack() -> None:
    """RFC 6582, 3.2: deflated by what was acknowledged, and one more; only the first restarts the timer."""
    scripted = flight(10, variant="newreno", limited_transmit=False)
    for _ in range(3):
        scripted.ack(1)
    assert (scripted.end.cwnd, scripted.end.ssthresh) == (8, 5)
    assert scripted.ack(4, at_ms=200) == [4]
    assert scripted.end.cwnd == 8 - 3 + 1
    first = int(scripted.end.rtx_ns)
    assert scripted.ack(7, at_ms=400) == [7]
    assert scripted.end.rtx_ns == first
    scripted.ack(11, at_ms=500)
    assert (scripted.end.recovering, scripted.end.cwnd) == (0, 2)


def test_reno_leaves_recovery_with_the_first_new_ack() -> None:
    """Two losses in a window cost Reno a second fast retransmit, or the timer."""
    scripted = flight(10, limited_transmit=False)
    for _ in range(3):
        scripted.ack(1)
    scripted.ack(4)
    assert (scripted.end.recovering, scripted.end.cwnd) == (0, 5)
    assert [scripted.ack(4) for _ in range(3)][2] == [4]
    assert scripted.end.fast_retransmits == 2


def test_duplicates_of_what_a_timeout_sent_again_start_no_fast_retransmit() -> None:
    """RFC 6582, 3.2: not before more than what was sent at the timeout is acknowledged."""
    scripted = flight(8, variant="newreno")
    assert [each.seq for each in scripted.expire()] == [1]
    scripted.ack(3, at_ms=4000)
    assert [scripted.ack(3, at_ms=4000) for _ in range(4)] == [[]] * 4
    assert scripted.end.fast_retransmits == 0


def test_a_timeout_goes_back_to_the_first_segment() -> None:
    """Window 1, ssthresh half of the flight; the same segment again leaves ssthresh as it is (RFC 5681, 3.1)."""
    scripted = flight(8)
    assert [(each.seq, each.sending) for each in scripted.expire()] == [(1, 1)]
    assert (scripted.end.cwnd, scripted.end.ssthresh, scripted.end.timeouts) == (1, 4, 1)
    assert [(each.seq, each.sending) for each in scripted.expire()] == [(1, 2)]
    assert scripted.end.ssthresh == 4
    assert scripted.ack(2, at_ms=20_000) == [2, 3]


@pytest.mark.parametrize(("limit", "most"), [({"window_segments": 5}, 5), ({"receive_window_bytes": 1999}, 7),
                                             ({"send_buffer_bytes": 1000}, 4)])  # fmt: skip
def test_no_window_is_exceeded(limit: dict[str, int], most: int) -> None:
    """Neither the receiver's nor the send buffer; octets are whole segments."""
    run = path(initial_ssthresh_segments=64, **limit).write(60)
    outstanding = []
    run.delay_of = lambda packet: outstanding.append(int(run.ends[0].top - run.ends[0].una)) or 0
    run.run()
    assert max(outstanding) == most


def test_max_burst_limits_what_one_event_sends() -> None:
    """An ACK for eight segments lets four out, not nine."""
    scripted = flight(4, max_burst_segments=4)
    assert len(scripted.ack(5)) == 4
    assert len(scripted.ack(9)) == 4


def test_a_pause_longer_than_the_rto_brings_back_the_initial_window() -> None:
    """RFC 5681, 4.1."""
    run = path().write(10).write(10, time_ms=60_000).run()
    assert [time for time, _ in run.times() if time >= 60_000][:3] == [60_000, 60_000, 60_100]


def test_a_source_quench_leaves_ssthresh_as_it_is() -> None:
    """A local drop takes cwnd to one segment; with `loss` it does nothing."""
    for option, cwnd in (("quench", 1), ("loss", 8)):
        scripted = flight(8, local_drop=option)
        packet = scripted.tcp.out.rows[0].copy()
        scripted.machine.local_drop(scripted.tcp, 0, packet, 0)
        assert (scripted.end.cwnd, scripted.end.ssthresh) == (cwnd, 20)


def test_packets_of_an_earlier_connection_are_ignored() -> None:
    """An end that was started anew takes nothing that its last connection sent."""
    run = path().write(2)
    run.run(120)
    run.machine.start(run.tcp, 1, 1, 0)
    run.run(160)
    assert (run.ends[1].delivered, run.ends[1].packets) == (0, 0)


def test_delayed_acks_answer_every_second_segment_or_wait() -> None:
    """RFC 5681, 4.2: a lone segment waits 100 ms, one out of order and one that fills a gap does not."""
    run = path(delayed_ack="second", initial_window=6, limited_transmit=False)
    run.delay_of = lambda packet: 10 if (packet.kind, packet.seq, packet.sending) == ("DATA", 4, 0) else 0
    run.write(7).run()
    assert run.times(1, "ACK") == [(150, 3), (150, 4), (150, 4), (160, 7), (350, 8)]


@pytest.mark.parametrize(
    "wrong",
    [{"variant": "vegas"}, {"tick_s": 0}, {"window_segments": 0}, {"header_bytes": 250}, {"max_rto_s": 2},
     {"receive_window_bytes": 100}, {"initial_ssthresh_segments": 0}, {"timestamps": 1}, {"sack_rule": "guess"}],
)  # fmt: skip
def test_parameters_have_ranges(wrong: dict[str, Any]) -> None:
    """What no TCP can have is a usage error that names it."""
    with pytest.raises(UsageError, match=next(iter(wrong))):
        Parameters(**wrong)
