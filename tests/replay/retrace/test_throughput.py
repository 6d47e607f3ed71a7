"""What retrace concludes from octets that came through: optimum, plateau, gain, intervals, minutes."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import numpy as np
import pytest

from multitracer.model.errors import InputError, UsageError
from multitracer.replay.erasures.trace import ErasureTrace, bursts, frames_lost
from multitracer.replay.retrace import bootstrap, models
from multitracer.replay.retrace.document import document
from multitracer.replay.retrace.models import Air, Outcome
from multitracer.replay.retrace.result import MINUTE_NS
from multitracer.replay.retrace.settings import Settings
from multitracer.replay.retrace.throughput import retrace, stretches


def gilbert(blocks: int, p_bad: float, p_good: float, seed: int = 0) -> np.ndarray:
    """Losses in bursts: a bad state that loses all and a good one that loses nothing."""
    generator, lengths = np.random.default_rng(seed), []
    while sum(lengths) < blocks:
        lengths += [int(generator.geometric(p_bad)), int(generator.geometric(p_good))]
    return np.repeat(np.arange(len(lengths)) % 2 == 1, lengths)[:blocks]


def test_ties_go_to_the_smallest_size() -> None:
    """Of sizes that carry the same, the first is the best."""
    erased = np.zeros(12, dtype=bool)
    found = retrace([ErasureTrace("t", erased)], Settings(frame_bytes=(30, 60, 90), overhead=0))[0]
    assert (found.optimal_frame_bytes, found.plateau, found.gain_percent) == (30, [30, 90], 0)


def test_a_trace_that_loses_all_says_so() -> None:
    """Throughput 0 at every size, no optimum and no gain, and why."""
    found = document(retrace([ErasureTrace("t", np.ones(6000, dtype=bool))]))["traces"][0]
    assert set(found["throughput_bps"].values()) == {0.0}
    assert (found["optimal_frame_bytes"], found["plateau_frame_bytes"], found["gain_percent"]) == (None, None, None)
    assert found["ended"]["30"] == "every block is lost"


def test_gain_is_null_where_the_baseline_carries_nothing() -> None:
    """Nothing can be compared with it."""
    settings = Settings(frame_bytes=(30, 60), overhead=30, baseline_bytes=30)
    found = retrace([ErasureTrace("t", np.zeros(100, dtype=bool))], settings)[0]
    assert (found.optimal_frame_bytes, found.gain_percent) == (60, None)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (Settings(frame_bytes=(45,)), "45 is no multiple of t's block of 30"),
        (Settings(frame_bytes=(30,), overhead=31), "30 is below the overhead of 31"),
        (Settings(frame_bytes=(30, 60), baseline_bytes=90), "baseline of 90"),
        (Settings(frame_bytes=(3030,)), "shorter than one frame: 100 blocks"),
        (Settings(parameters={"N2": "6"}), "no parameters"),
    ],
)
def test_nonsense_is_refused_with_its_value(settings: Settings, said: str) -> None:
    """The message names the value, and what it had to be."""
    with pytest.raises(UsageError, match=said):
        retrace([ErasureTrace("t", np.zeros(100, dtype=bool))], settings)


@pytest.mark.parametrize(("field", "value"), [("block_bytes", 0), ("block_ms", 0.0), ("block_ms", float("inf"))])
def test_a_block_needs_a_size_and_a_duration(field: str, value: float) -> None:
    """Nothing of no octets, and nothing that lasts no time or for ever."""
    with pytest.raises(UsageError, match=field):
        ErasureTrace("t", np.zeros(1, dtype=bool), **{field: value})


def test_a_trace_needs_a_block() -> None:
    """A trace of nothing is no input."""
    with pytest.raises(InputError, match="no block"):
        ErasureTrace("t", np.zeros(0, dtype=bool))


def test_bursts_are_counted() -> None:
    """Runs of lost blocks; without any there is no mean."""
    assert bursts(np.array([0, 1, 1, 0, 1], dtype=bool)) == {"count": 2, "mean_blocks": 1.5, "max_blocks": 2}
    assert bursts(np.zeros(5, dtype=bool)) == {"count": 0, "mean_blocks": None, "max_blocks": None}


def test_frames_are_lost_with_any_of_their_blocks() -> None:
    """What does not fill a frame at the end is none."""
    assert frames_lost(np.array([0, 0, 0, 1, 1], dtype=bool), 2).tolist() == [0, 1]


def test_stretches_divide_minutes() -> None:
    """Each minute begins a stretch, whatever the block's duration, so that minutes add up."""
    for block_ms in (20, 2.5, 0.833333, 40):
        trace = ErasureTrace("t", np.zeros(200_000, dtype=bool), block_ms=block_ms)
        starts = stretches(trace) * trace.block_ns
        for minute in range(int(trace.minutes)):
            assert (starts[starts >= minute * MINUTE_NS][0] - minute * MINUTE_NS) < trace.block_ns


