"""What many seeds say: means, intervals, and differences between variants."""

from __future__ import annotations

import math
import statistics as standard

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.replay.simulate.metrics import METRICS, sample
from multitracer.replay.simulate.quantiles import chi_squared, student_t
from multitracer.replay.simulate.statistics import QUARTILES, describe, pairs, summary

SAMPLES = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40)


@pytest.mark.parametrize(
    ("probability", "freedom", "published"),
    [(0.975, 1, 12.7062), (0.975, 4, 2.7764), (0.995, 4, 4.6041), (0.975, 29, 2.0452), (0.995, 29, 2.7564),
     (0.975, 120, 1.9799), (0.995, 1000, 2.5808)],
)  # fmt: skip
def test_students_quantiles_are_those_of_the_tables(probability: float, freedom: int, published: float) -> None:
    """To the four decimals that are printed."""
    assert student_t(probability, freedom) == pytest.approx(published, abs=5.1e-5)


@pytest.mark.parametrize(
    ("probability", "freedom", "published"),
    [(0.975, 1, 5.0239), (0.025, 1, 0.00098), (0.975, 29, 45.7223), (0.025, 29, 16.0471), (0.995, 4, 14.8603),
     (0.005, 4, 0.20699), (0.975, 100, 129.5612)],
)  # fmt: skip
def test_quantiles_of_chi_squared_are_those_of_the_tables(probability: float, freedom: int, published: float) -> None:
    """To the decimals that are printed."""
    assert chi_squared(probability, freedom) == pytest.approx(published, rel=3e-5, abs=3e-6)


def test_the_interval_of_a_mean_is_students() -> None:
    """By hand: 1, 2, 3, 4, 5 have mean 3, deviation 1.5811, and t of four degrees of freedom is 2.7764."""
    found = summary([1, 2, 3, 4, 5])
    assert (found["mean"], found["min"], found["max"], found["samples"]) == (3, 1, 5, 5)
    assert found["std"] == pytest.approx(math.sqrt(2.5))
    assert found["ci95"] == pytest.approx(2.77645 * math.sqrt(2.5 / 5), rel=1e-5)
    assert found["ci99"] == pytest.approx(4.60409 * math.sqrt(2.5 / 5), rel=1e-5)
    assert found["std_ci95"] == pytest.approx([math.sqrt(10 / 11.1433), math.sqrt(10 / 0.48442)], rel=1e-4)


def test_one_sample_has_no_interval() -> None:
    """Null, never 0."""
    found = summary([7])
    assert [found[name] for name in ("ci95", "ci99", "std", "std_ci95", "std_ci99")] == [None] * 5


@given(SAMPLES)
def test_a_summary_agrees_with_the_standard_library_in_any_order(samples: list[float]) -> None:
    """Sums are rounded once, so that the order of the seeds does not matter."""
    found = summary(samples)
    assert found == summary(samples[::-1])
    assert found["mean"] == pytest.approx(standard.fmean(samples), rel=1e-12, abs=1e-12)
    assert found["std"] == pytest.approx(standard.stdev(samples), rel=1e-9, abs=1e-9)
    assert found["ci95"] <= found["ci99"]


def test_samples_within_a_run_are_averaged_first() -> None:
    """And what a run cannot have is null, as is a metric that no run has."""
    runs = [{"rtt_ms": [1.0, 3.0], "tcp_timeouts": 0}, {"rtt_ms": [4.0], "tcp_timeouts": None}, {"rtt_ms": []}]
    found = describe(runs)
    assert list(found) == list(METRICS)
    assert (found["rtt_ms"]["mean"], found["rtt_ms"]["samples"]) == (3, 2)
    assert (found["tcp_timeouts"]["mean"], found["tcp_timeouts"]["samples"]) == (0, 1)
    assert found["media_delay_ms"] is None
    assert sample([None, 2.0]) == 2


def test_quartiles_are_four_metrics() -> None:
    """One a class of size."""
    found = describe([{QUARTILES: [1, 2, 3, None]}, {QUARTILES: [3, 4, 5, None]}])[QUARTILES]
    assert [one and one["mean"] for one in found] == [2, 3, 4, None]


def test_differences_are_taken_seed_by_seed() -> None:
    """So that what all variants share does not widen them; a seed that one lacks counts for neither."""
    a = [{"tcp_timeouts": one} for one in (10, 20, 30, None)]
    b = [{"tcp_timeouts": one} for one in (9, 19, 29, 5)]
    found = list(pairs([("a", a), ("b", b)]))
    assert found == [{"metric": "tcp_timeouts", "a": "a", "b": "b", "mean": 1, "ci95": 0, "ci99": 0}]
