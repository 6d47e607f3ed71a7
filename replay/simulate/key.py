"""One key of a scenario: its type, unit, range and default, and how a value given for it is taken."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from multitracer.model.errors import UsageError

Value = Any
"""A bool, int, float, str, None, or a tuple of int or float."""
MOST_S = 1e7
"""The longest time, some 115 days: in nanoseconds it fits into int64 a hundred times."""
LEAST_S = 1e-9
"""The shortest time but 0."""
LEAST = 1e-30
"""A number nearer to 0, but not 0, is a mistake: no probability is as small."""
MOST_WHOLE = (1 << 53) - 1
"""What a double holds exactly, as JSON's readers take numbers."""
MOST_LISTED = 100_000
"""The most values of one list."""
NONE = "none"
"""The word that unsets a key that may be unset."""
_WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_SHOWN = 60
_UNITS = ("bps", "s", "bytes", "percent", "segments", "packets", "frames", "ber")
_SAID = {"bps": "bit/s", "bytes": "octets", "percent": "%", "ber": "errors a bit"}


@dataclass(frozen=True)
class Key:
    """One key: what it is called, what it may be, and what it is where nothing is said."""

    name: str
    kind: str
    """yes-no, word, path, whole, number, wholes or numbers (the last two are lists)."""
    meaning: str
    default: Value = None
    """None: unset; then the key may be unset again by the word none."""
    least: float = 0
    most: float = MOST_WHOLE
    choices: tuple[str, ...] = ()
    where: tuple[tuple[str, tuple[Value, ...]], ...] = ()
    """Keys and the values of which each must have one for this key to have an effect."""
    derived: Callable[[Mapping[str, Value]], Value] | None = None
    """The default from the keys before it, where that is no constant."""
    default_text: str = ""
    """The default in words, where `default` does not say it."""
    one: bool = False
    """It holds for both directions: it cannot be said for one."""
    needed: bool = False
    """It has no default, and must be said where it has an effect."""
    above: bool = False
    """The value must be above `least`."""
    narrower: tuple[tuple[str, tuple[Value, ...], float, float], ...] = ()
    """Another key, and with some of its values the least and the most that this one may be."""

    @property
    def room(self) -> str:
        """The first part of its name."""
        return self.name.partition(".")[0]

    @property
    def unit(self) -> str:
        """The unit that its name ends in."""
        ending = self.name.rpartition(".")[2].rpartition("_")[2]
        return _SAID.get(ending, ending) if ending in _UNITS else ""

    def within(self, least: float, most: float) -> str:
        """A narrower range of it, in words."""
        return replace(self, least=least, most=most, above=False).range_text

    @property
    def listed(self) -> bool:
        """Whether its value is a list."""
        return self.kind in ("wholes", "numbers")

    @property
    def range_text(self) -> str:
        """What it may be, in words."""
        if self.kind == "yes-no":
            return "yes or no"
        if self.kind == "word":
            return " | ".join(self.choices)
        if self.kind == "path":
            return "the name of a file"
        what = {"whole": "a whole number", "number": "a number", "wholes": "whole numbers", "numbers": "numbers"}
        unit = f" {self.unit}" if self.unit else ""
        bound = f"above {self.least:g}, at most" if self.above else f"from {self.least:g} to"
        return f"{what[self.kind]} {bound} {_short(self.most)}{unit}"

    def parse(self, given: Any) -> Value:
        """The value from what a file or an option says; UsageError names the key and what it may be."""
        if given is None or (isinstance(given, str) and given.strip().lower() == NONE and NONE not in self.choices):
            return self._unset(given)
        if self.listed:
            return self._list(given)
        taken = {"yes-no": self._flag, "word": self._word, "path": self._path}.get(self.kind, self._number)
        return taken(given)

    def _unset(self, given: Any) -> Value:
        if self.default is None and not self.needed:
            return None
        if self.listed:
            return ()
        raise self.wrong(given)

    def _flag(self, given: Any) -> bool:
        found = given if isinstance(given, bool) else _WORDS.get(str(given).strip().lower())
        if found is None:
            raise self.wrong(given)
        return found

    def _word(self, given: Any) -> str:
        word = str(given).strip() if isinstance(given, str | int | float) else ""
        if word not in self.choices:
            raise self.wrong(given)
        return word

    def _path(self, given: Any) -> str:
        if not isinstance(given, str) or not given.strip():
            raise self.wrong(given)
        return given

    def _number(self, given: Any) -> float:
        if isinstance(given, bool | list | tuple | dict):
            raise self.wrong(given)
        try:
            number = float(given)
            if not self._allowed(number):
                raise ValueError(given)
        except (TypeError, ValueError, OverflowError):
            raise self.wrong(given) from None
        return int(number) if self.kind in ("whole", "wholes") else number

    def _allowed(self, number: float) -> bool:
        whole = self.kind not in ("whole", "wholes") or number == math.floor(number)
        inside = self.least < number <= self.most if self.above else self.least <= number <= self.most  # not for NaN
        return inside and whole and not 0 < number < (LEAST_S if self.unit == "s" else LEAST)

    def _list(self, given: Any) -> tuple[float, ...]:
        parts = given.split(",") if isinstance(given, str) else given if isinstance(given, list | tuple) else [given]
        parts = [part for part in parts if not (isinstance(part, str) and not part.strip())]
        if len(parts) > MOST_LISTED:
            raise UsageError(f"{self.name} has {len(parts)} values; at most {MOST_LISTED}")
        return tuple(self._number(part) for part in parts)

    def wrong(self, given: Any) -> UsageError:
        """The error for a value that it cannot have."""
        may_be = f"{self.range_text}, or {NONE}" if self.default is None and not self.needed else self.range_text
        near = get_close_matches(str(given), self.choices, n=1)
        meant = f" Did you mean {near[0]}?" if near else ""
        return UsageError(f"{self.name} = {shown(given)}\nIt must be {may_be}.{meant}")


def shown(value: Any) -> str:
    """A value as messages repeat it: not all of a long one, nothing of a table."""
    if isinstance(value, dict):
        return "{...}"
    text = str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _short(number: float) -> str:
    if number >= MOST_WHOLE:
        return "2^53"
    return f"{number:g}" if float(f"{number:g}") == number else f"{number:.15g}"


def seconds(name: str, meaning: str, default: float | None = 0.0, **more: Any) -> Key:
    """The key of a time."""
    return Key(name, "number", meaning, default, **{"most": MOST_S, **more})


def whole(name: str, meaning: str, default: int | None = 0, **more: Any) -> Key:
    """The key of a count."""
    return Key(name, "whole", meaning, default, **more)


def number(name: str, meaning: str, default: float | None = None, **more: Any) -> Key:
    """The key of any other number."""
    return Key(name, "number", meaning, default, **more)


def flag(name: str, meaning: str, default: bool | None = False, **more: Any) -> Key:
    """The key of a yes or no."""
    return Key(name, "yes-no", meaning, default, **more)


def word(name: str, meaning: str, *choices: str, **more: Any) -> Key:
    """The key of one of several words, of which the first is the default."""
    return Key(name, "word", meaning, choices[0], choices=choices, **more)
