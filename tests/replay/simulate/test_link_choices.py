"""What keys of the link do to a whole transfer: PPP, compressed headers, flow control, resets, a released call."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from simulations import NS, scenario, simulated

from multitracer.compute import kernels
from multitracer.replay.simulate.entities import entities
from multitracer.replay.simulate.far_end import orders
from multitracer.replay.simulate.measures import measures
from multitracer.replay.simulate.run import run
from multitracer.replay.simulate.simulation import Simulation

CALL = {
    "link__protocol": "rlp", "link__rate_bps": 12_000, "link__delay_s": 0.2, "link__frame_bytes": 30,
    "link__tti_s": 0.02, "link__hand_down": "lazy", "wired__rate_bps": 0, "wired__queue_packets": 0,
    "tcp__variant": "bsd", "tcp__segment_bytes": 512, "tcp__header_bytes": 40, "tcp__syn_bytes": 44,
    "tcp__receive_window_bytes": 8192, "tcp__initial_window": 1, "tcp__tick_s": 0.5, "tcp__initial_rto_s": 6,
    "tcp__delayed_ack": "second", "tcp__timestamps": False, "workload__direction": "up", "workload__file_bytes": 30_000,
}  # fmt: skip
"""A GSM data call of 9,600 bit/s: 24 characters in a frame of 20 ms."""
CHARACTERS_A_S = 24 / 0.02


@cache
def call(**more: Any) -> tuple[Any, Simulation]:
    """A file over it."""
    described = scenario(**CALL, **more)
    return described, simulated(described)


def found(**more: Any) -> dict[str, Any]:
    """The metrics of that."""
    return measures(*call(**more))


@pytest.mark.slow
def test_ppp_and_headers_take_their_octets() -> None:
    """What a window of data takes on the link: 512 octets a segment, 7 more with PPP, 37 less with compression."""
    times = {}
    for name, more in {"plain": {"link__ppp": False}, "ppp": {}, "vj": {"link__vj": True}}.items():
        times[name] = found(**more)["completion_s"][0]
    segments = 30_000 / 472
    assert times["ppp"] - times["plain"] == pytest.approx(7 * segments / CHARACTERS_A_S, abs=0.2)
    assert times["ppp"] - times["vj"] == pytest.approx(37 * segments / CHARACTERS_A_S, abs=0.3)


@pytest.mark.slow
def test_after_a_reset_compressed_headers_keep_data_out_until_a_timeout() -> None:
    """What follows the flushed segments is discarded and answered by nothing; without compression it is answered.

    The reset flushes what was sent; what waited is sent afterwards.
    """
    reset = {"link__reset_at_s": 15, "link__rlp__flush_queue": False}
    plain, vj = (found(link__vj=own, **reset) for own in (False, True))
    for one in (plain, vj):
        assert one["link_resets"] == 1
        assert one["link_flushed_bytes"] > 0
    assert vj["header_discards"] > 5
    assert vj["discarded_segment_dupacks"] == 0
    assert (plain["tcp_timeouts"], vj["tcp_timeouts"]) == (0, 1)
    assert vj["completion_s"][0] > plain["completion_s"][0]
    assert "header_discards" not in plain
    assert call(link__vj=True, **reset)[1].ended_ns is not None


@pytest.mark.slow
def test_compression_without_losses_discards_nothing() -> None:
    """Whatever TCP sends."""
    assert found(link__vj=True)["header_discards"] == 0


@pytest.mark.slow
def test_a_stop_costs_its_time() -> None:
    """No data for so long; it is counted, and TCP need not send again."""
    free, stopped = found(), found(link__stop_at_s=12, link__stop_s=1.2)
    assert stopped["flow_controlled_s"] == pytest.approx(1.2, abs=0.05)
    assert free["flow_controlled_s"] == 0
    assert stopped["completion_s"][0] - free["completion_s"][0] == pytest.approx(1.2, abs=0.1)
    assert stopped["tcp_retransmissions"] == 0


@pytest.mark.slow
def test_a_far_buffer_sets_the_rate_and_never_overflows() -> None:
    """At 960 octets a second in the mean, by gaps as long as its 1056 octets take to be emptied."""
    described, done = call(link__far_buffer_bytes=1056, link__far_drain_bps=7680)
    one = measures(described, done)
    gaps = int(done.engine.b.xoffs)
    assert gaps > 4
    assert one["flow_controlled_s"] / gaps == pytest.approx(1.1, abs=0.1)
    assert one["tcp_timeouts"] == 0
    octets = int(done.engine.b.offered)
    longer = one["completion_s"][0] - found()["completion_s"][0]
    assert octets / (octets / CHARACTERS_A_S + longer) == pytest.approx(960, rel=0.05)


def test_orders_go_to_the_sender_of_the_data_or_of_the_direction_they_are_said_for() -> None:
    """A reset is the sender's, a stop the far end's."""
    given = {"link__reset_at_s": 3, "link__stop_at_s": 5, "link__stop_s": 1}
    assert orders(scenario(link__protocol="rlp", **given)) == (((3 * NS, 0),), ((5 * NS, 1), (6 * NS, 2)))
    up = orders(scenario(link__protocol="rlp", workload__direction="up", **given))
    assert up == (((5 * NS, 1), (6 * NS, 2)), ((3 * NS, 0),))
    other = orders(scenario(link__protocol="rlp", link__up__stop_at_s=5, link__up__stop_s=1))
    assert other == (((5 * NS, 1), (6 * NS, 2)), ())


def test_marks_of_a_far_buffer_leave_room_for_a_round_trip() -> None:
    """XON with what is emptied in 0.44 s, XOFF with what still comes in it; at the end where the data come."""
    a, b = entities(scenario(**CALL, link__far_buffer_bytes=1056, link__far_drain_bps=7680))
    assert (a.drain_bytes_per_s, a.xon_bytes, a.xoff_bytes) == (960, 423, 1056 - 106)
    assert b.drain_bytes_per_s == 0


@pytest.mark.slow
def test_a_released_call_ends_the_run() -> None:
    """With the reason; nothing was transferred."""
    kernels.choose(0)
    lost = {"channel__model": "gilbert", "channel__good_s": 8, "channel__bad_s": 1000, "channel__start": "good"}
    one = run(scenario(**CALL, **lost, link__rlp__after_n2="release"), 1)
    assert one["ended"].startswith("no transfer was complete when the link was given up, by ")
    assert one["throughput_bps"] == 0


@pytest.mark.slow
def test_a_short_queue_above_the_protocol_refuses_packets() -> None:
    """They are counted as drops, and TCP sends them again."""
    base = {"link__protocol": "sr", "link__hand_down": "lazy", "link__sr__window": 2, "tcp__initial_window": 20,
            "workload__segments": 60}  # fmt: skip
    drops = []
    for most in (0, 5):
        described = scenario(**base, link__upper_queue_packets=most)
        one = measures(described, simulated(described))
        drops.append((one["queue_drops"], one["tcp_retransmissions"] > 0))
    assert drops[0] == (0, False)
    assert drops[1][0] > 0
    assert drops[1][1]


def test_a_protocol_that_gives_up_says_how_much() -> None:
    """SR does so only where its retransmissions are limited."""
    lossy = {
        "link__protocol": "sr", "channel__model": "uniform", "channel__frame_loss_rate": 0.3, "workload__segments": 40,
    }  # fmt: skip
    limited = scenario(**lossy, link__sr__max_retransmissions=0)
    assert measures(limited, simulated(limited))["link_discards"] > 0
    free = scenario(**lossy)
    assert "link_discards" not in measures(free, simulated(free))


def test_both_sides_can_learn_from_each_other() -> None:
    """With one estimator a sample of either is in the timeout of both."""
    keys = {"link__protocol": "asr", "workload__segments": 40}
    one, two = (simulated(scenario(**keys, link__asr__estimator=how)) for how in ("one", "per-direction"))
    assert int(one.engine.a.estimate.srtt8) == int(one.engine.b.estimate.srtt8)
    assert int(two.engine.a.estimate.srtt8) != int(two.engine.b.estimate.srtt8)
    assert np.shares_memory(one.engine.a.estimate, one.engine.b.estimate)


def test_times_of_selective_repeat_are_kept_to_the_nanosecond() -> None:
    """Timeouts, waits of ACKs, ticks and bounds, and the link's round trip between two NACKs of a frame."""
    sr = entities(scenario(link__protocol="sr", link__sr__timeout_s=0.0105, link__sr__ack_delay_s=1.23e-4))[0].rules()
    assert (int(sr.timeout_ns), int(sr.ack_delay_ns)) == (10_500_000, 123_000)
    given = {"tick_s": 0.0015, "initial_srtt_s": 0.0105, "min_timeout_s": 0.0025, "max_timeout_s": 1.00000001}
    asr = entities(scenario(link__protocol="asr", **{f"link__asr__{name}": value for name, value in given.items()}))[1]
    rules = asr.rules()
    assert (int(rules.tick_ns), int(rules.srtt_ticks)) == (1_500_000, 7)
    assert (int(rules.least_ns), int(rules.most_ns)) == (2_500_000, 1_000_000_010)
    again = entities(scenario(link__protocol="sr", link__sr__renack="rtt"))[0].rules()
    assert int(again.renack_ns) == 100_000_000 + 2 * 31_250_000


def test_a_timeout_of_parts_of_a_millisecond_runs_out_when_it_says() -> None:
    """The frame that is lost is sent again 10.5 ms after it was handed down, and not 10."""
    described = scenario(
        link__protocol="sr", link__sr__timeout_s=0.0105, link__rate_bps=10_000_000, link__delay_s=0.001,
        tcp__syn=False, workload__segments=1, channel__model="listed", channel__forward__frames="0",
    )  # fmt: skip
    assert measures(described, simulated(described))["repair_s"] == pytest.approx([0.0105], abs=1e-9)
