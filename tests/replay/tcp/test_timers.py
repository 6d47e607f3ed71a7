"""Round trips and timers of TCP: RFC 6298 on a ticking clock, Karn, and 4.4BSD's timers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tcp_path import MS, Path, Scripted

from multitracer.replay.arq.fields import record
from multitracer.replay.simulate.loops import model
from multitracer.replay.tcp.bsd.parameters import Parameters as BsdParameters
from multitracer.replay.tcp.rfc.parameters import Parameters
from multitracer.replay.tcp.rfc.state import END
from multitracer.replay.tcp.rfc.timing import elapsed, expiry, sample

RFC, BSD = model("rfc"), model("bsd")


def estimate(rules: Any, *round_trips_ms: int) -> Any:
    """An end after these round trips, each from a tick of the clock."""
    end = record(END)
    for each in round_trips_ms:
        sample(end, rules, 0, each * MS)
    return end


def test_the_rto_follows_the_round_trips() -> None:
    """RFC 6298, 2, by hand: 1000 ms, then 600: RTTVAR 3/4 * 500 + 1/4 * 400, SRTT 1000 - 400 / 8."""
    end = estimate(Parameters().rules(), 1000)
    assert (end.srtt, end.rttvar, end.rto_ns) == (1000 * MS, 500 * MS, 3000 * MS)
    end = estimate(Parameters().rules(), 1000, 600)
    assert (end.srtt, end.rttvar, end.rto_ns) == (950 * MS, 475 * MS, 2850 * MS)


def test_the_rto_is_within_its_bounds() -> None:
    """At least min_rto_s, at most max_rto_s; and the clock's granularity above SRTT."""
    assert estimate(Parameters().rules(), 50).rto_ns == 1000 * MS
    assert estimate(Parameters(max_rto_s=5).rules(), 4000).rto_ns == 5000 * MS
    quick = Parameters(min_rto_s=0).rules()
    assert estimate(quick, *[50] * 60).rto_ns == 60 * MS


