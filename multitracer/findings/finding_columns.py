"""Findings as columns: a capture may hold a hundred thousand, and as objects these take ten times as long."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from multitracer.findings.finding import Finding
from multitracer.model import vocabulary
from multitracer.model.schema import VERDICTS

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]

_KINDS = tuple(sorted(vocabulary.KINDS))
"""Ordered as text is, so that codes are too."""


@dataclass(frozen=True, eq=False)
class FindingColumns:
    """Findings, an array for each field of Finding; objects are made when it is iterated over.

    Arrays of Python values are of dtype object. Findings that are alike share a sentence and evidence.
    """

    kind_code: Codes
    layer: Any
    connection: Ints
    start_ns: Ints
    end_ns: Ints
    verdict_code: Codes
    because: Any
    evidence: Any
    segments: Any
    resends: Any
    bearer: Ints

    @classmethod
    def of(cls, found: Iterable[Finding]) -> FindingColumns:
        """Those of findings, however they are held."""
        if isinstance(found, FindingColumns):
            return found
        every = list(found)
        return cls.of_fields(*(zip(*every, strict=True) if every else [()] * len(Finding._fields)))

    @classmethod
    def of_fields(cls, *values: Collection[Any]) -> FindingColumns:
        """Those of the values of each field of Finding."""
        kind, layer, connection, start, end, verdict, because, evidence, segments, resends, bearer = values
        return cls(
            _codes(kind, _KINDS), objects(layer), _ints(connection), _ints(start), _ints(end),
            _codes(verdict, VERDICTS), objects(because), objects(evidence), objects(segments), objects(resends),
            _ints(bearer),
        )  # fmt: skip

    @classmethod
    def joined(cls, parts: Sequence[FindingColumns]) -> FindingColumns:
        """Those of all parts, one after another."""
        return cls(*map(np.concatenate, zip(*(part._columns() for part in parts), strict=True)))

    def _columns(self) -> tuple[Any, ...]:
        return tuple(getattr(self, one.name) for one in fields(self))

    def at(self, rows: Any) -> FindingColumns:
        """Those of these rows."""
        return FindingColumns(*(column[rows] for column in self._columns()))

    def in_order(self) -> FindingColumns:
        """In the order of time; at one time in that of the kinds' names."""
        return self.at(np.lexsort((self.kind_code, self.start_ns)))

    def are(self, *kinds: str) -> npt.NDArray[np.bool_]:
        """Which are of one of these kinds."""
        return np.array([kind in kinds for kind in _KINDS])[self.kind_code]

    def have_verdict(self, verdict: str) -> npt.NDArray[np.bool_]:
        """Which have this verdict."""
        return self.verdict_code == VERDICTS.index(verdict)

    @cached_property
    def kind(self) -> Any:
        """The kind of each."""
        return objects(_KINDS)[self.kind_code]

    @cached_property
    def verdict(self) -> Any:
        """The verdict of each."""
        return objects(VERDICTS)[self.verdict_code]

    def __len__(self) -> int:
        return len(self.start_ns)

    def __iter__(self) -> Iterator[Finding]:
        columns = (getattr(self, name).tolist() for name in Finding._fields)
        return map(Finding, *columns)


def objects(values: Collection[Any]) -> Any:
    """Python values as an array of dtype object, whatever they hold."""
    return np.fromiter(values, dtype=object, count=len(values))


def _ints(values: Any) -> Ints:
    return np.array(values, dtype=np.int64)


def _codes(values: Any, names: Sequence[str]) -> Codes:
    """The place of each value in `names`."""
    places = {name: place for place, name in enumerate(names)}
    return np.array([places[value] for value in values], dtype=np.int8)
