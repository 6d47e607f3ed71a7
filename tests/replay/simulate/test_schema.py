"""The keys of a scenario: what is taken, and what a wrong one is told."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.model.errors import UsageError
from multitracer.replay.simulate.key import LEAST_S, Key
from multitracer.replay.simulate.scenario import resolve
from multitracer.replay.simulate.schema import DIRECTIONS, KEYS, NAMED, parsed

ABSURD = ("nan", "inf", "-inf", "1" + "0" * 400, "-1e308", "1e-300", "[", {}, [], True, -1)


def test_names_are_unique_and_defaults_are_values_that_a_key_takes() -> None:
    """What is said nowhere passes the same checks as what is said."""
    assert len(NAMED) == len(KEYS)
    resolved = dict(resolve("", {}).items)
    for key in KEYS:
        default = resolved.get(key.name, key.default)
        assert default is None or key.parse(default) == default, key.name


def test_a_key_depends_only_on_keys_before_it() -> None:
    """Else its default, and whether it has an effect, could not be told."""
    before: set[str] = set()
    for key in KEYS:
        assert {name for name, _ in key.where} <= before, key.name
        before.add(key.name)


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_every_key_says_what_it_means(key: Key) -> None:
    """In one sentence, with the values that a word may have."""
    assert key.meaning.endswith(".")
    assert key.kind != "word" or len(key.choices) > 1
    assert key.range_text


@pytest.mark.parametrize("key", [key for key in KEYS if key.kind in ("whole", "number")], ids=lambda key: key.name)
def test_a_number_that_makes_no_sense_is_refused_by_its_key_and_range(key: Key) -> None:
    """Whatever it is, the message has two lines at most."""
    for absurd in ABSURD:
        with pytest.raises(UsageError) as told:
            key.parse(absurd)
        assert key.name in str(told.value)
        assert key.range_text in str(told.value)
        assert len(str(told.value).splitlines()) == 2


@given(st.floats(LEAST_S, 1e6) | st.just(0.0))
def test_a_time_is_the_same_as_number_and_text(seconds: float) -> None:
    """And in milliseconds, but for rounding."""
    assert parsed("link.delay_s", seconds) == parsed("link.delay_s", repr(seconds)) == ("link.delay_s", seconds)
    assert math.isclose(parsed("link.delay_ms", 1000 * seconds)[1], seconds, rel_tol=1e-12, abs_tol=LEAST_S)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("link.rat_bps", 1, ("link.rat_bps", "link.rate_bps")),
        ("rate_bps", 1, ("link.rate_bps or wired.rate_bps or contention.rate_bps",)),
        ("link.sr.timeot_s", 1, ("link.sr.timeout_s",)),
        ("nothing.like.it", 1, ("link., channel., wired., tcp., workload., contention.",)),
        ("", 1, ("there is no key ''",)),
        ("link.rate_bps", -3, ("link.rate_bps = -3", "from 1 to 1e+13 bit/s")),
        ("link.up.rate_bps", 0, ("link.up.rate_bps = 0", "from 1")),
        ("link.forward.rate_bps", 1, ("down and up",)),
        ("channel.up.model", "none", ("forward and reverse",)),
        ("workload.up.kind", "none", ("workload.kind",)),
        ("link.up.protocol", "raw", ("one direction", "link.protocol")),
        ("channel.model", "unform", ("channel.model = unform", "two-state", "Did you mean uniform?")),
        ("channel.model", 3, ("channel.model = 3",)),
        ("tcp.syn", "perhaps", ("tcp.syn = perhaps", "yes or no")),
        ("link.queue_frames", 1.5, ("link.queue_frames = 1.5", "whole number")),
        ("link.queue_frames", "none", ("link.queue_frames = none",)),
        ("channel.frames", [1, -1], ("channel.frames = -1",)),
        ("channel.trace", "", ("the name of a file",)),
        ("link.delay_ms", "x", ("link.delay_ms = x", "milliseconds")),
        ("link.sr.timeout_s", 1e-12, ("link.sr.timeout_s",)),
        ("link.sr.timeout_s", 0, ("above 0",)),
    ],
)  # fmt: skip
def test_a_wrong_key_or_value_is_named_with_what_it_may_be(name: str, value: object, words: tuple[str, ...]) -> None:
    """And with the nearest name where there is one."""
    with pytest.raises(UsageError) as told:
        parsed(name, value)
    for word in words:
        assert word in str(told.value)


@pytest.mark.parametrize(
    ("name", "value", "taken"),
    [
        ("link.up.rate_bps", "9600", ("link.up.rate_bps", 9600.0)),
        ("link.up.sr.timeout_ms", 900, ("link.up.sr.timeout_s", 0.9)),
        ("channel.forward.frames", "3, 5", ("channel.forward.frames", (3, 5))),
        ("channel.frames", 7, ("channel.frames", (7,))),
        ("channel.frames", [], ("channel.frames", ())),
        ("link.reset_at_s", [1.5, 2], ("link.reset_at_s", (1.5, 2.0))),
        ("link.tti_s", "none", ("link.tti_s", None)),
        ("channel.model", "none", ("channel.model", "none")),
        ("link.queue_frames", 10.0, ("link.queue_frames", 10)),
        ("workload.file_bytes", "1e6", ("workload.file_bytes", 1_000_000)),
        ("contention.enabled", "on", ("contention.enabled", True)),
        ("contention.enabled", False, ("contention.enabled", False)),
    ],
)  # fmt: skip
def test_a_value_is_taken_from_a_file_or_an_option(name: str, value: object, taken: tuple[str, object]) -> None:
    """Under its full name, in its own type."""
    found = parsed(name, value)
    assert found == taken
    assert type(found[1]) is type(taken[1])


def test_directions_are_named_as_their_room_has_them() -> None:
    """Links and wires by down and up, channels and TCP by forward and reverse."""
    for room, directions in DIRECTIONS.items():
        key = next(key for key in KEYS if key.room == room and not key.one)
        bare = key.name.partition(".")[2]
        for direction in directions:
            assert parsed(f"{room}.{direction}.{bare}", key.default)[0] == f"{room}.{direction}.{bare}"
