"""The findings that can be causes, found by kind, connection, bearer and time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from multitracer.findings.finding import Finding
from multitracer.findings.finding_columns import FindingColumns

Ints = npt.NDArray[np.int64]
NONE = -1
MOST = 0.5
"""What shares at least this part of a finding's segments, or of its time, can have set it off."""


class _Sorted(NamedTuple):
    """Findings in the order of their begin; `reached` is the latest end up to each."""

    number: Ints
    start: Ints
    end: Ints
    bearer: Ints
    reached: Ints


class FindingIndex:
    """Findings that are not undecided; with a connection (or bearer) those about it, and those about none."""

    def __init__(self, found: FindingColumns, only: npt.NDArray[np.bool_] | None = None) -> None:
        """Of all findings, or only of those marked."""
        self._found = found
        self._counted = ~found.have_verdict("undecided") if only is None else only & ~found.have_verdict("undecided")
        self._by_connection: dict[str, dict[int, list[int]]] = {}
        self._sorted: dict[tuple[tuple[str, ...], int], _Sorted] = {}

    def of_kind(self, kind: str) -> Ints:
        """All findings of a kind."""
        return np.flatnonzero(self._found.are(kind) & self._counted)

    def about(self, kind: str, connection: int) -> list[int]:
        """The findings of a kind about a connection, then those about none; all if that is NONE."""
        if connection == NONE:
            return self.of_kind(kind).tolist()
        if kind not in self._by_connection:
            mine = self.of_kind(kind)
            numbers = self._by_connection[kind] = {}
            for number, its_connection in zip(mine.tolist(), self._found.connection[mine].tolist(), strict=True):
                numbers.setdefault(its_connection, []).append(number)
        numbers = self._by_connection[kind]
        return [*numbers.get(connection, ()), *numbers.get(NONE, ())]

    def latest(self, kinds: Iterable[str], one: Finding, begun_by: int, not_over_at: int) -> int:
        """The finding that began last, up to `begun_by`, and did not end before `not_over_at`; times in ns."""
        near = self._sharing(tuple(kinds), one, not_over_at, begun_by + 1)
        return int(near.number[-1]) if len(near.number) else NONE

    def first(self, kinds: Iterable[str], one: Finding, start: int, end: int) -> int:
        """The finding that began first within an interval."""
        near = self._sharing(tuple(kinds), one, start, end)
        within = near.number[near.start >= start]
        return int(within[0]) if len(within) else NONE

    def within(self, kinds: Iterable[str], one: Finding, start: int, end: int) -> list[int]:
        """The findings that have an instant in common with an interval, in the order of their begin."""
        return self._sharing(tuple(kinds), one, start, max(end, start + 1)).number.tolist()

    def most_overlap(self, kinds: Iterable[str], one: Finding, start: int, end: int) -> int:
        """The finding that shares most time with an interval; of equals the latest to begin."""
        near = self._sharing(tuple(kinds), one, start, max(end, start + 1))
        if not len(near.number):
            return NONE
        shared = np.minimum(near.end, end) - np.maximum(near.start, start)
        return int(near.number[len(shared) - 1 - int(shared[::-1].argmax())])

    def first_over(self, kinds: Iterable[str], one: Finding) -> int:
        """The finding that shares most time with another; of equals the first to end, of these the latest to begin."""
        near = self._sharing(tuple(kinds), one, one.start_ns, max(one.end_ns, one.start_ns + 1))
        if not len(near.number):
            return NONE
        shared = np.minimum(near.end, one.end_ns) - np.maximum(near.start, one.start_ns)
        return int(near.number[np.lexsort((-near.start, near.end, -shared))[0]])

    def span(self, number: int) -> tuple[int, int]:
        """When a finding began and ended, in ns."""
        return int(self._found.start_ns[number]), int(self._found.end_ns[number])

    def share(self, number: int, one: Finding) -> float:
        """How much of the time of `one` another finding shares, 0 to 1."""
        shared = min(self._found.end_ns[number], one.end_ns) - max(self._found.start_ns[number], one.start_ns)
        return max(int(shared), 0) / max(one.end_ns - one.start_ns, 1)

    def _sharing(self, kinds: tuple[str, ...], one: Finding, start: int, end: int) -> _Sorted:
        """Those that have an instant in common with an interval, in the order of their begin."""
        every = self._in_order(kinds, one.connection)
        low, high = int(np.searchsorted(every.reached, start)), int(np.searchsorted(every.start, end))
        part = _Sorted(*(column[low:high] for column in every))
        keep = part.end >= start
        if one.bearer != NONE:
            keep &= (part.bearer == one.bearer) | (part.bearer == NONE)
        return _Sorted(*(column[keep] for column in part))

    def _in_order(self, kinds: tuple[str, ...], connection: int) -> _Sorted:
        key = kinds, connection
        if key not in self._sorted:
            about = [number for kind in kinds for number in self.about(kind, connection)]
            number, found = np.array(about, dtype=np.int64), self._found
            number = number[np.argsort(found.start_ns[number], kind="stable")]
            end = found.end_ns[number]
            self._sorted[key] = _Sorted(
                number, found.start_ns[number], end, found.bearer[number], np.maximum.accumulate(end)
            )
        return self._sorted[key]
