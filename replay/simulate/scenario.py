"""One scenario, resolved: every key that has an effect, and its value."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from multitracer.model.errors import UsageError
from multitracer.replay.simulate.kernel_keys import EMULATED
from multitracer.replay.simulate.key import Key, Value, shown
from multitracer.replay.simulate.schema import DIRECTIONS, KEYS, NAMED, base_of

NS_PER_S = 1_000_000_000


@dataclass(frozen=True)
class Scenario:
    """A variant of a scenario: its name, and the value of every key that has an effect in it.

    A key said for one direction stands beside the one for both, as link.up.rate_bps. Two scenarios with the same keys
    and values give the same results for a seed, whatever their names.
    """

    name: str
    items: tuple[tuple[str, Value], ...]
    """Full names and values, in the order of the schema."""
    unused: tuple[str, ...] = field(default=(), compare=False)
    """Keys that were said and have no effect."""

    @cached_property
    def _values(self) -> dict[str, Value]:
        return dict(self.items)

    def value(self, key: str, direction: str = "") -> Value:
        """A key's value, in one direction; None if it is unset, or has no effect in this scenario."""
        room, _, bare = key.partition(".")
        if direction and (own := f"{room}.{direction}.{bare}") in self._values:
            return self._values[own]
        return self._values.get(key)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def word(self, key: str, direction: str = "") -> str:
        """The value of a key that has one of several words."""
        return str(self._set(key, direction))

    def flag(self, key: str, direction: str = "") -> bool:
        """The value of a key that is yes or no."""
        return bool(self._set(key, direction))

    def whole(self, key: str, direction: str = "") -> int:
        """The value of a count."""
        return int(self._set(key, direction))

    def number(self, key: str, direction: str = "") -> float:
        """The value of any number."""
        return float(self._set(key, direction))

    def ns(self, key: str, direction: str = "") -> int:
        """A time in whole nanoseconds."""
        return round(self.number(key, direction) * NS_PER_S)

    def wholes(self, key: str, direction: str = "") -> tuple[int, ...]:
        """The values of a list of counts; () where the key has no effect."""
        return tuple(self.value(key, direction) or ())

    def all_ns(self, key: str, direction: str = "") -> tuple[int, ...]:
        """A list of times in whole nanoseconds; () where the key has no effect."""
        return tuple(round(one * NS_PER_S) for one in self.value(key, direction) or ())

    def _set(self, key: str, direction: str) -> Value:
        """The value of a key; KeyError names one that is unset: then `value` tells whether it is."""
        value = self.value(key, direction)
        if value is None:
            raise KeyError(key)
        return value

    @property
    def forward(self) -> str:
        """The way of the workload's data on the link: down or up."""
        return self.word("workload.direction")

    @property
    def reverse(self) -> str:
        """The other way."""
        return "up" if self.forward == "down" else "down"

    @property
    def parameters(self) -> dict[str, Any]:
        """The keys as JSON has them."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in self.items}

    @property
    def digest(self) -> str:
        """A hash of the keys and values."""
        return hashlib.sha256(json.dumps(self.parameters, sort_keys=True).encode()).hexdigest()


def resolve(name: str, given: Mapping[str, Value]) -> Scenario:
    """The scenario of these keys, the others at their defaults.

    `given` has full names and values that `schema.parsed` took. Raises UsageError for a key that is missing, and for
    keys that contradict each other.
    """
    values: dict[str, Value] = {}
    for key in KEYS:
        values[key.name] = given[key.name] if key.name in given else _default(key, values)
    values |= {full: value for full, value in given.items() if full not in values}
    held = tuple((full, values[full]) for full in _ordered(values) if _has_effect(full, values))
    unused = tuple(sorted(set(given) - {full for full, _ in held}))
    scenario = Scenario(name, held, unused)
    _check_needed(values)
    _check_narrower(values)
    for check in CHECKS:
        check(scenario)
    return scenario


def _default(key: Key, values: Mapping[str, Value]) -> Value:
    return key.derived(values) if key.derived else key.default


def _ordered(values: Mapping[str, Value]) -> Iterator[str]:
    """The names in the order of the schema, those for one direction after that for both."""
    for key in KEYS:
        yield key.name
        room, _, bare = key.name.partition(".")
        own = (f"{room}.{direction}.{bare}" for direction in DIRECTIONS.get(room, ()))
        yield from (full for full in own if full in values)


def _has_effect(full: str, values: Mapping[str, Value]) -> bool:
    """Whether a key has an effect: for both directions, in one of them at least; on a simulation, where it differs."""
    key, direction = base_of(full)
    if NAMED[key].room in EMULATED:
        return False
    directions = (direction,) if direction else DIRECTIONS.get(key.partition(".")[0], ("",))
    return any(_holds(key, one, values) for one in directions)


def _holds(name: str, direction: str, values: Mapping[str, Value]) -> bool:
    return all(_said(other, direction, values) in allowed for other, allowed in NAMED[name].where)


def _said(name: str, direction: str, values: Mapping[str, Value]) -> Value:
    """A key's value in a direction."""
    room, _, bare = name.partition(".")
    return values.get(f"{room}.{direction}.{bare}", values[name])


