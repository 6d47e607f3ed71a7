"""What loses frames on the radio link: each model by a plain computation, the same luck for every variant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulations import scenario

from multitracer.replay.engine.way import is_lost, share_of_bad
from multitracer.replay.simulate.radio import directions

MS = 1_000_000
LOST = 1 - 1e-12


def lost_frames(seed: int, way: int, count: int = 2000, **keys: Any) -> list[int]:
    """Numbers of the frames lost, of frames of 250 octets that follow one another every 31.25 ms."""
    direction = directions(scenario(**keys), seed)[way]
    made = direction.channel.cover(direction.way(way, lambda size: np.zeros(size)), count * 32 * MS)
    lost, air = [], 31_250_000
    for number in range(count):
        made.state.sent = number
        if is_lost(made, number, number * air, (number + 1) * air, 250):
            lost.append(number)
    return lost


def test_listed_frames_and_no_others_are_lost() -> None:
    """Of the direction that they are said for."""
    keys = {"channel__model": "listed", "channel__forward__frames": "3,0,9", "channel__reverse__frames": "1"}
    assert lost_frames(1, 0, 20, **keys) == [0, 3, 9]
    assert lost_frames(1, 1, 20, **keys) == [1]
    assert lost_frames(1, 1, 20, workload__direction="up", **keys) == [0, 3, 9]


def test_uniform_losses_have_their_rate() -> None:
    """Within four standard deviations."""
    found = len(lost_frames(7, 0, channel__model="uniform", channel__frame_loss_rate=0.1))
    assert found == pytest.approx(200, abs=4 * (2000 * 0.1 * 0.9) ** 0.5)


@pytest.mark.parametrize("model", ["uniform", "two-state"])
def test_a_run_of_every_variant_meets_the_same_luck(model: str) -> None:
    """Whatever the link protocol; another seed or the other direction meets its own."""
    rates = {"channel__frame_loss_rate": 0.1} if model == "uniform" else {"channel__bad_s": 1.0}
    keys = {"channel__model": model} | rates
    first = lost_frames(1, 0, **keys)
    assert first
    assert lost_frames(1, 0, link__protocol="sr", tcp__variant="sack", **keys) == first
    assert lost_frames(1, 1, **keys) != first
    assert lost_frames(2, 0, **keys) != first


TIMES = st.lists(st.integers(1, 50), min_size=2, max_size=12).map(lambda steps: np.cumsum(steps[: len(steps) // 2 * 2]))


@given(times=TIMES, start=st.integers(0, 200), length=st.integers(1, 80), rule=st.integers(0, 2))
def test_bad_times_count_by_the_rule(times: Any, start: int, length: int, rule: int) -> None:
    """touch: any instant of the frame is bad; end: its last one is; product: as much of it as is bad."""
    direction = directions(scenario(channel__model="two-state", channel__bad_s=1.0), 1)[0]
    state = direction.way(0, lambda size: np.zeros(size)).state
    state.rule, state.sojourn = rule, 0
    bad = [any(a <= at < b for a, b in times.reshape(-1, 2)) for at in range(start, start + length)]
    after = any(a < start + length < b for a, b in times.reshape(-1, 2)) or start + length in times[1::2]
    expected = [float(any(bad)), float(bad[-1]), sum(bad) / length][rule]
    found = share_of_bad(state, times.astype(np.int64), start, start + length)
    if rule == 1 and (after != bad[-1] or start + length in times):  # an end on a border belongs to the time before it
        return
    assert found == pytest.approx(expected)
