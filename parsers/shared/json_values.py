"""Values of a JSON document, found by their brackets: only those that are asked for become Python objects.

So the memory does not depend on what else the document holds. Damage is noticed where brackets or the marks between
values do not fit, and in a value that is loaded; not within numbers and words that nobody asks for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

LONGEST_LOADED = 1 << 20
"""A longer value is not loaded: none that is read has so many octets."""

_STRING = rb'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"'
_OTHER = rb'[^"\[\]{}]++|' + _STRING
# What lies before a bracket; objects and arrays without others in them are passed at once, which is faster.
_UP_TO_BRACKET = re.compile(
    rb"(?:%b|\{(?:%b)*+\}|\[(?:%b)*+\])*+([\[\]{}])" % (_OTHER, _OTHER, _OTHER)
)  # fmt: skip
_SCALAR = re.compile(_STRING + rb"|[^\s\"\[\]{},:]++")
_BETWEEN = re.compile(rb"\s*+,?+\s*+")
_NAME = re.compile(rb"\s*+,?+\s*+(" + _STRING + rb")\s*+:\s*+")
_OPENING, _CLOSING = {b"{": b"}", b"[": b"]"}, b"}]"


class DamagedError(ValueError):
    """A value that is not whole; `at` is where that was noticed."""

    def __init__(self, at: int) -> None:
        super().__init__(f"no whole JSON value at octet {at}")
        self.at = at


class Value(NamedTuple):
    """The octets of a document from `start` to `end` that are a value."""

    octets: bytes
    start: int
    end: int

    def members(self) -> Iterator[tuple[str, Value]]:
        """The names and values of an object; none of what is no object. Raises DamagedError."""
        at = self.start + 1
        if not self.is_object:
            return
        while name := _NAME.match(self.octets, at, self.end - 1):
            value = value_at(self.octets, name.end(), self.end - 1)
            yield _text(name[1]), value
            at = value.end
        self._ends_after(at)

    def elements(self) -> Iterator[Value]:
        """The values of an array; none of what is no array. Raises DamagedError."""
        at = self.start + 1
        if self.octets[self.start : at] != b"[":
            return
        while (at := _BETWEEN.match(self.octets, at, self.end - 1).end()) < self.end - 1:  # type: ignore[union-attr]
            value = value_at(self.octets, at, self.end - 1)
            yield value
            at = value.end

    def _ends_after(self, at: int) -> None:
        if self.octets[at : self.end - 1].strip():
            raise DamagedError(at)

    @property
    def is_object(self) -> bool:
        """Whether it is an object."""
        return self.octets[self.start : self.start + 1] == b"{"

    def check(self) -> None:
        """Raise DamagedError where an object's members are not all whole."""
        for _ in self.members():
            pass

    def some(self, *names: str) -> dict[str, Value]:
        """Those members of an object that have these names. Raises DamagedError."""
        return {name: value for name, value in self.members() if name in names}

    def loaded(self, decoder: json.JSONDecoder, encoding: str = "utf-8") -> Any:
        """The Python object; raises DamagedError where it is none, or too long for one."""
        if self.end - self.start > LONGEST_LOADED:
            raise DamagedError(self.start)
        try:
            return decoder.decode(self.octets[self.start : self.end].decode(encoding, "surrogateescape"))
        except (ValueError, RecursionError) as error:
            raise DamagedError(self.start) from error


def loaded_elements(
    array: Value, decoder: json.JSONDecoder, damaged: Callable[[int], None], encoding: str = "utf-8"
) -> Iterator[Any]:
    """The Python objects of an array's elements; `damaged` is told where one, or the rest of the array, is none."""
    try:
        for element in array.elements():
            try:
                yield element.loaded(decoder, encoding)
            except DamagedError as error:
                damaged(error.at)
    except DamagedError as error:
        damaged(error.at)


def value_at(octets: bytes, at: int, end: int) -> Value:
    """The value that begins there; raises DamagedError where none does, or it does not end before `end`."""
    if octets[at : at + 1] not in _OPENING:
        scalar = _SCALAR.match(octets, at, end)
        if scalar is None:
            raise DamagedError(at)
        return Value(octets, at, scalar.end())
    depth, here = 1, at + 1
    while bracket := _UP_TO_BRACKET.match(octets, here, end):
        here = bracket.end()
        depth += -1 if bracket[1] in _CLOSING else 1
        if not depth:
            if bracket[1] != _OPENING[octets[at : at + 1]]:
                break
            return Value(octets, at, here)
    raise DamagedError(here)


def _text(name: bytes) -> str:
    try:
        return str(json.loads(name.decode("utf-8", "surrogateescape")))
    except ValueError as error:
        raise DamagedError(0) from error
