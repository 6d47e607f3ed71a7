"""What a parameter may be: a range or a choice, by name, for whoever builds parameters out of keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from multitracer.model.errors import UsageError

SECOND = 1_000_000_000
"""Nanoseconds in a second."""


class Whole(NamedTuple):
    """A whole number from `low` to `high`."""

    low: int
    high: int

    def holds(self, value: Any) -> bool:
        """Whether a value is one of these."""
        return isinstance(value, int) and not isinstance(value, bool) and self.low <= value <= self.high

    def __str__(self) -> str:
        return f"a whole number from {self.low} to {self.high}"


class Seconds(NamedTuple):
    """A time from `low` to `high` seconds."""

    low: float
    high: float

    def holds(self, value: Any) -> bool:
        """Whether a value is one of these."""
        return isinstance(value, int | float) and not isinstance(value, bool) and self.low <= value <= self.high

    def __str__(self) -> str:
        return f"a number of seconds from {self.low:g} to {self.high:g}"


class Words(NamedTuple):
    """One of some words."""

    words: tuple[str, ...]

    def holds(self, value: Any) -> bool:
        """Whether a value is one of these."""
        return value in self.words

    def __str__(self) -> str:
        return f"one of {', '.join(self.words)}"


class Flag(NamedTuple):
    """True or false."""

    def holds(self, value: Any) -> bool:
        """Whether a value is one of these."""
        return isinstance(value, bool)

    def __str__(self) -> str:
        return "true or false"


Range = Whole | Seconds | Words | Flag


def check(ranges: Mapping[str, Range], parameters: Any) -> None:
    """Raise UsageError unless each of these attributes of `parameters` is in its range."""
    for name, allowed in ranges.items():
        value = getattr(parameters, name)
        if not allowed.holds(value):
            raise UsageError(f"{name} {value!r} must be {allowed}")


def nanoseconds(seconds: float) -> int:
    """Seconds as whole nanoseconds."""
    return round(seconds * SECOND)
