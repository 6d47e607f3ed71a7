"""Models of channels that erase blocks."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multitracer.model.errors import UsageError
from multitracer.replay.channels.even import Even
from multitracer.replay.channels.gilbert import Gilbert
from multitracer.replay.channels.gilbert_elliott import GilbertElliott, block_matrices
from multitracer.replay.channels.hidden_markov import stationary
from multitracer.replay.channels.markov_chain import MarkovChain
from multitracer.replay.channels.markov_trace import MarkovTraceAnalysis, change_blocks, phases_of
from multitracer.replay.channels.model import Channel
from multitracer.replay.channels.two_state import TwoState
from multitracer.replay.channels.uniform import Uniform
from multitracer.replay.erasures.run_lengths import distance, runs_of

CHANNELS: list[Channel] = [
    Uniform(0.03), Even(0.03), Gilbert(0.01, 0.2), GilbertElliott(0.01, 0.1, 0.005, 0.5),
    TwoState(10, 0.5, 1e-6, 1e-2), MarkovChain((0.01, 0.3, 0.15, 0.6)),
    MarkovTraceAnalysis(9, 300, 60, (0.5, 0.8)),
]  # fmt: skip
SUMMING: list[Channel] = [
    Uniform(0.3), Gilbert(0.1, 0.4), GilbertElliott(0.2, 0.3, 0.1, 0.7), TwoState(0.1, 0.05, 1e-3, 1e-2),
    MarkovChain((0.2, 0.4, 0.5, 0.9)),
]  # fmt: skip
MAKE = """
from multitracer.replay.channels.markov_chain import MarkovChain
from multitracer.replay.channels.markov_trace import MarkovTraceAnalysis
for model in (MarkovChain((0.01, 0.3, 0.15, 0.6)), MarkovTraceAnalysis(9, 300, 60, (0.5, 0.8))):
    print("".join("01"[block] for block in model.generate(3000, 5).astype(int)))
"""
chance = st.floats(0, 1)


def blocks(text: str) -> Any:
    """A trace written with 0 and 1."""
    return np.array([character == "1" for character in text])


@pytest.mark.parametrize("channel", CHANNELS, ids=lambda channel: channel.name)
def test_the_seed_determines_the_trace(channel: Channel) -> None:
    """The same seed gives the same trace, of any length; another seed another trace, but not for the even model."""
    trace = channel.generate(5000, 7)
    assert trace.dtype == np.bool_
    assert len(trace) == 5000
    assert np.array_equal(trace, channel.generate(5000, 7))
    assert np.array_equal(trace, channel.generate(5000, 8)) == isinstance(channel, Even)


@pytest.mark.parametrize("channel", CHANNELS, ids=lambda channel: channel.name)
def test_the_long_run_has_the_models_error_rate(channel: Channel) -> None:
    """Within ten percent of it over 300000 blocks."""
    assert channel.generate(300_000, 1).mean() == pytest.approx(channel.error_rate, rel=0.1)


@pytest.mark.parametrize("channel", SUMMING, ids=lambda channel: channel.name)
def test_probabilities_of_all_traces_sum_to_one(channel: Channel) -> None:
    """Over the 256 traces of 8 blocks, each by its log likelihood."""
    found = [channel.log_likelihood(np.array(trace)) for trace in itertools.product([False, True], repeat=8)]
    assert sum(math.exp(value) for value in found if value is not None) == pytest.approx(1, rel=1e-9)


@given(st.integers(1, 300), st.integers(0, 300))
def test_even_errors_stand_where_the_rule_says(count: int, errors: int) -> None:
    """Error j of E among n blocks is block floor((j + 1/2) n / E)."""
    errors = min(errors, count)
    wanted = [int((2 * j + 1) * count // (2 * errors)) for j in range(errors)]
    assert np.flatnonzero(Even(errors / count).generate(count)).tolist() == wanted


@given(chance, chance, chance, chance, st.integers(1, 60))
@settings(deadline=None)
def test_any_probabilities_make_a_trace(p_bad: float, p_good: float, h_good: float, h_bad: float, count: int) -> None:
    """Extreme ones too, and the trace is one that the model can make."""
    for channel in (Gilbert(p_bad, p_good), GilbertElliott(p_bad, p_good, h_good, h_bad), MarkovChain((p_bad, h_bad))):
        trace = channel.generate(count, 3)
        assert len(trace) == count
        assert 0 <= channel.error_rate <= 1
        assert channel.log_likelihood(trace) is not None


def test_gilbert_bursts_and_gaps_have_their_means() -> None:
    """The inverse of the probability to leave the state."""
    runs = runs_of(Gilbert(0.01, 0.2).generate(500_000, 2))
    assert runs.bursts.mean() == pytest.approx(5, rel=0.05)
    assert runs.gaps.mean() == pytest.approx(100, rel=0.05)


def test_gilbert_is_elliotts_with_certain_losses() -> None:
    """And a Markov chain of order 1, up to the first block."""
    trace = Gilbert(0.01, 0.2).generate(5000, 2)
    found = Gilbert(0.01, 0.2).log_likelihood(trace)
    assert GilbertElliott(0.01, 0.2, 0, 1).log_likelihood(trace) == pytest.approx(found, rel=1e-9)
    assert MarkovChain((0.01, 0.8)).log_likelihood(trace) == pytest.approx(found, abs=5)


@pytest.mark.parametrize(("bad_s", "percent"), [(0.1, 1.50), (0.2, 2.46), (0.5, 5.26), (1.0, 9.57)])
def test_two_state_frames_are_lost_at_the_analytic_rate(bad_s: float, percent: float) -> None:
    """Frames of 256 bytes at 64 kbit/s, 10 s good, bit error rates 1e-6 and 1e-2: paper 003's four channels."""
    assert 100 * TwoState(10, bad_s, 1e-6, 1e-2, 256, 32).error_rate == pytest.approx(percent, abs=0.05)


