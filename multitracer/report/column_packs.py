"""Packs of encoded columns, as a page holds them: what is loaded together is found, unpacked and decoded together.

A pack is a list of what its columns are, as JSON, and then their octets; all of it is compressed as one. A long column
is a pack by itself, so that several are compressed and unpacked at a time; the short ones of a group share one: a page
of a thousand connections has tens of thousands of them, each of which would need an element and a compression of its
own. The times of a pack's columns, most of which several series have, are written once, and these columns are places
among them: times are most of what a connection takes, and compress badly.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np

from multitracer.compute.threads import concurrently
from multitracer.report.column_encoding import Encoded, decode, encode, packed, unpacked

LONG = 16_384
"""Values of a column from which it is a pack by itself."""
NANO = 10**9
"""What times in ns are divided by."""
SHORT = 100
"""Values of a column up to which it is written twice rather than named."""


@dataclass(frozen=True)
class Values:
    """One column of a series; the page divides each value by `divide`."""

    group: str
    """What is loaded together."""
    series: str
    kind: str
    """How the series is drawn: line, beam, cloud or event; a map is looked up, not drawn."""
    name: str
    values: Any
    divide: int = 1
    step: int = 1
    """Above 1, the series is too large for a page, which holds only every `step`-th record of it."""


@dataclass(frozen=True)
class Pack:
    """Some columns of a group as one text."""

    group: str
    text: str


def pack_all(columns: Iterable[Values]) -> list[Pack]:
    """All columns, those of a group in their order; values that a group has twice are written once."""
    groups: dict[str, list[Values]] = {}
    for one in columns:
        groups.setdefault(one.group, []).append(one)
    return concurrently(_packed, [part for group in groups.values() for part in _parts(group)])


def unpack(pack: Pack) -> dict[tuple[str, str], Any]:
    """The values of a pack's columns by series and name, None of one that has those of another; for tests.

    As columns/loading.js does.
    """
    octets = unpacked(pack.text)
    begin = 4 + int.from_bytes(octets[:4], "little")
    head, rest = json.loads(octets[4:begin]), BytesIO(octets[begin:])

    def read(size: int, meta: dict[str, Any]) -> Any:
        return decode(Encoded(rest.read(size), meta))

    times = read(*head["times"])
    found: dict[tuple[str, str], Any] = {}
    for series, _, _, name, size, meta, same in head["columns"]:
        values = None if same else read(size, meta)
        found[series, name] = times[values.astype(np.int64)] if values is not None and meta.get("at") else values
    return found


def _parts(group: Sequence[Values]) -> list[list[_Column]]:
    """The columns of one group, those of one pack together."""
    short: list[_Column] = []
    long: list[_Column] = []
    for one, same in zip(group, _same(group), strict=True):
        (short if same or len(one.values) < LONG else long).append(_Column(one, same))
    return [*([column] for column in long), *([short] if short else [])]


def _same(group: Sequence[Values]) -> list[str]:
    """For each column the name of the first one before it that has the same values; empty where none has."""
    firsts: dict[Any, list[Values]] = {}
    found = []
    for one in group:
        values = np.asarray(one.values)
        if len(values) <= SHORT:
            found.append("")
            continue
        alike = firsts.setdefault((one.divide, len(values), values[0], values[-1]), [])
        first = next((other for other in alike if np.array_equal(other.values, values)), None)
        found.append("" if first is None else f"{first.series} {first.name}")
        alike += [one] if first is None else []
    return found


class _Column(NamedTuple):
    """One column of a pack; one that has the values of `same`, another of its group, has no octets of its own."""

    of: Values
    same: str


def _packed(columns: Sequence[_Column]) -> Pack:
    """Columns of one group as one pack."""
    times = _times(columns)
    clock = encode(times, NANO)
    described, octets = [], [clock.octets]
    for of, same in columns:
        encoded = Encoded(b"", {}) if same else _encoded(of, times)
        described.append([of.series, of.kind, of.step, of.name, len(encoded.octets), encoded.meta, same])
        octets.append(encoded.octets)
    head = {"times": [len(clock.octets), clock.meta], "columns": described}
    text = json.dumps(head, separators=(",", ":")).encode()
    return Pack(columns[0].of.group, packed(b"".join([len(text).to_bytes(4, "little"), text, *octets])))


def _times(columns: Sequence[_Column]) -> Any:
    """All times of a pack's columns, each once, ascending; none where only one column has times."""
    own = [one.of.values for one in columns if one.of.divide == NANO and not one.same]
    return np.unique(np.concatenate(own)) if len(own) > 1 else np.empty(0, dtype=np.int64)


def _encoded(one: Values, times: Any) -> Encoded:
    """A column's values, or where `times` has them their places in it."""
    if one.divide != NANO or not len(times):
        return encode(one.values, one.divide)
    placed = encode(np.searchsorted(times, one.values))
    return Encoded(placed.octets, {**placed.meta, "at": 1})
