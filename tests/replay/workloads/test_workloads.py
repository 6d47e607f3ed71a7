"""What applications send: the distributions' means and quantiles, and the same pages for the same seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multitracer.replay.simulate.randomness import Stream
from multitracer.replay.workloads import files
from multitracer.replay.workloads.media import Talker, Voice
from multitracer.replay.workloads.web_browsing import Browser, lengths
from multitracer.replay.workloads.web_sessions import Habits, Surfer, gamma_of, lognormal, pareto

NS = 1_000_000_000
BLOCKS = st.lists(st.integers(0, 30), min_size=1, max_size=6)


def streams(purpose: str, seed: int = 1) -> Callable[[int], Stream]:
    """Makes the stream of a part."""
    return lambda part: Stream(seed, purpose, "down", part)


def near(found: Any, mean: float, deviation: float) -> bool:
    """Whether a mean lies within five standard errors of what it should be."""
    return bool(abs(found.mean() - mean) < 5 * deviation / len(found) ** 0.5)


@pytest.mark.parametrize(
    ("which", "mean", "quantiles"),
    [
        ("requests", 337.34, {0.05: 135, 0.5: 231, 0.9: 1057, 0.99: 1134}),
        ("replies", 7230.97, {0.1: 110, 0.5: 2112, 0.9: 12581, 0.99: 67379}),
        ("objects", 2.838, {0.5: 1, 0.72: 2, 0.88: 5}),
    ],
)  # fmt: skip
def test_mahs_distributions_have_his_means_and_quantiles(which: str, mean: float, quantiles: dict[float, int]) -> None:
    """Drawn as steps: nothing between the values that were counted."""
    found = lengths(which)
    assert found.mean == pytest.approx(mean, rel=1e-4)
    for share, value in quantiles.items():
        assert found.at(share) == value
    drawn = found.at(Stream(1, "workload").uniform(50_000))
    assert near(drawn, found.mean, drawn.std())
    assert set(drawn) <= set(found.values)


def test_every_value_of_a_distribution_is_drawn_as_often_as_it_was_counted() -> None:
    """Shares that stand evenly give the counts back."""
    found = lengths("requests")
    total = int(found.up_to[-1])
    drawn = found.at((np.arange(total) + 0.5) / total)
    assert np.array_equal(np.unique(drawn), found.values)
    assert np.array_equal(np.unique(drawn, return_counts=True)[1], np.diff(found.up_to, prepend=0))


def joined(parts: list[Any], name: str) -> Any:
    """A column of several blocks."""
    return np.concatenate([getattr(part, name) for part in parts])


@given(BLOCKS)
@settings(max_examples=20)
def test_pages_are_the_same_in_blocks_of_any_size(blocks: list[int]) -> None:
    """Of browsing and of sessions; the places of objects are those within the block."""
    for maker in (lambda: Browser(streams("workload")), lambda: Surfer(streams("workload"), Habits())):
        one, other = maker(), maker()
        parts, whole = [one.take(count) for count in blocks], other.take(sum(blocks))  # type: ignore[attr-defined]
        for field in fields(whole):
            if field.name != "first":
                assert np.array_equal(joined(parts, field.name), getattr(whole, field.name)), field.name
        assert np.array_equal(whole.first, np.cumsum(whole.objects) - whole.objects)


def test_a_page_may_be_one_of_its_objects() -> None:
    """Then it has one embedded object less; no message is without an octet."""
    embedded = Browser(streams("workload")).take(2000)
    counted = Browser(streams("workload"), page_counted=True).take(2000)
    assert np.array_equal(counted.objects, embedded.objects - 1)
    assert min(counted.request_bytes.min(), counted.reply_bytes.min(), counted.object_reply_bytes.min()) == 1


def test_sessions_have_the_means_and_deviations_that_are_asked_for() -> None:
    """Time off is Gamma with shape 0.0771 and scale 607 s; objects and octets are whole, at least one."""
    assert gamma_of(46.8, 168.6) == pytest.approx((0.0771, 607.4), rel=1e-3)
    found = Surfer(streams("workload"), Habits()).take(40_000)
    assert near(found.off_ns / NS, 46.8, 168.6)
    assert near(found.request_bytes, 364, 101)
    assert found.objects.min() == found.object_bytes.min() // 2436 == 1
    assert np.median(found.object_bytes) == pytest.approx(2436.2 * 2 ** (1 / 1.77), rel=0.01)


def test_lognormal_and_pareto_numbers_have_their_quantiles() -> None:
    """The median of a lognormal is exp mu; a Pareto begins at mean (alpha - 1) / alpha."""
    assert lognormal(np.zeros(1), 5.3, 12)[0] == pytest.approx(np.exp(0.761), rel=1e-3)
    assert lognormal(np.ones(1), 5.3, 12)[0] == pytest.approx(np.exp(0.761 + 1.346), rel=1e-3)
    assert pareto(np.array([0.0, 0.75]), 5600, 1.77) == pytest.approx([2436.2, 2436.2 * 4 ** (1 / 1.77)], rel=1e-4)


@given(st.integers(1, 1 << 30), st.integers(0, 1 << 30), st.floats(0, 1, exclude_max=True))
def test_sizes_of_files_lie_within_their_limits(least: int, more: int, share: float) -> None:
    """And half of them below the geometric mean."""
    assert least <= int(files.sizes(np.array([share]), least, least + more)[0]) <= least + more
    half = int(files.sizes(np.array([0.5]), least, least + more)[0])
    assert half == pytest.approx((least * (least + more)) ** 0.5, abs=1)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("stationary", [True, False])
@given(blocks=BLOCKS, seed=st.integers(0, 100))
@settings(max_examples=20)
def test_media_packets_are_the_same_in_blocks_of_any_size(
    whole: bool, stationary: bool, blocks: list[int], seed: int
) -> None:
    """Their times rise, and none is lost between blocks."""
    voice = Voice(whole_bursts=whole, stationary=stationary)
    one, other = Talker(streams("media", seed), voice), Talker(streams("media", seed), voice)
    parts, all_of_them = np.concatenate([one.take(count) for count in blocks]), other.take(sum(blocks))
    assert np.array_equal(parts, all_of_them)
    assert (np.diff(all_of_them) > 0).all()


@pytest.mark.parametrize("whole", [True, False])
def test_media_talk_at_their_rate_and_as_long_as_they_should(whole: bool) -> None:
    """Within a talk packets are an interval apart; over all the rate is that of talk among silence."""
    voice = Voice(whole_bursts=whole)
    times = Talker(streams("media"), voice).take(20_000)
    gaps = np.diff(times)
    within = gaps < voice.interval_ns + 2
    assert abs(gaps[within] - voice.interval_ns).max() <= 1
    silences = (gaps[~within] - (voice.interval_ns if whole else 0)) / NS
    assert (gaps >= int(voice.interval_ns)).all()
    if whole:
        assert near(silences, voice.silent_s, voice.silent_s)
    else:
        expected = voice.rate_bps * voice.talk_s / (voice.talk_s + voice.silent_s)
        assert len(times) * 2000 * NS / times[-1] == pytest.approx(expected, rel=0.03)


def test_no_more_talks_are_drawn_than_a_run_needs() -> None:
    """A source that hardly ever falls silent has its packets of ten seconds at once, and those of a talk beyond."""
    voice = Voice(talk_s=1000.0, silent_s=1e-6, whole_bursts=False, stationary=True)
    assert len(Talker(streams("media"), voice).times(10 * NS)) < 50 * 1000 * 28


def test_a_burst_has_a_packet_at_least() -> None:
    """A talk far shorter than an interval still has one, as in ns-2; kept to the time, it mostly has none."""
    short = {"talk_s": 1e-6, "silent_s": 1.0}
    assert len(Talker(streams("media"), Voice(**short)).take(1000)) == 1000  # type: ignore[arg-type]
    assert len(Talker(streams("media"), Voice(**short, whole_bursts=False)).take(1000)) == 0  # type: ignore[arg-type]


def test_a_stationary_source_may_talk_at_once() -> None:
    """As often as it talks at all; a silent one never does."""
    interval = round(Voice().interval_ns)

    def talking(stationary: bool) -> int:
        first = [Talker(streams("media", seed), Voice(stationary=stationary)).take(1)[0] for seed in range(400)]
        return sum(time == interval for time in first)

    assert talking(False) == 0
    assert talking(True) == pytest.approx(400 / 2.35, abs=5 * (400 * 0.4255 * 0.5745) ** 0.5)


def test_times_up_to_a_moment_go_beyond_it() -> None:
    """And what was given before stays as it was."""
    talker = Talker(streams("media"), Voice())
    first = talker.times(10 * NS).copy()
    assert first[-1] > 10 * NS
    later = talker.times(5000 * NS)
    assert later[-1] > 5000 * NS
    assert np.array_equal(later[: len(first)], first)
