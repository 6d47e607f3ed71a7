"""The original analysis: aligned groups of blocks, good when none is lost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.replay.erasures.trace import ErasureTrace, spread_evenly
from multitracer.replay.retrace.ideal import good_groups
from multitracer.replay.retrace.settings import Settings
from multitracer.replay.retrace.throughput import retrace

TRACES = st.lists(st.booleans(), min_size=1, max_size=300)


def reference(erased: list[bool], size: int) -> tuple[int, int]:
    """Good groups and all, by the definition."""
    good = groups = 0
    while (groups + 1) * size <= len(erased):
        good += not any(erased[groups * size : (groups + 1) * size])
        groups += 1
    return good, groups


@given(TRACES, st.lists(st.integers(1, 60), min_size=1, max_size=5, unique=True), st.data())
def test_groups_are_counted_as_defined(erased: list[bool], sizes: list[int], data: st.DataObject) -> None:
    """Exactly, for any trace and size; and every group is in the stretch in which it begins."""
    starts = sorted({0, *data.draw(st.lists(st.integers(0, len(erased) - 1), max_size=6))})
    good, groups = good_groups(np.array(erased), np.array(sizes), np.array(starts))
    for row, size in enumerate(sizes):
        assert (good[row].sum(), groups[row].sum()) == reference(erased, size)
        begun = np.searchsorted(starts, np.arange(len(erased) // size) * size, side="right") - 1
        assert groups[row].tolist() == np.bincount(begun, minlength=len(starts)).tolist()


@given(TRACES, st.integers(1, 40), st.integers(0, 30))
def test_throughput_is_the_formula_in_whole_numbers(erased: list[bool], blocks: int, overhead: int) -> None:
    """8000 * good * (k * block_bytes - overhead) / (groups * k * block_ms), rounded once."""
    good, groups = reference(erased, blocks)
    if not groups:
        return
    wanted = 8000 * good * (blocks * 30 - overhead) / (groups * blocks * 20)
    found = retrace([ErasureTrace("t", np.array(erased))], Settings(frame_bytes=(30 * blocks,), overhead=overhead))
    assert float(found[0].exact_bps[0] or 0) == wanted


def test_a_size_that_does_not_fit_once_has_no_throughput() -> None:
    """It is null, not 0."""
    found = retrace([ErasureTrace("t", np.zeros(3, dtype=bool))], Settings(frame_bytes=(90, 120)))
    assert [bps is None for bps in found[0].exact_bps] == [False, True]


@given(st.integers(1, 2000), st.data())
def test_losses_are_spread_as_far_apart_as_can_be(blocks: int, data: st.DataObject) -> None:
    """As many as before; gaps differ by one block at most."""
    lost = data.draw(st.integers(0, blocks))
    erased = np.zeros(blocks, dtype=bool)
    erased[:lost] = True
    places = np.flatnonzero(spread_evenly(ErasureTrace("t", erased)).erased)
    assert len(places) == lost
    assert [int((j + 0.5) * blocks / lost) for j in range(lost)] == places.tolist()
    assert np.ptp(np.diff(places)) <= 1 if lost > 1 else True


@pytest.mark.parametrize(
    ("rate", "best"), [(0.0, 1500), (0.001, 420), (0.005, 180), (0.01, 150), (0.02, 90), (0.05, 60)]
)
def test_independent_losses_have_the_optimum_of_their_rate(rate: float, best: int) -> None:
    """(1 - 1/(5k)) (1 - p)^k is largest there (paper 004's overhead of 6 octets); a long trace is near it."""
    trace = ErasureTrace("t", np.random.default_rng(3).random(3_000_000) < rate)
    found = retrace([trace], Settings(resamples=0))[0]
    low, high = found.plateau or [0, 0]
    assert low <= best <= high