def test_round_trips_are_whole_ticks() -> None:
    """`crossed` counts the ticks made meanwhile, `up` rounds the time up; one tick at least."""
    crossed, up = (Parameters(rounding=each, tick_s=0.2).rules() for each in ("crossed", "up"))
    for rules, ticks in ((crossed, (1, 1, 2)), (up, (1, 2, 2))):
        spans = ((10, 190), (150, 380), (190, 410))
        assert tuple(elapsed(rules, a * MS, b * MS) // (200 * MS) for a, b in spans) == ticks


@given(now=st.integers(0, 10**12), interval=st.integers(1, 10**11), phase=st.sampled_from([0, 0.0005]))
def test_timers_expire_at_ticks(now: int, interval: int, phase: float) -> None:
    """`up` never early and less than two ticks late; `crossed` up to a tick early."""
    for rounding, least, most in (("crossed", -10, 10), ("up", 0, 20)):
        rules = Parameters(rounding=rounding, tick_phase_s=phase).rules()
        due = expiry(rules, now, interval)
        assert (due + rules.phase_ns) % rules.tick_ns == 0
        assert least * MS <= due - now - interval < most * MS


def test_only_segments_sent_once_are_timed() -> None:
    """Karn: an ACK of a segment that was sent again gives no sample, and the timeout stays backed off."""
    scripted = Scripted(RFC, Parameters(syn=False))
    scripted.expire()
    scripted.ack(2, at_ms=3050)
    assert (scripted.end.srtt, scripted.end.backoff) == (0, 1)
    assert scripted.end.rtx_ns == 3050 * MS + 6000 * MS


def test_timestamps_give_a_sample_from_every_ack_of_new_data() -> None:
    """RFC 1323, 3.3: also from a retransmission, for the echo tells which sending is meant."""
    scripted = Scripted(RFC, Parameters(syn=False, timestamps=True))
    scripted.expire()
    scripted.ack(2, at_ms=3100, echo_ms=3000)
    assert (scripted.end.srtt, scripted.end.backoff) == (100 * MS, 0)


def test_timeouts_back_off_to_the_longest_rto() -> None:
    """3, 6, 12, 24, 48, 60, 60 s, and 3 s again once a segment sent once is acknowledged."""
    scripted = Scripted(RFC, Parameters(syn=False))
    times = [scripted.expire()[0].time_ms / 1000 for _ in range(7)]
    assert [b - a for a, b in zip([0, *times], times, strict=False)] == [3, 6, 12, 24, 48, 60, 60]
    scripted.ack(2, at_ms=215_000)
    scripted.ack(4, at_ms=215_100)
    assert scripted.end.backoff == 0


def test_the_earliest_unacknowledged_timestamp_is_echoed() -> None:
    """RFC 1323, 3.4: a delayed ACK echoes the first segment that it answers, so that the RTO covers the delay."""
    parameters = Parameters(syn=False, delayed_ack="second")
    run = Path(RFC.machine, RFC.state.tcp((parameters, parameters), 1), gap_ms=7)
    run.write(2).run(100)
    acks = [each for each in run.log if each.end == 1]
    assert [(each.ack, each.echo_ms) for each in acks] == [(3, 0)]


def test_bsd_counts_in_its_own_integers() -> None:
    """tcp_xmit_timer with 500 ms ticks: 1.4 s crosses two, counted from one; then one of 0.4 s."""
    rules = BsdParameters().rules()
    end = estimate(rules, 1400)
    assert (end.srtt, end.rttvar, end.rto_ns) == (3 << 3, 3 << 1, 4500 * MS)
    sample(end, rules, 0, 400 * MS)
    assert (end.srtt, end.rttvar, end.rto_ns) == (21, 6 + 3 - 1, 5000 * MS)


def test_bsd_expires_at_its_slow_timers_ticks() -> None:
    """First RTO: 12 ticks; a SYN of 0.3 s is sent again at 6.0 s, not at 6.3."""
    parameters = BsdParameters()
    run = Path(BSD.machine, BSD.state.tcp((parameters, parameters), 1))
    run.delay_of = lambda _: None
    run.write(1, time_ms=300).run(100_000)
    assert run.times(kind="SYN") == [(300, 0), (6000, 0), (18_000, 0), (42_000, 0), (90_000, 0)]


def test_bsd_delays_acks_to_its_fast_timer() -> None:
    """A segment that comes at 250 ms is acknowledged at 400 ms; the initial window is one segment."""
    parameters = BsdParameters()
    run = Path(BSD.machine, BSD.state.tcp((parameters, parameters), 1))
    run.write(1, time_ms=100).run()
    assert run.times() == [(200, 1)]
    assert run.times(1, "ACK") == [(400, 2)]


def test_bsd_halves_the_window_and_not_the_flight() -> None:
    """After a quench to one segment ssthresh becomes the least of two, though eight are outstanding."""
    parameters = BsdParameters(syn=False, initial_window=8)
    scripted = Scripted(BSD, parameters)
    scripted.machine.local_drop(scripted.tcp, 0, scripted.tcp.out.rows[0].copy(), 0)
    for _ in range(3):
        scripted.ack(1)
    assert (scripted.end.ssthresh, scripted.end.cwnd, scripted.end.fast_retransmits) == (2, 5, 1)


def test_bsd_forgets_the_round_trip_after_four_timeouts() -> None:
    """The next sample counts as a first one; back-off ends at 64 times the RTO, or 64 s."""
    scripted = Scripted(BSD, BsdParameters(syn=False))
    scripted.end.srtt, scripted.end.rttvar = 16, 8
    for _ in range(4):
        scripted.expire()
    assert (scripted.end.srtt, scripted.end.rttvar) == (0, 10)


def test_bsd_has_no_other_variant() -> None:
    """`bsd` is Reno; others are refused."""
    assert BsdParameters(variant="bsd").rules().variant == 0
    with pytest.raises(Exception, match="variant 'sack' must be one of reno, bsd"):
        BsdParameters(variant="sack")
