"""The keys of a scenario: what is taken, and what a wrong one is told."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.model.errors import UsageError
from multitracer.replay.arq import sdu_queue
from multitracer.replay.arq.rlc import parameters as rlc
from multitracer.replay.arq.sr import asr, frames
from multitracer.replay.arq.sr import parameters as sr
from multitracer.replay.engine import direction as engine
from multitracer.replay.simulate import limits, wired
from multitracer.replay.simulate.key import LEAST_S, Key
from multitracer.replay.simulate.run import refusal
from multitracer.replay.simulate.scenario import resolve
from multitracer.replay.simulate.schema import DIRECTIONS, KEYS, NAMED, parsed
from multitracer.replay.tcp import packets
from multitracer.replay.tcp import parameters as tcp

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


RANGED = [key for key in KEYS if key.kind in ("whole", "number", "wholes", "numbers")]
"""Every key whose documentation names a range."""


@pytest.mark.parametrize("key", RANGED, ids=lambda key: key.name)
def test_a_value_just_outside_of_a_documented_range_is_refused_by_key_and_range(key: Key) -> None:
    """On either side; the ends themselves are taken, but for an end that it must be above."""
    step = 1 if key.kind in ("whole", "wholes") else max(abs(key.most), 1) * 1e-9
    outside = [key.least - step, key.most + step, *([key.least] if key.above else [])]
    for value in outside:
        with pytest.raises(UsageError) as told:
            key.parse(value)
        assert key.name in str(told.value)
        assert key.range_text in str(told.value)
    for value in ends(key):
        assert key.parse(value) in (value, (value,))


def ends(key: Key) -> tuple[float, float]:
    """The least and the most that a key may be."""
    above = LEAST_S if key.unit == "s" else 1e-9
    return key.least + above * key.above, key.most


def test_limits_of_keys_are_those_of_the_models() -> None:
    """They stand twice, as the models take long to load."""
    assert limits.LONGEST_AIR_S * 1e9 == engine.LONGEST_NS
    assert (limits.MOST_PER_SLOT, limits.LONGEST_QUEUE) == (engine.MOST_PER_SLOT, engine.LONGEST_QUEUE)
    assert (limits.WIRED_ROOM, limits.QUEUE_ROOM) == (wired.ROOM, sdu_queue.ROOM)
    assert (limits.LARGEST_HEADER, limits.SMALLEST_SR_HEADER) == (sr.LARGEST_HEADER, frames.SMALLEST_HEADER)
    assert (2 * limits.LARGEST_SR_WINDOW, limits.LONGEST_SR_S * 1000) == (frames.MODULUS, sr.LONGEST_MS)
    assert limits.LARGEST_ASR_WEIGHT == asr.LARGEST_WEIGHT
    ticks = (limits.SHORTEST_ASR_TICK_S * 1000, limits.LONGEST_ASR_TICK_S * 1000)
    assert ticks == (asr.SHORTEST_TICK_MS, asr.LONGEST_TICK_MS)
    assert (limits.SMALLEST_PDU, limits.LARGEST_PDU) == (rlc.LEAST_PDU_BYTES, rlc.LARGEST_PDU_BYTES)
    assert (limits.LARGEST_RLC_WINDOW, limits.MOST_POLL_SDU) == (rlc.LARGEST_WINDOW, rlc.MOST_POLL_SDU)
    assert limits.LONGEST_RLC_S * 1e9 == rlc.LONGEST_NS
    assert (limits.MOST_SEGMENTS, limits.LONGEST_RTO_S) == (tcp.MOST_SEGMENTS, tcp.LONGEST_S)
    assert limits.MOST_SACK_BLOCKS == packets.SACK_BLOCKS


BESIDE: dict[str, Any] = {
    "channel.frame_loss_rate": 0.1, "channel.bit_error_rate": 1e-6, "channel.bad_s": 1.0, "link.tti_s": 0.02,
    "link.far_buffer_bytes": 5000, "link.far_drain_bps": 1000.0, "workload.segments": 3,
}  # fmt: skip
"""What keys need beside them to have an effect."""
MODELS_OF_TCP = [("reno", "ns-2"), ("sack", "rfc"), ("bsd", "ns-2"), ("linux-2.4", "ns-2")]


def settings_with(key: Key) -> Iterator[dict[str, Any]]:
    """Scenarios in which a key has an effect: with each link protocol, or each model of TCP, that may have a say."""
    base = required(key)
    if key.room == "tcp":
        yield from (base | {"tcp.variant": variant, "tcp.model": model} for variant, model in MODELS_OF_TCP)
    elif key.room == "link" and key.name.count(".") == 1 and not key.where:
        slotted = {"link.tti_s": BESIDE["link.tti_s"]} if key.name == "link.blocks_per_tti" else {}
        yield from (base | slotted | {"link.protocol": name} for name in NAMED["link.protocol"].choices)
    else:
        yield base


def required(key: Key) -> dict[str, Any]:
    """The values of other keys that give a key its effect, and what these need in turn."""
    found: dict[str, Any] = {}
    for name, allowed in key.where:
        found |= required(NAMED[name]) | ({} if allowed[0] is None else {name: allowed[0]})
    needed = [one for one in KEYS if one.needed and any(found.get(name) in values for name, values in one.where)]
    return found | {one.name: BESIDE[one.name] for one in needed if one.name in BESIDE and one is not key}


NAMES_A_KEY = re.compile(r"(link|channel|wired|tcp|workload|contention)\.[a-z]")


@pytest.mark.parametrize(
    "key", [key for key in RANGED if key.room not in ("kernel", "emulate")], ids=lambda key: key.name
)  # fmt: skip
def test_an_end_of_a_documented_range_is_simulated_or_refused_by_keys_of_the_scenario(key: Key) -> None:
    """No model says of a value that a key may have that it is outside of a range which is documented nowhere."""
    for beside, value in product(settings_with(key), ends(key)):
        given = {**beside, key.name: value}
        try:
            why = refusal(resolve("", dict(parsed(name, one) for name, one in given.items())))
        except UsageError as error:
            why = str(error)
        assert not why or NAMES_A_KEY.match(why), given


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"link.protocol": "sr", "link.header_bytes": 3}, "link.header_bytes = 3\nWith link.protocol = sr it must be a "
                                                          "whole number from 4 to 64 octets."),
        ({"link.protocol": "rlc-am", "link.up.frame_bytes": 15}, "link.up.frame_bytes = 15\nWith"),
        ({"tcp.tick_s": 1e-4}, "tcp.tick_s = 0.0001\nWith tcp.model = ns-2"),
        ({"tcp.forward.tick_s": 1e-4}, "tcp.forward.tick_s = 0.0001"),
        ({"link.protocol": "rlc-am", "link.rlc-am.max_dat": 1}, "from 2 to 10000"),
        ({"link.protocol": "asr", "link.asr.tick_s": 0.5, "link.asr.initial_srtt_s": 0.4}, "link.asr.tick_s = 0.5"),
    ],
)  # fmt: skip
def test_a_range_that_is_narrower_beside_another_key_is_told_with_both(given: dict[str, Any], words: str) -> None:
    """Where that key has a say: of BSD's clock ns-2's limits say nothing."""
    with pytest.raises(UsageError, match=re.escape(words)):
        resolve("", dict(parsed(name, value) for name, value in given.items()))
    resolve("", dict(parsed(name, value) for name, value in {"tcp.variant": "bsd", "tcp.tick_s": 1e-4}.items()))


@pytest.mark.parametrize("octets", [249, 250 * 16_384 + 1])
def test_a_window_that_a_model_of_tcp_cannot_have_is_refused_by_its_key_and_range(octets: int) -> None:
    """It holds a segment at least, and no more of them than a model keeps."""
    given = {"tcp.model": "rfc", "tcp.receive_window_bytes": octets}
    why = refusal(resolve("", dict(parsed(name, value) for name, value in given.items())))
    assert why == f"tcp.receive_window_bytes {octets} must be a whole number from 250 to 4096000"


@given(st.floats(LEAST_S, 1e4) | st.just(0.0))
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