@pytest.mark.parametrize("count", [1, 2, 3, 1001, 6000])
@pytest.mark.parametrize(
    "parameters", [(0.01, 0.1, 0.005, 0.5), (0.3, 0.3, 0.4, 0.6), (0.001, 0.9, 0.0, 1.0), (1.0, 1.0, 0.25, 0.0)]
)
def test_hidden_states_are_summed_as_block_by_block(count: int, parameters: tuple[float, ...]) -> None:
    """The product in pairs of runs is the forward recursion's."""
    channel = GilbertElliott(*parameters)
    trace = channel.generate(count, 3)
    decoded, lost = (matrices[0] for matrices in block_matrices(np.array([parameters])))
    state, total = stationary((decoded + lost)[None])[0], 0.0
    for block in trace:
        state = state @ (lost if block else decoded)
        total += math.log(state.sum())
        state = state / state.sum()
    assert channel.log_likelihood(trace) == pytest.approx(total, rel=1e-9)


def test_two_state_traces_are_those_of_its_likelihood() -> None:
    """Shares of all patterns of three blocks agree with their probabilities."""
    channel = TwoState(0.2, 0.06, 1e-4, 5e-3)
    trace = channel.generate(300_000, 4)
    shares = np.bincount(trace[:-2] * 4 + trace[1:-1] * 2 + trace[2:], minlength=8) / (len(trace) - 2)
    for number, share in enumerate(shares):
        assert share == pytest.approx(math.exp(channel.log_likelihood(blocks(f"{number:03b}")) or 0.0), abs=0.005)


def test_phases_are_cut_at_runs_of_c_decoded_blocks() -> None:
    """Bursts of 1, 2 and 3 blocks: C is 2 + 0.82, rounded up; a run of three zeros parts two phases."""
    trace = blocks("0000100110001110")
    assert change_blocks(trace) == 3
    phases = phases_of(trace, 3)
    assert phases.lossy_blocks.tolist() == [5, 3]
    assert phases.excess_blocks.tolist() == [1, 0, 0]
    assert phases.ended == 2
    assert np.flatnonzero(phases.inside).tolist() == [5, 6, 7, 8, 13, 14]


def test_made_phases_are_found_again() -> None:
    """As long on average as they were to be, cut at the same C."""
    model = MarkovTraceAnalysis(9, 300, 60, (0.5, 0.8))
    phases = phases_of(model.generate(500_000, 3), 9)
    assert phases.lossy_blocks.mean() == pytest.approx(60, rel=0.08)
    assert 9 + phases.excess_blocks.mean() == pytest.approx(300, rel=0.08)


def test_impossible_traces_have_no_likelihood() -> None:
    """The likelihood is None; the logarithm of 0 is never taken."""
    trace = blocks("0100")
    for channel in (Uniform(0), Uniform(1), Even(0.25), Gilbert(0.5, 0), GilbertElliott(0.1, 0.1, 0, 0),
                    TwoState(1, 1, 0, 0), MarkovChain((0.5, 0.5, 1, 0))):  # fmt: skip
        assert channel.log_likelihood(trace) is None, channel


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Uniform(1.5), "probability is 1.5"), (lambda: Even(-0.1), "error_rate is -0.1"),
        (lambda: Gilbert(0.1, float("nan")), "p_good is nan"), (lambda: TwoState(0, 1, 0, 0), "good_s is 0"),
        (lambda: MarkovChain((0.1, 0.2, 0.3)), "3 probabilities"),
        (lambda: MarkovTraceAnalysis(5, 4, 10, (0.5,)), "error_free_blocks is 4"),
        (lambda: MarkovTraceAnalysis(5, 40, 0.5, (0.5,)), "lossy_blocks is 0.5"),
        (lambda: Uniform(0.1).generate(0, 1), "0 blocks"),
        (lambda: MarkovTraceAnalysis(5, 40, 10, (0.5,)).generate(-1, 1), "-1 blocks"),
        (lambda: Uniform(0.1).log_likelihood([]), "at least 1 block"),
    ],
)  # fmt: skip
def test_nonsense_is_refused_by_name_and_value(make: Any, said: str) -> None:
    """Probabilities outside 0 to 1, times that are none, chains without all contexts, empty traces."""
    with pytest.raises(UsageError, match=said):
        make()


def test_distance_is_the_most_that_shares_differ_by() -> None:
    """1 for lengths that never agree, 0 for equal ones, None without any."""
    assert distance(np.array([1, 1]), np.array([2, 3])) == 1
    assert distance(np.array([1, 2]), np.array([1, 1, 2, 2])) == 0
    assert distance(np.array([1, 2]), np.array([2])) == 0.5
    assert distance(np.array([], dtype=np.int64), np.array([2])) is None


@pytest.mark.compiled
def test_compiled_and_plain_chains_make_the_same_traces() -> None:
    """Block for block."""
    made = [
        subprocess.run(
            [sys.executable, "-W", "error", "-c", MAKE], capture_output=True, text=True, check=True,
            env={**os.environ, "NUMBA_DISABLE_JIT": mode},
        ).stdout
        for mode in ("0", "1")
    ]  # fmt: skip
    assert made[0] == made[1]
    assert "1" in made[0]