def _check_needed(values: Mapping[str, Value]) -> None:
    for key in KEYS:
        for direction in DIRECTIONS.get(key.room, ("",)) if key.needed else ():
            if _holds(key.name, direction, values) and _said(key.name, direction, values) is None:
                why = " and ".join(f"{name} = {_said(name, direction, values)}" for name, _ in key.where)
                raise UsageError(f"{key.name} is missing, which {why} needs\nIt must be {key.range_text}.")


def _check_narrower(values: Mapping[str, Value]) -> None:
    """Raise UsageError for a value that a key cannot have beside another key's."""
    for full, value in values.items():
        name, direction = base_of(full)
        if value is None or not NAMED[name].narrower or not _has_effect(full, values):
            continue
        for other, with_values, least, most in NAMED[name].narrower:
            ways = (direction,) if direction else DIRECTIONS.get(NAMED[name].room, ("",))
            held = (_said(other, way, values) for way in ways if _holds(other, way, values))
            said = next((found for found in held if found in with_values), None)
            if said is not None and not least <= value <= most:
                may_be = NAMED[name].within(least, most)
                raise UsageError(f"{full} = {shown(value)}\nWith {other} = {said} it must be {may_be}.")


def _same_lengths(first: str, second: str) -> Callable[[Scenario], None]:
    def check(scenario: Scenario) -> None:
        for direction in ("", *DIRECTIONS[first.partition(".")[0]]):
            lengths = [len(scenario.value(key, direction) or ()) for key in (first, second)]
            if lengths[0] != lengths[1]:
                raise UsageError(
                    f"{first} has {lengths[0]} values and {second} {lengths[1]}\nGive one for each of the other."
                )

    return check


def _at_most(small: str, large: str) -> Callable[[Scenario], None]:
    def check(scenario: Scenario) -> None:
        for direction in ("", *DIRECTIONS.get(small.partition(".")[0], ())):
            low, high = scenario.value(small, direction), scenario.value(large, direction)
            if low is not None and high is not None and low > high:
                raise UsageError(f"{small} = {low} is above {large} = {high}")

    return check


def _room_for_data(scenario: Scenario) -> None:
    header, whole = scenario.whole("tcp.header_bytes"), scenario.whole("tcp.segment_bytes")
    if header >= whole:
        raise UsageError(f"tcp.header_bytes = {header} leaves no room for data in tcp.segment_bytes = {whole}")


def _an_end(scenario: Scenario) -> None:
    said = (scenario.value(key) for key in ("workload.seconds", "workload.connections"))
    if "workload.seconds" in scenario and not any(said):
        raise UsageError("workload.seconds = none: nothing says when the workload ends\nGive a number of seconds.")


def _transmission_that_is_allowed(scenario: Scenario) -> None:
    # 25.322 9.6: a PDU is sent MaxDAT - 1 times.
    for direction in ("", *DIRECTIONS["link"]):
        if scenario.value("link.rlc-am.max_dat", direction) == 1:
            raise UsageError("link.rlc-am.max_dat = 1 lets no PDU be sent\nIt must be 0 or from 2 to 10000.")


def _window_that_rlp_can_have(scenario: Scenario) -> None:
    # 24.022 numbers frames modulo 62: all and none acknowledged would look the same.
    if scenario.value("link.rlp.window") == 62 and not scenario.flag("link.rlp.as_in_paper"):
        raise UsageError("link.rlp.window = 62 cannot work modulo 62; 61 is the most\nlink.rlp.as_in_paper allows it.")


CHECKS: tuple[Callable[[Scenario], None], ...] = (
    _same_lengths("link.stop_at_s", "link.stop_s"),
    _same_lengths("channel.delayed_frames", "channel.extra_delay_s"),
    _at_most("workload.file_bytes", "workload.file_bytes_max"),
    _at_most("tcp.min_rto_s", "tcp.max_rto_s"),
    _at_most("tcp.receive_window_initial_bytes", "tcp.receive_window_bytes"),
    _at_most("link.asr.min_timeout_s", "link.asr.max_timeout_s"),
    _at_most("link.asr.tick_s", "link.asr.max_timeout_s"),
    _at_most("link.asr.tick_s", "link.asr.initial_srtt_s"),
    _at_most("workload.warmup_s", "workload.seconds"),
    _room_for_data,
    _an_end,
    _transmission_that_is_allowed,
    _window_that_rlp_can_have,
)
