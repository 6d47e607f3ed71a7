"""What is said of a trace, whatever made it."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multitracer.model.errors import UsageError
from multitracer.replay.channels.even import Even
from multitracer.replay.channels.gilbert import Gilbert
from multitracer.replay.channels.model import Channel
from multitracer.replay.channels.two_state import TwoState
from multitracer.replay.channels.uniform import Uniform
from multitracer.replay.erasures.autocorrelation import autocorrelation, correlation_blocks
from multitracer.replay.erasures.change_points import change_points
from multitracer.replay.erasures.confidence import interval
from multitracer.replay.erasures.description import describe

STATIONARY: list[Channel] = [
    Uniform(0.01), Uniform(0.001), Gilbert(0.004, 0.08), TwoState(10, 0.5, 1e-6, 1e-2),
]  # fmt: skip


def test_runs_are_counted() -> None:
    """Bursts and gaps: counts for each length, mean, longest and quantiles."""
    found = describe([False, True, True, False, True, False, False, False, True])
    assert (found.blocks, found.erased_blocks, found.error_rate) == (9, 4, 4 / 9)
    assert found.bursts.histogram == [(1, 2), (2, 1)]
    assert (found.bursts.count, found.bursts.mean_blocks, found.bursts.max_blocks) == (3, 4 / 3, 2)
    assert found.gaps.histogram == [(1, 2), (3, 1)]
    assert found.gaps.quantiles_blocks["50"] == 1
    assert found.gaps.quantiles_blocks["90"] == 3
    assert found.duration_s == pytest.approx(0.18)


@pytest.mark.parametrize("channel", STATIONARY, ids=str)
def test_the_interval_covers_the_true_rate(channel: Channel) -> None:
    """In 92 to 98 of 100 traces, bursty ones too."""
    limits = [interval(channel.generate(20_000, seed)) for seed in range(400)]
    covered = [each is not None and each.low <= channel.error_rate <= each.high for each in limits]
    assert 0.92 <= np.mean(covered) <= 0.98


def test_bursts_make_the_interval_wider() -> None:
    """As many blocks tell less: by the sum of their correlations."""
    bursty, smooth = (interval(channel.generate(200_000, 1)) for channel in (Gilbert(0.004, 0.08), Uniform(0.0476)))
    assert bursty is not None
    assert smooth is not None
    assert bursty.high - bursty.low > 3 * (smooth.high - smooth.low)
    assert 200_000 / bursty.effective_blocks == pytest.approx(23, rel=0.6)


def test_autocorrelation_is_that_of_the_definition() -> None:
    """At each lag the mean product of deviations; Gilbert's falls by 1 - p_bad - p_good a block."""
    trace = Gilbert(0.02, 0.1).generate(200_000, 3)
    found = autocorrelation(trace, 5)
    deviation = trace - trace.mean()
    for lag in range(6):
        direct = (deviation[: len(trace) - lag] * deviation[lag:]).sum() / (deviation**2).sum()
        assert found[lag] == pytest.approx(direct, abs=1e-9)
        assert found[lag] == pytest.approx(0.88**lag, abs=0.03)


def test_the_correlation_length_is_the_sum_of_correlations() -> None:
    """(1 + r) / (1 - r) blocks for Gilbert's; 1 for independent blocks; none for even ones."""
    for channel, blocks in ((Gilbert(0.02, 0.1), 15.7), (Uniform(0.05), 1.0)):
        correlations = autocorrelation(channel.generate(300_000, 3), 5000)
        assert correlation_blocks(correlations) == pytest.approx(blocks, rel=0.1)
    assert correlation_blocks(autocorrelation(Even(0.05).generate(20_000), 5000)) < 1


@pytest.mark.slow
@pytest.mark.parametrize("channel", [*STATIONARY, Even(0.03)], ids=str)
def test_a_stationary_channel_rarely_shows_a_change_point(channel: Channel) -> None:
    """In at most one trace of twenty."""
    cut = [len(describe(channel.generate(20_000, seed)).stretches) > 1 for seed in range(100)]
    assert np.mean(cut) <= 0.05


@pytest.mark.parametrize("p_good", [1.0, 0.3])
def test_a_change_is_found_where_it_was(p_good: float) -> None:
    """Error rate 1 % to 8 % halfway; each stretch has its rate within its limits."""
    channels = [Gilbert(p_good * rate / (1 - rate), p_good) for rate in (0.01, 0.08)]
    parts = [channel.generate(15_000, seed) for seed, channel in enumerate(channels, start=1)]
    first, second = describe(np.concatenate(parts)).stretches
    assert first.start_s == 0
    assert first.end_s == second.start_s == pytest.approx(300, abs=3)
    assert second.end_s == 600
    for stretch, rate in ((first, 0.01), (second, 0.08)):
        assert (stretch.error_rate_low or 1) <= rate <= (stretch.error_rate_high or 0)


def test_several_changes_are_found() -> None:
    """A bad stretch in the middle has two ends."""
    parts = [Uniform(rate).generate(8000, seed) for seed, rate in enumerate((0.01, 0.1, 0.01))]
    assert change_points(np.concatenate(parts), 1.0) == pytest.approx([8000, 16000], abs=80)


@given(st.lists(st.booleans(), min_size=1, max_size=400))
@settings(deadline=None, max_examples=50)
def test_any_trace_is_described(trace: list[bool]) -> None:
    """Finite numbers or None, counts that add up, stretches that join."""
    found = describe(trace)
    json.dumps(asdict(found), allow_nan=False)
    assert sum(length * count for length, count in found.bursts.histogram) == found.erased_blocks
    assert sum(length * count for length, count in found.gaps.histogram) == found.blocks - found.erased_blocks
    assert sum(stretch.blocks for stretch in found.stretches) == found.blocks
    if found.error_rate_low is not None and found.error_rate_high is not None:
        assert found.error_rate_low <= found.error_rate <= found.error_rate_high


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("count", [1, 10_000])
def test_what_cannot_be_known_is_none(lost: bool, count: int) -> None:
    """Without errors, or with errors only, there is no interval and no correlation, and one stretch."""
    found = describe([lost] * count)
    assert found.error_rate == lost
    assert (found.error_rate_low, found.correlation_blocks, found.autocorrelation) == (None, None, None)
    assert len(found.stretches) == 1
    assert (found.gaps if lost else found.bursts).mean_blocks is None


def test_an_empty_trace_is_refused() -> None:
    """As is a block that takes no time."""
    with pytest.raises(UsageError, match="at least 1 block"):
        describe([])
    with pytest.raises(UsageError, match="block_ms is 0"):
        describe([True], block_ms=0)