@pytest.mark.slow
def test_a_size_of_its_own_for_each_minute_gains_where_the_channel_changes() -> None:
    """Two minutes clean, two bad, and so on: hindsight gains, and the minute before gains half the time."""
    bad = np.arange(3000) % 20 == 10
    erased = np.concatenate([np.zeros(6000, dtype=bool), bad, bad] * 5)
    gains = retrace([ErasureTrace("t", erased)], Settings(resamples=0))[0].by_minute
    fixed = max(gains.throughput_of_size(place) or 0 for place in range(50))
    # Clean minutes carry most at 50 blocks, bad ones at what 3 blocks make of a loss every 20.
    chosen = (gains.throughput_of_choice(gains.chosen) or 0) / fixed
    assert gains.gains()["hindsight_gain_percent"] == pytest.approx(100 * (chosen - 1))
    assert gains.gains()["hindsight_gain_percent"] > 4
    assert gains.gains()["minute_before_gain_percent"] < gains.gains()["hindsight_gain_percent"]


def test_a_steady_trace_gains_nothing_by_choosing_anew() -> None:
    """Every minute has the same best size."""
    found = retrace([ErasureTrace("t", np.arange(30_000) % 20 == 10)], Settings(resamples=0))[0]
    assert found.by_minute.gains() == {"hindsight_gain_percent": 0.0, "minute_before_gain_percent": 0.0}


def test_intervals_cover_the_true_throughput() -> None:
    """Of 60 bursty traces about 95 % of the intervals hold what the channel carries in the long run."""
    wanted = {}
    for size in (30, 210):
        blocks = size // 30
        good = 0.08 / 0.084 * 0.996 ** (blocks - 1)
        wanted[size] = 400 * good * (size - 6) / blocks
    covered = dict.fromkeys(wanted, 0)
    for seed in range(60):
        trace = ErasureTrace("t", gilbert(90_000, 0.004, 0.08, seed))
        row = document(retrace([trace], Settings(frame_bytes=tuple(wanted), resamples=300)))["traces"][0]
        for size, bps in wanted.items():
            low, high = row["ci95_bps"][str(size)]
            covered[size] += low <= bps <= high
    assert all(52 <= count <= 60 for count in covered.values()), covered


def test_dependent_stretches_are_resampled_together() -> None:
    """A block spans the time over which what is carried depends on itself, a tenth of the series at most."""
    independent = np.random.default_rng(2).normal(size=1000)
    slow = np.convolve(independent, np.ones(10), "same")
    assert bootstrap.blocks_of(independent) <= (2, 4)
    assert bootstrap.blocks_of(slow).memory in range(6, 30)
    assert bootstrap.blocks_of(slow).length in range(10, 60)
    assert bootstrap.blocks_of(np.repeat(independent[:10], 10)).length <= 10
    assert bootstrap.blocks_of(np.zeros(10)) == (0, 1)


def autoregressive(count: int, memory: float, seed: int) -> Any:
    """A series in which each value keeps this share of the one before; its mean is 0 in the long run."""
    noise = np.random.default_rng(seed).normal(size=count + 200)
    for at in range(1, len(noise)):
        noise[at] += memory * noise[at - 1]
    return noise[200:]


@pytest.mark.parametrize("memory", [0, 0.5])
def test_intervals_of_dependent_values_cover_their_mean(memory: float) -> None:
    """About 95 % of 300 series of 300 values; their mean is 0."""
    held = 0
    for seed in range(300):
        drawn = autoregressive(300, memory, seed)
        told = np.ones((2, len(drawn)), dtype=np.bool_)
        ((low, high),) = bootstrap.intervals([bootstrap.Series(drawn.mean(), drawn - drawn.mean(), told)], 300)
        held += low <= 0 <= high
    assert 0.91 <= held / 300 <= 0.985


def test_every_resample_has_all_its_blocks() -> None:
    """So many are drawn with replacement."""
    drawn = bootstrap.draws(37, 7, 20)
    assert drawn.shape == (37, 20)
    assert (drawn.sum(axis=0) == 7).all()


