"""Metrics of short runs against what a person works out for them."""

from __future__ import annotations

import pytest
from simulations import scenario, simulated

from multitracer.replay.simulate.measures import measures
from multitracer.replay.simulate.run import run

AIR_MS, DELAY_MS, WIRED_MS = 31.25, 50.0, 0.2 + 1.0
"""Of a packet of 250 octets: at 64 kbit/s, there, and on the wired hop."""
TALK = {"workload__kind": "none", "workload__seconds": 3, "contention__enabled": True}


def test_media_that_did_not_arrive_count_as_late_as_the_latest_that_did() -> None:
    """Every packet takes the same time, as they come slower than the link carries them, but for one of 100 ms more."""
    described = scenario(
        **TALK, channel__model="listed", channel__forward__frames="0,3", channel__delayed_frames="1",
        channel__extra_delay_s="0.1",
    )  # fmt: skip
    done = simulated(described, until_s=3)
    sent, came, each = int(done.source.media[0].sent), int(done.source.media[0].came), AIR_MS + DELAY_MS + WIRED_MS
    assert 2 <= sent - came <= 4  # two are lost, and two at most on their way
    found = measures(described, done)
    assert found["media_delay_ms"] == pytest.approx(each + 100 / came)
    late = each + 100
    assert found["media_delay_with_lost_ms"] == pytest.approx(((came - 1) * each + (1 + sent - came) * late) / sent)


def test_without_a_packet_that_arrived_nothing_is_known_of_delays() -> None:
    """What is as late as none cannot be told."""
    described = scenario(**TALK, channel__model="uniform", channel__frame_loss_rate=1)
    found = run(described, 1)
    assert (found["media_loss_percent"], found["media_delay_with_lost_ms"]) == (100.0, None)


def test_a_delay_before_the_end_of_the_warm_up_makes_nothing_late_after_it() -> None:
    """The packet that was late by 100 ms came before that; some are on their way at the end."""
    keys = {"channel__model": "listed", "channel__delayed_frames": "1", "channel__extra_delay_s": "0.1"}
    found = run(scenario(**{**TALK, "workload__seconds": 6}, workload__warmup_s=3, **keys), 1)
    assert found["media_delay_with_lost_ms"] == pytest.approx(AIR_MS + DELAY_MS + WIRED_MS)


def test_the_links_own_frames_that_find_its_queue_full_are_told_in_percent() -> None:
    """Of ten segments at once one is on the air and two wait: seven are dropped; no media stand among them."""
    described = scenario(tcp__syn=False, tcp__initial_window=10, link__queue_frames=2, workload__segments=20)
    found = measures(described, simulated(described, until_s=0.02))
    assert found["link_queue_drop_percent"] == pytest.approx(70)
    lazy = scenario(tcp__syn=False, link__hand_down="lazy", link__queue_frames=2, workload__segments=20)
    assert measures(lazy, simulated(lazy))["link_queue_drop_percent"] == 0


def test_a_run_says_how_many_events_it_took() -> None:
    """More for more segments; a second time the same."""
    short, long = (scenario(workload__segments=segments) for segments in (1, 20))
    counted = [run(described, 1)["events"] for described in (short, long, long)]
    assert 0 < counted[0] < counted[1] == counted[2]
