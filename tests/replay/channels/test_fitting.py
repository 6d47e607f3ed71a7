"""Channel models fitted to traces, and which is recommended."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import channel_study
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multitracer.replay.channels.even import Even
from multitracer.replay.channels.gilbert import Gilbert
from multitracer.replay.channels.gilbert_elliott import GilbertElliott
from multitracer.replay.channels.markov_chain import MarkovChain
from multitracer.replay.channels.markov_trace import MarkovTraceAnalysis
from multitracer.replay.channels.maximum_likelihood import maximise, standard_errors
from multitracer.replay.channels.model import Channel, Sample
from multitracer.replay.channels.recommendation import Comparison, compare
from multitracer.replay.channels.two_state import TwoState
from multitracer.replay.channels.uniform import Uniform

CHANNELS: list[Channel] = [
    Uniform(0.02), Even(0.03), Gilbert(0.004, 0.08), GilbertElliott(0.01, 0.1, 0.005, 0.5),
    TwoState(10, 0.5, 1e-6, 1e-2), MarkovChain((0.01, 0.3, 0.15, 0.6)),
    MarkovTraceAnalysis(9, 300, 60, (0.5, 0.8)),
]  # fmt: skip
EACH = 29
"""Traces of each of the seven models in the study: 203."""


@pytest.mark.parametrize("channel", CHANNELS, ids=lambda channel: channel.name)
def test_the_model_that_made_a_trace_is_recognised(channel: Channel) -> None:
    """It, or one that is the same process, is recommended, and its parameters found within three standard errors."""
    found = compare(channel.generate(30_000, 12))
    assert channel_study.recognised(channel, found), found.reason
    assert max([0.0, *channel_study.deviations(channel, found)]) <= 3
    assert json.loads(json.dumps(asdict(found), allow_nan=False))["recommended"] == found.recommended


def test_the_recommended_model_has_the_traces_runs() -> None:
    """Distances near 0 for Gilbert, near 1 for uniform losses, which never make such bursts."""
    found = {each.name: each for each in compare(Gilbert(0.004, 0.08).generate(60_000, 1)).assessments}
    assert (found["gilbert"].burst_distance or 0) < 0.1
    assert (found["uniform"].burst_distance or 0) > 0.8


def test_models_that_cannot_be_distinguished_are_named() -> None:
    """Seen in blocks, two_state is Gilbert-Elliott's process; Gilbert's is both with certain losses."""
    found = compare(TwoState(10, 0.5, 1e-6, 1e-2).generate(60_000, 2))
    assert found.recommended == "gilbert_elliott"
    assert "two_state" in found.alike
    assert "one process" in found.reason
    found = compare(Gilbert(0.004, 0.08).generate(60_000, 2))
    assert found.recommended == "gilbert"
    assert {"gilbert_elliott", "two_state"} <= set(found.alike)
    assert "loses all blocks" in found.reason


def test_even_errors_are_recognised_in_a_part_of_their_trace() -> None:
    """Whatever block it begins with; not when one error is moved."""
    whole = Even(0.03).generate(20_000)
    assert compare(whole[517:9001]).recommended == "even"
    assert Even.fit(Sample(np.tile([False, False, True], 200)), {}) is not None
    place = int(np.flatnonzero(whole)[100])
    whole[place], whole[place + 5] = False, True
    assert Even.fit(Sample(whole), {}) is None


def test_errors_are_binomial_where_shares_are_counted() -> None:
    """sqrt(p (1 - p) / n), and None for a share of nothing or all."""
    trace = np.array([False] * 75 + [True] * 25)
    fit = Uniform.fit(Sample(trace), {}).estimates["probability"]
    assert (fit.value, fit.standard_error) == (0.25, pytest.approx(0.0433, abs=1e-4))
    assert Uniform.fit(Sample(trace[:50]), {}).estimates["probability"].standard_error is None
    gilbert = Gilbert.fit(Sample(np.array([False, True, True, False, False, True, False])), {})
    assert gilbert is not None
    assert {name: each.value for name, each in gilbert.estimates.items()} == {"p_bad": 2 / 3, "p_good": 2 / 3}


@pytest.mark.slow
@given(st.lists(st.booleans(), min_size=1, max_size=80))
@settings(deadline=None, max_examples=40)
def test_any_trace_can_be_fitted(trace: list[bool]) -> None:
    """However short or odd: finite numbers, one recommendation, each model either fitted or excused."""
    found = compare(trace)
    json.dumps(asdict(found), allow_nan=False)
    names = [each.name for each in found.assessments]
    assert found.recommended in names
    assert sorted([*names, *found.unfitted]) == sorted(channel_study.MODELS)


@pytest.mark.parametrize("trace", [[False], [True], [False] * 500, [True] * 500], ids=str)
def test_a_trace_of_one_kind_is_uniform(trace: list[bool]) -> None:
    """With no standard error: how rare the other kind is cannot be known."""
    found = compare(trace)
    assert found.recommended == "uniform"
    assert found.best.fit.estimates["probability"].standard_error is None


def test_the_maximum_of_a_function_is_found_with_its_width() -> None:
    """A bent ridge from a start far off; a parameter of no influence has no error."""

    def hill(points: Any) -> Any:
        return -((points[:, 0] - 1) ** 2) / 0.02 - (points[:, 1] + points[:, 0] ** 2) ** 2 / 2 + 0 * points[:, 2]

    top = maximise(hill, np.array([-2.0, 3.0, 0.0]), np.full(3, -9.0), np.full(3, 9.0))
    assert top.point[:2] == pytest.approx([1, -1], abs=0.01)
    errors = standard_errors(top.hessian)
    assert errors[0] == pytest.approx(0.1, rel=0.02)
    assert errors[1] == pytest.approx((1 + 4 * 0.01) ** 0.5, rel=0.02)
    assert errors[2] is None


def studied(name: str) -> list[tuple[Channel, Comparison]]:
    """The study's traces of one model, compared."""
    drawn = [(seed, *channel_study.draw(name, seed)) for seed in range(EACH)]
    return [(model, compare(model.generate(count, seed))) for seed, model, count in drawn]


@pytest.mark.compiled
@pytest.mark.parametrize("name", channel_study.MODELS)
def test_the_study_recognises_nine_in_ten(name: str) -> None:
    """The generating model, or the same process, in 90 % of traces; 95 % of parameters within three errors."""
    pairs = studied(name)
    assert np.mean([channel_study.recognised(*pair) for pair in pairs]) >= 0.9
    away = np.concatenate([[0.0], *(channel_study.deviations(*pair) for pair in pairs)])
    assert np.mean(away <= 3) >= 0.95
