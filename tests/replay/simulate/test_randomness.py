"""Streams of random numbers: the same for the same seed, purpose and direction, in blocks of any size."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.replay.simulate.randomness import DIRECTIONS, MOST_SEED, PURPOSES, Stream


@given(st.integers(0, MOST_SEED), st.lists(st.integers(0, 50), max_size=6), st.sampled_from(["uniform", "normal"]))
def test_blocks_of_any_size_give_the_same_numbers(seed: int, blocks: list[int], kind: str) -> None:
    """Of uniform and of normal ones."""
    stream = Stream(seed, "channel", "forward")
    parts = [getattr(stream, kind)(count) for count in blocks]
    whole = getattr(Stream(seed, "channel", "forward"), kind)(sum(blocks))
    assert np.array_equal(np.concatenate([*parts, []]), whole)


def test_every_seed_purpose_direction_and_part_is_a_stream_of_its_own() -> None:
    """No two begin alike."""
    named = product((0, 1, MOST_SEED), PURPOSES, DIRECTIONS, range(3))
    firsts = [float(Stream(*one).uniform(1)[0]) for one in named]
    assert len(set(firsts)) == len(firsts)


def test_the_numbers_are_those_of_numpys_philox() -> None:
    """Key: the seed, and a number for purpose and direction; so anyone can draw them again."""
    again = np.random.Generator(np.random.Philox(key=np.array([7, 6], np.uint64)))
    assert np.array_equal(Stream(7, "media", "down").uniform(3), again.random(3))


@pytest.mark.parametrize(("purpose", "direction"), [("weather", ""), ("media", "left")])
def test_an_unknown_stream_is_a_defect(purpose: str, direction: str) -> None:
    """Both are this program's own words."""
    with pytest.raises(ValueError, match="not in tuple"):
        Stream(1, purpose, direction)


def test_exponential_and_gamma_numbers_have_their_means() -> None:
    """Within five standard errors."""
    count = 100_000
    exponential = Stream(1, "media", "up").exponential(count, 3.0)
    assert abs(exponential.mean() - 3) < 5 * 3 / count**0.5
    assert abs(np.median(exponential) - 3 * np.log(2)) < 5 * 3 / count**0.5
    gamma = Stream(1, "workload").gamma(count, 0.5, 4.0)
    assert abs(gamma.mean() - 2) < 5 * 8**0.5 / count**0.5