def test_summed_stretches_lose_nothing() -> None:
    """Neighbours are added up."""
    table = np.arange(22).reshape(2, 11)
    assert bootstrap.summed(table, 5).tolist() == [[3, 12, 21, 19], [36, 45, 54, 41]]
    assert bootstrap.summed(table, 11).tolist() == table.tolist()


def test_what_is_too_short_or_loses_nothing_has_no_interval() -> None:
    """How bursty losses would be cannot be known from none, nor from a few."""
    for erased in (np.zeros(60_000, dtype=bool), gilbert(3000, 0.01, 0.1)[:1500]):
        row = document(retrace([ErasureTrace("t", erased)], Settings(frame_bytes=(30, 60))))["traces"][0]
        assert row["ci95_bps"] == {"30": None, "60": None}
        assert row["gain_ci95_percent"] is None
        assert set(row["no_interval"]) == {"30", "60"}


@pytest.mark.parametrize(("bursts", "known"), [(1, False), (3, False), (5, True), (20, True)])
def test_few_bursts_give_no_interval_and_it_is_said(bursts: int, known: bool) -> None:
    """A resample that holds none of them must be rarer than what an interval leaves out."""
    erased = np.zeros(180_000, dtype=bool)
    for start in np.random.default_rng(bursts).integers(0, 179_000, bursts).tolist():
        erased[start : start + 40] = True
    (found,) = retrace([ErasureTrace("t", erased)], Settings(frame_bytes=(30, 60)))
    assert [bounds is not None for bounds in found.ci95_bps] == [known, known]
    said = "at 30 octets and 1 more sizes up to 60 there is no interval: too few parts of the trace hold losses"
    assert (said in found.remarks) is not known


def test_a_trace_that_hardly_carries_anything_has_no_interval() -> None:
    """Three blocks that came through in an hour."""
    erased = np.ones(180_000, dtype=bool)
    erased[[5_000, 60_000, 90_000]] = False
    (found,) = retrace([ErasureTrace("t", erased)], Settings(frame_bytes=(30,)))
    assert found.ci95_bps == [None]
    assert found.no_interval == {30: "too few parts of the trace carried anything"}


def test_a_minute_without_deliveries_has_no_best_size() -> None:
    """It is null; a size chosen by the minute before stays that of the last one that told."""
    bad = np.arange(3000) % 20 == 10
    erased = np.concatenate([bad, np.ones(3000, dtype=bool), bad])
    found = retrace([ErasureTrace("t", erased)], Settings(resamples=0))[0]
    sizes = document([found])["traces"][0]["each_minute"]["optimal_frame_bytes"]
    assert sizes[1] is None
    assert sizes[0] == sizes[2] is not None
    assert found.by_minute.gains()["minute_before_gain_percent"] == 0


def test_frames_that_outlast_minutes_cannot_be_chosen_by_them() -> None:
    """The gains are null."""
    trace = ErasureTrace("t", np.zeros(40, dtype=bool), block_ms=30_000)
    found = retrace([trace], Settings(frame_bytes=(30, 300), resamples=0))[0]
    assert set(found.by_minute.gains().values()) == {None}


def test_a_warning_of_many_sizes_is_given_once() -> None:
    """It says for how many sizes it holds."""
    found = retrace([ErasureTrace("t", np.arange(3000) % 4 == 1)], Settings(frame_bytes=(30, 120, 150, 180)))[0]
    assert found.remarks == [
        "at 120 octets and 2 more sizes up to 180 nothing came through: every frame holds a lost block"
    ]


def test_reasons_are_in_the_order_of_the_sizes_whichever_is_done_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that takes long at the first size, on two threads."""

    class Slow:
        parameters: ClassVar[dict[str, int]] = {}

        def carry(self, air: Air, firsts: Any) -> Outcome:
            time.sleep(0.2 if air.frame_bytes == 30 else 0)
            return Outcome(np.zeros(len(firsts) - 1, dtype=np.int64), {}, f"at {air.frame_bytes}")

    monkeypatch.setattr(models, "named", lambda *_: Slow())
    settings = Settings(model="raw", frame_bytes=(30, 60, 90), resamples=0, jobs=2)
    found = retrace([ErasureTrace("t", np.zeros(100, dtype=bool))], settings)[0]
    assert list(found.ended.values()) == ["at 30", "at 60", "at 90"]
