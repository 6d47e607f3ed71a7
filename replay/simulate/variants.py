"""The variants of a scenario: those that its file names, and every combination of what is varied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from multitracer.model.errors import UsageError
from multitracer.replay.simulate.key import Value
from multitracer.replay.simulate.scenario import Scenario, resolve
from multitracer.replay.simulate.scenario_files import Described, varied
from multitracer.replay.simulate.schema import parsed

MOST_VARIANTS = 10_000


@dataclass(frozen=True)
class Variant:
    """A scenario of a run, and where it stands in it."""

    scenario: Scenario
    line: str
    """What it has in common with the variants on one line of a figure; "" where there is one line."""
    point: Value = None
    """The value of the key that is varied along the line; None where none is."""


@dataclass(frozen=True)
class Plan:
    """Every variant, and the key that is varied along the lines."""

    name: str
    variants: tuple[Variant, ...]
    axis: str = ""

    @property
    def unused(self) -> tuple[str, ...]:
        """The keys that were said and have an effect in no variant."""
        said = {key for variant in self.variants for key in variant.scenario.unused}
        used = {key for variant in self.variants for key, _ in variant.scenario.items}
        return tuple(sorted(said - used))


def plan(described: Described, settings: Mapping[str, Any], vary: Mapping[str, tuple[Any, ...]]) -> Plan:
    """The variants of a file's scenario with settings of one's own, and keys varied beside the file's.

    What is set is varied no more; what is varied here is varied in place of what the file varies of the same key.
    Raises UsageError for unknown keys, wrong values, and more than 10,000 variants.
    """
    fixed = dict(parsed(key, given) for key, given in settings.items())
    own = dict(varied(key, values) for key, values in vary.items())
    if both := sorted(set(fixed) & set(own)):
        raise UsageError(f"{both[0]} is both set and varied")
    over = {key: values for key, values in {**described.vary, **own}.items() if key not in fixed}
    axis = _axis(over)
    made = tuple(_variants(described, fixed, over, axis))
    return Plan(described.name, made, axis)


def _axis(over: Mapping[str, tuple[Value, ...]]) -> str:
    """The key along which lines are drawn: the first of those with most values, numbers before words."""
    several = [key for key, values in over.items() if len(values) > 1]
    return max(several, key=lambda key: (_is_number(over[key]), len(over[key])), default="")


def _is_number(values: tuple[Value, ...]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _variants(
    described: Described, fixed: Mapping[str, Value], over: Mapping[str, tuple[Value, ...]], axis: str
) -> Iterator[Variant]:
    named = described.variants or (("", {}),)
    count = len(named)
    for values in over.values():
        count *= len(values)
    if count > MOST_VARIANTS:
        raise UsageError(f"that makes {count:,} variants; at most {MOST_VARIANTS:,}")
    for name, keys in named:
        for chosen in product(*over.values()):
            point = dict(zip(over, chosen, strict=True))
            given = {**described.keys, **keys, **point, **fixed}
            rest = {key: value for key, value in point.items() if key != axis}
            scenario = resolve(_named(name, point) or described.name, given)
            yield Variant(scenario, _named(name, rest), point.get(axis))


def _named(name: str, point: Mapping[str, Value]) -> str:
    return ", ".join([*([name] if name else []), *(f"{key} = {_text(value)}" for key, value in point.items())])


def _text(value: Value) -> str:
    if isinstance(value, tuple):
        return "+".join(_text(one) for one in value) or "()"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
