"""Statistics of round trips, for few and for many samples in any order."""

from __future__ import annotations

import numpy as np
import pytest

from multitracer.compute import threads
from multitracer.tcp.rtt import SHORT, sort_short, summarize

MS = 1_000_000


@pytest.mark.parametrize("count", [0, 1, 2, SHORT])
def test_a_few_values_are_sorted_in_place(count: int) -> None:
    """Insertion sort agrees with NumPy's sort, with equal values and for none at all."""
    values = np.random.default_rng(count).integers(0, 20, count)
    expected = np.sort(values)
    sort_short(values)
    assert values.tolist() == expected.tolist()


@pytest.mark.parametrize("count", [2, SHORT, SHORT + 1, 1000])
def test_statistics_do_not_depend_on_how_many_samples_there_are(count: int) -> None:
    """The statistics are NumPy's, on both sides of the length above which NumPy sorts."""
    samples = np.random.default_rng(count).integers(1 * MS, 500 * MS, count)
    counts, found = summarize([(samples, np.ones(count, dtype=np.int32))], 2)
    ms = samples / MS
    expected = [ms.min(), ms.mean(), np.median(ms), np.quantile(ms, 0.95), ms.max(), ms.std(ddof=1)]
    assert counts.tolist() == [0, count]
    assert found[1].tolist() == pytest.approx(expected)
    assert np.isnan(found[0]).all()


def test_each_end_has_statistics_of_its_own() -> None:
    """Samples of two ends, one with many, give separate statistics."""
    samples = np.array([7, 3, *range(200, 0, -1)]) * MS
    end = np.array([0, 0, *[1] * 200], dtype=np.int32)
    _, found = summarize([(samples, end)], 2)
    assert found[:, 0].tolist() == [3, 1]
    assert found[:, 4].tolist() == [7, 200]


@pytest.mark.parametrize("counts", [[5], [0, 7], [9, 0, 0], [1, 200, 0, 3, 90]], ids=str)
def test_ends_have_the_same_statistics_in_whichever_thread(counts: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of one thread and of two, of which one may have no end."""
    end = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    samples = np.random.default_rng(len(counts)).integers(1, 500 * MS, len(end))
    alone, found = summarize([(samples, end)], len(counts))
    monkeypatch.setattr(threads, "WORTH_SHARING", 1)
    monkeypatch.setattr(threads, "processors", lambda: 2)
    shared, also = summarize([(samples, end)], len(counts))
    assert alone.tolist() == shared.tolist() == counts
    np.testing.assert_array_equal(found, also)


def test_one_sample_has_no_spread() -> None:
    """One sample has a standard deviation of 0, and is every other statistic itself."""
    _, found = summarize([(np.array([5 * MS]), np.zeros(1, dtype=np.int32))], 1)
    assert found[0].tolist() == [5, 5, 5, 5, 5, 0]
